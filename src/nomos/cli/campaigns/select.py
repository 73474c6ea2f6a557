"""`nomos select`: ask again until the answers satisfy the spec."""

import sys
from typing import Any

import click

from nomos import api
from nomos.cli import options as cli
from nomos.errors import NomosError
from nomos.terminal import echo


@click.command("select")
@click.argument("specs", nargs=-1, required=True)
@cli.takes(
    "select",
    "model settings budget seed tries calls call_timeout_s concurrency rate cache"
    " max_cost store no_store trust",
    budget=100,
    tries=5,
)
def command(specs: tuple[str, ...], **options: Any) -> None:
    """Ask a random model again until its answers satisfy SPECS.

    \b
    nomos select specs/ --model openai:gpt-4o-mini?temperature=0.7 --tries 5

    Says how often the first answers satisfy each spec, and how often the selected ones.
    `nomos.select_answers` selects for one input of a program.

    Exit status: 0 a satisfying answer was found in every case, 1 not in every one,
    2 wrong usage or a bad spec, 3 the model failed.
    """
    status = 0
    given = {name: value for name, value in options.items() if value is not None}
    given["settings"] = cli.parse_settings(given.get("settings", ()))
    given["store"] = cli.kept_by(options)
    given.pop("no_store", None)
    for found in api.measure_selections(specs, **given):
        if isinstance(found, NomosError):
            echo(f"error: {found}", err=True)
            status = 3
            continue
        echo(found.text)
        status = max(status, int(found.selected < found.cases))
    sys.exit(status)
