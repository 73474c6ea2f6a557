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
from nomos.harness.memory import fresh
from nomos.harness.program import Running, is_value

Array = np.ndarray[Any, Any]
MOST_LIVE = 512  # more live greenlets cost more than larger batches win


class Unrepeatable(Exception):
    """A batch that drew has failed: what each lane would have got, nobody knows."""


class Lane:
    """One piece of Python to run, and what became of it."""

    __slots__ = ("failure", "index", "is_lost", "result", "running", "work")

    def __init__(
        self, work: Callable[[], Any], index: int, running: Running | None = None
    ) -> None:
        self.work = work
        self.index = index
        self.running = running
        self.result: Any = None
        self.failure: Exception | None = None
        self.is_lost = False  # whatever it does from now on, its case runs alone


class Worker(greenlet):
    """Runs one lane after the other; making a greenlet for each costs more than that."""

    def __init__(self, hub: Hub, lane: Lane) -> None:
        super().__init__(self._run)
        self.gr_context = copy_context()  # numpy's settings hold here too
        self.hub = hub
        self.lane = lane
        self.question: tuple[BoundBatched, tuple[Any, ...]] | None = None
        self.place: int | None = None  # which item of the source is asked about
        self.abandoned = False

    @property
    def running(self) -> Running | None:
        """The case that runs."""
        return self.lane.running

    def _run(self, _: Any = None) -> None:
        lane: Lane | None = self.lane
        while lane is not None and not self.abandoned:
            self.lane = lane
            try:
                lane.result = lane.work()
            except Exception as error:
                lane.failure = error
            if lane.is_lost:
                lane.failure = Unrepeatable()
            lane = self.hub.next_after(lane)

    def ask(self, function: BoundBatched, arguments: tuple[Any, ...]) -> Any:
        """Return the answer if it is remembered, else park until it is there."""
        if self.abandoned:
            raise GreenletExit
        self.place = None
        running = self.lane.running
        if running is not None:
            running.asked += 1
            if len(arguments) == 1:
                found = running.drawn.get(id(arguments[0]))
                if found is not None and is_value(arguments[0]):
                    self.place = found[1]
                    memory = self.hub.answers.memory(function.function.__name__)
                    if memory.knows(self.place):
                        return memory.at(self.place)
        self.question = function, arguments
        assert self.parent is not None
        return self.parent.switch()

    def abandon(self) -> None:
        """Run no further."""
        self.abandoned = True
        self.throw(GreenletExit)


class Hub:
    """Runs lanes until they park or end, and asks batched functions for them."""

    def __init__(self, answers: Answers, most_live: int = MOST_LIVE) -> None:
        self.answers = answers
        self.most_live = most_live
        self._lanes: Iterator[Lane] = iter(())
        self._workers: list[Worker] = []
        self._done: list[Lane] = []
        self._waiting: dict[Any, list[Worker]] = {}

    def run(self, lanes: Iterator[Lane]) -> list[Lane]:
        """Run all lanes to their end; return them in the order of their numbers."""
        self._lanes = lanes
        try:
            with no_collection():
                self._run_all()
        finally:
            for (
                worker
            ) in self._workers:  # all at their end, unless something went wrong
                if not worker.dead:
                    worker.abandon()
            # They know each other; without this, the collector would have to find out.
            self._workers, self._lanes = [], iter(())
        done, self._done = self._done, []
        return sorted(done, key=lambda lane: lane.index)

    def next_after(self, lane: Lane) -> Lane | None:
        """Take in a lane that has ended; return the next one to run."""
        self._done.append(lane)
        return next(self._lanes, None)

    def _run_all(self) -> None:
        while len(self._workers) < self.most_live:
            lane = next(self._lanes, None)
            if lane is None:
                break
            worker = Worker(self, lane)
            self._workers.append(worker)
            self._go_on(worker, worker.switch, None)
        while self._waiting:
            key = max(self._waiting, key=lambda key: len(self._waiting[key]))
            self._answer(self._waiting.pop(key))

    def _go_on(self, worker: Worker, resume: Callable[..., Any], value: Any) -> None:
        """Let a worker run until it waits for an answer, or has no more to do."""
        resume(value)
        if worker.dead:
            return
        assert worker.question is not None
        function, arguments = worker.question
        self._waiting.setdefault((function.function, len(arguments)), []).append(worker)

    def _answer(self, workers: list[Worker]) -> None:
        """Call a function once for all workers that wait for it."""
        asked = [worker.question for worker in workers if worker.question is not None]
        function = asked[0][0]
        places = [worker.place for worker in workers]
        sent, source = _distinct(places)
        cases = [asked[number][1] for number in sent]
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
                value = values[number] if place is None else fresh(values[number])
                self._go_on(worker, worker.switch, value)

    def _fail(
        self, worker: Worker, function: BoundBatched, case: tuple[Any, ...]
    ) -> None:
        """Raise in a worker what the function raises for its case alone."""
        if function.function.draws:
            worker.lane.is_lost = True
            self._go_on(worker, worker.throw, Unrepeatable())
            return
        try:
            answer = items(function.many(*([argument] for argument in case)))[0]
        except ModelError:
            raise
        except Exception as error:
            self._go_on(worker, worker.throw, error)
        else:
            self._go_on(worker, worker.switch, answer)


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
def no_collection() -> Iterator[None]:
    """Keep the cyclic collector still: with many live greenlets it halves the speed."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
