"""How deep expressions are: the operands of a chain, `a && b && c`, are all level."""

from __future__ import annotations

from nomos.lang.nodes import children
from nomos.lang.reading import syntax

# The operators that each one makes a chain with.
_CHAINS: dict[str, tuple[str, ...]] = {
    **{sign: (sign,) for sign in ("&&", "||", "==>")},
    **dict.fromkeys("+-", ("+", "-")),
    **dict.fromkeys("*/%", ("*", "/", "%")),
}


def operands(expr: syntax.Expr) -> tuple[syntax.Expr, ...]:
    """Return the expressions directly inside another, those of a chain all together.

    A chain is `a + b - c`, `a && b && c` or `a ==> b ==> c`.
    """
    if not isinstance(expr, syntax.Binary) or expr.operator not in _CHAINS:
        return children(expr)
    signs = _CHAINS[expr.operator]
    found: list[syntax.Expr] = []
    todo: list[syntax.Expr] = [expr]
    while todo:
        node = todo.pop()
        if not isinstance(node, syntax.Binary) or node.operator not in signs:
            found.append(node)
        elif expr.operator == "==>":
            found.append(node.left)
            todo.append(node.right)
        elif expr.operator in ("&&", "||"):
            todo += [node.right, node.left]
        else:
            found.append(node.right)
            todo.append(node.left)
    return tuple(found if expr.operator in ("&&", "||", "==>") else found[::-1])


def depth_of(expr: syntax.Expr) -> int:
    """Return how deep an expression is nested; the operands of a chain are level."""
    levels = 0
    level: list[syntax.Expr] = [expr]
    while level:
        levels += 1
        level = [part for node in level for part in operands(node)]
    return levels
