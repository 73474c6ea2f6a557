"""Run a block as Python for many cases at once: each case is a lane of the hub."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from greenlet import getcurrent

from nomos.domain.records import items, to_column
from nomos.errors import Discard
from nomos.harness.alone import reason
from nomos.harness.asking import Answers
from nomos.harness.choices import bounded, bounds, generator, seed_of
from nomos.harness.chunk import Chunk, Fate
from nomos.harness.columns import Columns
from nomos.harness.emit import function_of
from nomos.harness.hub import MOST_LIVE, Hub, Lane
from nomos.harness.program import Program, Running

Array = np.ndarray[Any, Any]


class LaneDraws:
    """The draws that the block of one case makes, after those of its vars."""

    def __init__(self, chunk: Chunk, row: int, position: int) -> None:
        self.chunk = chunk
        self.row = row
        self.position = position
        self.choices: list[int] = []

    def _word(self) -> int:
        position = self.position + len(self.choices)
        return self.chunk.draws.word(self.row, position)

    def integer(self, low: int, high: int) -> int:
        """Draw from low..high, both included."""
        low, high = bounds(low, high)
        value = bounded(self._word(), low, high)
        self.choices.append(value)
        return value

    def generator(self) -> np.random.Generator:
        """Draw a generator."""
        seed = seed_of(self._word())
        self.choices.append(seed)
        return generator(seed)


def _current() -> Running:
    running: Running = getcurrent().lane.running  # type: ignore[attr-defined]  # a Worker
    return running


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
        lanes = Hub(answers, self.most_live).run(self._lanes(columns))
        assert len(lanes) == len(columns.chunk.rows)
        cases = [lane.running for lane in lanes if lane.running is not None]
        answers.rows_sent += sum(running.unasked for running in cases)
        self._hand_back(columns, lanes, cases)
        return max((running.calls for running in cases), default=0)

    def _lanes(self, columns: Columns) -> Iterator[Lane]:
        chunk = columns.chunk
        values = [items(columns.column(name)) for name in self.parameters]
        cells = [columns.scope[name] for name in self.program.spec.inputs]
        places = [cell.places.tolist() for cell in cells if cell.places is not None]
        positions = np.broadcast_to(chunk.position, chunk.rows.shape).tolist()
        for index, row in enumerate(chunk.rows.tolist()):
            arguments = [column[index] for column in values]
            running = Running(self.program, LaneDraws(chunk, row, positions[index]))
            for argument, place in zip(arguments, places, strict=False):
                running.drawn[id(argument)] = argument, place[index]
            yield Lane(self._work(arguments), index, running)

    def _work(self, arguments: list[Any]) -> Callable[[], tuple[Any, ...]]:
        return lambda: self._block(*arguments)

    def _hand_back(
        self, columns: Columns, lanes: list[Lane], cases: list[Running]
    ) -> None:
        """Give the outputs their columns, and let the cases that failed go."""
        chunk = columns.chunk
        made = [tuple(running.draws.choices) for running in cases]
        if any(made):
            chunk.record_block(made)
        for lane in lanes:
            if isinstance(lane.failure, Discard):
                why = reason(lane.failure, self.program.spec.source)
                chunk.mark(np.array([lane.index]), None, Fate.DISCARDED, why)
            elif lane.failure is not None:
                chunk.mark(np.array([lane.index]), None, Fate.HARD, "")
        good = [lane.result for lane in lanes if lane.failure is None]
        stand_in = good[0] if good else (0,) * len(self.program.spec.outputs)
        results = [stand_in if lane.failure else lane.result for lane in lanes]
        for number, name in enumerate(self.program.spec.outputs):
            columns.bind(name, to_column([result[number] for result in results]))
        chunk.settle()
