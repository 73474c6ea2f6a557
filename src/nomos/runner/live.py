"""The running program behind a result, made ready when it is first needed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nomos.domain.domain import Domain
from nomos.runner.executors.worker import Worker
from nomos.runner.jobs import Job
from nomos.results.result import Bug


class Reopened:
    """A job in this process: its domain, and its cases run again to be drawn."""

    def __init__(self, worker: Worker, job: Job) -> None:
        self._worker = worker
        self._job = job

    @property
    def domain(self) -> Domain:
        """The domain, which knows how records are shown."""
        return self._worker.prepared(self._job).domain

    def values(self, bug: Bug) -> Mapping[str, Any] | None:
        """Return the values of a bug as they are at run time; None where it is gone."""
        return self._worker.prepared(self._job).values(bug)
