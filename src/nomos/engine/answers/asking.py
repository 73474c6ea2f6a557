"""Ask a batched function for many cases, and find out on which of them it raises."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from nomos.device import Array, is_out_of_memory, is_tensor, join, to_host
from nomos.domain.functions import BoundBatched, batched
from nomos.domain.records import Column, items, take, to_column
from nomos.domain.values import is_value
from nomos.engine.answers.memory import UNKNOWN, Memory
from nomos.engine.watch import WHOLE_CHUNK, watch
from nomos.errors import OF_THE_CASE, ModelError

_MOST_FAILURES = 64  # after so many single failures a batch is not searched any further


class Answers:
    """The remembered answers of a campaign, and how many rows batched functions got.

    No two calls of one case share an answer: columns remember by the place of a call in
    the spec, lanes by how often the case has asked of the same item before. A share of
    what is remembered is asked again, and the answers that moved are counted. With a
    size of 0, nothing is remembered.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.rows_sent = 0
        self._memories: dict[Any, Memory] = {}
        self._known: dict[tuple[batched, int, int], Any] = {}

    @property
    def asked_again(self) -> int:
        """How many remembered answers were asked for a second time."""
        return sum(memory.asked_again for memory in self._memories.values())

    @property
    def moved(self) -> int:
        """How many of these were another answer then."""
        return sum(memory.moved for memory in self._memories.values())

    def memory(self, key: Any) -> Memory:
        """Return the memory of a call."""
        if key not in self._memories:
            self._memories[key] = Memory(self.size)
        return self._memories[key]

    def known(self, function: BoundBatched, turn: int, place: int) -> Any:
        """Return what a function said of one item when a case asked it for this time.

        `UNKNOWN` where it is not remembered, or is to be asked again.
        """
        key = function.function, turn, place
        answer = self._known.get(key, UNKNOWN)
        if answer is UNKNOWN:
            memory = self.memory((function.function.__name__, turn))
            if memory.doubts(place):
                return UNKNOWN
            answer = memory.at(place)
            if answer is not UNKNOWN and is_value(answer):
                self._known[key] = answer
        return answer

    def is_asked_twice(self, function: BoundBatched, turn: int, place: int) -> bool:
        """Tell whether an item is to be asked for a second time, and was not for a first."""
        memory = self.memory((function.function.__name__, turn))
        return memory.doubts(place) and memory.at(place) is UNKNOWN


def call_batch(
    function: BoundBatched, columns: Callable[[slice], list[Any]], count: int
) -> tuple[Column, Array]:
    """Call a function for many rows; the second result marks those that failed.

    `columns` makes the arguments for some of the rows, anew each time: they are the
    function's own, which may change them.
    """
    left = _MOST_FAILURES

    def call(first: int, end: int) -> tuple[Column, Array]:
        nonlocal left
        count = end - first
        if left > 0:
            try:
                watch.mark(WHOLE_CHUNK)
                made = columns(slice(first, end))
                return function.many(*made), np.zeros(count, dtype=bool)
            except ModelError:
                raise
            except OF_THE_CASE as error:
                if is_out_of_memory(error) and count > 1:
                    raise  # no case is to blame: the engine runs fewer of them at once
                left -= int(count == 1)
        # Generators cannot be used a second time: such a batch fails as a whole.
        if left <= 0 or count == 1 or function.function.draws:
            return [0] * count, np.ones(count, dtype=bool)
        half = first + count // 2
        return _join(call(first, half), call(half, end))

    return call(0, count)


def _join(
    first: tuple[Column, Array], second: tuple[Column, Array]
) -> tuple[Column, Array]:
    """Put the answers to two halves of a batch together; failed rows may be anything."""
    (a, bad_a), (b, bad_b) = first, second
    bad = np.concatenate([bad_a, bad_b])
    if bad_a.all() != bad_b.all():  # one half has no answers: take the other's kind
        good = b if bad_a.all() else a
        filler = take(good, np.zeros(len(bad_a if bad_a.all() else bad_b), dtype=int))
        a, b = (filler, b) if bad_a.all() else (a, filler)
    if is_tensor(a) and is_tensor(b) and (a.dtype, a[0].shape) == (b.dtype, b[0].shape):
        return join([a, b]), bad
    a, b = to_host(a), to_host(b)
    if (
        isinstance(a, np.ndarray)
        and isinstance(b, np.ndarray)
        and (a.dtype, a.shape[1:]) == (b.dtype, b.shape[1:])
    ):
        return np.concatenate([a, b]), bad
    return to_column([*items(a), *items(b)]), bad
