"""The files that a run writes: what they are asked for with, and what goes into them."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nomos.cli.output import STDOUT, Output
from nomos.terminal import echo

if TYPE_CHECKING:
    from nomos.results.gate import Ruling
    from nomos.runner.events import Handler
    from nomos.runner.jobs import Run

REPORTS = ("json", "html", "junit", "sarif", "events")


def is_piped(options: dict[str, Any]) -> bool:
    """Tell whether a report goes to standard output; no two may go to one place."""
    given = {name: options[name] for name in REPORTS if options.get(name) is not None}
    places: dict[str, str] = {}
    for name, path in given.items():
        place = str(path if path == STDOUT else path.resolve())
        flag = f"--{name}"
        if place in places:
            raise click.UsageError(f"{places[place]} and {flag} name the same file")
        places[place] = flag
    return STDOUT in given.values()


def event_handlers(
    options: dict[str, Any], output: Output, stack: ExitStack
) -> list[Handler]:
    """Return what writes events, as long as the stack is open."""
    from nomos.report.formats.stream import EventStream

    path = options["events"]
    if path is None:
        return []
    if path == STDOUT:
        return [EventStream(output.stdout).handle]
    return [EventStream(stack.enter_context(path.open("w", encoding="utf-8"))).handle]


def write_reports(
    run: Run,
    rulings: Sequence[Ruling],
    failures: Sequence[tuple[str, str]],
    options: dict[str, Any],
    output: Output,
) -> None:
    """Write the files that were asked for; `failures` are paths, and what is wrong."""
    from nomos.results.result import SCHEMA, to_data

    results = run.results
    if options["json"] is not None:
        document = {
            "schema": SCHEMA,
            "runs": [to_data(result) for result in results],
            "failures": [{"spec": path, "error": why} for path, why in failures],
        }
        output.write_file(options["json"], json.dumps(document, indent=1) + "\n")
    if options["junit"] is not None:
        from nomos.report.formats.junit import junit_document

        output.write_file(options["junit"], junit_document(rulings, failures))
    if options["sarif"] is not None:
        from nomos.report.formats.sarif import sarif_document

        document = sarif_document(rulings, failures)
        output.write_file(options["sarif"], json.dumps(document, indent=1) + "\n")
    if options.get("github"):
        from nomos.report.formats.github import annotate_lines, step_summary

        for line in annotate_lines(rulings, failures):
            echo(line, err=True)  # the runner reads both streams
        if summary := os.environ.get("GITHUB_STEP_SUMMARY"):
            with Path(summary).open("a", encoding="utf-8") as file:
                file.write(step_summary(rulings, failures))
    if options["html"] is not None:
        from nomos.report.html.page import html_page

        output.write_file(options["html"], html_page(results, failures))


def relative_failures(run: Run) -> list[tuple[str, str]]:
    """Return what could not be run, by paths from the root of each project."""
    from nomos.runner.project.naming import place_in_project

    return [(place_in_project(f.job.path)[0], str(f.error)) for f in run.failures]
