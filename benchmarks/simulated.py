"""A pool of workers that are not there: it sends judged chunks as they would.

For the driver it is a pool as any other (`nomos.runner.executors.pool.WorkerPool`), so what is
measured is the driver and its merging alone. This is about the engine itself, which is
why it is built on the parts of `nomos.runner` and not on the public functions.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from nomos.engine.evaluated import EvaluatedChunk, Violations
from nomos.engine.interpreter import Verdict
from nomos.results.result import Ensures, Subject
from nomos.runner.campaigns.bugs import IsolatedRerun
from nomos.runner.campaigns.plans.ranges import Range
from nomos.runner.executors.pool import Answer, WorkerCrash, WorkerPool
from nomos.runner.executors.worker import About

INPUTS = 100_000
CHUNK = 8192  # cases
_AT_ONCE = 8  # answers that the driver finds when it looks


class SimulatedPool(WorkerPool):
    """Workers that answer in any order, find bugs at a rate, die and come back."""

    def __init__(self, size: int, *, bugs: float, deaths: float) -> None:
        super().__init__()
        self.size = size
        self.seconds = 0.0  # of CPU that the simulation itself took
        self.chunks = self.cases = self.died = 0
        self._deaths = deaths
        self._rng = np.random.default_rng(0)
        self._rows = np.flatnonzero(self._rng.random(CHUNK) < bugs)
        self._verdicts = np.full(CHUNK, Verdict.PASSED, dtype=np.int8)
        self._verdicts[self._rows] = Verdict.VIOLATED

    def wait(self) -> Sequence[Answer]:
        """Answer some of the tasks, whichever are done first."""
        began = time.process_time()
        answers = []
        for _ in range(min(_AT_ONCE, len(self._todo))):
            place = int(self._rng.integers(len(self._todo)))
            self._todo[place], self._todo[-1] = self._todo[-1], self._todo[place]
            ticket, (_, method, *arguments) = self._todo.pop()
            answers.append(self._answer(ticket, method, arguments))
        self.seconds += time.process_time() - began
        return answers

    def _answer(self, ticket: int, method: str, arguments: Any) -> Answer:
        match method:
            case "about":
                subject = Subject("simulated.nom", "simulated", ensures=(ENSURES,))
                return Answer(ticket, About(subject, "vectorized", 1, INPUTS, {}))
            case "confirm":
                alone = IsolatedRerun(
                    Verdict.VIOLATED, "d1 <= d2", "", {"x": 1}, {"d1": 1}
                )
                return Answer(ticket, [alone for _ in arguments[1]])
            case _:
                return self._judged(ticket, arguments[2])

    def _judged(self, ticket: int, asked: Range) -> Answer:
        is_first = asked.start == 0 and asked.stop is None
        if is_first and self._rng.random() < self._deaths:
            self.died += 1
            return Answer(ticket, crash=WorkerCrash("its worker was lost"))
        count = (asked.count if asked.stop is None else asked.stop) - asked.start
        self.chunks += 1
        self.cases += count
        return Answer(ticket, [self._chunk(asked.first + asked.start, count)])

    def _chunk(self, first: int, count: int) -> EvaluatedChunk:
        rows = self._rows[: int(np.searchsorted(self._rows, count))]
        cases = first + rows
        choices: Any = np.stack([cases % INPUTS, cases // INPUTS], axis=1)
        many = len(rows)
        return EvaluatedChunk(
            self._verdicts[:count],
            np.ones(count, dtype=bool),
            np.full(count, 2, dtype=np.int32),
            np.full(count, -1, dtype=np.int32),
            violations=Violations(
                rows,
                choices,
                np.full(many, 2, dtype=np.int64),
                np.ones(many, dtype=np.int64),
                np.ones(many),
                np.ones(many, dtype=bool),
            ),
            seconds=0.01,
        )


ENSURES = Ensures("1", "d1 <= d2", 1)
