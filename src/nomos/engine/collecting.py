"""Verdicts put together: of a chunk, of the cases run alone, of chunks that follow."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from nomos.engine.alone import Outcome, Verdict
from nomos.engine.cases import MadeCases, marks_of
from nomos.engine.judged import CrashedCase, Judged, Violations, joined, no_violations
from nomos.engine.vectorized.chunk import Fate
from nomos.engine.vectorized.columns import Columns


def is_test(outcome: Outcome) -> bool:
    """Tell whether a case spends budget."""
    return outcome.accepted and outcome.verdict is not Verdict.DISCARDED


def unjudged(count: int) -> Judged:
    """Return cases of which nothing is known yet."""
    return Judged(
        np.full(count, Verdict.DISCARDED, dtype=np.int8),
        np.zeros(count, dtype=bool),
        np.zeros(count, dtype=np.int32),
        np.full(count, -1, dtype=np.int32),
    )


def collect(columns: Columns, resolved: dict[int, Outcome], end: int) -> Judged:
    """Put together what the chunk and the runs alone came to."""
    chunk = columns.chunk
    judged = unjudged(end)
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
    add_resolved(judged, resolved, chunk.reasons)
    return judged


def add_resolved(
    judged: Judged, resolved: dict[int, Outcome], reasons: list[str]
) -> None:
    """Take in the outcomes of cases that were run alone."""
    reasons = list(reasons)
    crashes, violated = [], []
    for row, outcome in sorted(resolved.items()):
        judged.verdicts[row] = outcome.verdict
        judged.accepted[row] = is_test(outcome)
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


def marked(judged: Judged, cases: MadeCases) -> Judged:
    """Let made records stand by their marks in the choices, and go with violations."""
    made, found = cases.made, judged.violations
    records = made.rows.reshape(len(made), made.inputs, -1)[cases.start :]
    if len(found):
        found.records = records[found.rows]
        marks = marks_of(found.records.reshape(-1, records.shape[2]))
        found.choices[:, : made.inputs] = marks.reshape(-1, made.inputs)
    judged.crashes = tuple(
        replace(
            crash,
            choices=(
                *marks_of(records[crash.row]).tolist(),
                *crash.choices[made.inputs :],
            ),
        )
        for crash in judged.crashes
    )
    return judged


def put_together(parts: list[Judged]) -> Judged:
    """Put together the verdicts on cases that follow each other."""
    if len(parts) == 1:
        return parts[0]
    whole = unjudged(sum(map(len, parts)))
    first = 0
    for part in parts:
        here = slice(first, first + len(part))
        for name in ("verdicts", "accepted", "calls", "why"):
            getattr(whole, name)[here] = getattr(part, name)
        whole.why[here][part.why >= 0] += len(whole.reasons)
        whole.reasons += part.reasons
        whole.crashes += tuple(replace(c, row=c.row + first) for c in part.crashes)
        part.violations.rows = part.violations.rows + first
        first += len(part)
    found = [part.violations for part in parts]
    whole.violations = joined([no_violations(), *found])
    return whole
