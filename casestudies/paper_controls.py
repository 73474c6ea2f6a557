"""Controls of properties over games of chance: what chance alone gives, beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from nomos.results.margins import ChanceRow, against_chance
from nomos.results.result import Result


@dataclass(frozen=True, slots=True)
class ControlReport:
    """A property's control: its unique 'bugs', seed by seed, and both by their margins."""

    name: str
    title: str  # of the property
    bugs: tuple[int, ...]
    rows: tuple[ChanceRow, ...]


def control_report(name: str, title: str, results: Sequence[Result]) -> ControlReport:
    """Set all seeds of a property beside those of its control."""
    controls = [result.control for result in results if result.control is not None]
    bugs = tuple(control.counts.unique_bugs for control in controls)
    return ControlReport(name, title, bugs, tuple(against_chance(results)))


def control_cells(report: ControlReport) -> list[tuple[str, ...]]:
    """Return the rows of the table that compares a property with chance."""
    return [
        (
            report.title,
            "any" if row.margin is None else f"{row.margin} or more",
            f"{row.violations:,} of {row.tests:,}",
            f"{row.control_violations:,} of {row.control_tests:,}",
            f"{row.chance:.2g}",
        )
        for row in report.rows
    ]
