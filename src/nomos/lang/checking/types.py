"""The types that a place can take, and the reports of what it cannot."""

from collections.abc import Sequence

from nomos.diagnostics import Code, Span
from nomos.lang import core
from nomos.lang.checking.scope import Scope
from nomos.lang.types import NUMBERS, Type

TRUTH = frozenset({Type.BOOL})


INTEGER = frozenset({Type.INT})


DATES = frozenset({Type.DATE})


RECORD = frozenset({Type.RECORD})


ORDERED = NUMBERS | {Type.STRING, Type.BOOL, Type.DATE}


_MOST_LISTED = 12  # names that a note repeats


def check_types(
    scope: Scope, what: str, wanted: frozenset[Type], words: str, *given: core.Expr
) -> bool:
    """Report expressions of a type that their place cannot take."""
    wrong = 0
    for expr in given:
        is_null = isinstance(expr, core.Constant) and expr.value is None
        if expr.type in wanted or (expr.type is Type.UNKNOWN and not is_null):
            continue
        wrong += 1
        help = None
        if wanted == TRUTH and expr.type in NUMBERS:
            help = "compare it with another number, as in `x1.member == 1`"
        if what == "this feature" and (words, expr.type) == ("an integer", Type.REAL):
            help = "round it, or declare the feature as `Real`"
        if what == "this feature" and (words, expr.type) == ("a string", Type.BOOL):
            help = 'write its level as a string, as in `"True"`'
        if wanted == DATES or expr.type is Type.DATE:
            help = 'a date is written `"2024-01-31"`, a step `x1.date + days(30)`'
        if words == "a record" and expr.type is Type.LIST:
            each = "x.name" if what == "`getFeat`" else f"{what.strip('`')}(x)"
            help = f"take each of them: `[{each} for x in xs]`"
        if words == "a record" and is_index(scope, expr):
            help = f"it is an index: write `xs[{scope.source.slice(expr.span)}]`"
        if what == "`+`" and expr.type is Type.STRING:
            help = "join strings with `strConcat(a, b)`"
        if what == "this feature" and is_null:
            help = 'let it be missing in the schema: `missing=True`, or a level `""`'
        got = "`null`" if is_null else expr.type.value
        wrong_type(scope, expr.span, what, words, got, help)
    return not wrong


def is_index(scope: Scope, expr: core.Expr) -> bool:
    """Tell whether an expression is the index of a quantifier."""
    is_local = isinstance(expr, core.Variable) and expr.name in scope.bound
    return is_local and expr.type is Type.INT


def wrong_type(
    scope: Scope, at: Span, what: str, wanted: str, got: str, help: str | None = None
) -> None:
    """Report a value of a type that its place cannot take."""
    scope.report(Code.WRONG_TYPE, at, what=what, wanted=wanted, got=got, help=help)


def wrong_count(scope: Scope, at: Span, name: str, takes: str, count: int) -> None:
    """Report a call with too few or too many arguments."""
    given = f"{count} {'is' if count == 1 else 'are'}"
    scope.report(Code.WRONG_ARGUMENT_COUNT, at, name=name, wanted=takes, given=given)


def list_names(names: Sequence[str]) -> str:
    """Return names as one text; of many, the first ones."""
    more = f", … ({len(names)} in all)" if len(names) > _MOST_LISTED else ""
    return ", ".join(names[:_MOST_LISTED]) + more


def common_type(values: tuple[core.Expr, ...]) -> Type:
    """Return the type of what may be any of some values."""
    types = {value.type for value in values}
    if len(types) == 1:
        return types.pop()
    return Type.REAL if types <= NUMBERS else Type.UNKNOWN


def is_indexed(scope: Scope, value: core.Expr) -> bool:
    """Tell whether a value may have items: of a record with a schema, these are features."""
    is_plain = scope.offer is not None and scope.offer.features is None
    is_vector = value.type is Type.RECORD and is_plain
    is_null = isinstance(value, core.Constant)
    return is_vector or (value.type in (Type.LIST, Type.UNKNOWN) and not is_null)
