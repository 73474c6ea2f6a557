"""Formulas on columns of values, as Python would evaluate them case by case; as sums.

Conditions are also taken apart into the ways in which they come true.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np

from nomos.device import Array
from nomos.engine.meaning.operators import BUILT_INS, rank_names
from nomos.engine.meaning.vectors import ARITHMETIC
from nomos.engine.vectorized.vector import COMPARE
from nomos.errors import NotProvable
from nomos.lang import core
from nomos.lang.nodes import map_children
from nomos.lang.sums import NoSum, Sum, weigh_variables

Values = Mapping[str, Array]
_LARGEST = 2.0**53  # whole numbers up to here are exact in every type that is used
Leaf = TypeVar("Leaf")
# The ways in which a difference comes to a relation: above or below 0, strictly or not.
SIDES: dict[str, list[list[tuple[int, bool]]]] = {
    ">": [[(1, True)]],
    ">=": [[(1, False)]],
    "<": [[(-1, True)]],
    "<=": [[(-1, False)]],
    "==": [[(1, False), (-1, False)]],
    "!=": [[(1, True)], [(-1, True)]],
}
_OPPOSITE = {"==": "!=", "!=": "==", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}


def difference(test: core.Compare) -> core.Expr:
    """Return how far the left side of a comparison is above the right one."""
    return core.Arithmetic("-", test.left, test.right, span=test.span)


def evaluate(expr: core.Expr, values: Values, count: int) -> Array:
    """Return the value of a formula for each of `count` cases."""
    return np.broadcast_to(_evaluate_node(expr, values, count), (count,))


def holds(expr: core.Expr, values: Values, count: int) -> Array:
    """Return for each of `count` cases whether a formula is true."""
    value = evaluate(expr, values, count)
    if value.dtype.kind == "b":
        return value
    empty: Any = "" if value.dtype.kind == "U" else 0
    truth: Array = value != empty
    return truth


def _evaluate_node(expr: core.Expr, values: Values, count: int) -> Array:
    match expr:
        case core.Constant(value=value):
            if value is None:
                raise NotProvable("`None` is no value that a proof knows", expr.span)
            return np.asarray(value)
        case core.Variable(name=name):
            return values[name]
        case core.Not(operand=operand):
            return ~holds(operand, values, count)
        case core.Negate(operand=operand):
            return -_to_numbers(operand, values, count)
        case core.Arithmetic():
            return _evaluate_arithmetic(expr, values, count)
        case core.Compare():
            return _evaluate_comparison(expr, values, count)
        case core.Logic():
            return _evaluate_logic(expr, values, count)
        case core.Conditional():
            return _evaluate_conditional(expr, values, count)
        case core.Call(function=name, arguments=arguments):
            columns = [evaluate(one, values, count).tolist() for one in arguments]
            try:
                return np.array(list(map(BUILT_INS[name], *columns)))
            except (ArithmeticError, ValueError, TypeError) as error:
                raise NotProvable(f"`{name}` fails: {error}", expr.span) from None
        case _:
            raise AssertionError(f"a formula has no {type(expr).__name__}")


def _to_numbers(expr: core.Expr, values: Values, count: int) -> Array:
    value = _evaluate_node(expr, values, count)
    if value.dtype.kind == "b":
        return value.astype(np.int64)
    if value.dtype.kind not in "if":
        raise NotProvable("a name is calculated with", expr.span)
    return value


def _evaluate_arithmetic(expr: core.Arithmetic, values: Values, count: int) -> Array:
    if expr.operator == "**":
        raise NotProvable("a power is no formula", expr.span)
    left = _to_numbers(expr.left, values, count)
    right = _to_numbers(expr.right, values, count)
    if expr.operator in "/%" and (right == 0).any():
        raise NotProvable("the divisor can be 0, which is an error", expr.span)
    with np.errstate(all="ignore"):
        result: Array = ARITHMETIC[expr.operator](left, right)
        if result.dtype.kind == "i":  # where it wraps around, reals tell
            size = np.abs(ARITHMETIC[expr.operator](left.astype(float), right))
            if size.size and size.max() > _LARGEST:
                raise NotProvable("the numbers become larger than 2**53", expr.span)
    if result.dtype.kind == "f" and np.isnan(result).any():
        raise NotProvable("a calculation has no number as its result", expr.span)
    return result


def _evaluate_comparison(expr: core.Compare, values: Values, count: int) -> Array:
    left = _evaluate_node(expr.left, values, count)
    right = _evaluate_node(expr.right, values, count)
    if (left.dtype.kind == "U") != (right.dtype.kind == "U"):
        raise NotProvable("a name is compared with a number", expr.span)
    if expr.levels and left.dtype.kind == "U":
        try:
            left, right = (rank_names(expr.levels, side) for side in (left, right))
        except ValueError as error:
            raise NotProvable(str(error), expr.span) from None
    result = np.asarray(COMPARE[expr.operator](left, right))
    if expr.operator == "!=" and "f" in (left.dtype.kind, right.dtype.kind):
        unlike = np.isnan(left.astype(float)) | np.isnan(right.astype(float))
        result = result & ~unlike  # NaN compares with nothing
    return result


def _evaluate_conditional(expr: core.Conditional, values: Values, count: int) -> Array:
    """Evaluate each branch only on the cases that take it."""
    test = holds(expr.test, values, count)
    parts = []
    for branch, taken in ((expr.yes, test), (expr.no, ~test)):
        if taken.any():
            chosen = {name: column[taken] for name, column in values.items()}
            parts.append((taken, evaluate(branch, chosen, int(taken.sum()))))
    if len({part.dtype.kind == "U" for _, part in parts}) > 1:
        raise NotProvable("this is a name or a number, by case", expr.span)
    types = [part.dtype for _, part in parts]
    result = np.zeros(count, np.result_type(*types) if types else np.int64)
    for taken, part in parts:
        result[taken] = part
    return result


def _evaluate_logic(expr: core.Logic, values: Values, count: int) -> Array:
    """Evaluate the right side only on the cases in which it decides."""
    left = holds(expr.left, values, count)
    result = ~left if expr.operator == "==>" else left.copy()
    decides = np.flatnonzero(~left if expr.operator == "||" else left)
    if len(decides):
        chosen = {name: column[decides] for name, column in values.items()}
        result[decides] = holds(expr.right, chosen, len(decides))
    return result


def linear(expr: core.Expr) -> Sum:
    """Return a formula as weights of its variables and a constant."""
    try:
        return weigh_variables(expr)
    except NoSum as error:
        why = (
            "this is calculated in a way that is no sum: a proof knows +, -, abs, min and "
            "max of answers, and factors that are constant"
        )
        raise NotProvable(why, error.span) from None


def fix_variables(expr: core.Expr, known: Mapping[str, Any]) -> core.Expr:
    """Return a formula with the variables that are known as constants."""
    if isinstance(expr, core.Variable) and expr.name in known:
        return core.Constant(known[expr.name], span=expr.span)
    changed: core.Expr = map_children(expr, lambda part: fix_variables(part, known))
    return changed


def ways(
    expr: core.Expr,
    wanted: bool,
    compared: Callable[[core.Compare, str], list[list[Leaf]]],
) -> list[list[Leaf]]:
    """Return the ways in which a formula has a truth value; each is a conjunction.

    `compared` returns those of a comparison by the relation that it is given.
    """
    match expr:
        case core.Constant(value=value):
            return [[]] if bool(value) == wanted else []
        case core.Not(operand=operand):
            return ways(operand, not wanted, compared)
        case core.Logic(operator=word, left=left, right=right):
            first = ways(left, wanted != (word == "==>"), compared)
            second = ways(right, wanted, compared)
            if (word == "&&") == wanted:
                return [[*one, *two] for one in first for two in second]
            return first + second
        case core.Conditional(test=test, yes=yes, no=no):
            return [
                [*one, *two]
                for branch, taken in ((yes, True), (no, False))
                for one in ways(test, taken, compared)
                for two in ways(branch, wanted, compared)
            ]
        case core.Compare(operator=relation):
            return compared(expr, relation if wanted else _OPPOSITE[relation])
        case _:
            raise NotProvable("a value is taken for a truth value", expr.span)
