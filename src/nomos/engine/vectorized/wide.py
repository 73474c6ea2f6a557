"""Long lists of inputs: what is said of each item is evaluated for all items at once.

Columns hold one item of a list for all cases, so that each step for a list of 1,000 inputs
would be 1,000 steps of numpy. Here all items of all cases are the rows of a chunk of their
own: item i of case r is its row r * size + i. A quantifier over one index, and a line of
the block that asks for each item of a list, are one step there.

What goes wrong for an item makes its case hard: a run in isolation judges it. So nothing
is done here that one case after the other would not do, except for evaluating the body of
a `forall` for more indices than decide: bodies that call functions of the domain are left
to the other way. An answer that is remembered is used once in a case: the second of two
equal items of a case has a memory of its own.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from nomos.device import Array
from nomos.engine.answers import write_values
from nomos.engine.vectorized.chunk import Cell, Chunk, Fate
from nomos.engine.vectorized.rows import Rows, part
from nomos.engine.vectorized.unchanged import ComparedItems
from nomos.lang import core

if TYPE_CHECKING:
    from nomos.engine.vectorized.chunk import At, Scope
    from nomos.engine.vectorized.evaluate import Evaluator

_FEWEST = 16  # items: with fewer, columns are as fast
EVERY = "*"  # stands in the place of an item's number for all of them


class _NotWide(Exception):
    """Something that is evaluated item by item."""


@dataclass(frozen=True, slots=True)
class _Count:
    """The cases of a chunk of items: how many there are."""

    count: int


@dataclass(slots=True)
class Items:
    """The items of all cases of a chunk, as a chunk of their own."""

    outer: Evaluator
    size: int  # of the lists
    evaluator: Evaluator
    cases: Array = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    scope: Scope = field(default_factory=dict)

    def names(self, expr: core.Expr, scope: Scope, index: str = "") -> Scope:
        """Return what the names of an expression mean here, `index` being all indices."""
        wanted: set[str] = set()
        lists: set[int] = set()  # where a list stands of which an item is taken
        for node in core.walk(expr):
            match node:
                case core.Index(items=core.Variable(name=name) as list_, index=place):
                    wanted.add(core.item_name(name, _place_of(place, index)))
                    lists.add(id(list_))
                case core.Label(input=name, index=place) if place is not None:
                    wanted.add(core.item_name(name, _place_of(place, index)))
                case core.Label(input=name):
                    wanted.add(name)
                case core.Variable(name=name) if id(node) not in lists:
                    wanted.add(name)
                case core.Quantifier() | core.Comprehension() | core.Apply():
                    raise _NotWide
                case _:
                    pass
        inner = {name: self._spread(name, scope) for name in wanted - {index}}
        numbers = np.tile(np.arange(self.size), len(self.cases))
        return {**inner, index: Cell(numbers, None, is_every=True)}

    def _spread(self, name: str, scope: Scope) -> Cell:
        """Return the cell of a name, with a row for each item of each case."""
        if name not in self.scope:
            base, _, place = name.partition("[")
            if place == f"{EVERY}]":
                self.scope[name] = self._stack(base, scope)
                return self.scope[name]
            cell = scope.get(name)
            if cell is None or cell.later is not None:
                raise _NotWide
            each = np.repeat(np.arange(len(self.cases)), self.size)
            spread = Cell(part(cell.value, each), cell.roots)
            spread.places = None if cell.places is None else cell.places[each]
            self.scope[name] = spread
        return self.scope[name]

    def _stack(self, name: str, scope: Scope) -> Cell:
        """Return all items of a list in one column."""
        cells = [scope.get(core.item_name(name, n)) for n in range(self.size)]
        if any(cell is None or cell.later is not None for cell in cells):
            raise _NotWide
        if core.item_name(name, self.size) in scope:
            raise _NotWide
        known = [cell for cell in cells if cell is not None]
        values, places = [cell.value for cell in known], [cell.places for cell in known]
        stacked = Cell(_stack_values(values), None)
        if all(place is not None for place in places):
            stacked.places = _stack_arrays(places)
            stacked.roots = frozenset({core.item_name(name, EVERY)})
        return stacked

    def note_failures(self) -> None:
        """Let the cases leave of which an item has left."""
        gone = np.flatnonzero(~self.evaluator.chunk.standing(None))
        if len(gone):
            self.outer.chunk.mark(np.unique(gone // self.size), None, Fate.HARD, "")


def _place_of(place: core.Expr, index: str) -> Any:
    match place:
        case core.Variable(name=name) if name == index:
            return EVERY
        case core.Constant(value=int() as number):
            return number
        case _:
            raise _NotWide


def _stack_arrays(arrays: list[Any]) -> Array:
    first = arrays[0]
    is_one = isinstance(first, np.ndarray) and first.dtype != object
    if not is_one or any(
        not isinstance(a, np.ndarray)
        or (a.shape, a.dtype) != (first.shape, first.dtype)
        for a in arrays
    ):
        raise _NotWide
    return np.stack(arrays, axis=1).reshape(-1, *first.shape[1:])


def _stack_values(values: list[Any]) -> Any:
    """Return the values of all items, those of a case behind each other."""
    first = values[0]
    if not isinstance(first, Rows):
        return _stack_arrays(values)
    for other in values:
        is_rows = isinstance(other, Rows) and other.source is first.source
        if not is_rows or other.changes.keys() != first.changes.keys():
            raise _NotWide
    changes = {
        start: _stack_arrays([rows.changes[start] for rows in values])
        for start in first.changes
    }
    return Rows(first.source, _stack_arrays([v.places for v in values]), changes)


def _items_of(evaluator: Evaluator, size: int) -> Items:
    """Return the items of the cases that are here, as long as the same ones are."""
    kept = evaluator.items.get(size)
    if kept is None or kept.cases is not evaluator.chunk.rows:
        rows = evaluator.chunk.rows
        inner = Chunk(evaluator.program, _Count(len(rows) * size))  # type: ignore[arg-type]  # it draws nothing
        kept = Items(evaluator, size, type(evaluator)(inner, evaluator.answers), rows)
        evaluator.items[size] = kept
    return kept


def quantifier(
    evaluator: Evaluator, expr: core.Quantifier, at: At, scope: Scope
) -> Any | None:
    """Return what a quantifier of one index comes to; None: not in this way."""
    is_list = expr.over is None and expr.size >= _FEWEST and len(expr.indices) == 1
    parts = [expr.body, *([] if expr.condition is None else [expr.condition])]
    if not is_list or any(_calls_or_draws(evaluator, one) for one in parts):
        return None
    items = _items_of(evaluator, expr.size)
    try:
        named = [items.names(part, scope, *expr.indices) for part in parts]
        names = {name: column for one in named for name, column in one.items()}
    except _NotWide:
        return None
    count, size = evaluator.chunk.count(at), expr.size
    rows: At = None
    if at is not None:
        rows = (at[:, None] * size + np.arange(size)).ravel()
    meant = np.ones(count * size, dtype=bool)
    if expr.condition is not None:
        meant = items.evaluator.truth(expr.condition, rows, names)
        chosen = np.flatnonzero(meant)
        rows = chosen if rows is None else rows[chosen]
    is_fold = expr.word not in ("forall", "exists", "count")
    if is_fold and not meant.reshape(count, size).any(axis=1).all():
        return None
    inner = items.evaluator
    found = (inner.value if is_fold else inner.truth)(expr.body, rows, names)
    items.note_failures()
    if is_fold:
        return _fold(evaluator, expr.word, found, meant.reshape(count, size), at)
    holds = np.zeros(count * size, dtype=bool)
    holds[meant] = found
    if expr.word == "count":
        return holds.reshape(count, size).sum(axis=1)
    if expr.word == "exists":
        return holds.reshape(count, size).any(axis=1)
    return (holds | ~meant).reshape(count, size).all(axis=1)


def _fold(
    evaluator: Evaluator, word: str, found: Any, meant: Array, at: At
) -> Any | None:
    """Return the sum, mean, least or greatest of what each case has."""
    is_array = isinstance(found, np.ndarray) and found.ndim == 1
    if not is_array or found.dtype not in (np.int64, np.float64) or not len(found):
        return None
    is_float = found.dtype == np.float64
    if not is_float and int(np.abs(found).max()) > 2**52 // meant.shape[1]:
        return None
    if word in ("min", "max"):
        limits: Any = np.finfo(float) if is_float else np.iinfo(np.int64)
        ends = (np.inf, -np.inf) if is_float else (limits.max, limits.min)
        values = np.full(meant.shape, ends[word == "max"], dtype=found.dtype)
        values[meant] = found
        return (values.min if word == "min" else values.max)(axis=1)
    values = np.zeros(meant.shape, dtype=found.dtype)
    values[meant] = found
    # From the first to the last; `sum` of numpy adds in another order.
    total = np.cumsum(values, axis=1)[:, -1]
    if word == "sum":
        return total
    return evaluator.calculate("/", total, meant.sum(axis=1), at)


def _calls_or_draws(evaluator: Evaluator, expr: core.Expr) -> bool:
    """Tell whether an expression asks a function of the domain, or draws."""
    own = evaluator.program.functions
    for node in core.walk(expr):
        match node:
            case core.RandInt() | core.RandReal():
                return True
            case core.Call(function=name) if name in own:
                return True
            case core.GetFeature() if "getFeat" in own:
                return True
            case core.SetFeature() if "setFeat" in own:
                return True
            case _:
                pass
    return False


def list_of_answers(
    evaluator: Evaluator, over: str, body: core.Expr, scope: Scope
) -> list[Any] | None:
    """Return a column for each item of a list that the block makes; None: not so.

    The body speaks of an item as `xs[*]`.
    """
    size = 0
    while core.item_name(over, size) in scope:
        size += 1
    calls = [node for node in core.walk(body) if isinstance(node, core.Call)]
    batched = [evaluator.program.find_batched(call.function) for call in calls]
    draws = any(call.draws for call in calls)
    is_plain = all(one is not None for one in batched) and not draws
    if (
        size < _FEWEST
        or not is_plain
        or {"getFeat", "setFeat"} & evaluator.program.functions.keys()
    ):
        return None
    items = _items_of(evaluator, size)
    inner = items.evaluator
    try:
        names = items.names(body, scope)
    except _NotWide:
        return None
    result: Any = None
    count, every = len(items.cases) * size, scope[core.item_name(over, 0)]
    passes = _passes(
        items,
        names.get(core.item_name(over, EVERY)),
        remembers=every.places is not None,
    )
    before = inner.chunk.calls.copy()
    inner.chunk.compared = ComparedItems(evaluator.chunk.compare_inputs(), size)
    for number, rows in enumerate(passes):
        inner.occurrence = number
        with inner.counting():
            at = None if len(rows) == count else rows
            values = inner.column(inner.value(body, at, names), at)
        result = values if at is None else write_values(result, rows, values, count)
    calls = (inner.chunk.calls - before).reshape(-1, size).sum(axis=1)
    evaluator.chunk.add_calls(None, calls)
    items.note_failures()
    return [result[number::size] for number in range(size)]


def _passes(items: Items, cell: Cell | None, *, remembers: bool) -> list[Array]:
    """Return rows of items such that no pass has two equal items of one case."""
    count = len(items.cases) * items.size
    if cell is None or cell.places is None or not remembers:
        return [np.arange(count)]
    places = cell.places.reshape(-1, items.size)
    order = np.argsort(places, axis=1, kind="stable")
    ordered = np.take_along_axis(places, order, axis=1)
    steps = np.arange(items.size)
    is_new = np.ones(ordered.shape, dtype=bool)
    is_new[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    first = np.maximum.accumulate(np.where(is_new, steps, 0), axis=1)
    ranks = np.empty_like(places)
    np.put_along_axis(ranks, order, steps - first, axis=1)
    flat = ranks.ravel()
    return [np.flatnonzero(flat == rank) for rank in range(int(flat.max()) + 1)]
