"""What is repaired: a model, how it is trained again where it can be, and its file.

Estimators and pipelines are trained under constraints, where their library has such.
"""

import copy
import io
import pickle
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np

from nomos.device import Array
from nomos.domain.same_answers import find_changed_answers
from nomos.errors import ModelError, NomosError
from nomos.files import write_whole
from nomos.models.adapter import NoScores
from nomos.models.extras import reason
from nomos.models.formats.guarded import GuardedModel, encode_guarded
from nomos.models.formats.sklearn import EstimatorModel
from nomos.models.kinds import ModelKind, all_kinds
from nomos.models.load import load_model
from nomos.models.recognise import recognise
from nomos.structures.inherited import find_plain_class
from nomos.train.constraints import Constraint

_NARROW = 1000  # columns; texts have many more


class Repairable:
    """A model that is repaired; `estimator` is trained again, `write` makes its file.

    A model without an estimator stays as it is, and can get a guard.
    """

    def __init__(
        self,
        first: Any,
        estimator: Any = None,
        write: Callable[[Any], bytes] = pickle.dumps,
    ) -> None:
        self.first, self.estimator, self._write = first, estimator, write
        self._classes: dict[Any, Any] = {}  # the class of each answer of the domain
        self.usual: Array = np.zeros(1)  # one of the model's answers

    @property
    def is_pickle(self) -> bool:
        """Whether its file is a pickle, which can hold a guard, too."""
        return self._write is pickle.dumps

    @property
    def how(self) -> str:
        """How it is repaired, for people."""
        return (
            "training again"
            if self.estimator is not None
            else "a guard around the model"
        )

    @property
    def takes_directions(self) -> bool:
        """Whether the library has monotonic constraints for it: then it is of trees."""
        return (
            self.estimator is not None
            and find_constraint_parameter(self.estimator) is not None
        )

    @property
    def forgets_masked(self) -> bool:
        """Whether a column that is the same in all training cannot matter any more."""
        return self.takes_directions and not hasattr(self.estimator, "steps")

    def learn_answers(
        self, function: str, rows: Any, answers: Sequence[Any], labels: Sequence[Any]
    ) -> None:
        """Match the domain's answers with the model's own."""
        predicted = np.asarray(self.first.predict(rows))
        said, self.usual = predicted.tolist(), predicted[:1]
        if find_changed_answers(predicted, np.asarray(self.first.predict(rows))).any():
            raise ModelError(
                f"{self.first.name} answers otherwise when it is asked again, so nobody "
                "can say what a repair changes"
            )
        classes = None if self.first.classes is None else self.first.classes.tolist()
        for answer, own in zip(answers, said, strict=True):
            if self._classes.setdefault(_to_python(answer), own) != own and classes:
                raise ModelError(
                    f"`{function}` gives one answer for different classes of "
                    f"{self.first.name}"
                )
        unknown = {_to_python(v) for v in labels} - self._classes.keys()
        if all(a == c for a, c in self._classes.items()):  # so the others are the same
            if classes is not None:
                _check_labels(unknown - set(classes), classes)
            self._classes |= {value: value for value in unknown}
        elif classes is not None:
            _check_labels(unknown, list(self._classes))

    def encode_labels(self, labels: Sequence[Any]) -> Array:
        """Return labels as the model knows them."""
        return np.array([self._classes.get(v, v) for v in map(_to_python, labels)])

    def orient(self, found: Constraint, *, guarded: bool) -> Constraint | None:
        """Return a monotonicity of the model's classes or numbers; None where it is none.

        Libraries have constraints for numbers and for two classes. A guard orders more.
        """
        classes = self.first.classes
        if found.label is None:
            known = classes is None or len(classes) == 2 or guarded
            rising = self._find_rising(found.levels) if known else 0
            direction = found.direction * rising
            return Constraint(found.columns, direction) if rising else None
        if classes is None or len(classes) != 2 or found.label not in self._classes:
            return None
        is_higher = self._classes[found.label] == classes[1]
        direction = found.direction if is_higher else -found.direction
        return Constraint(found.columns, direction)

    def _find_rising(self, levels: tuple[str, ...]) -> int:
        """Return 1 where higher answers are higher classes, -1 for lower ones, else 0.

        Names are in the order of `levels`.
        """
        try:
            order = sorted(self._classes, key=levels.index if levels else None)
        except (TypeError, ValueError):  # names without an order
            return 0
        places = [self._classes[answer] for answer in order]
        if places == sorted(places):
            return 1
        return -1 if levels and places == sorted(places, reverse=True) else 0

    def prepare_columns(self, rows: Any) -> Any:
        """Return rows as the last step of a pipeline gets them; as an array, if narrow."""
        made = prepare_rows(self.estimator, self.first.convert_rows(rows))
        is_bare = not hasattr(self.estimator, "steps") and hasattr(made, "columns")
        if is_bare and self.first.schema is not None:
            places = [self.first.schema.columns.index(name) for name in made.columns]
            return np.asarray(rows)[:, places]  # names of categories as their numbers
        is_narrow = hasattr(made, "toarray") and made.shape[1] <= _NARROW
        return made.toarray() if is_narrow else made

    def fit(self, rows: Any, labels: Array, directions: Mapping[int, int]) -> Any:
        """Return the model trained again, with these constraints of its library."""
        estimator = copy_untrained(self.estimator)
        if directions:
            width = np.asarray(self.prepare_columns(rows[:1])).shape[1]
            names = getattr(last_step(self.estimator), "feature_names_in_", ())
            estimator = with_directions(estimator, directions, width, names)
        try:
            with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
                estimator.fit(self.first.convert_rows(rows), labels)
        except Exception as error:  # a library's own
            raise ModelError(
                f"{self.first.name} cannot be trained again: {reason(error)}"
            ) from error
        model = EstimatorModel(estimator, self.first.name)
        model.schema = self.first.schema
        return model

    def score_classes(self, model: Any, rows: Any) -> Array:
        """Return how likely a model finds each class of rows, as logarithms."""
        try:
            likely: Array = np.log(np.clip(model.scores(rows), 1e-9, None))
        except NoScores:  # it has labels alone
            said = np.asarray(model.predict(rows))
            likely = np.where(said[:, None] == self.first.classes[None], 0.0, -1.0)
        return likely

    def write(self, model: Any, source: Path, path: Path) -> None:
        """Write a repaired model; a guard in a file of its own, but for pickles."""
        guarded = isinstance(model, GuardedModel)
        inner = model.model if guarded else model
        if guarded and not self.is_pickle:
            content, file = source.read_bytes(), path.parent / source.name
            if inner is not self.first:
                content = self._write(inner.estimator)
                file = path.with_name(f"{path.stem}.model{source.suffix}")
            if file.resolve() != source.resolve():
                refuse_existing(file)
                write_whole(file, content)
            content = encode_guarded(model.guard, file)
        elif guarded:
            content = pickle.dumps(_without_schema(model))
        else:
            content = self._write(inner.estimator)
        write_whole(path, content)


def make_repairable(model: Any, *, trust: bool) -> Repairable:
    """Return how a model is repaired; raises ModelError where there is no way."""
    if not isinstance(model, str | Path):
        first = load_model(model)
        is_estimator = hasattr(model, "fit") and isinstance(first, EstimatorModel)
        return _repairable_of(model, first) if is_estimator else Repairable(first)
    path = Path(model)
    if not path.is_file():
        if path.exists():
            problem = "is a folder, and a repair takes a file"
        elif "@" in str(model) and Path(str(model).rpartition("@")[0]).exists():
            problem = "names weights and what makes their module: export it to one file"
        elif str(model).startswith(("http:", "https:")):
            problem = "is served elsewhere: repair its file and serve that"
        elif ":" in str(model):
            problem = (
                "is a function, and a repair takes a file, or in a program an object"
            )
        else:
            problem = "does not exist"
        raise ModelError(f"{model} {problem}")
    first, kind = load_model(path, trust=trust), recognise(path)
    if kind.to_train is None:
        return Repairable(first, write=_write_nothing)
    if getattr(first, "categories", None):
        raise ModelError(
            f"{path} has categories, of which its file says too little to train it "
            "again: repair the estimator that wrote it, as a pickle"
        )
    trained, write = kind.to_train(first)
    if not hasattr(trained, "fit"):
        return Repairable(first, write=write)
    if not hasattr(first, "estimator"):  # one was made that is to answer like the file
        return Repairable(first, trained, write)
    return _repairable_of(trained, first, write)


def _repairable_of(estimator: Any, first: Any, write: Any = pickle.dumps) -> Repairable:
    chosen = getattr(estimator, "best_estimator_", estimator)  # what a search found
    if chosen is not estimator:
        first = EstimatorModel(chosen, first.name)
    return Repairable(first, chosen, write)


def _write_nothing(model: Any) -> bytes:
    raise AssertionError("a model that cannot be trained has no file of its own")


def _without_schema(model: GuardedModel) -> GuardedModel:
    """Return a copy to be pickled: domains say at loading what rows hold."""
    inner = copy.copy(model.model)
    inner.schema = None
    return GuardedModel(inner, model.guard, model.name)


def _check_labels(unknown: set[Any], known: Sequence[Any]) -> None:
    """Refuse labels that the model has no answer for."""
    if unknown:
        raise ModelError(
            f"the training data has the label {min(map(str, unknown))!r}, and the "
            f"model never answers so: it answers {', '.join(map(str, known))}"
        )


def paths_of_repaired(model: Path) -> tuple[Path, Path]:
    """Return what a repair writes beside a model, never over it; the second of a guard."""
    path = model.with_name(f"{model.stem}.repaired{model.suffix}")
    return path, path.with_suffix(".json")


def refuse_existing(path: Path) -> None:
    """Refuse to overwrite a file."""
    if path.exists():
        raise NomosError(
            f"{path} exists and is not overwritten: move it away, or name another "
            "file with --out"
        )


def _to_python(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


_PLAIN_BOOSTING = (
    "sklearn.ensemble:GradientBoostingClassifier",
    "sklearn.ensemble:GradientBoostingRegressor",
)


def last_step(estimator: Any) -> Any:
    """Return the estimator itself: of a pipeline, its last step."""
    steps = getattr(estimator, "steps", None)
    return steps[-1][1] if steps else estimator


def prepare_rows(estimator: Any, rows: Any) -> Any:
    """Return rows as a pipeline hands them to its last step."""
    for _, step in getattr(estimator, "steps", ())[:-1]:
        rows = rows if step in (None, "passthrough") else step.transform(rows)
    return rows


def copy_untrained(estimator: Any) -> Any:
    """Return an estimator with the same parameters that has seen nothing."""
    try:
        from sklearn.base import clone

        return clone(estimator)
    except (ImportError, TypeError, RuntimeError):  # some copy a list
        return copy.deepcopy(estimator)


def find_constraint_parameter(estimator: Any) -> tuple[str, ModelKind] | None:
    """Return the parameter for monotonic constraints, where the library has one."""
    last = last_step(estimator)
    for kind in all_kinds():
        if name := find_plain_class(last, kind.constraints):
            return kind.constraints[name], kind
    return None


def histogram_variant(estimator: Any) -> str:
    """Return the class of scikit-learn that is trained instead, "" where it is none."""
    name = find_plain_class(last_step(estimator), _PLAIN_BOOSTING)
    return f"Hist{name.partition(':')[2]}" if name else ""


def with_directions(
    estimator: Any, directions: Mapping[int, int], width: int, names: Sequence[str] = ()
) -> Any:
    """Return the estimator with a constraint for each column, 0 for none.

    Those that it had stay, where the directions say nothing of the column; `names` are
    those of the columns, by which it may have them.
    """
    last, found = last_step(estimator), find_constraint_parameter(estimator)
    assert found is not None
    parameter, kind = found
    own = last.get_params().get(parameter)
    own = [0] * width if own is None else own
    if isinstance(own, Mapping) and len(names) == width and own.keys() <= {*names}:
        own = [own.get(name, 0) for name in names]
    if isinstance(own, str | Mapping) or len(own) != width:
        raise NomosError(
            f"{parameter} of the {type(last).__name__} is {own!r}, and would be lost:"
            f" give it as a list of {width} numbers, one for each column"
        )
    given: Any = [directions.get(column, int(own[column])) for column in range(width)]
    if name := histogram_variant(last):
        last = _make_histogram_variant(last, name)
    last.set_params(**{parameter: kind.directions(given)})
    if not hasattr(estimator, "steps"):
        return last
    estimator.steps[-1] = (estimator.steps[-1][0], last)
    return estimator


def _make_histogram_variant(estimator: Any, name: str) -> Any:
    """Return the variant of scikit-learn's boosted trees that takes constraints."""
    from sklearn import ensemble

    params = estimator.get_params()
    return getattr(ensemble, name)(
        max_iter=params["n_estimators"],
        learning_rate=params["learning_rate"],
        max_depth=params["max_depth"],
        max_leaf_nodes=params["max_leaf_nodes"],
        random_state=params["random_state"],
        early_stopping=False,
    )
