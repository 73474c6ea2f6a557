"""Pairs of rows that belong together, found by an index instead of by drawing again.

Rows that agree in all features but some are a group; a row's partners are those of its
group that differ from it in one of the others (without others: all but itself). Rows lie
in order of their groups, and in a group in order of what differs, so the partners of a row
are its group without one stretch. A pair is drawn uniformly: its number, among all pairs,
says the first row, and a second draw which of its partners.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nomos.device import Array
from nomos.domain.schema import Schema
from nomos.engine.choices import words_to_ranges


@dataclass(frozen=True, slots=True, eq=False)
class RowChooser:
    """Turns words into rows; `others` are those that the cases have drawn before."""

    index: PairIndex
    others: Array | None = None

    def choose_rows(self, words: Array) -> Array:
        """Return a row for each word."""
        index, zero = self.index, np.zeros(len(words), dtype=np.int64)
        if self.others is None:
            numbers = words_to_ranges(words, zero, zero + (index.total - 1))
            return index.first_rows(numbers)[0]
        most = index.partners[self.others] - 1
        return index.partner_rows(self.others, words_to_ranges(words, zero, most))


class PairIndex:
    """The pairs among rows that agree but for some features."""

    def __init__(self, rows: Array, schema: Schema, excepted: Sequence[str]) -> None:
        others = [schema.place(name)[1] for name in excepted]
        is_other = np.zeros(rows.shape[1], dtype=bool)
        for columns in others:
            is_other[columns] = True
        numbers = np.arange(len(rows))
        group = _number_rows(rows[:, ~is_other])
        own = _number_rows(rows[:, is_other]) if others else numbers
        self._order: Array = np.lexsort((own, group))  # rows, group by group
        group, own = group[self._order], own[self._order]
        is_new = np.ones(len(rows), dtype=bool)
        is_new[1:] = group[1:] != group[:-1]
        starts, sizes = _find_stretches(is_new)
        is_new[1:] |= own[1:] != own[:-1]
        own_starts, own_sizes = _find_stretches(is_new)
        place = np.empty(len(rows), dtype=np.int64)
        place[self._order] = numbers
        self._start, self._own_start = starts[place], own_starts[place]
        self._own_size = own_sizes[place]
        self.partners: Array = sizes[place] - self._own_size  # how many a row has
        self._ends: Array = np.cumsum(self.partners)

    @property
    def total(self) -> int:
        """How many pairs there are, in either order."""
        return int(self._ends[-1]) if len(self._ends) else 0

    def first_rows(self, numbers: Array) -> tuple[Array, Array]:
        """Return the first rows of pairs, and which partner each of them has."""
        rows = np.searchsorted(self._ends, numbers, side="right")
        return rows, numbers - (self._ends[rows] - self.partners[rows])

    def partner_rows(self, rows: Array, which: Array) -> Array:
        """Return one of the partners of each row."""
        place = self._start[rows] + which
        place = place + np.where(
            place >= self._own_start[rows], self._own_size[rows], 0
        )
        return np.asarray(self._order[place])


def _number_rows(rows: Array) -> Array:
    """Return a number for each row, the same for equal ones; NaN is as NaN here."""
    plain = np.ascontiguousarray(rows + 0.0 if rows.dtype.kind == "f" else rows)
    if not plain.shape[1]:
        return np.zeros(len(plain), dtype=np.int64)
    if plain.dtype.kind == "f":
        plain[np.isnan(plain)] = np.nan
    raw = plain.view(np.dtype((np.void, plain.itemsize * plain.shape[1]))).ravel()
    return np.asarray(np.unique(raw, return_inverse=True)[1]).reshape(-1)


def _find_stretches(is_new: Array) -> tuple[Array, Array]:
    """Return where the stretch of each place starts, and how long it is."""
    first = np.flatnonzero(is_new)
    lengths = np.diff(np.append(first, len(is_new)))
    return np.repeat(first, lengths), np.repeat(lengths, lengths)
