"""Models behind a guard: independence and monotonicity that hold whatever the model says.

A repair puts a guard before a model that no training makes keep a spec: a network, a kernel
machine, neighbours. Two things are guarded, and both hold by construction, for all rows.

*Masked columns.* The model gets one fixed value in the place of a column, so its answer
cannot depend on it.

*Monotone columns.* The model is asked at *anchors*: combinations of values of the monotone
columns, taken from data, with the other columns as the row has them. For a row x let

    U(x) = the highest answer at anchors that are at most x, column by column
    L(x) = the lowest answer at anchors that are at least x.

Whoever goes up has more anchors below and fewer above, so neither U nor L ever falls, and
nor does their mean, which is the answer. Of one column, with all its values as anchors, this
is the monotone function nearest to the model in the largest difference; a model that is
monotone already answers as before. Of labels, places in the order of the classes are taken,
and where U and L differ the scores decide between them, in the same way.

Cost: a row is asked as often as there are anchors (at most `MOST_ANCHORS`). Limits: between
anchors the answer is a step; values beyond the data count as the outermost anchor; numbers
and scores are taken to six digits, since a library may differ in the last ones from batch to
batch, and that would be a fall.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from nomos.device import Array
from nomos.domain.records import take
from nomos.errors import ModelError, NotProvable
from nomos.models.adapter import Adapter, NoScores
from nomos.models.kinds import ModelKind
from nomos.models.load import load_model
from nomos.models.screening.ubjson import check_json_depth
from nomos.structures.model import Structure

MOST_ANCHORS = 64
_ASKED = 2**16  # rows asked at once
_HEAD = b'{"nomos": "guarded model"'


@dataclass(frozen=True, slots=True)
class Guard:
    """What holds of a model: `masked` columns with their value, `directions` of others.

    `anchors` are values of the columns of `directions`, in their order.
    """

    masked: Mapping[int, float] = field(default_factory=dict)
    directions: Mapping[int, int] = field(default_factory=dict)
    anchors: tuple[tuple[float, ...], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.masked or self.directions)


def make_guard(
    rows: Any, masked: Mapping[int, float], directions: Mapping[int, int]
) -> Guard:
    """Return the guard for these columns, with anchors from rows of data."""
    columns = list(directions)
    if not columns:
        return Guard(masked)
    values = numbers_of(rows, columns)
    values = values[~np.isnan(values).any(axis=1)]
    if not len(values):
        raise ModelError("a monotone column has no values in the data")
    found, counts = np.unique(values, axis=0, return_counts=True)
    if len(columns) == 1:
        few = np.linspace(0, len(found) - 1, min(len(found), MOST_ANCHORS))
        found = found[few.round().astype(int)]
    else:  # the most frequent ones, so that most rows are anchors themselves
        order = np.random.default_rng(0).permutation(len(found))
        found = found[order[np.argsort(-counts[order], kind="stable")]]
        found = found[: MOST_ANCHORS - 2]
    up = np.array([directions[column] > 0 for column in columns])
    ends = values.min(axis=0), values.max(axis=0)
    corners = np.where(up, *ends), np.where(up, *ends[::-1])
    anchors = np.unique(np.vstack([found, *corners]), axis=0)
    return Guard(masked, directions, tuple(map(tuple, anchors.tolist())))


class GuardedModel(Adapter):
    """A model behind a guard; a pickle of it, or a JSON file that names its file."""

    def __init__(self, model: Any, guard: Guard, name: str) -> None:
        super().__init__(name)
        self.model, self.guard = model, guard
        for own in ("classes", "width", "columns", "levels", "forgotten"):
            setattr(self, own, getattr(model, own, getattr(self, own)))

    @property
    def schema(self) -> Any:
        """What the rows hold: the model behind the guard has to know."""
        return self.model.schema

    @schema.setter
    def schema(self, schema: Any) -> None:
        self.model.schema = schema

    def gets_names(self, place: int) -> bool:
        """Leave it to the model behind the guard, which is asked."""
        return True

    def extract_structure(self, width: int) -> Structure:
        """Refuse: no proof reads a guard."""
        raise NotProvable(
            f"{self.name} is a model behind a guard: what is guarded holds by the way that "
            "it answers, and the rest is not proved"
        )

    def convert_rows(self, rows: Any) -> Any:
        """Return rows with the masked columns set, as an array of their own."""
        columns = (*self.guard.masked, *self.guard.directions)
        if not hasattr(rows, "iloc"):
            rows = np.asarray(rows)
        if rows.ndim != 2 or (columns and max(columns) >= rows.shape[1]):
            most = max(columns)
            raise ModelError(f"{self.name} takes rows of more than {most} columns")
        return with_columns(rows, self.guard.masked)

    def label_rows(self, rows: Any) -> Any:
        """Return the labels of rows, or their numbers."""
        if not self.guard.directions:
            return self.model.predict(rows)
        parts = _split_rows(rows, len(self.guard.anchors))
        return np.concatenate([self._project_answers(part) for part in parts])

    def score_rows(self, rows: Any) -> Any:
        """Return scores: of two classes monotone ones, of more none."""
        if not self.guard.directions:
            return self.model.scores(rows)
        if self.classes is None or len(self.classes) != 2:
            raise NoScores(f"{self.name} is monotone, and so gives labels alone")
        parts = _split_rows(rows, len(self.guard.anchors))
        second = np.concatenate([self._project_scores(part)[0] for part in parts])
        return np.column_stack([1 - second, second])

    def _project_answers(self, rows: Array) -> Array:
        asked, below, above = self._place_anchors(rows)
        said = np.asarray(self.model.predict(asked))
        classes = self.classes
        if classes is None and said.dtype.kind not in "biuf":
            raise ModelError(f"{self.name} answers with names in no known order")
        places = said if classes is None else _find_places(said, classes)
        low, high = _envelopes(places.reshape(below.shape), below, above)
        if classes is None and said.dtype.kind == "f":
            return (low + high) / 2
        try:
            middle, _ = self._project_scores(rows)
        except NoScores:
            middle = (low + high) / 2
        ends = np.minimum(low, high), np.maximum(low, high)
        chosen = np.clip(np.floor(middle + 0.5), *ends).astype(np.int64)
        return chosen.astype(said.dtype) if classes is None else classes[chosen]

    def _project_scores(self, rows: Array) -> tuple[Array, Array]:
        """Return the place to be expected among the classes, projected; and the rows."""
        if self.classes is None:
            raise NoScores(f"{self.name} has no classes")
        asked, below, above = self._place_anchors(rows)
        scores = np.asarray(self.model.scores(asked), dtype=np.float64)
        if (
            scores.shape[1] != len(self.classes)
            or scores.min() < -1e-6
            or scores.max() > 1 + 1e-6
        ):
            raise NoScores(f"{self.name} has scores that are no chances")
        expected = (scores @ np.arange(len(self.classes))).reshape(below.shape)
        low, high = _envelopes(expected, below, above)
        return (low + high) / 2, asked

    def _place_anchors(self, rows: Array) -> tuple[Array, Array, Array]:
        """Return rows with each anchor in them, and which anchors are below and above."""
        columns = list(self.guard.directions)
        signs = np.array(list(self.guard.directions.values()))
        anchors = np.array(self.guard.anchors)
        own = numbers_of(rows, columns)
        own = np.clip(own, anchors.min(axis=0), anchors.max(axis=0))
        missing = np.isnan(own)[:, None]
        apart = signs * (anchors[None] - own[:, None])
        below = np.all(missing | (apart <= 0), axis=2)
        above = np.all(missing | (apart >= 0), axis=2)
        values = np.where(missing, np.nan, anchors[None]).reshape(-1, len(columns))
        asked = take(rows, np.repeat(np.arange(len(rows)), len(anchors)))
        given = dict(zip(columns, values.T, strict=True))
        return with_columns(asked, given), below, above


def numbers_of(rows: Any, columns: Sequence[int]) -> Array:
    """Return some columns of an array or a data frame as numbers."""
    part = rows.iloc[:, columns] if hasattr(rows, "iloc") else rows[:, columns]
    return np.asarray(part, dtype=np.float64)


def with_columns(rows: Any, values: Mapping[int, Any]) -> Any:
    """Return a copy of an array or a data frame with other values in some columns."""
    rows = rows.copy()
    for column, value in values.items():
        if not hasattr(rows, "iloc"):
            rows[:, column] = value
            continue
        made = rows.iloc[:, column].copy()
        made[:] = np.asarray(value).astype(made.dtype) if np.ndim(value) else value
        rows.isetitem(column, made)
    return rows


def _split_rows(rows: Any, times: int) -> list[Any]:
    size = max(1, _ASKED // times)
    return [rows[first : first + size] for first in range(0, len(rows), size)]


def _envelopes(values: Array, below: Array, above: Array) -> tuple[Array, Array]:
    """Return the lowest value above each row, and the highest one below it."""
    values = _round_off(values.astype(np.float64))
    low = np.where(above, values, np.inf).min(axis=1)
    return low, np.where(below, values, -np.inf).max(axis=1)


def _round_off(values: Array) -> Array:
    """Return values to six digits: libraries sum otherwise in batches of another size."""
    with np.errstate(divide="ignore"):
        digits = 5 - np.floor(np.log10(np.abs(values)))
    unit = 10.0 ** np.clip(np.nan_to_num(digits, posinf=0), -300, 300)
    rounded: Array = np.round(values * unit) / unit
    return rounded


def _find_places(answers: Array, classes: Array) -> Array:
    """Return the place of each answer among the classes, in their order."""
    order = np.argsort(classes)
    return order[np.searchsorted(classes, answers, sorter=order)]


def encode_guarded(guard: Guard, model: Path) -> bytes:
    """Return the JSON file that puts a guard before the model file beside it."""
    document = {
        "nomos": "guarded model",
        "model": model.name,
        "sha256": hashlib.sha256(model.read_bytes()).hexdigest(),
        "masked": list(guard.masked.items()),
        "directions": list(guard.directions.items()),
        "anchors": guard.anchors,
    }
    return json.dumps(document).encode() + b"\n"


def load_guarded(path: Path, *, trust: bool) -> GuardedModel:
    """Load a guarded model: its file has to lie beside it, and to be the same."""
    try:
        content = path.read_bytes()
        check_json_depth(content)
        document = json.loads(content)
        name, digest = str(document["model"]), document["sha256"]
        masked = {int(c): float(v) for c, v in document["masked"]}
        directions = {int(c): 1 if d > 0 else -1 for c, d in document["directions"]}
        anchors = np.array(document["anchors"], dtype=np.float64)
        wanted = (len(anchors), len(directions)) if directions else (0,)
        if anchors.shape != wanted or not np.isfinite(anchors).all():
            raise ValueError("its anchors are of another size, or no numbers")
        if (
            len(anchors) > MOST_ANCHORS + 2
            or min((*masked, *directions), default=0) < 0
        ):
            raise ValueError("it has too many anchors, or a column below 0")
    except (OSError, ValueError, KeyError, TypeError, OverflowError) as error:
        raise ModelError(f"{path} is no readable guarded model: {error}") from error
    guard = Guard(masked, directions, tuple(map(tuple, anchors.tolist())))
    file = path.parent / name
    if Path(name).name != name or not file.is_file():
        raise ModelError(f"{path} guards {name!r}, and there is no such file beside it")
    if hashlib.sha256(file.read_bytes()).hexdigest() != digest:
        raise ModelError(f"{path} guards {name}, which was changed since")
    return GuardedModel(load_model(file, trust=trust), guard, str(path))


KIND = ModelKind(
    name="guarded model",
    shown=("a repaired model behind a guard", "`nn.repaired.json`"),
    needs="what the model behind it needs",
    is_mine=lambda file: file.head.startswith(_HEAD),
    load=load_guarded,
    types=(f"{__name__}:GuardedModel",),
    adapt=lambda model, name: model,
)
