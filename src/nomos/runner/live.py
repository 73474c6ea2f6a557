"""The running program behind a result, made ready when it is first needed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nomos.domain.domain import Domain
from nomos.results.result import Bug
from nomos.runner.executors.worker import Worker
from nomos.runner.jobs import Job, Prepared
from nomos.runner.outputs import OutputsOf
from nomos.shrinking.shrink import replay_shrunk


class Reopened:
    """A job in this process: its domain, and its cases run again to be drawn."""

    def __init__(self, worker: Worker, job: Job) -> None:
        self._worker = worker
        self._job = job
        self._outputs: OutputsOf | None = None

    @property
    def prepared(self) -> Prepared:
        """The job, ready to run."""
        return self._worker.prepared(self._job)

    @property
    def domain(self) -> Domain:
        """The domain, which knows how records are shown."""
        return self.prepared.domain

    def values(self, bug: Bug) -> Mapping[str, Any] | None:
        """Return the values of a bug as they are at run time; None where it is gone."""
        return self.prepared.values(bug)

    def shrunk_values(self, bug: Bug) -> Mapping[str, Any] | None:
        """Return the values of a bug's smaller case; None where there is none."""
        if bug.shrunk is None:
            return None
        return replay_shrunk(self.prepared.engine, bug.shrunk).values or None

    def outputs(self, bug: Bug) -> Mapping[str, Any]:
        """Return what the model says in a bug's case, whether it is violated or not."""
        if self._outputs is None:
            self._outputs = OutputsOf(self.prepared)
        return self._outputs.outputs(bug.choices, bug.records)
