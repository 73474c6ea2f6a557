"""Two models on the same cases: fixed, kept and new bugs, and the change of the rate."""

from __future__ import annotations

import numpy as np
import pytest

from nomos.results.comparison import compare_results, difference_of_pairs
from nomos.results.result import Bug, Counts, Result, Subject


def result(seen: dict[int, int], tests: int = 100, unique: int | None = None) -> Result:
    bugs = tuple(
        Bug(f"{case:010}", case, (case,), "d1 <= d2", seen=times)
        for case, times in seen.items()
    )
    count = len(bugs) if unique is None else unique
    counts = Counts(tests=tests, unique_bugs=count, violations=sum(seen.values()))
    return Result(Subject("a.nom", "a"), 0, tests, counts=counts, bugs=bugs)


def test_bugs_are_fixed_kept_or_new_by_their_cases() -> None:
    compared = compare_results(result({1: 2, 2: 1}), result({2: 5, 3: 1, 4: 1}))
    assert [bug.case for bug in compared.fixed] == [1]
    assert [(bug.case, bug.seen) for bug in compared.kept] == [(2, 5)]
    assert [bug.case for bug in compared.added] == [3, 4]
    assert compared.difference is not None
    assert compared.difference.value == pytest.approx((2 - 2) / 100)


def test_of_very_many_bugs_only_those_that_both_results_keep_are_compared() -> None:
    cut = result({1: 1, 5: 1}, unique=10_000)
    compared = compare_results(cut, result({1: 1, 9: 1}))
    assert [bug.case for bug in compared.fixed] == [5]
    assert compared.added == ()  # case 9 may be a bug of the old model too
    assert compared.difference is None


def test_without_tests_nothing_is_compared() -> None:
    assert compare_results(result({}, tests=0), result({})).difference is None


def test_the_interval_covers_the_true_change_as_often_as_it_says() -> None:
    rng = np.random.default_rng(1)
    only_old, only_new, tests = 0.03, 0.08, 200
    covered = 0
    for _ in range(1000):
        lost, gained, _ = rng.multinomial(
            tests, [only_old, only_new, 1 - only_old - only_new]
        )
        found = difference_of_pairs(int(lost), int(gained), tests).interval
        covered += found.low <= only_new - only_old <= found.high
    assert covered >= 935


def test_no_difference_has_an_interval_around_zero_within_one() -> None:
    found = difference_of_pairs(0, 0, 1)
    assert found.value == 0
    assert -1 <= found.interval.low < 0 < found.interval.high <= 1
