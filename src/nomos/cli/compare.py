"""`nomos compare`: an old and a new model on the same cases."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nomos import api
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
    from nomos.campaign.compare import Answers, ModelComparison
    from nomos.campaign.events import Bug
    from nomos.campaign.result import Result

_FILE = click.Path(dir_okay=False, path_type=Path, allow_dash=True)


@click.command("compare")
@click.argument("specs", nargs=-1, required=True)
@click.option(
    "--model",
    "models",
    multiple=True,
    required=True,
    metavar="MODEL",
    help="Give it twice: the old model, then the new one.",
)
@campaign_options
@keeping_options
@click.option("--json", "json_file", type=_FILE, help="Write the comparison to a file.")
@click.option("--html", "html_file", type=_FILE, help="Write a page to read and send.")
def command(specs: tuple[str, ...], **options: Any) -> None:
    """Run the same cases on two models: bugs fixed, kept and new.

    \b
    nomos compare specs/ --model old.onnx --model new.onnx
    nomos compare specs/ --model old.onnx --model new.onnx --html changes.html

    Exit status: 0 no new bugs, 1 the new model has new bugs, 2 wrong usage or a bad
    spec, 3 a model, its data or some cases failed. If several apply, the highest.
    """
    from nomos.campaign.config import load_config
    from nomos.campaign.naming import project_root
    from nomos.campaign.session import Session
    from nomos.report.console import RunConsole

    if len(options["models"]) != 2:
        raise click.UsageError("give --model twice: the old model, then the new one")
    paths = api.find_specs(specs)
    stop_at_bad_specs(paths)
    root = project_root(paths[0])
    config = load_config(root)
    seed = config.seed if options["seed"] is None else options["seed"]
    with RunConsole(quiet=True) as console:
        # What a model is only compared with becomes nobody's known bug.
        how = replace(session_options(options, config.budget), accept=False)
        store = keeping_store(root, options, console.warn)
        session = Session(root, how, store, console.warn)
        run = api.Run(session, _jobs(paths, options), [seed])
        drive(run, console.hear)
    compared = _compared(run.results)
    _write_files(compared, root, options)
    piped = any(str(options[name]) == "-" for name in ("json_file", "html_file"))
    if not options["quiet"] and not piped:
        _tell(compared, console.console, stored=store is not None)
    for failure in run.failures:
        click.echo(f"error: {failure.job.path}: {failure.error}", err=True)
    failed = run.failures or any(r.verdict == "failed" for r in run.results)
    sys.exit(
        130 if run.interrupted else 3 if failed else int(any(c.added for c in compared))
    )


def _jobs(paths: Sequence[Path], options: dict[str, Any]) -> list[api.Job]:
    settings = parse_settings(options["settings"])
    return [
        api.Job(path, settings | {"model": model})
        for path in paths
        for model in options["models"]
    ]


def _compared(results: Sequence[Result]) -> list[ModelComparison]:
    """Pair the results of each spec; a spec that failed on a model has no pair."""
    from nomos.campaign.compare import compare_results

    by_spec: dict[str, list[Result]] = {}
    for result in results:
        by_spec.setdefault(result.subject.path, []).append(result)
    return [compare_results(*both) for both in by_spec.values() if len(both) == 2]


def _write_files(
    compared: Sequence[ModelComparison], root: Path, options: dict[str, Any]
) -> None:
    from nomos.report.comparison import comparison_data

    if options["json_file"] is not None:
        document = {"schema": 1, "comparisons": [comparison_data(c) for c in compared]}
        write_text(options["json_file"], json.dumps(document, indent=1) + "\n")
    if options["html_file"] is not None:
        from nomos.report.html_compare import comparison_html

        page = comparison_html(compared, _Asked(root).outputs)
        write_text(options["html_file"], page)


class _Asked:
    """What the model of a result makes of a bug's case."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.answers: dict[int, Answers] = {}

    def outputs(self, result: Result, bug: Bug) -> Mapping[str, Any]:
        """Return the outputs of the case."""
        from nomos.campaign.compare import Answers

        subject = result.subject
        if id(subject) not in self.answers:
            _, imported = api.load_spec(self.root / subject.path)
            self.answers[id(subject)] = Answers(subject, imported)
        return self.answers[id(subject)].outputs(bug.choices)


def _tell(compared: Sequence[ModelComparison], console: Any, *, stored: bool) -> None:
    from nomos.report.comparison import comparison_table, next_steps

    console.print(comparison_table(compared))
    for step in next_steps(compared) if stored else []:
        console.print(step, markup=False)
