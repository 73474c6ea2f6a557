"""Run pieces of Python side by side, so that their questions are asked together.

A lane is one piece in a greenlet. Where it calls a batched function, however deep
inside the domain's code, it parks; when no lane can go on, the function that most of
them wait for is called once for all of these. The user's code stays as it is.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import copy_context
from typing import Any

import numpy as np
from greenlet import GreenletExit, getcurrent, greenlet

from nomos.domain.functions import BoundBatched
from nomos.domain.records import items, take, to_column
from nomos.errors import ModelError
from nomos.harness.asking import Answers, call_batch
from nomos.harness.memory import fresh
from nomos.harness.program import Running

Array = np.ndarray[Any, Any]
MOST_LIVE = 256  # more live greenlets cost more than larger batches win


class Unrepeatable(Exception):
    """A batch that drew has failed: what each lane would have got, nobody knows."""


class Lane(Running):
    """One piece of Python to run, and what became of it."""

    __slots__ = ("arguments", "failure", "function", "is_lost", "result")

    def __init__(
        self, function: Callable[..., Any], arguments: Sequence[Any] = ()
    ) -> None:
        self.function = function
        self.arguments = arguments
        self.result: Any = None
        self.failure: Exception | None = None
        self.is_lost = False  # whatever it does from now on, its case runs alone
        self.calls = self.asked = self.unasked = 0


class Worker(greenlet):
    """Runs one lane after the other; making a greenlet for each costs more than that."""

    def __init__(self, hub: Hub, lane: Lane) -> None:
        super().__init__(self._run)
        self.gr_context = copy_context()  # numpy's settings hold here too
        self.hub = hub
        self.lane = lane
        self._hand_over: Callable[[], Any] = getcurrent().switch
        # The question that it waits for: the function, its arguments, and which item
        # of the source it is about, if it is about one as it was drawn.
        self.function: BoundBatched | None = None
        self.arguments: tuple[Any, ...] = ()
        self.place: int | None = None
        self.abandoned = False

    def _run(self, _: Any = None) -> None:
        lane: Lane | None = self.lane
        while lane is not None and not self.abandoned:
            self.lane = lane
            try:
                lane.result = lane.function(*lane.arguments)
            except Exception as error:
                lane.failure = error
            if lane.is_lost:
                lane.failure = Unrepeatable()
            lane = next(self.hub.lanes, None)

    def ask(self, function: BoundBatched, arguments: tuple[Any, ...]) -> Any:
        """Return the answer if it is remembered, else park until it is there."""
        if self.abandoned:
            raise GreenletExit
        place, lane = None, self.lane
        lane.asked += 1
        if self.hub.remembers and len(arguments) == 1:
            place = lane.place(arguments[0])
            if place is not None:
                memory = self.hub.answers.memory(function.function.__name__)
                if memory.knows(place):
                    return memory.at(place)
        self.function, self.arguments, self.place = function, arguments, place
        waiting = self.hub.waiting
        key = function.function, len(arguments)
        if key in waiting:
            waiting[key].append(self)
        else:
            waiting[key] = [self]
        return self._hand_over()

    def abandon(self) -> None:
        """Run no further."""
        self.abandoned = True
        self.throw(GreenletExit)


class Hub:
    """Runs lanes until they park or end, and asks batched functions for them."""

    def __init__(
        self,
        answers: Answers,
        *,
        most_live: int = MOST_LIVE,
        remembers: bool = False,
    ) -> None:
        self.answers = answers
        self.most_live = most_live
        self.remembers = remembers  # what is said of the items that a lane drew
        self.lanes: Iterator[Lane] = iter(())  # those that have not begun
        self.waiting: dict[Any, list[Worker]] = {}
        self._workers: list[Worker] = []

    def run(self, lanes: Sequence[Lane]) -> None:
        """Run all lanes to their end."""
        self.lanes = iter(lanes)
        try:
            with no_collection():
                self._run_all()
        finally:
            for worker in self._workers:
                if not worker.dead:  # something went wrong
                    worker.abandon()
            # They know each other; without this, the collector would have to find out.
            self._workers.clear()

    def _run_all(self) -> None:
        while len(self._workers) < self.most_live:
            lane = next(self.lanes, None)
            if lane is None:
                break
            worker = Worker(self, lane)
            self._workers.append(worker)
            worker.switch()
        while self.waiting:
            key = max(self.waiting, key=lambda key: len(self.waiting[key]))
            self._answer(self.waiting.pop(key))

    def _answer(self, workers: list[Worker]) -> None:
        """Call a function once for all workers that wait for it."""
        function = workers[0].function
        assert function is not None
        places = [worker.place for worker in workers]
        sent, source = _distinct(places)
        cases = [workers[number].arguments for number in sent]
        self.answers.rows_sent += len(cases)

        def columns(chosen: slice) -> list[Any]:
            return [to_column(list(c)) for c in zip(*cases[chosen], strict=True)]

        answers, failed = call_batch(function, columns, len(cases))
        known = [n for n, number in enumerate(sent) if places[number] is not None]
        if known:
            at = np.array([places[sent[n]] for n in known])
            index = np.array(known)
            memory = self.answers.memory(function.function.__name__)
            memory.keep(at, take(answers, index), failed[index])
        values, bad = items(answers), failed.tolist()
        for worker, number, place in zip(workers, source, places, strict=True):
            if bad[number]:
                self._fail(worker, function, cases[number])
            else:
                worker.switch(
                    values[number] if place is None else fresh(values[number])
                )

    def _fail(
        self, worker: Worker, function: BoundBatched, case: tuple[Any, ...]
    ) -> None:
        """Raise in a worker what the function raises for its case alone."""
        if function.function.draws:
            worker.lane.is_lost = True
            worker.throw(Unrepeatable())
            return
        try:
            answer = items(function.many(*([argument] for argument in case)))[0]
        except ModelError:
            raise
        except Exception as error:
            worker.throw(error)
        else:
            worker.switch(answer)


def _distinct(places: list[int | None]) -> tuple[list[int], list[int]]:
    """Return which lanes' cases to send, and from which of those each lane is served."""
    if places.count(None) == len(places):
        return list(range(len(places))), list(range(len(places)))
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
def no_collection() -> Iterator[None]:
    """Keep the cyclic collector still: with many live greenlets it halves the speed."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
