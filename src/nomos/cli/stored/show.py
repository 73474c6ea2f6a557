"""`nomos show`: one bug in full."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nomos import api
from nomos.cli.options import FOLDER, collect_trusted_settings, takes
from nomos.errors import NomosError
from nomos.terminal import echo

if TYPE_CHECKING:
    from rich.console import Console

    from nomos.engine.interpreter import Outcome
    from nomos.results.result import Bug
    from nomos.runner.live import Reopened


@click.command("show")
@click.argument("bug")
@takes("show", "output model settings trust store", kinds={"output": FOLDER})
def command(bug: str, output: Path | None, store: Path | None, **trusted: Any) -> None:
    """Show BUG, given by its id or the beginning of it: records, vars and outputs.

    \b
    nomos show 3f2a
    nomos show 3f2a -o bug/

    The case is run again to show it; where that cannot be done, what was recorded of
    it is shown.
    """
    from nomos.report.bug import bug_heading, card_text, write_files
    from nomos.report.cards import card_as_recorded
    from nomos.report.console import Screen
    from nomos.results.describe import distances

    console = Screen()
    with api.open_store(store) as opened:
        record, folder = opened.bug(bug), opened.path.parent
    console.print(bug_heading(record), soft_wrap=True, end="")
    for made in distances(record.bug):
        console.print(made, soft_wrap=True, style="dim")
    try:
        named = collect_trusted_settings(**trusted)
        live, outcome = api.replay(record, folder, settings=named)
    except NomosError as error:
        values, why = {}, str(error)
    else:
        values, why = outcome.values, "the case does not break the property any more"
    if not values:
        echo(f"warning: shown as recorded: {why}", err=True)
        shown = card_text(card_as_recorded(record.bug), everything=True)
        console.print(shown, soft_wrap=True, end="")
        if output is not None:
            echo("warning: no files were written: it could not be run", err=True)
        return
    _print_case(console, live, outcome, record.bug.choices)
    _draw_shrunk(console, live, record.bug)
    if output is not None:
        case = values, live.ready_job.subject.outputs, live.domain
        for path in write_files(*case, output, record.bug.choices):
            echo(f"wrote {path}")


def _draw_shrunk(console: Console, live: Reopened, bug: Bug) -> None:
    """Show the shrunk case of a bug, where one was found."""
    from nomos.report.groups import shrunk_words

    if bug.shrunk is None:
        return
    try:
        small = live.ready_job.replay(bug, shrunk=True)
    except NomosError as error:
        echo(f"warning: {error}", err=True)
        return
    if small.values:
        console.print(f"shrunk: {shrunk_words(bug.shrunk)}")
        _print_case(console, live, small)
    else:
        echo("warning: its shrunk case does not break it any more", err=True)


def _print_case(
    console: Console, live: Reopened, case: Outcome, choices: tuple[int, ...] = ()
) -> None:
    """Show the values of a case as its domain does."""
    from nomos.report.bug import bug_picture

    shown = bug_picture(
        case.values,
        live.ready_job.subject.outputs,
        live.domain,
        colour=console.is_terminal and not console.no_color,
        choices=choices,
        failed=case.why,
    )
    console.print(shown, soft_wrap=True, end="")
