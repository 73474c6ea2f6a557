"""`nomos replay`: run one bug again, alone."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from nomos import api
from nomos.cli.options import collect_trusted_settings, takes


@click.command("replay")
@click.argument("bug")
@takes("replay", "shrunk model settings trust store")
def command(
    bug: str,
    shrunk: bool,
    model: str | None,
    settings: tuple[str, ...],
    store: Path | None,
) -> None:
    """Run BUG again, alone, with its model as it is now.

    \b
    nomos replay 3f2a
    nomos replay 3f2a --shrunk

    Exit status: 1 it is still there, 0 it is gone, 3 it crashed.
    """
    from nomos.engine.interpreter import Verdict
    from nomos.report.bug import card_text
    from nomos.report.cards import card_as_recorded
    from nomos.report.screen import Screen
    from nomos.results.describe import describe_values
    from nomos.results.result import Bug

    console = Screen()
    with api.open_store(store) as opened:
        record = opened.bug(bug)
        trusted = collect_trusted_settings(model, settings)
        live, outcome = api.replay(
            record, opened.path.parent, shrunk=shrunk, settings=trusted
        )
        gone = outcome.verdict in (Verdict.PASSED, Verdict.DISCARDED)
        # What is stored is the bug itself.
        if not shrunk and not record.bug.is_of_a_proof:
            opened.mark(record.bug.id, "fixed" if gone else "open")
    head = f"{record.subject.property} bug {record.bug.id}"
    if gone:
        console.print(f"{head}: gone ({outcome.verdict.name.lower()})")
        return
    if outcome.verdict is Verdict.UNREADABLE:
        console.print(f"{head}: unreadable: {outcome.why}\n{outcome.traceback}")
        sys.exit(3)
    if outcome.verdict is Verdict.CRASHED:
        console.print(f"{head}: crashed\n{outcome.traceback}", end="")
        sys.exit(3)
    console.print(f"{head}: still there, `{outcome.why}` does not hold")
    outputs, schema = live.ready_job.subject.outputs, live.domain.schema
    inputs, answers = describe_values(outcome.values, outputs, schema)
    seen = Bug("", 0, (), outcome.why, inputs=inputs, outputs=answers)
    console.print(card_text(card_as_recorded(seen)), soft_wrap=True, end="")
    sys.exit(1)
