"""`nomos check`: every mistake in specs, with its place and what to do about it."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import click

from nomos import api
from nomos.diagnostics import Diagnostic, Severity, Source
from nomos.diagnostics.render import render, to_json
from nomos.lang.check import Checked
from nomos.lang.invocations import safety


@click.command()
@click.argument("specs", nargs=-1, required=True, metavar="SPEC...")
@click.option(
    "-v",
    "--verbose",
    is_flag=True,
    help="Show each spec's name, its k (how many runs of the model it relates), and "
    "its description.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="Text for people, JSON for programs; the content is the same.",
)
def command(specs: tuple[str, ...], verbose: bool, form: str) -> None:
    """Report every mistake in specs; runs nothing.

    SPEC is a file, a folder (all .nom files below it) or a pattern in quotes. No model
    is loaded and no block is run. Where a spec's domain cannot be imported, its
    functions and features are not checked, and a line says so.

    \b
    nomos check specs/felony_inc.nom
    nomos check -v casestudies
    nomos check --format json 'specs/*.nom'

    Exit status: 0 all is well; 2 there is an error or a warning. `nomos explain CODE`
    tells more about what stands in brackets behind `error`.
    """
    checked = [api.check(path) for path in api.find_specs(specs)]
    if form == "json":
        click.echo(json.dumps(_document(checked), indent=2))
    else:
        for one in checked:
            if verbose and one.spec is not None:
                _introduce(one)
            show(one.source, one.diagnostics)
        click.echo(_summary(checked))
    sys.exit(0 if all(api.is_clean(one) for one in checked) else 2)


def show(source: Source, diagnostics: Iterable[Diagnostic]) -> None:
    """Print diagnostics, each followed by an empty line."""
    # https://no-color.org: any value but the empty one means no.
    colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    for diagnostic in diagnostics:
        picture = render(diagnostic, source, colour=colour)
        click.echo(picture + "\n", color=colour)


def _introduce(checked: Checked) -> None:
    spec = checked.spec
    assert spec is not None
    click.echo(f"{spec.name}: {safety(spec.k)}")
    if spec.description:
        click.echo(click.wrap_text(spec.description, 88, "  ", "  "))


def _summary(checked: Sequence[Checked]) -> str:
    count = _counted(len(checked), "spec")
    errors, warnings = _tally(checked)
    found = [_counted(errors, "error")] if errors else []
    found += [_counted(warnings, "warning")] if warnings else []
    unknown = sum(
        d.severity is Severity.INFO for one in checked for d in one.diagnostics
    )
    skipped = f"; {unknown} not checked against the domain" if unknown else ""
    return f"{count}, {' and '.join(found) or 'no mistakes'}{skipped}"


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _tally(checked: Sequence[Checked]) -> tuple[int, int]:
    severities = [d.severity for one in checked for d in one.diagnostics]
    return severities.count(Severity.ERROR), severities.count(Severity.WARNING)


def _document(checked: Sequence[Checked]) -> dict[str, Any]:
    errors, warnings = _tally(checked)
    return {
        "schema": 1,
        "specs": [_entry(one) for one in checked],
        "errors": errors,
        "warnings": warnings,
    }


def _entry(checked: Checked) -> dict[str, Any]:
    spec = checked.spec
    return {
        "file": checked.source.name,
        "name": None if spec is None else spec.name,
        "description": None if spec is None else spec.description,
        "k": None if spec is None else spec.k,
        "safety": None if spec is None else safety(spec.k),
        "diagnostics": [to_json(d, checked.source) for d in checked.diagnostics],
    }
