"""From the core to Python: the statements of one case, as `ast`.

They are the body of the function that runs one case. Every node keeps its line in the spec, so tracebacks point there.
"""

import ast
import copy
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, TypeVar, assert_never

from nomos.diagnostics.source import Source, Span
from nomos.lang import core
from nomos.lang.checking.names import names_bound_by
from nomos.lang.types import BUILT_IN, NUMBERS, Type

_Node = TypeVar("_Node", bound=ast.stmt | ast.expr)
_NUMERIC = NUMBERS | {Type.BOOL, Type.DATE}
_LONGEST_SUM = 50  # operators that are written as such; a longer chain is a call
_FOLDS = {
    "forall": "all_of",
    "exists": "any_of",
    "count": "count_true",
    "sum": "add_up",
    "mean": "average",
    "min": "least",
    "max": "greatest",
}
_PLAINLY_EQUAL = frozenset({Type.INT, Type.BOOL, Type.STRING})


class Emitter:
    """Turns the parts of a spec into Python statements.

    `known` is what names mean in a case. What is ours is reached through
    the `case` alone, and that is called by a name that nobody else has: neither the
    spec nor a domain can stand in front of the language's own operators. With `notes`,
    the case is told which `ensures` are about it.
    """

    def __init__(
        self, spec: core.Spec, known: Mapping[str, Any], *, notes: bool = False
    ) -> None:
        self.spec, self.notes = spec, notes
        self.source: Source = spec.source
        lets = (*spec.variables, *spec.later_variables)
        own = {*spec.inputs, *spec.outputs, *spec.lists, *(let.name for let in lets)}
        conditions = (*spec.requires, *spec.ensures)
        rated = [e for r in spec.rates for e in (r.event, r.given) if e is not None]
        values = [let.value for let in lets]
        for expr in (*values, *(c.test for c in conditions), *rated):
            own |= core.local_names(core.walk(expr))
        self._shadowed = own | names_bound_by(spec.code.statements)
        self._taken = {*self._shadowed, *names_mentioned(spec), *spec.imports}
        self._taken |= {*known, *BUILT_IN}
        # The domain's own, else it adds up as the language does; Python's is the block's.
        self._own_sum = known.get("sum", sum) is not sum
        self.aliases: dict[str, str] = {}  # functions, and what they are called here
        self.case = self.fresh_name("case")

    def fresh_name(self, name: str) -> str:
        """Return a name for something of ours that nothing else is called by."""
        while name in self._taken:
            name += "_"
        self._taken.add(name)
        return name

    def _function(self, name: str) -> str:
        """Return what to call a function that the spec uses by its name."""
        if name not in self.aliases:
            shadowed = name in self._shadowed
            self.aliases[name] = self.fresh_name(name) if shadowed else name
        return self.aliases[name]

    def body(self) -> list[ast.stmt]:
        """Return the statements that run and judge one case."""
        spec = self.spec
        body = self._inputs()
        for one in spec.guarded_variables:
            is_let = isinstance(one, core.Let)
            body += [self.let(one) if is_let else self._unless(one, "discard")]  # type: ignore[arg-type]  # they fit
        body.append(ast.Expr(self._ours("accept")))
        body += copy.deepcopy(list(spec.code.statements))
        body.append(self._end_of_block())
        body += [self.let(let) for let in spec.later_variables]
        body += [self._unless(e, "violate", n) for n, e in enumerate(spec.ensures)]
        body += [self._tell_rate(number, r) for number, r in enumerate(spec.rates)]
        return [ast.fix_missing_locations(statement) for statement in body]

    def _end_of_block(self) -> ast.stmt:
        """Return the statement that makes plain values of the outputs."""
        names = ", ".join(self.spec.outputs)
        call = f"{self.case}.outputs({names})"
        made: ast.stmt = _statement_of(f"{names} = {call}" if names else call)
        # An output that is missing is missing at the end of the block.
        block = self.spec.code.statements
        return ast.copy_location(made, block[-1]) if block else made

    def _inputs(self) -> list[ast.stmt]:
        """Return the draws of the inputs, in their order."""
        draws, draw = {}, f"{self.case}.input()"
        for name in self.spec.inputs:
            base = name.partition("[")[0]
            size = len(self.spec.lists.get(base, ()))
            several = f"[{draw} for _ in {self.case}.range({size})]"
            draws[base] = draw if base == name else several
        return [_statement_of(f"{name} = {value}") for name, value in draws.items()]

    def let(self, let: core.Let) -> ast.stmt:
        """Return the assignment of a var."""
        return self._at(_assign(let.name, self.expression(let.value)), let.value.span)

    def _emit_ensures(self, number: int, test: core.Expr) -> ast.expr:
        """Emit an `ensures`; the case is told whether it has what stands before `==>`."""
        if not isinstance(test, core.Logic) or test.operator != "==>":
            return self.expression(test)
        left = self._ours("about", ast.Constant(number), self._truth(test.left))
        sides = [ast.UnaryOp(ast.Not(), left), self._truth(test.right)]
        return ast.BoolOp(ast.Or(), sides)

    def _unless(
        self, condition: core.Condition, action: str, number: int | None = None
    ) -> ast.stmt:
        arguments: list[ast.expr] = [ast.Constant(condition.text)]
        if action == "violate":
            arguments.append(self._emit_values(condition.indices))
        otherwise = ast.Expr(self._ours(action, *arguments))
        # A `forall` that fails says where: its indices are names of the case by then.
        loops: list[ast.comprehension] = []
        test = condition.test
        while action == "violate" and isinstance(test, core.Quantifier):
            if test.word != "forall":
                break
            loops.append(self._emit_loop(test))
            test = test.body
        told = self.notes and number is not None and not loops
        emitted = (
            self._emit_ensures(number or 0, test) if told else self.expression(test)
        )
        negated = ast.UnaryOp(ast.Not(), emitted)
        # The first that fails ends all loops: what comes after it draws nothing.
        inner: list[ast.stmt] = [otherwise, ast.Break()] if loops else [otherwise]
        body: list[ast.stmt] = [ast.If(negated, inner, [])]
        for depth, each in enumerate(reversed(loops)):
            is_outermost = depth == len(loops) - 1
            after: list[ast.stmt] = [] if is_outermost else [ast.Continue()]
            for wanted in each.ifs:
                body = [ast.If(wanted, body, [])]
            loop = ast.For(each.target, each.iter, body, after)
            body = [loop] if is_outermost else [loop, ast.Break()]
        return self._at(body[0], condition.test.span)

    def _tell_rate(self, number: int, rate: core.Rate) -> ast.stmt:
        """Return the statement that tells whether a rate is of a case, and if it counts."""
        told = self._truth(rate.event)
        if rate.given is not None:
            told = ast.IfExp(self._truth(rate.given), told, ast.Constant(None))
        tell = self._ours("tell_rate", ast.Constant(number), told)
        return self._at(ast.Expr(tell), rate.event.span)

    def _emit_loop(self, expr: core.Quantifier) -> ast.comprehension:
        """Return the loop over the indices of a quantifier."""
        over: ast.expr = ast.Constant(expr.size)
        if expr.over is not None:
            over = self.expression(expr.over)
        names: list[ast.expr] = [ast.Name(n, ast.Store()) for n in expr.indices]
        count, target = len(names), names[0]
        if count > 1:
            target = ast.Tuple(names, ast.Store())
            more = [ast.Constant(count), ast.Constant(expr.is_ordered)]
            indices = self._ours("indices", over, *more)
        elif expr.over is None:
            indices = self._ours("range", over)
        else:
            indices = self._ours("indices", over)
        wanted = [] if expr.condition is None else [self._truth(expr.condition)]
        return ast.comprehension(target, indices, wanted, 0)

    def _emit_values(self, indices: Sequence[str]) -> ast.expr:
        """Return the values of the case by their names, where a `forall` fails too."""
        spec = self.spec
        before = (*spec.inputs, *(let.name for let in spec.variables))
        names = (*before, *spec.outputs, *(let.name for let in spec.later_variables))
        pairs = [f"{name!r}: {name}" for name in (*names, *indices)]
        values: ast.expr = _statement_of("{" + ", ".join(pairs) + "}").value
        return values

    def _ours(self, method: str, *arguments: ast.expr) -> ast.Call:
        case = ast.Name(self.case, ast.Load())
        function = ast.Attribute(case, method, ast.Load())
        return ast.Call(function, list(arguments), keywords=[])

    def _call(self, function: str, *arguments: ast.expr) -> ast.Call:
        if function == "sum" and not self._own_sum:
            return self._ours("add_up", *arguments)
        name = ast.Name(self._function(function), ast.Load())
        return ast.Call(name, list(arguments), keywords=[])

    def _at(self, node: _Node, span: Span) -> _Node:
        node.lineno, column = self.source.locate(span.start)
        node.col_offset = column - 1
        node.end_lineno, column = self.source.locate(span.end)
        node.end_col_offset = column - 1
        return ast.fix_missing_locations(node)

    def expression(self, expr: core.Expr) -> ast.expr:
        """Translate an expression; total, because the checker has accepted it."""
        return self._at(self._expression(expr), expr.span)

    def _expression(self, expr: core.Expr) -> ast.expr:
        emit = self.expression
        match expr:
            case core.Constant(value=value):
                return _constant(value)
            case core.Variable(name=name):
                return _variable(name)
            case core.GetFeature(record=record, key=key):
                return self._call("getFeat", emit(record), emit(key))
            case core.SetFeature(record=record, key=key, value=value):
                return self._call("setFeat", emit(record), emit(key), emit(value))
            case core.Label(input=name, index=index):
                item = _variable(name)
                if index is not None:
                    item = self._ours("item_at", item, emit(index))
                return self._call("label", item)
            case core.RandInt() | core.RandReal():
                name = "randInt" if isinstance(expr, core.RandInt) else "randReal"
                return self._call(name, emit(expr.low), emit(expr.high))
            case core.Call(function=function, arguments=arguments):
                return self._call(function, *(emit(argument) for argument in arguments))
            case core.Not(operand=operand):
                return ast.UnaryOp(ast.Not(), emit(operand))
            case core.Negate(operand=operand):
                is_number = operand.type in NUMBERS
                negative = ast.UnaryOp(ast.USub(), emit(operand))
                return negative if is_number else self._ours("negate", emit(operand))
            case core.Arithmetic():
                return self._emit_arithmetic(expr)
            case core.Compare():
                return self._emit_comparison(expr)
            case core.Contains(items=items, item=item):
                return self._ours("contains", emit(items), emit(item))
            case core.Logic():
                return self._emit_logic(expr)
            case core.Conditional(test=test, yes=yes, no=no):
                return ast.IfExp(emit(test), emit(yes), emit(no))
            case core.Index(items=items, index=index):
                return self._ours("item_at", emit(items), emit(index))
            case core.Comprehension() | core.Quantifier():
                return self._repeat(expr)
            case core.Apply(parameters=parameters, arguments=arguments, body=body):
                named = ast.Lambda(_parameters(parameters), emit(body))
                return ast.Call(named, [emit(a) for a in arguments], [])
            case _:
                assert_never(expr)

    def _emit_arithmetic(self, expr: core.Arithmetic) -> ast.expr:
        """Emit a chain from its left end, so that its length costs no stack."""
        spine = core.arithmetic_chain(expr)
        first, steps = spine[-1].left, spine[::-1]
        is_power = any(node.operator == "**" for node in steps)
        numbers = {first.type, *(node.right.type for node in steps)} <= _NUMERIC
        if is_power or not numbers or len(steps) > _LONGEST_SUM:
            signs = ast.Constant(" ".join(node.operator for node in steps))
            parts = [first, *(node.right for node in steps)]
            return self._ours("calculate", signs, *map(self.expression, parts))
        result = self.expression(first)
        for node in steps:
            sign = _operator(node.operator)
            result = ast.BinOp(result, sign, self.expression(node.right))
        return result

    def _repeat(self, expr: core.Quantifier | core.Comprehension) -> ast.expr:
        """Emit what is evaluated for one index or item after the other."""
        if isinstance(expr, core.Comprehension):
            over = self.expression(expr.over)
            listed = over if expr.members else self._ours("list_items", over)
            item = ast.Name(expr.item, ast.Store())
            each = ast.comprehension(item, listed, [], 0)
            return ast.ListComp(self.expression(expr.body), [each])
        values = ast.GeneratorExp(self.expression(expr.body), [self._emit_loop(expr)])
        return self._ours(_FOLDS[expr.word], values)

    def _emit_comparison(self, expr: core.Compare) -> ast.expr:
        left, right = self.expression(expr.left), self.expression(expr.right)
        if expr.levels:
            names: list[ast.expr] = [ast.Constant(level) for level in expr.levels]
            told = ast.Constant(expr.operator), ast.Tuple(names, ast.Load())
            return self._ours("compare_names", *told, left, right)
        if expr.operator == "!=":
            return self._ours("differ", left, right)
        if expr.operator == "==" and not compares_plainly(expr):
            return self._ours("equal", left, right)
        return ast.Compare(left, [_operator(expr.operator)], [right])

    def _emit_logic(self, expr: core.Logic) -> ast.expr:
        left, right = self._truth(expr.left), self._truth(expr.right)
        match expr.operator:
            case "&&":
                return _chain(ast.And, left, right)
            case "||":
                return _chain(ast.Or, left, right)
            case "==>":
                return ast.BoolOp(ast.Or(), [ast.UnaryOp(ast.Not(), left), right])

    def _truth(self, expr: core.Expr) -> ast.expr:
        """Emit an operand of logic as a truth value, whatever a function returns."""
        emitted = self.expression(expr)
        is_truth = isinstance(expr, core.Compare | core.Logic | core.Not) or (
            isinstance(expr, core.Quantifier) and expr.word in ("forall", "exists")
        )
        return emitted if is_truth else self._ours("truth", emitted)


def _chain(kind: type[ast.And | ast.Or], *sides: ast.expr) -> ast.BoolOp:
    """Join truth values, those that are chains of the same kind part by part."""
    values: list[ast.expr] = []
    for side in sides:
        same = isinstance(side, ast.BoolOp) and isinstance(side.op, kind)
        values += side.values if same else [side]  # type: ignore[attr-defined]  # it is one
    return ast.BoolOp(kind(), values)


def lists_of(spec: core.Spec) -> list[ast.stmt]:
    """Return the statements that make the lists of inputs from their items."""
    return [
        _assign(name, ast.List([ast.Name(m, ast.Load()) for m in members], ast.Load()))
        for name, members in spec.lists.items()
    ]


def _variable(name: str) -> ast.expr:
    """Return the use of a name, `xs[0]` being an item of `xs`."""
    value: ast.expr = _statement_of(name).value
    return value


@cache
def _operator(sign: str) -> Any:
    """Return an operator, which is written as in Python."""
    value = _statement_of(f"a {sign} b").value
    return value.ops[0] if isinstance(value, ast.Compare) else value.op


def _statement_of(text: str) -> Any:
    """Return a statement from its text, without its places: they are the spec's."""
    (statement,) = ast.parse(text).body
    for node in ast.walk(statement):
        for name in node._attributes:
            delattr(node, name)
    return statement


def compares_plainly(expr: core.Compare) -> bool:
    """Tell whether Python's own `==` compares by value here; else `equal` does."""
    types = {expr.left.type, expr.right.type}
    return expr.operator == "==" and types <= _PLAINLY_EQUAL


def _constant(value: int | float | str | bool | None) -> ast.expr:
    if type(value) in (int, float) and value < 0:  # type: ignore[operator]  # a number
        return ast.UnaryOp(ast.USub(), ast.Constant(-value))  # type: ignore[operator]  # a number
    return ast.Constant(value)


def names_mentioned(spec: core.Spec) -> set[str]:
    """Return every name that the Python block mentions."""
    return {
        node.id
        for statement in spec.code.statements
        for node in ast.walk(statement)
        if isinstance(node, ast.Name)
    }


def _assign(name: str, value: ast.expr) -> ast.Assign:
    return ast.Assign([ast.Name(name, ast.Store())], value)


def _parameters(names: Sequence[str]) -> ast.arguments:
    own = [ast.arg(name) for name in names]
    return ast.arguments([], own, None, [], [], None, [])


def function_of(
    parameters: list[str], body: list[ast.stmt], file: str, names: dict[str, Any]
) -> Callable[..., Any]:
    """Return a function to which `names` are global; its own name is none of them."""
    module = ast.parse("def case(): pass")
    function = module.body[0]
    assert isinstance(function, ast.FunctionDef)
    function.args = _parameters(parameters)
    function.body = body or [ast.Pass()]
    defined: dict[str, Callable[..., Any]] = {}
    code = compile(ast.fix_missing_locations(module), file, "exec")
    exec(code, names, defined)
    return defined["case"]
