"""`nomos replay`: run one bug again, alone."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from nomos import api
from nomos.cli.options import store_option


@click.command("replay")
@click.argument("bug")
@store_option
def command(bug: str, store: Path | None) -> None:
    """Run BUG again, alone, with its model as it is now.

    \b
    nomos replay 3f2a

    Exit status: 1 it is still there, 0 it is gone, 3 it crashed.
    """
    from rich.console import Console

    from nomos.campaign.events import Bug
    from nomos.campaign.result import bug_data
    from nomos.campaign.session import replay
    from nomos.harness.alone import Verdict
    from nomos.report.bug import show_bug

    console = Console(highlight=False)
    with api.open_store(store) as opened:
        record = opened.bug(bug)
        prepared = api.reopen(record, opened.path.parent)
        outcome = replay(prepared, record.choices)
        gone = outcome.verdict in (Verdict.PASSED, Verdict.DISCARDED)
        opened.mark(record.id, "fixed" if gone else "open")
    head = f"{record.property} bug {record.id}"
    if gone:
        console.print(f"{head}: gone ({outcome.verdict.name.lower()})", markup=False)
        return
    if outcome.verdict is Verdict.CRASHED:
        console.print(f"{head}: crashed\n{outcome.traceback}", markup=False, end="")
        sys.exit(3)
    console.print(f"{head}: still there, `{outcome.why}` does not hold", markup=False)
    found = Bug(record.id, record.case, record.choices, outcome.why, outcome.values)
    data = bug_data(found, prepared.subject)
    console.print(show_bug(data["inputs"], data["outputs"]), soft_wrap=True, end="")
    sys.exit(1)
