"""Tasks of a run: handed to its workers, each under a lease of its campaign's meter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from nomos.domain.meter import Grant, Meter, Phase
from nomos.engine.cases import KnownCase
from nomos.engine.interpreter import Verdict
from nomos.runner.campaigns.bugs import IsolatedRerun
from nomos.runner.executors.pool import Answer, InlinePool, WorkerPool
from nomos.runner.jobs import Job
from nomos.runner.stopping import Signals


@dataclass(slots=True)
class Tasks:
    """Tasks under way and their answers; a task that was dropped has spent its lease."""

    pool: WorkerPool
    signals: Signals
    answers: dict[int, Answer] = field(default_factory=dict)
    _granted: dict[int, tuple[Meter, Phase, int | None]] = field(default_factory=dict)

    def submit(
        self,
        meter: Meter,
        phase: Phase,
        method: str,
        job: Job,
        *arguments: Any,
        most: int | None = None,
    ) -> int:
        """Hand in a task that may make `most` calls (None: all there are); return its ticket."""
        granted = meter.grant(most, from_reserve=phase != "search")
        if isinstance(self.pool, InlinePool):
            self.pool.worker.report_calls = meter.note_calls
        else:  # a killed run may have spent all that is held; others load the job
            meter.note_calls(meter.held)
            job = replace(job, loaded=None, prepared=None)
        grant = Grant(granted, phase, meter.campaign, meter.find_ends())
        ticket = self.pool.submit(grant, method, job, *arguments)
        self._granted[ticket] = meter, phase, granted
        return ticket

    def wait(self) -> None:
        """Wait until at least one task is done."""
        with self.signals.raise_inside():
            answers = self.pool.wait()
        for answer in answers:
            self.answers[answer.ticket] = answer
            self._granted[answer.ticket][0].raised.update(answer.raised)
            self._settle(answer.ticket, answer.asked)

    def wait_for(self, ticket: int) -> Answer:
        """Wait for the answer to a task, and take it."""
        while ticket not in self.answers:
            self.wait()
        return self.answers.pop(ticket)

    def confirm(
        self, meter: Meter, phase: Phase, job: Job, cases: Sequence[KnownCase]
    ) -> list[IsolatedRerun]:
        """Run cases in isolation, as many as calls are left for.

        One that kills its worker has crashed.
        """
        if not cases:
            return []
        most = meter.reserve // 2 if meter.limit and phase == "known bugs" else None
        ticket = self.submit(meter, phase, "confirm", job, list(cases), most=most)
        answer = self.wait_for(ticket)
        if answer.error is not None:
            raise answer.error
        if answer.crash is None:
            done: list[IsolatedRerun] = answer.value
            return done
        if len(cases) == 1:
            return [IsolatedRerun(Verdict.CRASHED, answer.crash.reason, "", {}, {})]
        half = len(cases) // 2
        first = self.confirm(meter, phase, job, cases[:half])
        return first + self.confirm(meter, phase, job, cases[half:])

    def drop(self) -> None:
        """Give up all tasks that are under way or wait."""
        self.pool.drop()
        for ticket in list(self._granted):
            self._settle(ticket, None)

    def _settle(self, ticket: int, asked: Any) -> None:
        meter, phase, granted = self._granted.pop(ticket)
        known = {phase: granted or 0} if asked is None else asked
        meter.settle(granted, known, from_reserve=phase != "search")
