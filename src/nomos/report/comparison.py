"""Two models side by side, as a table and as data."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rich import box
from rich.table import Table
from rich.text import Text

from nomos.results.comparison import ModelComparison


def comparison_table(compared: Sequence[ModelComparison]) -> Table:
    """Return a line for each property: bugs fixed, kept and new, and the rates."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("property", overflow="fold")
    for title in ("fixed", "kept", "new"):
        table.add_column(title, justify="right")
    table.add_column("violations, old → new")
    table.add_column("change of the rate")
    for one in compared:
        old, new = one.old.counts, one.new.counts
        table.add_row(
            Text(one.new.name),
            str(len(one.fixed)),
            str(len(one.kept)),
            Text(str(len(one.added)), style="red" if one.added else ""),
            f"{old.violations:,} → {new.violations:,} of {new.tests:,}",
            change_words(one, " %"),
        )
    return table


def next_steps(compared: Sequence[ModelComparison]) -> list[str]:
    """Return the commands that a reader will want next, on a bug that is new."""
    bugs = [bug for one in compared for bug in one.added]
    if not bugs:
        return []
    id = bugs[0].id
    return [
        f"nomos show {id}    a new bug in full",
        f"nomos replay {id}  re-run it in isolation",
        "nomos compare … --html page.html  all of them, on a page",
    ]


def change_words(one: ModelComparison, unit: str = "") -> str:
    """Return the change of the rate in % points, and how well it is known."""
    if one.difference is None:
        return "-"
    value, interval = one.difference.value, one.difference.interval
    low, high = 100 * interval.low, 100 * interval.high
    known = f"{low:+.2f} to {high:+.2f}, {100 * interval.confidence:g} %"
    if one.new.search != "random":
        known = "exact"
    return f"{100 * value:+.2f}{unit} ({known})"


def comparison_data(one: ModelComparison) -> dict[str, Any]:
    """Return a comparison as plain data."""
    return {
        "spec": one.new.subject.spec,
        "property": one.new.name,
        "old": one.old.subject.model,
        "new": one.new.subject.model,
        "tests": one.new.counts.tests,
        "violations": {
            "old": one.old.counts.violations,
            "new": one.new.counts.violations,
        },
        "problems": {"old": one.old.problem, "new": one.new.problem},
        "difference": None if one.difference is None else asdict(one.difference),
        "fixed": [asdict(bug) for bug in one.fixed],
        "kept": [asdict(bug) for bug in one.kept],
        "added": [asdict(bug) for bug in one.added],
    }
