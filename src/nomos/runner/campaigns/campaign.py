"""One campaign: evaluated chunks in, in order; counts, bugs and a result out.

A campaign runs nothing itself. It says which cases it wants, takes in what became of
them and asks for single cases to be run in isolation, so it is the same for every executor.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from nomos.domain.meter import Meter
from nomos.engine.evaluated import ChunkCrash, EvaluatedChunk
from nomos.engine.interpreter import NOT_EVALUATED, Verdict
from nomos.results.measured import CallCounts
from nomos.results.result import Counts, Crash, EnsuresCounts, Recorded, Result
from nomos.results.statistics import Interval, clopper_pearson, new_bug_chance
from nomos.results.verdict import EVERY_CASE, problem_of, verdict_of
from nomos.runner.campaigns.bugs import Bugs, Confirm, no_totals
from nomos.runner.campaigns.explained.sampling import Sample
from nomos.runner.campaigns.health import (
    MOST_CRASH_KINDS,
    count_reasons,
    find_reached,
    find_starved,
    idle,
    starvation,
    too_few_calls,
)
from nomos.runner.campaigns.plans.ranges import Plan, Range
from nomos.runner.campaigns.rates import CampaignRates
from nomos.runner.campaigns.violations import MOST_TOLD_APART, ViolationTable
from nomos.runner.events import BugFound, Crashed, Event, Progress
from nomos.runner.executors.worker import About
from nomos.runner.options import Options
from nomos.runner.stopping import EXIT_STATUS, TimeUp

_ENOUGH = 64  # cases, from which on the share that gets past `requires` is trusted
LATE = "the time is up"
DOWN = "the service is down"
OTHER_INPUTS = "inputs() gives other inputs in another process"
_CALLS_SPENT = "the calls are used up"
_TOO_MANY_CRASHED = "too many cases crashed"
_SPENT, _STARVED = "the budget is spent", "too few cases got past `requires`"


class Campaign:
    """One property, one model, one seed."""

    def __init__(
        self,
        about: About,
        options: Options,
        plan: Plan,
        seed: int,
        meter: Meter | None = None,
    ) -> None:
        self.about = about
        self.subject = about.subject
        self.options = options
        self.plan = plan
        self.seed = seed
        self.meter = meter or Meter(options.calls)
        self.meter.seconds, self.meter.clock = options.time, lambda: self.seconds
        self.spent = 0  # by the search, if each case had run by itself
        self.recorded = Recorded()
        self.totals = no_totals()
        self.reasons: Counter[str] = Counter()  # of discards
        self.rates = CampaignRates(about.campaign_ensures, about.rates)
        self.crashes: dict[str, Crash] = {}  # the first of each kind
        self.bugs = Bugs(
            self.subject,
            ViolationTable(about.inputs, repeats=not plan.is_listed),
            confirm=options.count_isolated_reruns(about.has_control),
            until_bug=options.until_bug,
            totals=self.totals,
            has_control=about.has_control,
        )
        self.sample = Sample()
        self.next_case = 0
        self.next_first = plan.next_first  # the first of the next range to merge
        self.can_resume = True  # whether a campaign can go on from `next_first`
        self.remembered: Any = None  # of answers, where it was stopped
        self._inputs = ""  # their checksum, as the first worker has them
        self.stop = self.problem = ""  # why it ended, and what it is short of
        self.seconds_before = 0.0
        self._began = time.perf_counter()
        self._planned = 0
        self.reached = 0  # a bit for each `ensures` that was really evaluated
        self.asked_again = 0  # remembered answers: how many depends on the batch

    @property
    def cases(self) -> int | None:
        """How many tests there may be; None where nothing limits them."""
        has_limit = not self.plan.is_listed or self.options.budget is not None
        return self.options.cases if has_limit else None

    @property
    def seconds(self) -> float:
        """How long the campaign has run."""
        return self.seconds_before + time.perf_counter() - self._began

    @property
    def is_stopped(self) -> bool:
        """Whether it was ended from outside, or its service is down: it can be resumed."""
        return self.stop in EXIT_STATUS or self.stop == DOWN

    @contextmanager
    def whole_step(self) -> Iterator[None]:
        """End the campaign where the clock breaks in: it cannot go on from half a step."""
        try:
            yield
        except TimeUp:
            self.stop = LATE
            raise

    def go_on(self, next_case: int, next_first: int, stop: str = "") -> None:
        """Go on from here; killed between its last case and its end, it only ends."""
        self.next_case = self._planned = next_case
        self.next_first = self.plan.next_first = next_first
        self.stop = "" if stop in EXIT_STATUS else stop
        most = math.inf if self.cases is None else self.cases + self.plan.is_listed
        if not self.stop and self.plan.is_done:  # only where the store was changed
            self.stop = EVERY_CASE
        elif self.totals.tests >= most:
            self.stop = self.stop or _SPENT

    @property
    def calls_of_case(self) -> int:
        """How many calls of the model a case makes at most, as far as is known."""
        return max(1, self.subject.k or 0, int(self.totals.k))

    def can_afford_more(self, *, waits: bool) -> bool:
        """Tell whether another case can run; where none `waits`, the campaign ends if not."""
        free = self.meter.free(from_reserve=False)
        can = free is None or free >= 2 * self.calls_of_case
        if not can and not waits:
            self.stop = self.stop or _CALLS_SPENT
        return can

    def can_afford_rest(self, done: Range) -> bool:
        """Tell whether the rest of a range can run, which had too few calls."""
        if done.calls is None and done.stop == done.start:  # it had all, for no case
            self.stop = self.stop or self.meter.why_spent
        return not self.stop and self.can_afford_more(waits=False)

    def call_counts(self) -> CallCounts:
        """Return what the model was asked so far, or may be by ranges under way."""
        held = Counter({"search": self.meter.held})
        asked = {str(phase): n for phase, n in (self.meter.asked + held).items()}
        return CallCounts(self.meter.limit, sum(asked.values()), asked)

    def next_range(self, *, workers: int = 0) -> Range | None:
        """Return the cases to judge next; None where enough are under way.

        For `workers` it says how many calls it needs: no more are lost by a kill.
        """
        if self.stop or self.plan.is_done:
            return None
        wanted = self._cases_wanted()
        if wanted < 1 and not self.plan.is_listed:
            return None
        # Until it is known how many cases an input has, there may be very many.
        per_input = self.next_case / self.next_first if self.next_first else math.inf
        early = not (workers or self.options.until_bug or self.options.time)
        how = {"shares": workers > 1, "may_end_early": early}
        planned = self.plan.next(wanted, per_input, **how)
        if planned is None:
            return None
        if not self.plan.is_listed:
            self._planned = planned.first + planned.count
        tests = 2**62 if self.cases is None else self.cases - self.totals.tests
        tests += self.plan.is_listed  # one more shows that these were not all
        crashes = self.options.max_crashes - self.totals.crashed
        calls = 2 * self.calls_of_case * (planned.count + 1) if workers else None
        limits = {"tests": tests, "crashes": crashes, "calls": calls}
        return replace(planned, remembered=self.remembered, **limits)

    def _cases_wanted(self) -> float:
        """Return how many cases more the budgets are likely to need."""
        totals, most_calls = self.totals, self.meter.limit
        drawn = totals.tests + totals.discarded + totals.unchanged
        share = max(0.001, totals.tests / drawn) if drawn >= _ENOUGH else 1.0
        wanted = float("inf")
        if self.cases is not None:
            wanted = (self.cases - totals.tests) * 1.1 / share + 16
        if most_calls is not None:
            calls = most_calls - self.meter.reserve - self.spent
            wanted = min(wanted, calls / self.calls_of_case / share + 1)
        return wanted - (self._planned - self.next_case)

    def take(
        self, asked: Range, parts: Sequence[EvaluatedChunk], confirm: Confirm
    ) -> list[Event]:
        """Count a range's verdicts and confirm its new violations, in order."""
        events: list[Event] = []
        is_whole = asked.stop is None
        is_last = is_whole and self.plan.total == asked.first + asked.count
        for evaluated in parts:
            self._inputs = self._inputs or evaluated.inputs
            if evaluated.inputs not in ("", self._inputs):  # no case is what it was
                self.stop, self.problem = "the inputs differ", OTHER_INPUTS
            if not self.stop:
                events += self._take(evaluated, confirm)
        self.plan.took(parts)
        self.plan.learn(asked, parts)
        if asked.longest_s < math.inf and is_whole:  # it may have ended early
            self._planned = self.plan.next_first = self.next_case
        if not self.plan.is_listed:
            self.next_first = self.next_case
        elif is_whole and not self.stop:
            self.next_first = asked.first + asked.count
            self.stop = EVERY_CASE if is_last else ""
        self.can_resume = self.plan.can_resume(self.next_case) and (
            is_whole or not self.plan.is_listed
        )
        ends = self.meter.find_ends().get("search", math.inf)
        if not self.stop and time.time() >= ends:
            self.stop = LATE
        events.append(Progress(self.subject, self.seed, self.counts(), self.next_case))
        return events

    def _take(self, evaluated: EvaluatedChunk, confirm: Confirm) -> list[Event]:
        events: list[Event] = []
        end, why = self._end(evaluated)
        crashes, found = list(evaluated.crashes), evaluated.violations
        if len(found):
            calls = max(self.totals.k, int(evaluated.calls[:end].max(initial=0)))
            self.bugs.limit_reruns(self.meter, calls)
            first = self.next_case
            found = found.take(slice(np.searchsorted(found.rows, end)))
            taken = self.bugs.take(replace(found, rows=found.rows + first), confirm)
            events += [BugFound(self.subject, self.seed, bug) for bug in taken.bugs]
            crashes += [replace(one, row=one.row - first) for one in taken.crashes]
            crashes.sort(key=lambda crash: crash.row)
            if taken.stops_at is not None:
                end, why = taken.stops_at - first, "a bug was found"
        self.can_resume = False  # till the whole range is counted
        self._count(evaluated, end)
        if not self.plan.is_listed:
            self.sample.take(evaluated, end, self.next_case)
        for crash in crashes:
            if crash.row < end:
                events += self._crash(crash)
        self.next_case += end
        if not why and self.totals.crashed >= self.options.max_crashes:
            why = _TOO_MANY_CRASHED
        self.stop = why
        return events

    def _end(self, evaluated: EvaluatedChunk) -> tuple[int, str]:
        """Return how many of the cases count, and why no more do."""
        options, totals = self.options, self.totals
        crashed = evaluated.verdicts == Verdict.CRASHED
        reached = find_reached(crashed, options.max_crashes - totals.crashed)
        found = [(len(evaluated), ""), (reached, _TOO_MANY_CRASHED)]
        if self.cases is not None:
            left = self.cases - totals.tests
            end = find_reached(evaluated.accepted, left + self.plan.is_listed)
            if end <= len(evaluated):
                # Where all cases are tried, the budget is spent when there is one more.
                found.append((end - self.plan.is_listed, _SPENT))
        if self.meter.limit is not None:
            spent = self.spent + np.cumsum(evaluated.search_calls)
            calls = np.maximum.accumulate(np.append(totals.k, evaluated.calls))[1:]
            is_short = self.meter.is_short(spent, calls)
            found.append((find_reached(is_short, 1), _CALLS_SPENT))
        drawn = totals.tests, totals.discarded + totals.unchanged
        starved = None if self.plan.is_listed else find_starved(evaluated, *drawn)
        if starved is not None:
            found.append((starved, _STARVED))
        end, why = min(found, key=lambda item: (item[0], not item[1]))
        if why == _STARVED:
            tests = totals.tests + int(evaluated.accepted[:end].sum())
            verdicts = evaluated.verdicts[:end]
            out = totals.discarded + totals.unchanged
            out += int(np.isin(verdicts, NOT_EVALUATED).sum())
            reasons = self.reasons + count_reasons(evaluated, end)
            self.problem = starvation(reasons, tests, out)
        return end, why

    def _count(self, evaluated: EvaluatedChunk, end: int) -> None:
        verdicts, totals = evaluated.verdicts[:end], self.totals
        calls = evaluated.calls[:end]
        totals.passed += int((verdicts == Verdict.PASSED).sum())
        totals.discarded += int((verdicts == Verdict.DISCARDED).sum())
        totals.unchanged += int((verdicts == Verdict.UNCHANGED).sum())
        totals.crashed += int((verdicts == Verdict.CRASHED).sum())
        totals.unreadable += int((verdicts == Verdict.UNREADABLE).sum())
        totals.tests += int(evaluated.accepted[:end].sum())
        totals.model_calls += int(calls.sum())
        self.spent += int(evaluated.search_calls[:end].sum())
        totals.k = max(totals.k, int(calls.max(initial=0)))
        self.bugs.count_pairs(evaluated, end)
        self.asked_again += evaluated.asked_again
        totals.nondeterministic += evaluated.nondeterministic
        self.reached |= evaluated.reached
        self.rates.add(evaluated.rate_bits[:end])
        self.reasons += count_reasons(evaluated, end)

    def _crash(self, crash: ChunkCrash) -> list[Event]:
        """Keep the first crash of each kind, and count the others."""
        kind = crash.error
        if kind in self.crashes:
            before = self.crashes[kind]
            self.crashes[kind] = replace(before, seen=before.seen + 1)
            return []
        if len(self.crashes) >= MOST_CRASH_KINDS:
            return []
        ended = self.next_case + crash.row, crash.choices, kind, crash.traceback
        self.crashes[kind] = Crash(*ended, is_unreadable=crash.is_unreadable)
        return [Crashed(self.subject, self.seed, self.crashes[kind])]

    def counts(self) -> Counts:
        """Return the counts so far."""
        self.totals.bug_inputs = self.bugs.table.bug_inputs
        self.totals.seconds = self.seconds
        return Counts(**vars(self.totals))

    def result(self) -> Result:
        """Return what the campaign came to."""
        counts, table = self.counts(), self.bugs.table
        complete = self.plan.is_listed and self.stop == EVERY_CASE
        rate, next_bug = self._rate(counts.violations, counts), None
        if rate and not counts.pairs and table.count < MOST_TOLD_APART:
            once, twice = table.count_seen_exactly(1), table.count_seen_exactly(2)
            next_bug = new_bug_chance(counts.evaluated, once, twice)
        problem = self._own_problem(counts)
        still, accepted = self.recorded.still, self.options.accept_flaky
        hidden = still if complete and not counts.violations else 0
        shares = accepted, self.asked_again, self.options.accept_unreadable
        problem = problem_of(counts, problem, hidden, *shares)
        is_sample = self.plan.scope == "sample" and self.stop != "a bug was found"
        rates = self.rates.evaluate(is_exact=complete, is_sample=is_sample)
        return Result(
            subject=self.subject,
            seed=self.seed,
            budget=self.options.cases,
            search=self.plan.search,
            mode=self.about.mode,
            counts=counts,
            verdict=verdict_of(counts, problem, complete, still, accepted, rates),
            reason=self.stop,
            problem=problem,
            scope=self.plan.scope,
            is_complete=complete,
            is_uncontrolled=self.about.is_uncontrolled,
            space=self.plan.space,
            rate=rate,
            next_bug=next_bug,
            ensures=self._ensures(counts),
            rates=rates,
            margins=table.count_margins(),
            bugs=self.bugs.finish_bugs(),
            crashes=tuple(self.crashes.values()),
            recorded=self.recorded,
            calls=self.call_counts(),
            fingerprint=self.about.fingerprint,
        )

    def _own_problem(self, counts: Counts) -> str:
        """Say what the campaign itself is short of; "" if nothing."""
        if self.problem:
            return self.problem
        if not counts.tests and self.stop == _CALLS_SPENT:
            return too_few_calls(self.meter.limit, self.calls_of_case)
        if not counts.tests and self.stop == self.meter.why_spent:
            return "--max-cost does not suffice for a case"
        if not counts.tests and (out := counts.discarded + counts.unchanged):
            return starvation(self.reasons, 0, out)
        if counts.passed and self.subject.ensures and not self.reached:
            return idle(counts.passed, self.subject.ensures)
        return self.bugs.describe_missing_control()

    def _ensures(self, counts: Counts) -> tuple[EnsuresCounts, ...]:
        """Return what was found of each `ensures` by itself."""
        found = []
        for number, one in enumerate(self.subject.ensures):
            violations, unique = self.bugs.table.failing(number)
            rate = self._rate(violations, counts)
            is_vacuous = counts.passed > 0 and not self.reached >> number & 1
            named = (one.name, one.text, one.line)
            found.append(EnsuresCounts(*named, violations, unique, rate, is_vacuous))
        return tuple(found)

    def _rate(self, violations: int, counts: Counts) -> Interval | None:
        """Return a share of the inputs at hand; None where the cases are no sample."""
        if not counts.evaluated or self.plan.scope != "sample":
            return None
        return clopper_pearson(violations, counts.evaluated)
