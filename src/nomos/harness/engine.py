"""Run and judge a chunk of cases by one of the ways, and resolve what is hard alone."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np

from nomos.harness.alone import Alone, Outcome, Verdict
from nomos.harness.asking import Answers
from nomos.harness.choices import CaseDraws, RandomCase, ReplayedCase, Stream
from nomos.harness.chunk import Chunk, Fate
from nomos.harness.columns import Columns
from nomos.harness.drawing import ColumnDraws, RandomDraws, ReplayedDraws
from nomos.harness.hub import no_collection
from nomos.harness.lanes import Lanes
from nomos.harness.program import Program

Array = np.ndarray[Any, Any]
Way = Literal["columns", "lanes", "rows"]
# Large records, such as sounds, are run in smaller parts than a chunk of rows.
_MOST_BYTES = 2**25
_FEWEST = 64


class Cases(Protocol):
    """Consecutive cases: their draws all at once, or one case's alone."""

    @property
    def count(self) -> int:
        """How many cases there are."""
        ...

    def part(self, first: int, count: int) -> Cases:
        """Return some of the cases."""
        ...

    def draws(self) -> ColumnDraws:
        """Return the draws of all cases."""
        ...

    def alone(self, row: int) -> CaseDraws:
        """Return the draws of one case."""
        ...


@dataclass(frozen=True, slots=True)
class RandomCases:
    """`count` cases of a campaign from case number `first` on."""

    stream: Stream
    first: int
    count: int

    def part(self, first: int, count: int) -> RandomCases:
        """Return some of the cases."""
        return RandomCases(self.stream, self.first + first, count)

    def draws(self) -> ColumnDraws:
        """Return the draws of all cases."""
        return RandomDraws(self.stream, self.first, self.count)

    def alone(self, row: int) -> CaseDraws:
        """Return the draws of one case."""
        return RandomCase(self.stream, self.first + row)


@dataclass(frozen=True, slots=True)
class ListedCases:
    """Cases whose choices are known, one row each."""

    known: Array

    @property
    def count(self) -> int:
        """How many cases there are."""
        return len(self.known)

    def part(self, first: int, count: int) -> ListedCases:
        """Return some of the cases."""
        return ListedCases(self.known[first : first + count])

    def draws(self) -> ColumnDraws:
        """Return the draws of all cases."""
        return ReplayedDraws(self.known)

    def alone(self, row: int) -> CaseDraws:
        """Return the draws of one case."""
        return ReplayedCase(tuple(self.known[row].tolist()))


@dataclass(slots=True)
class Judged:
    """The verdicts on the first cases of a chunk, in their order.

    `accepted` tells which cases got past `requires` and so spent budget. `violations`
    are the choices of the violated cases, by row. `discards` counts the reasons.
    Crashed cases have their outcome in `crashes`. `calls` are the model calls that the
    block of each case makes when it is run by itself.
    """

    verdicts: Array
    accepted: Array
    calls: Array
    violations: dict[int, tuple[int, ...]] = field(default_factory=dict)
    crashes: dict[int, Outcome] = field(default_factory=dict)
    discards: Counter[str] = field(default_factory=Counter)

    @property
    def k(self) -> int:
        """The most model calls of one case."""
        return int(self.calls.max(initial=0))

    @property
    def tests(self) -> int:
        """How many of the cases spent budget."""
        return int(self.accepted.sum())

    def add(self, row: int, outcome: Outcome) -> None:
        """Take in the outcome of a case that was run alone."""
        self.verdicts[row] = outcome.verdict
        self.accepted[row] = _is_test(outcome)
        self.calls[row] = outcome.calls
        match outcome.verdict:
            case Verdict.VIOLATED:
                self.violations[row] = outcome.choices
            case Verdict.CRASHED:
                self.crashes[row] = outcome
            case Verdict.DISCARDED:
                self.discards[outcome.why] += 1
            case Verdict.PASSED:
                pass


def _joined(first: Judged, second: Judged) -> Judged:
    """Put together the verdicts on cases that follow each other."""
    shift = len(first.verdicts)
    return Judged(
        np.concatenate([first.verdicts, second.verdicts]),
        np.concatenate([first.accepted, second.accepted]),
        np.concatenate([first.calls, second.calls]),
        first.violations | {r + shift: c for r, c in second.violations.items()},
        first.crashes | {r + shift: o for r, o in second.crashes.items()},
        first.discards + second.discards,
    )


def _is_test(outcome: Outcome) -> bool:
    return outcome.accepted and outcome.verdict is not Verdict.DISCARDED


class Engine:
    """A program and a way to run it."""

    def __init__(self, program: Program, way: Way | None = None) -> None:
        self.program = program
        straight = program.spec.code.straight is not None
        if way == "columns" and not straight:
            raise ValueError("the block is not straight-line code: it runs in lanes")
        self.way: Way = way or ("columns" if straight else "lanes")
        self.alone = Alone(program)
        self._lanes = Lanes(program) if self.way == "lanes" else None
        self.answers = Answers(len(program.source))
        self._most = max(_FEWEST, _MOST_BYTES // max(1, program.record_bytes))

    def forget(self) -> None:
        """Start a campaign afresh: no answers remembered, no rows counted."""
        self.answers = Answers(len(self.program.source))

    def run(self, cases: Cases, *, tests: int, crashes: int) -> Judged:
        """Judge cases in order until so many tests were made or so many crashed.

        It may stop earlier, where blocks discard cases: never later.
        """
        judged = _unjudged(0)
        for first in range(0, cases.count, self._most):
            part = cases
            if cases.count > self._most:
                part = cases.part(first, min(self._most, cases.count - first))
            limits = _Limits(tests - judged.tests, crashes - len(judged.crashes))
            with no_collection():  # till the chunk's objects are gone by themselves
                more = self._run_part(part, limits)
            judged = more if first == 0 else _joined(judged, more)
            reached = judged.tests >= tests or len(judged.crashes) >= crashes
            if reached or len(more.verdicts) < part.count:
                break
        return judged

    def _run_part(self, cases: Cases, limits: _Limits) -> Judged:
        if self.way == "rows":
            return self._run_alone(cases, limits)
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

    def _run_alone(self, cases: Cases, limits: _Limits) -> Judged:
        outcomes: list[Outcome] = []
        tests = crashes = 0
        for row in range(cases.count):
            outcome = self._alone(cases, row)
            outcomes.append(outcome)
            tests += _is_test(outcome)
            crashes += outcome.verdict is Verdict.CRASHED
            if tests >= limits.tests or crashes >= limits.crashes:
                break
        size = len(outcomes)
        judged = _unjudged(size)
        for row, outcome in enumerate(outcomes):
            judged.add(row, outcome)
        return judged

    def _alone(self, cases: Cases, row: int) -> Outcome:
        outcome = self.alone.run(cases.alone(row))
        if not self.program.plain_models:
            self.answers.rows_sent += outcome.calls
        return outcome

    def _block(self, columns: Columns) -> None:
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
        limits: _Limits,
    ) -> int:
        """Run the hard cases alone, in order; return where to stop for crashes."""
        if not chunk.left:
            return end
        assert not len(chunk.gone(Fate.WAITS)), "a draw that was not listed"
        hard = set(chunk.gone(Fate.HARD).tolist()) - resolved.keys()
        crashed = [r for r, o in resolved.items() if o.verdict is Verdict.CRASHED]
        for row in sorted(hard):
            if row >= end:
                break
            resolved[row] = self._alone(cases, row)
            if resolved[row].verdict is Verdict.CRASHED:
                crashed.append(row)
                if len(crashed) >= limits.crashes:
                    end = min(end, sorted(crashed)[limits.crashes - 1] + 1)
        return end


@dataclass(frozen=True, slots=True)
class _Limits:
    """Where to stop within a chunk."""

    tests: int
    crashes: int


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


def _unjudged(count: int) -> Judged:
    verdicts = np.full(count, Verdict.DISCARDED, dtype=np.int8)
    calls = np.zeros(count, dtype=np.int64)
    return Judged(verdicts, np.zeros(count, dtype=bool), calls)


def _collect(columns: Columns, resolved: dict[int, Outcome], end: int) -> Judged:
    """Put together what the chunk and the runs alone came to."""
    chunk = columns.chunk
    judged = _unjudged(end)
    verdicts = judged.verdicts
    judged.calls[:] = chunk.calls[:end]
    count = int(np.searchsorted(chunk.rows, end))  # of the cases before the end
    rows, failed = chunk.rows[:count], columns.failed[:count]
    verdicts[rows] = Verdict.PASSED
    judged.accepted[rows] = True
    violated = np.flatnonzero(failed >= 0)
    verdicts[rows[violated]] = Verdict.VIOLATED
    judged.violations = dict(
        zip(rows[violated].tolist(), chunk.choices_of(violated), strict=True)
    )
    for gone, fates, reasons in chunk.left:
        out = reasons[(gone < end) & (fates == Fate.DISCARDED)]
        for number, times in enumerate(np.bincount(out).tolist()):
            if times:
                judged.discards[chunk.reasons[number]] += times
    for row, outcome in resolved.items():
        if row < end:
            judged.add(row, outcome)
    return judged
