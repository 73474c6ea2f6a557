"""Which cases a chunk holds: drawn from a campaign's stream, or with known choices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from nomos.engine.choices import CaseDraws, RandomCase, ReplayedCase, Stream
from nomos.engine.vectorized.drawing import ColumnDraws, RandomDraws, ReplayedDraws

Array = np.ndarray[Any, Any]


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
