"""Formulas as sums of atoms, and conditions as ways in which they come true."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from nomos.lang import core
from nomos.verify.question.symbolic import NotProvable

Sum = tuple[dict[str, float], float]  # the weights of atoms, and a constant
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


def linear(expr: core.Expr) -> Sum:
    """Return a formula as weights of its atoms and a constant."""
    match expr:
        case core.Constant(value=int() | float() as value):
            return {}, float(value)
        case core.Variable(name=name):
            return {name: 1.0}, 0.0
        case core.Negate(operand=operand):
            return _scaled(linear(operand), -1.0)
        case core.Arithmetic(operator="+" | "-" as sign, left=left, right=right):
            (weights, constant), more = linear(left), linear(right)
            added, other = _scaled(more, 1.0 if sign == "+" else -1.0)
            for name, weight in added.items():
                weights[name] = weights.get(name, 0.0) + weight
            return weights, constant + other
        case core.Arithmetic(operator="*" | "/" as sign, left=left, right=right):
            one, two = linear(left), linear(right)
            if sign == "*" and not one[0]:
                one, two = two, one
            if not two[0] and (sign == "*" or two[1] != 0):
                return _scaled(one, two[1] if sign == "*" else 1 / two[1])
        case _:
            pass
    raise NotProvable("this is calculated in a way that is no sum", expr.span)


def _scaled(given: Sum, factor: float) -> Sum:
    weights, constant = given
    return {name: factor * own for name, own in weights.items()}, factor * constant


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
