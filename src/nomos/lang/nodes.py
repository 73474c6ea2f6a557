"""Nodes at places in the source, and one walk for the tree as written and the core."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields, replace
from functools import cache
from typing import Any

from nomos.diagnostics.source import Span


@dataclass(frozen=True, slots=True)
class PlacedNode:
    """Anything that stands at a place; places take no part in equality."""

    span: Span = field(kw_only=True, compare=False, repr=False)


@cache
def expression_fields(kind: Any) -> tuple[str, ...]:
    """Return the fields of a kind of node that hold expressions, as their types say."""
    return tuple(f.name for f in fields(kind) if "Expr" in str(f.type))


def children(node: PlacedNode) -> tuple[Any, ...]:
    """Return the expressions directly inside a node, in order of evaluation."""
    found: list[Any] = []
    kind: Any = type(node)
    for name in expression_fields(kind):
        value = getattr(node, name)
        found += value if isinstance(value, tuple) else (value,)
    return tuple(part for part in found if part is not None)


def map_children(node: Any, change: Callable[[Any], Any]) -> Any:
    """Return a node with each expression directly inside it changed."""
    kind: Any = type(node)
    parts = {name: getattr(node, name) for name in expression_fields(kind)}
    changed = {
        name: tuple(map(change, part)) if isinstance(part, tuple) else change(part)
        for name, part in parts.items()
        if part is not None
    }
    return replace(node, **changed)


def walk(node: PlacedNode) -> Iterator[Any]:
    """Yield a node and all expressions inside it, however deep they are."""
    todo = [node]
    while todo:
        inner = todo.pop()
        yield inner
        todo.extend(reversed(children(inner)))


def tree_shape(node: PlacedNode) -> tuple[object, ...]:
    """Return what a node says, without its places, as one flat tuple.

    Two trees can be compared by their shapes however deep they are.
    """
    return tuple(_node_shape(inner) for inner in walk(node))


def _node_shape(node: PlacedNode) -> tuple[object, ...]:
    """Return what a node says by itself; the expressions inside it say the rest."""
    kind: Any = type(node)
    own = [
        f.name
        for f in fields(node)
        if f.compare and f.name not in expression_fields(kind)
    ]
    return kind, len(children(node)), *(repr(getattr(node, name)) for name in own)
