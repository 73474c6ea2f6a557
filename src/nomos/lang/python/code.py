"""Check the Python block: its names, its outputs, its calls, static k; read it as lets."""

import ast
import builtins
import re
from collections.abc import Sequence
from typing import cast

from nomos.diagnostics import Code, Severity, Span
from nomos.lang import core
from nomos.lang.checking.calls import find_signature, resolve_call, resolve_function
from nomos.lang.checking.features import levels_of
from nomos.lang.checking.names import find_bindings, names_bound_by, names_from_outside
from nomos.lang.checking.scope import Role, Scope
from nomos.lang.checking.types import RECORD, check_types
from nomos.lang.python.block import PythonCode
from nomos.lang.python.flow import ParamValues, always_assigned, count_invocations
from nomos.lang.reading import syntax
from nomos.lang.types import BUILT_IN, MAX_INT, Type

_PYTHON_NAMES = frozenset(dir(builtins))
_ALWAYS_KNOWN = _PYTHON_NAMES | {*BUILT_IN, "MAX_INT"}
_OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Mod: "%",
}  # fmt: skip


def check_block(
    scope: Scope, block: syntax.Block, outputs: tuple[syntax.Output, ...]
) -> tuple[core.Code, int | None] | None:
    """Return the block and its static k; None where it is no valid Python."""
    python = PythonCode(scope.source, block)
    scope.diagnostics += python.diagnostics
    if python.diagnostics:
        return None
    try:
        return _Block(scope, python).check_code(outputs)
    except RecursionError:
        at = Span(block.span.start, block.span.start + 1)
        scope.report(Code.PYTHON_SYNTAX, at, reason="it is too deeply nested")
        return None


class _Block:
    """The block while it is checked."""

    def __init__(self, scope: Scope, python: PythonCode) -> None:
        self.scope = scope
        self.python = python
        self.nodes = [n for s in python.statements for n in ast.walk(s)]
        self.calls = [node for node in self.nodes if isinstance(node, ast.Call)]
        self.own = names_bound_by(python.statements)
        scope.block_names = self.own
        outside = names_from_outside(python.statements)
        self.outside = {id(node): node for node in outside}
        self.free = frozenset(node.id for node in self.outside.values()) - self.own
        symbols = scope.symbols.items()
        self.imports = {name for name, s in symbols if s.kind is Role.IMPORT}
        self.values = {
            name for name, s in symbols if s.kind in (Role.INPUT, Role.VAR, Role.PARAM)
        } | scope.half_declared

    def check_code(
        self, outputs: tuple[syntax.Output, ...]
    ) -> tuple[core.Code, int | None]:
        statements = self.python.statements
        self._check_assignments(outputs)
        self._check_outside_names()
        called = {self._function_name(call.func) for call in self.calls}
        named = frozenset(name for name in called if name is not None)
        constants = ParamValues(self.scope.params, self.outside)
        for statement in statements:
            constants.visit(statement)
        sizes = {n: size for n, size in self.scope.sizes.items() if n in self.free}
        k = count_invocations(statements, self._model_calls_of, sizes)
        if self._hands_on_a_model():
            k = None
        straight = _Straight(self)
        lets = straight.to_lets(statements)
        self._note_levels(lets, named)
        return core.Code(tuple(statements), lets, named, straight.lists), k

    def _note_levels(
        self, lets: tuple[core.Let, ...] | None, called: frozenset[str]
    ) -> None:
        """Note which names have ordered levels; where that is not seen, which may."""
        for let in lets or ():
            self.scope.levels[let.name] = levels_of(self.scope, let.value)
        orders = {} if self.scope.offer is None else self.scope.offer.orders
        found = {order for name, order in orders.items() if name in called}
        if lets is None and len(found) == 1:
            (self.scope.order,) = found

    def _model_calls_of(self, function: ast.expr) -> int | None:
        """Return how many calls of a model it is to call a function."""
        name = self._function_name(function)
        offer = self.scope.offer
        if name is None or (offer is not None and name not in offer.functions):
            return 0
        if offer is None:  # any function of an unknown domain may be the model
            return int(name not in BUILT_IN and name not in _PYTHON_NAMES)
        return offer.functions[name].k

    def _hands_on_a_model(self) -> bool:
        """Tell whether a model is used other than by calling it, as in `map(predict, xs)`."""
        called = {id(call.func) for call in self.calls}
        return self.scope.offer is not None and any(
            isinstance(node, ast.Name | ast.Attribute)
            and id(node) not in called
            and self._model_calls_of(node) != 0
            for node in self.nodes
        )

    def _check_assignments(self, outputs: tuple[syntax.Output, ...]) -> None:
        always = always_assigned(self.python.statements)
        for output in outputs:
            name = output.name.name
            if always is not None and name not in always:
                does, where = "never assigns", ""
                if name in self.own:
                    does, where = "does not assign", " on every path"
                words = {"name": name, "does": does, "where": where}
                self.scope.report(Code.OUTPUT_NOT_ASSIGNED, output.name.span, **words)
        seen: set[str] = set()
        for name, node in find_bindings(self.python.statements):
            symbol = self.scope.symbols.get(name)
            if symbol is None or symbol.kind is Role.OUTPUT or name in seen:
                continue
            seen.add(name)
            deletes = isinstance(node, ast.Name) and isinstance(node.ctx, ast.Del)
            words = {"name": name, "verb": "deletes" if deletes else "assigns"}
            at, kind = self._name_span(node, name), symbol.kind.value
            self.scope.report(Code.ASSIGNED_TWICE, at, kind=kind, **words)

    def _name_span(self, node: ast.AST, name: str) -> Span:
        """Return where a node says the name that it binds."""
        whole = self.python.span_of(cast("ast.expr", node))  # all these have places
        found = re.search(rf"\b{name}\b", self.scope.source.slice(whole))
        start = whole.start + (found.start() if found else 0)
        return Span(start, start + len(name))

    def _check_outside_names(self) -> None:
        calls: dict[int, ast.Call] = {}  # by the name in front of their bracket
        for call in self.calls:
            function = call.func
            name = function.value if isinstance(function, ast.Attribute) else function
            calls[id(name)] = call
        for key, outside in self.outside.items():
            self._check_name(outside, calls.get(key))

    def _check_name(self, node: ast.Name, call: ast.Call | None) -> None:
        name = node.id
        if name in self.imports:
            if call is not None and isinstance(call.func, ast.Attribute):
                self._check_function_call(call, call.func.attr)
            return
        if name in self.scope.definitions:
            help = "the block is Python: work it out in a `var` behind the block"
            self.scope.report_undeclared(self.python.span_of(node), name, (), help)
            return
        if name in self.values or name in self.scope.symbols:
            return
        has_signature = find_signature(self.scope, name) is not None
        if call is not None and call.func is node:
            if has_signature or name not in _ALWAYS_KNOWN:
                self._check_function_call(call, name)
        elif not (has_signature or name in _ALWAYS_KNOWN):
            known = [*self.scope.value_names(), *self.own]
            self.scope.report_undeclared(self.python.span_of(node), name, known)

    def _check_function_call(self, call: ast.Call, name: str) -> None:
        at = self.python.span_of(call.func)
        if isinstance(call.func, ast.Attribute):
            at = Span(at.end - len(name), at.end)
        starred = any(isinstance(argument, ast.Starred) for argument in call.args)
        plain = not (call.keywords or starred)
        count = len(call.args) if plain else None
        known = find_signature(self.scope, name)
        if known is not None and known.batched and len(call.args) == 1:
            given = self._as_core_expr(call.args[0])
            if given.type is Type.LIST:  # of which a model takes one
                check_types(self.scope, f"`{name}`", RECORD, "a record", given)
        function = resolve_function(self.scope, at, name, count)
        of_records = [BUILT_IN[n] for n in ("label", "getFeat", "setFeat")]
        if plain and any(function is one for one in of_records):
            parts = tuple(map(self._as_core_expr, call.args))
            whole = self.python.span_of(call)
            resolve_call(self.scope, syntax.Name(name, span=at), parts, whole)

    def _as_core_expr(self, node: ast.expr) -> core.Expr:
        """Return a name or a text of the block with its type, which others have not."""
        span = self.python.span_of(node)
        match node:
            case ast.Name(id=name) if name in self.scope.symbols:
                type_ = self.scope.symbols[name].type
                return core.Variable(name, span=span, type=type_)
            case ast.Constant(value=str() as text):
                return core.Constant(text, span=span, type=Type.STRING)
            case _:
                return core.Variable("", span=span)

    def _function_name(self, function: ast.expr) -> str | None:
        """Return the name of the function of the language that an expression names."""
        match function:
            case ast.Name(id=name) if id(function) in self.outside:
                return name
            case ast.Attribute(value=ast.Name(id=module) as place, attr=name) if (
                module in self.imports and id(place) in self.outside
            ):
                return name
            case _:
                return None


class _NotStraight(Exception):
    """The block needs to run as Python."""


class _Straight:
    """Reads a block whose statements all are `name = calls and arithmetic` as lets.

    So it can be run for many cases at once.
    """

    def __init__(self, block: _Block) -> None:
        self.block = block
        self.assigned: set[str] = set(block.values)
        self.sizes = dict(block.scope.sizes)  # of the lists that have a name
        self.made: set[str] = set()  # the lists among the names that the block assigns
        self.lists: dict[str, tuple[str, core.Expr]] = {}  # as in the core's code
        self.local: dict[str, str] = {}  # the item that the name of a loop stands for

    def to_lets(self, statements: Sequence[ast.stmt]) -> tuple[core.Let, ...] | None:
        """Return the block as lets, None if it is more than that."""
        try:
            lets = map(self._translate_statement, statements)
            return tuple(let for some in lets for let in some)
        except _NotStraight:
            return None

    def _translate_statement(self, node: ast.stmt) -> list[core.Let]:
        match node:
            case ast.Assign(
                targets=[ast.Name(id=name)], value=ast.ListComp() as comprehension
            ):
                return self._translate_list(name, comprehension)
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                pairs = [(name, value)]
            case ast.Assign(
                targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)
            ) if len(names) == len(values):
                pairs = [
                    (target.id if isinstance(target, ast.Name) else "", value)
                    for target, value in zip(names, values, strict=True)
                ]
            case ast.Pass():
                return []
            case _:
                raise _NotStraight
        # All right sides are evaluated before any name gets its value.
        lets = [core.Let(n, self._translate_expression(value)) for n, value in pairs]
        targets = {name for name, _ in pairs}
        nodes = (node for let in lets for node in core.walk(let.value))
        mentioned = {node.name for node in nodes if isinstance(node, core.Variable)}
        overlaps = len(pairs) > 1 and targets & mentioned
        if overlaps or targets & {*self.made, ""}:
            raise _NotStraight
        self.assigned |= targets
        return lets

    def _translate_list(self, name: str, node: ast.ListComp) -> list[core.Let]:
        """Read `ds = [predict(x) for x in xs]`: one let for each item of the list."""
        match node.generators:
            case [
                ast.comprehension(
                    target=ast.Name(id=item), iter=ast.Name(id=over), ifs=[], is_async=0
                )
            ] if over in self.sizes and name not in self.assigned:
                pass
            case _:
                raise _NotStraight
        values = []
        for index in ("*", *range(self.sizes[over])):
            self.local = {item: core.item_name(over, index)}
            values.append(self._translate_expression(node.elt))
        self.lists[name] = over, values[0]
        self.local = {}
        self.assigned.add(name)
        self.made.add(name)
        self.sizes[name] = self.sizes[over]
        return [core.Let(core.item_name(name, n), v) for n, v in enumerate(values[1:])]

    def _translate_expression(self, node: ast.expr) -> core.Expr:
        span = self.block.python.span_of(node)
        match node:
            case ast.Name(id=name) if name in self.local:
                return core.Variable(self.local[name], span=span)
            case ast.Subscript(
                value=ast.Name(id=name), slice=ast.Constant(value=int(index))
            ) if 0 <= index < self.sizes.get(name, 0) and name not in self.local:
                return core.Variable(core.item_name(name, index), span=span)
            case ast.Constant(value=bool() | int() | float() | str() | None as value):
                return core.Constant(value, span=span)
            case ast.Name(id="MAX_INT") if "MAX_INT" not in self.assigned:
                return core.Constant(MAX_INT, span=span)
            case ast.Name(id=name) if name in self.assigned:
                return core.Variable(name, span=span)
            case ast.BinOp(left=left, op=sign, right=right) if type(sign) in _OPERATORS:
                sides = map(self._translate_expression, (left, right))
                return core.Arithmetic(_OPERATORS[type(sign)], *sides, span=span)  # type: ignore[arg-type]  # from the table
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return core.Negate(self._translate_expression(operand), span=span)
            case ast.Call(func=function, args=args, keywords=[]):
                return self._translate_call(function, args, span)
            case _:
                raise _NotStraight

    def _translate_call(
        self, function: ast.expr, args: list[ast.expr], span: Span
    ) -> core.Expr:
        match function:
            case ast.Name(id=name) if (
                name not in self.assigned and name not in self.local
            ):
                pass
            case ast.Attribute(value=ast.Name(id=module), attr=name) if (
                module in self.block.imports and module not in self.assigned
            ):
                pass
            case _:
                raise _NotStraight
        scope = self.block.scope
        if find_signature(scope, name) in (None, BUILT_IN["sum"]):
            raise _NotStraight  # in the block, `sum` is Python's own
        # What is wrong here is reported by `_check_outside_names`; this must stay silent.
        silent = Scope(scope.source, scope.offer, scope.half_declared)
        silent.symbols, silent.sizes = scope.symbols, scope.sizes
        given = tuple(self._translate_expression(arg) for arg in args)
        call = resolve_call(silent, syntax.Name(name, span=span), given, span)
        if any(d.severity is Severity.ERROR for d in silent.diagnostics):
            raise _NotStraight
        return call
