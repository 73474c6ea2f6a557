"""`nomos bugs`: the bugs that campaigns found."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path, PurePath

import click

from nomos import api
from nomos.cli.options import store_option


@click.command("bugs")
@click.argument("property", required=False)
@click.option("--status", type=click.Choice(["open", "fixed"]), help="Only such bugs.")
@click.option(
    "--most",
    default=50,
    show_default=True,
    type=click.IntRange(1),
    help="List at most so many.",
)
@store_option
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json"]),
    default="text",
    help="How to print them.",
)
def command(
    property: str | None, status: str | None, most: int, store: Path | None, form: str
) -> None:
    """List the bugs of PROPERTY, or all.

    \b
    nomos bugs
    nomos bugs felony_inc --status open
    """
    with api.open_store(store) as opened:
        bugs = opened.bugs(status=status)  # type: ignore[arg-type]  # click checked it
    bugs = [bug for bug in bugs if property in (None, bug.property)]
    if form == "json":
        click.echo(json.dumps([asdict(bug) for bug in bugs], indent=1))
        return
    for bug in bugs[:most]:
        model = PurePath(bug.model).name or "-"
        click.echo(f"{bug.id}  {bug.status:<5}  {bug.property}  {model}  {bug.failed}")
    hidden = len(bugs) - most
    if hidden > 0:
        click.echo(f"({hidden} more; --most shows them)")
    if not bugs:
        click.echo("no bugs")
