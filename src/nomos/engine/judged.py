"""What became of a chunk of cases, as data that workers can send."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from nomos.device import Array
from nomos.engine.cases import KnownCase
from nomos.engine.vectorized.chunk import padded


@dataclass(slots=True)
class Violations:
    """The violated cases of a chunk, in their order.

    A row of `choices` holds the first `lengths` numbers that a case drew. `failed` has
    a bit for each `ensures` that does not hold. `gaps` say by how much the first of
    them is missed, NaN where that is no number. `came_back` marks the cases that were
    violated again in a batch of violated cases alone. `records` holds the records of
    each case where a search has made them: (cases, inputs, columns).
    """

    rows: Array
    choices: Array
    lengths: Array
    failed: Array
    gaps: Array
    came_back: Array
    records: Array | None = None

    def __len__(self) -> int:
        return len(self.rows)

    @classmethod
    def of(
        cls,
        rows: Sequence[int],
        choices: Sequence[tuple[int, ...]],
        failed: Sequence[int],
        gaps: Sequence[float],
    ) -> Violations:
        """Return the violations of these rows, each with its choices."""
        return cls(
            np.array(rows, dtype=np.int64),
            *padded(choices),
            np.array(failed, dtype=np.int64),
            np.array(gaps, dtype=np.float64),
            np.ones(len(rows), dtype=bool),
        )

    def take(self, index: Array) -> Violations:
        """Return some of the violations."""
        columns: list[Any] = [getattr(self, name) for name in self.__slots__]
        columns = [None if one is None else one[index] for one in columns]
        return Violations(*columns)

    def choices_of(self, number: int) -> tuple[int, ...]:
        """Return the choices of one case."""
        return tuple(self.choices[number, : self.lengths[number]].tolist())

    def case_of(self, number: int) -> KnownCase:
        """Return one case, with its records where it has its own."""
        if self.records is None:
            return KnownCase(self.choices_of(number))
        records = tuple(map(tuple, self.records[number].tolist()))
        return KnownCase(self.choices_of(number), records)


def joined(parts: Sequence[Violations]) -> Violations:
    """Put violations together, in the order of their rows."""
    if len(parts) == 1:
        return parts[0]
    width = max(part.choices.shape[1] for part in parts)
    columns: list[Any] = []
    for name in Violations.__slots__:
        own = [getattr(part, name) for part in parts]
        if name == "choices":
            own = [np.pad(one, ((0, 0), (0, width - one.shape[1]))) for one in own]
        there = [one for one in own if one is not None]
        columns.append(np.concatenate(there) if there else None)
    together = Violations(*columns)
    return together.take(np.argsort(together.rows, kind="stable"))


def no_violations() -> Violations:
    """Return the violations of a chunk that has none."""
    return Violations.of([], [], [], [])


@dataclass(frozen=True, slots=True)
class CrashedCase:
    """A case of a chunk that ended in an error."""

    row: int
    choices: tuple[int, ...]
    error: str
    traceback: str


@dataclass(slots=True)
class Judged:
    """The verdicts on the first cases of a chunk, in their order.

    `accepted` tells which cases got past `requires` and so spent budget; `calls` how
    many calls of the model each makes when run by itself. `why` numbers the reason of
    each discarded case among `reasons`, -1 for the others. `signals` tell a search of
    each case how near it came to a violation: (kinds, cases).
    """

    verdicts: Array
    accepted: Array
    calls: Array
    why: Array
    reasons: tuple[str, ...] = ()
    violations: Violations = field(default_factory=no_violations)
    crashes: tuple[CrashedCase, ...] = ()
    asked_again: int = 0
    moved: int = 0
    seconds: float = 0.0
    signals: Array | None = None

    def __len__(self) -> int:
        return len(self.verdicts)
