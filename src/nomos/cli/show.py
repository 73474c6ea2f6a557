"""`nomos show`: one bug in full."""

from __future__ import annotations

from pathlib import Path

import click

from nomos import api


@click.command("show")
@click.argument("bug")
@click.option(
    "--store",
    type=click.Path(file_okay=False, path_type=Path),
    help="The store.  [default: the nearest .nomos]",
)
def command(bug: str, store: Path | None) -> None:
    r"""Show BUG, given by its id or the beginning of it: records, vars and outputs.

    \b
    nomos show 3f2a
    """
    from rich.console import Console

    from nomos.report.bug import describe_bug

    with api.open_store(store) as opened:
        record = opened.bug(bug)
    Console(highlight=False).print(describe_bug(record), soft_wrap=True, end="")
