"""A model's answers for items of the source, remembered: they are drawn again and again."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

from nomos.domain.records import Column, items, take
from nomos.domain.values import is_value

Array = np.ndarray[Any, Any]
_MOST_BYTES = 2**25  # for the answers of one call; images for every item would be more
_UNKNOWN, _KNOWN, _FAILED = 0, 1, 2
UNKNOWN = object()  # no answer of a model


class Memory:
    """The answers of one call, by the place of the item that they depend on."""

    def __init__(self, size: int) -> None:
        self._state = np.zeros(size, dtype=np.int8)
        self._asked_for = np.zeros(size, dtype=np.int64)  # by which row, last time
        self._answers: Column | None = None
        self.is_off = False  # the answers are too large, or could be changed

    def recall(
        self, places: Array, ask: Callable[[Array | None], tuple[Column, Array]]
    ) -> tuple[Column, Array]:
        """Return the answer for each place, asking only for those not known yet.

        `ask` is given rows (None: all), and returns their answers and which of them
        failed. The second result marks the rows without an answer.
        """
        if self.is_off:
            return ask(None)
        unknown = np.flatnonzero(self._state[places] == _UNKNOWN)
        if len(unknown):
            wanted = places[unknown]
            # Of the rows with the same item, the one that comes last asks for all.
            self._asked_for[wanted] = unknown
            rows = unknown[self._asked_for[wanted] == unknown]
            answers, failed = ask(rows)
            if not self.keep(places[rows], answers, failed):
                return ask(None)
        assert self._answers is not None
        return take(self._answers, places), self._state[places] == _FAILED

    def at(self, place: int) -> Any:
        """Return the answer for an item, `UNKNOWN` where it is not remembered."""
        if self._state[place] != _KNOWN:
            return UNKNOWN
        assert self._answers is not None
        return items(take(self._answers, np.array([place])))[0]

    def keep(self, places: Array, answers: Column, failed: Array) -> bool:
        """Remember the answers for places, and which failed; False: not these."""
        if self.is_off or not self._can_keep(answers):
            self.is_off, self._answers = True, None
            self._state[:] = _UNKNOWN
            return False
        self._state[places] = np.where(failed, _FAILED, _KNOWN)
        if self._answers is None:
            self._answers = spread(answers, places, len(self._state))
        else:
            self._answers = scatter(self._answers, places, answers)
        return True

    def _can_keep(self, answers: Column) -> bool:
        if isinstance(answers, np.ndarray):
            size = answers.itemsize * int(np.prod(answers.shape[1:]))
            return size * len(self._state) <= _MOST_BYTES
        return all(is_value(answer) for answer in answers)


def fresh(value: Any) -> Any:
    """Return a value that whoever gets it may change."""
    return value if is_value(value) else copy.deepcopy(value)


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
