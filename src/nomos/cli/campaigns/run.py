"""`nomos run`: campaigns."""

from __future__ import annotations

import inspect
import json
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nomos import api
from nomos.cli import options as cli
from nomos.cli.output import STDOUT, Output, ReportPath, own_stdout
from nomos.errors import DomainError, NomosError, exit_status
from nomos.terminal import echo

if TYPE_CHECKING:
    from nomos.results.gate import Gate
    from nomos.runner.driver import Run
    from nomos.runner.events import Handler
    from nomos.runner.jobs import Job
    from nomos.runner.options import Options
    from nomos.runner.project.config import Config
    from nomos.runner.project.specs import LoadedSpec

_FILE = ReportPath()
# `write_reports` writes them.
report_options = cli.combine_options(
    cli.option("--json json_file", "Write the results to a file.", _FILE),
    cli.option("--html html_file", "Write a page to read and send.", _FILE),
    cli.option("--junit junit_file", "Write JUnit XML for CI.", _FILE),
    cli.option("--sarif sarif_file", "Write SARIF for code hosts.", _FILE),
)
_FILES = ("json_file", "html_file", "junit_file", "sarif_file", "events_file")
_INPUT_SETTINGS = ("inputs", "pool")  # of a constructor, in order of preference


def _inputs_or_file(words: str) -> str | Path:
    """Read `data`, `generated`, or a file that exists."""
    if words in ("data", "generated"):
        return words
    file: Path = cli.PRESENT_FILE.convert(words, None, None)
    return file


@click.command("run")
@click.argument("specs", nargs=-1, required=True)
@cli.option(
    "--model models",
    "The model under test: what the domain's `model` setting takes. May be given several times.",
    multiple=True,
    metavar="MODEL",
)
@cli.campaign_options
@cli.explaining_options
@cli.worker_options
@cli.flag("--until-bug", "Stop at the first bug.")
@cli.option(
    "--seeds",
    "Run so many seeds, from --seed on; gives mean and spread.",
    cli.COUNT,
    default=1,
)
@cli.option(
    "--inputs",
    "data: inputs are those of the domain. generated: made from them, within the"
    " schema. FILE: drawn from a file, the domain's setting `inputs` or `pool`.",
    _inputs_or_file,
    metavar="data|generated|FILE",
)
@cli.option(
    "--control",
    "A spec where chance alone can differ: run too, and shown beside the others.",
    cli.PRESENT_FILE,
    metavar="SPEC",
)
@cli.option(
    "--fail-on",
    "new: exit 1 only for bugs that .nomos/cases does not list as known. "
    "open: also where --verify neither proves nor refutes.",
    click.Choice(["any", "new", "open"]),
    default="any",
)
@cli.option(
    "--max-rate",
    "Pass where at most this share of cases (2%) is violated: the exact rate where"
    " every case was tried, else the upper bound (95 %, one-sided) that the sample gives."
    " Where the sample is too small to tell, the status is 3.",
    cli.parse_share_option,
    metavar="SHARE",
)
@cli.option(
    "--baseline",
    "Pass where no rate is worse than in FILE, which an earlier run wrote with"
    " --json: by Fisher's exact test, one-sided, at the level 0.01; and red where a"
    " property that held is violated. What cannot be compared has status 3.",
    cli.PRESENT_FILE,
    metavar="FILE",
)
@cli.flag(
    "--sanity",
    "Plant faults in the model's answers, and say which of them each spec notices.",
)
@cli.keeping_options
@cli.flag("--resume", "Go on where the same campaign was killed or interrupted.")
@cli.flag(
    "--verify",
    "Where no violation is found, try a proof for all inputs of the schema.",
)
@report_options
@cli.option(
    "--events events_file",
    "Write each event as a line of JSON, as it happens.",
    _FILE,
)
def command(specs: tuple[str, ...], **options: Any) -> None:
    """Test a model against SPECS: files, folders or globs.

    \b
    nomos run specs/
    nomos run specs/income.nom --model new.onnx --budget 100000 --jobs 4
    nomos run specs/ --seeds 10 --json results.json
    nomos run specs/ --fail-on new --junit nomos.xml
    nomos run specs/ --max-rate 2% --baseline last-release.json
    nomos run specs/games.nom --control specs/chance.nom
    nomos run specs/ --sanity

    Exit status: 0 no violation, 1 violations, 2 wrong usage or a bad spec, 3 something
    was not judged (a model, its data or some cases failed, or answers did not come
    back), 130 interrupted, 143 terminated. If several apply, the highest.
    """
    from nomos.runner.project.config import load_config
    from nomos.runner.project.naming import project_root

    paths = api.find_specs(specs)
    control = options["control"]
    loaded = cli.load_specs(paths if control is None else [*paths, control])
    root = project_root(paths[0])
    config = load_config(root)
    jobs = _build_jobs(paths, loaded, root, config, options)
    seed = config.seed if options["seed"] is None else options["seed"]
    how = cli.run_options(options, config.budget)
    if options["sanity"]:
        sys.exit(_run_sanity(jobs, root, seed, how))
    options |= {"gate": _build_gate(config, options), "specs": specs}
    sys.exit(_run_campaigns(jobs, seed, root, how, options))


def _build_gate(config: Config, options: dict[str, Any]) -> Gate:
    """Return what campaigns must pass, from the options and [tool.nomos]."""
    baseline, written = options["baseline"] or config.baseline, options["json_file"]
    files = [file.resolve() for file in (baseline, written) if isinstance(file, Path)]
    if len(files) == 2 and files[0] == files[1]:
        raise click.UsageError("--json would write over the baseline that is compared")
    return config.gate(
        *(options["max_rate"], options["baseline"]),
        fail_on=options["fail_on"],
        accepted=options["accept_unstable"] or 0.0,
    )


def _run_campaigns(
    jobs: list[Job], seed: int, root: Path, how: Options, options: dict[str, Any]
) -> int:
    """Run campaigns and show them; return the exit status."""
    from nomos.report.console import RunConsole
    from nomos.results.gate import rulings
    from nomos.runner.stopping import Signals

    piped = STDOUT in [options[name] for name in _FILES]
    with ExitStack() as stack:
        signals = stack.enter_context(Signals())
        # What goes to standard output must be all that goes there.
        output = stack.enter_context(own_stdout(piped))
        console = RunConsole(quiet=options["quiet"] or piped)
        with ExitStack() as running:
            running.enter_context(console)
            run = api.drive(
                jobs,
                range(seed, seed + options["seeds"]),
                root=root,
                options=how,
                store=cli.keeping_store(root, options, console.warn),
                handlers=[console.handle, *_event_file(options, output, running)],
                warn=console.warn,
                control=options["control"],
                signals=signals,
                verify=options["verify"],
            )
        write_reports(run, root, options, output)
        console.finish(run.results, stored=not options["no_store"])
        if not console.quiet:
            lines = [ruling.line for ruling in rulings(run.results, options["gate"])]
            for line in [*filter(None, dict.fromkeys(lines)), *console.spaces]:
                echo(line)
    return _exit_status_of(run, root, options, output)


def _exit_status_of(
    run: Run, root: Path, options: dict[str, Any], output: Output
) -> int:
    """Say what could not be run, and return the exit status of the command."""
    from nomos.results.gate import missing, rulings
    from nomos.runner.stopping import EXIT_STATUS

    for failure in run.failures:
        echo(f"error: {failure}", err=True)
    statuses = {exit_status(failure.error) for failure in run.failures}
    gone = missing(run.results, options["gate"], root, options["specs"])
    for spec in gone:
        echo(f"error: {spec} is in the baseline and was not run", err=True)
    statuses |= {ruling.status for ruling in rulings(run.results, options["gate"])}
    statuses.add(3 if output.has_failed or gone or not run.results else 0)
    return EXIT_STATUS.get(run.stopped) or max(statuses)


def _run_sanity(jobs: list[Job], root: Path, seed: int, options: Options) -> int:
    """Say what specs notice; 0 if each notices something, 3 if one could not be tried."""
    from nomos.runner.executors.worker import Setting, Worker
    from nomos.sanity import check_sanity

    status = 0
    worker = Worker(Setting(root, options.mode, placement=options.placement))
    for job in jobs:
        try:
            found = check_sanity(worker.prepared(job), seed, options)
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
    from nomos.runner.jobs import Job
    from nomos.runner.project.params import each_setting

    settings = cli.parse_settings(options["settings"])
    given = options["inputs"]
    file = given if isinstance(given, Path) else None
    return [
        Job(path, given | ({} if model is None else {"model": model}), loaded[path])
        for path in paths
        for each in each_setting(loaded[path].checked.spec, settings)
        for given in [each | _input_setting(loaded[path], file)]
        for model in options["models"] or config.models_for(path, root) or [None]
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


def _event_file(
    options: dict[str, Any], output: Output, stack: ExitStack
) -> list[Handler]:
    from nomos.report.formats.stream import EventStream

    path = options["events_file"]
    if path is None:
        return []
    if path == STDOUT:
        return [EventStream(output.stdout).handle]
    return [EventStream(stack.enter_context(path.open("w", encoding="utf-8"))).handle]


def write_reports(
    run: Run, root: Path, options: dict[str, Any], output: Output
) -> None:
    """Write the files that were asked for."""
    from nomos.results.gate import Gate
    from nomos.results.result import to_data
    from nomos.runner.project.naming import relative

    results, gate = run.results, options.get("gate") or Gate(options["fail_on"])
    failures = [(relative(str(f.job.path), root), str(f.error)) for f in run.failures]
    if options["json_file"] is not None:
        document = {
            "schema": 3,
            "runs": [to_data(result) for result in results],
            "failures": [{"spec": path, "error": why} for path, why in failures],
        }
        output.write_file(options["json_file"], json.dumps(document, indent=1) + "\n")
    if options["junit_file"] is not None:
        from nomos.report.formats.junit import junit

        text = junit(results, failures, gate)
        output.write_file(options["junit_file"], text)
    if options["sarif_file"] is not None:
        from nomos.report.formats.sarif import sarif

        document = sarif(results, failures, gate)
        output.write_file(options["sarif_file"], json.dumps(document, indent=1) + "\n")
    if options["html_file"] is not None:
        from nomos.report.html.page import html

        output.write_file(options["html_file"], html(results, failures))
