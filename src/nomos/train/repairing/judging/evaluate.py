"""How good a model is, in two respects: how often it is right, and breaks each spec."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from nomos.device import Array, to_host
from nomos.domain.domain import Domain
from nomos.domain.find import Imported
from nomos.domain.functions import BoundBatched
from nomos.domain.records import items, take
from nomos.domain.schema import Schema
from nomos.engine.cases import Cases, ListedCases, RandomCases
from nomos.engine.choices import Stream
from nomos.engine.engine import Engine
from nomos.engine.interpreter import Verdict
from nomos.engine.judged import Limits
from nomos.engine.meaning.operators import same
from nomos.engine.program import Program
from nomos.engine.space import list_cases
from nomos.errors import DomainError, NomosError
from nomos.lang import core
from nomos.results.result import Result
from nomos.results.statistics import Interval, clopper_pearson
from nomos.runner.jobs import Prepared, subject_of
from nomos.runner.options import Options
from nomos.runner.prepared import run_prepared

_BATCH = 4096  # records asked at once
_CHUNK = 8192  # cases run at once
_TRIED = 200  # records that functions of a domain are tried with
_MOST_DRAWN = 100  # cases drawn for each that gets past `requires`


@dataclass(frozen=True, slots=True)
class Records:
    """Records and the label of each."""

    items: Any
    labels: Sequence[Any]

    def __len__(self) -> int:
        return len(self.items)

    def take(self, places: Array) -> Records:
        """Return some of the records."""
        return Records(take(self.items, places), take(self.labels, places))  # type: ignore[arg-type]  # labels


class SwappableModel:
    """Answers with the model that is tried just now, and can note what it is asked."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.schema: Schema | None = None  # as `load_model` was told
        self.taken = False  # a domain has loaded it
        self._heard: list[Any] | None = None

    def give(self) -> SwappableModel:
        """Be loaded by a domain."""
        self.taken = True
        return self

    def predict(self, rows: Any) -> Any:
        """Return one label for each row."""
        return self._note_rows(rows).predict(rows)

    def scores(self, rows: Any) -> Any:
        """Return the scores of each row's classes."""
        return self._note_rows(rows).scores(rows)

    def _note_rows(self, rows: Any) -> Any:
        if self._heard is not None:
            self._heard.append(rows)
        return self.model

    @contextmanager
    def listening(self) -> Iterator[list[Any]]:
        """Note the rows that are asked inside."""
        heard: list[Any] = []
        self._heard = heard
        try:
            yield heard
        finally:
            self._heard = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["model"], name)


@dataclass(frozen=True, slots=True)
class Share:
    """So many of so many; `exact` where those are all there are."""

    count: int
    total: int
    exact: bool = False

    @property
    def value(self) -> float:
        """The share; 0 of nothing is 0."""
        return self.count / self.total if self.total else 0.0

    @property
    def interval(self) -> Interval:
        """Where the true share lies, with 95 % confidence."""
        return clopper_pearson(self.count, self.total)


@dataclass(frozen=True, slots=True)
class Evaluation:
    """How good a model is: right answers, and violations by the name of the spec.

    Cases of one record are alike, so counts of violations vary by more than if each case
    were a new record: `variances` say by how much, where that is known.
    """

    accuracy: Share
    rates: Mapping[str, Share]
    variances: Mapping[str, float] = field(default_factory=dict)

    @property
    def total_rate(self) -> float:
        """The sum of the rates: what one round has to have less of than another."""
        return sum(rate.value for rate in self.rates.values())

    @property
    def mean_percent(self) -> float:
        """The mean of the rates, in percent."""
        return 100 * self.total_rate / max(1, len(self.rates))

    def variance(self, name: str) -> float:
        """Return the variance of the rate of a spec, from records to other records."""
        rate = self.rates[name]
        return self.variances.get(name, rate.count) / max(1, rate.total) ** 2


@dataclass(frozen=True, slots=True)
class Property:
    """A spec, with the path and imports that it needs to be run."""

    spec: core.Spec
    imported: Imported
    path: str

    @property
    def name(self) -> str:
        """The name of the spec."""
        return self.spec.name

    def program(self, domain: Domain) -> Program:
        """Return what its names stand for in a domain."""
        return Program(
            self.spec, domain, self.imported.functions, self.imported.modules
        )


class Bench:
    """Specs on one part of the records: what a model is tried on."""

    def __init__(
        self,
        properties: Sequence[Property],
        domain: Domain,
        records: Records,
        tolerance: float = 0.0,
    ) -> None:
        self.properties = properties
        # How far a number that is right may be from its label.
        self.tolerance = tolerance
        self.records = records
        self.domain = on_records(domain, records)
        self.engines = {
            one.name: Engine(one.program(self.domain)) for one in properties
        }

    def evaluate(self, function: str, *, seed: int, budget: int) -> Evaluation:
        """Evaluate the model that is put in now, by campaigns with this seed."""
        results = {o.name: self._run_campaign(o, seed, budget) for o in self.properties}
        rates = {
            name: Share(r.counts.violations, r.counts.judged, r.is_complete)
            for name, r in results.items()
        }
        variances = {
            o.name: _violation_variance(results[o.name], len(o.spec.inputs))
            for o in self.properties
        }
        return Evaluation(self.accuracy(function), rates, variances)

    def estimate(self, function: str, *, seed: int, budget: int) -> Evaluation:
        """Evaluate the model quickly: violations are counted, not confirmed."""
        rates = {
            one.name: self._count_violations(one, seed, budget)
            for one in self.properties
        }
        return Evaluation(self.accuracy(function), rates)

    def _count_violations(self, one: Property, seed: int, budget: int) -> Share:
        engine = self.engines[one.name]
        engine.forget()
        listed = engine.space_within(budget)
        parts: Iterable[Cases] = (
            RandomCases(Stream(seed, one.name), first, _CHUNK)
            for first in range(0, _MOST_DRAWN * budget, _CHUNK)
        )
        if listed is not None:
            parts = map(ListedCases, list_cases(engine.program))
        tests = violations = 0
        for cases in parts:
            judged = engine.run(cases, Limits(budget - tests, 1), repeat=False)
            for crash in judged.crashes:
                raise NomosError(f"{one.path} cannot be judged: {crash.error}")
            tests += int(judged.accepted.sum())
            violations += int((judged.verdicts == Verdict.VIOLATED).sum())
            if tests >= budget:
                break
        return Share(violations, tests, listed is not None)

    def _run_campaign(self, one: Property, seed: int, budget: int) -> Result:
        name = type(self.domain).__name__
        subject = subject_of(one.spec, one.path, name, "", {})
        prepared = Prepared(subject, self.engines[one.name], one.imported)
        result = run_prepared(prepared, seed, Options(default_budget=budget))
        if result.verdict == "failed" or result.problem:
            why = result.problem or result.reason
            raise NomosError(f"{one.path} cannot be judged: {why}")
        return result

    def accuracy(self, function: str) -> Share:
        """Return how often a function of the domain says the label of a record."""
        right = self.right(function)
        return Share(int(right.sum()), len(right))

    def right(self, function: str) -> Array:
        """Return for which records a function of the domain says the label."""
        answers = ask_in_batches(getattr(self.domain, function), self.records.items)
        if self.tolerance:
            near: Array = _label_errors(answers, self.records) <= self.tolerance
            return near
        pairs = zip(answers, self.records.labels, strict=True)
        return np.array([same(answer, label) for answer, label in pairs])


def _label_errors(answers: Sequence[Any], records: Records) -> Array:
    labels = np.asarray(list(records.labels), dtype=np.float64)
    return np.abs(np.asarray(answers, dtype=np.float64) - labels)


def usual_error(function: Any, records: Records) -> float:
    """Return how near half of the answers come to their labels; 0 where they are classes.

    No real number is exactly its label, so that half are right before a repair.
    """
    answers = ask_in_batches(function, records.items)
    reals = [float(a) for a in answers if isinstance(a, float | np.floating)]
    if all(map(float.is_integer, reals)):
        return 0.0
    return float(np.median(_label_errors(answers, records)))


def _violation_variance(result: Result, inputs: int) -> float:
    """Return the variance of a count of violations, whose unit is a record, not a case.

    It is the sum of the squares of each record's violations; of several inputs of a
    case, the one whose records are fewest counts.
    """
    bugs = [(bug.choices[:inputs], bug.seen) for bug in result.bugs]
    found = 0
    for place in range(inputs):
        counts: Counter[int] = Counter()
        for choices, seen in bugs:
            counts[choices[place]] += seen
        found = max(found, sum(count**2 for count in counts.values()))
    # Of very many bugs, a result keeps a part.
    kept = sum(seen for _, seen in bugs)
    return found * (result.counts.violations / max(1, kept)) ** 2


def noise_of(before: Array, after: Array) -> float:
    """Return the standard error of a change in accuracy, in points.

    Answers that became right or wrong come and go by chance, one by one.
    """
    return float(100 * (before != after).sum() ** 0.5 / len(before))


def on_records(domain: Domain, records: Records) -> Domain:
    """Return a domain that draws from these records; all else is the domain's own."""
    other = copy.copy(domain)
    vars(other).update(inputs=lambda: records.items, labels=lambda: records.labels)
    return other


def ask_in_batches(function: Any, *columns: Any) -> list[Any]:
    """Ask a function of a domain about many cases, by the columns of its arguments."""
    if not isinstance(function, BoundBatched):
        return [function(*case) for case in zip(*map(items, columns), strict=True)]
    answers: list[Any] = []
    for first in range(0, len(columns[0]), _BATCH):
        parts = (to_host(column[first : first + _BATCH]) for column in columns)
        given = [p.copy() if isinstance(p, np.ndarray) else p for p in parts]
        answers.extend(function.many(*given))
    return answers


def find_function(
    properties: Sequence[Property], domain: Domain, swappable: SwappableModel
) -> str:
    """Return the function that specs call and that asks the model about one record.

    Of several, the one that most often says what the label says.
    """
    called = sorted(
        set().union(*(one.spec.code.called for one in properties))
        & {name for name in dir(domain) if not name.startswith("_")}
    )
    records: Any = domain.inputs()[:_TRIED]
    labels: Any = getattr(domain, "labels", list)()[:_TRIED]
    found: dict[str, int] = {}
    for name in called:
        with swappable.listening() as heard:
            try:
                answers = ask_in_batches(getattr(domain, name), records)
            except (TypeError, AttributeError):  # it takes more, or something else
                continue
        if heard:
            found[name] = sum(same(a, b) for a, b in zip(answers, labels, strict=False))
    if not found:
        names = ", ".join(called) or "none"
        raise DomainError(
            "no function that the specs call asks the model about a record alone, so "
            f"nobody can say how often it is right; they call: {names}"
        )
    return max(found, key=lambda name: found[name])
