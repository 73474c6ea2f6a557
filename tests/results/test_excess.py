"""What is claimed of a random model: its level and its power, as they are computed."""

from __future__ import annotations

import numpy as np
import pytest

from nomos.results.contradictions import find_contradictions
from nomos.results.excess import (
    CaseTest,
    case_power,
    excess_power,
    measure_excess,
    sign_test,
)
from nomos.results.result import Counts, Result, Subject
from nomos.results.verdict import verdict_of


@pytest.mark.parametrize(
    ("ours", "theirs", "chance"),
    [(0, 0, 1.0), (1, 0, 0.5), (5, 0, 1 / 32), (6, 1, 8 / 128), (0, 9, 1.0)],
)
def test_the_chance_is_that_of_fair_coins(
    ours: int, theirs: int, chance: float
) -> None:
    assert sign_test(ours, theirs) == pytest.approx(chance)


def test_an_excess_is_shown_exactly_where_its_interval_and_the_exact_test_say_so() -> (
    None
):
    for ours in range(0, 40, 3):
        for theirs in (0, 1, 5, 20):
            found = measure_excess(100, 3, ours, theirs)
            assert found is not None
            interval = found.excess.interval
            assert -1 <= interval.low <= found.excess.value <= interval.high <= 1
            assert found.excess.value == pytest.approx((ours - theirs) / 100)
            if found.is_shown:
                assert sign_test(ours, theirs) <= 0.025
            assert (found.violations, found.control) == (ours + 3, theirs + 3)
    assert measure_excess(0, 0, 0, 0) is None


@pytest.mark.parametrize("rates", [(0.0, 0.0), (0.1, 0.1), (0.02, 0.3)])
def test_without_an_excess_one_is_shown_in_two_and_a_half_percent_at_most(
    rates: tuple[float, float],
) -> None:
    assert excess_power(60, *rates) <= 0.025


def test_the_interval_of_the_excess_covers_it() -> None:
    rng = np.random.default_rng(1)
    for ours, theirs in ((0.05, 0.05), (0.3, 0.2)):
        drawn = rng.multinomial(120, (ours, theirs, 1 - ours - theirs), size=300)
        kinds, times = np.unique(drawn, axis=0, return_counts=True)
        covered = 0
        for (a, b, _), count in zip(kinds.tolist(), times.tolist(), strict=True):
            found = measure_excess(120, 0, a, b)
            assert found is not None
            inside = found.excess.interval
            covered += count * (inside.low <= ours - theirs <= inside.high)
        assert covered >= 0.93 * 300


def test_a_case_that_fails_as_often_as_its_control_is_seldom_called_a_bug() -> None:
    for rate in (0.2, 0.8):
        power = [case_power(rate, rate, rank)["bug"] for rank in (1, 5)]
        assert power[0] <= 0.0125 / 2 and power[1] <= 0.0125 / 30


def test_the_power_of_repeats_is_what_draws_give() -> None:
    rng = np.random.default_rng(2)
    for fails, control in ((0.6, 0.05), (0.15, 0.0)):
        found = {"bug": 0, "no bug": 0, "undecided": 0}
        for _ in range(1000):
            test = CaseTest(3)
            while test.decision is None:
                test.add_pair(rng.random() < fails, rng.random() < control)
            found[test.decision] += 1
        for decision, share in case_power(fails, control, 3).items():
            assert found[decision] / 1000 == pytest.approx(share, abs=0.04)


def paired(verdict: str, *, only_violated: int, only_control: int) -> Result:
    counts = Counts(
        tests=200,
        passed=200 - only_violated,
        violations=only_violated,
        pairs=200,
        only_violated=only_violated,
        only_control=only_control,
    )
    return Result(Subject("a.nom", "a"), 0, 200, counts=counts, verdict=verdict)


def test_violations_that_chance_explains_are_no_verdict_of_their_own() -> None:
    for ours, theirs, verdict in ((20, 18, "none-found"), (40, 5, "violated")):
        other = "none-found" if verdict == "violated" else "holds"
        one = paired(verdict, only_violated=ours, only_control=theirs)
        assert verdict_of(one.counts, "", is_complete=False) == verdict
        assert not find_contradictions(one)
        assert (
            paired(other, only_violated=ours, only_control=theirs).verdict == "failed"
        )
    assert one.has_new_bugs  # no bug that is known explains it


def test_pairs_that_cannot_be_are_refused() -> None:
    many = Counts(tests=5, passed=5, pairs=9, only_violated=1)
    assert (
        "9 pairs"
        in find_contradictions(Result(Subject("a", "a"), 0, 5, counts=many))[0]
    )
