"""Controls of properties over games of chance: what chance alone gives, beside them.

The games of a case share their seeds, as in the paper, so that they are no `@random`
functions, and what chance does is a spec of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from nomos.results.margins import join_margins
from nomos.results.result import Result
from nomos.results.statistics import fisher

THRESHOLDS = (1, 2, 3, 5)  # margins from which on violations are counted


@dataclass(frozen=True, slots=True)
class ChanceRow:
    """Violations by a margin of at least `margin`, and those of the control.

    `margin` is None where every violation counts. `chance` is how likely as many or more
    of all these violations fall to the property if they are as likely in the control
    (Fisher's exact test, one-sided).
    """

    margin: int | None
    violations: int
    tests: int
    control_violations: int
    control_tests: int
    chance: float


@dataclass(frozen=True, slots=True)
class ControlReport:
    """A property's control: its unique 'bugs', seed by seed, and both by their margins."""

    name: str
    title: str  # of the property
    bugs: tuple[int, ...]
    rows: tuple[ChanceRow, ...]


def control_report(
    name: str, title: str, results: Sequence[Result], controls: Sequence[Result]
) -> ControlReport:
    """Set all seeds of a property beside those of its control."""
    bugs = tuple(control.counts.unique_bugs for control in controls)
    return ControlReport(name, title, bugs, tuple(against_chance(results, controls)))


def against_chance(ours: Sequence[Result], theirs: Sequence[Result]) -> list[ChanceRow]:
    """Count violations from each threshold on, beside those of the controls."""
    margins, chance_gaps = join_margins(ours), join_margins(theirs)
    values = [] if margins is None or chance_gaps is None else [*margins, *chance_gaps]
    whole = None not in (margins, chance_gaps) and all(
        margin == int(margin) for margin in values
    )
    tests, control_tests = _count_judged(ours), _count_judged(theirs)
    rows = []
    for margin in THRESHOLDS if whole else (None,):
        found = _at_least(ours, margins, margin)
        control = _at_least(theirs, chance_gaps, margin)
        chance = fisher(found, tests, control, control_tests)
        rows.append(ChanceRow(margin, found, tests, control, control_tests, chance))
    return rows


def _count_judged(results: Sequence[Result]) -> int:
    return sum(result.counts.evaluated for result in results)


def _at_least(
    results: Sequence[Result], margins: Mapping[float, int] | None, margin: int | None
) -> int:
    if margin is None or margins is None:
        return sum(result.counts.violations for result in results)
    return sum(count for value, count in margins.items() if value >= margin)


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
