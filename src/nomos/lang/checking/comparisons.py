"""Check and type comparisons: numbers, strings, and names that have an order."""

from dataclasses import replace
from typing import Literal, cast

from nomos.diagnostics import Code, Span
from nomos.lang import core
from nomos.lang.checking.dates import read_dates
from nomos.lang.checking.features import check_level, levels_of, position_of
from nomos.lang.checking.scope import Scope
from nomos.lang.checking.types import ORDERED, check_types, wrong_type
from nomos.lang.types import NUMBERS, Type


def elaborate_comparison(
    scope: Scope, operator: str, left: core.Expr, right: core.Expr, span: Span
) -> core.Expr:
    """Return a comparison of two values, reporting those that cannot be compared."""
    sign = cast('Literal["==", "!=", "<", "<=", ">", ">="]', operator)
    left, right = read_dates(left, right)
    known = levels_of(scope, left), levels_of(scope, right)
    left = position_of(scope, known[1], left)
    right = position_of(scope, known[0], right)
    made = core.Compare(sign, left, right, span=span, type=Type.BOOL)
    _warn_of_missing(scope, made)
    if operator not in ("==", "!="):
        made = replace(made, levels=find_order(scope, operator, left, right))
        words = "numbers or strings"
        if not check_types(scope, f"`{operator}`", ORDERED, words, left, right):
            return made
    kinds = {type_family(left.type), type_family(right.type)}
    if Type.UNKNOWN not in (left.type, right.type) and len(kinds) > 1:
        what = f"`{operator}` with {left.type.value} on its left"
        wanted, got = "the same on its right", right.type.value
        help = None
        if kinds == {"number", Type.STRING.name}:
            help = "a number is written without quotes, a string with them"
        if Type.DATE.name in kinds:
            help = 'a date is written `"2024-01-31"`'
        wrong_type(scope, right.span, what, wanted, got, help)
    if operator in ("==", "!="):
        check_level(scope, known[0], right)
        check_level(scope, known[1], left)
    return made


def _warn_of_missing(scope: Scope, test: core.Compare) -> None:
    """Warn of comparisons that are meant to tell whether a value is missing."""
    sides = [scope.source.slice(s.span) for s in (test.left, test.right)]
    shown = [" ".join(side.split()) for side in sides]
    word = "missing" if "missing" in shown else "null"
    is_read = any(isinstance(s, core.GetFeature) for s in (test.left, test.right))
    if word in shown and (is_read or word == "missing"):
        asked = shown[shown[0] == word]
        what = f"a value that is missing equals nothing, so `{test.operator}` does not tell it"
    elif isinstance(test.left, core.GetFeature) and core.tree_shape(
        test.left
    ) == core.tree_shape(test.right):
        asked, what = shown[0], "both sides are the same"
    else:
        return
    help = f"write `missing({asked})`" + " or `!missing(...)`" * (test.operator != "!=")
    scope.report(Code.MISLEADING_CONDITION, test.span, what=what, help=help)


def type_family(type_: Type) -> str:
    """Return what values a type can be compared with."""
    numbers = type_ in NUMBERS or type_ is Type.BOOL  # flags are 0 and 1
    return "number" if numbers else type_.name


def find_order(
    scope: Scope, operator: str, left: core.Expr, right: core.Expr
) -> tuple[str, ...]:
    """Return the order that names are compared by; report names that have none."""
    for side, other in ((left, right), (right, left)):
        known = levels_of(scope, side)
        if known is None or known.levels is None or known.type is not Type.STRING:
            continue
        what = f"`{operator}` with `{known.name}`"
        if not known.is_ordered and other.type in NUMBERS:
            return ()  # that is reported
        if not known.is_ordered:
            help = f"say it in the schema: `Ordinal({known.name!r}, (LOWEST, ..., HIGHEST))`"
            wanted, got = "names that have an order", "one of names without"
            wrong_type(scope, side.span, what, wanted, got, help)
            return ()
        if other.type in NUMBERS:
            wrong_type(scope, other.span, what, "one of its levels", other.type.value)
        check_level(scope, known, other)
        return known.levels
    names = {Type.STRING, Type.UNKNOWN}
    return scope.order if {left.type, right.type} <= names else ()
