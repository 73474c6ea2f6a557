"""What an editor keeps of a spec from one key to the next.

A key changes one statement. The others keep their trees, whose places move with the text,
and what they were checked to mean: as long as nothing has changed of the names that they
mention. What one can learn of a name is its *facts*; those of a definition hold those of
all names in it, so a var is checked again when the type of another one changes, and not
when its value does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from nomos.diagnostics import Span
from nomos.lang.nodes import PlacedNode
from nomos.lang.reading import syntax

_MOST_KEPT = 30_000  # meanings, and statements, with those of statements that are no more in the text


@dataclass(slots=True)
class Kept:
    """The statements of the last text that are right, and what they mean.

    A text may stand there twice: each has a tree of its own, with all places in it.
    `meanings` have, by the identity of a statement: it, its names, their facts, its meaning.
    """

    read: dict[str, list[tuple[syntax.Statement, list[Span]]]] = field(
        default_factory=dict
    )
    spare: dict[str, list[tuple[syntax.Statement, list[Span]]]] = field(
        default_factory=dict
    )  # those of earlier texts, which may come back
    around: tuple[Any, ...] = ()  # what every statement was checked against
    meanings: dict[int, tuple[syntax.Statement, frozenset[str], Any, Any]] = field(
        default_factory=dict
    )

    def take_statements(self) -> Kept:
        """Return the statements of the last text, to be kept again one by one."""
        spare = self.spare if len(self.spare) < _MOST_KEPT else {}
        before, self.read = Kept({**spare, **self.read}), {}
        self.spare = before.read
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
        if stock:
            places = stock.pop()[1]
            if not stock:
                del before.read[text]
        else:
            places = list(places_in(node))
        self.read.setdefault(text, []).append((node, places))

    def begin_check(self, *around: Any) -> None:
        """Forget what was checked against something else."""
        if around != self.around or len(self.meanings) > _MOST_KEPT:
            self.around, self.meanings = around, {}

    def find_meaning(
        self,
        statement: syntax.Statement,
        facts_of: Callable[[frozenset[str]], Any],
        check: Callable[[], tuple[Any, bool]],
    ) -> Any:
        """Return what a statement means; `check` finds it out, and if it may be kept."""
        known = self.meanings.get(id(statement))
        names = frozenset(names_in(statement)) if known is None else known[1]
        facts = facts_of(names)
        if known is not None and known[2] == facts:
            return known[3]
        meaning, is_right = check()
        if is_right:
            self.meanings[id(statement)] = statement, names, facts, meaning
        return meaning


def names_in(node: PlacedNode) -> Iterator[str]:
    """Yield each name in a tree, those of features too."""
    return (part.name for part in _parts_of(node) if isinstance(part, syntax.Name))


def places_in(node: PlacedNode) -> Iterator[Span]:
    """Yield each place in a tree once."""
    yield from {id(part.span): part.span for part in _parts_of(node)}.values()


def _parts_of(node: PlacedNode) -> Iterator[PlacedNode]:
    """Yield a node and all that is in it."""
    todo: list[Any] = [node]
    while todo:
        part = todo.pop()
        if isinstance(part, tuple):
            todo += part
        elif isinstance(part, PlacedNode):
            yield part
            kind: Any = type(part)
            todo += [getattr(part, name) for name in kind.__match_args__]
