"""A formula as weights of its variables and a constant: for proofs, and for rates."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from nomos.diagnostics.source import Span
from nomos.lang import core

Sum = tuple[dict[str, Any], Any]  # the weights of variables, and a constant


class NoSum(Exception):
    """A formula that is no such sum; `span` is the part that keeps it from being one."""

    def __init__(self, span: Span) -> None:
        super().__init__()
        self.span = span


def weigh_variables(
    expr: core.Expr,
    number: Callable[[Any], Any] = float,
    names: Mapping[str, core.Expr] = MappingProxyType({}),
) -> Sum:
    """Return a formula as a sum; raises NoSum where it is none.

    `number` makes of a constant what is calculated with; `names` stand for other formulas.
    """
    match expr:
        case core.Constant(value=int() | float() as value):
            return {}, number(value)
        case core.Variable(name=name) if name in names:
            return weigh_variables(names[name], number, names)
        case core.Variable(name=name):
            return {name: number(1)}, number(0)
        case core.Negate(operand=operand):
            return _scale_sum(weigh_variables(operand, number, names), number(-1))
        case core.Arithmetic(operator=sign, left=left, right=right):
            one, two = (weigh_variables(e, number, names) for e in (left, right))
            if sign in "+-":
                added, constant = _scale_sum(two, number(1 if sign == "+" else -1))
                both = one[0] | added
                weights = {n: one[0].get(n, 0) + added.get(n, 0) for n in both}
                return weights, one[1] + constant
            if sign == "*" and not one[0]:
                one, two = two, one
            if not two[0] and (sign == "*" or (sign == "/" and two[1] != 0)):
                return _scale_sum(one, two[1] if sign == "*" else number(1) / two[1])
        case _:
            pass
    raise NoSum(expr.span)


def _scale_sum(given: Sum, factor: Any) -> Sum:
    weights, constant = given
    return {name: factor * own for name, own in weights.items()}, factor * constant
