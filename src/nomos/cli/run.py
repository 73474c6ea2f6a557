"""`nomos run`: campaigns."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nomos import api
from nomos.cli import exit_status
from nomos.cli.control import run_control
from nomos.cli.inputs import input_setting
from nomos.cli.options import (
    campaign_options,
    drive,
    keeping_options,
    keeping_store,
    parse_settings,
    session_options,
    stop_at_bad_specs,
    write_text,
)

if TYPE_CHECKING:
    from nomos.campaign.config import Config

_FILE = click.Path(dir_okay=False, path_type=Path, allow_dash=True)
_FILES = ("json_file", "html_file", "junit_file", "sarif_file", "events_file")


@click.command("run")
@click.argument("specs", nargs=-1, required=True)
@click.option(
    "--model",
    "models",
    multiple=True,
    metavar="MODEL",
    help="The model under test: what the domain's `model` setting takes. May be given several times.",
)
@campaign_options
@click.option("--until-bug", is_flag=True, help="Stop at the first bug.")
@click.option(
    "--seeds",
    default=1,
    show_default=True,
    type=click.IntRange(1),
    help="Run so many seeds, from --seed on; gives mean and spread.",
)
@click.option(
    "--inputs",
    "inputs_file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Draw inputs from a file: the domain's setting `inputs` or `pool`.",
)
@click.option(
    "--control",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="SPEC",
    help="A spec where chance alone can differ: run too, and shown beside the others.",
)
@click.option(
    "--fail-on",
    type=click.Choice(["any", "new"]),
    default="any",
    show_default=True,
    help="new: exit 1 only for bugs that .nomos/cases does not list as known.",
)
@keeping_options
@click.option(
    "--resume",
    is_flag=True,
    help="Go on where the same campaign was killed or interrupted.",
)
@click.option("--json", "json_file", type=_FILE, help="Write the results to a file.")
@click.option("--html", "html_file", type=_FILE, help="Write a page to read and send.")
@click.option("--junit", "junit_file", type=_FILE, help="Write JUnit XML for CI.")
@click.option("--sarif", "sarif_file", type=_FILE, help="Write SARIF for code hosts.")
@click.option(
    "--events",
    "events_file",
    type=_FILE,
    help="Write each event as a line of JSON, as it happens.",
)
def command(specs: tuple[str, ...], **options: Any) -> None:
    """Test a model against SPECS: files, folders or globs.

    \b
    nomos run specs/
    nomos run specs/income.nom --model new.onnx --budget 100000
    nomos run specs/ --seeds 10 --json results.json
    nomos run specs/ --fail-on new --junit nomos.xml
    nomos run specs/games.nom --control specs/chance.nom

    Exit status: 0 no violation, 1 violations, 2 wrong usage or a bad spec, 3 a model,
    its data or some cases failed, 130 interrupted. If several apply, the highest.
    """
    from nomos.campaign.config import load_config
    from nomos.campaign.naming import project_root
    from nomos.campaign.session import Session
    from nomos.report.console import RunConsole

    paths = api.find_specs(specs)
    control = options["control"]
    stop_at_bad_specs(paths if control is None else [*paths, control])
    root = project_root(paths[0])
    config = load_config(root)
    jobs = _jobs(paths, root, config, options)
    seed = config.seed if options["seed"] is None else options["seed"]
    with ExitStack() as stack:
        # What goes to standard output must be all that goes there.
        piped = any(str(options[name]) == "-" for name in _FILES)
        console = stack.enter_context(RunConsole(quiet=options["quiet"] or piped))
        store = keeping_store(root, options, console.warn)
        budget = session_options(options, config.budget)
        session = Session(root, budget, store, console.warn)
        run = api.Run(session, jobs, range(seed, seed + options["seeds"]))
        listeners = [console.hear, *_event_file(options["events_file"], stack)]
        drive(run, *listeners)
        if control is not None and not run.interrupted:
            run_control(run, control, *listeners)
    _write_reports(run, options)
    console.finish(run.results, stored=store is not None)
    for failure in run.failures:
        click.echo(f"error: {failure.job.path}: {failure.error}", err=True)
    sys.exit(_exit_status(run, fail_on=options["fail_on"]))


def _jobs(
    paths: list[Path], root: Path, config: Config, options: dict[str, Any]
) -> list[api.Job]:
    settings = parse_settings(options["settings"])
    return [
        api.Job(path, given | ({} if model is None else {"model": model}))
        for path in paths
        for given in [settings | input_setting(path, options["inputs_file"])]
        for model in options["models"] or config.models_for(path, root) or [None]
    ]


def _event_file(path: Path | None, stack: ExitStack) -> list[Callable[..., None]]:
    from nomos.report.stream import EventStream

    if path is None:
        return []
    if str(path) == "-":
        return [EventStream(sys.stdout).hear]
    return [EventStream(stack.enter_context(path.open("w", encoding="utf-8"))).hear]


def _write_reports(run: api.Run, options: dict[str, Any]) -> None:
    from nomos.campaign.naming import relative
    from nomos.campaign.result import result_data

    results, only_new = run.results, options["fail_on"] == "new"
    unstarted = [
        (relative(str(failure.job.path), run.session.root), str(failure.error))
        for failure in run.failures
    ]
    if options["json_file"] is not None:
        document = {
            "schema": 1,
            "runs": [result_data(result) for result in results],
            "failures": [{"spec": path, "error": why} for path, why in unstarted],
        }
        write_text(options["json_file"], json.dumps(document, indent=1) + "\n")
    if options["junit_file"] is not None:
        from nomos.report.junit import junit

        text = junit(results, unstarted, only_new=only_new)
        write_text(options["junit_file"], text)
    if options["sarif_file"] is not None:
        from nomos.report.sarif import sarif

        document = sarif(results, unstarted, only_new=only_new)
        write_text(options["sarif_file"], json.dumps(document, indent=1) + "\n")
    if options["html_file"] is not None:
        from nomos.report.html import html

        write_text(options["html_file"], html(results, unstarted))


def _exit_status(run: api.Run, *, fail_on: str) -> int:
    if run.interrupted:
        return 130
    statuses = {exit_status(failure.error) for failure in run.failures}
    for result in run.results:
        if result.verdict == "failed" or result.counts.crashed:
            statuses.add(3)
        elif result.verdict == "violated":
            statuses.add(1 if fail_on == "any" or result.new_bugs else 0)
    return max(statuses, default=0)
