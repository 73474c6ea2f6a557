"""Controls of properties over games of chance: what chance alone gives, beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from nomos.campaign.control import Beside, beside, together
from nomos.campaign.result import Result


@dataclass(frozen=True, slots=True)
class ControlReport:
    """A property's control: its unique 'bugs', seed by seed, and both by their gaps."""

    name: str
    title: str  # of the property
    bugs: tuple[int, ...]
    rows: tuple[Beside, ...]


def control_report(
    name: str, title: str, results: Sequence[Result], controls: Sequence[Result]
) -> ControlReport:
    """Set all seeds of a property beside those of its control."""
    ours = together(result.found for result in results)
    theirs = together(result.found for result in controls)
    bugs = tuple(result.counts.unique_bugs for result in controls)
    return ControlReport(name, title, bugs, tuple(beside(ours, theirs)))


def control_cells(report: ControlReport) -> list[tuple[str, ...]]:
    """Return the rows of the table that compares a property with chance."""
    return [
        (
            report.title,
            "any" if row.gap is None else f"{row.gap} or more",
            f"{row.violations:,} of {row.tests:,}",
            f"{row.control_violations:,} of {row.control_tests:,}",
            f"{row.chance:.2g}",
        )
        for row in report.rows
    ]
