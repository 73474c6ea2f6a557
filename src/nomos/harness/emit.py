"""From the core to Python: the statements of one case, as `ast`.

They are the body of the function that runs a case alone, and of the loop of the
standalone harness. Every node keeps its line in the spec, so tracebacks point there.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Collection
from typing import Any, TypeVar, assert_never

from nomos.diagnostics.source import Source, Span
from nomos.lang import core
from nomos.lang.flow import bound_names
from nomos.lang.types import BUILT_IN, Type

_ARITHMETIC: dict[str, type[ast.operator]] = {
    "+": ast.Add,
    "-": ast.Sub,
    "*": ast.Mult,
    "/": ast.Div,
    "%": ast.Mod,
}
_COMPARE: dict[str, type[ast.cmpop]] = {
    "==": ast.Eq,
    "<": ast.Lt,
    "<=": ast.LtE,
    ">": ast.Gt,
    ">=": ast.GtE,
}
_Node = TypeVar("_Node", bound=ast.stmt | ast.expr)
_PLAINLY_EQUAL = frozenset({Type.INT, Type.BOOL, Type.STRING})
TEST_GENERATOR, PRECONDITION = "# test generator", "# precondition"
CODE, ORACLE = "# code", "# oracle"


class Emitter:
    """Turns the parts of a spec into Python statements.

    `known` are the names of the domain's functions. What is ours is reached through
    the `case` alone, and that is called by a name that nobody else has: neither the
    spec nor a domain can stand in front of the language's own operators.
    """

    def __init__(self, spec: core.Spec, known: Collection[str]) -> None:
        self.spec = spec
        self.source: Source = spec.source
        lets = (*spec.variables, *spec.later_variables)
        own = {*spec.inputs, *spec.outputs, *(let.name for let in lets)}
        self._shadowed = own | bound_names(spec.code.statements)
        self._taken = {*self._shadowed, *mentioned(spec), *spec.imports}
        self._taken |= {*known, *BUILT_IN}
        self.aliases: dict[str, str] = {}  # functions, and what they are called here
        self.case = self.unused("case")

    def unused(self, name: str) -> str:
        """Return a name for something of ours that nothing else is called by."""
        while name in self._taken:
            name += "_"
        self._taken.add(name)
        return name

    def _function(self, name: str) -> str:
        """Return what to call a function that the spec uses by its name."""
        if name not in self.aliases:
            shadowed = name in self._shadowed
            self.aliases[name] = self.unused(name) if shadowed else name
        return self.aliases[name]

    def body(self) -> list[ast.stmt]:
        """Return the statements that run and judge one case."""
        spec = self.spec
        body = [_marker(TEST_GENERATOR)]
        body += [_assign(name, self._ours("input")) for name in spec.inputs]
        body += [self.let(let) for let in spec.variables]
        if spec.requires:
            body.append(_marker(PRECONDITION))
        body += [self._unless(item, "discard") for item in spec.requires]
        body.append(ast.Expr(self._ours("accept")))
        body.append(_marker(CODE))
        body += copy.deepcopy(list(spec.code.statements))
        body.append(self._end_of_block())
        body.append(_marker(ORACLE))
        body += [self.let(let) for let in spec.later_variables]
        body += [self._unless(item, "violate") for item in spec.ensures]
        return [ast.fix_missing_locations(statement) for statement in body]

    def _end_of_block(self) -> ast.stmt:
        """Return the statement that makes plain values of the outputs."""
        outputs = self.spec.outputs
        call = self._ours("outputs", *(ast.Name(o, ast.Load()) for o in outputs))
        targets: list[ast.expr] = [ast.Name(o, ast.Store()) for o in outputs]
        made: ast.stmt = ast.Expr(call)
        if targets:
            one = len(targets) == 1
            made = ast.Assign(
                [targets[0] if one else ast.Tuple(targets, ast.Store())], call
            )
        # An output that is missing is missing at the end of the block.
        block = self.spec.code.statements
        return ast.copy_location(made, block[-1]) if block else made

    def let(self, let: core.Let) -> ast.stmt:
        """Return the assignment of a var."""
        return self._at(_assign(let.name, self.expression(let.value)), let.value.span)

    def _unless(self, condition: core.Condition, action: str) -> ast.stmt:
        arguments: list[ast.expr] = [ast.Constant(condition.text)]
        if action == "violate":
            arguments.append(self._values())
        otherwise = ast.Expr(self._ours(action, *arguments))
        test = ast.UnaryOp(ast.Not(), self.expression(condition.test))
        return self._at(ast.If(test, [otherwise], []), condition.test.span)

    def _values(self) -> ast.expr:
        """Return the values of the case by their names."""
        spec = self.spec
        before = (*spec.inputs, *(let.name for let in spec.variables))
        names = (*before, *spec.outputs, *(let.name for let in spec.later_variables))
        values: list[ast.expr] = [ast.Name(name, ast.Load()) for name in names]
        return ast.Dict([ast.Constant(name) for name in names], values)

    def _ours(self, method: str, *arguments: ast.expr) -> ast.Call:
        case = ast.Name(self.case, ast.Load())
        return ast.Call(
            ast.Attribute(case, method, ast.Load()), list(arguments), keywords=[]
        )

    def _call(self, function: str, *arguments: ast.expr) -> ast.Call:
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
                return ast.Name(name, ast.Load())
            case core.GetFeature(record=record, key=key):
                return self._call("getFeat", emit(record), emit(key))
            case core.SetFeature(record=record, key=key, value=value):
                return self._call("setFeat", emit(record), emit(key), emit(value))
            case core.Label(input=name):
                return self._call("label", ast.Name(name, ast.Load()))
            case core.RandInt(low=low, high=high):
                return self._call("randInt", emit(low), emit(high))
            case core.Call(function=function, arguments=arguments):
                return self._call(function, *(emit(argument) for argument in arguments))
            case core.Not(operand=operand):
                return ast.UnaryOp(ast.Not(), emit(operand))
            case core.Negate(operand=operand):
                return ast.UnaryOp(ast.USub(), emit(operand))
            case core.Arithmetic(operator=operator, left=left, right=right):
                return ast.BinOp(emit(left), _ARITHMETIC[operator](), emit(right))
            case core.Compare():
                return self._compare(expr)
            case core.Logic():
                return self._logic(expr)
            case _:
                assert_never(expr)

    def _compare(self, expr: core.Compare) -> ast.expr:
        left, right = self.expression(expr.left), self.expression(expr.right)
        if expr.operator == "!=":
            return self._ours("differ", left, right)
        if expr.operator == "==" and not compares_plainly(expr):
            return self._ours("equal", left, right)
        return ast.Compare(left, [_COMPARE[expr.operator]()], [right])

    def _logic(self, expr: core.Logic) -> ast.expr:
        left, right = self._truth(expr.left), self._truth(expr.right)
        match expr.operator:
            case "&&":
                return ast.BoolOp(ast.And(), [left, right])
            case "||":
                return ast.BoolOp(ast.Or(), [left, right])
            case "==>":
                return ast.BoolOp(ast.Or(), [ast.UnaryOp(ast.Not(), left), right])

    def _truth(self, expr: core.Expr) -> ast.expr:
        """Emit an operand of logic as a truth value, whatever a function returns."""
        emitted = self.expression(expr)
        is_truth = isinstance(expr, core.Compare | core.Logic | core.Not)
        return emitted if is_truth else self._ours("truth", emitted)


def compares_plainly(expr: core.Compare) -> bool:
    """Tell whether Python's own `==` compares by value here; else `equal` does."""
    types = {expr.left.type, expr.right.type}
    return expr.operator == "==" and types <= _PLAINLY_EQUAL


def _constant(value: int | float | str | bool | None) -> ast.expr:
    if type(value) in (int, float) and value < 0:  # type: ignore[operator]  # a number
        return ast.UnaryOp(ast.USub(), ast.Constant(-value))  # type: ignore[operator]  # a number
    return ast.Constant(value)


def mentioned(spec: core.Spec) -> set[str]:
    """Return every name that the Python block mentions."""
    return {
        node.id
        for statement in spec.code.statements
        for node in ast.walk(statement)
        if isinstance(node, ast.Name)
    }


def _assign(name: str, value: ast.expr) -> ast.Assign:
    return ast.Assign([ast.Name(name, ast.Store())], value)


def _marker(comment: str) -> ast.stmt:
    """Return a statement that stands for a comment; see `with_comments`."""
    return ast.Expr(ast.Constant(comment))


def function_of(
    parameters: list[str], body: list[ast.stmt], file: str, names: dict[str, Any]
) -> Callable[..., Any]:
    """Return a function to which `names` are global; its own name is none of them."""
    module = ast.parse("def case(): pass")
    function = module.body[0]
    assert isinstance(function, ast.FunctionDef)
    function.args.args = [ast.arg(parameter) for parameter in parameters]
    function.body = body or [ast.Pass()]
    defined: dict[str, Callable[..., Any]] = {}
    code = compile(ast.fix_missing_locations(module), file, "exec")
    exec(code, names, defined)
    return defined["case"]
