"""`nomos show`: one bug in full."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from nomos import api
from nomos.cli.options import FOLDER, option, store_option

if TYPE_CHECKING:
    from rich.console import Console

    from nomos.results.analysis import Shrunk
    from nomos.runner.live import Reopened


@click.command("show")
@click.argument("bug")
@option(
    "-o --output",
    "Write the records to files in this folder: PNG, SVG, WAV, TXT.",
    FOLDER,
)
@store_option
def command(bug: str, output: Path | None, store: Path | None) -> None:
    """Show BUG, given by its id or the beginning of it: records, vars and outputs.

    \b
    nomos show 3f2a
    nomos show 3f2a -o bug/

    The case is run again to show it; where that cannot be done, what was recorded of
    it is shown.
    """
    from rich.console import Console

    from nomos.errors import NomosError
    from nomos.report.bug import card_text, heading, picture, write_files
    from nomos.report.cards import recorded_card
    from nomos.results.describe import distances

    console = Console(highlight=False)
    with api.open_store(store) as opened:
        record = opened.bug(bug)
        folder = opened.path.parent
    console.print(heading(record), soft_wrap=True, end="")
    for made in distances(record.bug):
        console.print(made, soft_wrap=True, style="dim")
    try:
        live, outcome = api.replay(record, folder)
    except NomosError as error:
        values, why = {}, str(error)
    else:
        values, why = outcome.values, "the case does not break the property any more"
    if not values:
        click.echo(f"warning: shown as recorded: {why}", err=True)
        shown = card_text(recorded_card(record.bug), everything=True)
        console.print(shown, soft_wrap=True, end="")
        if output is not None:
            click.echo("warning: no files were written: it could not be run", err=True)
        return
    outputs, domain = live.prepared.subject.outputs, live.domain
    colour = console.is_terminal and not console.no_color
    choices = record.bug.choices
    shown = picture(
        values, outputs, domain, colour=colour, choices=choices, failed=outcome.why
    )
    console.print(shown, soft_wrap=True, end="")
    if record.bug.shrunk is not None:
        _show_smaller(live, record.bug.shrunk, console, colour=colour)
    if output is not None:
        for path in write_files(values, outputs, domain, output, choices):
            click.echo(f"wrote {path}")


def _show_smaller(
    live: Reopened, shrunk: Shrunk, console: Console, *, colour: bool
) -> None:
    """Show the smaller case that was found for a bug, beside the bug itself."""
    from nomos.report.bug import picture
    from nomos.report.groups import shrunk_words
    from nomos.shrinking.shrink import replay_shrunk

    small = replay_shrunk(live.prepared.engine, shrunk)
    if not small.values:
        click.echo("warning: its smaller case does not break it any more", err=True)
        return
    console.print(f"made smaller: {shrunk_words(shrunk)}", markup=False)
    outputs = live.prepared.subject.outputs
    shown = picture(small.values, outputs, live.domain, colour=colour, failed=small.why)
    console.print(shown, soft_wrap=True, end="")
