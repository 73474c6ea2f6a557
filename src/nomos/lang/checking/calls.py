"""Check and type calls: functions of the language and of the domain, and features."""

from __future__ import annotations

from typing import cast

from nomos.diagnostics import Span, mistakes
from nomos.lang import core
from nomos.lang.checking.scope import Scope
from nomos.lang.reading import syntax
from nomos.lang.types import BUILT_IN, NUMBERS, OVERRIDABLE, Function, Type

TRUTH = frozenset({Type.BOOL})
_INTEGER = frozenset({Type.INT})
_STRING = frozenset({Type.STRING})
_HAS_LENGTH = frozenset({Type.STRING, Type.RECORD, Type.LIST})


def expect(
    scope: Scope, expr: core.Expr, what: str, wanted: frozenset[Type], words: str
) -> bool:
    """Report an expression of a type that its place cannot take."""
    is_null = isinstance(expr, core.Constant) and expr.value is None
    if expr.type in wanted or (expr.type is Type.UNKNOWN and not is_null):
        return True
    help = None
    if wanted == TRUTH and expr.type in NUMBERS:
        help = "compare it with another number"
    if what == "`+`" and expr.type is Type.STRING:
        help = "join strings with `strConcat(a, b)`"
    got = "`null`" if is_null else expr.type.value
    scope.report(mistakes.wrong_type(expr.span, what, words, got, help))
    return False


def resolve_call(
    scope: Scope, function: syntax.Name, arguments: tuple[core.Expr, ...], span: Span
) -> core.Expr:
    """Check a call against what the language and the domain offer."""
    name = function.name
    known = signature(scope, name)
    if known is None:
        if scope.offer is not None:
            names = sorted({*scope.offer.functions, *BUILT_IN})
            scope.report(mistakes.unknown_function(function.span, name, names))
        return core.Call(name, arguments, span=span)
    if not count_fits(known, len(arguments)):
        takes = known.takes
        scope.report(
            mistakes.wrong_argument_count(function.span, name, takes, len(arguments))
        )
        return core.Call(name, arguments, span=span, type=known.returns)
    if name in BUILT_IN and known is not BUILT_IN[name] and name not in OVERRIDABLE:
        scope.report(mistakes.overrides_built_in(function.span, name))
    return _known_call(scope, known, arguments, span)


def signature(scope: Scope, name: str) -> Function | None:
    """Return what is known of a function; the domain's word comes first."""
    if scope.offer is not None and name in scope.offer.functions:
        return scope.offer.functions[name]
    return BUILT_IN.get(name)


def count_fits(function: Function, count: int) -> bool:
    """Tell whether a call may have this many arguments."""
    return function.least <= count and (function.most is None or count <= function.most)


def _known_call(
    scope: Scope, function: Function, arguments: tuple[core.Expr, ...], span: Span
) -> core.Expr:
    match function.name:
        case "getFeat":
            return get_feature(scope, arguments[0], arguments[1], span)
        case "setFeat":
            return set_feature(scope, arguments[0], arguments[1], arguments[2], span)
        case name if function is BUILT_IN.get(name):
            return _built_in(scope, name, arguments, span)
        case name:
            type_ = function.returns
            return core.Call(name, arguments, function.draws, span=span, type=type_)


def _built_in(
    scope: Scope, name: str, arguments: tuple[core.Expr, ...], span: Span
) -> core.Expr:
    what, type_ = f"`{name}`", BUILT_IN[name].returns
    match name:
        case "label":
            return label(scope, arguments[0], span)
        case "randInt":
            _expect_all(scope, arguments, what, _INTEGER, "integers")
            check_ends(scope, arguments[0], arguments[1], span)
            return core.RandInt(arguments[0], arguments[1], span=span, type=type_)
        case "randReal":
            _expect_all(scope, arguments, what, NUMBERS, "numbers")
            check_ends(scope, arguments[0], arguments[1], span)
            return core.RandReal(arguments[0], arguments[1], span=span, type=type_)
        case "strConcat":
            _expect_all(scope, arguments, what, _STRING, "strings")
        case "len":
            _expect_all(scope, arguments, what, _HAS_LENGTH, "a list, string or record")
            if isinstance(arguments[0], core.Variable):
                size = scope.sizes.get(arguments[0].name)
                if size is not None:
                    return core.Constant(size, span=span, type=type_)
        case "min" | "max" if len(arguments) > 1:
            ordered = NUMBERS | {Type.STRING, Type.BOOL}
            _expect_all(scope, arguments, what, ordered, "numbers or strings")
            type_ = common_type(arguments)
        case "min" | "max":
            _expect_all(scope, arguments, what, frozenset(), "two values or more")
        case "abs" | "isclose":
            _expect_all(scope, arguments, what, NUMBERS, "numbers")
            type_ = arguments[0].type if name == "abs" else type_
        case _:
            assert name == "round"
            _expect_all(scope, arguments[:1], what, NUMBERS, "numbers")
            _expect_all(scope, arguments[1:], what, _INTEGER, "a number of digits")
            type_ = Type.INT if len(arguments) == 1 else arguments[0].type
    return core.Call(name, arguments, span=span, type=type_)


def _expect_all(
    scope: Scope,
    arguments: tuple[core.Expr, ...],
    what: str,
    wanted: frozenset[Type],
    words: str,
) -> None:
    for argument in arguments:
        expect(scope, argument, what, wanted, words)


def check_ends(scope: Scope, low: core.Expr, high: core.Expr, span: Span) -> None:
    """Warn of a range between two constants that holds nothing."""
    match low, high:
        case core.Constant(value=int() | float() as a), core.Constant(
            value=int() | float() as b
        ) if a > b:
            shown = "this range" if scope.place else scope.source.slice(span)
            scope.report(mistakes.empty_range(span, " ".join(shown.split()), a, b))
        case _:
            pass


def common_type(values: tuple[core.Expr, ...]) -> Type:
    """Return the type of what may be any of some values."""
    types = {value.type for value in values}
    if len(types) == 1:
        return types.pop()
    return Type.REAL if types <= NUMBERS else Type.UNKNOWN


def label(scope: Scope, record: core.Expr, span: Span) -> core.Expr:
    """Resolve `label(x)` to the input that drew x."""
    if isinstance(record, core.Index) and isinstance(record.items, core.Variable):
        name = record.items.name
        if name in scope.sizes:
            _check_labels(scope, span)
            return core.Label(name, record.index, span=span)
    if record.type is Type.LIST:
        help = "ask for the label of one of them: `label(xs[0])`"
        got = Type.LIST.value
        scope.report(mistakes.wrong_type(record.span, "`label`", "an input", got, help))
        return core.Label("", span=span)
    if isinstance(record, core.Variable):
        symbol = scope.symbols.get(record.name)
        if symbol is None:
            return core.Label(record.name, span=span)
        if symbol.drawn is not None:
            _check_labels(scope, span)
            return core.Label(symbol.drawn, span=span)
    shown = scope.source.slice(record.span)
    scope.report(mistakes.label_of_made_up_record(record.span, shown))
    return core.Label("", span=span)


def _check_labels(scope: Scope, span: Span) -> None:
    if scope.offer is not None and not scope.offer.has_labels:
        scope.report(mistakes.no_labels(span))


def get_feature(
    scope: Scope, record: core.Expr, key: core.Expr, span: Span
) -> core.GetFeature:
    """Type `getFeat(x, key)`, `x.key`."""
    type_ = _feature_type(scope, record, key, "getFeat")
    return core.GetFeature(record, key, span=span, type=type_)


def set_feature(
    scope: Scope, record: core.Expr, key: core.Expr, value: core.Expr, span: Span
) -> core.SetFeature:
    """Type `setFeat(x, key, value)`, `x[key := value]`."""
    wanted = _feature_type(scope, record, key, "setFeat")
    accepted = {Type.INT: {Type.INT, Type.BOOL}, Type.REAL: set(NUMBERS)}
    if wanted is not Type.UNKNOWN:
        types = frozenset(accepted.get(wanted, {wanted}))
        expect(scope, value, "this feature", types, wanted.value)
    type_ = record.type if record.type is Type.RECORD else Type.UNKNOWN
    return core.SetFeature(record, key, value, span=span, type=type_)


def _feature_type(
    scope: Scope, record: core.Expr, key: core.Expr, function: str
) -> Type:
    expect(scope, record, f"`{function}`", frozenset({Type.RECORD}), "a record")
    wanted = frozenset({Type.INT, Type.STRING})
    expect(scope, key, f"`{function}`", wanted, "a feature's name or number")
    features = None if scope.offer is None else scope.offer.features
    if features is None or record.type is not Type.RECORD:
        return Type.UNKNOWN
    if not isinstance(key, core.Constant):
        return Type.UNKNOWN
    by_key = {feature.name: feature.type for feature in features}
    by_number = {number: feature.type for number, feature in enumerate(features)}
    if isinstance(key.value, str) and key.value not in by_key:
        scope.report(mistakes.unknown_feature(key.span, key.value, list(by_key)))
    if type(key.value) is int and key.value not in by_number:
        scope.report(mistakes.unknown_feature(key.span, str(key.value), list(by_key)))
    if isinstance(key.value, str):
        return by_key.get(key.value, Type.UNKNOWN)
    return by_number.get(cast("int", key.value), Type.UNKNOWN)
