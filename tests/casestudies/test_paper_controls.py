"""What chance gives beside a property: violations from each margin on, and Fisher's test."""

from __future__ import annotations

from collections.abc import Mapping
from math import comb

import pytest

from casestudies.paper_controls import against_chance
from nomos.results.result import Counts, Result, Subject

SUBJECT = Subject("specs/unfair.nom", "unfair")


def found(tests: int, violations: int, margins: Mapping[float, int] | None) -> Result:
    counts = Counts(passed=tests - violations, violations=violations, crashed=7)
    return Result(SUBJECT, 0, 5000, counts=counts, margins=margins)


def test_violations_are_counted_from_each_threshold_on_beside_those_of_chance():
    chance = found(50, 3, {1: 3})
    rows = against_chance([found(100, 9, {1: 4, 2: 3, 6: 2})], [chance])
    assert {(row.tests, row.control_tests) for row in rows} == {(100, 50)}
    assert [(r.margin, r.violations, r.control_violations) for r in rows] == [
        (1, 9, 3),
        (2, 5, 0),
        (3, 2, 0),
        (5, 2, 0),
    ]


def test_the_chance_is_that_of_fishers_exact_test():
    (row,) = against_chance([found(12, 5, None)], [found(9, 1, None)])
    ways = sum(comb(12, n) * comb(9, 6 - n) for n in (5, 6))
    assert row.chance == pytest.approx(ways / comb(21, 6))
    (same,) = against_chance([found(12, 0, None)], [found(9, 4, None)])
    assert same.chance == pytest.approx(1)


def test_gaps_that_are_no_whole_numbers_get_no_thresholds():
    rows = against_chance([found(9, 2, {0.5: 2})], [found(9, 1, {1: 1})])
    assert [row.margin for row in rows] == [None]
