"""What pairs of runs differ by: effects with intervals, and Wilcoxon's signed-rank test."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

CONFIDENCE = 0.95


class Interval(NamedTuple):
    """Where a figure lies, with a confidence of 95 %."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Effect:
    """How paired figures differ: in number, in proportion, and how sure that is."""

    pairs: int
    lower: int  # in how many pairs the second figure is the lower one
    higher: int
    difference: float
    interval: Interval
    ratio: float  # the geometric mean of the pairs' ratios
    ratio_interval: Interval
    detectable: float  # the ratio that so many pairs show with a power of 80 %
    p: float


def effect(before: Sequence[float], after: Sequence[float]) -> Effect:
    """Compare paired figures, such as the bugs of normal and of guided runs."""
    gaps = [b - a for a, b in zip(before, after, strict=True)]
    # Half a bug more on both sides: a ratio of nothing to nothing is none.
    logs = [math.log((b + 0.5) / (a + 0.5)) for a, b in zip(before, after, strict=True)]
    ratios = mean_interval(logs)
    return Effect(
        pairs=len(gaps),
        lower=sum(gap < 0 for gap in gaps),
        higher=sum(gap > 0 for gap in gaps),
        difference=mean(gaps),
        interval=mean_interval(gaps),
        ratio=math.exp(mean(logs)),
        ratio_interval=Interval(math.exp(ratios.low), math.exp(ratios.high)),
        detectable=_detectable(logs),
        p=wilcoxon(gaps),
    )


def mean(values: Sequence[float]) -> float:
    """Return the mean."""
    return math.fsum(values) / len(values)


def mean_interval(values: Sequence[float]) -> Interval:
    """Return the interval of Student's t for a mean of normal values."""
    count, centre = len(values), mean(values)
    if count < 2:
        return Interval(-math.inf, math.inf)
    half = student((1 + CONFIDENCE) / 2, count - 1) * _error(values)
    return Interval(centre - half, centre + half)


def _error(values: Sequence[float]) -> float:
    centre, count = mean(values), len(values)
    squares = math.fsum((value - centre) ** 2 for value in values)
    return math.sqrt(squares / (count - 1) / count)


def _detectable(logs: Sequence[float]) -> float:
    if len(logs) < 2:
        return 0.0
    freedom = len(logs) - 1
    quantiles = student((1 + CONFIDENCE) / 2, freedom) + student(0.8, freedom)
    return math.exp(-quantiles * _error(logs))


def wilcoxon(gaps: Sequence[float]) -> float:
    """Return the two-sided p of the signed-rank test, exact also where gaps tie.

    Gaps of 0 are left out. Tied gaps share their ranks; those are doubled to be whole.
    """
    gaps = [gap for gap in gaps if gap]
    ordered = sorted(map(abs, gaps))
    ranks = {
        size: 2 * ordered.index(size) + ordered.count(size) + 1 for size in set(ordered)
    }
    total = sum(ranks[abs(gap)] for gap in gaps)
    positive = sum(ranks[gap] for gap in gaps if gap > 0)
    # How many of all signs give each sum of the positive ranks.
    ways = [1] + [0] * total
    for gap in gaps:
        rank = ranks[abs(gap)]
        ways = [
            count + (ways[at - rank] if at >= rank else 0)
            for at, count in enumerate(ways)
        ]
    extreme = min(positive, total - positive)
    return min(1.0, 2 * sum(ways[: extreme + 1]) / 2 ** len(gaps))


def student(chance: float, freedom: int) -> float:
    """Return the quantile of Student's t, by bisection of its integral."""
    scale = math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2))
    scale /= math.sqrt(freedom * math.pi)

    def below(x: float) -> float:
        steps = 2000  # Simpson's rule; far more than three digits need
        width = x / steps
        heights = [
            (1 + (i * width) ** 2 / freedom) ** (-(freedom + 1) / 2)
            for i in range(steps + 1)
        ]
        inside = heights[0] + heights[-1] + 4 * sum(heights[1:-1:2])
        inside += 2 * sum(heights[2:-1:2])
        return 0.5 + scale * inside * width / 3

    low, high = 0.0, 50.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if below(middle) < chance else (low, middle)
    return (low + high) / 2
