"""Violations of a random model, told from sampling noise: what is claimed, and how surely.

A model that answers at random breaks a property now and then whatever its input is. So each
case has an A/A control: the same block, in which each call of the model after the first asks
what the first one asked, with samples of its own. Only noise can break the property there.
Two claims are made, and both together are false in at most 5 % of the campaigns in which no
case fails more often than its control:

The *excess*. Each case and its control are a pair; pairs in which both fail or both pass say
nothing of the difference. If the property fails no more often than the control, each of the
`only_violated + only_control` other pairs is of the first kind with a probability of at most
one half, whatever the rates of single cases are: an exact binomial test (McNemar's), at 2.5 %.
The interval of the difference puts those of Clopper and Pearson for both kinds together (by
their squares, with the correlation of the two counts: Zou and Donner's MOVER). Its lower end
is cut to 0 where the exact test does not reject, so that interval and verdict agree.

*Single cases*. A violated case is repeated, and so is its control, each time with new samples,
until it is decided whether the case fails more often (`CaseTest`). The first violation chose
the case and is no part of the test. The evidence is a bet of 80 % on each repeat in which one
of both alone fails: it multiplies by 1.8 where that is the case, by 0.2 where it is the control.
If the case fails no more often than its control, this product is expected to grow at no step,
so that it ever reaches 1/a with a probability of at most a (Ville), however often one looks.
The n-th case of a campaign has a = 1.25 % / (n (n + 1)); these sum up to 1.25 %. Bugs that
were known before are tested beside these, with as much. A case is given
up as no bug where the evidence is below 5 %, or where it fails so seldom that one which fails
every second time would have shown as few failures in 5 % of its tests at most.
"""

import math
from collections import defaultdict
from dataclasses import dataclass
from typing import Literal

from nomos.results.statistics import Estimate, Interval, clopper_pearson, log_choose

EXCESS_LEVEL = 0.025
CASES_LEVEL = 0.0125  # of all new cases together, and of all bugs known before
MOST_REPEATS = 40  # of a case and of its control
_WON, _LOST = math.log(1.8), math.log(0.2)  # a bet of 80 %
_GIVEN_UP = math.log(0.05)
_FAILED, _PASSED = math.log(0.1 / 0.5), math.log(0.9 / 0.5)  # seldom, beside often

NO_CONTROL = (
    "a case asks a random model one thing, so it has no A/A control: a violation is one"
    " sample (`repeats 10;` takes ten)"
)
Decision = Literal["bug", "no bug", "undecided"]


@dataclass(frozen=True, slots=True)
class Repeats:
    """How often a case failed when it was repeated, and how often its control did."""

    times: int
    failed: int
    control: int
    decision: Decision = "bug"

    @property
    def text(self) -> str:
        """Both counts."""
        return (
            f"fails in {self.failed} of {self.times} repeats, its control in"
            f" {self.control}"
        )


@dataclass(slots=True)
class CaseTest:
    """The sequential test of one case, the `rank`-th of its campaign."""

    rank: int = 1
    times: int = 0
    both: int = 0
    only_case: int = 0
    only_control: int = 0

    def add_pair(self, fails: bool, control_fails: bool) -> None:
        """Take in a repeat of the case, and one of its control."""
        self.times += 1
        self.both += fails and control_fails
        self.only_case += fails and not control_fails
        self.only_control += control_fails and not fails

    @property
    def decision(self) -> Decision | None:
        """What is decided; None: go on."""
        evidence = self.only_case * _WON + self.only_control * _LOST
        needed = math.log(self.rank * (self.rank + 1) / CASES_LEVEL)
        if evidence >= needed:
            return "bug"
        failed = self.only_case + self.both
        seldom = failed * _FAILED + (self.times - failed) * _PASSED
        if evidence <= _GIVEN_UP or seldom >= -_GIVEN_UP:
            return "no bug"
        cannot_win = evidence + (MOST_REPEATS - self.times) * _WON < needed
        return "undecided" if cannot_win else None

    def report(self) -> Repeats:
        """Return what the repeats came to."""
        failed, control = self.both + self.only_case, self.both + self.only_control
        return Repeats(self.times, failed, control, self.decision or "undecided")


@dataclass(frozen=True, slots=True)
class Excess:
    """How much more often a property fails than its control, over `pairs` of both.

    `chance` is how likely as many or more of the pairs in which one alone fails are
    violations, if the property fails no more often than the control.
    """

    pairs: int
    violations: int
    control: int
    violation_rate: Interval
    control_rate: Interval
    excess: Estimate
    chance: float

    @property
    def is_shown(self) -> bool:
        """Whether the property fails more often than its control."""
        return self.excess.interval.low > 0

    @property
    def text(self) -> str:
        """The three figures, with their intervals."""
        ours, theirs = self.violation_rate, self.control_rate
        return (
            f"{_share(self.violations / self.pairs, ours)}, its A/A control"
            f" {_share(self.control / self.pairs, theirs)}, excess"
            f" {_share(self.excess.value, self.excess.interval, '+')}"
            f" ({self.pairs} pairs, 95 %)"
        )


def _share(value: float, within: Interval, sign: str = "") -> str:
    shown = (
        f"{round(100 * share, 1) + 0.0:{sign}g}"
        for share in (value, within.low, within.high)
    )
    return "{} % ({} to {})".format(*shown)


def measure_excess(
    pairs: int, both: int, only_violated: int, only_control: int
) -> Excess | None:
    """Compare a property with its control; None where there is no pair."""
    if not pairs:
        return None
    chance = sign_test(only_violated, only_control)
    ours, theirs = (clopper_pearson(n, pairs) for n in (only_violated, only_control))
    a, b = only_violated / pairs, only_control / pairs
    together = math.sqrt(a * b / ((1 - a) * (1 - b))) if a < 1 and b < 1 else 0.0
    low = a - b - _distance(a - ours.low, theirs.high - b, together)
    high = a - b + _distance(ours.high - a, b - theirs.low, together)
    if chance > EXCESS_LEVEL:
        low = min(low, 0.0)
    counts = both + only_violated, both + only_control
    violated, failed = (clopper_pearson(count, pairs) for count in counts)
    ends = Interval(max(-1.0, low), min(1.0, high), 0.95)
    return Excess(pairs, *counts, violated, failed, Estimate(a - b, ends), chance)


def _distance(one: float, other: float, together: float) -> float:
    return math.sqrt(one * one + other * other + 2 * together * one * other)


def sign_test(ours: int, theirs: int) -> float:
    """Return how likely at least `ours` of all of them are, each with one half."""
    count = ours + theirs
    logs = [log_choose(count, n) - count * math.log(2) for n in range(ours, count + 1)]
    return min(1.0, math.fsum(map(math.exp, logs)))


def excess_power(pairs: int, only_violated: float, only_control: float) -> float:
    """Return how likely an excess is shown, by the probabilities of such pairs.

    With failures of p and q in each case they are p (1 - q) and q (1 - p).
    """
    apart = only_violated + only_control
    power = 0.0
    for count in range(pairs + 1):
        reached = _binomial(pairs, count, apart)
        if reached > 1e-9:
            least = _fewest_shown(pairs, count)
            share = only_violated / apart if apart else 0.0
            wins = (_binomial(count, n, share) for n in range(least, count + 1))
            power += reached * math.fsum(wins)
    return power


def _fewest_shown(pairs: int, count: int) -> int:
    """Return how many of the pairs in which one alone fails show an excess."""
    low, high = 0, count + 1
    while low < high:
        middle = (low + high) // 2
        found = measure_excess(pairs, 0, middle, count - middle)
        if found is not None and middle <= count and found.is_shown:
            high = middle
        else:
            low = middle + 1
    return low


def _binomial(n: int, k: int, p: float) -> float:
    if not 0 < p < 1:
        return float(k == (n if p >= 1 else 0))
    return math.exp(log_choose(n, k) + k * math.log(p) + (n - k) * math.log1p(-p))


def case_power(fails: float, control: float, rank: int = 1) -> dict[Decision, float]:
    """Return how likely each decision is about a case, by how often both fail."""
    ends: dict[Decision, float] = {"bug": 0.0, "no bug": 0.0, "undecided": 0.0}
    states = {(0, 0, 0): 1.0}
    for time in range(1, MOST_REPEATS + 1):
        after: defaultdict[tuple[int, int, int], float] = defaultdict(float)
        for (both, ours, theirs), share in states.items():
            for x, y in ((0, 0), (0, 1), (1, 0), (1, 1)):
                ways = (fails if x else 1 - fails) * (control if y else 1 - control)
                key = both + x * y, ours + x * (1 - y), theirs + y * (1 - x)
                after[key] += share * ways
        states = {}
        for key, share in after.items():
            decision = CaseTest(rank, time, *key).decision
            if decision is None:
                states[key] = share
            else:
                ends[decision] += share
    ends["undecided"] += sum(states.values())
    return ends
