"""Run and judge a chunk of cases by one of the ways; what is hard is run alone."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from nomos.device import free_bytes, is_out_of_memory
from nomos.engine.alone import Alone, Case, Outcome, Verdict
from nomos.engine.answers.asking import Answers
from nomos.engine.cases import Cases, ListedCases
from nomos.engine.choices import ReplayedCase
from nomos.engine.coroutines.hub import no_collection
from nomos.engine.coroutines.lanes import Lanes
from nomos.engine.judged import CrashedCase, Judged, Violations, joined, no_violations
from nomos.engine.part_size import PartSize
from nomos.engine.program import Program
from nomos.engine.space import listed_by_running, listed_cases, space_within
from nomos.engine.vectorized.chunk import Chunk, Fate
from nomos.engine.vectorized.columns import Columns
from nomos.engine.vectorized.distinct import Distinct, keys_of
from nomos.engine.watch import watch

Array = np.ndarray[Any, Any]
Way = Literal["columns", "lanes", "rows"]
_ALL = 2**62  # tests and crashes: no limit
_MOST_REMEMBERED = 1_000_000  # violations that are known to come back, or not to


@dataclass(frozen=True, slots=True)
class Limits:
    """Where to stop within a chunk."""

    tests: int
    crashes: int


class Engine:
    """A program and a way to run it."""

    def __init__(
        self,
        program: Program,
        way: Way | None = None,
        case: Callable[[Case], None] | None = None,  # how one case is run, if compiled
    ) -> None:
        self.program = program
        straight = program.spec.code.straight is not None
        if way == "columns" and not straight:
            raise ValueError("the block is not straight-line code: it runs in lanes")
        self.way: Way = way or ("columns" if straight else "lanes")
        self._is_compiled = case is not None
        self.alone = Alone(program, case)
        self._lanes = Lanes(program) if self.way == "lanes" else None
        self._size = PartSize(program.record_bytes, free_bytes(program.device))
        self.forget()

    def forget(self) -> None:
        """Start a campaign afresh: nothing is remembered, nothing counted."""
        self.answers = Answers(len(self.program.source))
        self._repeated = Distinct()  # violations that were run again in a batch
        self._came_back = np.empty(0, dtype=bool)

    def listed(self, begin: int = 0, count: int | None = None) -> Iterator[Array]:
        """Yield the choices of all cases of some ways to draw the inputs, in order."""
        if self._is_compiled:
            yield from listed_by_running(self.program, self.alone.draw, begin, count)
        else:
            yield from listed_cases(self.program, begin, count)

    def space_within(self, limit: int) -> int | None:
        """Return how many cases there are, None where there are more than `limit`."""
        return space_within(self.program, limit, self.listed)

    def replay(self, choices: tuple[int, ...]) -> Outcome:
        """Run the case of these choices alone."""
        return self.alone.run(ReplayedCase(choices))

    def run(self, cases: Cases, limits: Limits, *, repeat: bool = True) -> Judged:
        """Judge cases in order until so many tests were made or so many crashed.

        It may stop earlier, where blocks discard cases: never later. With `repeat`,
        violated cases are run again in a batch of their own.
        """
        began = time.perf_counter()
        asked, moved = self.answers.asked_again, self.answers.moved
        parts: list[Judged] = []
        tests = crashes = 0
        first = 0
        while first < cases.count:
            left = Limits(limits.tests - tests, limits.crashes - crashes)
            size, judged = self._run_next(cases, first, left)
            parts.append(judged)
            first += size
            tests += int(judged.accepted.sum())
            crashes += len(judged.crashes)
            reached = tests >= limits.tests or crashes >= limits.crashes
            if reached or len(judged) < size:
                break
        whole = _put_together(parts) if parts else _empty(0)
        if repeat and len(whole.violations):
            whole.violations.came_back = self._repeat(whole.violations)
        whole.asked_again = self.answers.asked_again - asked
        whole.moved = self.answers.moved - moved
        whole.seconds = time.perf_counter() - began
        return whole

    def _repeat(self, violations: Violations) -> Array:
        """Run violations again together, with nothing remembered; tell which came back."""
        keys = keys_of(violations.choices, violations.lengths)
        known = self._repeated.count
        places = self._repeated.places(keys, most=_MOST_REMEMBERED)
        new = np.flatnonzero((places >= known) | (places < 0))
        if len(new):
            # Each of them once: the first row of each place, and those without one.
            _, first = np.unique(places[new], return_index=True)
            todo = np.union1d(new[first], np.flatnonzero(places < 0))
            again = self._violated_again(violations.take(todo))
            grown = np.zeros(self._repeated.count, dtype=bool)
            grown[: len(self._came_back)] = self._came_back
            kept = places[todo] >= 0
            grown[places[todo][kept]] = again[kept]
            self._came_back = grown
            unkept = dict(zip(todo[~kept].tolist(), again[~kept], strict=True))
            came_back = self._came_back[np.maximum(places, 0)]
            for row, back in unkept.items():
                came_back[row] = back
            return came_back
        return self._came_back[places]

    def _violated_again(self, violations: Violations) -> Array:
        cases = ListedCases(violations.choices, violations.lengths)
        remembered, self.answers = self.answers, Answers(0)
        again = np.zeros(len(violations), dtype=bool)
        try:
            first = 0
            while first < cases.count:
                size, judged = self._run_next(cases, first, Limits(_ALL, _ALL))
                violated = judged.verdicts == Verdict.VIOLATED
                again[first : first + len(violated)] = violated
                first += size
        finally:
            self.answers = remembered
        return again

    def _run_next(self, cases: Cases, first: int, limits: Limits) -> tuple[int, Judged]:
        """Judge the cases from `first` on that fit; return how many these are."""
        while True:
            size = min(self._size.count, cases.count - first)
            part = cases if size == cases.count else cases.part(first, size)
            began, sent = time.perf_counter(), self.answers.rows_sent
            try:
                with no_collection():  # till the chunk's objects are gone by themselves
                    judged = self._run_part(part, limits)
            except Exception as error:
                if size == 1 or not is_out_of_memory(error):
                    raise
            else:
                if size == self._size.count:
                    rows = self.answers.rows_sent - sent  # fewer once answers are known
                    self._size.took(rows, time.perf_counter() - began)
                return size, judged
            self._size.halve()  # when what the part held is gone

    def _run_part(self, cases: Cases, limits: Limits) -> Judged:
        if self.way == "rows":
            return self.run_rows(cases, limits)
        chunk = Chunk(self.program, cases.draws(), cases.count)
        columns = Columns(chunk, self.answers)
        resolved: dict[int, Outcome] = {}
        with np.errstate(all="ignore"):
            columns.generate()
            end = self._resolve(chunk, cases, resolved, cases.count, limits)
            end = _cut(chunk, resolved, end, limits.tests)
            self._block(columns)
        end = self._resolve(chunk, cases, resolved, end, limits)
        return _collect(columns, resolved, end)

    def run_rows(self, cases: Cases, limits: Limits, before: int = 0) -> Judged:
        """Judge cases one by one, saying which is under way, `before` cases behind it."""
        outcomes: dict[int, Outcome] = {}
        tests = crashes = 0
        for row in range(cases.count):
            watch.mark(before + row)
            outcome = outcomes[row] = self.alone.run(cases.alone(row))
            tests += _is_test(outcome)
            crashes += outcome.verdict is Verdict.CRASHED
            if tests >= limits.tests or crashes >= limits.crashes:
                break
        judged = _empty(len(outcomes))
        _add_resolved(judged, outcomes, [])
        return judged

    def _block(self, columns: Columns) -> None:
        """Run the block and judge its cases."""
        if not len(columns.chunk.rows):
            return
        if self._lanes is not None:
            self._lanes.run(columns, self.answers)
        else:
            columns.block()
        columns.judge()

    def _resolve(
        self,
        chunk: Chunk,
        cases: Cases,
        resolved: dict[int, Outcome],
        end: int,
        limits: Limits,
    ) -> int:
        """Run the hard cases alone, in order; return where to stop for crashes."""
        if not chunk.left:
            return end
        waits = chunk.gone(Fate.WAITS)  # a draw that is not known: it cannot be judged
        hard = set(np.concatenate([chunk.gone(Fate.HARD), waits]).tolist())
        crashed = [r for r, o in resolved.items() if o.verdict is Verdict.CRASHED]
        for row in sorted(hard - resolved.keys()):
            if row >= end:
                break
            resolved[row] = self.alone.run(cases.alone(row))
            if resolved[row].verdict is Verdict.CRASHED:
                crashed.append(row)
                if len(crashed) >= limits.crashes:
                    end = min(end, sorted(crashed)[limits.crashes - 1] + 1)
        return end


def _is_test(outcome: Outcome) -> bool:
    return outcome.accepted and outcome.verdict is not Verdict.DISCARDED


def _cut(chunk: Chunk, resolved: dict[int, Outcome], end: int, tests: int) -> int:
    """Drop the cases behind the last one that the budget covers."""
    if end == chunk.size and len(chunk.rows) + len(resolved) <= tests:
        return end
    early = [row for row, outcome in resolved.items() if _is_test(outcome)]
    here = chunk.rows[chunk.rows < end]
    counted = np.sort(np.concatenate([here, np.array(early, dtype=here.dtype)]))
    if len(counted) > tests:
        end = min(end, int(counted[tests - 1]) + 1)
    if len(chunk.rows) and int(chunk.rows[-1]) >= end:
        chunk.keep(np.flatnonzero(chunk.rows < end))
    return end


def _empty(count: int) -> Judged:
    return Judged(
        np.full(count, Verdict.DISCARDED, dtype=np.int8),
        np.zeros(count, dtype=bool),
        np.zeros(count, dtype=np.int32),
        np.full(count, -1, dtype=np.int32),
    )


def _collect(columns: Columns, resolved: dict[int, Outcome], end: int) -> Judged:
    """Put together what the chunk and the runs alone came to."""
    chunk = columns.chunk
    judged = _empty(end)
    judged.calls[:] = chunk.calls[:end]
    count = int(np.searchsorted(chunk.rows, end))  # of the cases before the end
    rows = chunk.rows[:count]
    judged.verdicts[rows] = Verdict.PASSED
    judged.accepted[rows] = True
    violated = np.flatnonzero(columns.failed[:count])
    if len(violated):
        judged.verdicts[rows[violated]] = Verdict.VIOLATED
        judged.violations = Violations(
            rows[violated],
            *chunk.choices_of(violated),
            columns.failed[violated],
            columns.gaps[violated],
            np.ones(len(violated), dtype=bool),
        )
    for gone, fates, reasons in chunk.left:
        out = (gone < end) & (fates == Fate.DISCARDED)
        judged.why[gone[out]] = reasons[out]
    resolved = {row: outcome for row, outcome in resolved.items() if row < end}
    _add_resolved(judged, resolved, chunk.reasons)
    return judged


def _add_resolved(
    judged: Judged, resolved: dict[int, Outcome], reasons: list[str]
) -> None:
    """Take in the outcomes of cases that were run alone."""
    reasons = list(reasons)
    crashes, violated = [], []
    for row, outcome in sorted(resolved.items()):
        judged.verdicts[row] = outcome.verdict
        judged.accepted[row] = _is_test(outcome)
        judged.calls[row] = outcome.calls
        judged.why[row] = -1
        if outcome.verdict is Verdict.VIOLATED:
            violated.append(row)
        elif outcome.verdict is Verdict.CRASHED:
            crash = CrashedCase(row, outcome.choices, outcome.why, outcome.traceback)
            crashes.append(crash)
        elif outcome.verdict is Verdict.DISCARDED:
            if outcome.why not in reasons:
                reasons.append(outcome.why)
            judged.why[row] = reasons.index(outcome.why)
    judged.crashes, judged.reasons = tuple(crashes), tuple(reasons)
    if violated:
        outcomes = [resolved[row] for row in violated]
        found = Violations.of(
            violated,
            [outcome.choices for outcome in outcomes],
            [outcome.failed for outcome in outcomes],
            [outcome.gap for outcome in outcomes],
        )
        judged.violations = joined([judged.violations, found])


def _put_together(parts: list[Judged]) -> Judged:
    """Put together the verdicts on cases that follow each other."""
    if len(parts) == 1:
        return parts[0]
    whole = Judged(
        np.concatenate([part.verdicts for part in parts]),
        np.concatenate([part.accepted for part in parts]),
        np.concatenate([part.calls for part in parts]),
        np.concatenate([part.why for part in parts]),
    )
    reasons: list[str] = []
    crashes: list[CrashedCase] = []
    violations = [no_violations()]
    first = 0
    for part in parts:
        own = whole.why[first : first + len(part)]
        own[part.why >= 0] += len(reasons)
        reasons += part.reasons
        crashes += [
            CrashedCase(c.row + first, c.choices, c.error, c.traceback)
            for c in part.crashes
        ]
        part.violations.rows = part.violations.rows + first
        violations.append(part.violations)
        first += len(part)
    whole.reasons, whole.crashes = tuple(reasons), tuple(crashes)
    whole.violations = joined(violations)
    return whole
