"""How good a model is, in two respects: how often it is right, and breaks each spec.

Both are known record by record, so that a change between two models is measured in pairs: the
mean of the differences, with its standard error. Violations are counted by cases, but cases of
one record are alike, so their variance is that of the sums over records.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Any

import numpy as np

from nomos.device import Array, to_host
from nomos.domain.domain import Domain
from nomos.domain.find import Imported
from nomos.domain.functions import BoundBatched
from nomos.domain.records import items, take
from nomos.domain.schema import Schema
from nomos.engine.cases import Cases, RandomCases
from nomos.engine.choices import Stream
from nomos.engine.engine import Engine
from nomos.engine.evaluated import Limits
from nomos.engine.meaning.operators import same
from nomos.engine.program import Program
from nomos.engine.space import list_cases
from nomos.errors import DomainError, NomosError
from nomos.lang import core
from nomos.results.statistics import Interval, clopper_pearson

_BATCH = 4096  # records asked at once
_CHUNK = 8192  # cases run at once
_TRIED = 200  # records that functions of a domain are tried with
_MOST_DRAWN = 100  # cases drawn for each that gets past `requires`
_SURE = 1.96  # standard errors: 95 % of what chance gives


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


@dataclass(frozen=True, slots=True, eq=False)
class Quality:
    """How right a model is, record by record; the mean is the accuracy, or R² of numbers.

    Of labels, a record has 1 or 0. Of numbers it has 1 less its squared error in units of
    the labels' variance, whose root is `scale`; 0 where the answers are labels.
    """

    records: Array
    scale: float = 0.0

    @property
    def name(self) -> str:
        """What the mean is called."""
        return "R²" if self.scale else "accuracy"

    @property
    def value(self) -> float:
        """The accuracy, or R²."""
        return float(self.records.mean())

    @property
    def rmse(self) -> float | None:
        """The root of the mean squared error, of numbers."""
        squared = float((1 - self.records).mean())
        return self.scale * squared**0.5 if self.scale else None

    @property
    def interval(self) -> Interval:
        """Where the true value lies, with 95 % confidence."""
        if not self.scale:
            return clopper_pearson(int(self.records.sum()), len(self.records))
        half = _SURE * float(self.records.std()) / len(self.records) ** 0.5
        return Interval(self.value - half, self.value + half, 0.95)

    def points_lost(self, after: Quality) -> float:
        """Return by how many points another model of the same records is lower."""
        return 100 * (self.value - after.value)

    def points_by_chance(self, after: Quality) -> float:
        """Return how many points of the loss may be chance, with 95 % confidence.

        One record more that differs is counted than there are, or a few records without
        a difference would prove that there is none.
        """
        apart = self.records - after.records
        squares = max(1.0, float((apart**2).sum() - apart.sum() ** 2 / len(apart)) + 1)
        return float(100 * _SURE * squares**0.5 / len(apart))


@dataclass(frozen=True, slots=True, eq=False)
class Evaluation:
    """How good a model is: right answers, and violations by the name of the spec.

    `variances` are those of the counts of violations, from records to other records.
    """

    quality: Quality
    rates: Mapping[str, Share]
    variances: Mapping[str, float]

    @property
    def total_rate(self) -> float:
        """The sum of the rates: what one round has to have less of than another."""
        return sum(rate.value for rate in self.rates.values())

    @property
    def mean_percent(self) -> float:
        """The mean of the rates, in percent."""
        return 100 * self.total_rate / max(1, len(self.rates))

    def interval(self, name: str) -> Interval:
        """Return where the true rate of a spec lies, with 95 % confidence.

        Cases that are violated together, record by record, count as so many fewer.
        """
        rate = self.rates[name]
        alike = max(1.0, self.variances[name] / max(1, rate.count))
        return clopper_pearson(round(rate.count / alike), round(rate.total / alike))

    def rate_variance(self, name: str) -> float:
        """Return the variance of the rate of a spec."""
        return self.variances[name] / max(1, self.rates[name].total) ** 2


def join_evaluations(parts: Sequence[Evaluation]) -> Evaluation:
    """Return the evaluation on all records, given those on parts of them."""
    quality = np.concatenate([part.quality.records for part in parts])
    rates, variances = {}, {}
    for name in parts[0].rates:
        own = [part.rates[name] for part in parts]
        rates[name] = Share(
            sum(rate.count for rate in own),
            sum(rate.total for rate in own),
            all(rate.exact for rate in own),
        )
        variances[name] = sum(part.variances[name] for part in parts)
    return Evaluation(Quality(quality, parts[0].quality.scale), rates, variances)


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
        own = self.imported
        return Program(self.spec, domain, own.functions, own.modules)


@dataclass(slots=True)
class Bench:
    """Specs on one part of the records: what a model is tried on.

    The domain's `function` asks the `swappable` model about one record; `scale` is that of
    labels that are numbers.
    """

    properties: Sequence[Property]
    domain: Domain
    records: Records
    function: str
    swappable: SwappableModel
    scale: float = 0.0
    engines: dict[str, Engine] = field(init=False)

    def __post_init__(self) -> None:
        self.domain = on_records(self.domain, self.records)
        programs = {one.name: one.program(self.domain) for one in self.properties}
        self.engines = {name: Engine(program) for name, program in programs.items()}

    def on(self, records: Records) -> Bench:
        """Return the same on other records."""
        return replace(self, records=records)

    def ask_model(self) -> tuple[list[Any], Any]:
        """Return the answers for all records, and the rows that the model was asked."""
        with self.swappable.listening() as heard:
            function = getattr(self.domain, self.function)
            answers = ask_in_batches(function, self.records.items)
        return answers, join_rows(heard)

    def evaluate(self, *, seed: int, budget: int) -> Evaluation:
        """Evaluate the model that is put in now, on cases of this seed."""
        rates, variances = {}, {}
        for one in self.properties:
            found = self._count_violations(one, seed, budget)
            rates[one.name], variances[one.name] = found
        return Evaluation(self.measure_quality(), rates, variances)

    def _count_violations(
        self, one: Property, seed: int, budget: int
    ) -> tuple[Share, float]:
        engine, inputs = self.engines[one.name], len(one.spec.inputs)
        engine.forget()
        listed = engine.space_within(budget)
        parts: Iterable[Cases] = (
            RandomCases(Stream(seed, one.name), first, _CHUNK)
            for first in range(0, _MOST_DRAWN * budget, _CHUNK)
        )
        if listed is not None:
            parts = list_cases(engine.program)
        tests, chosen = 0, []
        for cases in parts:
            evaluated = engine.run(cases, Limits(budget - tests, 1), repeat=False)
            for crash in evaluated.crashes:
                raise NomosError(f"{one.path} cannot be evaluated: {crash.error}")
            tests += int(evaluated.accepted.sum())
            if len(evaluated.violations):
                chosen.append(evaluated.violations.choices[:, :inputs])
            if tests >= budget:
                break
        share = Share(sum(map(len, chosen)), tests, listed is not None)
        return share, _sum_squares(np.concatenate(chosen).T if share.count else ())

    def measure_quality(self) -> Quality:
        """Return how right the model is about each record."""
        answers, _ = self.ask_model()
        if self.scale:
            errors = _label_errors(answers, self.records) / self.scale
            return Quality(1 - errors**2, self.scale)
        pairs = zip(answers, self.records.labels, strict=True)
        right = [same(answer, label) for answer, label in pairs]
        return Quality(np.array(right, dtype=np.float64))


def _sum_squares(records: Iterable[Array]) -> float:
    """Return the sum of the squares of each record's violations, of the worst input."""
    counts = (Counter(own.tolist()).values() for own in records)
    return float(max((sum(n**2 for n in own) for own in counts), default=0))


def _label_errors(answers: Sequence[Any], records: Records) -> Array:
    labels = np.asarray(list(records.labels), dtype=np.float64)
    return np.abs(np.asarray(answers, dtype=np.float64) - labels)


def find_scale(function: Any, records: Records) -> float:
    """Return how far labels are from their mean where answers are reals, 0 of classes."""
    answers = ask_in_batches(function, records.items)
    reals = [float(a) for a in answers if isinstance(a, float | np.floating)]
    if all(map(float.is_integer, reals)):
        return 0.0
    return float(np.std(np.asarray(list(records.labels), dtype=np.float64))) or 1.0


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


def join_rows(parts: list[Any]) -> Any:
    """Put rows together, in the form that they have."""
    if parts and all(isinstance(rows, np.ndarray) for rows in parts):
        return np.concatenate(parts)
    if parts and all(hasattr(rows, "iloc") for rows in parts):
        import pandas as pd

        return pd.concat(parts, ignore_index=True)
    return [row for rows in parts for row in rows]


def seed_of(seed: int, *what: object) -> int:
    """Return a seed for one purpose: no two purposes share their cases."""
    text = ":".join(map(str, ("repair", seed, *what)))
    return int.from_bytes(blake2b(text.encode(), digest_size=4).digest(), "little")
