"""`nomos run`: campaigns."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterable, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from nomos import accepted, api
from nomos.cli import options as cli
from nomos.cli.campaigns.reports import (
    REPORTS,
    event_handlers,
    is_piped,
    relative_failures,
    write_reports,
)
from nomos.cli.output import Output, own_stdout, print_failures
from nomos.errors import DomainError, NomosError, exit_status
from nomos.terminal import echo

if TYPE_CHECKING:
    from nomos.results.gate import Gate, Ruling
    from nomos.runner.jobs import Job, Run
    from nomos.runner.project.config import Config
    from nomos.runner.project.discovery import Discovery
    from nomos.runner.project.specs import LoadedSpec
    from nomos.runner.projects import ProjectJobs

_INPUT_SETTINGS = ("inputs", "pool")  # of a constructor, in order of preference


def _inputs_or_file(words: str) -> str | Path:
    """Read `data`, `generated`, or a file that exists."""
    kind = accepted.OPTIONS["inputs"]
    with suppress(ValueError):
        return str(kind.parse_text(words))
    hint = accepted.meant(words, get_args(accepted.Inputs))
    if hint and not Path(words).exists():
        raise click.BadParameter(f"there is no file {words!r}{hint}")
    file: Path = cli.PRESENT_FILE.convert(words, None, None)
    return file


@click.command("run")
@click.argument("specs", nargs=-1, required=True)
@cli.takes(
    "run",
    f"models {cli.CAMPAIGN} {cli.WORKERS} groups shrink until_bug seeds inputs"
    " fail_on min_cases exclude max_rate baseline sanity store no_store resume verify"
    " json html junit sarif github events trust",
    kinds={"inputs": _inputs_or_file},
    seeds=1,
    fail_on="any",
)
def command(specs: tuple[str, ...], **options: Any) -> None:
    """Test a model against SPECS: files, folders or globs.

    \b
    nomos run specs/
    nomos run specs/income.nom --model new.onnx --budget 100000 --jobs 4
    nomos run specs/ --seeds 10 --json results.json
    nomos run specs/ --fail-on new --junit nomos.xml
    nomos run specs/ --max-rate 2% --baseline last-release.json
    nomos run specs/ --repeats 10 --require 8
    nomos run specs/ --sanity

    Exit status: 0 no violation, 1 violations, 2 wrong usage or a bad spec, 3 something
    was not evaluated (a model, its data or some cases failed, or bugs were not
    reproduced), 130 interrupted, 143 terminated. If several apply, the highest.
    """
    from nomos.runner.projects import make_skipped_run

    found = api.find_specs(specs, exclude=options["exclude"])
    if options["engine"] != "ray" and cli.is_own_process():
        from nomos.runner.executors.forking import fork_server

        fork_server()  # for the flakiness check
    projects = _load_projects(found, options)
    if options["sanity"]:
        sys.exit(_run_sanity(projects))
    skipped = make_skipped_run(found)
    sys.exit(_run_campaigns(projects, skipped, options | {"specs": specs}))


def _load_projects(found: Discovery, options: dict[str, Any]) -> list[ProjectJobs]:
    """Return the projects of specs, each with its own configuration and gate."""
    from nomos.runner.project.config import load_config
    from nomos.runner.project.discovery import group_by_project
    from nomos.runner.projects import ProjectJobs

    _refuse_contradictions(options)
    loaded = cli.load_specs(found.specs)
    _check_ensures(options["fail_on"], loaded.values())
    return [
        ProjectJobs(
            root,
            _build_jobs(paths, loaded, root, config, options),
            range(first, first + options["seeds"]),
            cli.run_options(options, config.budget),
            _build_gate(config, options),
        )
        for root, paths in group_by_project(found.specs).items()
        for config in [load_config(root)]
        for first in [config.seed if options["seed"] is None else options["seed"]]
    ]


def _refuse_contradictions(options: dict[str, Any]) -> None:
    """Raise a usage error where one option has no effect beside another."""
    is_piped(options)
    if options["sanity"] and (
        others := [n for n in (*REPORTS, "verify", "resume") if options[n]]
    ):
        raise click.UsageError(f"--sanity runs no campaign: leave out --{others[0]}")
    if options["no_store"] and (options["store"] or options["resume"]):
        other = "--store" if options["store"] else "--resume"
        raise click.UsageError(f"--no-store and {other} contradict each other")
    if options["models"] and "model" in cli.parse_settings(options["settings"]):
        raise click.UsageError("--model and --set model= contradict each other")


def _check_ensures(fail_on: str, loaded: Iterable[LoadedSpec]) -> None:
    """Raise a usage error where --fail-on names an `ensures` that no spec has."""
    from nomos.results.gate import FAIL_ON

    specs = [one.checked.spec for one in loaded if one.checked.spec is not None]
    names = [
        name
        for spec in specs
        for number, one in enumerate(spec.ensures, 1)
        for own in [getattr(one, "name", "") or str(number)]
        for name in (own, f"{spec.name}.{own}")
    ]
    if fail_on not in (*FAIL_ON, *names):
        hint = accepted.meant(fail_on, (*FAIL_ON, *names))
        raise click.BadParameter(
            f"{fail_on!r} is none of {', '.join(FAIL_ON)}, and no spec has an `ensures`"
            f" of that name{hint}",
            param_hint="--fail-on",
        )


def _build_gate(config: Config, options: dict[str, Any]) -> Gate:
    """Return what campaigns must pass, from the options and [tool.nomos]."""
    from nomos.results.gate import make_gate

    typed = {name: options[name] for name in ("max_rate", "baseline", "min_cases")}
    asked = config.complete(**typed)
    flaky = options["accept_flaky"] or 0.0
    make = partial(make_gate, fail_on=options["fail_on"], accept_flaky=flaky)
    try:
        gate = make(**asked)
    except NomosError as error:
        if typed["baseline"] is not None or options["json"] is None:
            raise
        # The project's own baseline: this run may be the one that writes it anew.
        echo(f"error: {error}", err=True)
        return make(**asked | {"baseline": None}, problem=str(error))
    given = (asked["baseline"], options["json"])
    files = [file.resolve() for file in given if isinstance(file, Path)]
    if len(files) == 2 and files[0] == files[1]:
        raise click.UsageError("--json would write over the baseline that is compared")
    return gate


def _run_campaigns(
    projects: Sequence[ProjectJobs], whole: Run, options: dict[str, Any]
) -> int:
    """Run campaigns and show them; return the exit status."""
    from nomos.report.console import RunConsole
    from nomos.report.summary import undecided_lines
    from nomos.results.gate import missing, rulings
    from nomos.runner.projects import drive_projects, mark_reported
    from nomos.runner.stopping import Signals

    piped, ruled, gone = is_piped(options), [], []
    with ExitStack() as stack:
        signals = stack.enter_context(Signals())
        # What goes to standard output must be all that goes there.
        output = stack.enter_context(own_stdout(piped))
        console = RunConsole(quiet=options["quiet"] or piped)
        with ExitStack() as running:
            running.enter_context(console)
            handlers = [console.handle, *event_handlers(options, output, running)]
            how: dict[str, Any] = {"kept": cli.kept_by(options)}
            how["warn"] = console.print_warning
            more = {"verify": options["verify"]}
            more |= {"handlers": handlers, "signals": signals}
            for project, run in drive_projects(projects, whole, **how, **more):
                assert project.gate is not None
                ruled += rulings(run.results, project.gate)
                where = project.root, options["specs"]
                gone += missing(run.results, project.gate, *where)
        write_reports(whole, ruled, relative_failures(whole), options, output)
        mark_reported(projects, whole, **how)
        console.print_summary(whole.results, stored=not options["no_store"])
        for line in undecided_lines(ruled if options["quiet"] else ()):
            echo(line, err=True)
        if not console.quiet:
            lines = [ruling.line for ruling in ruled]
            for line in [*filter(None, dict.fromkeys(lines)), *console.spaces]:
                echo(line)
    return _exit_status_of(whole, ruled, gone, output)


def _exit_status_of(
    run: Run, ruled: Sequence[Ruling], gone: Sequence[str], output: Output
) -> int:
    """Say what could not be run, and return the exit status of the command."""
    from nomos.runner.stopping import EXIT_STATUS

    print_failures(run)
    statuses = {exit_status(failure.error) for failure in run.failures}
    for spec in gone:
        echo(f"error: {spec} is in the baseline and was not run", err=True)
    statuses |= {ruling.status for ruling in ruled}
    has_nothing = not (run.results or run.failures)
    statuses.add(3 if output.has_failed or gone or has_nothing else 0)
    return EXIT_STATUS.get(run.stopped) or max(statuses)


def _run_sanity(projects: Sequence[ProjectJobs]) -> int:
    """Say what specs notice; 0 if each notices something, 3 if one could not be tried."""
    return max(_run_project_sanity(project) for project in projects)


def _run_project_sanity(project: ProjectJobs) -> int:
    from nomos.runner.executors.worker import Setting, Worker
    from nomos.sanity import check_sanity

    status, how = 0, project.how
    worker = Worker(Setting(project.root, how.mode, placement=how.placement))
    for job in project.jobs:
        try:
            found = check_sanity(worker.prepare_job(job), project.seeds[0], how)
        except NomosError as error:
            echo(f"error: {error}", err=True)
            status = 3
            continue
        for line in found.lines:
            echo(line)
        if not any(fault.is_noticed for fault in found.faults):
            status = max(status, 1)
    return status


def _build_jobs(
    paths: list[Path],
    loaded: dict[Path, LoadedSpec],
    root: Path,
    config: Config,
    options: dict[str, Any],
) -> list[Job]:
    from nomos.runner.projects import list_jobs

    settings, given = cli.parse_settings(options["settings"]), options["inputs"]
    file = given if isinstance(given, Path) else None
    return [
        job
        for path in paths
        for own in [settings | _input_setting(loaded[path], file)]
        for models in [options["models"] or config.models_for(path, root)]
        for job in list_jobs(loaded, own, models, [path])
    ]


def _input_setting(spec: LoadedSpec, file: Path | None) -> dict[str, str]:
    """Return the setting that makes a spec's domain draw from a file."""
    if file is None:
        return {}
    _, imported = spec.runnable()
    assert imported.domain is not None
    known = list(inspect.signature(imported.domain).parameters)
    name = next((name for name in _INPUT_SETTINGS if name in known), None)
    if name is None:
        raise DomainError(
            f"{imported.domain.__name__} takes no file of inputs: its constructor has"
            f" neither `inputs` nor `pool`; its settings are: {', '.join(known) or 'none'}"
        )
    return {name: str(file)}
