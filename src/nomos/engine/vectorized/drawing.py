"""Draws for many cases at once, by the same addresses as those of `choices`."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from nomos.engine.choices import (
    EndlessRange,
    Stream,
    bounded,
    bounded_many,
    pattern,
    real,
    real_many,
    seed_of,
)

Array = np.ndarray[Any, Any]
LONGEST_RANGE = 2**24  # numbers; cases that draw from more are not listed


class ColumnDraws(Protocol):
    """Where a chunk of cases draws from.

    `rows` are the cases' places in the chunk, None for all of them; `positions` is how
    many draws each of them has made. The second result marks rows that must wait for a
    choice.
    """

    def integers(
        self, rows: Array | None, positions: Array | int, low: Array, high: Array
    ) -> tuple[Array, Array | None]:
        """Draw from low..high, both included."""
        ...

    def reals(
        self, rows: Array | None, positions: Array | int, low: Array, high: Array
    ) -> tuple[Array, Array | None]:
        """Draw real numbers from low to high, as their bits; tell who has to wait."""
        ...

    def seeds(
        self, rows: Array | None, positions: Array | int
    ) -> tuple[Array, Array | None]:
        """Draw the seeds of generators; tell who has to wait."""
        ...

    def integer(self, row: int, position: int, low: int, high: int) -> int:
        """Draw from low..high for one case; the bounds are right."""
        ...

    def real(self, row: int, position: int, low: float, high: float) -> int:
        """Draw a real for one case; return the choice that records it."""
        ...

    def seed(self, row: int, position: int) -> int:
        """Draw the seed of a generator for one case."""
        ...


class RandomDraws:
    """The draws of consecutive cases of a campaign."""

    def __init__(self, stream: Stream, first: int, count: int) -> None:
        self.stream = stream
        self.first = first
        self.count = count
        self._words: dict[int, Array] = {}

    def words(self, position: int) -> Array:
        """Return the words of all cases of the chunk at a position."""
        if position not in self._words:
            words = self.stream.words(position, self.first, self.count)
            self._words[position] = words
        return self._words[position]

    def integer(self, row: int, position: int, low: int, high: int) -> int:
        """Draw from low..high for one case; the bounds are right."""
        return bounded(int(self.words(position)[row]), low, high)

    def real(self, row: int, position: int, low: float, high: float) -> int:
        """Draw a real for one case; return the choice that records it."""
        return pattern(real(int(self.words(position)[row]), low, high))

    def seed(self, row: int, position: int) -> int:
        """Draw the seed of a generator for one case."""
        return seed_of(int(self.words(position)[row]))

    def _gather(self, rows: Array | None, positions: Array | int) -> Array:
        if isinstance(positions, int):
            words = self.words(positions)
            return words if rows is None else words[rows]
        assert rows is not None
        gathered = np.empty(len(rows), dtype=np.uint64)
        for position in np.unique(positions).tolist():
            here = positions == position
            gathered[here] = self.words(position)[rows[here]]
        return gathered

    def integers(
        self, rows: Array | None, positions: Array | int, low: Array, high: Array
    ) -> tuple[Array, Array | None]:
        """Draw from low..high, both included."""
        return bounded_many(self._gather(rows, positions), low, high), None

    def reals(
        self, rows: Array | None, positions: Array | int, low: Array, high: Array
    ) -> tuple[Array, None]:
        """Draw real numbers from low to high, as their bits."""
        drawn = real_many(self._gather(rows, positions), low, high)
        return drawn.view(np.int64), None

    def seeds(self, rows: Array | None, positions: Array | int) -> tuple[Array, None]:
        """Draw the seeds of generators."""
        return (self._gather(rows, positions) >> np.uint64(1)).astype(np.int64), None


class ReplayedDraws:
    """The draws of cases whose first choices are known: one row each in `known`.

    A row knows its first `lengths` choices. One that draws more than it knows has to
    wait; `low` and `high` then say what it could have drawn. With `checks`, so has one
    whose choice is not in the range that it draws from.
    """

    def __init__(
        self, known: Array, lengths: Array | None = None, *, checks: bool = False
    ) -> None:
        self.known = known
        self.checks = checks
        if lengths is None:
            lengths = np.full(len(known), known.shape[1], dtype=np.int64)
        self.lengths = lengths
        self.low = np.zeros(len(known), dtype=np.int64)
        self.high = np.full(len(known), -1, dtype=np.int64)
        self.endless = ""  # what cannot be listed, where a row waits for such a draw

    def integers(
        self, rows: Array | None, positions: Array | int, low: Array, high: Array
    ) -> tuple[Array, Array | None]:
        """Return the known choices, and which rows have none left, or none that fits."""
        values, waiting = self._recorded(rows, positions, low, high)
        if self.checks:
            outside = (values < low) | (values > high)
            if outside.any():  # a run alone says so
                waiting = outside if waiting is None else waiting | outside
        return values, waiting

    def reals(
        self, rows: Array | None, positions: Array | int, low: Array, high: Array
    ) -> tuple[Array, Array | None]:
        """Return the known choices, and which rows have none left: they have too many."""
        return self._endless(rows, positions, "randReal")

    def seeds(
        self, rows: Array | None, positions: Array | int
    ) -> tuple[Array, Array | None]:
        """Return the known seeds, and which rows have none left: they have too many."""
        return self._endless(rows, positions, "a function that draws by itself")

    def _endless(
        self, rows: Array | None, positions: Array | int, what: str
    ) -> tuple[Array, Array | None]:
        count = len(self.known) if rows is None else len(rows)
        low = np.zeros(count, dtype=np.int64)
        values, waiting = self._recorded(rows, positions, low, low + LONGEST_RANGE)
        if waiting is not None:
            self.endless = what
        return values, waiting

    def _recorded(
        self, rows: Array | None, positions: Array | int, low: Array, high: Array
    ) -> tuple[Array, Array | None]:
        if rows is None:
            rows = np.arange(len(self.known))
        at = np.broadcast_to(positions, rows.shape)
        waiting = at >= self.lengths[rows]
        if not waiting.any():
            return self.known[rows, at], None
        self.low[rows[waiting]] = low[waiting]
        self.high[rows[waiting]] = high[waiting]
        values = low.astype(np.int64)
        values[~waiting] = self.known[rows[~waiting], at[~waiting]]
        return values, waiting

    def integer(self, row: int, position: int, low: int, high: int) -> int:
        """Return the known choice of one case."""
        return self.seed(row, position)

    def real(self, row: int, position: int, low: float, high: float) -> int:
        """Return the known choice of one case."""
        return self.seed(row, position)

    def seed(self, row: int, position: int) -> int:
        """Return the known seed of one case."""
        if position >= self.lengths[row]:
            raise EndlessRange("a draw inside the block")
        return int(self.known[row, position])
