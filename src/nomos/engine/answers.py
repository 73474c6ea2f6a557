"""Answers of batched functions: asked for many cases, remembered, and asked again.

Items of the source are drawn again and again, so answers are remembered by item. Where a
batch raises, it is found out on which of its cases.
"""

from __future__ import annotations

import base64
import copy
import zlib
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from nomos.device import Array, is_out_of_memory, is_tensor, places_on, to_host
from nomos.domain.failure import raise_own
from nomos.domain.functions import BoundBatched, batched
from nomos.domain.meter import current_lease, describe_error
from nomos.domain.records import Column, items, take, to_column
from nomos.domain.same_answers import is_same_answer, measure_spread
from nomos.domain.values import is_value
from nomos.engine.watch import WHOLE_CHUNK, watch
from nomos.errors import CallsFailed, ModelError

_MOST_BYTES = 2**25  # for the answers of one call; images for every item would be more
_UNKNOWN, _KNOWN, _FAILED = 0, 1, 2
_SHARE, _FEWEST = 64, 8
_MOST_MEASURED = 1000  # answers that say how far apart they lie
_IN_JSON = frozenset({bool, int, float, str, type(None)})  # and are the same then
UNKNOWN = object()  # no answer of a model
_MOST_FAILURES = 64  # after so many single failures a batch is not searched any further

# Given rows (None: all), the answers for them and which of them failed.
Ask = Callable[[Array | None], tuple[Column, Array]]


class Answers:
    """The remembered answers of a campaign, and how many rows batched functions got.

    No two calls of one case share an answer: columns remember by the place of a call in
    the spec, coroutines by how often the case has asked of the same item before. A share of
    what is remembered is asked again, and the answers that differ are counted. With a
    size of 0, nothing is remembered.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.rows_sent = 0
        self._memories: dict[Any, Memory] = {}
        self._kept: dict[str, Memory] = {}  # of a campaign that is resumed
        self._known: dict[tuple[batched, int, int], Any] = {}

    @property
    def asked_again(self) -> int:
        """How many remembered answers were asked for a second time."""
        return sum(memory.asked_again for memory in self._memories.values())

    @property
    def nondeterministic(self) -> int:
        """How many of these were another answer then."""
        return sum(memory.nondeterministic for memory in self._memories.values())

    def memory(self, key: Any) -> Memory:
        """Return the memory of a call."""
        if key not in self._memories:
            kept = self._kept.pop(repr(key), None)
            self._memories[key] = kept or Memory(self.size)
        return self._memories[key]

    def to_json(self) -> dict[str, Any]:
        """Return what is remembered; a model may answer otherwise in another batch."""
        own = {repr(key): memory for key, memory in self._memories.items()}
        return {key: memory.to_json() for key, memory in (self._kept | own).items()}

    def restore(self, kept: Mapping[str, Any]) -> None:
        """Remember what another process did: each memory when its call comes."""
        for key, data in kept.items():
            if data is not None:
                self._kept[key] = Memory(self.size)
                self._kept[key].restore(data)

    def recall_answer(self, function: BoundBatched, turn: int, place: int) -> Any:
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
    raised: list[tuple[int, int, BaseException]] = []
    answers: Column | None = None
    failed = np.ones(count, dtype=bool)
    while pending and left > 0:
        first, end = pending.pop()
        try:
            watch.mark(WHOLE_CHUNK)
            given = function.many(*columns(slice(first, end)))
        except CallsFailed as error:  # which of them failed is known
            said = map(describe_error, error.errors.values())
            # Where all can only not be read, nothing is said.
            current_lease().failure = next(filter(None, said), "")
            if error.answers is not None:
                answers = _write_answered(answers, failed, first, error)
            elif not function.function.draws:
                pending += _ranges_without(first, end, error)
            continue
        except BaseException as error:
            raise_own(error, ModelError)
            half = first + (end - first) // 2
            raised.append((first, end, error))
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
        answers = write_values(answers, np.arange(first, end), given, count)
    for first, end, what in raised:
        # A row that still fails has its case run by itself, where it crashes or not.
        if not failed[first:end].any():
            current_lease().note_exception(describe_error(what))
        # Where too many failed, some rows were not asked by themselves: nothing is known.
        current_lease().failure = describe_error(what) if left > 0 else ""
    return [0] * count if answers is None else answers, failed


def _write_answered(
    column: Column | None, failed: Array, first: int, error: CallsFailed
) -> Column | None:
    """Write the answers of the calls that did not fail, the first at a row."""
    good = np.array([n for n in range(error.count) if n not in error.errors])
    if error.answers is None or not len(good):
        return column
    failed[first + good] = False
    values = to_column([error.answers[n] for n in good.tolist()])
    return write_values(column, first + good, values, len(failed))


def _ranges_without(first: int, end: int, error: CallsFailed) -> list[tuple[int, int]]:
    """Return the rows between those whose calls failed; halves where that is unknown."""
    if error.count != end - first:  # it asked more or less than once for each row
        half = first + (end - first) // 2
        return [(half, end), (first, half)] if half > first else []
    cuts = [-1, *sorted(error.errors), error.count]
    return [(first + a + 1, first + b) for a, b in pairwise(cuts) if b > a + 1]


class Memory:
    """The answers of one call, by the place of the item that they depend on."""

    def __init__(self, size: int) -> None:
        self._state = np.zeros(size, dtype=np.int8)
        self._asked_for = np.zeros(size, dtype=np.int64)  # by which row, last time
        self._answers: Column | None = None
        self._is_full = self._any_failed = False
        self.is_off = False  # the answers are too large, or could be changed
        self._doubts = _sample(size)  # the places to ask for a second time, once
        self._any_doubts = True
        self.asked_again = 0
        self.nondeterministic = 0  # answers that were not the same the second time

    def recall(
        self, places: Array, ask: Ask, standing: Array | None = None
    ) -> tuple[Column, Array]:
        """Return the answer for each place, asking only for those not known yet.

        The second result marks the rows without an answer. A share of the places whose
        answer is used again is asked for again, by a row that is standing.
        """
        if self.is_off:
            return ask(None)
        unknown = np.empty(0, dtype=np.int64)
        if not self._is_full:
            unknown = np.flatnonzero(self._state[places] == _UNKNOWN)
        if len(unknown):
            wanted = places[unknown]
            # Of the rows with the same item, the one that comes last asks for all.
            self._asked_for[wanted] = unknown
            rows = unknown[self._asked_for[wanted] == unknown]
            answers, failed = ask(rows)
            if not self.keep(places[rows], answers, failed):
                return ask(None)
        else:
            rows = unknown
        assert self._answers is not None
        if self._any_doubts:
            self._ask_again(places, rows, ask, standing)
        if not self._any_failed:
            return take(self._answers, places), np.zeros(len(places), dtype=bool)
        return take(self._answers, places), self._state[places] == _FAILED

    def _ask_again(
        self, places: Array, asked: Array, ask: Ask, standing: Array | None
    ) -> None:
        """Ask a second time for the doubtful places that rows use, but for those `asked`."""
        used = self._doubts[places] & (self._state[places] == _KNOWN)
        used[asked] = False
        if standing is not None:
            used &= standing
        again = np.flatnonzero(used)
        if len(again):
            again = again[np.unique(places[again], return_index=True)[1]]
            with current_lease().during_phase("flakiness check"):
                self.keep(places[again], *ask(again))

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
        answers = to_host(answers)
        again = (self._state[places] == _KNOWN) & self._doubts[places]
        if again.any():
            second, new = np.flatnonzero(again), np.flatnonzero(~again)
            self._compare_second(places[second], take(answers, second), failed[second])
            places, answers, failed = places[new], take(answers, new), failed[new]
            if not len(new):
                return True
        self._state[places] = np.where(failed, _FAILED, _KNOWN)
        self._any_failed |= bool(failed.any())
        self._is_full = bool(self._state.all())
        self._answers = write_values(self._answers, places, answers, len(self._state))
        return True

    def to_json(self) -> dict[str, Any] | None:
        """Return what is remembered; None where JSON cannot hold it."""
        answers: Any = self._answers
        if isinstance(answers, list):
            if not all(type(answer) in _IN_JSON for answer in answers):
                return None
        elif answers is not None:
            if answers.dtype == object:
                return None
            shape, data = answers.shape, pack_array(answers)
            answers = {"dtype": answers.dtype.str, "shape": shape, "data": data}
        return {
            "is_off": self.is_off,
            "answers": answers,
            "state": pack_array(self._state),
            "doubts": pack_array(self._doubts),
        }

    def restore(self, kept: Mapping[str, Any]) -> None:
        """Take back what `to_json` gave."""
        size, answers = len(self._state), kept["answers"]
        if isinstance(answers, dict):
            answers = unpack_array(answers["data"], answers["dtype"], answers["shape"])
        if answers is not None and len(answers) != size:
            raise ValueError("there are answers for other inputs")
        self.is_off, self._answers = bool(kept["is_off"]), answers
        self._state = unpack_array(kept["state"], "i1", (size,))
        self._doubts = unpack_array(kept["doubts"], "?", (size,))
        self._is_full = bool(self._state.all())
        self._any_failed = bool((self._state == _FAILED).any())
        self._any_doubts = bool(self._doubts.any())

    def doubts(self, place: int) -> bool:
        """Tell whether a place is to be asked for a second time."""
        return not self.is_off and bool(self._doubts[place])

    def _compare_second(self, places: Array, answers: Column, failed: Array) -> None:
        """Count the places about which something else is said the second time."""
        assert self._answers is not None
        known = np.flatnonzero(self._state == _KNOWN)[:_MOST_MEASURED]
        spread = measure_spread(take(self._answers, known))
        before = items(take(self._answers, places))
        answered = zip(before, items(answers), failed.tolist(), strict=True)
        for old, new, fails in answered:
            self.nondeterministic += fails or not is_same_answer(old, new, spread)
        self.asked_again += len(places)
        self._doubts[places] = False
        self._any_doubts = bool(self._doubts.any())

    def _can_keep(self, answers: Column) -> bool:
        if isinstance(answers, np.ndarray) or is_tensor(answers):
            size = answers.itemsize * int(np.prod(answers.shape[1:]))
            return size * len(self._state) <= _MOST_BYTES
        return all(is_value(answer) for answer in answers)


def _sample(size: int) -> Array:
    """Choose places to ask for again: one in 64, more of a few, spread evenly."""
    share = min(_SHARE, max(1, size // _FEWEST))
    spread = np.arange(size, dtype=np.uint64) * np.uint64(2654435769) % np.uint64(2**32)
    return spread < 2**32 // share


def pack_array(array: Array) -> str:
    """Return the bytes of an array as text that a store can keep."""
    return base64.b64encode(zlib.compress(array.tobytes(), 1)).decode()


def unpack_array(text: str, dtype: str, shape: Sequence[int]) -> Array:
    """Return the array that such a text holds; raises where it is another."""
    data = zlib.decompressobj().decompress(base64.b64decode(text), 2 * _MOST_BYTES)
    return np.frombuffer(data, dtype).reshape(shape).copy()


def fresh(value: Any) -> Any:
    """Return a value that whoever gets it may change."""
    return value if is_value(value) else copy.deepcopy(value)


def write_values(column: Any, rows: Array, values: Any, count: int) -> Column:
    """Put values at rows of a column; None: of a new one that has `count` rows.

    The result is a list where the kinds differ.
    """
    if column is None and isinstance(values, list):
        column = [None] * count
    elif column is None:
        shape = (count, *values.shape[1:])
        on_device = is_tensor(values)
        column = values.new_zeros(shape) if on_device else np.zeros(shape, values.dtype)
    if not (is_tensor(column) and is_tensor(values)):
        column, values = to_host(column), to_host(values)
    if (
        not (isinstance(column, list) or isinstance(values, list))
        and column.dtype == values.dtype
        and column.shape[1:] == values.shape[1:]
    ):
        column[places_on(column, rows) if is_tensor(column) else rows] = values
        return column  # type: ignore[no-any-return]  # a column
    made = items(column)
    for row, value in zip(rows.tolist(), items(values), strict=True):
        made[row] = value
    return made
