"""Rates over a campaign: counted case by case, and evaluated once, with an interval.

What an `ensures` makes of rates is known to lie in an interval (at the 95 % level). Where the
whole interval breaks the `ensures`, it is violated; where the whole interval satisfies it, it
holds; else it is undecided. Where all cases were tried, rates are exact numbers.

The interval of one rate is Clopper and Pearson's. Of a weighted sum of rates of groups
that have no case in common, such as a difference, the distances from the estimate to the
ends are added as their squares (Zou and Donner's method; Newcombe's for a difference):
groups are independent given their sizes. For everything else each of n rates gets an
interval at the level 1 - 0.05/n, so that all are right together, and these are calculated
with: wider than need be, and right however rates depend on each other.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from itertools import combinations, product
from operator import eq, ge, gt, le, lt, ne
from typing import Any

import numpy as np

from nomos.device import Array
from nomos.engine.meaning.vectors import ARITHMETIC
from nomos.lang import core
from nomos.lang.sums import NoSum, weigh_variables
from nomos.results.measured import GroupRate, RateFound
from nomos.results.statistics import Interval, clopper_pearson

_LEVEL = 0.95
_COMPARED = {"<": lt, "<=": le, ">": gt, ">=": ge, "==": eq, "!=": ne}
Ends = tuple[Any, Any]  # of an interval
_EVERYTHING: Ends = (-math.inf, math.inf)
_OVER_BOUND = "its interval reaches over the bound: more cases are needed (--budget)"
_NO_SAMPLE = "its cases are no sample of all: use --search random, or try all cases"


class CampaignRates:
    """The `ensures` of a campaign, and what it has counted for their rates."""

    def __init__(
        self, ensures: Sequence[core.Condition], rates: Sequence[core.Rate]
    ) -> None:
        self.ensures, self.rates = ensures, rates
        count = len(rates)
        self.hits: Array = np.zeros(count, dtype=np.int64)
        self.together: Array = np.zeros((count, count), dtype=np.int64)  # are of both

    def add(self, rate_bits: Array) -> None:
        """Count cases, given two bits for each rate: is it of the case, does that count."""
        if not self.rates:
            return
        bits = rate_bits[:, None] >> 2 * np.arange(len(self.hits))
        among = (bits & 1).astype(np.int64)
        self.together += among.T @ among
        self.hits += (bits >> 1 & 1).sum(axis=0)

    def to_json(self) -> list[list[int]]:
        """Return the counts as data for JSON."""
        return [self.hits.tolist(), *self.together.tolist()]

    def restore(self, kept: Any) -> None:
        """Take up counts that were kept; raises ValueError where they are none."""
        if not self.rates:
            return
        found = np.array(kept, dtype=np.int64)
        if found.shape != (len(self.hits) + 1, len(self.hits)) or (found < 0).any():
            raise ValueError("the counts of its rates are not those of the spec")
        self.hits, self.together = found[0], found[1:]

    def evaluate(
        self, *, is_exact: bool, is_sample: bool = True
    ) -> tuple[RateFound, ...]:
        """Return what became of each `ensures`; all cases were tried, or a sample was."""
        unfit = "" if is_exact or is_sample else _NO_SAMPLE
        return tuple(
            self._evaluate_ensures(one, is_exact=is_exact, unfit=unfit)
            for one in self.ensures
        )

    def _evaluate_ensures(
        self, ensures: core.Condition, *, is_exact: bool, unfit: str
    ) -> RateFound:
        estimate = _Estimate(ensures.test, self, is_exact=is_exact)
        truth = estimate.truth(ensures.test, {})
        hits, cases = self.hits.tolist(), self.together.diagonal().tolist()
        empty = [self.rates[n].text for n in estimate.used if not cases[n]]
        reason = unfit or (f"no case is one of `{empty[0]}`" if empty else "")
        if not reason and truth is None:
            reason = _OVER_BOUND
        intervals = {
            n: clopper_pearson(hits[n], cases[n])
            for n in estimate.used
            if cases[n] and not is_exact
        }
        groups = tuple(
            GroupRate(self.rates[n].text, hits[n], cases[n], intervals.get(n))
            for n in estimate.used
        )
        value, interval = estimate.find_compared(ensures.test)
        verdict: Any = "undecided" if reason else "holds" if truth else "violated"
        named = ensures.name, ensures.text, ensures.line
        return RateFound(*named, verdict, value, interval, groups, reason)


class _Estimate:
    """What an `ensures` is known to come to, from the counts of its rates."""

    def __init__(
        self, test: core.Expr, counts: CampaignRates, *, is_exact: bool
    ) -> None:
        self.counts, self.is_exact = counts, is_exact
        self.used = sorted({n for n in map(_rate_number, core.walk(test)) if n >= 0})

    def _limits(self, number: int, level: float) -> tuple[Any, Any, Any]:
        """Return a rate and the ends of its interval; without a case, all there may be."""
        cases = int(self.counts.together[number, number])
        hits = int(self.counts.hits[number])
        if not cases:
            return Fraction(1, 2), Fraction(0), Fraction(1)
        if self.is_exact:
            return (Fraction(hits, cases),) * 3
        found = clopper_pearson(hits, cases, confidence=level)
        return hits / cases, found.low, found.high

    def ends(self, expr: core.Expr, names: Mapping[str, core.Expr]) -> Ends:
        """Return the interval of an expression of numbers."""
        with suppress(NoSum):
            named, constant = weigh_variables(expr, _exact_number, names)
            weights = {_rate_named(name): weight for name, weight in named.items()}
            if self._are_apart(weights):
                return self._ends_of_sum(weights, constant)
        level = 1 - (1 - _LEVEL) / max(1, len(self.used))
        return self._combine(expr, names, level)

    def _are_apart(self, weights: Mapping[int, Any]) -> bool:
        """Tell whether no case belongs to two of the rates."""
        together = self.counts.together
        return not any(together[one, two] for one, two in combinations(weights, 2))

    def _ends_of_sum(self, weights: Mapping[int, Any], constant: Any) -> Ends:
        value, below, above = constant, [], []
        for number, weight in weights.items():
            rate, low, high = self._limits(number, _LEVEL)
            value += weight * rate
            ends = sorted((weight * low, weight * high))
            below.append(weight * rate - ends[0])
            above.append(ends[1] - weight * rate)
        if self.is_exact:
            return value - sum(below), value + sum(above)
        return value - math.hypot(*map(float, below)), value + math.hypot(
            *map(float, above)
        )

    def _combine(
        self, expr: core.Expr, names: Mapping[str, core.Expr], level: float
    ) -> Ends:
        """Return the interval of an expression, from those of its parts."""

        def inner(part: core.Expr) -> Ends:
            return self._combine(part, names, level)

        match expr:
            case core.Constant(value=value):
                number = _exact_number(value)
                return number, number
            case core.Variable(name=name) if name in names:
                return inner(names[name])
            case core.Variable():
                return self._limits(_rate_number(expr), level)[1:]
            case core.Negate(operand=operand):
                low, high = inner(operand)
                return -high, -low
            case core.Arithmetic(operator=sign, left=left, right=right):
                (a, b), (c, d) = inner(left), inner(right)
                if sign == "/" and c <= 0 <= d:
                    return _EVERYTHING
                ways = {ARITHMETIC[sign](x, y) for x, y in product((a, b), (c, d))}
                return min(ways), max(ways)
            case core.Call(function="abs", arguments=(operand,)):
                low, high = inner(operand)
                return max(low, -high, 0), max(abs(low), abs(high))
            case core.Call(function=function, arguments=arguments):
                choose: Any = min if function == "min" else max
                ends = [inner(one) for one in arguments]
                return choose(low for low, _ in ends), choose(high for _, high in ends)
            case core.Apply(parameters=known, arguments=values, body=body):
                more = dict(zip(known, values, strict=True))
                return self._combine(body, {**names, **more}, level)
            case core.Conditional():
                parts = [*map(inner, self._open_branches(expr, names))]
                return min(low for low, _ in parts), max(high for _, high in parts)
            case _:
                return _EVERYTHING

    def _open_branches(
        self, expr: core.Conditional, names: Mapping[str, core.Expr]
    ) -> list[core.Expr]:
        """Return what a conditional may come to: both, where its test is not sure."""
        truth = self.truth(expr.test, names)
        branches = (expr.yes, False), (expr.no, True)
        return [branch for branch, left_by in branches if truth is not left_by]

    def truth(self, expr: core.Expr, names: Mapping[str, core.Expr]) -> bool | None:
        """Tell whether a condition holds for sure, or fails for sure; None: neither."""
        match expr:
            case core.Constant(value=value):
                return bool(value)
            case core.Not(operand=operand):
                truth = self.truth(operand, names)
                return None if truth is None else not truth
            case core.Logic(operator=sign, left=left, right=right):
                one, other = self.truth(left, names), self.truth(right, names)
                if sign == "==>":
                    one = None if one is None else not one
                decides = sign != "&&"
                if decides in (one, other):
                    return decides
                return None if None in (one, other) else not decides
            case core.Apply(parameters=known, arguments=values, body=body):
                more = dict(zip(known, values, strict=True))
                return self.truth(body, {**names, **more})
            case core.Conditional():
                parts = self._open_branches(expr, names)
                truths = {self.truth(part, names) for part in parts}
                return truths.pop() if len(truths) == 1 else None
            case core.Compare(operator=sign, left=left, right=right):
                apart = core.Arithmetic("-", left, right, span=expr.span)
                low, high = self.ends(apart, names)
                found = {bool(_COMPARED[sign](end, 0)) for end in (low, high)}
                is_sure = len(found) == 1 and (sign not in ("==", "!=") or low == high)
                if sign in ("==", "!=") and (low > 0 or high < 0):
                    return sign == "!="
                return found.pop() if is_sure else None
            case _:
                return None

    def find_compared(self, test: core.Expr) -> tuple[float | None, Interval | None]:
        """Return what is compared, and its interval; None where there is no such number."""
        names: dict[str, core.Expr] = {}
        for node in core.walk(test):
            if isinstance(node, core.Apply):
                names |= dict(zip(node.parameters, node.arguments, strict=True))
            if not isinstance(node, core.Compare):
                continue
            shown: core.Expr = node.left
            if _has_rates(node.right, names):
                shown = core.Arithmetic("-", node.left, node.right, span=node.span)
                shown = shown if _has_rates(node.left, names) else node.right
            low, high = self.ends(shown, names)
            value = _Estimate(test, self.counts, is_exact=True).ends(shown, names)[0]
            if not all(map(math.isfinite, (low, high, value))):
                return None, None
            ends = Interval(float(low), float(high), _LEVEL)
            return float(value), None if self.is_exact else ends
        return None, None


def _exact_number(value: Any) -> Any:
    """Return a number as it is written: 0.1 is a tenth."""
    if isinstance(value, int):
        return Fraction(value)
    return Fraction(repr(value)) if math.isfinite(value) else value


def _rate_number(node: core.Expr) -> int:
    """Return the number of the rate that a variable stands for; -1 for no rate."""
    return _rate_named(node.name) if isinstance(node, core.Variable) else -1


def _rate_named(name: str) -> int:
    return int(name[5:]) if name.startswith("rate#") else -1


def _rates_in(expr: core.Expr, names: Mapping[str, core.Expr]) -> Iterator[int]:
    for node in core.walk(expr):
        if isinstance(node, core.Variable) and node.name in names:
            yield from _rates_in(names[node.name], names)
        elif (number := _rate_number(node)) >= 0:
            yield number


def _has_rates(expr: core.Expr, names: Mapping[str, core.Expr]) -> bool:
    return any(True for _ in _rates_in(expr, names))
