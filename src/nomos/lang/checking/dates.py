"""Dates in expressions: texts beside a date are dates, and days lead from one to another."""

from nomos.lang import core
from nomos.lang.checking.scope import Scope
from nomos.lang.checking.types import check_types, is_indexed
from nomos.lang.dates import to_days
from nomos.lang.types import NUMBERS, Type


def read_dates(*values: core.Expr) -> tuple[core.Expr, ...]:
    """Read texts as dates, where another of the values is a date."""
    if any(value.type is Type.DATE for value in values):
        return tuple(map(read_date, values))
    return values


def read_date(value: core.Expr) -> core.Expr:
    """Return the date that a text in quotes is; anything else as it is."""
    if isinstance(value, core.Constant) and isinstance(value.value, str):
        try:
            days = to_days(value.value)
        except ValueError:
            return value
        return core.Constant(days, span=value.span, type=Type.DATE)
    return value


def check_arithmetic(
    scope: Scope, sign: str, left: core.Expr, right: core.Expr
) -> Type:
    """Return the type of what an operator gives, reporting what it cannot take."""
    dated = type_with_dates(sign, left.type, right.type)
    if dated is not None:
        return dated
    given = (left, right)
    sides = [s for s in given if s.type is not Type.RECORD or not is_indexed(scope, s)]
    check_types(scope, f"`{sign}`", NUMBERS, "numbers", *sides)
    types = {left.type, right.type}
    type_ = Type.REAL if sign == "/" or Type.REAL in types else Type.INT
    if not types <= NUMBERS or (sign == "**" and type_ is Type.INT):
        return Type.UNKNOWN  # of a power, it depends on the sign of the exponent
    return type_


def type_with_dates(operator: str, left: Type, right: Type) -> Type | None:
    """Return what a date and days give, or two dates; None where that is no sense."""
    if operator == "-" and left is right is Type.DATE:
        return Type.REAL
    steps = NUMBERS | {Type.UNKNOWN}
    is_step = operator in "+-" and left is Type.DATE and right in steps
    is_later = operator == "+" and right is Type.DATE and left in steps
    return Type.DATE if is_step or is_later else None
