"""What an executor offers: tasks in, answers out, and word of a worker that died."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from nomos.engine.alone import Verdict
from nomos.engine.judged import CrashedCase, Judged
from nomos.runner.executors.worker import Worker


@dataclass(frozen=True, slots=True)
class Task:
    """A call of a method of `Worker`."""

    method: str
    arguments: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Died:
    """A worker that ended in the middle of a task.

    `row` is the case of the range that was under way, where the range ran one by one.
    """

    reason: str
    row: int | None = None

    def judged(self) -> Judged:
        """Return the verdict on the one case that did it."""
        return Judged(
            np.array([Verdict.CRASHED], dtype=np.int8),
            np.zeros(1, dtype=bool),
            np.zeros(1, dtype=np.int32),
            np.full(1, -1, dtype=np.int32),
            crashes=(CrashedCase(0, (), self.reason, ""),),
        )


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of a task: its value, an error to raise, or the worker's death."""

    ticket: int
    value: Any = None
    error: Exception | None = None
    died: Died | None = None


class Crew(Protocol):
    """Workers that take tasks; each worker does one after the other."""

    size: int  # tasks that can be under way
    can_tell_row: bool  # whether a death names the case that was under way

    def submit(self, task: Task) -> int:
        """Hand in a task; return its ticket."""
        ...

    def wait(self) -> Sequence[Answer]:
        """Wait until at least one task is done."""
        ...

    def drop(self) -> None:
        """Give up all tasks that are under way or wait."""
        ...

    def close(self) -> None:
        """End all workers."""
        ...


class InlineCrew:
    """The one worker in this process."""

    size = 1
    can_tell_row = False

    def __init__(self, worker: Worker) -> None:
        self.worker = worker
        self._todo: list[tuple[int, Task]] = []
        self._tickets = 0

    def submit(self, task: Task) -> int:
        """Hand in a task; return its ticket."""
        self._tickets += 1
        self._todo.append((self._tickets, task))
        return self._tickets

    def wait(self) -> Sequence[Answer]:
        """Do the next task."""
        ticket, task = self._todo.pop(0)
        try:
            value = getattr(self.worker, task.method)(*task.arguments)
        except Exception as error:
            return [Answer(ticket, error=error)]
        return [Answer(ticket, value)]

    def drop(self) -> None:
        """Give up all tasks that wait."""
        self._todo.clear()

    def close(self) -> None:
        """Nothing is left behind."""
