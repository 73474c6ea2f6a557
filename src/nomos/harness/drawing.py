"""Draws for many cases at once, by the same addresses as those of `choices`."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from nomos.harness.choices import EndlessRange, Stream, bounded_many, real_many

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
    ) -> Array:
        """Draw real numbers from low to high."""
        ...

    def seeds(self, rows: Array | None, positions: Array | int) -> Array:
        """Draw the seeds of generators."""
        ...

    def word(self, row: int, position: int) -> int:
        """Return the random word of one case."""
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

    def word(self, row: int, position: int) -> int:
        """Return the random word of one case."""
        return int(self.words(position)[row])

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
    ) -> Array:
        """Draw real numbers from low to high."""
        return real_many(self._gather(rows, positions), low, high)

    def seeds(self, rows: Array | None, positions: Array | int) -> Array:
        """Draw the seeds of generators."""
        return (self._gather(rows, positions) >> np.uint64(1)).astype(np.int64)


class ReplayedDraws:
    """The draws of cases whose first choices are known: one row each in `known`.

    A row that draws more than it knows has to wait; `low` and `high` then say what it
    could have drawn.
    """

    def __init__(self, known: Array) -> None:
        self.known = known
        self.low = np.zeros(len(known), dtype=np.int64)
        self.high = np.full(len(known), -1, dtype=np.int64)

    def integers(
        self, rows: Array | None, positions: Array | int, low: Array, high: Array
    ) -> tuple[Array, Array | None]:
        """Return the known choices, and which rows have none left."""
        if rows is None:
            rows = np.arange(len(self.known))
        at = np.broadcast_to(positions, rows.shape)
        waiting = at >= self.known.shape[1]
        if not waiting.any():
            return self.known[rows, at], None
        self.low[rows[waiting]] = low[waiting]
        self.high[rows[waiting]] = high[waiting]
        values = low.copy()
        values[~waiting] = self.known[rows[~waiting], at[~waiting]]
        return values, waiting

    def reals(
        self, rows: Array | None, positions: Array | int, low: Array, high: Array
    ) -> Array:
        """Return the known choices; refuses where one is missing: none can be listed."""
        rows = np.arange(len(self.known)) if rows is None else rows
        at = np.broadcast_to(positions, rows.shape)
        if (at >= self.known.shape[1]).any():
            raise EndlessRange("randReal")
        recorded: Array = self.known[rows, at].view(np.float64)
        return recorded

    def seeds(self, rows: Array | None, positions: Array | int) -> Array:
        """Refuse: a generator has too many values."""
        raise EndlessRange("a function that draws by itself")

    def word(self, row: int, position: int) -> int:
        """Refuse: what a block draws is not listed."""
        raise EndlessRange("a draw inside the block")
