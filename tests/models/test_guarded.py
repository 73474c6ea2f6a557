"""A guard: what it promises holds for all rows, whatever the model behind it says."""

from __future__ import annotations

import itertools
import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nomos.errors import ModelError, NotProvable
from nomos.models import load_model
from nomos.models.adapter import Adapter, NoScores
from nomos.models.formats.guarded import (
    MOST_ANCHORS,
    Guard,
    GuardedModel,
    encode_guarded,
    make_guard,
)
from nomos.models.kinds import extract_structure
from nomos.train import repair


class Wild(Adapter):
    """A model that follows no order: a table of random answers, by the columns."""

    def __init__(self, kind: str, seed: int = 0) -> None:
        super().__init__("wild")
        rng = np.random.default_rng(seed)
        self.kind = kind
        self.table = rng.random((6, 5, 2))
        names = {"labels": [0, 1, 2], "names": ["a", "b"], "scores": [0, 1]}
        self.classes = np.array(names[kind]) if kind in names else None

    def convert_rows(self, rows: Any) -> Any:
        return np.nan_to_num(np.asarray(rows, dtype=float), nan=3).astype(int)

    def label_rows(self, rows: Any) -> Any:
        values = self.table[tuple(rows.T)]
        if self.classes is None:
            return values
        return self.classes[(values * len(self.classes)).astype(int)]

    def score_rows(self, rows: Any) -> Any:
        if self.kind != "scores":
            raise NoScores("none")
        values = self.table[tuple(rows.T)]
        return np.column_stack([1 - values, values])


GRID = np.array(list(itertools.product(range(6), range(5), range(2))), dtype=float)


def places(model: Any, rows: Any) -> Any:
    said = model.predict(rows)
    return said if model.classes is None else np.searchsorted(model.classes, said)


@pytest.mark.parametrize("kind", ["numbers", "labels", "names", "scores"])
@pytest.mark.parametrize("directions", [{0: 1}, {1: -1}, {0: 1, 1: -1}])
@pytest.mark.parametrize("few", [False, True])
def test_no_answer_ever_falls_along_a_monotone_column(
    kind: str, directions: dict[int, int], few: bool
) -> None:
    data = GRID[::7] if few else GRID
    model = GuardedModel(Wild(kind), make_guard(data, {}, directions), "m")
    said = places(model, GRID).reshape(6, 5, 2)
    for column, direction in directions.items():
        assert (direction * np.diff(said, axis=column) >= 0).all()
    if kind == "scores":
        second = model.scores(GRID)[:, 1]
        assert ((second >= 0.5) == model.predict(GRID)).all()
    else:
        with pytest.raises(NoScores):
            model.scores(GRID)


@pytest.mark.parametrize("kind", ["numbers", "labels", "names"])
def test_a_model_that_is_monotone_already_answers_as_before(kind: str) -> None:
    wild = Wild(kind)
    wild.table.sort(axis=0)
    model = GuardedModel(wild, make_guard(GRID, {}, {0: 1}), "m")
    assert np.allclose(places(model, GRID), places(wild, GRID), rtol=1e-5)


def test_the_answer_is_the_monotone_one_nearest_to_the_model() -> None:
    wild = Wild("numbers")
    model = GuardedModel(wild, make_guard(GRID, {}, {0: 1}), "m")
    apart = abs(model.predict(GRID) - wild.predict(GRID)).reshape(6, 10).max(axis=0)
    falls = wild.table.reshape(6, 10)
    pairs = itertools.combinations(range(6), 2)
    least = np.max([falls[low] - falls[high] for low, high in pairs], axis=0) / 2
    assert apart == pytest.approx(np.maximum(least, 0), abs=1e-5)


@pytest.mark.parametrize("dtype", [np.float32, np.int64, object])
def test_an_answer_never_depends_on_a_masked_column(dtype: Any) -> None:
    model = GuardedModel(Wild("scores"), Guard({1: 2, 2: 0}), "m")
    rows = GRID.astype(dtype)
    said = model.predict(rows).reshape(6, 10)
    assert (said == said[:, :1]).all()
    assert (np.ptp(model.scores(rows).reshape(6, 20)[:, ::2], axis=1) == 0).all()
    assert (rows == GRID).all()  # theirs stay as they are


def test_a_missing_value_is_compared_with_nothing_but_itself() -> None:
    model = GuardedModel(Wild("numbers"), make_guard(GRID, {}, {0: 1, 1: 1}), "m")
    rows = GRID.copy()
    rows[:, 1] = np.nan
    said = model.predict(rows).reshape(6, 5, 2)
    assert (np.diff(said, axis=0) >= 0).all()
    assert not np.isnan(said).any()


def test_values_beyond_the_data_count_as_the_outermost_ones() -> None:
    model = GuardedModel(Wild("numbers"), make_guard(GRID, {}, {0: 1}), "m")
    low, high = model.predict([[-9, 1, 1], [1e9, 1, 1]])
    assert low == model.predict([[0, 1, 1]])[0]
    assert high == model.predict([[5, 1, 1]])[0]


def test_a_row_is_asked_no_more_often_than_there_are_anchors() -> None:
    rng = np.random.default_rng(0)
    for columns in ({0: 1}, {0: 1, 1: -1, 2: 1}):
        guard = make_guard(rng.random((5000, 3)), {}, columns)
        assert len(guard.anchors) <= MOST_ANCHORS + 2


def test_no_rows_have_no_answers_and_wrong_rows_are_refused() -> None:
    model = GuardedModel(Wild("numbers"), make_guard(GRID, {2: 0}, {0: 1}), "m")
    assert len(model.predict(np.empty((0, 3)))) == 0
    with pytest.raises(ModelError, match="rows of more than 2 columns"):
        model.predict(np.zeros((2, 2)))
    with pytest.raises(NotProvable, match="behind a guard"):
        extract_structure(model, 3)


sklearn = pytest.importorskip("sklearn")


def test_a_guard_is_read_again_from_a_pickle_and_from_a_file(tmp_path: Path) -> None:
    from sklearn.svm import SVC

    rng = np.random.default_rng(0)
    rows, path = rng.integers(0, 9, (90, 3)).astype(float), tmp_path / "m.pkl"
    path.write_bytes(pickle.dumps(SVC().fit(rows, rng.integers(0, 2, 90))))
    model = load_model(path, trust=True)
    guarded = GuardedModel(model, make_guard(rows, {2: 1.0}, {0: 1}), "m")
    said = guarded.predict(rows)
    other = tmp_path / "other.pkl"
    other.write_bytes(pickle.dumps(guarded))
    assert (load_model(other, trust=True).predict(rows) == said).all()
    file = tmp_path / "m.repaired.json"
    file.write_bytes(encode_guarded(guarded.guard, path))
    assert (load_model(file, trust=True).predict(rows) == said).all()
    with pytest.raises(ModelError, match="load it with --trust"):
        load_model(file)
    path.write_bytes(path.read_bytes() + b".")
    with pytest.raises(ModelError, match=r"guards m\.pkl, which was changed since"):
        load_model(file, trust=True)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"model": "../m.pkl"}, "there is no such file beside it"),
        ({"model": "os:system"}, "there is no such file beside it"),
        ({"masked": [[-1, 0]]}, "below 0"),
        ({"masked": 5}, "no readable guarded model"),
        ({"anchors": [[1, 2]]}, "of another size"),
        ({"anchors": [[float("nan")]]}, "no numbers"),
        ({"anchors": [[n] for n in range(999)]}, "too many anchors"),
        ({"directions": {"0": 1}}, "no readable guarded model"),
        ({"sha256": 5}, "changed since"),
        ({"masked": [["[" * 99, 0]]}, "no readable guarded model"),
    ],
)
def test_a_damaged_guard_is_refused(
    tmp_path: Path, change: dict[str, Any], why: str
) -> None:
    (tmp_path / "m.pkl").write_bytes(b"x")
    whole = json.loads(encode_guarded(make_guard(GRID, {}, {0: 1}), tmp_path / "m.pkl"))
    file = tmp_path / "m.json"
    file.write_text(json.dumps(whole | change))
    with pytest.raises(ModelError, match=why):
        load_model(file, trust=True)


def test_a_model_that_is_not_trained_gets_a_guard_in_a_file_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    convert = pytest.importorskip("skl2onnx").to_onnx
    pytest.importorskip("onnxruntime")
    from sklearn.neighbors import KNeighborsClassifier

    from tests.train.conftest import People

    monkeypatch.chdir(tmp_path)
    people = People(tmp_path)
    rows, labels = people.data(600, 2)
    fitted = KNeighborsClassifier(3).fit(rows, labels)
    path = tmp_path / "near.onnx"
    path.write_bytes(convert(fitted, rows[:1]).SerializeToString())
    specs = people.specs("income", "debts", "member")
    result = repair(specs, path, points=5, budget=1000)
    assert result.verdict == "repaired", result.statement
    assert result.after.total_rate == 0 < result.before.total_rate
    assert result.path == tmp_path / "near.repaired.json"
    again = load_model(result.path)
    assert (again.predict(rows) == result.model.predict(rows)).all()
    assert "a guard sees to it" in result.notes["income"]
    with pytest.raises(Exception, match="exists and is not overwritten"):
        repair(specs, path)
