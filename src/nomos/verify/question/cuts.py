"""Ranges of numbers cut where something changes, so that one stands for all between."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nomos.device import Array
from nomos.errors import NotProvable
from nomos.lang import core
from nomos.structures.trees import TreeKeys
from nomos.verify.question.cases import choose_cases
from nomos.verify.question.choices import as_choice
from nomos.verify.question.formulas import difference, evaluate
from nomos.verify.question.symbolic import variables


@dataclass(frozen=True, slots=True)
class Cuts:
    """Where the range of an variable has to be cut: at cells of slots, and at guards."""

    variable: str
    slots: Sequence[tuple[str, core.Expr]]
    guards: Sequence[core.Expr]
    keys: TreeKeys

    @property
    def size(self) -> int:
        """How many cuts there may be."""
        starts = sum(len(self.keys.starts(name)) for name, _ in self.slots)
        return starts + 2 * len(list(self.comparisons()))

    def comparisons(self) -> Iterator[core.Compare]:
        """Yield the comparisons on which the guards depend."""
        for guard in self.guards:
            for node in _list_tests(guard):
                if self.variable in variables(node):
                    yield node


def _list_tests(expr: core.Expr) -> Iterator[core.Compare]:
    match expr:
        case core.Compare():
            yield expr
        case core.Not(operand=operand):
            yield from _list_tests(operand)
        case core.Logic() | core.Conditional():
            for part in core.children(expr):
                yield from _list_tests(part)
        case core.Constant():
            pass
        case _:
            raise NotProvable("this condition is no comparison", expr.span)


def direction(expr: core.Expr, variable: str) -> int:
    """Return 1 where a formula rises with an variable, -1 where it falls, 0 without it."""
    if variable not in variables(expr):
        return 0
    match expr:
        case core.Variable():
            return 1
        case core.Negate(operand=operand):
            return -direction(operand, variable)
        case core.Arithmetic(operator="+" | "-" as sign, left=left, right=right):
            one, two = direction(left, variable), direction(right, variable)
            two = two if sign == "+" else -two
            if one * two >= 0:
                return one or two
        case core.Arithmetic(operator="*", left=left, right=right):
            for factor, other in ((left, right), (right, left)):
                if isinstance(factor, core.Constant):
                    factor_sign = int(np.sign(float(factor.value)))  # type: ignore[arg-type]  # a number
                    return factor_sign * direction(other, variable)
        case core.Conditional() if choice := as_choice(expr):
            one, two = (direction(part, variable) for part in choice[1:])
            if one * two >= 0:
                return one or two
        case _:
            pass
    raise NotProvable(f"how this changes with {variable} is not plain", expr.span)


def divide_integers(
    low: Array, high: Array, values: Mapping[str, Array], cuts: Cuts
) -> tuple[Array, Array, Array]:
    """Cut each row's range; returns rows, the first number of each part, and lengths."""
    count = len(low)
    at_low = {**values, cuts.variable: low}
    edges = [low[:, None]]
    for name, formula in cuts.slots:
        slope, base = _find_affine(formula, at_low, cuts.variable, low, count)
        starts = cuts.keys.starts(name)
        if slope and not cuts.keys.rises(name):
            raise NotProvable(f"`{name}` has too many values to be listed")
        if slope > 0:
            edges.append(starts - base[:, None])
        elif slope < 0:
            edges.append(base[:, None] - starts + 1)
    for test in cuts.comparisons():
        slope, base = _find_affine(difference(test), at_low, cuts.variable, low, count)
        if slope:
            zero = np.floor(-base * slope).astype(np.int64)[:, None]
            edges += [zero, zero + 1]
    ends = high[:, None] + 1
    bounds = np.clip(np.concatenate(edges, axis=1), low[:, None], ends)
    bounds.sort(axis=1)
    lengths = np.diff(np.concatenate([bounds, ends], axis=1), axis=1)
    rows, columns = np.nonzero(lengths > 0)
    return rows, bounds[rows, columns], lengths[rows, columns]


def _find_affine(
    formula: core.Expr,
    at_low: Mapping[str, Array],
    variable: str,
    low: Array,
    count: int,
) -> tuple[int, Array]:
    """Return the slope of a formula (0, 1 or -1), and its value where the variable is 0."""
    slope = direction(formula, variable)
    if slope == 0 or count == 0:
        return 0, low
    here = evaluate(formula, at_low, count)
    there = evaluate(formula, {**at_low, variable: low + 1}, count)
    if not (there - here == slope).all():
        raise NotProvable(
            f"{variable} has too many values to be multiplied", formula.span
        )
    return slope, here - slope * low


def divide_reals(
    ends: Array, values: Mapping[str, Array], count: int, cuts: Cuts
) -> tuple[Array, Array]:
    """Halve ranges of floats until nothing changes in them; returns rows and numbers."""
    dtype = ends.dtype
    if dtype.kind != "f":
        raise NotProvable("a real feature in rows of whole numbers")
    for name, formula in cuts.slots:
        direction(formula, cuts.variable)
        if not cuts.keys.rises(name):
            raise NotProvable(
                f"`{name}` is real, and the model distinguishes its values"
            )
    for test in cuts.comparisons():
        direction(difference(test), cuts.variable)
    rows = np.arange(count)
    firsts, lasts = (np.repeat(place, count) for place in order_float(ends))
    done: list[tuple[Array, Array]] = []
    while len(rows):
        own = choose_cases(values, rows)
        ends_of = (float_at(places, dtype) for places in (firsts, lasts))
        sides = [_list_signs(cuts, own, at, len(rows)) for at in ends_of]
        alike = (sides[0] == sides[1]).all(axis=1)
        done.append((rows[alike], float_at(firsts[alike], dtype)))
        rows, first, last = rows[~alike], firsts[~alike], lasts[~alike]
        middle = (first >> 1) + (last >> 1) + (first & last & 1)
        rows = np.concatenate([rows, rows])
        firsts = np.concatenate([first, middle + 1])
        lasts = np.concatenate([middle, last])
    return np.concatenate([d[0] for d in done]), np.concatenate([d[1] for d in done])


def _list_signs(cuts: Cuts, own: Mapping[str, Array], at: Array, count: int) -> Array:
    """Return all that may change with the variable, each of which rises or falls with it."""
    values = {**own, cuts.variable: at.astype(np.float64)}
    found = [np.zeros((count, 1), np.int64)]
    for name, formula in cuts.slots:
        found.append(cuts.keys.of(name, np.array(evaluate(formula, values, count))))
    for test in cuts.comparisons():
        left = evaluate(test.left, values, count)
        right = evaluate(test.right, values, count)
        found.append(((left > right).astype(int) - (left < right))[:, None])
    return np.concatenate(found, axis=1)


def order_float(numbers: Array) -> Array:
    """Return whole numbers in the order of floats."""
    bits: Array = numbers.view(f"i{numbers.itemsize}")
    return _turn_negatives(bits).astype(np.int64)


def float_at(places: Array, dtype: np.dtype[Any]) -> Array:
    """Return the floats at places that `order_float` gave."""
    bits = places.astype(f"i{dtype.itemsize}")
    return _turn_negatives(bits).view(dtype)


def _turn_negatives(bits: Array) -> Array:
    """Turn the order of negative numbers around: floats have their sign in a bit."""
    least = np.iinfo(bits.dtype).min
    return np.where(bits < 0, least - bits, bits).astype(bits.dtype)
