"""`nomos replay`: re-run one bug in isolation."""

import sys
from pathlib import Path
from typing import Any

import click

from nomos import api
from nomos.cli.options import collect_trusted_settings, takes


@click.command("replay")
@click.argument("bug")
@takes("replay", "shrunk model settings trust store")
def command(bug: str, shrunk: bool, store: Path | None, **trusted: Any) -> None:
    """Re-run BUG in isolation, with its model as it is now.

    \b
    nomos replay 3f2a
    nomos replay 3f2a --shrunk

    Exit status: 1 it is still there, 0 it is gone, 3 it crashed.
    """
    from nomos.engine.interpreter import NOT_EVALUATED, Verdict
    from nomos.report.bug import card_text
    from nomos.report.cards import card_as_recorded
    from nomos.report.console import Screen
    from nomos.results.describe import describe_values
    from nomos.results.result import Bug

    console = Screen()
    with api.open_store(store) as opened:
        record, folder = opened.bug(bug), opened.path.parent
        named = collect_trusted_settings(**trusted)
        live, outcome = api.replay(record, folder, shrunk=shrunk, settings=named)
        repeats = None if shrunk else live.repeat_bug(record.bug)
        gone = outcome.verdict in (Verdict.PASSED, *NOT_EVALUATED)
        gone = gone if repeats is None else repeats.decision == "no bug"
        # What is stored is the bug itself.
        if not shrunk and not record.bug.is_of_a_proof:
            opened.mark(record.bug.id, "fixed" if gone else "open")
    head = f"{record.subject.property} bug {record.bug.id}"
    if repeats is not None:
        console.print(f"{head}: {'gone, ' * gone}{repeats.text}")
    if gone or (repeats is not None and outcome.verdict is not Verdict.VIOLATED):
        if repeats is None:
            console.print(f"{head}: gone ({outcome.verdict.name.lower()})")
        sys.exit(int(not gone))  # a random model may pass with this sample
    if outcome.verdict in (Verdict.UNREADABLE, Verdict.CRASHED):
        is_crash = outcome.verdict is Verdict.CRASHED
        said = "crashed" if is_crash else f"unreadable: {outcome.why}"
        console.print(f"{head}: {said}\n{outcome.traceback.rstrip()}")
        sys.exit(3)
    console.print(f"{head}: still there, `{outcome.why}` does not hold")
    outputs, schema = live.ready_job.subject.outputs, live.domain.schema
    inputs, answers = describe_values(outcome.values, outputs, schema)
    seen = Bug("", 0, (), outcome.why, inputs=inputs, outputs=answers)
    console.print(card_text(card_as_recorded(seen)), soft_wrap=True, end="")
    sys.exit(1)
