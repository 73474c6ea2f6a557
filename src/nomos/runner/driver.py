"""Run jobs: one loop for every caller, every executor and every number of workers.

Campaigns are planned in ranges, evaluated by workers, merged in order: as by one process.
"""

from __future__ import annotations

import gc
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

from nomos.domain.meter import Meter, Phase
from nomos.engine.evaluated import EvaluatedChunk
from nomos.errors import DomainError, NomosError, ServiceDown, Stop
from nomos.results.analysis import Analysis
from nomos.results.measured import CallCounts
from nomos.results.result import Result
from nomos.runner.campaigns.bugs import Confirm
from nomos.runner.campaigns.campaign import DOWN, LATE, Campaign
from nomos.runner.campaigns.explained.explaining import (
    Explain,
    Explained,
    add_explanation,
    request_of,
)
from nomos.runner.campaigns.health import with_exceptions
from nomos.runner.campaigns.plans.planning import plan_for
from nomos.runner.campaigns.plans.ranges import Range
from nomos.runner.campaigns.recording import Recording
from nomos.runner.checks import FlakinessChecks
from nomos.runner.drafting import warn_of_cost
from nomos.runner.events import Event, Finished, Handler, Started
from nomos.runner.executors import make_pool
from nomos.runner.executors.pool import Answer, InlinePool, WorkerCrash, WorkerPool
from nomos.runner.executors.worker import About, Setting, Worker
from nomos.runner.jobs import Failure, Job, Run
from nomos.runner.live import Reopened
from nomos.runner.options import Options
from nomos.runner.spending import Spending
from nomos.runner.stopping import Signals, TimeUp, no_sudden_exit
from nomos.runner.tasks import Tasks
from nomos.store.store import Store

T = TypeVar("T")
_AHEAD = 2  # ranges for each worker, so that none waits for the driver


@dataclass(slots=True)
class _Active:
    """A campaign under way; `ranges` are those handed out, with their tickets."""

    number: int
    job: Job
    campaign: Campaign
    recording: Recording | None
    ranges: list[tuple[Range, int]] = field(default_factory=list)


class Driver:
    """Runs jobs that share options, a store and workers."""

    planning = staticmethod(plan_for)

    def __init__(  # noqa: PLR0913 - keywords
        self,
        root: Path,
        options: Options,
        *,
        store: Store | None = None,
        handlers: Sequence[Handler] = (),
        warn: Callable[[str], None] = lambda message: None,
        trust: bool = False,
        signals: Signals | None = None,
        pool: WorkerPool | None = None,
    ) -> None:
        self.root = root
        self.options = options
        self.store = store
        self.handlers = handlers
        self.warn = warn
        self.spending = Spending(root, options, store)
        terms = self.spending.terms
        how = options.mode, trust, options.placement, terms, options.repeat_settings
        self.setting = Setting(root, *how)
        self._inline = Worker(self.setting)
        self._makes_pool = pool is None and not options.is_inline
        self._deaths = count(1)
        self._signals = signals or Signals()
        self._tasks = Tasks(pool or InlinePool(self._inline), self._signals)
        self._retried: set[tuple[str, str, str]] = set()
        self._checks = FlakinessChecks(self.setting, options, self._signals)

    def run(self, jobs: Sequence[Job], seeds: Sequence[int]) -> Run:
        """Run a campaign for each job and seed; Ctrl-C ends it in good order."""
        run = Run()
        if self._makes_pool:
            self._tasks.pool = make_pool(self.setting, self.options)
        self._checks.prepare(jobs)
        # What is there now stays; the collector need not look at it again and again.
        gc.freeze()
        try:
            with self._signals, no_sudden_exit():
                self._loop(run, jobs, seeds)
        finally:
            gc.unfreeze()
            self._tasks.pool.close()
            self._checks.close()
        run.stopped = self._signals.received
        return run

    def _loop(self, run: Run, jobs: Sequence[Job], seeds: Sequence[int]) -> None:
        finished: dict[int, Result] = {}
        active: list[_Active] = []
        todo = deque(enumerate((job, seed) for job in jobs for seed in seeds))
        failed: set[int] = set()  # jobs that could not begin
        ask = partial(self._ask, self.spending.open_meter())
        with suppress(Stop):  # by a signal, which ends the loop, too
            warn_of_cost([job for _, (job, _) in todo], ask, self.options, self.warn)
        while not self._signals.received:
            try:
                self._fill(active, todo, run, failed)
                if not active:
                    break
                if not self._can_merge(active):
                    self._tasks.wait()
                self._merge_all(active, finished)
            except TimeUp:
                self._tasks.drop()
                self._end_late(active, finished)
            except Stop:
                break
        self._tasks.drop()
        if active:
            self._give_up(active, finished, self._signals.received)
        run.results = [finished[number] for number in sorted(finished)]

    def _fill(
        self,
        active: list[_Active],
        todo: deque[tuple[int, tuple[Job, int]]],
        run: Run,
        failed: set[int],
    ) -> None:
        """Hand out ranges until the workers have enough to do."""
        size = self._tasks.pool.size
        most = size * _AHEAD if size > 1 else 1
        while sum(len(one.ranges) for one in active) < most:
            if any(self._plan(one) for one in active):
                continue
            if not todo or (active and size == 1):
                return
            number, (job, seed) = todo[0]
            try:
                begun = [] if id(job) in failed else [self._begin(number, job, seed)]
            except NomosError as error:
                failed.add(id(job))
                run.failures.append(Failure(job, error))
                begun = []
            todo.popleft()  # not before it began: the time of another may be up first
            active += begun
            self._watch_time(active)
            for one in begun:
                if one.recording is not None:
                    with one.campaign.whole_step():
                        one.recording.retry(self._rerun(one, "known bugs"))

    def _rerun(self, one: _Active, phase: Phase) -> Confirm:
        """Return what runs cases of a campaign in isolation."""
        return partial(self._tasks.confirm, one.campaign.meter, phase, one.job)

    def _plan(self, one: _Active) -> bool:
        if not one.campaign.can_afford_more(waits=bool(one.ranges)):
            return False
        is_inline = isinstance(self._tasks.pool, InlinePool)
        workers = 0 if is_inline else self._tasks.pool.size
        asked = one.campaign.next_range(workers=workers)
        if asked is not None:
            one.ranges.append(self._submit(one, asked))
        return asked is not None

    def _submit(self, one: _Active, asked: Range) -> tuple[Range, int]:
        key = one.number, one.campaign.seed
        submit = partial(self._tasks.submit, one.campaign.meter, "search")
        return asked, submit("evaluate", one.job, key, asked, most=asked.calls)

    # Beginning a campaign.

    def _begin(self, number: int, job: Job, seed: int) -> _Active:
        meter = self.spending.open_meter()
        ask = partial(self._ask, meter, job, "set-up")
        about: About = ask("about", self.store is not None)
        plan = self.planning(self.options, about, seed, ask, self.warn)
        campaign = Campaign(about, self.options, plan, seed, meter)
        subject, one = campaign.subject, _Active(number, job, campaign, None)
        if self.store is not None:
            known = partial(self._inline.export_answers, job, (number, seed))
            one.recording = Recording(self.store, campaign, self.warn, known)
            key = subject.spec, subject.model, repr(job.settings)
            # The bugs that another seed has just found are a moment old.
            one.recording.begin(retry=key not in self._retried)
            self.spending.rename_campaign(campaign, one.recording.id)
            self._retried.add(key)
        how = self.options.cases, plan.search, about.mode, plan.space, plan.about_space
        self._tell(Started(subject, seed, *how))
        return one

    def _watch_time(self, active: Sequence[_Active]) -> None:
        """Let the clock ring for the campaign whose time is up first."""
        most, alarm = self.options.time, None
        if most is not None and active:
            alarm = max(0.01, most - max(one.campaign.seconds for one in active))
        self._signals.set_alarm(alarm)

    def _ask(
        self, meter: Meter, job: Job, phase: Phase, method: str, *arguments: Any
    ) -> Any:
        """Let a worker do something now, and wait for it."""
        ticket = self._tasks.submit(meter, phase, method, job, *arguments)
        answer = self._tasks.wait_for(ticket)
        if answer.crash is not None:
            raise DomainError(f"{job.path}: {answer.crash.reason} while it was set up")
        if answer.error is not None:
            raise answer.error
        return answer.value

    # Merging.

    def _can_merge(self, active: Sequence[_Active]) -> bool:
        """Tell whether what comes next is there: it came while another was confirmed."""
        first = {ticket for one in active for _, ticket in one.ranges[:1]}
        is_there = not first.isdisjoint(self._tasks.answers)
        return is_there or any(one.campaign.stop for one in active)

    def _merge_all(self, active: list[_Active], finished: dict[int, Result]) -> None:
        for one in list(active):
            try:
                self._merge(one)
            except ServiceDown as error:  # it goes on from the last checkpoint
                _fail(one.campaign, error)
            if one.campaign.stop:
                active.remove(one)
                finished[one.number] = self._finish(one)
                self._watch_time(active)

    def _merge(self, one: _Active) -> None:
        """Take in what has come of a campaign, in the order of its cases."""
        campaign = one.campaign
        while one.ranges and not campaign.stop:
            asked, ticket = one.ranges[0]
            if ticket not in self._tasks.answers:
                return
            one.ranges.pop(0)
            answer = self._tasks.answers.pop(ticket)
            if answer.crash is not None:
                one.ranges[:0] = self._divide_range(one, asked, answer.crash)
            elif isinstance(answer.error, NomosError):
                _fail(campaign, answer.error)
            elif answer.error is not None:
                raise answer.error
            else:
                self._take(one, asked, answer.value)

    def _take(self, one: _Active, asked: Range, parts: list[EvaluatedChunk]) -> None:
        """Count a range; where its calls ended before it did, hand out the rest."""
        campaign, rest = one.campaign, None
        if any(part.is_spent for part in parts):
            asked, rest = asked.split_range(sum(map(len, parts)))
        with campaign.whole_step():
            events = campaign.take(asked, parts, self._rerun(one, "confirmation"))
        for event in events:
            self._tell(event)
        if rest is not None and campaign.can_afford_rest(asked):
            one.ranges.insert(0, self._submit(one, rest))
        if one.recording is not None:
            one.recording.progress()

    def _divide_range(
        self, one: _Active, asked: Range, died: WorkerCrash
    ) -> list[tuple[Range, int]]:
        """Return what replaces a range whose worker died: smaller ranges, or a crash."""
        if died.row is not None:
            before, behind = asked.around(died.row)
            first, last = self._submit(one, before), self._submit(one, behind)
            return [first, self._isolate_crash(before, died), last]
        if self._tasks.pool.can_tell_row and not asked.one_by_one:
            return [self._submit(one, replace(asked, one_by_one=True))]
        halves = asked.halves()
        if halves is None:
            return [self._isolate_crash(asked, died)]
        return [self._submit(one, half) for half in halves]

    def _isolate_crash(self, part: Range, died: WorkerCrash) -> tuple[Range, int]:
        """Return one case of a range as evaluated: its worker died of it."""
        ticket = -next(self._deaths)  # no worker's
        self._tasks.answers[ticket] = Answer(ticket, [died.find_verdict()])
        return part, ticket

    # Ending.

    def _end_late(self, active: list[_Active], finished: dict[int, Result]) -> None:
        """End the campaigns whose time is up; the others start their ranges again."""
        most = self.options.time or 0.0
        late = [a for a in active if a.campaign.stop or a.campaign.seconds >= most]
        active[:] = [one for one in active if one not in late]
        for one in active:
            one.ranges = [
                (asked, ticket)
                if ticket in self._tasks.answers
                else self._submit(one, asked)
                for asked, ticket in one.ranges
            ]
        self._give_up(late, finished, LATE)
        self._watch_time(active)

    def _give_up(
        self, active: list[_Active], finished: dict[int, Result], why: str
    ) -> None:
        for one in active:
            one.campaign.stop = one.campaign.stop or why
            if why == LATE:
                one.campaign.problem = "the model did not return in time"
            finished[one.number] = self._finish(one)

    def _examine_campaign(self, one: _Active) -> Result:
        """Return the result of a campaign, checked and explained unless it was stopped."""
        result, meter = one.campaign.result(), one.campaign.meter
        self._signals.set_alarm(meter.end_search())
        explain: Explain | None = None
        if not one.campaign.is_stopped:
            check = partial(self._checks.check_result, one.job, meter, self._ask)
            if not one.campaign.about.has_control:
                said = f"{result.name}: its cases are not run again"
                result = self._try(partial(check, result), said) or result
            begin = partial(self._explain_result, one, result)
            explain = self._try(begin, f"{result.name}: its bugs are not grouped")
        result = with_exceptions(result, meter.raised)
        result = replace(result, calls=(calls := self._count_all_calls(one)))
        if explain is None:
            return result
        later = partial(self._count_all_calls, one)
        count = later if self._can_wait(one.job) else lambda: calls
        return add_explanation(result, explain, count)

    def _count_all_calls(self, one: _Active) -> CallCounts:
        sent = self.spending.read_spent(one.campaign.meter)
        return replace(one.campaign.call_counts(), sent=sent)

    def _finish(self, one: _Active) -> Result:
        for _, ticket in one.ranges:  # evaluated for nothing: the campaign ended before
            self._tasks.answers.pop(ticket, None)
        done = None if one.recording is None else one.recording.done
        result = self._examine_campaign(one) if done is None else done
        if one.recording is not None:
            one.recording.finish(result)
        own = self._inline, one.job, one.campaign.meter
        result = replace(result, live=Reopened(*own))
        self._tell(Finished(one.campaign.subject, one.campaign.seed, result))
        return result

    def _try(self, step: Callable[[], T | None], without: str) -> T | None:
        """Return what a step after a campaign gives; the result is worth more than that."""
        try:
            return step()
        except (Stop, Exception) as error:  # whatever it is
            self.warn(f"{without}: {str(error) or 'the time is over'}")
            return None

    def _explain_result(self, one: _Active, result: Result) -> Explain | None:
        """Explain the bugs of a campaign, or return what does so when someone looks."""
        request = request_of(result, one.campaign.sample, self.options)
        if request is None:
            return None
        meter = one.campaign.meter
        if self._can_wait(one.job):
            live = Reopened(self._inline, one.job, meter)
            said = f"{result.name}: its bugs are not grouped"
            later = partial(live.explain_bugs, request)
            return lambda: self._try(later, said) or (Analysis(), {})
        found: Explained = self._ask(meter, one.job, "grouping", "explain", request)
        return lambda: found

    def _can_wait(self, job: Job) -> bool:
        """Tell whether bugs are explained later: what is limited is spent by the campaign."""
        limits = self.options.calls, self.options.time, self.options.max_cost
        return job.is_at_hand and limits == (None, None, None)

    def _tell(self, event: Event) -> None:
        for handler in self.handlers:
            handler(event)


def _fail(campaign: Campaign, error: NomosError) -> None:
    campaign.stop = DOWN if isinstance(error, ServiceDown) else "the model failed"
    campaign.problem = str(error)
