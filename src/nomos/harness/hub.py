"""Run pieces of Python side by side, so that their questions are asked together.

A lane is one piece in a greenlet. Where it calls a batched function, however deep
inside the domain's code, it parks; when no lane can go on, the function that most of
them wait for is called once for all of these. The user's code stays as it is.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import copy_context
from typing import Any

import numpy as np
from greenlet import GreenletExit, greenlet

from nomos.domain.functions import BoundBatched
from nomos.domain.records import items, take, to_column
from nomos.errors import ModelError
from nomos.harness.asking import Answers, call_batch
from nomos.harness.memory import Memory, fresh
from nomos.harness.program import Running, is_value

Array = np.ndarray[Any, Any]
MOST_LIVE = 512  # more live greenlets cost more than larger batches win


class Unrepeatable(Exception):
    """A batch that drew has failed: what each lane would have got, nobody knows."""


class Lane(greenlet):
    """One running piece of Python."""

    def __init__(
        self, work: Callable[[], Any], index: int, running: Running | None = None
    ) -> None:
        super().__init__(self._run)
        self.gr_context = copy_context()  # numpy's settings hold here too
        self.work = work
        self.index = index
        self.running = running
        self.result: Any = None
        self.failure: Exception | None = None
        self.asked: tuple[BoundBatched, tuple[Any, ...]] | None = None
        self.abandoned = False

    def _run(self, _: Any = None) -> None:
        try:
            self.result = self.work()
        except Exception as error:
            self.failure = error

    def ask(self, function: BoundBatched, arguments: tuple[Any, ...]) -> Any:
        """Park until the answer is there."""
        if self.abandoned:
            raise GreenletExit
        if self.running is not None:
            self.running.asked += 1
        self.asked = function, arguments
        assert self.parent is not None
        return self.parent.switch()

    @property
    def question(self) -> tuple[BoundBatched, tuple[Any, ...]]:
        """The function that the lane waits for, and for what."""
        assert self.asked is not None
        return self.asked

    @property
    def place(self) -> int | None:
        """Which item of the source is asked about, if it is one as it was drawn."""
        _, arguments = self.question
        if self.running is None or len(arguments) != 1:
            return None
        place = self.running.place(arguments[0])
        return place if place is None or is_value(arguments[0]) else None

    def abandon(self) -> None:
        """Run no further."""
        self.abandoned = True
        self.throw(GreenletExit)


class Hub:
    """Runs lanes until they park or end, and asks batched functions for them."""

    def __init__(self, answers: Answers, most_live: int = MOST_LIVE) -> None:
        self.answers = answers
        self.most_live = most_live
        self._live: set[Lane] = set()
        self._done: list[Lane] = []
        self._waiting: dict[Any, list[Lane]] = {}

    def run(self, lanes: Iterator[Lane]) -> list[Lane]:
        """Run all lanes to their end; return them in the order of their numbers."""
        try:
            with _no_collection():
                self._run_all(lanes)
        finally:
            for lane in self._live:  # none, unless something went wrong
                lane.abandon()
        return sorted(self._done, key=lambda lane: lane.index)

    def _run_all(self, lanes: Iterator[Lane]) -> None:
        more = True
        while more or self._waiting:
            while more and len(self._live) < self.most_live:
                lane = next(lanes, None)
                if lane is None:
                    more = False
                else:
                    self._live.add(lane)
                    self._go_on(lane, lane.switch, None)
            if self._waiting:
                key = max(self._waiting, key=lambda key: len(self._waiting[key]))
                self._answer(self._waiting.pop(key))

    def _go_on(self, lane: Lane, resume: Callable[..., Any], value: Any) -> None:
        """Let a lane run until it ends or waits for an answer that is not remembered."""
        while True:
            resume(value)
            if lane.dead:
                self._end(lane)
                return
            function, arguments = lane.question
            place = lane.place
            if place is not None:
                memory = self._memory(function)
                if memory.knows(place):
                    resume, value = lane.switch, memory.at(place)
                    continue
            key = function.function, len(arguments)
            self._waiting.setdefault(key, []).append(lane)
            return

    def _end(self, lane: Lane) -> None:
        self._live.discard(lane)
        self._done.append(lane)

    def _memory(self, function: BoundBatched) -> Memory:
        return self.answers.memory(function.function.__name__)

    def _answer(self, lanes: list[Lane]) -> None:
        """Call a function once for all lanes that wait for it."""
        function, _ = lanes[0].question
        places = [lane.place for lane in lanes]
        sent, source = _distinct(places)
        cases = [lanes[number].question[1] for number in sent]
        columns = [to_column(list(column)) for column in zip(*cases, strict=True)]
        self.answers.rows_sent += len(cases)
        answers, failed = call_batch(function, columns, len(cases))
        known = [n for n, number in enumerate(sent) if places[number] is not None]
        if known:
            at = np.array([places[sent[n]] for n in known])
            index = np.array(known)
            self._memory(function).keep(at, take(answers, index), failed[index])
        values, bad = items(answers), failed.tolist()
        for lane, number, place in zip(lanes, source, places, strict=True):
            if bad[number]:
                self._fail(lane, function, cases[number])
            else:
                value = values[number] if place is None else fresh(values[number])
                self._go_on(lane, lane.switch, value)

    def _fail(self, lane: Lane, function: BoundBatched, case: tuple[Any, ...]) -> None:
        """Raise in a lane what the function raises for its case alone."""
        if function.function.draws:
            lane.abandon()
            lane.failure = Unrepeatable()
            self._end(lane)
            return
        try:
            answer = items(function.many(*([argument] for argument in case)))[0]
        except ModelError:
            raise
        except Exception as error:
            self._go_on(lane, lane.throw, error)
        else:
            self._go_on(lane, lane.switch, answer)


def _distinct(places: list[int | None]) -> tuple[list[int], list[int]]:
    """Return which lanes' cases to send, and from which of those each lane is served."""
    sent: list[int] = []
    source: list[int] = []
    first: dict[int, int] = {}
    for number, place in enumerate(places):
        if place is not None and place in first:
            source.append(first[place])
            continue
        if place is not None:
            first[place] = len(sent)
        source.append(len(sent))
        sent.append(number)
    return sent, source


@contextmanager
def _no_collection() -> Iterator[None]:
    """Keep the cyclic collector still: with many live greenlets it halves the speed."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
