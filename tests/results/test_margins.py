"""By how much violations miss, and how often chance does the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import pairwise
from math import comb

import pytest

from nomos.results.margins import against_chance, histogram, join_margins
from nomos.results.result import Counts, Result, Subject

SUBJECT = Subject("specs/unfair.nom", "unfair")


def found(
    tests: int,
    violations: int,
    margins: Mapping[float, int] | None,
    control: Result | None = None,
) -> Result:
    counts = Counts(passed=tests - violations, violations=violations, crashed=7)
    return Result(SUBJECT, 0, 5000, counts=counts, margins=margins, control=control)


def test_many_different_gaps_are_put_together_and_none_is_lost():
    margins = Counter({margin / 7: 1 + margin % 3 for margin in range(1, 200)})
    bars = histogram(margins)
    assert len(bars) <= 20
    assert sum(bar.count for bar in bars) == margins.total()
    assert all(one.high < two.low for one, two in pairwise(bars))


def test_violations_are_counted_from_each_threshold_on_beside_those_of_chance():
    chance = found(50, 3, {1: 3})
    rows = against_chance([found(100, 9, {1: 4, 2: 3, 6: 2}, chance)])
    assert {(row.tests, row.control_tests) for row in rows} == {(100, 50)}
    assert [(r.margin, r.violations, r.control_violations) for r in rows] == [
        (1, 9, 3),
        (2, 5, 0),
        (3, 2, 0),
        (5, 2, 0),
    ]


def test_the_chance_is_that_of_fishers_exact_test():
    (row,) = against_chance([found(12, 5, None, found(9, 1, None))])
    ways = sum(comb(12, n) * comb(9, 6 - n) for n in (5, 6))
    assert row.chance == pytest.approx(ways / comb(21, 6))
    (same,) = against_chance([found(12, 0, None, found(9, 4, None))])
    assert same.chance == pytest.approx(1)


def test_gaps_that_are_no_whole_numbers_get_no_thresholds():
    rows = against_chance([found(9, 2, {0.5: 2}, found(9, 1, {1: 1}))])
    assert [row.margin for row in rows] == [None]


def test_seeds_are_put_together_and_those_without_a_control_left_out():
    one, two = found(5, 2, {1: 2}, found(4, 1, {1: 1})), found(5, 1, {1: 1})
    assert join_margins([one, two]) == {1: 3}
    assert join_margins([one, two, found(5, 1, None)]) is None
    rows = against_chance([one, found(6, 3, {2: 3}, found(4, 0, {})), two])
    assert [(r.margin, r.violations, r.tests) for r in rows[:2]] == [
        (1, 5, 11),
        (2, 3, 11),
    ]
    assert {(row.control_violations, row.control_tests) for row in rows} == {
        (1, 8),
        (0, 8),
    }


def test_few_gaps_are_a_bar_each():
    bars = histogram({3: 2, 1.5: 1})
    assert [(bar.low, bar.high, bar.count) for bar in bars] == [
        (1.5, 1.5, 1),
        (3, 3, 2),
    ]
