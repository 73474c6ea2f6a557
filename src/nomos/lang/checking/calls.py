"""Check and type calls: functions of the language and of the domain, and features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import inf
from typing import Literal

from nomos.diagnostics import Code, Span
from nomos.diagnostics.diagnostic import suggest_nearest
from nomos.lang import core
from nomos.lang.checking.dates import read_date, read_dates, type_with_dates
from nomos.lang.checking.scope import Scope
from nomos.lang.reading import syntax
from nomos.lang.types import (
    BUILT_IN,
    NUMBERS,
    OVERRIDABLE,
    FeatureType,
    Function,
    Type,
)

TRUTH = frozenset({Type.BOOL})
INTEGER = frozenset({Type.INT})
ORDERED = NUMBERS | {Type.STRING, Type.BOOL, Type.DATE}
DATES = frozenset({Type.DATE})
_FOLDS = ("sum", "mean", "min", "max")  # quantifiers of values, not of truths
_MOST_LISTED = 12  # names that a note repeats
# What the arguments of a built-in function may be.
_TAKES = {
    "randInt": (INTEGER | DATES, "integers"),
    "randReal": (NUMBERS | DATES, "numbers"),
    "date": (DATES, 'a date in quotes, such as `"2024-01-31"`,'),
    "days": (NUMBERS, "a number"),
    "strConcat": (frozenset({Type.STRING}), "strings"),
    "len": (
        frozenset({Type.STRING, Type.RECORD, Type.LIST}),
        "a list, string or record",
    ),
    "min": (ORDERED, "numbers or strings"),
    "max": (ORDERED, "numbers or strings"),
    "abs": (NUMBERS, "numbers"),
    "isclose": (NUMBERS | {Type.RECORD}, "numbers, vectors or records"),
    "norm": (frozenset({Type.RECORD}), "a vector"),
    **dict.fromkeys(("sqrt", "exp", "log"), (NUMBERS, "numbers or vectors")),
    **dict.fromkeys(("sum", "mean"), (frozenset(), "a list or a vector")),
    "round": (NUMBERS, "numbers"),
}


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
        if what == "`+`" and expr.type is Type.STRING:
            help = "join strings with `strConcat(a, b)`"
        if what == "this feature" and is_null:
            help = 'let it be missing in the schema: `missing=True`, or a level `""`'
        got = "`null`" if is_null else expr.type.value
        wrong_type(scope, expr.span, what, words, got, help)
    return not wrong


def wrong_type(
    scope: Scope, at: Span, what: str, wanted: str, got: str, help: str | None = None
) -> None:
    """Report a value of a type that its place cannot take."""
    scope.report(Code.WRONG_TYPE, at, what=what, wanted=wanted, got=got, help=help)


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


def is_indexed(scope: Scope, value: core.Expr) -> bool:
    """Tell whether a value may have items: of a record with a schema, these are features."""
    is_plain = scope.offer is not None and scope.offer.features is None
    is_vector = value.type is Type.RECORD and is_plain
    is_null = isinstance(value, core.Constant)
    return is_vector or (value.type in (Type.LIST, Type.UNKNOWN) and not is_null)


def check_body(scope: Scope, word: str, body: core.Expr) -> Type:
    """Return the type of a quantifier, given what stands behind its colon."""
    what = f"`{word}`"
    if word not in _FOLDS:
        check_types(scope, what, TRUTH, "a truth value", body)
        return Type.INT if word == "count" else Type.BOOL
    wanted = ORDERED if word in ("min", "max") else NUMBERS
    check_types(scope, what, wanted, "numbers", body)
    if body.type not in wanted:
        return Type.UNKNOWN
    return Type.REAL if word == "mean" else body.type


def resolve_call(
    scope: Scope, function: syntax.Name, arguments: tuple[core.Expr, ...], span: Span
) -> core.Expr:
    """Check a call against what the language and the domain offer."""
    name, at = function.name, function.span
    known = resolve_function(scope, at, name, len(arguments))
    if known is None:
        said = find_signature(scope, name)
        type_ = Type.UNKNOWN if said is None else said.returns
        return core.Call(name, arguments, span=span, type=type_)
    if name in BUILT_IN and known is not BUILT_IN[name] and name not in OVERRIDABLE:
        scope.report(Code.OVERRIDES_BUILT_IN, at, name=name)
    if name == "getFeat":
        return get_feature(scope, arguments[0], arguments[1], span)
    if name == "setFeat":
        return set_feature(scope, arguments[0], arguments[1], arguments[2], span)
    if known is BUILT_IN.get(name):
        return _built_in(scope, name, arguments, span)
    for given in arguments:
        if known.batched and len(arguments) == 1 and given.type is Type.LIST:
            help, got = (
                f"ask for each of them: `[{name}(x) for x in xs]`",
                given.type.value,
            )
            wrong_type(scope, given.span, f"`{name}`", "a record", got, help)
    return core.Call(name, arguments, known.draws, span=span, type=known.returns)


def resolve_function(
    scope: Scope, at: Span, name: str, count: int | None
) -> Function | None:
    """Return what is known of a function that is called with so many arguments.

    None where it is not there or takes another number, which is reported; a count of
    None is any number.
    """
    known = find_signature(scope, name)
    if known is None:
        if scope.offer is not None:
            names = sorted({*scope.offer.functions, *BUILT_IN})
            help, listed = suggest_nearest(name, names), _list_names(names)
            scope.report(Code.UNKNOWN_FUNCTION, at, name=name, known=listed, help=help)
        return None
    most = inf if known.most is None else known.most
    if count is not None and not known.least <= count <= most:
        wrong_count(scope, at, name, known.takes, count)
        return None
    return known


def wrong_count(scope: Scope, at: Span, name: str, takes: str, count: int) -> None:
    """Report a call with too few or too many arguments."""
    given = f"{count} {'is' if count == 1 else 'are'}"
    scope.report(Code.WRONG_ARGUMENT_COUNT, at, name=name, wanted=takes, given=given)


def _list_names(names: Sequence[str]) -> str:
    more = f", … ({len(names)} in all)" if len(names) > _MOST_LISTED else ""
    return ", ".join(names[:_MOST_LISTED]) + more


def find_signature(scope: Scope, name: str) -> Function | None:
    """Return what is known of a function; the domain's word comes first."""
    if scope.offer is not None and name in scope.offer.functions:
        return scope.offer.functions[name]
    return BUILT_IN.get(name)


def _built_in(
    scope: Scope, name: str, arguments: tuple[core.Expr, ...], span: Span
) -> core.Expr:
    if name == "label":
        return resolve_label(scope, arguments[0], span)
    what, type_ = f"`{name}`", BUILT_IN[name].returns
    if name in ("min", "max", "randInt", "randReal"):
        arguments = read_dates(*arguments)
    first, *others = arguments if name != "date" else (read_date(arguments[0]),)
    wanted, words = _TAKES.get(name, (frozenset(Type), "a value"))
    if name in ("min", "max") and not others:
        wanted, words = frozenset(), "two values or more"
    if name in ("isclose", "norm"):
        tolerances = others[1:] if name == "isclose" else others
        check_types(scope, what, NUMBERS, "numbers", *tolerances)
        others = others[:1] if name == "isclose" else []
    check_types(scope, what, wanted, words, first, *(() if name == "round" else others))
    match name:
        case "randInt" | "randReal":
            check_ends(scope, first, others[0], span)
            kind = core.RandInt if name == "randInt" else core.RandReal
            if first.type is others[0].type is Type.DATE:
                type_ = Type.DATE
            return kind(first, others[0], span=span, type=type_)
        case "len" if isinstance(first, core.Variable) and first.name in scope.sizes:
            return core.Constant(scope.sizes[first.name], span=span, type=type_)
        case "date" | "days":
            return replace(first, span=span)
        case "min" | "max" if others:
            type_ = common_type(arguments)
        case "abs":
            type_ = first.type
        case "sqrt" | "exp" | "log" if first.type in NUMBERS:
            type_ = Type.REAL
        case "round":
            check_types(scope, what, INTEGER, "a number of digits", *others)
            type_ = first.type if others else Type.INT
        case _:
            pass
    return core.Call(name, arguments, span=span, type=type_)


def check_ends(scope: Scope, low: core.Expr, high: core.Expr, span: Span) -> None:
    """Warn of a range between two constants that holds nothing."""
    match low, high:
        case core.Constant(value=int() | float() as a), core.Constant(
            value=int() | float() as b
        ) if a > b:
            shown = "this range" if scope.place else scope.source.slice(span)
            shown = " ".join(shown.split())
            scope.report(Code.EMPTY_RANGE, span, shown=shown, low=a, high=b)
        case _:
            pass


def balance_chain(
    operator: Literal["&&", "||"], parts: Sequence[core.Expr]
) -> core.Expr:
    """Return a chain as a tree that is as flat as can be; what is evaluated is the same."""
    if len(parts) == 1:
        return parts[0]
    half = (len(parts) + 1) // 2
    left, right = (
        balance_chain(operator, parts[:half]),
        balance_chain(operator, parts[half:]),
    )
    span = left.span.to(right.span)
    return core.Logic(operator, left, right, span=span, type=Type.BOOL)


def common_type(values: tuple[core.Expr, ...]) -> Type:
    """Return the type of what may be any of some values."""
    types = {value.type for value in values}
    if len(types) == 1:
        return types.pop()
    return Type.REAL if types <= NUMBERS else Type.UNKNOWN


def resolve_label(scope: Scope, record: core.Expr, span: Span) -> core.Expr:
    """Resolve `label(x)` to the input that drew x."""
    drawn: str | None = None
    index: core.Expr | None = None
    if isinstance(record, core.Index) and isinstance(record.items, core.Variable):
        if record.items.name in scope.sizes and _is_input(scope, record.items.name):
            drawn, index = record.items.name, record.index
    elif record.type is Type.LIST:
        help = "ask for the label of one of them: `label(xs[0])`"
        got = Type.LIST.value
        wrong_type(scope, record.span, "`label`", "an input", got, help)
        return core.Label("", span=span)
    elif isinstance(record, core.Variable):
        if record.name not in scope.symbols:
            return core.Label(record.name, span=span)
        drawn = scope.symbols[record.name].drawn
    if drawn is None:
        shown = scope.source.slice(record.span)
        scope.report(Code.LABEL_OF_MADE_UP_RECORD, record.span, shown=shown)
    elif scope.offer is not None and not scope.offer.has_labels:
        scope.report(Code.NO_LABELS, span)
    return core.Label(drawn or "", index, span=span)


def _is_input(scope: Scope, name: str) -> bool:
    return scope.symbols[name].drawn is not None


def get_feature(
    scope: Scope, record: core.Expr, key: core.Expr, span: Span
) -> core.GetFeature:
    """Type `getFeat(x, key)`, `x.key`."""
    feature = _resolve_feature(scope, record, key, "`getFeat`")
    type_ = Type.UNKNOWN if feature is None else feature.type
    return core.GetFeature(record, key, span=span, type=type_)


def set_feature(
    scope: Scope, record: core.Expr, key: core.Expr, value: core.Expr, span: Span
) -> core.SetFeature:
    """Type `setFeat(x, key, value)`, `x[key := value]`."""
    feature = _resolve_feature(scope, record, key, "`setFeat`")
    accepted = {Type.INT: {Type.INT, Type.BOOL}, Type.REAL: set(NUMBERS)}
    if feature is not None:
        wanted = feature.type
        if wanted is Type.DATE:
            value = read_date(value)
        types = frozenset(accepted.get(wanted, {wanted}))
        is_null = isinstance(value, core.Constant) and value.value is None
        if not (is_null and feature.takes_missing):
            check_types(scope, "this feature", types, wanted.value, value)
        check_level(scope, feature.levels, value)
    type_ = record.type if record.type is Type.RECORD else Type.UNKNOWN
    return core.SetFeature(record, key, value, span=span, type=type_)


def levels_of(scope: Scope, value: core.Expr) -> tuple[str, ...] | None:
    """Return all that a value can be, where it is a feature of known levels."""
    if isinstance(value, core.Variable):
        return scope.levels.get(value.name)
    if not isinstance(value, core.GetFeature) or value.type is not Type.STRING:
        return None
    feature = _resolve_feature(scope, value.record, value.key, "`getFeat`")
    return None if feature is None else feature.levels


def check_level(scope: Scope, levels: tuple[str, ...] | None, value: core.Expr) -> None:
    """Report a string that a feature never is, so that no record can have it."""
    if levels is None or not isinstance(value, core.Constant):
        return
    if isinstance(value.value, str) and value.value not in levels:
        known, help = (
            _list_names([f'"{x}"' for x in levels]),
            suggest_nearest(value.value, levels),
        )
        scope.report(
            Code.UNKNOWN_LEVEL, value.span, name=value.value, known=known, help=help
        )


def _resolve_feature(
    scope: Scope, record: core.Expr, key: core.Expr, what: str
) -> FeatureType | None:
    """Return the feature that a key names; None where it is not known."""
    check_types(scope, what, frozenset({Type.RECORD}), "a record", record)
    named = frozenset({Type.INT, Type.STRING})
    check_types(scope, what, named, "a feature's name or number", key)
    features = None if scope.offer is None else scope.offer.features
    if features is None or record.type is not Type.RECORD:
        return None
    if not isinstance(key, core.Constant) or type(key.value) not in (int, str):
        return None
    names = [feature.name for feature in features]
    name = str(key.value)
    found: dict[object, FeatureType] = {f.name: f for f in features}
    found |= dict(enumerate(features))
    if key.value not in found:
        help = suggest_nearest(name, names)
        if name.lstrip("-").isdigit():
            help = f"features are numbered from 0 to {len(names) - 1}"
        known = _list_names(names)
        scope.report(Code.UNKNOWN_FEATURE, key.span, name=name, known=known, help=help)
    return found.get(key.value)
