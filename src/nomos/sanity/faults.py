"""Faults to plant in a model's answers, each a function of the records it is asked about."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np

from nomos.domain.values import plain

Array = np.ndarray[Any, Any]
MOST_LABELS = 50  # different answers; a model with more gives numbers
Wrong = Callable[[Sequence[Any], Sequence[Any]], list[Any]]  # of columns and answers


@dataclass(frozen=True, slots=True)
class Answered:
    """What a model answers: labels from low to high, or numbers of a range."""

    values: tuple[Any, ...]

    @property
    def are_labels(self) -> bool:
        """Whether there are few enough to be told apart."""
        return len(self.values) <= MOST_LABELS

    def reversed(self, answer: Any) -> Any:
        """Return the answer at the other end."""
        low, high = self.values[0], self.values[-1]
        if not self.are_labels:
            return low + high - answer
        if answer not in self.values:
            return answer
        return self.values[-1 - self.values.index(answer)]

    def other(self, answer: Any) -> Any:
        """Return an answer that is another one."""
        low, high = self.values[0], self.values[-1]
        if not self.are_labels:
            return high if answer < (low + high) / 2 else low
        if answer not in self.values:
            return low
        return self.values[(self.values.index(answer) + 1) % len(self.values)]


@dataclass(frozen=True, slots=True)
class Fault:
    """A way to be wrong, and what it is called."""

    name: str
    wrong: Wrong


def marks(columns: Sequence[Any]) -> Array:
    """Return a number from 0 to 1 for each record, the same whenever it is asked about."""
    found = []
    for record in zip(*columns, strict=True):
        digest = blake2b(digest_size=8)
        for part in record:
            is_array = isinstance(part, np.ndarray)
            digest.update(part.tobytes() if is_array else repr(plain(part)).encode())
        found.append(int.from_bytes(digest.digest(), "little") / 2**64)
    return np.array(found)


def faults_of(
    answered: Answered,
    dip: Callable[[Sequence[Any]], Array] | None,
    subgroup: Callable[[Sequence[Any]], Array] | None,
) -> list[Fault]:
    """Return all faults; `dip` and `subgroup` say which records are concerned."""
    low, high = answered.values[0], answered.values[-1]
    found = [
        Fault(f"noise of {share * 100:g} %", _noise(answered, share))
        for share in (0.1, 0.01, 0.001)
    ]
    found.append(Fault("reversed", _everywhere(answered.reversed)))
    if dip is not None:
        found.append(Fault("a dip in what is changed", _where(dip, lambda _: low)))
    if subgroup is not None:
        wrong = _where(subgroup, answered.reversed)
        found.append(Fault("reversed for a subgroup", wrong))
    found.append(Fault(f"always {low}", _everywhere(lambda _: low)))
    found.append(Fault(f"always {high}", _everywhere(lambda _: high)))
    return found


def _noise(answered: Answered, share: float) -> Wrong:
    return _where(lambda columns: marks(columns) < share, answered.other)


def _everywhere(wrong: Callable[[Any], Any]) -> Wrong:
    return lambda columns, answers: [wrong(answer) for answer in answers]


def _where(
    chosen: Callable[[Sequence[Any]], Array], wrong: Callable[[Any], Any]
) -> Wrong:
    def answers_with(columns: Sequence[Any], answers: Sequence[Any]) -> list[Any]:
        pairs = zip(chosen(columns).tolist(), answers, strict=True)
        return [wrong(answer) if hit else answer for hit, answer in pairs]

    return answers_with
