"""By how much violations miss what is ensured, and how often chance does the same.

A property over games of chance fails now and then by chance alone. A control is a spec
in which nothing but chance can differ; what a property finds counts as far as it
exceeds what its control finds.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nomos.campaign.events import Bug
from nomos.lang import core

THRESHOLDS = (1, 2, 3, 5)  # gaps from which on violations are counted
_MOST_BARS = 20  # of a histogram; more values than that are put together

Gaps = Counter[float]


@dataclass(frozen=True, slots=True)
class Bar:
    """How many violations have a gap from `low` to `high`, both included."""

    low: float
    high: float
    count: int


@dataclass(frozen=True, slots=True)
class Beside:
    """Violations by a gap of at least `gap`, beside those of the control.

    `gap` is None where every violation counts. `chance` is how likely as many or more
    of all these violations fall to the property if they are as likely in the control
    (Fisher's exact test, one-sided).
    """

    gap: int | None
    violations: int
    tests: int
    control_violations: int
    control_tests: int
    chance: float


@dataclass(frozen=True, slots=True)
class Found:
    """What matters here of a campaign, or of several together."""

    tests: int
    violations: int
    gaps: Gaps | None


def gaps_of(
    spec: core.Spec, bugs: Iterable[Bug], seen: Mapping[str, int]
) -> Gaps | None:
    """Count by how much the violations miss; None where some `ensures` is no comparison."""
    tests = {condition.text: condition.test for condition in spec.ensures}
    if not all(_sides(test) for test in tests.values()):
        return None
    gaps: Gaps = Counter()
    for bug in bugs:
        test = tests.get(bug.failed)  # None where the spec has changed since
        gap = None if test is None else _gap(test, bug.values)
        if gap is None:
            return None
        gaps[gap] += seen.get(bug.id, 1)
    return gaps


def _sides(test: core.Expr) -> tuple[core.Expr, core.Expr] | None:
    """Return the side that must be the smaller one, and the other."""
    while isinstance(test, core.Logic) and test.operator == "==>":
        test = test.right  # where it fails, its premise holds
    if not isinstance(test, core.Compare):
        return None
    if test.operator in ("<=", "<"):
        return test.left, test.right
    return (test.right, test.left) if test.operator in (">=", ">") else None


def _gap(test: core.Expr, values: Mapping[str, Any]) -> float | None:
    sides = _sides(test)
    assert sides is not None
    smaller, larger = (_number(side, values) for side in sides)
    if smaller is None or larger is None or not math.isfinite(smaller - larger):
        return None
    return smaller - larger


def _number(expr: core.Expr, values: Mapping[str, Any]) -> float | None:
    match expr:
        case core.Constant(value=value):
            return _as_number(value)
        case core.Variable(name=name):
            return _as_number(values.get(name))
        case core.Arithmetic(operator="+" | "-" | "*" as operator):
            left, right = _number(expr.left, values), _number(expr.right, values)
            if left is None or right is None:
                return None
            if operator == "*":
                return left * right
            return left + right if operator == "+" else left - right
        case _:
            return None


def _as_number(value: Any) -> float | None:
    value = value.item() if hasattr(value, "item") and not value.shape else value
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return value if is_number else None


def histogram(gaps: Gaps) -> list[Bar]:
    """Return the gaps as bars: one for each value, or for each range if they are many."""
    if len(gaps) <= _MOST_BARS:
        return [Bar(gap, gap, count) for gap, count in sorted(gaps.items())]
    low, high = min(gaps), max(gaps)
    bars: dict[int, list[float]] = {}
    for gap in sorted(gaps):
        place = min(_MOST_BARS - 1, int(_MOST_BARS * (gap - low) / (high - low)))
        bars.setdefault(place, []).append(gap)
    return [
        Bar(inside[0], inside[-1], sum(gaps[gap] for gap in inside))
        for inside in bars.values()
    ]


def together(found: Iterable[Found]) -> Found:
    """Put campaigns of one property together."""
    parts = list(found)
    gaps: Gaps | None = Counter()
    for part in parts:
        gaps = None if gaps is None or part.gaps is None else gaps + part.gaps
    return Found(
        sum(part.tests for part in parts), sum(part.violations for part in parts), gaps
    )


def beside(found: Found, control: Found) -> list[Beside]:
    """Count violations from each threshold on, beside those that chance gives."""
    both = None
    if found.gaps is not None and control.gaps is not None:
        both = found.gaps + control.gaps
    whole = both is not None and all(gap == int(gap) for gap in both)
    thresholds: Sequence[int | None] = THRESHOLDS if whole else (None,)
    rows = []
    for gap in thresholds:
        ours, theirs = _at_least(found, gap), _at_least(control, gap)
        chance = _fisher(ours, found.tests, theirs, control.tests)
        rows.append(Beside(gap, ours, found.tests, theirs, control.tests, chance))
    return rows


def _at_least(found: Found, gap: int | None) -> int:
    if gap is None or found.gaps is None:
        return found.violations
    return sum(count for value, count in found.gaps.items() if value >= gap)


def _fisher(ours: int, tests: int, theirs: int, control_tests: int) -> float:
    """Return the chance that at least `ours` of all violations are among our tests."""
    both = ours + theirs
    logs = [
        _log_choose(tests, mine) + _log_choose(control_tests, both - mine)
        for mine in range(max(ours, both - control_tests), min(both, tests) + 1)
    ]
    whole = _log_choose(tests + control_tests, both)
    return min(1.0, math.fsum(math.exp(log - whole) for log in logs))


def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
