"""A model's answers for items of the source, remembered: they are drawn again and again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from nomos.domain.records import Column, items, take, to_column

Array = np.ndarray[Any, Any]


class Memory:
    """The answers of one call site, by the place of the item that they depend on."""

    def __init__(self, size: int) -> None:
        self.known = np.zeros(size, dtype=bool)
        self.failed = np.zeros(size, dtype=bool)
        self._answers: Column | None = None

    def recall(
        self, places: Array, ask: Callable[[Array], tuple[Column, Array]]
    ) -> tuple[Column, Array | None]:
        """Return the answer for each place, asking only for those not known yet.

        `ask` is given rows, one for each unknown place, and returns their answers and
        which of them failed. The second result marks the rows without an answer.
        """
        unknown = ~(self.known | self.failed)[places]
        if unknown.any():
            row_of = np.zeros(len(self.known), dtype=np.int64)
            row_of[places] = np.arange(len(places))
            wanted = np.zeros(len(self.known), dtype=bool)
            wanted[places[unknown]] = True
            missing = np.flatnonzero(wanted)
            answers, failed = ask(row_of[missing])
            self.keep(missing, answers)
            self.failed[missing[failed]] = True
            self.known[missing[failed]] = False
        assert self._answers is not None
        bad = self.failed[places]
        return take(self._answers, places), bad if bad.any() else None

    def at(self, place: int) -> Any:
        """Return a known answer."""
        assert self._answers is not None
        return items(take(self._answers, np.array([place])))[0]

    def keep(self, missing: Array, answers: Column) -> None:
        """Remember the answers for places."""
        self.known[missing] = True
        if self._answers is None:
            self._answers = spread(answers, missing, len(self.known))
        else:
            self._answers = scatter(self._answers, missing, answers)


def scatter(target: Column, rows: Array, values: Column) -> Column:
    """Put values at rows of a column; the result is a list where the kinds differ."""
    if isinstance(target, np.ndarray):
        if (
            isinstance(values, np.ndarray)
            and values.dtype == target.dtype
            and values.shape[1:] == target.shape[1:]
        ):
            target[rows] = values
            return target
        target = items(target)
    for row, value in zip(rows.tolist(), items(values), strict=True):
        target[row] = value
    return target


def spread(values: Column, rows: Array, count: int) -> Column:
    """Return a column of `count` rows that holds values at some of them."""
    if isinstance(values, np.ndarray):
        column = np.zeros((count, *values.shape[1:]), dtype=values.dtype)
        column[rows] = values
        return column
    return scatter([None] * count, rows, values)


def join(
    first: tuple[Column, Array], second: tuple[Column, Array]
) -> tuple[Column, Array]:
    """Put the answers to two halves of a batch together; failed rows may be anything."""
    (a, bad_a), (b, bad_b) = first, second
    bad = np.concatenate([bad_a, bad_b])
    if bad_a.all() != bad_b.all():  # one half has no answers: take the other's kind
        good = b if bad_a.all() else a
        filler = take(good, np.zeros(len(bad_a if bad_a.all() else bad_b), dtype=int))
        a, b = (filler, b) if bad_a.all() else (a, filler)
    if (
        isinstance(a, np.ndarray)
        and isinstance(b, np.ndarray)
        and (a.dtype, a.shape[1:]) == (b.dtype, b.shape[1:])
    ):
        return np.concatenate([a, b]), bad
    return to_column([*items(a), *items(b)]), bad
