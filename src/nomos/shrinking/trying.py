"""Try cases with records of their own: many in a batch, and the one that is kept alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from nomos.domain.records import field_names, get_feature, set_feature
from nomos.domain.schema import Schema
from nomos.domain.values import plain
from nomos.engine.cases import KnownCase, ListedCases
from nomos.engine.choices import CaseDraws, Kind, from_pattern, pattern, replay_choice
from nomos.engine.engine import Engine
from nomos.engine.evaluated import Limits
from nomos.engine.interpreter import Outcome, Verdict
from nomos.engine.program import Program
from nomos.engine.samples import repeat_cases
from nomos.engine.vectorized.chunk import pad_choices
from nomos.engine.vectorized.rows import rows_as_recorded
from nomos.engine.watch import WHOLE_CHUNK, watch
from nomos.lang import core
from nomos.results.analysis import ShrunkRecord
from nomos.results.excess import CaseTest

_ROUNDS = 5  # how often one number is brought nearer in a row
_WHOLE = 40  # values; so many are all tried
_GRID = 12  # values between one that is too small and one that is not
_HALVINGS = 12
_RANK = 4  # of each candidate's test against chance: 1 in 1,600, so 1.25 % for twenty
# Cases of a batch that are run in isolation, where the first are not reproduced
_MOST_ISOLATED = 3


class DrawnRange(NamedTuple):
    """What a case drew from."""

    kind: Kind
    low: Any  # numbers; None where a seed is drawn
    high: Any

    def number_of(self, choice: int) -> float:
        """Return the number that a choice stands for."""
        return from_pattern(choice) if self.kind == "real" else choice

    def choice_of(self, number: float) -> int:
        """Return the choice that stands for a number."""
        return pattern(float(number)) if self.kind == "real" else int(number)


@dataclass(frozen=True, slots=True)
class Candidate:
    """Records, each with the row of the source that it is compared with, and draws."""

    records: tuple[Any, ...]
    rows: tuple[int, ...]
    draws: tuple[int, ...]

    def with_record(
        self, number: int, record: Any, row: int | None = None
    ) -> Candidate:
        """Return the case with another record, which is compared with a row."""
        row = self.rows[number] if row is None else row
        records, rows = (
            _replace_item(self.records, number, record),
            _replace_item(self.rows, number, row),
        )
        return Candidate(records, rows, self.draws)

    def with_draw(self, position: int, choice: int) -> Candidate:
        """Return the case with another choice of a draw."""
        return replace(self, draws=_replace_item(self.draws, position, choice))


def _replace_item(items: tuple[Any, ...], number: int, item: Any) -> tuple[Any, ...]:
    return (*items[:number], item, *items[number + 1 :])


class Tester:
    """Says which cases break the same `ensures`; counts what that takes."""

    def __init__(self, engine: Engine, failed: int, most: int) -> None:
        self.engine = engine
        self.program = engine.program
        self.failed = failed  # the number of the `ensures`
        self.left = most  # cases
        self.tried = 0
        self.calls = 0
        self.uses_labels = uses_labels(self.program.spec)
        # Of the case that was last run in isolation
        self.draws: tuple[DrawnRange, ...] = ()
        self.changed: frozenset[int] = frozenset()  # features, in that case

    def find_violating(self, cases: Sequence[Candidate]) -> list[int]:
        """Return which of the cases violate, as far as they may still be tried."""
        cases = cases[: self.left]
        if not cases:
            return []
        engine = on_records(self.engine, cases)
        inputs = len(self.program.spec.inputs)
        choices = [
            (*range(number * inputs, (number + 1) * inputs), *case.draws)
            for number, case in enumerate(cases)
        ]
        listed = ListedCases(*pad_choices(choices))
        evaluated = engine.run(listed, Limits(2**62, 2**62), repeat=False)
        self.tried += len(cases)
        self.left -= len(cases)
        self.calls += int(evaluated.calls.sum())
        found = evaluated.violations
        same = (found.failed >> self.failed) & 1 == 1
        rows: list[int] = found.rows[same].tolist()
        return rows

    def first_violating(self, cases: Sequence[Candidate]) -> int | None:
        """Return which of the cases is the first to violate in a batch, then alone."""
        for number in self.find_violating(cases)[:_MOST_ISOLATED]:
            if self.confirm_case(cases[number]) is not None:
                return number
        return None

    def first_of(self, cases: Sequence[Candidate], otherwise: Candidate) -> Candidate:
        """Return the first of the cases that violates, another one if none does."""
        found = self.first_violating(cases)
        return otherwise if found is None else cases[found]

    def confirm_case(self, case: Candidate) -> Outcome | None:
        """Run a case alone; return what came of it if it violates, else None."""
        inputs = len(case.records)
        choices = (*range(inputs), *case.draws)
        drawn: list[DrawnRange] = []

        def choose_known(position: int, kind: Kind, low: Any, high: Any) -> int:
            drawn.append(DrawnRange(kind, low, high))
            return replay_choice(choices, position, kind, low, high)

        watch.mark(WHOLE_CHUNK)  # the time of a call counts from here
        interpreter = on_records(self.engine, [case]).interpreter
        outcome = interpreter.run(CaseDraws(choose_known))
        self.tried += 1
        self.left -= 1
        self.calls += outcome.calls
        if (
            outcome.verdict is not Verdict.VIOLATED
            or not outcome.failed >> self.failed & 1
        ):
            return None
        if self.program.has_control and not self._fails_beyond_chance(case):
            return None
        self.draws = tuple(drawn[inputs:])
        self.changed = self._find_changed_features(outcome.values)
        return outcome

    def _fails_beyond_chance(self, case: Candidate) -> bool:
        """Tell whether a case of a random model fails more often than its control."""
        test = CaseTest(_RANK)
        choices = (*range(len(case.records)), *case.draws)
        repeat_cases(on_records(self.engine, [case]), [KnownCase(choices)], [test])
        self.tried += 2 * test.times
        self.left -= 2 * test.times
        self.calls += 2 * test.times * (self.program.spec.k or 1)
        return test.decision == "bug"

    def _find_changed_features(self, values: Mapping[str, Any]) -> frozenset[int]:
        """Return the features in which the rows of a case differ, by their numbers."""
        schema = self.program.schema
        if schema is None:
            return frozenset()
        rows = [
            value
            for value in values.values()
            if isinstance(value, np.ndarray) and value.shape == (schema.width,)
        ]
        return frozenset(
            number
            for number, feature in enumerate(schema.features)
            for at in [schema.place(feature.name)[1]]
            if any((row[at] != rows[0][at]).any() for row in rows[1:])
        )

    def describe_records(self, case: Candidate) -> tuple[ShrunkRecord, ...]:
        """Return the records of a case by rows and changes."""
        return tuple(
            ShrunkRecord(row, self._list_changes(record, row))
            for record, row in zip(case.records, case.rows, strict=True)
        )

    def _list_changes(self, record: Any, row: int) -> dict[str, Any]:
        before, schema = plain(self.program.source[row]), self.program.schema
        if isinstance(record, str):
            return {} if record == before else {"": record}
        names = fields_of(record)
        if schema is not None:
            names = [feature.name for feature in schema.features]
        values = [(name, get_feature(record, name, schema)) for name in names]
        return {
            name: value
            for name, value in values
            if isinstance(value, str | int | float)
            and value != get_feature(before, name, schema)
        }


def brought_near(  # noqa: PLR0913 - keywords
    tester: Tester,
    case: Candidate,
    get: Callable[[Candidate], float],
    put: Callable[[Candidate, float], Candidate],
    target: float,
    *,
    is_whole: bool,
    is_new: bool = True,
) -> Candidate:
    """Bring a number of a case near to a target, which is no news without `is_new`.

    It lies between a floor that is too near to the target and itself.
    """
    floor: float | None = None
    for _ in range(_ROUNDS):
        numbers = _numbers_to_try(get(case), floor, target, is_whole)
        numbers = numbers if is_new or floor is not None else numbers[1:]
        if not numbers or tester.left < 1:
            break
        cases = [put(case, number) for number in numbers]
        found = tester.first_violating(cases)
        if found is None:
            floor = numbers[-1]
            continue
        case = cases[found]
        if found == 0 and floor is None and is_new:
            break
        floor = numbers[found - 1] if found else target if floor is None else floor
    return case


def _numbers_to_try(
    value: float, floor: float | None, target: float, is_whole: bool
) -> list[float]:
    """Return what to try in place of a number, the nearest to the target first.

    Below a floor, nothing is left to try: then some numbers between it and the value.
    """
    start = target if floor is None else floor
    if is_whole:
        return _integer_steps(int(value), int(start), start_is_new=floor is None)
    apart = value - start
    if floor is None:
        found = {start, *(start + apart / 2**n for n in range(1, _HALVINGS))}
        return sorted(found - {value}, key=lambda number: abs(number - start))
    if abs(apart) <= 1e-3 * abs(value):
        return []
    return [start + n * (apart / (_GRID + 1)) for n in range(1, _GRID + 1)]


def _integer_steps(value: int, start: int, *, start_is_new: bool) -> list[float]:
    """Return whole numbers from a start to a value, the nearest to the start first."""
    apart, sign = abs(value - start), 1 if value > start else -1
    if not start_is_new:
        steps = {apart * n // (_GRID + 1) for n in range(1, _GRID + 1)} - {0}
    elif apart <= _WHOLE:
        steps = set(range(apart))
    else:
        steps = {0, 1, 2, 3, *(apart >> n for n in range(1, apart.bit_length()))}
    return [start + sign * step for step in sorted(steps)]


def on_records(engine: Engine, cases: Sequence[Candidate]) -> Engine:
    """Return an engine that draws the records of cases, one after the other."""
    program = engine.program
    records: Any = [record for case in cases for record in case.records]
    if isinstance(program.source, np.ndarray):
        records = np.array(records, dtype=program.source.dtype)
        records.flags.writeable = False
    labels = None
    if program.labels is not None:
        labels = [program.label_at(row) for case in cases for row in case.rows]
    return engine.with_inputs(records, labels)


def fields_of(record: Any) -> list[str]:
    """Return the names of a record's fields; none where it has no named ones."""
    if isinstance(record, Mapping):
        return [key for key in record if isinstance(key, str)]
    return list(field_names(record) or ())


def with_field(record: Any, key: str, value: Any, schema: Schema | None) -> Any:
    """Return a record with another value of a field; "" stands for a text as a whole."""
    return value if key == "" else set_feature(record, key, value, schema)


def rebuild_case(
    program: Program, records: Sequence[ShrunkRecord], draws: tuple[int, ...]
) -> Candidate:
    """Return the case that records by rows and changes stand for.

    Raises LookupError, TypeError, ValueError or OverflowError where they stand for none.
    """
    made = []
    if len(records) != len(program.spec.inputs):
        raise LookupError(f"the spec has not {len(records)} inputs")
    for shrunk in records:
        if not 0 <= shrunk.row < len(program.source):
            raise LookupError(f"there is no row {shrunk.row}")
        record = program.item(shrunk.row)
        for key, value in shrunk.changes.items():
            old = record if key == "" else get_feature(record, key, program.schema)
            if isinstance(value, str) != isinstance(old, str) or not isinstance(
                value, str | int | float
            ):
                raise TypeError(f"{key!r} takes no {value!r}"[:200])
            record = with_field(record, key, value, program.schema)
        if program.schema is not None:
            rows_as_recorded([record], program.source, program.schema, 1)
        made.append(record)
    return Candidate(tuple(made), tuple(record.row for record in records), draws)


def uses_labels(spec: core.Spec) -> bool:
    """Tell whether a spec asks for labels, which only rows of the source have."""
    named = any(isinstance(node, core.Label) for node in spec.nodes)
    return named or "label" in spec.code.called
