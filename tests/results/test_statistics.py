"""Rates and chances: compared with scipy, with exact sums and with simulations."""

import sys
import time
from decimal import Decimal, localcontext
from math import comb

import numpy as np
import pytest

from nomos.results.statistics import (
    Interval,
    clopper_pearson,
    describe_rate,
    new_bug_chance,
)

CONFIDENCES = (0.5, 0.8, 0.9, 0.95, 0.99, 0.999, 0.999999)


def counts_of(trials: int) -> list[int]:
    """Return successes near 0, near all and in between."""
    few = [0, 1, 2, 3, 5, 17, 100, trials // 1000, trials // 10, trials // 3]
    many = [trials - count for count in few] + [trials // 2]
    return sorted({count for count in few + many if 0 <= count <= trials})


@pytest.mark.parametrize("trials", [1, 2, 3, 7, 10, 31, 100, 997, 5000, 10**5, 10**6])
def test_the_interval_is_that_of_the_beta_distribution(trials: int) -> None:
    beta = pytest.importorskip("scipy.stats", reason="needs scipy").beta
    for successes in counts_of(trials):
        for confidence in CONFIDENCES:
            interval = clopper_pearson(successes, trials, confidence=confidence)
            tail = (1 - confidence) / 2
            failures = trials - successes
            low = beta.ppf(tail, successes, failures + 1) if successes else 0.0
            high = beta.isf(tail, successes + 1, failures) if failures else 1.0
            assert interval.low == pytest.approx(low, rel=1e-9, abs=0)
            assert interval.high == pytest.approx(high, rel=1e-9, abs=0)


# At a thousand million trials scipy itself errs by 1e-8, so an exact sum is the judge.
@pytest.mark.parametrize("successes", [0, 1, 2, 5, 40])
@pytest.mark.parametrize("confidence", CONFIDENCES)
def test_the_interval_is_exact_for_many_trials(
    successes: int, confidence: float
) -> None:
    trials = 10**9

    def at_most(count: int, rate: Decimal) -> Decimal:
        passing = (1 - rate).ln()
        terms = (
            comb(trials, i) * rate**i * (passing * (trials - i)).exp()
            for i in range(count + 1)
        )
        return sum(terms, Decimal(0))

    interval = clopper_pearson(successes, trials, confidence=confidence)
    off = Decimal("1e-9")
    with localcontext() as context:
        context.prec = 50
        tail = Decimal((1 - confidence) / 2)
        high = Decimal(interval.high)
        assert at_most(successes, high * (1 - off)) > tail
        assert at_most(successes, high * (1 + off)) < tail
        if successes:
            low = Decimal(interval.low)
            assert at_most(successes - 1, low * (1 - off)) > 1 - tail
            assert at_most(successes - 1, low * (1 + off)) < 1 - tail


def test_the_interval_mirrors_itself_when_successes_and_failures_swap() -> None:
    interval = clopper_pearson(3, 10**9)
    mirrored = clopper_pearson(10**9 - 3, 10**9)
    assert mirrored.low == pytest.approx(1 - interval.high, rel=1e-15)
    assert mirrored.high == pytest.approx(1 - interval.low, rel=1e-15)


def test_half_of_a_thousand_million_has_the_interval_of_the_normal_distribution() -> (
    None
):
    interval = clopper_pearson(5 * 10**8, 10**9)
    assert interval.high - 0.5 == pytest.approx(1.959964 * 0.5 / 10**4.5, rel=1e-4)
    assert interval.low == pytest.approx(1 - interval.high, rel=1e-12)


def test_more_trials_than_floats_can_tell_apart_still_get_an_interval() -> None:
    successes, trials = 2258837288961194, 8778340929870023
    interval = clopper_pearson(successes, trials, confidence=0.999999999999999)
    assert interval.low < successes / trials < interval.high
    assert interval.high - interval.low < 1e-7


def test_no_trials_say_nothing() -> None:
    assert clopper_pearson(0, 0) == Interval(0.0, 1.0, 0.95)


@pytest.mark.parametrize(
    ("successes", "trials", "confidence"),
    [(-1, 5, 0.95), (6, 5, 0.95), (1, 5, 0.0), (1, 5, 1.0)],
)
def test_impossible_counts_and_confidences_are_refused(
    successes: int, trials: int, confidence: float
) -> None:
    with pytest.raises(ValueError, match=r"successes|confidence"):
        clopper_pearson(successes, trials, confidence=confidence)


@pytest.mark.parametrize(
    ("successes", "trials"),
    [(0, 5000), (42, 5000), (1, 10**9), (5 * 10**8, 10**9), (10**9 - 1, 10**9)],
)
def test_an_interval_takes_less_than_a_millisecond(successes: int, trials: int) -> None:
    if sys.gettrace() is not None:
        pytest.skip("a tracer (coverage, a debugger) takes longer than the interval")

    def seconds() -> float:
        start = time.process_time()
        clopper_pearson(successes, trials)
        return time.process_time() - start

    assert min(seconds() for _ in range(20)) < 1e-3


@pytest.mark.parametrize("rate", [0.0005, 0.01, 0.3])
def test_the_interval_covers_the_true_rate(rate: float) -> None:
    rng = np.random.default_rng(3)
    covered = 0
    for successes in rng.binomial(2000, rate, size=1000):
        interval = clopper_pearson(int(successes), 2000)
        covered += interval.low <= rate <= interval.high
    # The interval covers at least 95 %; 15 of 1,000 is two standard deviations.
    assert covered >= 935


POPULATIONS = {
    "one bug": np.array([0.001]),
    "ten equal bugs": np.full(10, 0.001),
    "a thousand equal bugs": np.full(1000, 0.0003),
    "very many rare bugs": np.full(20_000, 5e-7),
    "a few common bugs and a long tail": 0.01 / np.arange(1, 2001),
}


@pytest.mark.parametrize("bugs", POPULATIONS.values(), ids=POPULATIONS.keys())
@pytest.mark.parametrize("tests", [100, 1000])
def test_the_chance_of_a_new_bug_is_covered_about_as_often_as_said(
    bugs: np.ndarray, tests: int
) -> None:
    rng = np.random.default_rng(7)
    covered = 0
    errors = []
    campaigns = 400
    for _ in range(campaigns):
        seen = rng.multinomial(tests, np.append(bugs, 1 - bugs.sum()))[:-1]
        unseen = bugs[seen == 0].sum()
        once, twice = int((seen == 1).sum()), int((seen == 2).sum())
        estimate = new_bug_chance(tests, once, twice)
        covered += estimate.interval.low <= unseen <= estimate.interval.high
        errors.append(estimate.value - unseen)
    assert covered / campaigns >= 0.93
    # Good and Turing's estimate is at most 1 / tests too high on average, never too low.
    noise = 3 * np.std(errors) / campaigns**0.5
    assert -noise <= np.mean(errors) <= 1 / tests + noise


def test_no_bug_seen_once_leaves_the_exact_upper_end() -> None:
    estimate = new_bug_chance(5000, 0, 0)
    assert estimate.value == 0.0
    assert estimate.interval == clopper_pearson(0, 5000)


def test_bugs_seen_twice_widen_the_interval() -> None:
    narrow, wide = new_bug_chance(5000, 50, 0), new_bug_chance(5000, 50, 100)
    assert narrow.value == wide.value == 0.01
    assert wide.interval.low < narrow.interval.low
    assert wide.interval.high > narrow.interval.high


def test_without_tests_any_chance_of_a_new_bug_is_possible() -> None:
    assert new_bug_chance(0, 0, 0).interval == Interval(0.0, 1.0, 0.95)


@pytest.mark.parametrize(
    ("successes", "trials", "sentence"),
    [
        (0, 5000, "0 of 5,000: at most 0.06 % at 95 %"),
        (42, 5000, "42 of 5,000: 0.84 % (0.61 % to 1.13 %, 95 %)"),
        (5000, 5000, "5,000 of 5,000: at least 99.94 % at 95 %"),
        (1, 1, "1 of 1: at least 5 % at 95 %"),
        (0, 1, "0 of 1: at most 95 % at 95 %"),
        (0, 100, "0 of 100: at most 2.96 % at 95 %"),
        (1, 10**6, "1 of 1,000,000: 0.0001 % (0.0000025 % to 0.00056 %, 95 %)"),
        (
            5 * 10**8,
            10**9,
            "500,000,000 of 1,000,000,000: 50 % (49.9969 % to 50.0031 %, 95 %)",
        ),
        (4999, 5000, "4,999 of 5,000: 99.98 % (99.89 % to 99.99949 %, 95 %)"),
        (0, 10**9, "0 of 1,000,000,000: at most 0.0000003 % at 95 %"),
        (0, 0, "0 of 0: nothing is known of the rate"),
    ],
)
def test_a_rate_is_said_with_as_many_digits_as_mean_something(
    successes: int, trials: int, sentence: str
) -> None:
    assert describe_rate(successes, trials) == sentence


def test_a_rate_names_the_confidence_asked_for() -> None:
    sentence = describe_rate(3, 100, confidence=0.999)
    assert sentence == "3 of 100: 3 % (0.15 % to 13.19 %, 99.9 %)"
