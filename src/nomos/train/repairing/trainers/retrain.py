"""Repair of estimators that can `fit`: with constraints, and with more data.

Where a spec is a monotonicity and the library has constraints for that, the estimator is
trained again under them, so that it cannot break the spec. Of other specs, the cases that
fail are added to the data, with the most likely labels that would satisfy the spec.
"""

from __future__ import annotations

import copy
import io
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np

from nomos.errors import ModelError
from nomos.models.extras import need, reason
from nomos.models.formats.sklearn import EstimatorModel
from nomos.train.repairing.cases.drawn import (
    TOGETHER,
    TrainingCases,
    Untrainable,
    joined_rows,
)
from nomos.train.repairing.cases.labels import satisfying
from nomos.train.repairing.cases.monotone import find_monotone
from nomos.train.repairing.trainers.trainer import RoundData

Array = np.ndarray[Any, Any]
_ADDED = 1 / 16  # of the data, for each spec and round, times the weight of the spec
# The parameter that takes a direction for each column, by how a class is called.
_CONSTRAINTS = {
    "HistGradientBoosting": "monotonic_cst",
    "XGB": "monotone_constraints",
    "LGBM": "monotone_constraints",
    "CatBoost": "monotone_constraints",
}


def make_retrainer(estimator: Any, name: str, *, as_skops: bool) -> Retrainer:
    """Return how an estimator is repaired."""
    if not hasattr(estimator, "fit") or not hasattr(estimator, "predict"):
        raise ModelError(
            f"{name} holds a {type(estimator).__name__}, which cannot be trained: it "
            "has no `fit`"
        )
    return Retrainer(estimator, name, as_skops=as_skops)


class Retrainer:
    """An estimator that is trained again, from scratch, in every round."""

    how = "training again"

    def __init__(self, estimator: Any, name: str, *, as_skops: bool) -> None:
        self.first = self.estimator = estimator
        self.name = name
        self.as_skops = as_skops
        self.data: tuple[Any, Array] | None = None  # rows and classes
        self.classes: dict[Any, Any] = {}  # the class of each answer
        self.added: list[tuple[Any, Array]] = []
        self.directions: dict[int, int] = {}  # of columns, as specs ask for them

    @property
    def model(self) -> EstimatorModel:
        """The estimator as a domain asks it."""
        return EstimatorModel(self.estimator, self.name)

    def begin(self, function: str, rows: Any, answers: Any, labels: Any) -> None:
        """Match the domain's answers with the estimator's classes."""
        said = np.asarray(self.model.predict(rows)).tolist()
        for answer, known in zip(answers, said, strict=True):
            if self.classes.setdefault(_plain(answer), known) != known:
                raise ModelError(
                    f"`{function}` gives one answer for different classes of {self.name}"
                )
        numbers = not hasattr(self.first, "classes_")
        unknown = {_plain(v) for v in labels} - self.classes.keys()
        if all(a == c for a, c in self.classes.items()):  # so the others are the same
            self.classes |= {value: value for value in unknown}
        elif unknown and not numbers:
            raise ModelError(
                f"the training data has the label {min(map(str, unknown))!r}, and the "
                f"model never answers so: it answers {', '.join(map(str, self.classes))}"
            )
        self.data = rows, np.array([self.classes[_plain(v)] for v in labels])

    def notes(self, data: RoundData) -> dict[str, str]:
        """Say of each spec how it is met, where that is not by adding failing cases."""
        found = {}
        for name, cases in data.cases.items():
            monotone = self._constraint(cases)
            if monotone is not None:
                how = "rise" if monotone[1] > 0 else "fall"
                found[name] = (
                    f"a monotonicity: trained with the constraint that the answer may "
                    f"only {how} with {_named(data, monotone[0])}"
                )
            elif cases.opaque:
                found[name] = f"{cases.opaque}; {TOGETHER}"
        for column in self._contradicted(data):
            name_of = _named(data, column)
            names = [n for n in found if found[n].endswith(f" with {name_of}")]
            for name in names:
                found[name] = (
                    f"the answer would have to rise and to fall with {name_of}: "
                    f"{', '.join(names)} contradict each other, and no constraint is set"
                )
        return found

    def train(self, data: RoundData, told: Callable[[float], None]) -> None:
        """Train again, under the constraints, with failing cases added."""
        contradicted = self._contradicted(data)
        rng = np.random.default_rng(data.seed)
        for name, cases in data.cases.items():
            found = self._constraint(cases)
            if found is not None and found[0] not in contradicted:
                self.directions[found[0]] = found[1]
            else:
                self._add(cases, data.weights[name], rng)
        told(0.5)
        self._fit()
        told(1.0)

    def _constraint(self, cases: TrainingCases) -> tuple[int, int] | None:
        """Return the column and direction of a constraint that the estimator can take."""
        few = len(getattr(self.first, "classes_", (0, 1))) <= 2
        if self._parameter() is None or not few or not self._is_ascending():
            return None
        found = find_monotone(cases)
        return None if found is None else (found.column, found.direction)

    def _contradicted(self, data: RoundData) -> set[int]:
        asked: dict[int, set[int]] = {}
        for cases in data.cases.values():
            found = self._constraint(cases)
            if found is not None:
                asked.setdefault(found[0], set()).add(found[1])
        return {column for column, directions in asked.items() if len(directions) > 1}

    def _parameter(self) -> str | None:
        name = type(self.first).__name__
        return next((p for n, p in _CONSTRAINTS.items() if name.startswith(n)), None)

    def _is_ascending(self) -> bool:
        """Tell whether higher answers are higher classes."""
        try:
            classes = [self.classes[answer] for answer in sorted(self.classes)]
            return classes == sorted(classes)
        except TypeError:
            return False

    def _add(
        self, cases: TrainingCases, weight: float, rng: np.random.Generator
    ) -> None:
        """Add failing cases, labelled so that they would not fail."""
        assert self.data is not None
        most = int(max(1, _ADDED * weight * len(self.data[1])))
        failing = np.flatnonzero(cases.violated)
        if not len(failing) or not hasattr(self.first, "classes_"):
            return  # numbers have no labels to choose among
        failing = rng.permutation(failing)[:most]
        cases = cases.take(np.sort(failing))
        values = np.array(list(self.classes))
        scores = {key: self._likely(a.rows, values) for key, a in cases.asks.items()}
        try:
            if cases.opaque:
                raise Untrainable(cases.opaque)
            labels, found = satisfying(cases, values, scores)
        except Untrainable:  # the same answer to all that is asked in a case
            together = values[np.sum(list(scores.values()), axis=0).argmax(axis=1)]
            labels, found = dict.fromkeys(scores, together), np.ones(len(cases), bool)
        for key, ask in cases.take(np.flatnonzero(found)).asks.items():
            classes = [self.classes[_plain(v)] for v in labels[key][found]]
            if classes:
                self.added.append((ask.rows, np.array(classes)))

    def _likely(self, rows: Any, values: Array) -> Array:
        """Return the logarithm of how likely each answer is, for each row."""
        model = self.model
        order = list(self.first.classes_)
        places = [order.index(self.classes[_plain(v)]) for v in values]
        try:
            scores = np.log(np.clip(model.scores(rows), 1e-9, None))
        except ModelError:  # it has labels alone
            said = np.asarray(model.predict(rows))
            scores = np.where(said[:, None] == np.array(order)[None], 0.0, -1.0)
        likely: Array = scores[:, places]
        return likely

    def _fit(self) -> None:
        assert self.data is not None
        parts = [self.data, *self.added]
        rows, classes = joined_rows([r for r, _ in parts]), [c for _, c in parts]
        estimator = _fresh(self.first)
        parameter = self._parameter()
        if self.directions and parameter is not None:
            width = np.asarray(self.data[0]).shape[1]
            given = [self.directions.get(column, 0) for column in range(width)]
            is_xgboost = type(estimator).__name__.startswith("XGB")  # wants a tuple
            estimator.set_params(**{parameter: tuple(given) if is_xgboost else given})
        try:
            estimator.fit(self.model._rows(rows), np.concatenate(classes))
        except Exception as error:  # a library's own
            raise ModelError(
                f"{self.name} cannot be trained again: {reason(error)}"
            ) from error
        self.estimator = estimator

    def snapshot(self) -> bytes:
        """Return the added data and the constraints; the rest is trained again."""
        rows = joined_rows([r for r, _ in self.added]) if self.added else np.empty(0)
        classes = [c for _, c in self.added] or [np.empty(0)]
        columns = np.array(list(self.directions.items())).reshape(-1, 2)
        kept = io.BytesIO()
        array = np.asarray(rows)
        if array.dtype.kind == "O":
            array = array.astype(str)
        np.savez(kept, rows=array, classes=np.concatenate(classes), columns=columns)
        return kept.getvalue()

    def restore(self, snapshot: bytes) -> None:
        """Take back added data and constraints, and train again with them."""
        kept = np.load(io.BytesIO(snapshot), allow_pickle=False)
        self.directions = {int(c): int(d) for c, d in kept["columns"].tolist()}
        self.added = [(kept["rows"], kept["classes"])] if len(kept["classes"]) else []
        if self.added or self.directions:
            self._fit()
        else:
            self.estimator = self.first

    def content(self) -> bytes:
        """Return the estimator's file."""
        if self.as_skops:
            skops = need("skops.io", extra="sklearn", what="skops files")
            content: bytes = skops.dumps(self.estimator)
            return content
        return pickle.dumps(self.estimator)


def _fresh(estimator: Any) -> Any:
    """Return an estimator with the same parameters that has seen nothing."""
    try:
        from sklearn.base import clone

        return clone(estimator)
    except (ImportError, TypeError):
        return copy.deepcopy(estimator)


def _named(data: RoundData, column: int) -> str:
    """Return what a column is called; rows may be others than the domain's records."""
    if len(data.columns) == np.shape(data.rows)[-1]:
        return f"`{data.columns[column]}`"
    return f"column {column}"


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
