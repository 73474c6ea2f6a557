"""`nomos compare`: an old and a new model on the same cases."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

from nomos import api
from nomos.cli.options import (
    campaign_options,
    drive,
    parse_settings,
    session_options,
    stop_at_bad_specs,
    write_text,
)


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
@click.option(
    "--json",
    "json_file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the comparison to a file.",
)
def command(specs: tuple[str, ...], **options: Any) -> None:
    """Run the same cases on two models: bugs fixed, kept and new.

    \b
    nomos compare specs/ --model old.onnx --model new.onnx

    Exit status: 0 no new bugs, 1 the new model has new bugs, 2 wrong usage or a bad
    spec, 3 a model, its data or some cases failed.
    """
    from nomos.campaign.compare import compare_results
    from nomos.campaign.config import load_config
    from nomos.campaign.naming import project_root
    from nomos.campaign.session import Session
    from nomos.report.comparison import comparison_data, comparison_table
    from nomos.report.console import RunConsole

    if len(options["models"]) != 2:
        raise click.UsageError("give --model twice: the old model, then the new one")
    paths = api.find_specs(specs)
    stop_at_bad_specs(paths)
    root = project_root(paths[0])
    config = load_config(root)
    settings = parse_settings(options["settings"])
    jobs = [
        api.Job(path, settings | {"model": model})
        for path in paths
        for model in options["models"]
    ]
    seed = config.seed if options["seed"] is None else options["seed"]
    with RunConsole(quiet=True) as console:
        session = Session(
            root, session_options(options, config.budget), None, console.warn
        )
        run = api.Run(session, jobs, [seed])
        drive(run, console.hear)
    pairs = [(r.subject.path, r) for r in run.results]
    by_spec = {path: [r for p, r in pairs if p == path] for path, _ in pairs}
    compared = [compare_results(*both) for both in by_spec.values() if len(both) == 2]
    if options["json_file"] is not None:
        document = {"schema": 1, "comparisons": [comparison_data(c) for c in compared]}
        write_text(options["json_file"], json.dumps(document, indent=1) + "\n")
    if not options["quiet"]:
        console.console.print(comparison_table(compared))
    for failure in run.failures:
        click.echo(f"error: {failure.job.path}: {failure.error}", err=True)
    failed = run.failures or any(r.verdict == "failed" for r in run.results)
    sys.exit(
        130 if run.interrupted else 3 if failed else int(any(c.added for c in compared))
    )
