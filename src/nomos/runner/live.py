"""The running program behind a result, made ready when it is first needed."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from functools import cached_property
from typing import Any

from nomos.diagnostics import Span
from nomos.domain.domain import Domain
from nomos.domain.meter import CallsSpent, Meter, Phase
from nomos.engine.engine import Engine
from nomos.engine.interpreter import Outcome
from nomos.engine.program import Program
from nomos.lang import core
from nomos.results.bugs import with_values
from nomos.results.excess import Repeats
from nomos.results.measured import CallCounts
from nomos.results.result import Bug
from nomos.runner.campaigns.explained.explaining import (
    Explained,
    Request,
    check_bugs,
    explain,
)
from nomos.runner.executors.worker import Worker
from nomos.runner.jobs import Job, Prepared


class Reopened:
    """A job in this process: its domain, and its cases run again to be drawn."""

    def __init__(self, worker: Worker, job: Job, meter: Meter | None = None) -> None:
        self._worker = worker
        self._job = job
        self._meter = meter or Meter()

    def meter_calls(self, phase: Phase = "display") -> AbstractContextManager[None]:
        """Count what is asked inside for its campaign, as far as that has calls left."""
        return self._meter.lease_rest(phase, self._worker.setting.terms)

    def count_calls(self, before: CallCounts) -> CallCounts:
        """Return what its campaign asked, with what was asked since it ended."""
        asked = {str(phase): count for phase, count in self._meter.asked.items()}
        return replace(before, asked=sum(asked.values()), by_phase=asked)

    def explain_bugs(self, request: Request) -> Explained:
        """Explain the bugs of a campaign that has ended, by the model that it had."""
        with self.meter_calls("grouping"):
            check_bugs(self.ready_job.engine, with_values(request.result.bugs))
            return explain(self.ready_job, request)

    @property
    def ready_job(self) -> Prepared:
        """The job, ready to run."""
        return self._worker.prepare_job(self._job)

    @property
    def domain(self) -> Domain:
        """The domain, which knows how records are shown."""
        return self.ready_job.domain

    def replay(self, bug: Bug, *, shrunk: bool = False) -> Outcome:
        """Run a bug again, or its shrunk case, with the answers that are kept."""
        with self.meter_calls():
            return self.ready_job.replay(bug, shrunk=shrunk)

    def repeat_bug(self, bug: Bug) -> Repeats | None:
        """Repeat a bug of a random model; None where it has no control."""
        with self.meter_calls():
            return self.ready_job.repeat_bug(bug)

    def values(self, bug: Bug, *, shrunk: bool = False) -> Mapping[str, Any] | None:
        """Return the values of a bug, or of its shrunk case; None where it is gone."""
        values: Mapping[str, Any] = {}
        with suppress(CallsSpent), self.meter_calls():
            values = self.ready_job.replay(bug, shrunk=shrunk).values
        return values or None

    def outputs(self, bug: Bug) -> Mapping[str, Any]:
        """Return what the model says in a bug's case, whether it is violated or not."""
        values: Mapping[str, Any] = {}
        with suppress(CallsSpent), self.meter_calls():
            values = self._telling.replay(bug.choices, bug.records).values
        outputs = self.ready_job.subject.outputs
        return {name: values[name] for name in outputs if name in values}

    @cached_property
    def _telling(self) -> Engine:
        # The values of a case are told where it is violated, so here every one is.
        never = core.Condition(core.Constant(False, span=Span(0, 0)), "false", line=0)
        program = self.ready_job.engine.program
        spec = replace(program.spec, ensures=(never,))
        again = Program(spec, program.domain, program.functions, program.modules)
        return Engine(again, "sequential")
