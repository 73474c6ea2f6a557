"""Repair of models that are trained again: under constraints, and with more data.

Where a spec is a monotonicity and the library has constraints for that, or where it says
that some columns make no difference, the model is trained again so that it cannot break
the spec. If that costs too much accuracy it is given up. Of other specs, the cases that
fail are added to the data, with the most likely labels that would satisfy the spec.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from contextlib import redirect_stderr, redirect_stdout
from typing import Any

import numpy as np

from nomos.device import Array
from nomos.errors import ModelError
from nomos.models.adapter import Adapter, NoScores
from nomos.models.extras import reason
from nomos.models.formats.sklearn import EstimatorModel
from nomos.train.repairing.cases.constraints import Constraint, find_constraint
from nomos.train.repairing.cases.drawn import (
    TOGETHER,
    RoundData,
    TrainingCases,
    TrainingData,
    Untrainable,
    check_labels,
    join_rows,
)
from nomos.train.repairing.cases.loss import best_labels
from nomos.train.repairing.trainers.estimators import (
    copy_untrained,
    find_constraint_parameter,
    histogram_variant,
    last_step,
    prepare_rows,
    with_directions,
)

_ADDED = 1 / 16  # of the data, for each spec and round, times the weight of the spec
_NARROW = 1000  # columns; texts have many more


class Retrainer:
    """An estimator that is trained again, from scratch, in every round.

    `first` is the model as it is before; `estimator` has the parameters to train with,
    and `dump` turns a trained one into the content of a file.
    """

    how = "training again"

    def __init__(
        self, estimator: Any, first: Adapter, dump: Callable[[Any], bytes]
    ) -> None:
        self.model: Any = first
        self.first = first
        self.estimator = estimator
        self._dump = dump
        self.data: tuple[Any, Array] | None = None  # rows and classes
        self.classes: dict[Any, Any] = {}  # the class of each answer
        self.added: list[tuple[Any, Array]] = []
        self.directions: dict[int, int] = {}  # of prepared columns, as specs ask for
        self.ignored: set[int] = set()  # columns that make no difference
        self.given_up = 0  # what has cost too much: independences (1), and all (2)

    def begin(self, data: TrainingData) -> None:
        """Match the domain's answers with the model's classes."""
        said = np.asarray(self.model.predict(data.rows)).tolist()
        for answer, known in zip(data.answers, said, strict=True):
            if self.classes.setdefault(_to_python(answer), known) != known:
                raise ModelError(
                    f"`{data.function}` gives one answer for different classes of "
                    f"{self.first.name}"
                )
        unknown = {_to_python(v) for v in data.labels} - self.classes.keys()
        if all(a == c for a, c in self.classes.items()):  # so the others are the same
            if self.first.classes is not None:
                classes = self.first.classes.tolist()
                check_labels(unknown - set(classes), classes)
            self.classes |= {value: value for value in unknown}
        elif self.first.classes is not None:
            check_labels(unknown, self.classes)
        labels = np.array([self.classes[_to_python(v)] for v in data.labels])
        self.data, self._columns = (data.rows, labels), data.columns

    def train(
        self, data: RoundData, told: Callable[[float], None]
    ) -> Mapping[str, str]:
        """Train again, under the constraints, with failing cases added."""
        if data.is_costly and (self.directions or self.ignored):
            self.given_up = 1 if self.ignored else 2
        self.directions, self.ignored = {}, set()
        rng = np.random.default_rng(data.seed)
        wanted = {
            name: self._find_constraint(cases) for name, cases in data.cases.items()
        }
        notes = {"model": self._warn_of_constraints()}
        for name, cases in data.cases.items():
            found, columns = wanted[name], self._name_columns(cases)
            is_denied = found is not None and any(
                map(found.is_against, wanted.values())
            )
            if found is None or is_denied:
                self._add_failing(cases, data.weights[name], rng)
                notes[name] = self._explain_added(cases, columns if is_denied else "")
            elif found.direction:
                self.directions[found.columns[0]] = found.direction
                notes[name] = (
                    "a monotonicity: trained with the constraint that the answer may "
                    f"only {self._describe_direction(found)} {columns}{self._note_variant()}"
                )
            else:
                self.ignored |= set(found.columns)
                notes[name] = f"an independence: trained without what {columns} says"
        told(0.5)
        self._fit_again()
        told(1.0)
        return {name: note for name, note in notes.items() if note}

    def _warn_of_constraints(self) -> str:
        """Say that a file tells nothing of constraints that training again would drop."""
        if not self.first.forgotten:
            return ""
        return (
            f"{self.first.forgotten}; if it had any, name the specs that they keep, too"
        )

    def _explain_added(self, cases: TrainingCases, denied: str) -> str:
        """Say why failing cases are added, where one would expect something else."""
        if denied:
            return (
                "a spec asks for the opposite of another: the answer would have to "
                f"rise and to fall with {denied}, so no constraint is set"
            )
        if self.given_up and self._find_constraint(cases, given_up=0) is not None:
            return (
                "its constraint cost too much accuracy; failing cases are added to the "
                "data instead"
            )
        if self.first.classes is None:
            return (
                "the model answers with numbers, and the spec is neither a monotonicity"
                " nor an independence that it can be trained for: it was trained as before"
            )
        return f"{cases.opaque}; {TOGETHER}" if cases.opaque else ""

    def _find_constraint(
        self, cases: TrainingCases, given_up: int | None = None
    ) -> Constraint | None:
        """Return the constraint that a spec is for this model, if it is one."""
        found = find_constraint(cases, self._prepare_columns)
        given_up = self.given_up if given_up is None else given_up
        if found is None or given_up > (1 if found.direction else 0):
            return None
        if not found.direction:
            return found
        classes = self.first.classes
        known = classes is None or len(classes) == 2
        if not known or not find_constraint_parameter(self.estimator):
            return None
        if found.label is None:
            rising = self._find_rising(found.levels)
            turned = Constraint(found.columns, found.direction * (rising or 0))
            return turned if rising else None
        if classes is None or found.label not in self.classes:
            return None
        is_higher = self.classes[found.label] == classes[1]
        direction = found.direction if is_higher else -found.direction
        return Constraint(found.columns, direction)

    def _name_columns(self, cases: TrainingCases) -> str:
        """Return what the columns of a constraint are called in the domain."""
        found = find_constraint(cases)
        columns = () if found is None else found.columns
        # Rows may be others than the domain's records.
        assert self.data is not None
        known = len(self._columns) == np.shape(self.data[0])[-1]
        names = [f"`{self._columns[c]}`" if known else f"column {c}" for c in columns]
        return ", ".join(names) or "a feature"

    def _describe_direction(self, found: Constraint) -> str:
        """Say which way answers may go: names have no order that a reader knows."""
        classes, is_up = self.first.classes, found.direction > 0
        if classes is not None and classes.dtype.kind not in "biuf":
            return f"turn to `{classes[int(is_up)]}` with a higher"
        return f"{'rise' if is_up else 'fall'} with"

    def _note_variant(self) -> str:
        other = histogram_variant(self.estimator)
        return (
            f", as a {other}: a {other.removeprefix('Hist')} has no constraints"
            if other
            else ""
        )

    def _find_rising(self, levels: tuple[str, ...]) -> int | None:
        """Return 1 where higher answers are higher classes, -1 for lower ones.

        Names are in the order of `levels`; None where there is no telling.
        """
        try:
            key = levels.index if levels else None
            classes = [self.classes[answer] for answer in sorted(self.classes, key=key)]
            if classes == sorted(classes):
                return 1
            is_falling = levels and classes == sorted(classes, reverse=True)
            return -1 if is_falling else None
        except (TypeError, ValueError):
            return None

    def _add_failing(
        self, cases: TrainingCases, weight: float, rng: np.random.Generator
    ) -> None:
        """Add failing cases, labelled so that they would not fail."""
        assert self.data is not None
        most = int(max(1, _ADDED * weight * len(self.data[1])))
        failing = np.flatnonzero(cases.violated)
        if not len(failing) or self.first.classes is None:
            return  # numbers have no labels to choose among
        failing = rng.permutation(failing)[:most]
        cases = cases.take(np.sort(failing))
        values = np.array(list(self.classes))
        scores = {
            key: self._score_answers(a.rows, values) for key, a in cases.asks.items()
        }
        try:
            if cases.opaque:
                raise Untrainable(cases.opaque)
            labels, found = best_labels(cases, values, scores)
        except Untrainable:  # the same answer to all that is asked in a case
            together = values[np.sum(list(scores.values()), axis=0).argmax(axis=1)]
            labels, found = dict.fromkeys(scores, together), np.ones(len(cases), bool)
        for key, ask in cases.take(np.flatnonzero(found)).asks.items():
            classes = [self.classes[_to_python(v)] for v in labels[key][found]]
            if classes:
                self.added.append((ask.rows, np.array(classes)))

    def _score_answers(self, rows: Any, values: Array) -> Array:
        """Return the logarithm of how likely each answer is, for each row."""
        assert self.first.classes is not None
        order = self.first.classes.tolist()
        places = [order.index(self.classes[_to_python(v)]) for v in values]
        try:
            scores = np.log(np.clip(self.model.scores(rows), 1e-9, None))
        except NoScores:  # it has labels alone
            said = np.asarray(self.model.predict(rows))
            scores = np.where(said[:, None] == np.array(order)[None], 0.0, -1.0)
        likely: Array = scores[:, places]
        return likely

    def _prepare_columns(self, rows: Any) -> Any:
        """Return rows as the last step of a pipeline gets them; as an array, if narrow."""
        made = prepare_rows(self.estimator, self.first.convert_rows(rows))
        is_bare = not hasattr(self.estimator, "steps") and hasattr(made, "columns")
        if is_bare and self.first.schema is not None:
            places = [self.first.schema.columns.index(name) for name in made.columns]
            return np.asarray(rows)[:, places]  # names of categories as their numbers
        is_narrow = hasattr(made, "toarray") and made.shape[1] <= _NARROW
        return made.toarray() if is_narrow else made

    def _fit_again(self) -> None:
        assert self.data is not None
        parts = [self.data, *self.added]
        rows, classes = join_rows([r for r, _ in parts]), [c for _, c in parts]
        if self.ignored:  # a column that is always the same says nothing
            rows = rows.copy()
            rows[:, sorted(self.ignored)] = 0
        estimator = copy_untrained(self.estimator)
        if self.directions:
            width = np.asarray(self._prepare_columns(self.data[0][:1])).shape[1]
            names = getattr(last_step(self.estimator), "feature_names_in_", ())
            estimator = with_directions(estimator, self.directions, width, names)
        try:
            with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
                estimator.fit(self.first.convert_rows(rows), np.concatenate(classes))
        except Exception as error:  # a library's own
            raise ModelError(
                f"{self.first.name} cannot be trained again: {reason(error)}"
            ) from error
        self.model = EstimatorModel(estimator, self.first.name)
        self.model.schema = self.first.schema

    def snapshot(self) -> bytes:
        """Return the added data and the constraints; the rest is trained again."""
        rows = join_rows([r for r, _ in self.added]) if self.added else np.empty(0)
        array = np.asarray(rows)
        if array.dtype.kind == "O":
            array = array.astype(str)
        kept = io.BytesIO()
        np.savez(
            kept,
            rows=array,
            classes=np.concatenate([c for _, c in self.added] or [np.empty(0)]),
            columns=np.array(list(self.directions.items())).reshape(-1, 2),
            ignored=np.array(sorted(self.ignored), dtype=np.int64),
            given_up=self.given_up,
        )
        return kept.getvalue()

    def restore(self, snapshot: bytes) -> None:
        """Take back added data and constraints, and train again with them."""
        kept = np.load(io.BytesIO(snapshot), allow_pickle=False)
        self.directions = {int(c): int(d) for c, d in kept["columns"].tolist()}
        self.ignored = set(kept["ignored"].tolist())
        self.given_up = int(kept["given_up"])
        self.added = [(kept["rows"], kept["classes"])] if len(kept["classes"]) else []
        if self.added or self.directions or self.ignored:
            self._fit_again()
        else:
            self.model = self.first

    def content(self) -> bytes:
        """Return the model's file."""
        return self._dump(self.model.estimator)


def _to_python(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
