"""From the core to Python: the statements of one case, as `ast`.

They are the body of the function that runs a case alone, and of the loop of the
standalone harness. Every node keeps its line in the spec, so tracebacks point there.
"""

from __future__ import annotations

import ast
import copy
from typing import TypeVar, assert_never

from nomos.diagnostics.source import Source, Span
from nomos.lang import core
from nomos.lang.flow import bound_names
from nomos.lang.types import Type

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
    """Turns the parts of a spec into Python statements."""

    def __init__(self, spec: core.Spec) -> None:
        self.spec = spec
        self.source: Source = spec.source
        lets = (*spec.variables, *spec.later_variables)
        self._taken = {*spec.inputs, *spec.outputs, *(let.name for let in lets)}
        self._taken |= bound_names(spec.code.statements)
        self.aliases: dict[str, str] = {}  # what stands for a name that the spec took

    def own(self, name: str) -> str:
        """Return how emitted code calls something of ours that the spec may shadow."""
        alias = name
        while alias in self._taken:
            alias += "_"
        self.aliases[alias] = name
        return alias

    def case(self) -> list[ast.stmt]:
        """Return the statements that run and judge one case, given as `case`."""
        spec, case = self.spec, self.own("case")
        body = [_marker(TEST_GENERATOR)]
        body += [_assign(name, _call(f"{case}.input")) for name in spec.inputs]
        body += [self.let(let) for let in spec.variables]
        if spec.requires:
            body.append(_marker(PRECONDITION))
        body += [self._unless(item, "discard") for item in spec.requires]
        body.append(ast.Expr(_call(f"{case}.accept")))
        body.append(_marker(CODE))
        body += copy.deepcopy(list(spec.code.statements))
        body.append(_marker(ORACLE))
        body += [self.let(let) for let in spec.later_variables]
        body += [self._unless(item, "violate") for item in spec.ensures]
        return [ast.fix_missing_locations(statement) for statement in body]

    def let(self, let: core.Let) -> ast.stmt:
        """Return the assignment of a var."""
        return self._at(_assign(let.name, self.expression(let.value)), let.value.span)

    def _unless(self, condition: core.Condition, action: str) -> ast.stmt:
        arguments: list[ast.expr] = [ast.Constant(condition.text)]
        if action == "violate":
            arguments.append(self._call("locals"))
        otherwise = ast.Expr(_call(f"{self.own('case')}.{action}", *arguments))
        test = ast.UnaryOp(ast.Not(), self.expression(condition.test))
        return self._at(ast.If(test, [otherwise], []), condition.test.span)

    def _call(self, function: str, *arguments: ast.expr) -> ast.Call:
        return _call(self.own(function), *arguments)

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
            return self._call("differ", left, right)
        if expr.operator == "==" and not compares_plainly(expr):
            return self._call("equal", left, right)
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
        return emitted if is_truth else self._call("bool", emitted)


def compares_plainly(expr: core.Compare) -> bool:
    """Tell whether Python's own `==` compares by value here; else `equal` does."""
    types = {expr.left.type, expr.right.type}
    return expr.operator == "==" and types <= _PLAINLY_EQUAL


def _constant(value: int | float | str | bool | None) -> ast.expr:
    if type(value) in (int, float) and value < 0:  # type: ignore[operator]  # a number
        return ast.UnaryOp(ast.USub(), ast.Constant(-value))  # type: ignore[operator]  # a number
    return ast.Constant(value)


def _name(path: str) -> ast.expr:
    first, *rest = path.split(".")
    node: ast.expr = ast.Name(first, ast.Load())
    for attribute in rest:
        node = ast.Attribute(node, attribute, ast.Load())
    return node


def _call(path: str, *arguments: ast.expr) -> ast.Call:
    return ast.Call(_name(path), list(arguments), [])


def _assign(name: str, value: ast.expr) -> ast.Assign:
    return ast.Assign([ast.Name(name, ast.Store())], value)


def _marker(comment: str) -> ast.stmt:
    """Return a statement that stands for a comment; see `with_comments`."""
    return ast.Expr(ast.Constant(comment))


def function_of(name: str, parameters: list[str], body: list[ast.stmt]) -> ast.Module:
    """Return a module that defines one function."""
    arguments = ast.arguments(
        posonlyargs=[],
        args=[ast.arg(parameter) for parameter in parameters],
        kwonlyargs=[],
        kw_defaults=[],
        defaults=[],
    )
    function = ast.parse(f"def {name}(): pass").body[0]
    assert isinstance(function, ast.FunctionDef)
    function.args = arguments
    function.body = body or [ast.Pass()]
    return ast.fix_missing_locations(ast.Module([function], []))
