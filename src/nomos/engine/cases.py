"""Which cases a chunk holds: drawn from a campaign's stream, or with known choices.

A case may also have records of its own, which a search has made. Then its inputs are
these, and its other draws come from words that the search may have made as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from nomos.engine.choices import CaseDraws, RandomCase, ReplayedCase, Stream
from nomos.engine.vectorized.drawing import ColumnDraws, RandomDraws, ReplayedDraws

Array = np.ndarray[Any, Any]
_MIXING = np.uint64(0x9E3779B97F4A7C15)


class Cases(Protocol):
    """Consecutive cases: their draws all at once, or one case's alone."""

    @property
    def count(self) -> int:
        """How many cases there are."""
        ...

    def part(self, first: int, count: int) -> Cases:
        """Return some of the cases."""
        ...

    def draws(self) -> ColumnDraws:
        """Return the draws of all cases."""
        ...

    def alone(self, row: int) -> CaseDraws:
        """Return the draws of one case."""
        ...


@dataclass(frozen=True, slots=True)
class RandomCases:
    """`count` cases of a campaign from case number `first` on."""

    stream: Stream
    first: int
    count: int

    def part(self, first: int, count: int) -> RandomCases:
        """Return some of the cases."""
        return RandomCases(self.stream, self.first + first, count)

    def draws(self) -> ColumnDraws:
        """Return the draws of all cases."""
        return RandomDraws(self.stream, self.first, self.count)

    def alone(self, row: int) -> CaseDraws:
        """Return the draws of one case."""
        return RandomCase(self.stream, self.first + row)


@dataclass(frozen=True, slots=True)
class ListedCases:
    """Cases whose choices are known: one row each, of which the first `lengths` count."""

    known: Array
    lengths: Array | None = None

    @property
    def count(self) -> int:
        """How many cases there are."""
        return len(self.known)

    def part(self, first: int, count: int) -> ListedCases:
        """Return some of the cases."""
        chosen = slice(first, first + count)
        lengths = None if self.lengths is None else self.lengths[chosen]
        return ListedCases(self.known[chosen], lengths)

    def draws(self) -> ColumnDraws:
        """Return the draws of all cases."""
        return ReplayedDraws(self.known, self.lengths, checks=True)

    def alone(self, row: int) -> CaseDraws:
        """Return the draws of one case."""
        length = None if self.lengths is None else int(self.lengths[row])
        return ReplayedCase(tuple(self.known[row, :length].tolist()))


Records = tuple[tuple[float, ...], ...]  # one for each input of a case


class KnownCase(NamedTuple):
    """A case to run alone: its choices, and its records where a search has made them.

    In the choices, a made record stands by its mark, as an item of the source by its
    place.
    """

    choices: tuple[int, ...]
    records: Records = ()


def marks_of(rows: Array) -> Array:
    """Return what stands for made records in the choices of a case: numbers below 0.

    Different records have different marks, but for one chance in 2**63.
    """
    raw = np.ascontiguousarray(rows).view(np.uint8).reshape(len(rows), -1)
    padded = np.pad(raw, ((0, 0), (0, -raw.shape[1] % 8)))
    mixed = np.full(len(rows), raw.shape[1], dtype=np.uint64)
    for column in padded.view(np.uint64).T:
        mixed = (mixed ^ column) * _MIXING
        mixed ^= mixed >> np.uint64(29)
    mixed = (mixed * _MIXING) ^ (mixed >> np.uint64(32))
    marks: Array = -1 - (mixed >> np.uint64(1)).astype(np.int64)
    return marks


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


@dataclass(frozen=True, slots=True)
class MadeCases:
    """`count` cases of a search, from `start` on; the first of all has the number `first`.

    They are run by a program whose source is the made rows.
    """

    stream: Stream
    first: int
    made: MadeInputs
    start: int
    count: int

    def part(self, first: int, count: int) -> MadeCases:
        """Return some of the cases."""
        return MadeCases(self.stream, self.first, self.made, self.start + first, count)

    def draws(self) -> ColumnDraws:
        """Return the draws of all cases."""
        return MadeDraws(self)

    def alone(self, row: int) -> CaseDraws:
        """Return the draws of one case."""
        return MadeCase(self, row)

    def place(self, row: int, position: int) -> int:
        """Return where among the made rows the inputs of a case are."""
        return (self.start + row) * self.made.inputs + position


class MadeDraws(RandomDraws):
    """The draws of consecutive cases of a search."""

    def __init__(self, cases: MadeCases) -> None:
        super().__init__(cases.stream, cases.first + cases.start, cases.count)
        self.cases = cases

    def words(self, position: int) -> Array:
        """Return the words of all cases of the chunk at a position."""
        made, start = self.cases.made, self.cases.start
        own = position - made.inputs
        if own >= made.words.shape[1]:
            return super().words(position)
        words: Array = made.words[start : start + self.count, own]
        return words

    def integers(
        self, rows: Array | None, positions: Array | int, low: Array, high: Array
    ) -> tuple[Array, Array | None]:
        """Draw from low..high, both included; the inputs are the made ones."""
        if isinstance(positions, int) and positions < self.cases.made.inputs:
            numbers = np.arange(self.count) if rows is None else rows
            first = self.cases.place(0, positions)
            return numbers * self.cases.made.inputs + first, None
        return super().integers(rows, positions, low, high)


class MadeCase(RandomCase):
    """The draws of one case of a search."""

    def __init__(self, cases: MadeCases, row: int) -> None:
        super().__init__(_OneRow(cases, row), row)
        self.cases = cases

    def integer(self, low: int, high: int) -> int:
        """Draw from low..high, both included; the inputs are the made ones."""
        position = len(self.choices)
        if position >= self.cases.made.inputs:
            return super().integer(low, high)
        self.choices.append(self.cases.place(self.number, position))
        return self.choices[-1]


class _OneRow(Stream):
    """The words of one case of a search."""

    def __init__(self, cases: MadeCases, row: int) -> None:
        self._draws = MadeDraws(cases.part(row, 1))

    def word(self, position: int, case: int) -> int:
        """Return one word."""
        return int(self._draws.words(position)[0])
