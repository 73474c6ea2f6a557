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
from nomos.cli import options as cli
from nomos.cli.output import STDOUT, Output, own_stdout, print_failures
from nomos.terminal import echo

if TYPE_CHECKING:
    from nomos.results.comparison import ModelComparison
    from nomos.results.result import Bug, Result
    from nomos.runner.jobs import Run
    from nomos.runner.project.specs import LoadedSpec
    from nomos.runner.projects import ProjectJobs

_ALONE: dict[str, Any] = {"accept": False, "groups": False, "shrink": False}


@click.command("compare")
@click.argument("specs", nargs=-1, required=True)
@cli.takes(
    "compare",
    f"models {cli.CAMPAIGN} {cli.WORKERS} store no_store json html trust",
    required=["models"],
)
def command(specs: tuple[str, ...], **options: Any) -> None:
    """Run the same cases on two models: bugs fixed, kept and new.

    \b
    nomos compare specs/ --model old.onnx --model new.onnx
    nomos compare specs/ --model old.onnx --model new.onnx --html changes.html

    Exit status: 0 no new bugs, 1 the new model has new bugs, 2 wrong usage or a bad
    spec, 3 a model, its data or some cases failed. If several apply, the highest.
    """
    from nomos.report.console import RunConsole
    from nomos.runner.project.discovery import group_by_project
    from nomos.runner.projects import drive_projects, make_skipped_run, mark_reported
    from nomos.runner.stopping import Signals

    if len(options["models"]) != 2:
        raise click.UsageError("give --model twice: the old model, then the new one")
    found = api.find_specs(specs)
    loaded = cli.load_specs(found.specs)
    whole = make_skipped_run(found)
    compared: list[ModelComparison] = []
    piped = STDOUT in [options[name] for name in ("json", "html")]
    with Signals() as signals, own_stdout(piped) as output:
        with RunConsole(quiet=True) as console:
            projects = [
                _plan_project(root, paths, loaded, options)
                for root, paths in group_by_project(found.specs).items()
            ]
            how: dict[str, Any] = {"kept": cli.kept_by(options)}
            how["warn"] = console.print_warning
            more: dict[str, Any] = {"handlers": [console.handle], "signals": signals}
            for _, run in drive_projects(projects, whole, **how, **more):
                compared += _compare_models(run.results)
        _write_files(compared, options, output)
        mark_reported(projects, whole, **how)
        if not options["quiet"] and not piped:
            _print_comparison(compared, console.console, stored=not options["no_store"])
    sys.exit(_exit_status(whole, compared, output))


def _exit_status(
    whole: Run, compared: Sequence[ModelComparison], output: Output
) -> int:
    """Say what could not be compared, and return the exit status of the command."""
    from nomos.results.gate import Gate, rulings
    from nomos.runner.stopping import EXIT_STATUS

    print_failures(whole)
    few = [ruling for ruling in rulings(whole.results, Gate()) if ruling.is_small]
    for ruling in few:
        echo(ruling.line, err=True)
    unevaluated = any(r.verdict == "failed" or r.problem for r in whole.results)
    failed = whole.failures or few or unevaluated or output.has_failed or not compared
    added = int(any(c.added for c in compared))
    return EXIT_STATUS.get(whole.stopped) or (3 if failed else added)


def _plan_project(
    root: Path,
    paths: Sequence[Path],
    loaded: dict[Path, LoadedSpec],
    options: dict[str, Any],
) -> ProjectJobs:
    """Return the campaigns of one project, as its configuration says."""
    from nomos.runner.project.config import load_config
    from nomos.runner.projects import ProjectJobs, list_jobs

    config, settings = load_config(root), cli.parse_settings(options["settings"])
    seed = config.seed if options["seed"] is None else options["seed"]
    jobs = list_jobs(loaded, settings, options["models"], paths)
    # What a model is only compared with becomes nobody's known bug.
    how = replace(cli.run_options(options, config.budget), **_ALONE)
    return ProjectJobs(root, jobs, [seed], how)


def _compare_models(results: Sequence[Result]) -> list[ModelComparison]:
    """Pair the results of each spec and setting; what failed on a model has no pair."""
    from nomos.results.comparison import compare_results

    pairs: dict[str, list[Result]] = {}
    for result in results:
        key = f"{result.subject.spec} {sorted(result.subject.settings.items())}"
        pairs.setdefault(key, []).append(result)
    return [compare_results(*both) for both in pairs.values() if len(both) == 2]


def _write_files(
    compared: Sequence[ModelComparison], options: dict[str, Any], output: Output
) -> None:
    from nomos.report.comparison import comparison_data
    from nomos.results.result import SCHEMA

    if options["json"] is not None:
        document = {
            "schema": SCHEMA,
            "comparisons": [comparison_data(c) for c in compared],
        }
        output.write_file(options["json"], json.dumps(document, indent=1) + "\n")
    if options["html"] is not None:
        from nomos.report.html.compare import comparison_html

        output.write_file(options["html"], comparison_html(compared, _outputs_of))


def _outputs_of(result: Result, bug: Bug) -> Mapping[str, Any]:
    """Return what the model of a result says in a bug's case."""
    return {} if result.live is None else result.live.outputs(bug)


def _print_comparison(
    compared: Sequence[ModelComparison], console: Any, *, stored: bool
) -> None:
    from nomos.report.comparison import comparison_table, next_steps

    console.print(comparison_table(compared))
    for step in next_steps(compared) if stored else []:
        console.print(step)
