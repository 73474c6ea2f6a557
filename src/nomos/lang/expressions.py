"""Check and type expressions: from a syntax tree's expression to the core's."""

from __future__ import annotations

from typing import Literal, assert_never, cast

from nomos.diagnostics import Span, mistakes
from nomos.lang import core, syntax
from nomos.lang.scope import Kind, Scope, Symbol
from nomos.lang.types import BUILT_IN, MAX_INT, NUMBERS, Function, Type

_COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")
_LOGIC = ("&&", "||", "==>")
_TRUTH = frozenset({Type.BOOL})


def elaborate(scope: Scope, expr: syntax.Expr) -> core.Expr:
    """Return the typed expression; mistakes are reported to the scope."""
    span = expr.span
    match expr:
        case syntax.Number(value=value):
            type_ = Type.INT if isinstance(value, int) else Type.REAL
            return core.Constant(value, span=span, type=type_)
        case syntax.String(value=text):
            return core.Constant(text, span=span, type=Type.STRING)
        case syntax.Constant(value=truth):
            type_ = Type.UNKNOWN if truth is None else Type.BOOL
            return core.Constant(truth, span=span, type=type_)
        case syntax.Name(name="MAX_INT"):
            return core.Constant(MAX_INT, span=span, type=Type.INT)
        case syntax.Name(name=name):
            symbol = scope.use(expr)
            type_ = Type.UNKNOWN if symbol is None else symbol.type
            return core.Variable(name, span=span, type=type_)
        case syntax.Feature(subject=subject, feature=feature):
            key = syntax.String(feature.name, span=feature.span)
            return get_feature(
                scope, elaborate(scope, subject), elaborate(scope, key), span
            )
        case syntax.Update(subject=subject, feature=feature, value=value):
            key = syntax.String(feature.name, span=feature.span)
            parts = [elaborate(scope, part) for part in (subject, key, value)]
            return set_feature(scope, parts[0], parts[1], parts[2], span)
        case syntax.Call():
            return _call(scope, expr)
        case syntax.Unary(operator=operator, operand=operand):
            return _unary(scope, operator, elaborate(scope, operand), span)
        case syntax.Binary():
            return _binary(scope, expr)
        case _:
            assert_never(expr)


def expect(
    scope: Scope, expr: core.Expr, what: str, wanted: frozenset[Type], words: str
) -> bool:
    """Report an expression of a type that its place cannot take."""
    is_null = isinstance(expr, core.Constant) and expr.value is None
    if expr.type in wanted or (expr.type is Type.UNKNOWN and not is_null):
        return True
    help = None
    if wanted == _TRUTH and expr.type in NUMBERS:
        help = "compare it with another number"
    if what == "`+`" and expr.type is Type.STRING:
        help = "join strings with `strConcat(a, b)`"
    got = "`null`" if is_null else expr.type.value
    scope.report(mistakes.wrong_type(expr.span, what, words, got, help))
    return False


def condition(scope: Scope, expr: syntax.Expr, what: str) -> core.Expr:
    """Elaborate the expression of a `requires` or `ensures`."""
    test = elaborate(scope, expr)
    expect(scope, test, what, _TRUTH, "a truth value")
    return test


def _unary(scope: Scope, operator: str, operand: core.Expr, span: Span) -> core.Expr:
    if operator == "!":
        expect(scope, operand, "`!`", _TRUTH, "a truth value")
        return core.Not(operand, span=span, type=Type.BOOL)
    fits = expect(scope, operand, "`-`", NUMBERS, "a number")
    if isinstance(operand, core.Constant) and type(operand.value) in (int, float):
        number = cast("int | float", operand.value)
        return core.Constant(-number, span=span, type=operand.type)
    return core.Negate(operand, span=span, type=operand.type if fits else Type.UNKNOWN)


def _binary(scope: Scope, expr: syntax.Binary) -> core.Expr:
    left, right = elaborate(scope, expr.left), elaborate(scope, expr.right)
    operator, span = expr.operator, expr.span
    if operator in _LOGIC:
        for side in (left, right):
            expect(scope, side, f"`{operator}`", _TRUTH, "truth values")
        logic = cast('Literal["&&", "||", "==>"]', operator)
        return core.Logic(logic, left, right, span=span, type=Type.BOOL)
    if operator in _COMPARISONS:
        _check_comparison(scope, operator, left, right)
        sign = cast('Literal["==", "!=", "<", "<=", ">", ">="]', operator)
        return core.Compare(sign, left, right, span=span, type=Type.BOOL)
    for side in (left, right):
        expect(scope, side, f"`{operator}`", NUMBERS, "numbers")
    arithmetic = cast('Literal["+", "-", "*", "/", "%"]', operator)
    type_ = _arithmetic_type(operator, left.type, right.type)
    return core.Arithmetic(arithmetic, left, right, span=span, type=type_)


def _arithmetic_type(operator: str, left: Type, right: Type) -> Type:
    if Type.UNKNOWN in (left, right):
        return Type.UNKNOWN
    return Type.REAL if operator == "/" or Type.REAL in (left, right) else Type.INT


def _check_comparison(
    scope: Scope, operator: str, left: core.Expr, right: core.Expr
) -> None:
    if operator not in ("==", "!="):
        ordered = NUMBERS | {Type.STRING, Type.BOOL}
        fine = [
            expect(scope, side, f"`{operator}`", ordered, "numbers or strings")
            for side in (left, right)
        ]
        if not all(fine):
            return
    if Type.UNKNOWN in (left.type, right.type):
        return
    if _family(left.type) != _family(right.type):
        what = f"`{operator}` with {left.type.value} on its left"
        wanted = "the same on its right"
        scope.report(mistakes.wrong_type(right.span, what, wanted, right.type.value))


def _family(type_: Type) -> str:
    numbers = type_ in NUMBERS or type_ is Type.BOOL  # flags are 0 and 1
    return "number" if numbers else type_.name


def _call(scope: Scope, expr: syntax.Call) -> core.Expr:
    qualifier = expr.qualifier
    if qualifier is not None:
        symbol = scope.symbols.get(qualifier.name)
        if symbol is None or symbol.kind is not Kind.IMPORT:
            imports = scope.names(Kind.IMPORT)
            help = None if imports else f"import it: `import {qualifier.name};`"
            scope.report(
                mistakes.undeclared_name(
                    qualifier.span, qualifier.name, imports, help=help
                )
            )
    arguments = tuple(elaborate(scope, argument) for argument in expr.arguments)
    return resolve_call(scope, expr.function, arguments, expr.span)


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
        case "label" if function is BUILT_IN["label"]:
            return label(scope, arguments[0], span)
        case "randInt" if function is BUILT_IN["randInt"]:
            for bound in arguments:
                expect(scope, bound, "`randInt`", frozenset({Type.INT}), "integers")
            return core.RandInt(arguments[0], arguments[1], span=span, type=Type.INT)
        case "strConcat" if function is BUILT_IN["strConcat"]:
            for part in arguments:
                expect(scope, part, "`strConcat`", frozenset({Type.STRING}), "strings")
    return core.Call(
        function.name, arguments, function.draws, span=span, type=function.returns
    )


def label(scope: Scope, record: core.Expr, span: Span) -> core.Expr:
    """Resolve `label(x)` to the input that drew x."""
    if isinstance(record, core.Variable):
        symbol = scope.symbols.get(record.name)
        if symbol is None:
            return core.Label(record.name, span=span)
        if symbol.drawn is not None:
            if scope.offer is not None and not scope.offer.has_labels:
                scope.report(mistakes.no_labels(span))
            return core.Label(symbol.drawn, span=span)
    shown = scope.source.slice(record.span)
    scope.report(mistakes.label_of_made_up_record(record.span, shown))
    return core.Label("", span=span)


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


def symbol_of(scope: Scope, kind: Kind, name: syntax.Name, value: core.Expr) -> Symbol:
    """Return the symbol of a var, which is its value under a name."""
    mentioned = [
        scope.symbols[node.name]
        for node in core.walk(value)
        if isinstance(node, core.Variable) and node.name in scope.symbols
    ]
    drawn = None
    if isinstance(value, core.Variable) and mentioned:
        drawn = mentioned[0].drawn
    from_model = any(symbol.from_model for symbol in mentioned)
    return Symbol(kind, value.type, name.span, drawn, from_model)
