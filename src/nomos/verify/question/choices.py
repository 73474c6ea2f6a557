"""Built-in functions as choices, and comparisons of choices as choices of comparisons.

`max(a, b)` is `if a < b then b else a`, and `abs(a)` is `max(a, -a)`; so all that follows
knows conditionals alone. A condition on the model's scores has to be a sum of them, and a
conditional is none: it is taken out of the comparison in which it stands. Where it is a
maximum on one side of an inequality, that is simpler: `max(a, b) <= c` is
`a <= c && b <= c`, and `max(a, b) >= c` is `a >= c || b >= c`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any, Literal, cast

from nomos.diagnostics.source import Span
from nomos.domain.schema import MISSING, Named
from nomos.errors import NotProvable
from nomos.lang import core
from nomos.lang.nodes import map_children
from nomos.lang.types import Type

_POINTWISE = ("round", "sqrt", "exp", "log", "strConcat")
_REVERSED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


def expand_call(
    name: str, values: Sequence[core.Expr], feature: object, span: Span
) -> core.Expr:
    """Return what a built-in function of the language gives, as a formula.

    `feature` is that whose value the first argument is, if it is one's.
    """
    if not values:
        raise NotProvable("this is of no items, which is an error", span)
    match name:
        case "abs":
            (value,) = values
            return _choose("max", value, core.Negate(value, span=span))
        case "min" | "max":
            return fold(values, lambda a, b: _choose(name, a, b))
        case "sum" | "mean":
            # From the first to the last: in another order, they are rounded otherwise.
            total = reduce(lambda a, b: core.Arithmetic("+", a, b, span=span), values)
            count = core.Constant(len(values), span=span)
            return (
                total
                if name == "sum"
                else core.Arithmetic("/", total, count, span=span)
            )
        case "isclose":
            return _expand_isclose(values, span)
        case "missing" if feature is not None:
            # A number is none: parts of a schema with missing numbers are refused.
            own = feature.levels if isinstance(feature, Named) else ()
            tests = [
                core.Compare("==", values[0], core.Constant(level, span=span), span=span)
                for level in own if level in MISSING
            ]  # fmt: skip
            no = core.Constant(False, span=span)
            return fold([*tests, no], lambda a, b: core.Logic("||", a, b, span=span))
        case _ if name in _POINTWISE:
            return core.Call(name, tuple(values), span=span)
        case _:
            raise NotProvable(f"`{name}` is not known to a proof", span)


def fold(
    values: Sequence[core.Expr], join: Callable[[core.Expr, core.Expr], core.Expr]
) -> core.Expr:
    """Join values by halves, so that no choice becomes deep."""
    if len(values) == 1:
        return values[0]
    half = len(values) // 2
    return join(fold(values[:half], join), fold(values[half:], join))


def _choose(word: str, one: core.Expr, two: core.Expr) -> core.Expr:
    """Return the larger or the smaller of two values; of equal ones the first."""
    sides = (one, two) if word == "max" else (two, one)
    test = core.Compare("<", *sides, span=one.span)
    return core.Conditional(test, two, one, span=one.span)


def _expand_isclose(values: Sequence[core.Expr], span: Span) -> core.Expr:
    """Return `isclose` as `math` has it: a distance that no tolerance is below."""
    one, two, *given = values
    usual = [core.Constant(1e-9, span=span), core.Constant(0.0, span=span)]
    share, least = tolerances = [*given, *usual[len(given) :]]
    for own in tolerances:
        if not isinstance(own, core.Constant) or not float(own.value or 0) >= 0:
            raise NotProvable("a tolerance of `isclose` is no constant", own.span)
    limits: list[core.Expr] = [least]
    if share != core.Constant(0, span=span):
        limits += [
            expand_call("abs", [core.Arithmetic("*", share, x, span=span)], None, span)
            for x in (two, one)
        ]
    apart = core.Arithmetic("-", two, one, span=span)
    far = expand_call("abs", [apart], None, span)
    return core.Compare("<=", far, expand_call("max", limits, None, span), span=span)


def as_choice(
    expr: core.Expr,
) -> tuple[Literal["max", "min"], core.Expr, core.Expr] | None:
    """Return the two values whose larger or smaller one a conditional is."""
    match expr:
        case core.Conditional(core.Compare("<", left, right, ()), yes, no):
            if (yes, no) == (right, left):
                return "max", left, right
            if (yes, no) == (left, right):
                return "min", left, right
        case _:
            pass
    return None


def take_out_choices(
    expr: core.Expr, is_wanted: Callable[[core.Expr], bool]
) -> core.Expr:
    """Return a condition with all choices that are wanted outside of its comparisons."""
    if not isinstance(expr, core.Compare):
        if not isinstance(expr, core.Not | core.Logic | core.Conditional):
            return expr
        changed: core.Expr = map_children(
            expr, lambda part: take_out_choices(part, is_wanted)
        )
        return changed
    sides = ((expr.operator, expr.left, expr.right),
             (_REVERSED.get(expr.operator, ""), expr.right, expr.left))  # fmt: skip
    for sign, own, other in sides:
        choice = as_choice(own) if is_wanted(own) and sign in _REVERSED else None
        if choice is not None:
            word, *parts = choice
            both = [
                take_out_choices(replace(expr, operator=cast(Any, sign), left=part,
                                         right=other), is_wanted)
                for part in parts
            ]  # fmt: skip
            join: Literal["&&", "||"] = (
                "&&" if (word == "max") == (sign in ("<", "<=")) else "||"
            )
            return core.Logic(join, *both, span=expr.span, type=Type.BOOL)
    inner = (one for one in core.walk(expr) if isinstance(one, core.Conditional))
    found = next(filter(is_wanted, inner), None)
    if found is None:
        return expr
    test, *rest = (
        take_out_choices(part, is_wanted)
        for part in (found.test, *(_replace_part(expr, found, x)
                                   for x in (found.yes, found.no)))
    )  # fmt: skip
    return core.Conditional(test, *rest, span=expr.span, type=Type.BOOL)


def _replace_part(expr: core.Expr, old: core.Expr, new: core.Expr) -> core.Expr:
    if expr == old:
        return new
    changed: core.Expr = map_children(expr, lambda part: _replace_part(part, old, new))
    return changed
