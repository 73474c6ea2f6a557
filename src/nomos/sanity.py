"""Would a spec notice? The same cases, asked of a model with a fault planted in it.

A fault is a function of the records that the model is asked about, and of its answers.
"""

import copy
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from hashlib import blake2b
from typing import Any

import numpy as np

from nomos.device import Array
from nomos.domain.functions import BoundBatched
from nomos.domain.meter import CallsSpent, Meter
from nomos.domain.records import items
from nomos.domain.schema import Schema
from nomos.domain.values import plain
from nomos.engine.cases import ListedCases
from nomos.engine.choices import EndlessRange
from nomos.engine.engine import Engine
from nomos.engine.vectorized.chunk import pad_choices
from nomos.errors import NomosError
from nomos.groups.features import raw_features
from nomos.results.result import Result
from nomos.runner.jobs import Prepared
from nomos.runner.options import Options
from nomos.runner.projects import run_prepared

_MOST_LABELS = 50  # different answers; a model with more gives numbers
_MOST_NOTED = 1000  # different answers that are kept
_SCALARS = (bool, int, float, str)
Chosen = Callable[[Sequence[Any]], Array]  # of columns: the records concerned
Wrong = Callable[[Sequence[Any], Sequence[Any]], list[Any]]  # of columns and answers


@dataclass(frozen=True, slots=True)
class Noticed:
    """What became of one planted fault."""

    fault: str
    violations: int
    new: int  # unique bugs that the model as it is does not have

    @property
    def is_noticed(self) -> bool:
        """Whether the spec tells the faulty model from the model as it is."""
        return self.new > 0


@dataclass(frozen=True, slots=True)
class SanityCheck:
    """What a spec notices, on the same cases for each fault."""

    name: str
    tests: int
    violations: int  # of the model as it is
    faults: tuple[Noticed, ...]

    @property
    def lines(self) -> Iterator[str]:
        """What a reader is told."""
        yield f"{self.name}: {self.violations:,} of {self.tests:,} violated as it is"
        widest = max(len(noticed.fault) for noticed in self.faults)
        for noticed in self.faults:
            said = "noticed" if noticed.is_noticed else "not noticed"
            counts = f"{noticed.violations} violated, {noticed.new} new bugs"
            yield f"  {noticed.fault:<{widest}}  {said:<11}  {counts}"
        for remark in self.remarks:
            yield f"  {remark}"

    @property
    def remarks(self) -> list[str]:
        """What a reader should think about."""
        said = []
        if not any(fault.is_noticed for fault in self.faults):
            said.append("notices none of these faults: what does it demand?")
        passes = [
            fault.fault.removeprefix("always ")
            for fault in self.faults
            if fault.fault.startswith("always ") and not fault.violations
        ]
        if passes:
            said.append(f"a model passes that always answers {' or '.join(passes)}")
        for fault in self.faults:
            if fault.fault == "reversed" and fault.violations < self.violations:
                said.append(
                    f"the reversed model violates it less often ({fault.violations:,} of"
                    f" {self.tests:,}, as it is {self.violations:,}): is the direction right?"
                )
        return said


def check_sanity(prepared: Prepared, seed: int, options: Options) -> SanityCheck:
    """Run a spec with the model as it is, and with each fault planted in its answers."""
    options = replace(options, confirm=1, resume=False, accept=False)
    program = prepared.engine.program
    names = sorted(program.spec.code.called)
    called = [name for name in names if program.find_batched(name) is not None]
    if not called:
        name = prepared.subject.property
        said = "its block calls no batched function to plant faults in"
        raise NomosError(f"{name}: {said}")
    noting, meter = _Noting(), Meter(options.calls)
    run = partial(_run_or_raise, seed=seed, options=options, meter=meter)
    as_it_is = run(_plant_fault(prepared, called, noting.note_answers), runs_left=4)
    before = {bug.choices for bug in as_it_is.bugs}
    rates = {rate.text for rate in as_it_is.broken_rates}
    found = []
    with _metering(meter):
        faults = _possible_faults(prepared, as_it_is, noting)
    for number, (name, wrong) in enumerate(faults.items()):
        left = len(faults) - number
        result = run(_plant_fault(prepared, called, wrong), runs_left=left)
        new = sum(bug.choices not in before for bug in result.bugs)
        # A rate that is violated is noticed as a bug is: the model as it is has none.
        new += sum(rate.text not in rates for rate in result.broken_rates)
        violations = result.counts.violations + len(result.broken_rates)
        found.append(Noticed(name, violations, new))
    counts = as_it_is.counts
    return SanityCheck(as_it_is.name, counts.tests, counts.violations, tuple(found))


@contextmanager
def _metering(meter: Meter) -> Iterator[None]:
    """Count what is asked inside; raises NomosError where that is too much."""
    try:
        with meter.lease_rest("set-up"):
            yield
    except CallsSpent:
        raise NomosError("`--calls` does not suffice for `--sanity`") from None


def _run_or_raise(
    prepared: Prepared, seed: int, options: Options, meter: Meter, runs_left: int
) -> Result:
    """Run a campaign with its share of the calls that are left to so many runs."""
    free = meter.free(from_reserve=True)
    granted = meter.grant(free and free // runs_left, from_reserve=True)
    if granted == 0:
        raise NomosError(
            f"{prepared.subject.property}: `--calls` does not suffice for `--sanity`,"
            " which runs a campaign for each fault"
        )
    result = run_prepared(prepared, seed, replace(options, calls=granted))
    meter.settle(granted, {"search": result.calls.asked}, from_reserve=True)
    if result.verdict == "failed":
        raise NomosError(f"{result.name}: {result.problem}")
    return result


def _plant_fault(prepared: Prepared, names: Sequence[str], wrong: Wrong) -> Prepared:
    """Return the same job with other answers."""
    program = copy.copy(prepared.engine.program)
    program.functions = dict(program.functions)
    for name in names:
        bound = program.find_batched(name)
        assert bound is not None
        program.functions[name] = _make_faulty(bound, wrong)
    return replace(prepared, engine=Engine(program, prepared.engine.mode))


def _make_faulty(bound: BoundBatched, wrong: Wrong) -> BoundBatched:
    function = copy.copy(bound.function)

    def answer_wrongly(_: Any, *columns: Any) -> Any:
        asked = [column.copy() for column in columns]  # the model may change its own
        return wrong(asked, items(bound.many(*columns)))

    function.method = answer_wrongly
    return BoundBatched(function, bound.instance)


class _Noting:
    """The different answers that a model gives."""

    def __init__(self) -> None:
        self.answers: set[Any] = set()
        self.are_scalars = True

    def note_answers(self, columns: Sequence[Any], answers: Sequence[Any]) -> list[Any]:
        """Note answers, and hand them on as they are."""
        self.are_scalars &= all(isinstance(answer, _SCALARS) for answer in answers)
        if self.are_scalars and len(self.answers) < _MOST_NOTED:
            self.answers.update(answers)
        return list(answers)


def _possible_faults(
    prepared: Prepared, result: Result, noting: _Noting
) -> dict[str, Wrong]:
    """Return the faults that can be planted in these answers."""
    if not noting.are_scalars or not noting.answers:
        raise NomosError(f"{result.name}: its answers are neither labels nor numbers")
    try:
        values = tuple(sorted(noting.answers))
    except TypeError:
        values = tuple(sorted(noting.answers, key=repr))
    if len(values) > _MOST_LABELS and isinstance(values[0], str):
        raise NomosError(f"{result.name}: its answers are texts, not labels")
    program = prepared.engine.program
    dip = subgroup = None
    if program.schema is not None and program.rows is not None:
        changed = _find_changed_features(prepared.engine)
        dip = _choose_band(program.source, program.schema, changed[:1], 0.45, 0.55)
        others = [f.name for f in program.schema.features if f.name not in changed]
        subgroup = _choose_band(program.source, program.schema, others, 0.0, 0.1)
    return _faults_of(Answered(values), dip, subgroup)


def _find_changed_features(engine: Engine) -> list[str]:
    """Return the features in which the records of a case differ from its first input."""
    program = engine.program
    choices: list[Any] = []
    with suppress(EndlessRange):
        for known in engine.list_cases():
            choices += known.part(0, 200).choices()
            if len(choices) >= 200:
                break
    if not choices:
        return []
    _, _, values = engine.values(ListedCases(*pad_choices(choices)))
    raw = raw_features(values, program.spec.inputs, program.schema)
    assert program.schema is not None
    found = []
    for feature in program.schema.features:
        for name, column in raw.items():
            is_change = f".{feature.name} - " in name and column.any()
            is_other = name.endswith(f".{feature.name}") and column.dtype == object
            if is_change or (is_other and (column != "unchanged").any()):
                found.append(feature.name)
    return list(dict.fromkeys(found))


def _choose_band(
    source: Array, schema: Schema, names: Sequence[str], low: float, high: float
) -> Chosen | None:
    """Return what chooses rows by quantiles of the first of the features that varies."""
    for name in names:
        feature, columns = schema.place(name)
        if feature.width > 1:
            continue
        values = source[:, columns.start].astype(np.float64)
        start, end = np.quantile(values, (low, high), method="nearest")
        if low == 0.0 and not (values > end).any():
            continue
        return partial(_rows_in_band, columns.start, start, end)
    return None


def _rows_in_band(at: int, start: Any, end: Any, columns: Sequence[Any]) -> Array:
    rows = np.asarray(columns[0])
    if rows.ndim != 2:
        return np.zeros(len(rows), dtype=bool)
    chosen: Array = (rows[:, at] >= start) & (rows[:, at] <= end)
    return chosen


@dataclass(frozen=True, slots=True)
class Answered:
    """What a model answers: labels from low to high, or numbers of a range."""

    values: tuple[Any, ...]

    @property
    def are_labels(self) -> bool:
        """Whether there are few enough to be labels."""
        return len(self.values) <= _MOST_LABELS

    def opposite_answer(self, answer: Any) -> Any:
        """Return the answer at the other end."""
        low, high = self.values[0], self.values[-1]
        if not self.are_labels:
            return low + high - answer
        if answer not in self.values:
            return answer
        return self.values[-1 - self.values.index(answer)]

    def other_answer(self, answer: Any) -> Any:
        """Return an answer that is another one."""
        low, high = self.values[0], self.values[-1]
        if not self.are_labels:
            return high if answer < (low + high) / 2 else low
        if answer not in self.values:
            return low
        return self.values[(self.values.index(answer) + 1) % len(self.values)]


def hash_records(columns: Sequence[Any]) -> Array:
    """Return a number from 0 to 1 for each record, the same whenever it is asked about."""
    found = []
    for record in zip(*columns, strict=True):
        digest = blake2b(digest_size=8)
        for part in record:
            is_array = isinstance(part, np.ndarray)
            digest.update(part.tobytes() if is_array else repr(plain(part)).encode())
        found.append(int.from_bytes(digest.digest(), "little") / 2**64)
    return np.array(found)


def _faults_of(
    answered: Answered, dip: Chosen | None, subgroup: Chosen | None
) -> dict[str, Wrong]:
    """Return all faults by name; `dip` and `subgroup` say which records are concerned."""
    low, high = answered.values[0], answered.values[-1]
    found = {
        f"noise of {share * 100:g} %": _wrong_where(
            partial(_choose_share, share), answered.other_answer
        )
        for share in (0.1, 0.01, 0.001)
    }
    found["reversed"] = _wrong_where(None, answered.opposite_answer)
    if dip is not None:
        found["a dip in what is changed"] = _wrong_where(dip, lambda _: low)
    if subgroup is not None:
        reverse = _wrong_where(subgroup, answered.opposite_answer)
        found["reversed for a subgroup"] = reverse
    found[f"always {low}"] = _wrong_where(None, lambda _: low)
    found[f"always {high}"] = _wrong_where(None, lambda _: high)
    return found


def _choose_share(share: float, columns: Sequence[Any]) -> Array:
    chosen: Array = hash_records(columns) < share
    return chosen


def _wrong_where(chosen: Chosen | None, wrong: Callable[[Any], Any]) -> Wrong:
    """Return what is wrong about the chosen records; None: about all."""

    def answers_with(columns: Sequence[Any], answers: Sequence[Any]) -> list[Any]:
        if chosen is None:
            return [wrong(answer) for answer in answers]
        pairs = zip(chosen(columns).tolist(), answers, strict=True)
        return [wrong(answer) if hit else answer for hit, answer in pairs]

    return answers_with
