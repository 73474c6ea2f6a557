"""Run pieces of Python side by side, so that their questions are asked together.

A coroutine is one piece in a greenlet. Where it calls a batched function, however deep
inside the domain's code, it parks; when no coroutine can go on, the function that most of
them wait for is called once for all of these. The user's code stays as it is.

Say that 500 cases run `while` loops that ask a model. One after the other, these are
thousands of calls with one row each. As coroutines, each loop runs until its first question and
parks; one call answers all 500, and the loops go on to their next question. There are as
many calls as the longest case has questions, not as all have together. Waiting for "most"
keeps coroutines together that have gone different ways through their code.

The limits: a switch costs microseconds and a greenlet memory, so a worker runs one coroutine
after the other and few are live at once (`MOST_LIVE`). CoroutineBlock share the domain's object, as
cases that run in turn do; a batch that drew and then failed cannot be asked again case by
case, so its cases run in isolation (`Unrepeatable`).
"""

from __future__ import annotations

import gc
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from greenlet import GreenletExit, getcurrent, greenlet

from nomos.device import Array
from nomos.domain.failure import raise_own
from nomos.domain.functions import BoundBatched, listen
from nomos.domain.meter import current_lease
from nomos.domain.records import Column, items, take, to_column
from nomos.engine.answers import UNKNOWN, Answers, call_batch, fresh
from nomos.engine.meaning.running import Running
from nomos.errors import ModelError

MOST_TURNS = 8  # what a case asks of one item more often is not remembered
MOST_LIVE = 512  # more live greenlets cost more than larger batches win


class Unrepeatable(Exception):
    """A batch that drew has failed: what each coroutine would have got, nobody knows."""


class Coroutine(Running):
    """One piece of Python to run, and what became of it."""

    __slots__ = ("arguments", "asked_of", "failure", "function", "is_lost", "result")

    def __init__(
        self, function: Callable[..., Any], arguments: Sequence[Any] = ()
    ) -> None:
        self.function = function
        self.arguments = arguments
        self.result: Any = None
        self.failure: BaseException | None = None
        self.is_lost = False  # whatever it does from now on, its case runs in isolation
        self.calls = 0
        self.asked_of: dict[Any, int] | None = None  # how often it was told of an item
        self.in_block = False


# Of an item of the source: for the how many-th time a case asks, and its place.
About = tuple[int, int]
# A worker, what it waits for, and about which item of the source that is, if any.
Question = tuple["CoroutineWorker", BoundBatched, tuple[Any, ...], About | None]


class CoroutineWorker(greenlet):
    """Runs one coroutine after the other; making a greenlet for each costs more than that."""

    __slots__ = ("_wait", "abandoned", "coroutine", "hub")

    def __init__(self, hub: Hub, coroutine: Coroutine) -> None:
        super().__init__(self._run)
        self.gr_context = copy_context()  # numpy's settings hold here too
        self.hub = hub
        self.coroutine = coroutine
        self.abandoned = False
        self._wait: Callable[[], Any] = getcurrent().switch

    def _run(self, _: Any = None) -> None:
        coroutine: Coroutine | None = self.coroutine
        while coroutine is not None and not self.abandoned:
            self.coroutine = coroutine
            listen(coroutine)
            try:
                coroutine.result = coroutine.function(*coroutine.arguments)
            except BaseException as error:
                raise_own(error)
                coroutine.failure = error
            if coroutine.is_lost:
                coroutine.failure = Unrepeatable()
            coroutine = next(self.hub.coroutines, None)

    def ask(self, function: BoundBatched, arguments: tuple[Any, ...]) -> Any:
        """Return the answer if it is remembered, else park until it is there."""
        hub, about = self.hub, None
        if function.function.is_model:
            self.coroutine.calls += 1
        if hub.remembers and len(arguments) == 1:
            place = self.coroutine.place(arguments[0])
            about = None if place is None else _about(self.coroutine, function, place)
            if about is not None:
                known = hub.answers.recall_answer(function, *about)
                if known is not UNKNOWN:
                    return known
        question = self, function, arguments, about
        hub.waiting[function.function, len(arguments)].append(question)
        return self._wait()

    def abandon(self) -> None:
        """Run no further."""
        self.abandoned = True
        self._wait = partial(self.throw, GreenletExit)
        self._wait()


def _about(coroutine: Coroutine, function: BoundBatched, place: int) -> About | None:
    """Return for the how many-th time a case asks of an item; None: too often."""
    key = function.function, place
    if coroutine.asked_of is None:
        coroutine.asked_of = {key: 0}
        return 0, place
    turn = coroutine.asked_of[key] = coroutine.asked_of.get(key, -1) + 1
    return (turn, place) if turn < MOST_TURNS else None


@dataclass(slots=True, eq=False)
class Hub:
    """Runs coroutines until they park or end, and asks batched functions for them."""

    answers: Answers
    most_live: int = MOST_LIVE
    remembers: bool = False  # what is said of the items that a coroutine drew
    coroutines: Iterator[Coroutine] = field(init=False)  # not begun
    waiting: dict[Any, list[Question]] = field(
        default_factory=partial(defaultdict, list)
    )
    _workers: list[CoroutineWorker] = field(default_factory=list)

    def run(self, coroutines: Sequence[Coroutine]) -> None:
        """Run all coroutines to their end."""
        self.coroutines = iter(coroutines)
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
            coroutine = next(self.coroutines, None)
            if coroutine is None:
                break
            worker = CoroutineWorker(self, coroutine)
            self._workers.append(worker)
            worker.switch()
        while self.waiting:
            key = max(self.waiting, key=lambda key: len(self.waiting[key]))
            self._answer(self.waiting.pop(key))

    def _answer(self, questions: list[Question]) -> None:
        """Call a function once for all workers that wait for it."""
        workers, functions, asked, places = zip(*questions, strict=True)
        function: BoundBatched = functions[0]
        sent, source = _distinct(
            places, lambda about: self.answers.is_asked_twice(function, *about)
        )
        cases = asked if sent is None else [asked[number] for number in sent]
        self.answers.rows_sent += len(cases)

        def columns(chosen: slice) -> list[Any]:
            return [to_column(list(c)) for c in zip(*cases[chosen], strict=True)]

        answers, failed = call_batch(function, columns, len(cases))
        values = items(answers)
        if sent is None and not failed.any():
            for worker, value in zip(workers, values, strict=True):
                worker.switch(value)
            return
        self._keep(function, [places[n] for n in sent or ()], answers, failed)
        bad = failed.tolist()
        for worker, number, place in zip(workers, source, places, strict=True):
            if bad[number]:
                self._fail(worker, function, cases[number])
            else:
                value = values[number]
                worker.switch(value if place is None else fresh(value))

    def _keep(
        self,
        function: BoundBatched,
        places: list[About | None],
        answers: Column,
        failed: Array,
    ) -> None:
        """Remember what was said of items as they were drawn."""
        parts: dict[tuple[bool, int], list[int]] = {}  # second answers come last
        seen: set[About] = set()
        for number, about in enumerate(places):
            if about is not None:
                parts.setdefault((about in seen, about[0]), []).append(number)
                seen.add(about)
        for (_, turn), numbers in sorted(parts.items()):
            index = np.array(numbers)
            at = np.array([places[number][1] for number in numbers])  # type: ignore[index]  # not None
            memory = self.answers.memory((function.function.__name__, turn))
            memory.keep(at, take(answers, index), failed[index])

    def _fail(
        self, worker: CoroutineWorker, function: BoundBatched, case: tuple[Any, ...]
    ) -> None:
        """Raise in a worker what the function raises for its case alone."""
        if function.function.draws:
            worker.coroutine.is_lost = True
            worker.throw(Unrepeatable())
            return
        try:
            answer = items(function.many(*([argument] for argument in case)))[0]
        except BaseException as error:
            raise_own(error, ModelError)
            worker.throw(error)
        else:
            current_lease().note_exception(current_lease().failure)
            worker.switch(answer)


def _distinct(
    places: Sequence[About | None], is_asked_twice: Callable[[About], bool]
) -> tuple[list[int] | None, Sequence[int]]:
    """Return whose cases to send (None: all), and from which each coroutine is served.

    Some items are asked for twice, to see whether the answer moves.
    """
    if places.count(None) == len(places):
        return None, range(len(places))
    sent: list[int] = []
    source: list[int] = []
    first: dict[About, int] = {}
    second: set[About] = set()
    for number, place in enumerate(places):
        if place is not None and place in first:
            if place in second or not is_asked_twice(place):
                source.append(first[place])
                continue
            second.add(place)
        elif place is not None:
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
