"""By how much violations miss what is ensured, and how often chance does the same.

A property over games of chance fails now and then by chance alone. A control is a spec
in which nothing but chance can differ; what a property finds counts as far as it
exceeds what its control finds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from nomos.results.result import Result
from nomos.results.statistics import fisher

THRESHOLDS = (1, 2, 3, 5)  # gaps from which on violations are counted
_MOST_BARS = 8  # of a histogram; more values than that are put together


@dataclass(frozen=True, slots=True)
class Bar:
    """How many violations have a gap from `low` to `high`, both included."""

    low: float
    high: float
    count: int


@dataclass(frozen=True, slots=True)
class ChanceRow:
    """Violations by a gap of at least `gap`, and those of the control.

    `gap` is None where every violation counts. `chance` is how likely as many or more
    of all these violations fall to the property if they are as likely in the control
    (Fisher's exact test, one-sided).
    """

    gap: int | None
    violations: int
    tests: int
    control_violations: int
    control_tests: int
    chance: float


def gaps_together(results: Iterable[Result]) -> Mapping[float, int] | None:
    """Count the gaps of several campaigns; None where one of them has none."""
    total: Counter[float] = Counter()
    for result in results:
        if result.gaps is None:
            return None
        total.update(result.gaps)
    return total


def histogram(gaps: Mapping[float, int]) -> list[Bar]:
    """Return the gaps as bars: one for each value, or for each range if they are many."""
    if len(gaps) <= _MOST_BARS:
        return [Bar(gap, gap, count) for gap, count in sorted(gaps.items())]
    low, high = min(gaps), max(gaps)
    bars: dict[int, list[float]] = {}
    for gap in sorted(gaps):
        place = min(_MOST_BARS - 1, int(_MOST_BARS * (gap - low) / (high - low)))
        bars.setdefault(place, []).append(gap)
    return [
        Bar(inside[0], inside[-1], sum(gaps[gap] for gap in inside))
        for inside in bars.values()
    ]


def against_chance(results: Sequence[Result]) -> list[ChanceRow]:
    """Count violations from each threshold on, beside those of the controls."""
    ours = [result for result in results if result.control is not None]
    theirs = [result.control for result in ours if result.control is not None]
    gaps, chance_gaps = gaps_together(ours), gaps_together(theirs)
    values = [] if gaps is None or chance_gaps is None else [*gaps, *chance_gaps]
    whole = None not in (gaps, chance_gaps) and all(gap == int(gap) for gap in values)
    tests, control_tests = _count_judged(ours), _count_judged(theirs)
    rows = []
    for gap in THRESHOLDS if whole else (None,):
        found = _at_least(ours, gaps, gap)
        control = _at_least(theirs, chance_gaps, gap)
        chance = fisher(found, tests, control, control_tests)
        rows.append(ChanceRow(gap, found, tests, control, control_tests, chance))
    return rows


def _count_judged(results: Sequence[Result]) -> int:
    return sum(result.counts.judged for result in results)


def _at_least(
    results: Sequence[Result], gaps: Mapping[float, int] | None, gap: int | None
) -> int:
    if gap is None or gaps is None:
        return sum(result.counts.violations for result in results)
    return sum(count for value, count in gaps.items() if value >= gap)
