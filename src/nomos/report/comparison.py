"""Two models side by side, as a table and as data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rich import box
from rich.table import Table

from nomos.campaign.compare import ModelComparison
from nomos.campaign.result import bug_data


def comparison_table(compared: Sequence[ModelComparison]) -> Table:
    """Return a line for each property: bugs fixed, kept and new, and the rates."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("property")
    for title in ("fixed", "kept", "new"):
        table.add_column(title, justify="right")
    table.add_column("violations, old → new")
    table.add_column("change of the rate")
    for one in compared:
        old, new = one.old.counts, one.new.counts
        table.add_row(
            one.new.subject.spec.name,
            str(len(one.fixed)),
            str(len(one.kept)),
            f"[red]{len(one.added)}[/]" if one.added else "0",
            f"{old.violations} → {new.violations} of {new.tests}",
            _change(one),
        )
    return table


def _change(one: ModelComparison) -> str:
    if one.difference is None:
        return "-"
    low, high = one.difference.interval.low, one.difference.interval.high
    if one.new.search == "exhaustive":
        return f"{100 * one.difference.value:+.2f} % (exact)"
    return (
        f"{100 * one.difference.value:+.2f} % ({100 * low:+.2f} to {100 * high:+.2f})"
    )


def comparison_data(one: ModelComparison) -> dict[str, Any]:
    """Return a comparison as plain data."""
    return {
        "spec": one.new.subject.path,
        "property": one.new.subject.spec.name,
        "old": one.old.subject.model,
        "new": one.new.subject.model,
        "tests": one.new.counts.tests,
        "violations": {
            "old": one.old.counts.violations,
            "new": one.new.counts.violations,
        },
        "difference": None if one.difference is None else asdict(one.difference),
        "fixed": [bug_data(bug, one.old.subject) for bug in one.fixed],
        "kept": [bug_data(bug, one.new.subject) for bug in one.kept],
        "added": [bug_data(bug, one.new.subject) for bug in one.added],
    }
