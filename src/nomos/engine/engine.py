"""Run and judge a chunk of cases by one of the ways; what is hard is run in isolation."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from nomos.accepted import Mode
from nomos.device import Array, free_bytes, is_out_of_memory
from nomos.domain.meter import CallsSpent, current_lease
from nomos.domain.reading.dates import days_as_dates
from nomos.domain.records import Column
from nomos.engine.answers import Answers, pack_array, unpack_array
from nomos.engine.cases import Cases, ListedCases, MadeCases, Records
from nomos.engine.choices import CaseDraws, EndlessRange, replay_draws
from nomos.engine.coroutines.block import CoroutineBlock
from nomos.engine.coroutines.hub import no_collection
from nomos.engine.evaluated import (
    EvaluatedChunk,
    Limits,
    Violations,
    add_resolved,
    collect,
    is_test,
    mark_made_records,
    merge_chunks,
    no_verdicts,
    trim_chunk,
)
from nomos.engine.interpreter import Interpreter, Outcome, Verdict
from nomos.engine.part_size import PartSize
from nomos.engine.program import Program
from nomos.engine.random_models import Resampling
from nomos.engine.samples import evaluate_control
from nomos.engine.space import input_count, list_cases
from nomos.engine.vectorized.chunk import Chunk, Fate
from nomos.engine.vectorized.columns import Columns
from nomos.engine.vectorized.distinct import Remembered, keys_of
from nomos.engine.vectorized.rows import rows_as_recorded
from nomos.engine.watch import WHOLE_CHUNK, watch
from nomos.errors import NomosError

_ALL = 2**62  # tests and crashes: no limit
SMALLEST = 64  # cases that are run before it is known what one takes
_EVEN = 64  # violations on a device run again in multiples: each size is planned anew


class Engine:
    """A program and the execution mode of its cases."""

    def __init__(self, program: Program, mode: Mode | None = None) -> None:
        self.program = program
        straight = program.spec.code.straight is not None
        if mode == "vectorized" and not straight:
            said = "takes a block of straight-line code: use coroutines"
            raise NomosError(f"`mode` vectorized {said}")
        self.mode: Mode = mode or ("vectorized" if straight else "coroutines")
        self.interpreter = Interpreter(program)
        in_columns = straight and self.mode != "coroutines"
        self._make_coroutines = None if in_columns else CoroutineBlock(program)
        self._asks_all = self._verdicts_only = False
        self._size = PartSize(program.case_bytes, free_bytes(program.device))
        self._size.learn_cost(program.spec.k or 1, 0, 1.0)
        self.forget()

    def with_inputs(self, rows: Any, labels: Sequence[Any] | None = None) -> Engine:
        """Return an engine that runs the same spec on other records."""
        return self._with_program(self.program.with_inputs(rows, labels))

    def with_samples(self, number: int, *, is_control: bool = False) -> Engine:
        """Return an engine whose random models give other samples, or the control's."""
        resampling = Resampling(number, is_control)
        other = self._with_program(self.program.with_samples(resampling))
        if self.mode == "vectorized":
            other.mode, other._make_coroutines = "coroutines", self._spare_block
        return other

    @cached_property
    def _spare_block(self) -> CoroutineBlock:
        return CoroutineBlock(self.program)

    def _with_program(self, program: Program) -> Engine:
        other = copy.copy(self)
        other.program, other.interpreter = program, self.interpreter.of(program)
        other.forget()
        return other

    def forget(self) -> None:
        """Start a campaign afresh: nothing is remembered, nothing counted."""
        self.answers = Answers(len(self.program.source))
        self._repeated = Remembered()  # violations: did they fail again in a batch?

    def export_answers(self) -> dict[str, Any]:
        """Return what a campaign that is resumed must remember, as data for JSON."""
        slots = pack_array(self._repeated.slots)
        return {"answers": self.answers.to_json(), "repeated": slots}

    def restore_answers(self, kept: Mapping[str, Any]) -> None:
        """Remember what an earlier process did of the same campaign."""
        self.answers.restore(kept["answers"])
        repeated = self._repeated
        repeated.slots = unpack_array(kept["repeated"], "<u8", repeated.slots.shape)

    def list_cases(
        self, begin: int = 0, count: int | None = None
    ) -> Iterator[ListedCases]:
        """Yield all cases of some ways to draw the inputs, in the order of their choices."""
        return list_cases(self.program, begin, count)

    def space_within(self, limit: int) -> int | None:
        """Return how many cases there are, None where there are more than `limit`."""
        if input_count(self.program) > limit:
            return None
        count = 0
        try:
            for cases in self.list_cases():
                count += cases.count
                if count > limit:
                    return None
        except EndlessRange:
            return None
        return count

    def count_affordable(self, most: int) -> int:
        """Return of how many cases the calls and the time suffice, at most so many."""
        return self._size.affordable(most, None)

    def replay(self, choices: tuple[int, ...], records: Records = ()) -> Outcome:
        """Run the case of these choices alone, with its own records where it has some."""
        if not records:
            return self.interpreter.run(replay_draws(choices))
        program = self.program
        count = len(program.spec.inputs)
        try:
            made = rows_as_recorded(records, program.source, program.schema, count)
        except LookupError as error:  # as where the choices cannot be drawn any more
            return self.interpreter.run(CaseDraws(partial(_refuse_draws, error)))
        later = choices[len(made) :]
        other = self.with_inputs(made)
        outcome = other.interpreter.run(replay_draws((*range(len(made)), *later)))
        drawn = (*choices[: len(made)], *outcome.choices[len(made) :])
        return replace(outcome, choices=drawn)

    def run_made(
        self,
        cases: MadeCases,
        limits: Limits,
        *,
        batch: int | None = None,
        one_by_one: bool = False,
        asks_all: bool = False,
    ) -> EvaluatedChunk:
        """Judge cases that have their own records, so many at once.

        With `asks_all`, the model is also asked for answers that decide nothing.
        """
        other = self.with_inputs(cases.made.rows)
        other.answers = Answers(0)  # no two cases have an input in common
        other._asks_all = asks_all
        evaluated = other.run(cases, limits, batch=batch, one_by_one=one_by_one)
        return mark_made_records(evaluated, cases)

    def values(
        self, cases: Cases, rows: Array | None = None, *, with_outputs: bool = False
    ) -> tuple[Array, tuple[Array, Array], dict[str, Column]]:
        """Return which cases come to their block, or its end, and what their names are.

        The second result is their choices, and how many each has. Only the cases at
        `rows` are meant, if given. Those that only a run in isolation could judge are left out.
        """
        program = self.program
        chunk = Chunk(program, cases)
        columns = Columns(chunk, Answers(0))
        names = [*program.spec.inputs, *(let.name for let in program.spec.variables)]
        with np.errstate(all="ignore"), no_collection():
            columns.generate()
            if rows is not None:
                chunk.keep(np.flatnonzero(np.isin(chunk.rows, rows)))
            if with_outputs and not columns.is_empty:
                names += program.spec.outputs
                self._block(columns, Answers(0))
            if columns.is_empty:
                return chunk.rows, chunk.choices_of(chunk.rows), {}
            for name in names:  # a value that was put off may let cases leave
                columns.column(name)
            chunk.settle()
            choices = chunk.choices_of(np.arange(len(chunk.rows)))
            values = {name: columns.column(name) for name in names}
            dates = {n: days_as_dates(values[n]) for n in program.spec.dates & {*names}}
            return chunk.rows, choices, values | dates

    def run(
        self,
        cases: Cases,
        limits: Limits,
        *,
        repeat: bool = True,
        batch: int | None = None,
        one_by_one: bool = False,
        before: int = 0,
    ) -> EvaluatedChunk:
        """Judge cases in order until so many tests were made or so many crashed.

        With `repeat`, violated cases are run again in a batch of their own. No more than
        `batch` cases run at once. With `one_by_one`, each runs in isolation, and it is said
        which is under way, `before` cases behind it. Where the calls are used up it ends
        early, before a violation that was not run again; where the first few suggest that the
        others take longer than the limit, behind these.
        """
        began = time.perf_counter()
        asked, moved = self.answers.asked_again, self.answers.nondeterministic
        parts: list[EvaluatedChunk] = []
        first, has_control = 0, repeat and self.program.has_control

        def evaluate(part: Cases) -> EvaluatedChunk:
            if one_by_one or self.mode == "sequential":
                # Violations that are run again are no rows of what was asked for.
                return self._run_rows(part, limits, before + first if repeat else None)
            return self._run_part(part, limits)

        while first < cases.count and not limits.are_reached:
            is_first = limits.longest_s < np.inf and not parts
            most = min(
                batch or _ALL, cases.count - first, SMALLEST if is_first else _ALL
            )
            due = [len(p) if has_control else len(p.violations) for p in parts]
            again = sum(due) if repeat else None
            parts.append(self._run_affordable(cases, first, most, again, evaluate))
            first += len(parts[-1])
            limits = limits.after(parts[-1])
            rest_s = self._size.expect_seconds(cases.count - first)
            if parts[-1].is_spent or rest_s > limits.longest_s:
                break
        whole = merge_chunks(parts)
        if has_control:
            whole = evaluate_control(self, cases, whole)
        elif repeat and not one_by_one and len(whole.violations):
            whole = self._repeat_whole(whole)
        whole.asked_again = self.answers.asked_again - asked
        whole.nondeterministic = self.answers.nondeterministic - moved
        whole.seconds = time.perf_counter() - began
        return whole

    def _repeat_whole(self, whole: EvaluatedChunk) -> EvaluatedChunk:
        """Run the violations again; without the calls for it, end before the first."""
        found = whole.violations
        try:
            with current_lease().during_phase("confirmation"):
                found.reproduced = self._repeat(found)
        except CallsSpent:
            return replace(whole.first(int(found.rows[0])), is_spent=True)
        return whole

    def _repeat(self, violations: Violations) -> Array:
        """Run violations again together, with nothing remembered; tell which failed again."""
        if not self.answers.size:  # each comes once
            return self._violates_again(violations, np.arange(len(violations)))
        keys = keys_of(violations.choices, violations.lengths)
        return self._repeated.recall(keys, partial(self._violates_again, violations))

    def _violates_again(self, violations: Violations, index: Array) -> Array:
        count = len(index)
        if self.program.device != "cpu" and current_lease().calls_left is None:
            index = np.resize(index, count + -count % _EVEN)
        cases = ListedCases(violations.choices[index], violations.lengths[index])
        other = copy.copy(self)
        other.answers, other._verdicts_only = Answers(0), True
        evaluated = other.run(cases, Limits(_ALL, _ALL), repeat=False)
        if evaluated.is_spent:
            raise CallsSpent
        return np.asarray(evaluated.verdicts[:count] == Verdict.VIOLATED)

    def _run_affordable(
        self,
        cases: Cases,
        first: int,
        most: int,
        violations: int | None,
        evaluate: Callable[[Cases], EvaluatedChunk],
    ) -> EvaluatedChunk:
        """Judge as many cases as calls are left for, but for running `violations` again."""
        while most := self._size.affordable(most, violations):
            began = time.perf_counter()
            try:
                part = self._run_next(cases, first, most, evaluate)
            except CallsSpent:  # they asked for more than cases did before
                most //= 4
                continue
            took = time.perf_counter() - began
            self._size.learn_cost(int(part.calls.max(initial=0)), len(part), took)
            return part
        return replace(no_verdicts(0), is_spent=True)

    def _run_next(
        self,
        cases: Cases,
        first: int,
        most: int,
        evaluate: Callable[[Cases], EvaluatedChunk],
    ) -> EvaluatedChunk:
        """Judge as many cases from `first` on as fit."""
        while True:
            size = min(self._size.count, most)
            part = cases if size == cases.count else cases.part(first, size)
            began, sent = time.perf_counter(), self.answers.rows_sent
            try:
                with no_collection():  # till the chunk's objects are gone by themselves
                    evaluated = evaluate(part)
            except Exception as error:
                if size == 1 or not is_out_of_memory(error):
                    raise
            else:
                if size == self._size.count:  # fewer rows once answers are known
                    rows = self.answers.rows_sent - sent
                    self._size.took(rows, time.perf_counter() - began)
                return evaluated
            self._size.halve()  # when what the part held is gone

    def _run_part(self, cases: Cases, limits: Limits) -> EvaluatedChunk:
        chunk = Chunk(self.program, cases)
        columns = Columns(
            chunk,
            self.answers,
            asks_all=self._asks_all,
            verdicts_only=self._verdicts_only,
        )
        resolved: dict[int, Outcome] = {}
        with np.errstate(all="ignore"):
            columns.generate()
            end = self._resolve(chunk, cases, resolved, cases.count, limits)
            end = trim_chunk(chunk, resolved, end, limits.tests)
            if not columns.is_empty:
                self._block(columns, self.answers)
                columns.evaluate()
        end = self._resolve(chunk, cases, resolved, end, limits)
        return collect(columns, resolved, end)

    def _run_rows(
        self, cases: Cases, limits: Limits, before: int | None
    ) -> EvaluatedChunk:
        outcomes: dict[int, Outcome] = {}
        tests, crashes, is_spent = 0, 0, False
        for row in range(cases.count):
            watch.mark(WHOLE_CHUNK if before is None else before + row)
            try:
                outcome = outcomes[row] = self.interpreter.run(cases.isolate_case(row))
            except CallsSpent:
                is_spent = True
                break
            tests += is_test(outcome)
            crashes += outcome.verdict is Verdict.CRASHED
            if tests >= limits.tests or crashes >= limits.crashes:
                break
        evaluated = replace(no_verdicts(len(outcomes)), is_spent=is_spent)
        add_resolved(evaluated, outcomes, [])
        return evaluated

    def _block(self, columns: Columns, answers: Answers) -> None:
        """Run the block for the cases still here."""
        if self._make_coroutines is None:
            columns.block()
        else:
            self._make_coroutines.run(columns, answers)

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
        gone = [chunk.find_gone(fate) for fate in (Fate.HARD, Fate.WAITS)]
        hard = set(np.concatenate(gone).tolist())
        crashed = [r for r, o in resolved.items() if o.verdict is Verdict.CRASHED]
        for row in sorted(hard - resolved.keys()):
            if row >= end:
                break
            resolved[row] = self.interpreter.run(cases.isolate_case(row))
            if resolved[row].verdict is Verdict.CRASHED:
                crashed.append(row)
                if len(crashed) >= limits.crashes:
                    end = min(end, sorted(crashed)[limits.crashes - 1] + 1)
            elif resolved[row].verdict is not Verdict.UNREADABLE:
                current_lease().note_exception(chunk.failures.get(row, ""))
        return end


def _refuse_draws(error: LookupError, *_: object) -> int:
    raise error
