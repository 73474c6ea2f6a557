"""One campaign of a job that is ready, without a store and without explanations."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from nomos.results.result import Result
from nomos.runner.driver import Driver
from nomos.runner.jobs import Job, Prepared
from nomos.runner.options import Options


def run_prepared(prepared: Prepared, seed: int, options: Options) -> Result:
    """Run one campaign of a job that is ready; Ctrl-C is raised after it has ended."""
    options = replace(options, groups=False, shrink=False, recheck=False)
    job = Job(Path(prepared.subject.spec), prepared=prepared)
    run = Driver(Path(), options).run([job], [seed])
    for failure in run.failures:
        raise failure.error
    if run.stopped:
        raise KeyboardInterrupt
    return run.results[0]
