"""Evaluate on columns what decides, repeats or names: `if`, lists, `forall`, definitions.

Each function works on the rows `at` of the evaluator's chunk (None: all of them).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from nomos.device import Array
from nomos.domain.records import Column, take, to_column
from nomos.engine.answers import write_values
from nomos.engine.choices import real_number
from nomos.engine.meaning.operators import BUILT_INS, item_at, list_indices, size_of
from nomos.engine.vectorized import vector, wide
from nomos.engine.vectorized.chunk import Cell, Fate
from nomos.engine.vectorized.rows import each, part
from nomos.lang import core

if TYPE_CHECKING:
    from nomos.engine.vectorized.chunk import At, Scope
    from nomos.engine.vectorized.evaluate import Evaluator

FOLDS = ("sum", "mean", "min", "max")
_INTEGERS = range(-(2**63), 2**63)  # that a column of choices can hold


def rows_of(at: At, chosen: Array) -> Array:
    """Return some of the rows that are meant, as places among the cases still here."""
    return chosen if at is None else at[chosen]


def conditional(
    evaluator: Evaluator, expr: core.Conditional, at: At, scope: Scope
) -> Any:
    """Evaluate each branch only on the rows that take it."""
    test = evaluator.truth(expr.test, at, scope)
    if test.all() or not test.any():
        branch = expr.yes if test.all() else expr.no
        return evaluator.value(branch, at, scope)
    result: Column | None = None
    for branch, taken in ((expr.yes, test), (expr.no, ~test)):
        rows = np.flatnonzero(taken)
        inner = rows_of(at, rows)
        values = evaluator.column(evaluator.value(branch, inner, scope), inner)
        result = write_values(result, rows, values, len(test))
    return to_column(result) if isinstance(result, list) else result


def list_of(evaluator: Evaluator, name: str, at: At, scope: Scope) -> list[Any] | None:
    """Return a list of each row from the columns of its items; None if it has none."""
    members: list[list[Any]] = []
    count = evaluator.chunk.count(at)
    while (item := core.item_name(name, len(members))) in scope:
        members.append(each(evaluator.variable(scope[item], at), count))
    return [list(row) for row in zip(*members, strict=True)] if members else None


def item_cell(expr: core.Index | core.Label, scope: Scope) -> Cell | None:
    """Return the item that is meant, where it is the same one for all rows."""
    name = expr.input if isinstance(expr, core.Label) else None
    if isinstance(expr, core.Index) and isinstance(expr.items, core.Variable):
        name = expr.items.name
    number: Any = None
    if isinstance(expr.index, core.Constant):
        number = expr.index.value
    elif isinstance(expr.index, core.Variable) and expr.index.name in scope:
        cell = scope[expr.index.name]
        number = wide.EVERY if cell.is_every else cell.value
    if name is None or not isinstance(number, int | str):
        return None
    return scope.get(core.item_name(name, number))


def index(evaluator: Evaluator, expr: core.Index, at: At, scope: Scope) -> Any:
    """Return an item of a list: a column, where all rows mean the same one."""
    cell = item_cell(expr, scope)
    if cell is not None:
        return evaluator.variable(cell, at)
    listed = evaluator.value(expr.items, at, scope)
    number = evaluator.value(expr.index, at, scope)
    return evaluator.or_each(vector.item(listed, number), item_at, [listed, number], at)


def label(evaluator: Evaluator, expr: core.Label, at: At, scope: Scope) -> Any:
    """Return the label of an input, or of the item of a list that each row means."""
    cell = scope[expr.input] if expr.index is None else item_cell(expr, scope)
    if cell is not None:
        return take(evaluator.program.label_column, _places(cell, at))
    assert expr.index is not None
    number = evaluator.value(expr.index, at, scope)
    members: list[Array] = []
    while (item := core.item_name(expr.input, len(members))) in scope:
        members.append(_places(scope[item], at))
    places = np.stack(members, axis=1).tolist()
    label_at = evaluator.program.label_at
    return evaluator.each(lambda p, n: label_at(item_at(p, n)), [places, number], at)


def _places(cell: Cell, at: At) -> Array:
    assert cell.places is not None
    return cell.places if at is None else cell.places[at]


def draw(
    evaluator: Evaluator, expr: core.RandInt | core.RandReal, at: At, scope: Scope
) -> Array:
    """Draw a number for each row; a row whose bounds are none leaves."""
    chunk, is_real = evaluator.chunk, isinstance(expr, core.RandReal)
    bound = _reals if is_real else _integers
    low, high = (
        bound(evaluator, evaluator.value(one, at, scope), at)
        for one in (expr.low, expr.high)
    )
    if is_real:
        endless = ~np.isfinite(low) | ~np.isfinite(high - low)
        chunk.mark(at, endless, Fate.HARD, "")
        low, high = np.where(endless, 0.0, low), np.where(endless, 0.0, high)
    none = low > high
    if none.any():
        why = " ".join(evaluator.spec.source.slice(expr.span).split())
        chunk.mark(at, none, Fate.DISCARDED, why)
        high = np.where(none, low, high)
    drawn = chunk.draw(at, "real" if is_real else "integer", low, high)
    return drawn.view(np.float64) if is_real else drawn


def _integers(evaluator: Evaluator, value: Any, at: At) -> Array:
    """Return the bounds of draws; rows where they are no such thing leave."""
    count = evaluator.chunk.count(at)
    if type(value) is int and value in _INTEGERS:
        return np.broadcast_to(np.int64(value), count)
    if isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype.kind in "bi":
        return value.astype(np.int64, copy=False)
    entries = each(value, count)
    fits = [isinstance(v, int) and v in _INTEGERS for v in entries]
    evaluator.chunk.mark(at, ~np.array(fits, dtype=bool), Fate.HARD, "")
    integers = [v if fit else 0 for v, fit in zip(entries, fits, strict=True)]
    return np.array(integers, dtype=np.int64)


def _reals(evaluator: Evaluator, value: Any, at: At) -> Array:
    """Return the bounds of draws; rows where they are no numbers leave."""
    if type(value) in (int, float):
        return np.full(evaluator.chunk.count(at), real_number(value))
    if isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype.kind in "bif":
        return value.astype(np.float64)
    return np.asarray(evaluator.each(real_number, [value], at), dtype=np.float64)


def apply(evaluator: Evaluator, expr: core.Apply, at: At, scope: Scope) -> Any:
    """Evaluate the arguments once, and the body with their values."""
    count = len(evaluator.chunk.rows)
    inner = dict(scope)
    for name, argument in zip(expr.parameters, expr.arguments, strict=True):
        value = evaluator.value(argument, at, scope)
        if at is not None:
            value = write_values(None, at, evaluator.column(value, at), count)
        # What a call in the body says is not remembered: its place is not its own.
        inner[name] = Cell(value, None)
    return evaluator.value(expr.body, at, inner)


def members(
    evaluator: Evaluator, expr: core.Comprehension, at: At, scope: Scope
) -> Iterator[tuple[Array | None, Any]]:
    """Yield the values of a comprehension, item by item, and the rows that have them.

    Rows are given by their place among those at `at`; None is all of them.
    """
    for name in expr.members:
        yield None, evaluator.value(expr.body, at, scope | {expr.item: scope[name]})
    if expr.members:
        return
    count = evaluator.chunk.count(at)
    listed = evaluator.column(evaluator.value(expr.over, at, scope), at)
    sizes = np.asarray(evaluator.each(size_of, [listed], at))
    for number in range(int(sizes.max(initial=0))):
        open_ = np.flatnonzero(sizes > number)
        rows = at if len(open_) == count else rows_of(at, open_)
        inside = listed if len(open_) == count else part(listed, open_)
        found = vector.item(inside, number)
        item = evaluator.or_each(found, item_at, [inside, number], rows)
        if rows is not None:
            whole = len(evaluator.chunk.rows)
            item = write_values(None, rows, evaluator.column(item, rows), whole)
        inner = scope | {expr.item: Cell(item, None)}
        yield open_, evaluator.value(expr.body, rows, inner)


def comprehension(
    evaluator: Evaluator, expr: core.Comprehension, at: At, scope: Scope
) -> list[list[Any]]:
    """Return the list of each row."""
    made: list[list[Any]] = [[] for _ in range(evaluator.chunk.count(at))]
    for open_, value in members(evaluator, expr, at, scope):
        places = range(len(made)) if open_ is None else open_.tolist()
        for row, one in zip(places, each(value, len(places)), strict=True):
            made[row].append(one)
    return made


def quantifier(
    evaluator: Evaluator, expr: core.Quantifier, at: At, scope: Scope
) -> Any:
    """Evaluate the body for one index after the other, as far as rows need it.

    Of a long list, for all items at once.
    """
    if (found := wide.quantifier(evaluator, expr, at, scope)) is not None:
        return found
    count = evaluator.chunk.count(at)
    decided = np.zeros(count, dtype=bool)
    bodies = _each_index(evaluator, expr, at, scope, decided)
    if expr.word in FOLDS:
        values = [(o, evaluator.value(expr.body, r, inner)) for o, r, inner in bodies]
        return _fold(evaluator, expr.word, values, at)
    counts = np.zeros(count, dtype=np.int64)
    for open_, rows, inner in bodies:
        holds = evaluator.truth(expr.body, rows, inner)
        counts[open_] += holds
        if expr.word != "count":
            decided[open_[holds if expr.word == "exists" else ~holds]] = True
    if expr.word == "count":
        return counts
    return decided if expr.word == "exists" else ~decided


def _each_index(
    evaluator: Evaluator, expr: core.Quantifier, at: At, scope: Scope, decided: Array
) -> Iterator[tuple[Array, At, Scope]]:
    """Yield the rows that are meant with each index, and what names mean there.

    The rows are first given by their place among those at `at`. Once they are decided,
    they are meant no more.
    """
    count, number = len(decided), len(expr.indices)
    whole, sizes = np.arange(count), np.full(count, expr.size)
    if expr.over is not None:
        listed = evaluator.value(expr.over, at, scope)
        sizes = np.asarray(evaluator.each(size_of, [listed], at))
    for chosen in list_indices(int(sizes.max(initial=0)), number, expr.is_ordered):
        indices = (chosen,) if number == 1 else chosen
        is_whole = expr.over is None and not decided.any()
        open_ = whole if is_whole else np.flatnonzero(~decided & (sizes > max(indices)))
        cells = [Cell(index, None) for index in indices]
        inner = scope | dict(zip(expr.indices, cells, strict=True))
        if expr.condition is not None and len(open_):
            rows = at if len(open_) == count else rows_of(at, open_)
            open_ = open_[evaluator.truth(expr.condition, rows, inner)]
        if len(open_):
            yield open_, at if len(open_) == count else rows_of(at, open_), inner
        elif decided.all():
            return


def _fold(
    evaluator: Evaluator, word: str, found: list[tuple[Array, Any]], at: At
) -> Any:
    """Return the sum, the mean, the least or the greatest of what rows have."""
    count = evaluator.chunk.count(at)
    values = [value for _, value in found]
    if not values or any(len(open_) < count for open_, _ in found):
        of_row: list[list[Any]] = [[] for _ in range(count)]
        for open_, value in found:
            for row, one in zip(open_.tolist(), each(value, len(open_)), strict=True):
                of_row[row].append(one)
        return evaluator.each(BUILT_INS[word], [of_row], at)
    if word in ("min", "max"):
        several = len(values) > 1
        return built_in(evaluator, word, values, at) if several else values[0]
    result: Any = 0
    for value in values:
        result = evaluator.calculate("+", result, value, at)
    if word == "mean":
        return evaluator.calculate("/", result, len(values), at)
    return result


def built_in(evaluator: Evaluator, name: str, values: list[Any], at: At) -> Any:
    """Call a function of the language, on whole columns where that gives the same."""
    return evaluator.or_each(vector.built_in(name, values), BUILT_INS[name], values, at)
