"""Read a straight-line block as lets, so that it can be run for many cases at once."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Mapping, Sequence

from nomos.diagnostics.source import Span
from nomos.lang import core
from nomos.lang.types import MAX_INT

_OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.Mod: "%",
}


class _NotStraight(Exception):
    """The block needs to run as Python."""


class Straight:
    """Translates a block whose statements all are `name = calls and arithmetic`."""

    def __init__(
        self,
        known: Collection[str],
        qualifiers: Collection[str],
        call: Callable[[str, tuple[core.Expr, ...], Span], core.Expr | None],
        span: Callable[[ast.expr | ast.stmt], Span],
        sizes: Mapping[str, int],
    ) -> None:
        self.assigned: set[str] = set(known)
        self.qualifiers = qualifiers
        self.call = call
        self.span = span
        self.sizes = dict(sizes)  # of the lists that have a name
        self.made: set[str] = set()  # the lists among the names that the block assigns
        self.local: dict[str, str] = {}  # the item that the name of a loop stands for

    def lets(self, statements: Sequence[ast.stmt]) -> tuple[core.Let, ...] | None:
        """Return the block as lets, None if it is more than that."""
        try:
            return tuple(let for node in statements for let in self._statement(node))
        except _NotStraight:
            return None

    def _statement(self, node: ast.stmt) -> list[core.Let]:
        match node:
            case ast.Assign(
                targets=[ast.Name(id=name)], value=ast.ListComp() as comprehension
            ):
                return self._list(name, comprehension)
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                pairs = [(name, value)]
            case ast.Assign(
                targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)
            ) if len(names) == len(values):
                pairs = [
                    (target.id, value)
                    for target, value in zip(names, values, strict=True)
                    if isinstance(target, ast.Name)
                ]
                if len(pairs) != len(names):
                    raise _NotStraight
            case ast.Pass():
                return []
            case _:
                raise _NotStraight
        # All right sides are evaluated before any name gets its value.
        lets = [core.Let(name, self._expression(value)) for name, value in pairs]
        targets = {name for name, _ in pairs}
        if targets & self.made:
            raise _NotStraight
        mentioned = {
            inner.name
            for let in lets
            for inner in core.walk(let.value)
            if isinstance(inner, core.Variable)
        }
        if len(pairs) > 1 and targets & mentioned:
            raise _NotStraight
        self.assigned |= targets
        return lets

    def _list(self, name: str, node: ast.ListComp) -> list[core.Let]:
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
        lets = []
        for index in range(self.sizes[over]):
            self.local = {item: core.item_name(over, index)}
            value = self._expression(node.elt)
            lets.append(core.Let(core.item_name(name, index), value))
        self.local = {}
        self.assigned.add(name)
        self.made.add(name)
        self.sizes[name] = self.sizes[over]
        return lets

    def _expression(self, node: ast.expr) -> core.Expr:
        span = self.span(node)
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
                operator = _OPERATORS[type(sign)]
                sides = self._expression(left), self._expression(right)
                return core.Arithmetic(operator, *sides, span=span)  # type: ignore[arg-type]  # from the table
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return core.Negate(self._expression(operand), span=span)
            case ast.Call(func=function, args=args, keywords=[]):
                return self._call(function, args, span)
            case _:
                raise _NotStraight

    def _call(self, function: ast.expr, args: list[ast.expr], span: Span) -> core.Expr:
        match function:
            case ast.Name(id=name) if (
                name not in self.assigned and name not in self.local
            ):
                pass
            case ast.Attribute(value=ast.Name(id=module), attr=name) if (
                module in self.qualifiers and module not in self.assigned
            ):
                pass
            case _:
                raise _NotStraight
        call = self.call(name, tuple(self._expression(arg) for arg in args), span)
        if call is None:
            raise _NotStraight
        return call
