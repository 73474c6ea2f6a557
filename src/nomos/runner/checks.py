"""Where the flakiness check of a run happens: in a process of its own, if that can be.

A domain that comes from a file is built anew there. Functions at hand exist in this
process only, and a second model on a device may not fit beside the first: then the
campaign's own worker runs the cases otherwise, and the result says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from nomos.errors import NomosError
from nomos.results.result import Result
from nomos.runner.campaigns.explained.flakiness import (
    FlakinessFound,
    FlakinessSample,
    needs_check,
    with_flakiness,
)
from nomos.runner.executors.crew import Crew
from nomos.runner.executors.worker import Setting
from nomos.runner.jobs import Job
from nomos.runner.options import Options
from nomos.runner.stopping import Signals

_LONGEST_S = 60.0  # that building a domain, or a call of its model, may take

Ask = Callable[..., Any]  # a method of a worker, a job and arguments


class FlakinessChecks:
    """The flakiness checks of one run, and the process that they share."""

    def __init__(self, setting: Setting, options: Options, signals: Signals) -> None:
        self.setting = setting
        self.options = options
        self._signals = signals
        self._crew: Crew | None = None
        longest = options.call_timeout_s or _LONGEST_S
        self._limits = replace(options, jobs=1, call_timeout_s=longest)

    def prepare(self, jobs: Sequence[Job]) -> None:
        """Start what a fresh process is forked from, while cases run."""
        if self.options.recheck and any(map(self._can_be_fresh, jobs)):
            from nomos.runner.executors import forking

            if forking.can_fork:
                forking.start_server()

    def checked(self, job: Job, ask: Ask, result: Result) -> Result:
        """Return a result that says whether its cases are flaky."""
        if not self.options.recheck or not needs_check(result):
            return result
        plain = replace(result, live=None, bugs=(), crashes=())
        sample: FlakinessSample = ask("sample_cases", job, plain)
        if not len(sample.rows):
            return result
        if self.options.placement.is_rounded:  # its answers differ by batch as it is
            found, is_fresh = FlakinessFound(), False
        else:
            is_fresh = result.verdict != "violated" and self._can_be_fresh(job)
            ask = self._ask_fresh if is_fresh else ask
            found = ask("check_cases", job, sample, is_fresh)
        accepted = self.options.accept_unstable
        return with_flakiness(
            result, sample, found, is_fresh=is_fresh, accepted=accepted
        )

    def _can_be_fresh(self, job: Job) -> bool:
        is_here = self.options.engine == "processes" and self.options.device == "cpu"
        return is_here and not job.is_at_hand and job.prepared is None

    def _ask_fresh(self, method: str, job: Job, *arguments: Any) -> FlakinessFound:
        """Let a process do it in which no model has answered yet."""
        crew = self._fresh_crew()
        fresh = replace(job, loaded=None, prepared=None)
        ticket = crew.submit(method, fresh, *arguments)
        while True:
            with self._signals.raised():
                answers = crew.wait()
            for answer in answers:
                if answer.ticket != ticket:
                    continue
                if answer.died is not None:
                    return FlakinessFound(
                        error=f"run again in a fresh process: {answer.died.reason}"
                    )
                if isinstance(answer.error, NomosError):
                    return FlakinessFound(
                        error=f"it cannot be run in a fresh process: {answer.error}"
                    )
                if answer.error is not None:
                    raise answer.error
                return self._learned(answer.value)

    def _fresh_crew(self) -> Crew:
        if self._crew is None:
            from nomos.runner.executors import forking, processes

            forks = forking.can_fork
            launch = forking.fork_process if forks else processes.spawn_process
            self._crew = processes.ProcessCrew(self.setting, self._limits, launch)
        return self._crew

    def _learned(self, found: FlakinessFound) -> FlakinessFound:
        from nomos.runner.executors import forking

        if forking.can_fork:
            forking.start_server().preload.update(found.imported)
        return found

    def close(self) -> None:
        """End the process."""
        if self._crew is not None:
            self._crew.close()
            self._crew = None
