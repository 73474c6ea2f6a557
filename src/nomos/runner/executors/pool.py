"""What an executor offers: tasks in, answers out, and word of a worker that died."""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from nomos.domain.meter import Grant, Phase
from nomos.engine.evaluated import ChunkCrash, EvaluatedChunk, no_verdicts
from nomos.engine.interpreter import Verdict
from nomos.runner.executors.worker import Worker


@dataclass(frozen=True, slots=True)
class WorkerCrash:
    """A worker that ended in the middle of a task.

    `row` is the case of the range that was under way, where the range ran one by one.
    """

    reason: str
    row: int | None = None

    def find_verdict(self) -> EvaluatedChunk:
        """Return the verdict on the one case that did it."""
        evaluated = no_verdicts(1)
        evaluated.verdicts[:] = Verdict.CRASHED
        evaluated.accepted[:] = True
        evaluated.crashes = (ChunkCrash(0, (), self.reason, ""),)
        return evaluated


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of a task: its value, an error to raise, or the worker's death.

    `asked` are the calls that it made, by what for; None where nobody knows.
    """

    ticket: int
    value: Any = None
    error: Exception | None = None
    crash: WorkerCrash | None = None
    asked: Mapping[Phase, int] | None = None
    raised: Mapping[str, int] = field(default_factory=dict)  # by the model


class WorkerPool(ABC):
    """Workers that take tasks; each worker does one after the other."""

    size = 1  # tasks that can be under way
    can_tell_row = False  # whether a death names the case that was under way

    def __init__(self) -> None:
        self._todo: deque[tuple[int, tuple[Any, ...]]] = deque()
        self._tickets = count(1)

    def submit(self, grant: Grant, method: str, *arguments: Any) -> int:
        """Hand in a task, the call of a method of `Worker`; return its ticket."""
        ticket = next(self._tickets)
        self._todo.append((ticket, (grant, method, *arguments)))
        self._give_out()
        return ticket

    def _give_out(self) -> None:  # noqa: B027 - the one in this process waits
        """Give tasks to workers that are idle."""

    @abstractmethod
    def wait(self) -> Sequence[Answer]:
        """Wait until at least one task is done."""

    def drop(self) -> None:
        """Give up all tasks that are under way or wait."""
        self._todo.clear()

    def close(self) -> None:
        """End all workers."""
        self.drop()


class InlinePool(WorkerPool):
    """The one worker in this process."""

    def __init__(self, worker: Worker) -> None:
        super().__init__()
        self.worker = worker

    def wait(self) -> Sequence[Answer]:
        """Do the next task."""
        ticket, task = self._todo.popleft()
        try:
            done = self.worker.run_task(*task)
        except Exception as error:
            return [Answer(ticket, error=error, asked=self.worker.lease.asked)]
        return [Answer(ticket, done.value, asked=done.asked, raised=done.raised)]
