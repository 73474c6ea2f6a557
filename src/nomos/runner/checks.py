"""Where the flakiness check of a run happens: in a process of its own, if that can be.

A domain that comes from a file is built anew there. Functions at hand exist in this
process only, and a second model on a device may not fit beside the first: then the
campaign's own worker runs the cases otherwise, and the result says so.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from nomos.domain.meter import Meter, Phase
from nomos.errors import NomosError
from nomos.results.result import Result
from nomos.runner import posix
from nomos.runner.campaigns.explained.flakiness import (
    FlakinessFound,
    FlakinessSample,
    needs_check,
    with_flakiness,
)
from nomos.runner.executors.worker import Setting
from nomos.runner.jobs import Job
from nomos.runner.options import Options
from nomos.runner.stopping import Signals
from nomos.runner.tasks import Tasks

_PHASE: Phase = "flakiness check"
_LONGEST_S = 60.0  # that building a domain, or a call of its model, may take

Ask = Callable[..., Any]  # a meter, a job, what for, a method of a worker, arguments


class FlakinessChecks:
    """The flakiness checks of one run, and the process that they share."""

    def __init__(self, setting: Setting, options: Options, signals: Signals) -> None:
        self.setting = setting
        self.options = options
        self._signals = signals
        self._tasks: Tasks | None = None
        longest = options.call_timeout_s or _LONGEST_S
        self._limits = replace(options, jobs=1, call_timeout_s=longest)

    def prepare(self, jobs: Sequence[Job]) -> None:
        """Start what a fresh process is forked from, while cases run."""
        if self.options.recheck and any(map(self._can_be_fresh, jobs)):
            self._preload_server(())

    def check_result(self, job: Job, meter: Meter, ask: Ask, result: Result) -> Result:
        """Return a result that says whether its cases are flaky."""
        if not self.options.recheck or not needs_check(result):
            return result
        plain = replace(result, live=None, bugs=(), crashes=())
        sample: FlakinessSample = ask(meter, job, _PHASE, "sample_cases", plain)
        if not sample.cases.count:
            return result
        is_fresh = result.verdict != "violated" and self._can_be_fresh(job)
        if self.options.placement.is_rounded:  # its answers differ by batch as it is
            found, is_fresh = FlakinessFound(), False
        elif is_fresh:
            found = self._check_fresh(meter, job, sample)
        else:
            found = ask(meter, job, _PHASE, "check_cases", sample, False)
        accepted = self.options.accept_flaky
        return with_flakiness(
            result, sample, found, is_fresh=is_fresh, accepted=accepted
        )

    def _can_be_fresh(self, job: Job) -> bool:
        is_here = self.options.engine == "processes" and self.options.device == "cpu"
        is_known = not job.is_at_hand and job.prepared is None
        return posix.CAN_START_WORKERS and is_here and is_known

    def _check_fresh(
        self, meter: Meter, job: Job, sample: FlakinessSample
    ) -> FlakinessFound:
        """Let a process do it in which no model has answered yet."""
        tasks = self._fresh_tasks()
        task = "check_cases", replace(job, loaded=None, prepared=None), sample, True
        answer = tasks.wait_for(tasks.submit(meter, _PHASE, *task))
        if answer.crash is not None:
            reason = answer.crash.reason
            return FlakinessFound(error=f"run again in a fresh process: {reason}")
        if isinstance(answer.error, NomosError):
            said = f"it cannot be run in a fresh process: {answer.error}"
            return FlakinessFound(error=said)
        if answer.error is not None:
            raise answer.error
        found: FlakinessFound = answer.value
        self._preload_server(found.imported)
        return found

    def _fresh_tasks(self) -> Tasks:
        if self._tasks is None:
            from nomos.runner.executors import forking, processes

            launch = forking.fork_process if posix.CAN_FORK else processes.spawn_process
            pool = processes.ProcessPool(self.setting, self._limits, launch)
            self._tasks = Tasks(pool, self._signals)
        return self._tasks

    def _preload_server(self, names: Sequence[str]) -> None:
        """Start what forks, if need be, and let it import these before the next fork."""
        if posix.CAN_FORK:
            from nomos.runner.executors import forking

            forking.start_server().preload.update(names)

    def close(self) -> None:
        """End the process."""
        if self._tasks is not None:
            self._tasks.pool.close()
            self._tasks = None
