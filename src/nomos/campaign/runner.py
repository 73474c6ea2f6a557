"""Run a campaign: cases in chunks, verdicts, bugs confirmed alone, events."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from nomos.campaign.events import (
    Bug,
    BugFound,
    Crash,
    Crashed,
    Event,
    Finished,
    Progress,
    Started,
)
from nomos.campaign.health import starvation, starves_at
from nomos.campaign.interruption import TimeUp
from nomos.campaign.records import bug_id
from nomos.campaign.statistics import clopper_pearson, new_bug_chance
from nomos.campaign.tally import Tally
from nomos.errors import ModelError
from nomos.harness.alone import Verdict
from nomos.harness.choices import ReplayedCase, Stream
from nomos.harness.engine import Cases, Engine, Judged, ListedCases, RandomCases

Array = np.ndarray[Any, Any]
_LARGEST_CHUNK = 8192  # cases; larger ones leave the processor's cache
_SMALLEST_CHUNK = 64  # the first: something is seen at once, whatever the model takes
_LONGEST_CHUNK_S = 0.5  # a chunk should be over by then, so that progress shows
_DISTINCT_CRASHES = 20  # tracebacks told; more of them only repeat


@dataclass(frozen=True, slots=True)
class Budget:
    """When a campaign ends; whichever comes first."""

    cases: int = 5000
    seconds: float | None = None
    calls: int | None = None
    until_bug: bool = False
    crashes: int = 100


@dataclass(frozen=True, slots=True)
class Resumed:
    """Where a killed campaign had come to."""

    next_case: int
    counts: Mapping[str, int | float]
    bugs: tuple[tuple[Bug, int], ...] = ()  # with how often each was met


@dataclass(slots=True)
class Campaign:
    """One property, one model, one seed."""

    engine: Engine
    seed: int
    budget: Budget
    name_bug: Callable[[tuple[int, ...]], str]
    batch: int | None = None  # the largest chunk; None: chosen by speed
    listed: Iterator[Array] | None = (
        None  # all the cases there are, where all are tried
    )
    space: int | None = None
    resumed: Resumed | None = None
    tally: Tally = field(init=False)
    _stop: str = field(init=False, default="")
    _problem: str = field(init=False, default="")
    _next_case: int = field(init=False, default=0)
    _calls_before: int = field(init=False, default=0)
    _seconds_before: float = field(init=False, default=0.0)
    _began: float = field(init=False, default=0.0)
    _crash_kinds: set[str] = field(init=False, default_factory=set)

    def run(self) -> Generator[Event, None, None]:
        """Yield the campaign's events, ending with exactly one `Finished`.

        Ctrl-C ends it as a used-up budget would: what was found is kept.
        """
        spec = self.engine.program.spec
        self.engine.forget()
        self.tally = Tally(len(spec.inputs))
        self._began = time.perf_counter()
        self._take_up()
        search = "random" if self.listed is None else "exhaustive"
        cases = self.budget.cases
        yield Started(spec.name, self.seed, cases, search, self.engine.way, self.space)
        # What is there now stays; the collector need not look at it again and again.
        gc.freeze()
        try:
            for events in self._chunks():
                yield from events
        except KeyboardInterrupt:
            self._stop = "interrupted"
        except TimeUp:
            self._stop = "the time is up"
            self._problem = "the model did not return in time"
        except ModelError as error:
            self._stop, self._problem = "the model failed", str(error)
        finally:
            gc.unfreeze()
        yield self._finish()

    def _take_up(self) -> None:
        if self.resumed is None:
            return
        counts = self.resumed.counts
        self._next_case = self.resumed.next_case
        self._calls_before = int(counts.get("model_calls", 0))
        self._seconds_before = float(counts.get("seconds", 0))
        for name in ("tests", "passed", "discarded", "crashed", "k"):
            setattr(self.tally, name, int(counts.get(name, 0)))
        for bug, seen in self.resumed.bugs:
            self.tally.add_bug(bug, seen)

    def _chunks(self) -> Iterator[list[Event]]:
        stream = Stream(self.seed, self.engine.program.spec.name)
        size = min(_SMALLEST_CHUNK, self.batch or _LARGEST_CHUNK)
        while not self._is_over():
            cases = self._next_cases(stream, size)
            if cases is None:
                self._stop = "every case was tried"
                return
            began = time.perf_counter()
            judged = self.engine.run(
                cases,
                tests=self.budget.cases - self.tally.tests,
                crashes=self.budget.crashes - self.tally.crashed,
            )
            yield self._take_in(judged)
            size = self._next_size(size, time.perf_counter() - began)

    def _next_cases(self, stream: Stream, size: int) -> Cases | None:
        if self.listed is not None:
            known = next(self.listed, None)
            return None if known is None else ListedCases(known)
        wanted = (self.budget.cases - self.tally.tests) * 1.1 / self._acceptance() + 16
        if self.budget.calls is not None:
            calls = max(1, self.budget.calls - self.model_calls)
            wanted = min(wanted, calls / max(1, self.tally.k))
        return RandomCases(stream, self._next_case, max(1, int(min(size, wanted))))

    def _acceptance(self) -> float:
        """Return the share of cases that get past `requires`, so far."""
        drawn = self.tally.tests + self.tally.discarded
        return max(0.001, self.tally.tests / drawn) if drawn >= _SMALLEST_CHUNK else 1.0

    def _next_size(self, size: int, seconds: float) -> int:
        if self.batch is not None:
            return self.batch
        if seconds > _LONGEST_CHUNK_S:
            return max(_SMALLEST_CHUNK, size // 2)
        if seconds < _LONGEST_CHUNK_S / 8:
            return min(_LARGEST_CHUNK, size * 8)
        return size

    def _is_over(self) -> bool:
        budget, tally = self.budget, self.tally
        if self._stop:
            return True
        if tally.tests >= budget.cases:
            self._stop = "the budget is spent"
        elif budget.seconds is not None and self.seconds >= budget.seconds:
            self._stop = "the time is up"
        elif budget.calls is not None and self.model_calls >= budget.calls:
            self._stop = "the calls are used up"
        elif budget.until_bug and tally.seen:
            self._stop = "a bug was found"
        elif tally.crashed >= budget.crashes:
            self._stop = "too many cases crashed"
        return bool(self._stop)

    @property
    def seconds(self) -> float:
        """How long the campaign has run."""
        return self._seconds_before + time.perf_counter() - self._began

    @property
    def model_calls(self) -> int:
        """How many calls of the model the blocks of the judged cases make."""
        return self._calls_before

    def _take_in(self, judged: Judged) -> list[Event]:
        """Count a chunk's verdicts and confirm its new bugs, in the order of cases."""
        end = self._starved(judged)
        events: list[Event] = []
        first, self._next_case = self._next_case, self._next_case + end
        self.tally.k = max(self.tally.k, judged.k)
        touched: dict[str, int] = {}
        for row, choices in sorted(judged.violations.items()):
            if row >= end:
                break
            if self.tally.is_new(choices):
                events += self._confirm(first + row, choices)
            if choices in self.tally.seen:
                touched[self.tally.ids[choices]] = self.tally.seen[choices]
                if self.budget.until_bug:
                    end = row + 1
                    self._next_case = first + end
        for row, outcome in sorted(judged.crashes.items()):
            kind = outcome.why
            if row < end and kind not in self._crash_kinds:
                if len(self._crash_kinds) < _DISTINCT_CRASHES:
                    crash = Crash(first + row, outcome.choices, kind, outcome.traceback)
                    events.append(Crashed(crash))
                self._crash_kinds.add(kind)
        self._count(judged, end)
        counts = self.tally.counts(self.model_calls, self.seconds)
        return [*events, Progress(counts, self._next_case, touched)]

    def _count(self, judged: Judged, end: int) -> None:
        verdicts = judged.verdicts[:end]
        self._calls_before += int(judged.calls[:end].sum())
        whole = end == len(judged.verdicts)
        self.tally.passed += int((verdicts == Verdict.PASSED).sum())
        self.tally.discarded += int((verdicts == Verdict.DISCARDED).sum())
        self.tally.crashed += int((verdicts == Verdict.CRASHED).sum())
        self.tally.tests += judged.tests if whole else int(_is_test(verdicts).sum())
        self.tally.reasons += judged.discards

    def _starved(self, judged: Judged) -> int:
        """Return how many of the chunk's cases count; fewer where the campaign starves."""
        verdicts = judged.verdicts
        discarded = self.tally.discarded + np.cumsum(verdicts == Verdict.DISCARDED)
        tests = self.tally.tests + np.cumsum(_is_test(verdicts))
        at = starves_at(tests, discarded)
        if at is None or self.listed is not None:
            return len(verdicts)
        reasons = self.tally.reasons + judged.discards
        self._stop = "too few cases got past `requires`"
        self._problem = starvation(reasons, int(tests[at]), int(discarded[at]))
        return at + 1

    def _confirm(self, case: int, choices: tuple[int, ...]) -> list[Event]:
        """Run a violation again, alone; only what comes back is a bug."""
        outcome = self.engine.alone.run(ReplayedCase(choices))
        if outcome.verdict is not Verdict.VIOLATED:
            self.tally.unstable[choices] += 1
            return []
        name = self.name_bug(choices)
        bug = Bug(name, case, choices, outcome.why, outcome.values)
        self.tally.add_bug(bug)
        return [BugFound(bug)]

    def _finish(self) -> Finished:
        tally = self.tally
        counts = tally.counts(self.model_calls, self.seconds)
        exact = self.listed is not None
        rate = next_bug = None
        if counts.judged and not exact:
            rate = clopper_pearson(counts.violations, counts.judged)
            next_bug = new_bug_chance(
                counts.judged, tally.seen_exactly(1), tally.seen_exactly(2)
            )
        if counts.crashed and not self._problem:
            self._problem = f"{counts.crashed} cases crashed"
        if not counts.tests and tally.discarded and not self._problem:
            self._problem = starvation(tally.reasons, 0, tally.discarded)
        if not counts.tests and not self._problem:
            self._problem = "no case was run"
        verdict = self._verdict(exact)
        return Finished(counts, verdict, self._stop, rate, next_bug, self._problem)

    def _verdict(self, exact: bool) -> str:
        if self.tally.seen:
            return "violated"
        if self._problem:
            return "failed"
        return (
            "holds" if exact and self._stop == "every case was tried" else "none-found"
        )


def _is_test(verdicts: Array) -> Array:
    """Tell which cases spent budget; a crash may have come before `requires`."""
    result: Array = (verdicts == Verdict.PASSED) | (verdicts == Verdict.VIOLATED)
    return result


def bug_namer(
    property: str, model: str, settings: Mapping[str, str]
) -> Callable[[tuple[int, ...]], str]:
    """Return how the bugs of a campaign are named."""
    return lambda choices: bug_id(property, model, settings, choices)
