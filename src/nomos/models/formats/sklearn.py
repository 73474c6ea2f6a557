"""Models of scikit-learn and its likes: objects with `predict` and `predict_proba`."""

import importlib.util
import json
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from nomos.device import Array
from nomos.domain.dates import Dated
from nomos.domain.reading.csvfile import levels_in_frame, to_frame
from nomos.domain.schema import Category
from nomos.errors import ModelError
from nomos.models.adapter import Adapter, NoScores, find_columns
from nomos.models.extras import as_model_error, distrust, need
from nomos.models.kinds import ModelKind, extract_from_object
from nomos.models.recognise import json_objects, open_archive
from nomos.models.screening.sklearn_trees import TREES, trees_are_sound
from nomos.structures.inherited import is_instance
from nomos.structures.model import Structure, as_they_are
from nomos.structures.sklearn import READERS, estimator_structure

# What trained a network: numbers, and arithmetic on them.
_OPTIMIZERS = {
    f"sklearn.neural_network._stochastic_optimizers.{name}Optimizer"
    for name in ("Adam", "SGD")
}
_HISTOGRAMS = [name for name in READERS if "Hist" in name]
_TRIED = 8  # rows on which names of columns are tried


class EstimatorModel(Adapter):
    """A fitted estimator.

    One that was fitted on a data frame gets its rows as a data frame again, so that its
    columns have their names, unless it says the same of a plain array: that is three
    times as fast for a single row. Names of categories, which `schema` knows, stand in
    such a frame again. Frames, and lists of texts or dicts, are passed on.
    """

    def __init__(self, estimator: Any, name: str) -> None:
        super().__init__(name)
        self.estimator = estimator
        classes = getattr(estimator, "classes_", None)
        if isinstance(classes, np.ndarray) and classes.ndim == 1 and len(classes):
            self.classes = classes
        width = getattr(estimator, "n_features_in_", None)
        self.width = int(width) or None if isinstance(width, int | np.integer) else None
        names = getattr(estimator, "feature_names_in_", None)
        if names is None:  # some call columns without names by their numbers
            own = getattr(estimator, "feature_names_", None) or ["0"]
            names = None if "0" in own else own
        self.columns = None if names is None else list(names)
        self.levels = _known_levels(estimator, self.columns or [])
        self._by_place: bool | None = None  # not yet known
        # How dates are written, and whether categories are texts; not yet known.
        self._frame_kind: tuple[str, bool] | None = None

    def extract_structure(self, width: int) -> Structure:
        """Return what the estimator is made of."""
        convert = as_they_are(width, self.convert_rows)
        return extract_from_object(self.estimator, convert)

    @property
    def date_kind(self) -> str:
        """What the model gets for a date: days, a text, or a type of pandas."""
        return (self._frame_kind or ("days", False))[0]

    def gets_names(self, place: int) -> bool:
        """Tell whether the model gets names: it was fitted on a frame."""
        return self.columns is not None

    def convert_rows(self, rows: Any) -> Any:
        """Return rows as the library takes them."""
        if hasattr(rows, "columns") and hasattr(rows, "shape"):
            self._check_width(rows.shape)
            return rows
        try:
            array = np.asarray(rows)
        except ValueError:  # rows of different lengths: sequences, bags of words
            return rows
        if array.dtype.kind in "biuf":
            array = super().convert_rows(array)
        elif array.ndim != 2:  # texts, dicts
            return rows
        if self.columns is None:
            return array
        features = () if self.schema is None else self.schema.features
        is_named = any(isinstance(f, Category | Dated) for f in features)
        if importlib.util.find_spec("pandas") is None:
            if is_named:
                raise ModelError(
                    f"{self.name} was fitted on a data frame of names or dates, and gets"
                    " one: pip install pandas"
                )
            return array
        if array.dtype.kind in "biuf" and is_named:
            return self._make_named_frame(array)
        import pandas as pd

        frame = pd.DataFrame(array, columns=self.columns)
        if array.dtype.kind not in "biuf" or not len(array):
            return frame
        if self._by_place is None:
            self._by_place = self._ignores_names(array[:_TRIED], frame[:_TRIED])
        return array if self._by_place else frame

    def _make_named_frame(self, array: Array) -> Any:
        """Return rows as the kind of frame that the model takes."""
        kinds = [
            (dates, texts)
            for texts in (True, False)
            for dates in ("text", "days", _parsed_kind())
        ]
        if self._frame_kind is None and len(array):
            # Trained on categories, these answer for texts, but are not trained on them.
            if is_instance(self.estimator, _HISTOGRAMS):
                kinds = kinds[3:]
            tried = (k for k in kinds if self._takes_frame(array[:_TRIED], *k))
            self._frame_kind = next(tried, kinds[-3])
        return self._build_frame(array, *(self._frame_kind or kinds[0]))

    def _build_frame(self, array: Array, dates: str, texts: bool) -> Any:
        """Return rows as a frame: dates as texts or others, categories as texts or not."""
        assert self.schema is not None
        assert self.columns is not None
        frame = to_frame(array, self.schema, dates=dates)
        # Some libraries change the blanks in names.
        own = find_columns(self.columns, frame.columns)
        if not texts:
            import pandas as pd

            kinds = {
                f.name: pd.CategoricalDtype(
                    dict.fromkeys(x for x in levels_in_frame(f) if x == x)
                )
                for f in self.schema.features
                if isinstance(f, Category) and frame[f.name].dtype != bool
            }
            frame = frame.astype(kinds)
        return frame[own].set_axis(self.columns, axis=1)

    def _takes_frame(self, array: Array, dates: str, texts: bool) -> bool:
        try:
            self.label_rows(self._build_frame(array, dates, texts))
        except Exception:  # a library's own
            return False
        return True

    def _ignores_names(self, array: Array, frame: Any) -> bool:
        try:
            named = np.asarray(self.estimator.predict(frame))
            return np.array_equal(np.asarray(self.label_rows(array)), named)
        except Exception:  # names are needed, or there is no answer for these rows
            return False

    def label_rows(self, rows: Any) -> Any:
        """Return the labels of rows."""
        with _ignore_missing_names():
            return self.estimator.predict(rows)

    def score_rows(self, rows: Any) -> Array:
        """Return the scores of rows, one for each class."""
        if not hasattr(self.estimator, "predict_proba"):
            raise NoScores(f"{self.name} has no predict_proba, so it gives no scores")
        with _ignore_missing_names():
            scores = self.estimator.predict_proba(rows)
        if isinstance(scores, list):  # an estimator of several outputs
            raise NoScores(f"{self.name} predicts several labels, which have no scores")
        answer: Array = np.asarray(scores)
        return answer


def _parsed_kind() -> str:
    """Return the type that this pandas reads dates as: microseconds since its third."""
    import pandas as pd

    return str(pd.to_datetime(["2024-01-31"]).dtype)


def _known_levels(estimator: Any, columns: list[Any]) -> dict[str, Any]:
    """Return the levels that encoders in an estimator know, by column."""
    steps = [step for _, step in getattr(estimator, "steps", ())] or [estimator]
    first = steps[0]
    found: dict[str, Any] = {}
    for _, inner, names in getattr(first, "transformers_", ()):
        is_named = isinstance(names, list | tuple) and all(
            isinstance(name, str) for name in names
        )
        own = list(names) if is_named else np.array(columns)[names].tolist()
        found |= _known_levels(inner, own)
    for encoder in steps:
        kept = getattr(encoder, "categories_", None)
        if kept is not None and len(kept) == len(columns):
            found |= dict(zip(map(str, columns), map(list, kept), strict=True))
    return found


@contextmanager
def _ignore_missing_names() -> Iterator[None]:
    """Keep scikit-learn from warning of columns without names: it was tried."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        yield


def load_skops(path: Path, *, trust: bool) -> EstimatorModel:
    """Load a skops file; types that skops does not know are refused without trust.

    Trees are no such type: skops distrusts them for nodes that lead nowhere.
    """
    skops = need("skops.io", extra="sklearn", what="skops files")
    with as_model_error(f"{path} is no readable skops file"):
        unknown = skops.get_untrusted_types(file=path)
    dtypes = {"numpy.dtype"} if _dtypes_are_read_as_such(path) else set()
    harmless = TREES | _OPTIMIZERS | dtypes
    foreign = [name for name in unknown if name not in harmless]
    if foreign and not trust:
        raise distrust(path, f"holds types that may run code: {', '.join(foreign)}")
    estimator = skops.load(path, trusted=unknown)
    if not trust and not trees_are_sound(estimator):
        raise ModelError(f"{path} holds a damaged tree: its nodes lead out of it")
    if not hasattr(estimator, "predict"):
        kind = type(estimator).__name__
        raise ModelError(f"{path} holds a {kind}, which has no `predict`")
    return EstimatorModel(estimator, str(path))


def _dtypes_are_read_as_such(path: Path) -> bool:
    """Say whether skops would get each type of numbers from an empty array, as it does.

    It distrusts them by name, since another way to make one could be asked for.
    """
    with open_archive(path) as archive:
        schema = json.loads(archive.read("schema.json"))
    types = (o for o in json_objects(schema) if o.get("__class__") == "dtype")
    return all(kind.get("__loader__") == "DTypeNode" for kind in types)


def _clone_estimator(model: Any) -> tuple[Any, Callable[[Any], bytes]]:
    dumps = need("skops.io", extra="sklearn", what="skops files").dumps
    return model.estimator, dumps


_CONSTRAINED = [
    n for n in READERS if any(k in n for k in ("Tree", "Forest", "Boosting"))
]
KIND = ModelKind(
    name="skops file",
    shown=("scikit-learn, saved by skops", "`model.skops`"),
    extra="sklearn",
    package="scikit-learn",
    endings=(".skops",),
    is_mine=lambda file: file.is_archive and "schema.json" in file.members,
    load=load_skops,
    types=tuple(READERS),
    read=estimator_structure,
    # Of plain gradient boosting its histogram variant is trained, which has constraints.
    constraints=dict.fromkeys(_CONSTRAINED, "monotonic_cst"),
    to_train=_clone_estimator,
)
