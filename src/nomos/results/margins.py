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

THRESHOLDS = (1, 2, 3, 5)  # margins from which on violations are counted
_MOST_BARS = 8  # of a histogram; more values than that are put together


@dataclass(frozen=True, slots=True)
class Bar:
    """How many violations have a margin from `low` to `high`, both included."""

    low: float
    high: float
    count: int


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


def join_margins(results: Iterable[Result]) -> Mapping[float, int] | None:
    """Count the margins of several campaigns; None where one of them has none."""
    total: Counter[float] = Counter()
    for result in results:
        if result.margins is None:
            return None
        total.update(result.margins)
    return total


def histogram(margins: Mapping[float, int]) -> list[Bar]:
    """Return the margins as bars: one for each value, or for each range if they are many."""
    if len(margins) <= _MOST_BARS:
        return [Bar(margin, margin, count) for margin, count in sorted(margins.items())]
    low, high = min(margins), max(margins)
    bars: dict[int, list[float]] = {}
    for margin in sorted(margins):
        place = min(_MOST_BARS - 1, int(_MOST_BARS * (margin - low) / (high - low)))
        bars.setdefault(place, []).append(margin)
    return [
        Bar(inside[0], inside[-1], sum(margins[margin] for margin in inside))
        for inside in bars.values()
    ]


def against_chance(results: Sequence[Result]) -> list[ChanceRow]:
    """Count violations from each threshold on, beside those of the controls."""
    ours = [result for result in results if result.control is not None]
    theirs = [result.control for result in ours if result.control is not None]
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
    return sum(result.counts.judged for result in results)


def _at_least(
    results: Sequence[Result], margins: Mapping[float, int] | None, margin: int | None
) -> int:
    if margin is None or margins is None:
        return sum(result.counts.violations for result in results)
    return sum(count for value, count in margins.items() if value >= margin)
