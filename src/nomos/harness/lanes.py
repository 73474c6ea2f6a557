"""Run a block as Python for many cases at once: each case is a lane, a greenlet.

Where a lane calls a batched function, however deep inside the domain's code, it parks;
when no lane can go on, the function that most of them wait for is called once for all
of these. The user's code stays as it is.
"""

from __future__ import annotations

import ast
import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from greenlet import getcurrent, greenlet

from nomos.domain.functions import BoundBatched
from nomos.domain.records import Column, items, take, to_column
from nomos.errors import Discard, ModelError
from nomos.harness.choices import NoSuchNumber, bounded, generator, seed_of
from nomos.harness.chunk import Chunk, Fate
from nomos.harness.columns import Answers, Columns, call_batch
from nomos.harness.drawing import RandomDraws
from nomos.harness.emit import function_of
from nomos.harness.program import Program, Running, is_value

Array = np.ndarray[Any, Any]
MOST_LIVE = 512  # more live greenlets cost more than larger batches win


class LaneDraws:
    """The draws that the block of one case makes, after those of its vars."""

    def __init__(self, chunk: Chunk, row: int, position: int) -> None:
        self.chunk = chunk
        self.row = row
        self.position = position
        self.choices: list[int] = []

    def _word(self) -> int:
        draws = self.chunk.draws
        if not isinstance(draws, RandomDraws):
            raise LookupError("the block draws, so its cases cannot be listed")
        return int(draws.words(self.position + len(self.choices))[self.row])

    def integer(self, low: int, high: int) -> int:
        """Draw from low..high, both included."""
        if low > high:
            raise NoSuchNumber(f"randInt({low}, {high})")
        value = bounded(self._word(), low, high)
        self.choices.append(value)
        return value

    def generator(self) -> np.random.Generator:
        """Draw a generator."""
        seed = seed_of(self._word())
        self.choices.append(seed)
        return generator(seed)


class Lane(greenlet):
    """One running case."""

    def __init__(
        self, run: Callable[[Lane], None], index: int, running: Running
    ) -> None:
        super().__init__(run)
        self.index = index
        self.running = running
        self.result: tuple[Any, ...] | None = None
        self.failure: Exception | None = None
        self.asked: tuple[BoundBatched, tuple[Any, ...]] | None = None

    def ask(self, function: BoundBatched, arguments: tuple[Any, ...]) -> Any:
        """Park until the answer is there."""
        self.asked = function, arguments
        assert self.parent is not None
        return self.parent.switch()


def _current() -> Running:
    lane = getcurrent()
    assert isinstance(lane, Lane)
    return lane.running


class Lanes:
    """A block compiled to a function that runs in lanes."""

    def __init__(self, program: Program, most_live: int = MOST_LIVE) -> None:
        self.program = program
        self.most_live = most_live
        spec = program.spec
        self.parameters = [*spec.inputs, *(let.name for let in spec.variables)]
        outputs = ast.Tuple([ast.Name(o, ast.Load()) for o in spec.outputs], ast.Load())
        body = [*spec.code.statements, ast.Return(outputs)]
        module = function_of("block", self.parameters, body)
        names = program.namespace(_current)
        exec(compile(module, spec.source.name, "exec"), names)
        self._block: Callable[..., tuple[Any, ...]] = names["block"]

    def run(self, columns: Columns, answers: Answers) -> int:
        """Run the block for every case still in the chunk; return the largest k."""
        count = len(columns.chunk.rows)
        with _no_collection():
            lanes = _Hub(self.most_live, answers).run(self._lanes(columns))
        lanes.sort(key=lambda lane: lane.index)
        assert len(lanes) == count
        self._hand_back(columns, lanes)
        return max((lane.running.calls for lane in lanes), default=0)

    def _lanes(self, columns: Columns) -> Iterator[Lane]:
        chunk = columns.chunk
        values = [items(columns.column(name)) for name in self.parameters]
        places = [columns.scope[name].places for name in self.program.spec.inputs]
        positions = np.broadcast_to(chunk.position, chunk.rows.shape).tolist()
        for index, row in enumerate(chunk.rows.tolist()):
            arguments = [column[index] for column in values]
            running = Running(self.program, LaneDraws(chunk, row, positions[index]))
            for argument, place in zip(arguments, places, strict=False):
                assert place is not None
                running.drawn[id(argument)] = int(place[index])
            yield Lane(self._runner(arguments), index, running)

    def _runner(self, arguments: list[Any]) -> Callable[[Lane], None]:
        def run(lane: Lane) -> None:
            try:
                lane.result = self._block(*arguments)
            except Exception as error:
                lane.failure = error

        return run

    def _hand_back(self, columns: Columns, lanes: list[Lane]) -> None:
        """Give the outputs their columns, and let the cases that failed go."""
        chunk = columns.chunk
        made = [tuple(lane.running.draws.choices) for lane in lanes]
        if any(made):
            chunk.choices.append(made)
            chunk.position = chunk.position + np.array([len(draws) for draws in made])
        for lane in lanes:
            if lane.failure is not None:
                discarded = isinstance(lane.failure, Discard)
                fate = Fate.DISCARDED if discarded else Fate.HARD
                why = str(lane.failure) if discarded else ""
                chunk.mark(np.array([lane.index]), None, fate, why)
        good = next((lane.result for lane in lanes if lane.result is not None), None)
        for number, name in enumerate(self.program.spec.outputs):
            values = [(lane.result or good or _ZEROS)[number] for lane in lanes]
            columns.bind(name, _output(values))
        chunk.settle()


class _Zeros:
    """Stands in for the outputs of cases that failed, every one of them."""

    def __getitem__(self, number: int) -> int:
        return 0


_ZEROS = _Zeros()


def _output(values: list[Any]) -> Column:
    """Return outputs as a column; numpy's own wide numbers behave as Python's."""
    wide = (np.int64, np.float64, np.bool_)
    return to_column([v.item() if isinstance(v, wide) else v for v in values])


class _Hub:
    """Runs lanes until they park or end, and asks batched functions for them."""

    def __init__(self, most_live: int, answers: Answers) -> None:
        self.most_live = most_live
        self.answers = answers
        self.waiting: dict[Any, list[Lane]] = {}
        self.live = 0
        self.done: list[Lane] = []

    def run(self, lanes: Iterator[Lane]) -> list[Lane]:
        while True:
            while (
                self.live < self.most_live and (lane := next(lanes, None)) is not None
            ):
                self.live += 1
                lane.parent = getcurrent()
                self._go_on(lane, lane.switch, lane)
            if not self.waiting:
                return self.done
            busiest = max(self.waiting, key=lambda key: len(self.waiting[key]))
            self._answer(self.waiting.pop(busiest))

    def _go_on(self, lane: Lane, resume: Callable[..., Any], value: Any) -> None:
        """Let a lane run until it ends or waits for an answer that is not remembered."""
        while True:
            resume(value)
            if lane.dead:
                self.live -= 1
                self.done.append(lane)
                return
            assert lane.asked is not None
            function, arguments = lane.asked
            place = _place(lane, arguments)
            if place is not None:
                memory = self.answers.memory(function.function.__name__)
                if memory.known[place]:
                    resume, value = lane.switch, memory.at(place)
                    continue
            key = function.function, len(arguments)
            self.waiting.setdefault(key, []).append(lane)
            return

    def _answer(self, lanes: list[Lane]) -> None:
        """Call a function once for all lanes that wait for it."""
        asked = [lane.asked for lane in lanes if lane.asked is not None]
        function = asked[0][0]
        places = [
            _place(lane, arguments)
            for lane, (_, arguments) in zip(lanes, asked, strict=True)
        ]
        sent, source = _distinct(places)
        cases = [asked[number][1] for number in sent]
        columns = [to_column(list(column)) for column in zip(*cases, strict=True)]
        self.answers.rows_sent += len(cases)
        answers, failed = call_batch(function, columns, len(cases))
        known = [
            n
            for n, lane in enumerate(sent)
            if places[lane] is not None and not failed[n]
        ]
        if known:
            memory = self.answers.memory(function.function.__name__)
            at = np.array([places[sent[n]] for n in known])
            memory.keep(at, take(answers, np.array(known)))
        values = items(answers)
        for lane, number in zip(lanes, source, strict=True):
            if failed[number]:
                self._fail(lane, function, cases[number])
            else:
                self._go_on(lane, lane.switch, values[number])

    def _fail(self, lane: Lane, function: BoundBatched, case: tuple[Any, ...]) -> None:
        """Raise in a lane what the function raises for its case alone."""
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


def _place(lane: Lane, arguments: tuple[Any, ...]) -> int | None:
    """Return which item of the source is asked about, if it is one as it was drawn."""
    if len(arguments) != 1 or not is_value(arguments[0]):
        return None
    return lane.running.drawn.get(id(arguments[0]))


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
