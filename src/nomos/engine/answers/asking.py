"""Ask a batched function for many cases, and find out on which of them it raises."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from nomos.device import Array, is_out_of_memory
from nomos.domain.functions import BoundBatched, batched
from nomos.domain.records import Column
from nomos.domain.values import is_value
from nomos.engine.answers.memory import UNKNOWN, Memory, put
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
    function's own, which may change them. A row that failed has any answer at all.
    """
    left, pending = _MOST_FAILURES, [(0, count)]
    answers: Column | None = None
    failed = np.ones(count, dtype=bool)
    while pending and left > 0:
        first, end = pending.pop()
        try:
            watch.mark(WHOLE_CHUNK)
            given = function.many(*columns(slice(first, end)))
        except ModelError:
            raise
        except OF_THE_CASE as error:
            half = first + (end - first) // 2
            if is_out_of_memory(error) and half > first:
                raise  # no case is to blame: the engine runs fewer of them at once
            left -= int(half == first)
            # Generators cannot be used a second time: such a batch fails as a whole.
            if half > first and not function.function.draws:
                pending += [(half, end), (first, half)]
            continue
        failed[first:end] = False
        if end - first == count:
            return given, failed
        answers = put(answers, np.arange(first, end), given, count)
    return [0] * count if answers is None else answers, failed
