"""A control: a spec in which only chance can differ, run beside the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from nomos.results.result import Result
from nomos.runner.driver import Run
from nomos.runner.jobs import Job
from nomos.runner.project.specs import load_spec


def control_jobs(control: Path, jobs: Sequence[Job]) -> list[Job]:
    """Return the jobs of a control: one for each model and settings of the others."""
    loaded = load_spec(control)
    unique = {tuple(sorted(job.settings.items())): job.settings for job in jobs}
    return [Job(control, settings, loaded) for settings in unique.values()]


def add_control(run: Run, control: Run) -> None:
    """Give each result the result of the control with its model, settings and seed."""

    def key(result: Result) -> tuple[object, ...]:
        subject = result.subject
        return subject.model, tuple(sorted(subject.settings.items())), result.seed

    found = {key(result): replace(result, live=None) for result in control.results}
    run.results = [
        replace(result, control=found.get(key(result))) for result in run.results
    ]
    run.failures += control.failures
    run.stopped = control.stopped
