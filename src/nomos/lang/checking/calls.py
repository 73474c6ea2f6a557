"""Check and type calls: functions of the language and of the domain, and features."""

import builtins
from collections.abc import Sequence
from dataclasses import replace
from math import inf
from typing import Literal

from nomos.diagnostics import Code, Span
from nomos.diagnostics.diagnostic import suggest_nearest
from nomos.lang import core
from nomos.lang.checking import types
from nomos.lang.checking.dates import read_date, read_dates
from nomos.lang.checking.features import get_feature, levels_of, set_feature
from nomos.lang.checking.scope import Scope
from nomos.lang.reading import syntax
from nomos.lang.reading.habits import remedies
from nomos.lang.types import BUILT_IN, NUMBERS, OVERRIDABLE, Function, Type

_PYTHON_NAMES = frozenset(dir(builtins))
_FOLDS = ("sum", "mean", "min", "max")  # quantifiers of values, not of truths
# What the arguments of a built-in function may be.
_TAKES = {
    "randInt": (types.INTEGER | types.DATES, "integers"),
    "randReal": (NUMBERS | types.DATES, "numbers"),
    "unseen": (frozenset({Type.STRING}), "the name of a level in quotes"),
    "date": (types.DATES, 'a date such as `"2024-01-31"`'),
    "days": (NUMBERS, "a number"),
    "strConcat": (frozenset({Type.STRING}), "strings"),
    "len": (
        frozenset({Type.STRING, Type.RECORD, Type.LIST}),
        "a list, string or record",
    ),
    "min": (types.ORDERED, "numbers or strings"),
    "max": (types.ORDERED, "numbers or strings"),
    "abs": (NUMBERS, "numbers"),
    "isclose": (NUMBERS | {Type.RECORD}, "numbers, vectors or records"),
    "norm": (types.RECORD, "a vector"),
    **dict.fromkeys(("sqrt", "exp", "log"), (NUMBERS, "numbers or vectors")),
    **dict.fromkeys(("sum", "mean"), (frozenset(), "a list or a vector")),
    "round": (NUMBERS, "numbers"),
}
# Those behind the first and so many like it, where they are of another kind.
_LATER = {
    "isclose": (1, NUMBERS, "numbers"),
    "norm": (0, NUMBERS, "1, 2 or `inf`"),
    "round": (0, types.INTEGER, "a number of digits"),
}


def check_body(scope: Scope, word: str, body: core.Expr) -> Type:
    """Return the type of a quantifier, given what stands behind its colon."""
    what = f"`{word}`"
    check_no_names(scope, what, (body,))
    if word not in _FOLDS:
        types.check_types(scope, what, types.TRUTH, "a truth value", body)
        return Type.INT if word == "count" else Type.BOOL
    wanted = types.ORDERED if word in ("min", "max") else NUMBERS
    types.check_types(scope, what, wanted, "numbers", body)
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
    asked = arguments if known.batched and len(arguments) == 1 else ()
    for one in asked:
        if one.type is Type.LIST or (types.is_index(scope, one) and scope.has_features):
            types.check_types(scope, f"`{name}`", types.RECORD, "a record", one)
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
            listed = types.list_names(names)
            help = remedies("functions").get(name.lower())
            if help is None and name not in _PYTHON_NAMES:
                help = suggest_nearest(name, names)
            scope.report(Code.UNKNOWN_FUNCTION, at, name=name, known=listed, help=help)
        return None
    most = inf if known.most is None else known.most
    if count is not None and not known.least <= count <= most:
        types.wrong_count(scope, at, name, known.takes, count)
        return None
    return known


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
    check_no_names(scope, what, arguments)
    alike = others
    if name in _LATER:
        count, kinds, said = _LATER[name]
        alike = others[:count]
        types.check_types(scope, what, kinds, said, *others[count:])
    types.check_types(scope, what, wanted, words, first, *alike)
    match name:
        case "randInt" | "randReal":
            check_ends(scope, first, others[0], span)
            kind = core.RandInt if name == "randInt" else core.RandReal
            if first.type is others[0].type is Type.DATE:
                type_ = Type.DATE
            return kind(first, others[0], span=span, type=type_)
        case "len" if isinstance(first, core.Variable) and first.name in scope.sizes:
            return core.Constant(scope.sizes[first.name], span=span, type=type_)
        case "unseen":
            return _name_level(scope, first, span)
        case "date" | "days" if name == "days" or first.type is Type.DATE:
            return replace(first, span=span)  # else a text of a record without a schema
        case "min" | "max" if others:
            type_ = types.common_type(arguments)
        case "abs":
            type_ = first.type
        case "sqrt" | "exp" | "log" if first.type in NUMBERS:
            type_ = Type.REAL
        case "round":
            type_ = first.type if others else Type.INT
        case _:
            pass
    return core.Call(name, arguments, span=span, type=type_)


def _name_level(scope: Scope, level: core.Expr, span: Span) -> core.Expr:
    if isinstance(level, core.Constant):
        return core.Unseen(level.value, span=span, type=Type.STRING)
    if level.type is Type.STRING:
        words = _TAKES["unseen"][1]
        types.wrong_type(scope, level.span, "`unseen`", words, "one that may vary")
    return level


def check_no_names(scope: Scope, what: str, values: Sequence[core.Expr]) -> None:
    """Report names of levels, which `min` and the like would take by the alphabet."""
    for value in values:
        known = levels_of(scope, value) if what in ("`min`", "`max`") else None
        if known is not None and known.type is Type.STRING and known.levels:
            help = "compare them with each other: `if a <= b then a else b`"
            got = f"`{known.name}`, which is a name"
            types.wrong_type(scope, value.span, what, "numbers", got, help)


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
    left = balance_chain(operator, parts[:half])
    right = balance_chain(operator, parts[half:])
    span = left.span.to(right.span)
    return core.Logic(operator, left, right, span=span, type=Type.BOOL)


def resolve_label(scope: Scope, record: core.Expr, span: Span) -> core.Expr:
    """Resolve `label(x)` to the input that drew x."""
    drawn: str | None = None
    index: core.Expr | None = None
    if isinstance(record, core.Index) and isinstance(record.items, core.Variable):
        name = record.items.name
        if name in scope.sizes and scope.symbols[name].drawn is not None:
            drawn, index = name, record.index
    elif record.type is Type.LIST:
        help = "ask for the label of one of them: `label(xs[0])`"
        got = Type.LIST.value
        types.wrong_type(scope, record.span, "`label`", "an input", got, help)
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
