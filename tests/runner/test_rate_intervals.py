"""Rates over a campaign: what is counted, and what follows from the counts."""

from __future__ import annotations

import numpy as np
import pytest

from nomos.diagnostics import Source
from nomos.lang.checking.check import check_spec
from nomos.results.measured import RateFound
from nomos.runner.campaigns.rates import CampaignRates

SPEC = """\
input x;
output d;
output e;
{{
  d, e = f(x), g(x)
}}
ensures fair: {ensures};
"""
A, B = "rate(d == 1 | x.g == 1)", "rate(d == 1 | x.g == 2)"


def judge(
    ensures: str, *groups: tuple[int, int], exact: bool = False, sample: bool = True
) -> RateFound:
    """Judge an `ensures` whose rates have so many hits of so many cases each."""
    checked = check_spec(Source("s.nom", SPEC.format(ensures=ensures)), "s")
    assert checked.spec is not None, [d.message for d in checked.diagnostics]
    spec = checked.spec
    counts = CampaignRates(spec.campaign_ensures, spec.rates)
    for number, (hits, cases) in enumerate(groups):
        told = np.full(cases, 1, dtype=np.int32)
        told[:hits] = 3
        counts.add(told << 2 * number)
    (found,) = counts.evaluate(is_exact=exact, is_sample=sample)
    return found


ROWS = [
    (f"{A} - {B} in -0.1..0.1", [(500, 1000), (510, 1000)], "holds"),
    (f"{A} - {B} in -0.1..0.1", [(500, 1000), (700, 1000)], "violated"),
    (f"{A} - {B} in -0.1..0.1", [(500, 1000), (600, 1000)], "undecided"),
    (f"{A} - {B} in -0.1..0.1", [(5, 10), (9, 10)], "undecided"),
    (f"abs({A} - {B}) <= 0.1", [(500, 1000), (750, 1000)], "violated"),
    (f"{A} <= {B}", [(100, 1000), (300, 1000)], "holds"),
    (f"{A} > {B}", [(100, 1000), (300, 1000)], "violated"),
    (f"{A} / {B} >= 0.8", [(500, 1000), (510, 1000)], "holds"),
    (f"{A} / {B} >= 0.8", [(300, 1000), (510, 1000)], "violated"),
    (f"{A} / {B} >= 0.8", [(300, 1000), (0, 1000)], "undecided"),
    (f"min({A}, {B}) / max({A}, {B}) >= 0.8", [(300, 1000), (600, 1000)], "violated"),
    ("rate(d == 1) <= 0.01", [(0, 1000)], "holds"),
    ("rate(d == 1) <= 0.01", [(0, 100)], "undecided"),
    ("rate(d == 1) <= 0.01", [(50, 1000)], "violated"),
    ("rate(d == 1) == 0.5", [(500, 1000)], "undecided"),
    ("rate(d == 1) == 0.5", [(900, 1000)], "violated"),
    ("rate(d == 1) != 0.5", [(900, 1000)], "holds"),
    (f"{A} >= 0.9 || {B} >= 0.9", [(10, 1000), (990, 1000)], "holds"),
    (f"{A} >= 0.9 && {B} >= 0.9", [(10, 1000), (990, 1000)], "violated"),
    (f"{A} >= 0.5 ==> {B} >= 0.9", [(10, 1000), (10, 1000)], "holds"),
    (f"!({A} >= 0.5)", [(10, 1000)], "holds"),
    (f"(if {A} > 0.5 then {B} else 1 - {B}) > 0.8", [(10, 1000), (10, 1000)], "holds"),
    (f"-{A} * 2 + 1 <= {B} / 4", [(900, 1000), (900, 1000)], "holds"),
    (f"{A} - {A} <= 0", [(500, 1000)], "holds"),
]


@pytest.mark.parametrize(("ensures", "groups", "verdict"), ROWS)
def test_an_ensures_of_rates_is_decided_where_its_interval_is_on_one_side(
    ensures: str, groups: list[tuple[int, int]], verdict: str
) -> None:
    found = judge(ensures, *groups)
    assert found.verdict == verdict
    assert bool(found.reason) == (verdict == "undecided")
    assert [(g.count, g.cases) for g in found.groups] == groups


@pytest.mark.parametrize(
    ("ensures", "groups", "verdict", "value"),
    [
        (f"{A} - {B} in -0.1..0.1", [(5, 10), (6, 10)], "holds", -0.1),
        (f"{A} - {B} in -0.1..0.1", [(50, 100), (61, 100)], "violated", -0.11),
        (f"{A} - {B} == 0.1", [(3, 10), (2, 10)], "holds", 0.1),  # as written
        (f"{A} / {B} > 1", [(3, 10), (2, 10)], "holds", 1.5),
        ("rate(d == 1) < 1", [(7, 7)], "violated", 1.0),
    ],
)
def test_where_all_cases_were_tried_rates_are_exact(
    ensures: str, groups: list[tuple[int, int]], verdict: str, value: float
) -> None:
    found = judge(ensures, *groups, exact=True)
    assert (found.verdict, found.value) == (verdict, pytest.approx(value))
    assert found.interval is None


@pytest.mark.parametrize("exact", [True, False])
def test_a_group_without_a_case_leaves_it_undecided(exact: bool) -> None:
    found = judge(f"{A} - {B} in -1..1", (5, 10), exact=exact)
    assert found.verdict == "undecided"
    assert found.reason == "no case is one of `d == 1 | x.g == 2`"
    assert judge(f"{A} <= 2", (1, 9), sample=False).reason.startswith(
        "its cases are no sample"
    )


def test_rates_of_the_same_cases_are_taken_for_dependent() -> None:
    told = np.array([3 | 1 << 2] * 500 + [1 | 3 << 2] * 500, dtype=np.int32)
    spec = check_spec(
        Source(
            "s.nom", SPEC.format(ensures="rate(d == 1) - rate(e == 1) in -0.1..0.1")
        ),
        "s",
    ).spec
    assert spec is not None
    counts = CampaignRates(spec.campaign_ensures, spec.rates)
    counts.add(told)
    (found,) = counts.evaluate(is_exact=False)
    apart = judge(
        "rate(d == 1 | x.g == 1) - rate(d == 1 | x.g == 2) in -0.1..0.1",
        *[(500, 1000)] * 2,
    )
    assert found.interval is not None
    assert apart.interval is not None
    assert found.interval.high > 1.4 * apart.interval.high


def test_the_interval_of_a_difference_covers_the_truth_often_enough() -> None:
    rng = np.random.default_rng(1)
    missed = 0
    for _ in range(400):
        sizes = rng.integers(20, 200, 2)
        hits = rng.binomial(sizes, (0.2, 0.35))
        pairs = [(int(h), int(n)) for h, n in zip(hits, sizes, strict=True)]
        interval = judge(f"{A} - {B} in -1..1", *pairs).interval
        assert interval is not None
        missed += not interval.low <= -0.15 <= interval.high
    assert missed <= 30  # 20 of 400 are expected at most; 30 by chance 1 in 100
