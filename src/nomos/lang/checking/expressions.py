"""Check and type expressions: from a syntax tree's expression to the core's."""

import math
from dataclasses import replace
from typing import Any, Literal, assert_never, cast

from nomos.diagnostics import Code, Span
from nomos.diagnostics.diagnostic import suggest_nearest
from nomos.lang import core
from nomos.lang.checking import types
from nomos.lang.checking.calls import (
    balance_chain,
    check_body,
    check_ends,
    resolve_call,
)
from nomos.lang.checking.comparisons import elaborate_comparison, type_family
from nomos.lang.checking.dates import check_arithmetic, read_dates
from nomos.lang.checking.features import get_feature, levels_of, set_feature
from nomos.lang.checking.rates import elaborate_rate, is_rate
from nomos.lang.checking.scope import Definition, Role, Scope
from nomos.lang.nodes import children
from nomos.lang.reading import syntax
from nomos.lang.reading.habits import method_remedy, remedies
from nomos.lang.reading.tree import operands_of, operator_chain
from nomos.lang.types import BUILT_IN, MAX_INT, NUMBERS, Type

_LOGIC = ("&&", "||", "==>")
_ARITHMETIC = ("+", "-", "*", "/", "%", "**")


def elaborate_expr(scope: Scope, expr: syntax.Expr) -> core.Expr:
    """Return the typed expression; mistakes are reported to the scope."""
    span = scope.place_of(expr.span)
    match expr:
        case syntax.Number(value=value):
            type_ = Type.INT if isinstance(value, int) else Type.REAL
            return core.Constant(value, span=span, type=type_)
        case syntax.String(value=text):
            return core.Constant(text, span=span, type=Type.STRING)
        case syntax.Constant(value=truth):
            type_ = Type.UNKNOWN if truth is None else Type.BOOL
            return core.Constant(truth, span=span, type=type_)
        case syntax.Name():
            return _elaborate_name(scope, expr, span)
        case syntax.Feature(subject=subject, feature=feature):
            record = elaborate_expr(scope, subject)
            return get_feature(scope, record, _feature_key(scope, feature), span)
        case syntax.Update(subject=subject, feature=feature, value=value):
            record, given = elaborate_expr(scope, subject), elaborate_expr(scope, value)
            return set_feature(scope, record, _feature_key(scope, feature), given, span)
        case syntax.Call():
            return _elaborate_call(scope, expr)
        case syntax.Named(value=value):
            return elaborate_expr(scope, value)
        case syntax.Given(event=event):
            reason = "`|` stands in `rate(...)` alone"
            scope.report(Code.INVALID_RATE, span, reason=reason)
            return elaborate_expr(scope, event)
        case syntax.Unary(operator=operator, operand=operand):
            inner = elaborate_expr(scope, operand)
            return _elaborate_unary(scope, operator, inner, span)
        case syntax.Binary(operator=operator) if operator in _ARITHMETIC:
            return _elaborate_arithmetic(scope, expr)
        case syntax.Binary(operator=operator) if operator in _LOGIC:
            return _elaborate_logic(scope, expr)
        case syntax.Binary(operator=operator):
            left, right = (elaborate_expr(scope, e) for e in (expr.left, expr.right))
            return elaborate_comparison(scope, operator, left, right, span)
        case syntax.Membership():
            return _elaborate_membership(scope, expr)
        case syntax.Conditional():
            return _elaborate_conditional(scope, expr)
        case syntax.Index():
            return _elaborate_index(scope, expr)
        case syntax.Comprehension():
            return _elaborate_comprehension(scope, expr)
        case syntax.Quantifier():
            return _elaborate_quantifier(scope, expr)
        case _:
            assert_never(expr)


def elaborate_condition(scope: Scope, expr: syntax.Expr, what: str) -> core.Expr:
    """Elaborate the expression of a `requires` or `ensures`."""
    test = elaborate_expr(scope, expr)
    types.check_types(scope, what, types.TRUTH, "a truth value", test)
    return test


def _feature_key(scope: Scope, feature: syntax.Name) -> core.Expr:
    span = scope.place_of(feature.span)
    return core.Constant(feature.name, span=span, type=Type.STRING)


def _elaborate_name(scope: Scope, name: syntax.Name, span: Span) -> core.Expr:
    if name.name in scope.local:
        return replace(scope.local[name.name], span=span)
    if name.name == "MAX_INT":
        return core.Constant(MAX_INT, span=span, type=Type.INT)
    if name.name == "missing" and name.name not in scope.symbols:
        return core.Constant(None, span=span, type=Type.UNKNOWN)
    if name.name == "inf" and name.name not in scope.symbols:
        return core.Constant(math.inf, span=span, type=Type.REAL)
    symbol = scope.look_up_value(name)
    if name.name in scope.params:
        param = scope.params[name.name]
        return core.Constant(param.value, span=span, type=param.type)
    type_ = Type.UNKNOWN if symbol is None else symbol.type
    if symbol is not None and type_ is Type.LIST and symbol.drawn is not None:
        return core.Variable(symbol.drawn, span=span, type=type_)  # whatever its name
    return core.Variable(name.name, span=span, type=type_)


def _elaborate_unary(
    scope: Scope, operator: str, operand: core.Expr, span: Span
) -> core.Expr:
    if operator == "!":
        types.check_types(scope, "`!`", types.TRUTH, "a truth value", operand)
        return core.Not(operand, span=span, type=Type.BOOL)
    fits = types.check_types(scope, "`-`", NUMBERS, "a number", operand)
    if isinstance(operand, core.Constant) and type(operand.value) in (int, float):
        number = cast("int | float", operand.value)
        return core.Constant(-number, span=span, type=operand.type)
    return core.Negate(operand, span=span, type=operand.type if fits else Type.UNKNOWN)


def _elaborate_arithmetic(scope: Scope, expr: syntax.Binary) -> core.Expr:
    """Elaborate a chain of operators from its left end, so that length costs no stack."""
    chain = ("**",) if expr.operator == "**" else _ARITHMETIC[:-1]
    nodes = operator_chain(expr, chain)
    result = elaborate_expr(scope, nodes[-1].left)
    for node in reversed(nodes):
        right = elaborate_expr(scope, node.right)
        result, right = read_dates(result, right)
        sign = cast('Literal["+", "-", "*", "/", "%", "**"]', node.operator)
        type_ = check_arithmetic(scope, sign, result, right)
        span = scope.place_of(node.span)
        result = core.Arithmetic(sign, result, right, span=span, type=type_)
    return result


def _elaborate_logic(scope: Scope, expr: syntax.Binary) -> core.Expr:
    """Elaborate a chain of one operator; `a ==> b ==> c` is `(a && b) ==> c`."""
    parts = [elaborate_expr(scope, part) for part in operands_of(expr)]
    types.check_types(scope, f"`{expr.operator}`", types.TRUTH, "truth values", *parts)
    if expr.operator != "==>":
        return balance_chain(cast('Literal["&&", "||"]', expr.operator), parts)
    premise, span = balance_chain("&&", parts[:-1]), scope.place_of(expr.span)
    return core.Logic("==>", premise, parts[-1], span=span, type=Type.BOOL)


def _elaborate_membership(scope: Scope, expr: syntax.Membership) -> core.Expr:
    """Elaborate `e in {a, b}` and `e in lo..hi` as the comparisons that they are."""
    span, given = scope.place_of(expr.span), elaborate_expr(scope, expr.subject)
    if not isinstance(expr.allowed, syntax.OneOf | syntax.Between):
        items = elaborate_expr(scope, expr.allowed)
        types.check_types(
            scope, "`in`", frozenset({Type.LIST}), "a list or a set", items
        )
        return core.Contains(given, items, span=span, type=Type.BOOL)
    is_simple = isinstance(given, core.Variable | core.Constant)
    name = scope.fresh_name("value")
    subject: core.Expr = given
    bound = scope.bound
    if not is_simple:
        subject = core.Variable(name, span=given.span, type=given.type)
        scope.levels[name] = levels_of(scope, given)
        scope.bound |= {name}
    parts = [elaborate_expr(scope, part) for part in children(expr.allowed)]
    scope.bound = bound
    if isinstance(expr.allowed, syntax.OneOf):
        tests = [
            elaborate_comparison(scope, "==", subject, part, part.span)
            for part in parts
        ]
        test = balance_chain("||", tests)
    else:
        low, high = parts
        check_ends(scope, low, high, scope.place_of(expr.allowed.span))
        least = elaborate_comparison(scope, ">=", subject, low, low.span)
        test = balance_chain(
            "&&", [least, elaborate_comparison(scope, "<=", subject, high, high.span)]
        )
    if is_simple:
        return replace(test, span=span)
    return core.Apply((name,), (given,), test, span=span, type=Type.BOOL)


def _elaborate_conditional(scope: Scope, expr: syntax.Conditional) -> core.Expr:
    test = elaborate_condition(scope, expr.test, "`if`")
    yes, no = elaborate_expr(scope, expr.yes), elaborate_expr(scope, expr.no)
    known = Type.UNKNOWN not in (yes.type, no.type)
    if known and type_family(yes.type) != type_family(no.type):
        what = f"`if` with {yes.type.value} behind `then`"
        wanted = "the same behind `else`"
        types.wrong_type(scope, no.span, what, wanted, no.type.value)
    type_, span = types.common_type((yes, no)), scope.place_of(expr.span)
    return core.Conditional(test, yes, no, span=span, type=type_)


def _elaborate_index(scope: Scope, expr: syntax.Index) -> core.Expr:
    items, span = elaborate_expr(scope, expr.subject), scope.place_of(expr.span)
    if not types.is_indexed(scope, items):
        help = "read a feature with `x.name`, change it with `x[name := value]`"
        wanted, got = "a list", items.type.value
        types.wrong_type(scope, items.span, "`[...]`", wanted, got, help)
        return core.Index(items, core.Constant(0, span=span), span=span)
    if isinstance(expr.index, syntax.Name) and not scope.has_value(expr.index.name):
        name = expr.index.name
        help = f"an index gets its meaning by a quantifier: `forall {name} in xs: e`"
        scope.report_undeclared(expr.index.span, name, scope.value_names(), help)
        return core.Index(items, core.Constant(0, span=span), span=span)
    index = elaborate_expr(scope, expr.index)
    types.check_types(scope, "an index", types.INTEGER, "an integer", index)
    if not isinstance(items, core.Variable) or items.name not in scope.sizes:
        number = index.value if isinstance(index, core.Constant) else 0
        if isinstance(number, int) and number < 0:
            help = "items are counted from 0; the last is `ds[len(ds) - 1]`"
            types.wrong_type(
                scope, index.span, "an index", "0 or more", str(number), help
            )
        return core.Index(items, index, span=span)
    type_ = Type.UNKNOWN if scope.offer is None else scope.offer.input_type
    if isinstance(index, core.Constant) and type(index.value) is int:
        number, size = index.value, scope.sizes[items.name]
        if not 0 <= number < size:
            words = {"index": number, "size": size, "last": size - 1}
            scope.report(Code.INVALID_INDEX, index.span, **words)
        return core.Variable(core.item_name(items.name, number), span=span, type=type_)
    return core.Index(items, index, span=span, type=type_)


def _elaborate_comprehension(scope: Scope, expr: syntax.Comprehension) -> core.Expr:
    over = elaborate_expr(scope, expr.over)
    if not types.is_indexed(scope, over):
        wanted, got = "a list or a vector", over.type.value
        types.wrong_type(scope, over.span, "`for`", wanted, got)
    type_, members = Type.UNKNOWN, tuple[str, ...]()
    if isinstance(over, core.Variable):
        size = scope.sizes.get(over.name, 0)
        members = tuple(core.item_name(over.name, n) for n in range(size))
    if members and members[0] in scope.symbols:
        type_ = scope.symbols[members[0]].type
    scope.check_index(expr.item)
    outer, bound = scope.local, scope.bound
    name, span = scope.fresh_name(expr.item.name), scope.place_of(expr.item.span)
    item = core.Variable(name, span=span, type=type_)
    scope.levels[name] = levels_of(scope, core.Index(over, item, span=span))
    scope.local, scope.bound = {**outer, expr.item.name: item}, bound | {name}
    body = elaborate_expr(scope, expr.value)
    scope.local, scope.bound = outer, bound
    span, is_list = scope.place_of(expr.span), members and body.type is Type.RECORD
    kind = Type.LIST if is_list else Type.UNKNOWN
    return core.Comprehension(name, over, body, members, span=span, type=kind)


def _elaborate_quantifier(scope: Scope, expr: syntax.Quantifier) -> core.Expr:
    over, what = elaborate_expr(scope, expr.over), f"`{expr.word}`"
    size = scope.sizes.get(over.name) if isinstance(over, core.Variable) else None
    if size is None and not types.is_indexed(scope, over):
        help = f"name a list: `input xs[10];`, then `{expr.word} i in xs`"
        wanted, got = "a list or a vector", over.type.value
        types.wrong_type(scope, over.span, what, wanted, got, help)
    outer, bound = scope.local, scope.bound
    names = []
    for index in expr.indices:
        scope.check_index(index)
        name = scope.fresh_name(index.name)
        variable = core.Variable(name, span=scope.place_of(index.span), type=Type.INT)
        scope.local = {**scope.local, index.name: variable}
        scope.bound |= {name}
        names.append(name)
    condition = None
    if expr.condition is not None:
        condition = elaborate_condition(scope, expr.condition, "`if`")
    body = elaborate_expr(scope, expr.body)
    scope.local, scope.bound = outer, bound
    is_implication = isinstance(body, core.Logic) and body.operator == "==>"
    if expr.word == "exists" and is_implication:
        what = "this holds as soon as one index does not have what stands before `==>`"
        help, at = "write `&&`, or `forall`", scope.place_of(expr.span)
        scope.report(Code.MISLEADING_CONDITION, at, what=what, help=help)
    return core.Quantifier(
        cast("Any", expr.word),
        tuple(names),
        over if size is None else None,
        size or 0,
        condition,
        body,
        expr.is_ordered,
        span=scope.place_of(expr.span),
        type=check_body(scope, expr.word, body),
    )


def _elaborate_call(scope: Scope, expr: syntax.Call) -> core.Expr:
    qualifier = expr.qualifier
    if qualifier is not None:
        symbol = scope.symbols.get(qualifier.name)
        if symbol is not None and symbol.kind is not Role.IMPORT:
            words = {"found": f"`{qualifier.name}`", "expected": "a domain's name"}
            remedy = method_remedy(expr.function.name)
            scope.report(Code.SYNTAX_ERROR, qualifier.span, **words, help=remedy)
            subject = core.Variable(qualifier.name, span=qualifier.span)
            return core.Call(expr.function.name, (subject,), span=expr.span)
        if symbol is None:
            imports = scope.names_of_roles(Role.IMPORT)
            help = None if imports else f"import it: `import {qualifier.name};`"
            function_name = expr.function.name
            if function_name in BUILT_IN:
                help = f"write `{function_name}(...)`"
            elif imports:
                usual = (
                    "only the functions of the imported domain have a dot before them"
                )
                known = remedies("functions").get(function_name)
                help = known or suggest_nearest(qualifier.name, imports) or usual
            scope.report_undeclared(qualifier.span, qualifier.name, imports, help)
    span, function = scope.place_of(expr.span), expr.function
    if is_rate(scope, expr):
        return elaborate_rate(scope, expr, elaborate_condition)
    arguments = _elaborate_arguments(scope, expr)
    symbol = None if qualifier else scope.symbols.get(function.name)
    if symbol is not None and symbol.kind is Role.DEFINITION:
        definition = scope.definitions.get(function.name)
        if definition is None or definition.number >= scope.limit:
            return core.Call(function.name, arguments, span=span)  # it is reported
        return _inline_definition(scope, definition, function, arguments, span)
    return resolve_call(scope, function, arguments, span)


_TOLERANCES = {"rel": 1e-9, "abs": 0.0}  # of `isclose`, in their order


def _elaborate_arguments(scope: Scope, expr: syntax.Call) -> tuple[core.Expr, ...]:
    """Return the arguments of a call in their order; `isclose` has some with names."""
    given = [a for a in expr.arguments if not isinstance(a, syntax.Named)]
    arguments = [elaborate_expr(scope, argument) for argument in given]
    named = [a for a in expr.arguments if isinstance(a, syntax.Named)]
    taken = list(_TOLERANCES) if expr.function.name == "isclose" else []
    found: dict[str, core.Expr] = {}
    for argument in named:
        name, span = argument.name.name, scope.place_of(argument.span)
        value = elaborate_expr(scope, argument.value)
        position = taken.index(name) + 2 if name in taken else 0
        if position < len(arguments) or name in found:
            help = "`isclose(a, b, rel := 0.01, abs := 0)` alone has them, each once"
            words = {"found": f"`{name} :=`", "expected": "a plain argument"}
            scope.report(Code.SYNTAX_ERROR, span, **words, help=help)
        found[name] = value
    for name in taken[max(0, len(arguments) - 2) :] if found else ():
        default = core.Constant(_TOLERANCES[name], span=expr.span, type=Type.REAL)
        arguments.append(found.get(name, default))
    return tuple(arguments)


def _inline_definition(
    scope: Scope,
    definition: Definition,
    function: syntax.Name,
    arguments: tuple[core.Expr, ...],
    span: Span,
) -> core.Expr:
    """Return a definition's body; names and constants stand in it for its parameters.

    What else it is given is worked out once, before.
    """
    parameters = definition.node.parameters
    if len(parameters) != len(arguments):
        takes = f"{len(parameters)} argument{'' if len(parameters) == 1 else 's'}"
        types.wrong_count(scope, function.span, function.name, takes, len(arguments))
        return core.Call(function.name, arguments, span=span)
    outer, bound = scope.local, scope.bound
    local: dict[str, core.Expr] = {}
    once: dict[str, core.Expr] = {}
    for parameter, argument in zip(parameters, arguments, strict=True):
        local[parameter.name] = argument
        if not isinstance(argument, core.Variable | core.Constant):
            name = scope.fresh_name(parameter.name)
            local[parameter.name] = core.Variable(name, span=span, type=argument.type)
            scope.bound |= {name}
            scope.levels[name] = levels_of(scope, argument)
            once[name] = argument
    limit, scope.limit, scope.local = scope.limit, definition.number, local
    with scope.reporting_at(span, definition.where):
        body = elaborate_expr(scope, definition.node.body)
    scope.local, scope.bound, scope.limit = outer, bound, limit
    if not once:
        return replace(body, span=span)
    names, values = tuple(once), tuple(once.values())
    return core.Apply(names, values, body, span=span, type=body.type)
