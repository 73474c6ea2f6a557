"""Which cases a chunk holds: drawn from a campaign's stream, or with known choices.

A case may also have records of its own, which a search has made. Then its inputs are
these, and its other draws come from words that the search may have made as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from nomos.device import Array
from nomos.engine.choices import (
    ENDLESS,
    CaseDraws,
    Kind,
    Stream,
    choice_of,
    choices_of,
    mix_seed,
    replay_choice,
)

LONGEST_RANGE = 2**24  # numbers; cases that draw from more are not listed
_MIXING = np.uint64(0x9E3779B97F4A7C15)
Positions = Array | int  # how many draws cases have made


class RandomCases:
    """`count` cases of a campaign from case number `first` on."""

    def __init__(self, stream: Stream, first: int, count: int) -> None:
        self.stream = stream
        self.first = first
        self.count = count
        self._words: dict[int, Array] = {}

    def part(self, first: int, count: int) -> RandomCases:
        """Return some of the cases."""
        return RandomCases(self.stream, self.first + first, count)

    def isolate_case(self, row: int) -> CaseDraws:
        """Return the draws of one case."""
        return CaseDraws(partial(self.choice, row))

    def words(self, position: int) -> Array:
        """Return the words of all cases at a position."""
        if position not in self._words:
            self._words[position] = self.stream.words(position, self.first, self.count)
        return self._words[position]

    def choice(self, row: int, position: int, kind: Kind, low: Any, high: Any) -> int:
        """Return the choice of one case; the bounds are right."""
        return choice_of(int(self.words(position)[row]), kind, low, high)

    def draw(
        self, rows: Array | None, at: Positions, kind: Kind, low: Any, high: Any
    ) -> tuple[Array, Array | None]:
        """Return the choices of cases, given by their rows; None: of all of them.

        The second result marks those that must wait for a choice: here, none.
        """
        return choices_of(self._gather(rows, at), kind, low, high), None

    def _gather(self, rows: Array | None, at: Positions) -> Array:
        if isinstance(at, int):
            words = self.words(at)
            return words if rows is None else words[rows]
        assert rows is not None
        gathered = np.empty(len(rows), dtype=np.uint64)
        for position in np.unique(at).tolist():
            here = at == position
            gathered[here] = self.words(position)[rows[here]]
        return gathered


class ListedCases:
    """Cases whose choices are known: one row each, of which the first `lengths` count.

    One that draws more than it knows has to wait; `low` and `high` then say what it
    could have drawn, and `endless` what cannot be listed. With `checks`, so has one
    whose choice is not in the range that it draws from: a run in isolation says so. One that
    `draws_on`, as a repeat with other samples may, has new choices behind those it knows.
    """

    def __init__(
        self,
        known: Array,
        lengths: Array | None = None,
        *,
        checks: bool = True,
        draws_on: bool = False,
    ) -> None:
        self.count = len(known)
        self.known = known
        self.checks, self.draws_on = checks, draws_on
        if lengths is None:
            lengths = np.full(self.count, known.shape[1], dtype=np.int64)
        self.lengths = lengths
        self.low = np.zeros(self.count, dtype=np.int64)
        self.high = np.full(self.count, -1, dtype=np.int64)
        self.endless = ""

    def part(self, first: int, count: int) -> ListedCases:
        """Return some of the cases."""
        chosen = slice(first, first + count)
        known, lengths = self.known[chosen], self.lengths[chosen]
        return ListedCases(known, lengths, draws_on=self.draws_on)

    def choices(self) -> list[list[int]]:
        """Return the choices of each case."""
        rows = zip(self.known.tolist(), self.lengths.tolist(), strict=True)
        return [row[:length] for row, length in rows]

    def isolate_case(self, row: int) -> CaseDraws:
        """Return the draws of one case."""
        return CaseDraws(partial(self.choice, row))

    def choice(self, row: int, position: int, kind: Kind, low: Any, high: Any) -> int:
        """Return the known choice of one case, or a new one behind them."""
        known = self.known[row, : self.lengths[row]].tolist()
        if self.draws_on and position >= len(known):
            seed = mix_seed(hash(tuple(known)), position)  # integers hash alike
            return choice_of(2 * seed, kind, low, high)
        return replay_choice(known, position, kind, low, high)

    def draw(
        self, rows: Array | None, at: Positions, kind: Kind, low: Any, high: Any
    ) -> tuple[Array, Array | None]:
        """Return the known choices, and which cases have none left, or none that fits."""
        if kind == "row":
            count = self.count if rows is None else len(rows)
            kind, low = "integer", np.zeros(count, dtype=np.int64)
            high = low + high
        index = slice(None) if rows is None else rows
        waiting: Array = at >= self.lengths[index]
        if waiting.any():
            rows = np.arange(self.count)[index]
            at = np.broadcast_to(at, rows.shape)
            if kind in ENDLESS:
                self.endless = ENDLESS[kind]
                low = np.zeros(len(rows), dtype=np.int64)
                high = low + LONGEST_RANGE
            self.low[rows[waiting]] = low[waiting]
            self.high[rows[waiting]] = high[waiting]
            values: Array = low.astype(np.int64)
            values[~waiting] = self.known[rows[~waiting], at[~waiting]]
        else:
            values = self.known[index, at].copy()
        if self.checks and kind == "integer":
            waiting |= (values < low) | (values > high)
        return values, waiting if waiting.any() else None


Cases = RandomCases | ListedCases  # consecutive ones, and what they draw
Records = tuple[tuple[float, ...], ...]  # one for each input of a case


class KnownCase(NamedTuple):
    """A case to run in isolation: its choices, and its records where a search has made them.

    In the choices, a made record stands by its mark, as an item of the source by its
    place. `rank` counts the cases of a campaign that are tested against chance.
    """

    choices: tuple[int, ...]
    records: Records = ()
    rank: int = 1


def marks_of(rows: Array) -> Array:
    """Return what stands for made records in the choices of a case: numbers below 0.

    Different records have different marks, but for one chance in 2**63.
    """
    size = rows.itemsize * rows.shape[1]
    raw = np.ascontiguousarray(rows).view(np.uint8).reshape(len(rows), size)
    if size % 8:
        raw = np.pad(raw, ((0, 0), (0, -size % 8)))
    mixed = np.full(len(rows), size, dtype=np.uint64)
    for column in raw.view(np.uint64).T:
        mixed ^= column
        mixed *= _MIXING
        mixed ^= mixed >> np.uint64(29)
    mixed = (mixed * _MIXING) ^ (mixed >> np.uint64(32))
    return np.asarray(-1 - (mixed >> np.uint64(1)).astype(np.int64))


@dataclass(frozen=True, slots=True)
class MadeInputs:
    """The cases of a search: their records, and the words of their other draws.

    `rows` holds the records of one case after the other, `inputs` for each.
    """

    rows: Array
    inputs: int
    words: Array  # a row of words for each case

    def __len__(self) -> int:
        return len(self.words)


class MadeCases(RandomCases):
    """`count` cases of a search, from `start` on; the first of all has the number `first`.

    They are run by a program whose source is the made rows.
    """

    def __init__(
        self, stream: Stream, first: int, made: MadeInputs, start: int, count: int
    ) -> None:
        super().__init__(stream, first + start, count)
        self.made = made
        self.start = start

    def part(self, first: int, count: int) -> MadeCases:
        """Return some of the cases."""
        begin, start = self.first - self.start, self.start + first
        return MadeCases(self.stream, begin, self.made, start, count)

    def words(self, position: int) -> Array:
        """Return the words of all cases at a position."""
        own = position - self.made.inputs
        if own >= self.made.words.shape[1]:
            return super().words(position)
        return np.asarray(self.made.words[self.start : self.start + self.count, own])

    def choice(self, row: int, position: int, kind: Kind, low: Any, high: Any) -> int:
        """Return the choice of one case; the inputs are the made ones."""
        if position < self.made.inputs:
            return (self.start + row) * self.made.inputs + position
        return super().choice(row, position, kind, low, high)

    def draw(
        self, rows: Array | None, at: Positions, kind: Kind, low: Any, high: Any
    ) -> tuple[Array, Array | None]:
        """Return the choices of cases; the inputs are the made ones."""
        if isinstance(at, int) and at < self.made.inputs:
            numbers = np.arange(self.count) if rows is None else rows
            return (self.start + numbers) * self.made.inputs + at, None
        return super().draw(rows, at, kind, low, high)
