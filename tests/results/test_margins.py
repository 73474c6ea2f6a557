"""By how much violations miss."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import pairwise

from nomos.results.margins import histogram, join_margins
from nomos.results.result import Counts, Result, Subject

SUBJECT = Subject("specs/unfair.nom", "unfair")


def found(
    tests: int,
    violations: int,
    margins: Mapping[float, int] | None,
) -> Result:
    counts = Counts(passed=tests - violations, violations=violations, crashed=7)
    return Result(SUBJECT, 0, 5000, counts=counts, margins=margins)


def test_many_different_gaps_are_put_together_and_none_is_lost():
    margins = Counter({margin / 7: 1 + margin % 3 for margin in range(1, 200)})
    bars = histogram(margins)
    assert len(bars) <= 20
    assert sum(bar.count for bar in bars) == margins.total()
    assert all(one.high < two.low for one, two in pairwise(bars))


def test_seeds_are_put_together_where_all_have_margins():
    one, two = found(5, 2, {1: 2}), found(5, 1, {1: 1})
    assert join_margins([one, two]) == {1: 3}
    assert join_margins([one, two, found(5, 1, None)]) is None


def test_few_gaps_are_a_bar_each():
    bars = histogram({3: 2, 1.5: 1})
    assert [(bar.low, bar.high, bar.count) for bar in bars] == [
        (1.5, 1.5, 1),
        (3, 3, 2),
    ]
