"""`nomos run`: campaigns."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from nomos import api
from nomos.cli import exit_status


@click.command("run")
@click.argument("specs", nargs=-1, required=True)
@click.option(
    "--model",
    "models",
    multiple=True,
    metavar="MODEL",
    help="The model under test: what the domain's `model` setting takes. May be given several times.",
)
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="NAME=VALUE",
    help="Another setting of the domain's constructor.",
)
@click.option(
    "--budget",
    default=5000,
    show_default=True,
    type=click.IntRange(1),
    help="Cases that get past `requires`.",
)
@click.option(
    "--time",
    "seconds",
    type=click.FloatRange(0, min_open=True),
    metavar="S",
    help="Stop after so many seconds.",
)
@click.option(
    "--calls", type=click.IntRange(1), help="Stop after so many rows sent to the model."
)
@click.option("--until-bug", is_flag=True, help="Stop at the first bug.")
@click.option("--seed", default=0, show_default=True, help="Same seed, same cases.")
@click.option(
    "--seeds",
    default=1,
    show_default=True,
    type=click.IntRange(1),
    help="Run so many seeds, from --seed on; gives mean and spread.",
)
@click.option(
    "--search",
    type=click.Choice(["auto", "random", "exhaustive"]),
    default="auto",
    show_default=True,
    help="auto: every case where the budget covers them all, else at random.",
)
@click.option(
    "--way",
    type=click.Choice(["columns", "lanes", "rows"]),
    help="Force one way of running cases; the verdicts are the same.",
)
@click.option(
    "--batch",
    type=click.IntRange(1),
    help="The most cases to run at once; the verdicts are the same.",
)
@click.option(
    "--max-crashes",
    default=100,
    show_default=True,
    type=click.IntRange(1),
    help="Give up after so many crashed cases.",
)
@click.option(
    "--store",
    type=click.Path(file_okay=False, path_type=Path),
    help="Where campaigns and bugs are kept.  [default: .nomos at the project's root]",
)
@click.option("--no-store", is_flag=True, help="Keep nothing.")
@click.option(
    "--resume",
    is_flag=True,
    help="Go on where the same campaign was killed or interrupted.",
)
@click.option(
    "--json",
    "json_file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the results to a file.",
)
@click.option("--quiet", "-q", is_flag=True, help="Print nothing but errors.")
def command(specs: tuple[str, ...], **options: Any) -> None:
    r"""Test a model against SPECS: files, folders or globs.

    \b
    nomos run specs/
    nomos run specs/income.nom --model new.onnx --budget 100000
    nomos run specs/ --seeds 10 --json results.json

    Exit status: 0 no violation, 1 violations, 2 wrong usage or a bad spec, 3 a model,
    its data or some cases failed, 130 interrupted.
    """
    from nomos.campaign.naming import project_root
    from nomos.campaign.session import Session
    from nomos.report.console import RunConsole

    paths = api.find_specs(specs)
    if _report_bad_specs(paths):
        sys.exit(2)
    jobs = [
        api.Job(path, settings)
        for path in paths
        for settings in _settings(options["models"], options["settings"])
    ]
    root = project_root(paths[0])
    seeds = range(options["seed"], options["seed"] + options["seeds"])
    with RunConsole(quiet=options["quiet"]) as console:
        store = _store(root, options, console.warn)
        session = Session(root, _options(options), store, console.warn)
        run = api.Run(session, jobs, seeds)
        _drive(run, console)
    if options["json_file"] is not None:
        _write_json(options["json_file"], run)
    console.finish(run.results, stored=store is not None)
    for failure in run.failures:
        click.echo(f"error: {failure.job.path}: {failure.error}", err=True)
    sys.exit(_exit_status(run))


def _report_bad_specs(paths: Sequence[Path]) -> bool:
    """Show the mistakes of specs that have any; nothing is run then."""
    from nomos.diagnostics import Severity
    from nomos.diagnostics.render import render

    bad = False
    for path in paths:
        checked = api.check(path)
        for diagnostic in checked.diagnostics:
            if diagnostic.severity is not Severity.INFO:
                colour = sys.stderr.isatty() and "NO_COLOR" not in os.environ
                click.echo(render(diagnostic, checked.source, colour=colour), err=True)
        bad |= checked.spec is None
    return bad


def _settings(models: Sequence[str], pairs: Sequence[str]) -> list[dict[str, str]]:
    settings: dict[str, str] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise click.BadParameter(f"{pair!r} is not NAME=VALUE", param_hint="--set")
        settings[name] = value
    return [{**settings, "model": model} for model in models] or [settings]


def _options(options: dict[str, Any]) -> Any:
    from nomos.campaign.runner import Budget
    from nomos.campaign.session import Options

    budget = Budget(
        cases=options["budget"],
        seconds=options["seconds"],
        calls=options["calls"],
        until_bug=options["until_bug"],
        crashes=options["max_crashes"],
    )
    return Options(
        budget=budget,
        way=options["way"],
        search=options["search"],
        batch=options["batch"],
        resume=options["resume"],
    )


def _store(root: Path, options: dict[str, Any], warn: Any) -> Any:
    from nomos.campaign.store import FOLDER, Store
    from nomos.errors import StoreError

    if options["no_store"]:
        return None
    try:
        return Store.open(options["store"] or root / FOLDER)
    except StoreError as error:
        warn(f"nothing is stored: {error}")
        return None


def _drive(run: api.Run, console: Any) -> None:
    events = run.events()
    told = next(events, None)
    while told is not None:
        try:
            console.hear(*told)
            told = next(events, None)
        except KeyboardInterrupt as interrupt:
            told = events.throw(interrupt)


def _write_json(path: Path, run: api.Run) -> None:
    from nomos.campaign.result import result_data

    document = {"schema": 1, "runs": [result_data(result) for result in run.results]}
    unfinished = path.with_name(path.name + ".tmp")
    unfinished.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    unfinished.replace(path)


def _exit_status(run: api.Run) -> int:
    if run.interrupted:
        return 130
    statuses = {exit_status(failure.error) for failure in run.failures}
    for result in run.results:
        if result.verdict == "failed" or result.counts.crashed:
            statuses.add(3)
        elif result.verdict == "violated":
            statuses.add(1)
    return max(statuses, default=0)
