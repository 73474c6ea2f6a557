"""What became of a chunk of cases, as data that workers can send.

The verdicts of columns, of cases run in isolation and of chunks that follow are put together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from nomos.device import Array
from nomos.engine.cases import KnownCase, MadeCases, marks_of
from nomos.engine.interpreter import NOT_EVALUATED, Outcome, Verdict
from nomos.engine.vectorized.chunk import Chunk, Fate, pad_choices
from nomos.engine.vectorized.columns import Columns


@dataclass(slots=True)
class Violations:
    """The violated cases of a chunk, in their order.

    A row of `choices` holds the first `lengths` numbers that a case drew. `failed` has
    a bit for each `ensures` that does not hold. `margins` say by how much the first of
    them is missed, NaN where that is no number. `reproduced` marks the cases that were
    violated again in a batch of violated cases alone. `records` holds the records of
    each case where a search has made them: (cases, inputs, columns).
    """

    rows: Array
    choices: Array
    lengths: Array
    failed: Array
    margins: Array
    reproduced: Array
    records: Array | None = None

    def __len__(self) -> int:
        return len(self.rows)

    @classmethod
    def of(
        cls,
        rows: Sequence[int],
        choices: Sequence[tuple[int, ...]],
        failed: Sequence[int],
        margins: Sequence[float],
    ) -> Violations:
        """Return the violations of these rows, each with its choices."""
        return cls(
            np.array(rows, dtype=np.int64),
            *pad_choices(choices),
            np.array(failed, dtype=np.int64),
            np.array(margins, dtype=np.float64),
            np.ones(len(rows), dtype=bool),
        )

    def take(self, index: Array | slice) -> Violations:
        """Return some of the violations."""
        columns: list[Any] = [getattr(self, name) for name in self.__slots__]
        is_slice = isinstance(index, slice)
        columns = [
            one if one is None else one[index] if is_slice else one.take(index, axis=0)
            for one in columns
        ]
        return Violations(*columns)

    def choices_of(self, number: int) -> tuple[int, ...]:
        """Return the choices of one case."""
        return tuple(self.choices[number, : self.lengths[number]].tolist())

    def case_of(self, number: int) -> KnownCase:
        """Return one case, with its records where it has its own."""
        if self.records is None:
            return KnownCase(self.choices_of(number))
        records = tuple(map(tuple, self.records[number].tolist()))
        return KnownCase(self.choices_of(number), records)


def join_violations(parts: Sequence[Violations]) -> Violations:
    """Put violations together, in the order of their rows."""
    if len(parts) == 1:
        return parts[0]
    width = max(part.choices.shape[1] for part in parts)
    columns: list[Any] = []
    for name in Violations.__slots__:
        own = [getattr(part, name) for part in parts]
        if name == "choices":
            own = [np.pad(one, ((0, 0), (0, width - one.shape[1]))) for one in own]
        there = [one for one in own if one is not None]
        columns.append(np.concatenate(there) if there else None)
    together = Violations(*columns)
    return together.take(np.argsort(together.rows, kind="stable"))


def no_violations() -> Violations:
    """Return the violations of a chunk that has none."""
    return Violations.of([], [], [], [])


@dataclass(frozen=True, slots=True)
class ChunkCrash:
    """A case of a chunk that ended in an error, or in an answer that cannot be read."""

    row: int
    choices: tuple[int, ...]
    error: str
    traceback: str
    is_unreadable: bool = False


_OF_CASES = ("verdicts", "accepted", "calls", "why", "rate_bits")


@dataclass(slots=True)
class EvaluatedChunk:
    """The verdicts on the first cases of a chunk, in their order.

    `accepted` tells which cases got past `requires` and so spent budget; `calls` how
    many calls of the model each makes when run by itself. `why` numbers the reason of
    each discarded case among `reasons`, -1 for the others. `rate_bits` has two bits for each
    rate: whether it is of a case, and whether the case counts. `signals` tell a search of
    each case how near it came to a violation: (kinds, cases). `reached` has a bit for
    each `ensures` that was more than an implication whose premise no case has. `inputs`
    is the checksum of the inputs that the cases were drawn from, where it is known.
    `is_spent` says that the calls of the model ended before the cases did.
    """

    verdicts: Array
    accepted: Array
    calls: Array
    why: Array
    rate_bits: Array = field(default_factory=lambda: np.empty(0, dtype=np.int32))
    reasons: tuple[str, ...] = ()
    violations: Violations = field(default_factory=no_violations)
    crashes: tuple[ChunkCrash, ...] = ()
    asked_again: int = 0
    nondeterministic: int = 0
    seconds: float = 0.0
    busy_s: float = 0.0  # of them, those in which this process did something
    signals: Array | None = None
    reached: int = -1  # all
    inputs: str = ""
    is_spent: bool = False
    control: Array | None = None  # verdicts on the control of each case

    def __len__(self) -> int:
        return len(self.verdicts)

    @property
    def search_calls(self) -> Array:
        """The calls for each case: its control, or a violation, is a second run."""
        is_violated = self.verdicts == Verdict.VIOLATED
        calls: Array = self.calls * (1 + (is_violated | (self.control is not None)))
        return calls

    def first(self, count: int) -> EvaluatedChunk:
        """Return the verdicts on the first of the cases."""
        found = self.violations
        return replace(
            self,
            **{name: getattr(self, name)[:count] for name in _OF_CASES},
            violations=found.take(np.flatnonzero(found.rows < count)),
            crashes=tuple(crash for crash in self.crashes if crash.row < count),
            control=None if self.control is None else self.control[:count],
        )


@dataclass(frozen=True, slots=True)
class Limits:
    """Where to stop within a chunk, and how long all of it may take."""

    tests: int
    crashes: int
    longest_s: float = np.inf

    def after(self, evaluated: EvaluatedChunk) -> Limits:
        """Return what is left of them behind some cases."""
        tests = self.tests - int(evaluated.accepted.sum())
        crashed = sum(not crash.is_unreadable for crash in evaluated.crashes)
        return Limits(tests, self.crashes - crashed, self.longest_s)

    @property
    def are_reached(self) -> bool:
        """Whether nothing is left."""
        return self.tests < 1 or self.crashes < 1


def is_test(outcome: Outcome) -> bool:
    """Tell whether a case spends budget: it got past `requires`, or crashed or was unreadable on the way."""
    ended = outcome.verdict in (Verdict.CRASHED, Verdict.UNREADABLE)
    return ended or (outcome.accepted and outcome.verdict not in NOT_EVALUATED)


def no_verdicts(count: int) -> EvaluatedChunk:
    """Return cases of which nothing is known yet."""
    return EvaluatedChunk(
        np.full(count, Verdict.DISCARDED, dtype=np.int8),
        np.zeros(count, dtype=bool),
        np.zeros(count, dtype=np.int32),
        np.full(count, -1, dtype=np.int32),
        np.zeros(count, dtype=np.int32),
        reached=0,
    )


def collect(columns: Columns, resolved: dict[int, Outcome], end: int) -> EvaluatedChunk:
    """Put together what the chunk and the runs in isolation came to."""
    chunk = columns.chunk
    evaluated = no_verdicts(end)
    evaluated.reached = columns.reached
    evaluated.calls[:] = chunk.calls[:end]
    count = int(np.searchsorted(chunk.rows, end))  # of the cases before the end
    rows = chunk.rows[:count]
    evaluated.verdicts[rows] = Verdict.PASSED
    evaluated.accepted[rows] = True
    if len(columns.rate_bits):
        evaluated.rate_bits[rows] = columns.rate_bits[:count]
    violated = np.flatnonzero(columns.failed[:count])
    evaluated.verdicts[rows[violated]] = Verdict.VIOLATED
    if len(violated) and not columns.verdicts_only:
        evaluated.violations = Violations(
            rows[violated],
            *chunk.choices_of(violated),
            columns.failed[violated],
            columns.margins[violated],
            np.ones(len(violated), dtype=bool),
        )
    for gone, fates, reasons in chunk.left:
        same = gone[(gone < end) & (fates == Fate.UNCHANGED)]
        evaluated.verdicts[same] = Verdict.UNCHANGED
        out = (gone < end) & (fates == Fate.DISCARDED)
        evaluated.why[gone[out]] = reasons[out]
    resolved = {row: outcome for row, outcome in resolved.items() if row < end}
    add_resolved(evaluated, resolved, chunk.reasons)
    return evaluated


def trim_chunk(chunk: Chunk, resolved: dict[int, Outcome], end: int, tests: int) -> int:
    """Drop the cases behind the last one that the budget covers."""
    if end == chunk.size and len(chunk.rows) + len(resolved) <= tests:
        return end
    early = [row for row, outcome in resolved.items() if is_test(outcome)]
    here = chunk.rows[chunk.rows < end]
    counted = np.sort(np.concatenate([here, np.array(early, dtype=here.dtype)]))
    if len(counted) > tests:
        end = min(end, int(counted[tests - 1]) + 1)
    if len(chunk.rows) and int(chunk.rows[-1]) >= end:
        chunk.keep(np.flatnonzero(chunk.rows < end))
    return end


def add_resolved(
    evaluated: EvaluatedChunk, resolved: dict[int, Outcome], reasons: list[str]
) -> None:
    """Take in the outcomes of cases that were run in isolation."""
    reasons = list(reasons)
    crashes, violated = [], []
    for row, outcome in sorted(resolved.items()):
        evaluated.verdicts[row] = outcome.verdict
        evaluated.accepted[row] = is_test(outcome)
        evaluated.calls[row] = outcome.calls
        evaluated.why[row] = -1
        if outcome.verdict in (Verdict.PASSED, Verdict.VIOLATED):
            evaluated.reached |= outcome.reached
            evaluated.rate_bits[row] = outcome.rate_bits
        if outcome.verdict is Verdict.VIOLATED:
            violated.append(row)
        elif outcome.verdict in (Verdict.CRASHED, Verdict.UNREADABLE):
            ended = (row, outcome.choices, outcome.why, outcome.traceback)
            crashes.append(ChunkCrash(*ended, outcome.verdict is Verdict.UNREADABLE))
        elif outcome.verdict is Verdict.DISCARDED:
            if outcome.why not in reasons:
                reasons.append(outcome.why)
            evaluated.why[row] = reasons.index(outcome.why)
    evaluated.crashes, evaluated.reasons = tuple(crashes), tuple(reasons)
    if violated:
        outcomes = [resolved[row] for row in violated]
        found = Violations.of(
            violated,
            [outcome.choices for outcome in outcomes],
            [outcome.failed for outcome in outcomes],
            [outcome.margin for outcome in outcomes],
        )
        evaluated.violations = join_violations([evaluated.violations, found])


def mark_made_records(evaluated: EvaluatedChunk, cases: MadeCases) -> EvaluatedChunk:
    """Let made records stand by their marks in the choices, and go with violations."""
    made, found = cases.made, evaluated.violations
    records = made.rows.reshape(len(made), made.inputs, -1)[cases.start :]
    if len(found):
        found.records = records[found.rows]
        marks = marks_of(found.records.reshape(-1, records.shape[2]))
        found.choices[:, : made.inputs] = marks.reshape(-1, made.inputs)
    evaluated.crashes = tuple(
        replace(
            crash,
            choices=(
                *marks_of(records[crash.row]).tolist(),
                *crash.choices[made.inputs :],
            ),
        )
        for crash in evaluated.crashes
    )
    return evaluated


def merge_chunks(parts: list[EvaluatedChunk]) -> EvaluatedChunk:
    """Put together the verdicts on cases that follow each other."""
    if len(parts) == 1:
        return parts[0]
    whole = no_verdicts(sum(map(len, parts)))
    first = 0
    for part in parts:
        here = slice(first, first + len(part))
        for name in _OF_CASES:
            getattr(whole, name)[here] = getattr(part, name)
        whole.why[here][part.why >= 0] += len(whole.reasons)
        whole.reasons += part.reasons
        whole.reached |= part.reached
        whole.is_spent |= part.is_spent
        whole.crashes += tuple(replace(c, row=c.row + first) for c in part.crashes)
        part.violations.rows = part.violations.rows + first
        first += len(part)
    found = [part.violations for part in parts]
    whole.violations = join_violations([no_violations(), *found])
    return whole
