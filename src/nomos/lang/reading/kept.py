"""What an editor keeps of a spec from one key to the next.

A key changes one statement. The others keep their trees, whose places move with the text,
and a condition keeps what it was checked to be as long as nothing else but conditions has
changed: no condition gives another one a meaning.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from nomos.diagnostics import Span
from nomos.lang.nodes import PlacedNode
from nomos.lang.reading import syntax

_MOST_CHECKED = 50_000  # conditions, with those that are no more in the text

# A condition that is right: the identity of its statement, and the names declared there.
Key = tuple[int, int]


@dataclass(slots=True)
class Kept:
    """The statements of the last text that are right, and the conditions checked there.

    A text may stand there twice: each has a tree of its own, with all places in it.
    """

    read: dict[str, list[tuple[syntax.Statement, list[Span]]]] = field(
        default_factory=dict
    )
    around: tuple[Any, ...] = ()  # all that the conditions were checked against
    checked: dict[Key, tuple[syntax.Statement, Any]] = field(default_factory=dict)

    def take_statements(self) -> Kept:
        """Return the statements of the last text, to be kept again one by one."""
        before, self.read = Kept(self.read), {}
        return before

    def find_statement(self, text: str, start: int) -> syntax.Statement | None:
        """Return the tree of a statement, moved to where it stands now."""
        found = self.read.get(text)
        if not found:
            return None
        node, places = found[-1]
        by = start - node.span.start
        for place in places if by else ():
            place.move(by)
        return node

    def keep_statement(self, text: str, node: syntax.Statement, before: Kept) -> None:
        """Keep a statement; one that was there before leaves it."""
        stock = before.read.get(text)
        places = stock.pop()[1] if stock else list(places_in(node))
        self.read.setdefault(text, []).append((node, places))

    def begin_check(
        self, statements: tuple[syntax.Statement, ...], *others: Any
    ) -> dict[Key, tuple[syntax.Statement, Any]]:
        """Return the conditions that were checked against the very same."""
        around = (*map(id, statements), statements, *others)  # to compare trees is slow
        if around != self.around or len(self.checked) > _MOST_CHECKED:
            self.around, self.checked = around, {}
        return self.checked


def places_in(node: PlacedNode) -> Iterator[Span]:
    """Yield each place in a tree once."""
    seen: dict[int, Span] = {}
    todo: list[Any] = [node]
    while todo:
        part = todo.pop()
        if isinstance(part, tuple):
            todo += part
        elif isinstance(part, PlacedNode):
            seen[id(part.span)] = part.span
            kind: Any = type(part)
            todo += [getattr(part, name) for name in kind.__match_args__]
    yield from seen.values()
