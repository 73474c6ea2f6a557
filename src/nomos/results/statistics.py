"""What a sample of cases says about all cases: rates, chances and their intervals.

Every estimate here assumes that the cases were drawn independently, each from the
same distribution. Random search does so; guided search and a stop at the first bug
do not, and the numbers then describe the sample only.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

# Nodes and weights for integrals over (0, inf) of what decays like exp(-v), by the
# trapezoid rule after v = exp(w - exp(-w)). This step and range leave an error of
# 1e-11 at most for confidences of 50 % and more, 1e-14 at 95 %.
_STEP = 0.1
_NODES = tuple(
    (
        math.exp(w - math.exp(-w)),
        _STEP * (1 + math.exp(-w)) * math.exp(w - math.exp(-w)),
    )
    for w in (_STEP * i for i in range(-36, 43))
)


@dataclass(frozen=True, slots=True)
class Interval:
    """A range that covers the true value in `confidence` of all samples."""

    low: float
    high: float
    confidence: float


@dataclass(frozen=True, slots=True)
class Estimate:
    """A best guess and the interval around it."""

    value: float
    interval: Interval


@lru_cache(256)  # a property's rate is often that of its only `ensures`
def clopper_pearson(
    successes: int, trials: int, *, confidence: float = 0.95
) -> Interval:
    """Return the exact two-sided interval for a rate; it never covers too rarely."""
    if not 0 <= successes <= trials:
        raise ValueError(f"{successes} successes in {trials} trials")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence {confidence} is not between 0 and 1")
    tail = (1 - confidence) / 2
    failures = trials - successes
    low, high = 0.0, 1.0
    if successes:
        low = _logistic(_beta_logit(successes, failures + 1, tail))
    if failures:
        high = _logistic(-_beta_logit(failures, successes + 1, tail))
    return Interval(low, high, confidence)


def new_bug_chance(tests: int, seen_once: int, seen_twice: int) -> Estimate:
    """Estimate the probability that the next case shows a bug not seen yet.

    Good and Turing: the share of the tests that showed a bug seen just that once.
    The cases must be drawn independently and uniformly. The interval is the wider,
    at each end, of Esty's (normal, so too narrow for small counts; it alone knows of
    `seen_twice`) and Clopper and Pearson's for the same share (right where all bugs
    are rare, and never empty at a count of 0).
    """
    exact = clopper_pearson(seen_once, tests)
    if not tests:
        return Estimate(0.0, exact)
    share = seen_once / tests
    variance = (share * (1 - share) + 2 * seen_twice / tests) / tests
    margin = NormalDist().inv_cdf((1 + exact.confidence) / 2) * math.sqrt(variance)
    low = max(0.0, min(exact.low, share - margin))
    high = min(1.0, max(exact.high, share + margin))
    return Estimate(share, Interval(low, high, exact.confidence))


def fisher(ours: int, tests: int, theirs: int, other_tests: int) -> float:
    """Return the chance that at least `ours` of all violations are among our tests.

    Fisher's exact test, one-sided: small where our rate is higher than the other one.
    """
    both = ours + theirs
    logs = [
        log_choose(tests, mine) + log_choose(other_tests, both - mine)
        for mine in range(max(ours, both - other_tests), min(both, tests) + 1)
    ]
    whole = log_choose(tests + other_tests, both)
    return min(1.0, math.fsum(math.exp(log - whole) for log in logs))


def log_choose(n: int, k: int) -> float:
    """Return the logarithm of how many ways there are to choose k of n."""
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def describe_rate(successes: int, trials: int, *, confidence: float = 0.95) -> str:
    """Say a rate and how well it is known, such as ``0 of 5,000: at most 0.06 % at 95 %``.

    The claims "at most" and "at least" are one-sided, so that their bound is nearer
    than the end of the two-sided interval that `clopper_pearson` gives.
    """
    count = f"{successes:,} of {trials:,}"
    level = f"{100 * confidence:.6g} %"
    if not trials:
        return f"{count}: nothing is known of the rate"
    if successes in (0, trials):
        bound = (1 - confidence) ** (1 / trials)
        if successes:
            return f"{count}: at least {percent(bound, rounded=math.floor)} at {level}"
        # Not 1 - bound, which loses digits when there are many trials.
        rate = -math.expm1(math.log(1 - confidence) / trials)
        return f"{count}: at most {percent(rate, rounded=math.ceil)} at {level}"
    interval = clopper_pearson(successes, trials, confidence=confidence)
    width = interval.high - interval.low
    rate_text, low, high = (
        percent(rate, resolution=width)
        for rate in (successes / trials, interval.low, interval.high)
    )
    return f"{count}: {rate_text} ({low} to {high}, {level})"


def percent(
    rate: float,
    *,
    resolution: float = 1.0,
    rounded: Callable[[float], int] = round,
    least: int = 2,
) -> str:
    """Write a rate with two significant digits of what is smallest about it.

    That says how far it is from none and from all. There are `least` decimals or more,
    before zeros at the end are left out.
    """
    smallest = 100 * max(1e-12, min(rate, 1 - rate, resolution))
    decimals = max(least, 1 - math.floor(math.log10(smallest)))
    # The inner rounding keeps floating-point dust from pushing a bound up or down.
    value = rounded(round(100 * rate * 10**decimals, 6)) / 10**decimals
    written = f"{value:.{decimals}f}"
    return (written.rstrip("0").rstrip(".") if decimals else written) + " %"


def count_of(number: int, noun: str, plural: str | None = None) -> str:
    """Return a number with its noun: 1 bug, 2,000 bugs."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def _logistic(logit: float) -> float:
    return 1 / (1 + math.exp(-logit))


def _beta_logit(a: int, b: int, tail: float) -> float:
    """Return log(x / (1 - x)) of the x below which Beta(a, b) has probability `tail`.

    In the logit, x near 0 and x near 1 are equally precise. Newton's method on the
    logarithm of the distribution function converges from everywhere, because that
    function is concave in the logit.
    """
    logit = math.log(a / b) + NormalDist().inv_cdf(tail) * math.sqrt(1 / a + 1 / b)
    for _ in range(50):  # ten do; beyond 10**15 counts rounding can keep it from ending
        x, y = _logistic(logit), _logistic(-logit)
        ratio = _tail_ratio(a, b, x, y)
        excess = _beta_log_density(a, b, x, y) + math.log(ratio / tail)
        logit -= excess * ratio
        if abs(excess) < 1e-7:  # so the step just made left about its square
            break
    return logit


def _tail_ratio(a: int, b: int, x: float, y: float) -> float:
    """Return the probability left of x = 1 - y over the density at x, in the logit."""
    scale = 1 / (abs(a * y - b * x) + math.sqrt((a + b) * x * y))
    # The same integrand, written with the smaller of x and y for its digits.
    near, power, sign = (x, -a, -1) if x < y else (y, b, 1)
    return scale * math.fsum(
        weight
        * math.exp(
            power * scale * v
            - (a + b) * math.log1p(near * math.expm1(sign * scale * v))
        )
        for v, weight in _NODES
    )


def _beta_log_density(a: int, b: int, x: float, y: float) -> float:
    """Return the log density of Beta(a, b) in the logit, at x = 1 - y.

    Stirling's formula and the distance from the mean, because the gamma functions
    of large counts would cancel and take most digits with them.
    """
    n = a + b
    # From the smaller side: the other one has lost the digits that matter.
    distance = x - a / n if a < b else b / n - y
    deviance = -a * _log_quotient(x, a / n, distance)
    deviance -= b * _log_quotient(y, b / n, -distance)
    stirling = _stirling_error(n) - _stirling_error(a) - _stirling_error(b)
    return 0.5 * math.log(a / n * b / math.tau) + stirling - deviance


def _log_quotient(value: float, mean: float, distance: float) -> float:
    """Return log(value / mean), by way of their distance where they are near."""
    nearness = distance / mean
    return math.log1p(nearness) if abs(nearness) < 0.5 else math.log(value / mean)


def _stirling_error(n: int) -> float:
    """Return log Γ(n) less Stirling's formula for it."""
    if n < 16:
        return math.lgamma(n) - (n - 0.5) * math.log(n) + n - 0.5 * math.log(math.tau)
    square = 1 / (n * n)
    return (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square / 1680))) / n
