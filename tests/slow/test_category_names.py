"""Boosters that were trained with names of categories: they are asked by these names."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nomos import load_model
from nomos.domain import Category, Integer, Schema
from nomos.domain.schema import Feature
from nomos.errors import ModelError
from tests.slow.libraries import library, quiet

pytestmark = pytest.mark.slow
RNG = np.random.default_rng(0)
JOBS = np.array(["clerk", "doctor", "farmer", "pilot"])
JOB, ROOMS, INCOME = (RNG.integers(0, n, 400) for n in (4, 3, 90))
ROOM_NUMBERS = np.array([10, 25, 40])
PAID = (INCOME + 40 * (JOB == 1) - 40 * (JOB == 3) + 20 * (ROOMS == 2) > 50).astype(int)
LIBRARIES = ("xgboost", "lightgbm", "catboost")


def frame(kind: str) -> Any:
    pandas = library("pandas", extra="adapters")
    made = pandas.DataFrame(
        {"job": JOBS[JOB], "rooms": ROOM_NUMBERS[ROOMS], "income": INCOME}
    )
    types = {} if kind == "catboost" else {"job": "category", "rooms": "category"}
    return made.astype(types)


def trained(kind: str, folder: Path) -> tuple[Any, Path]:
    """Train on a frame; return the estimator and its file."""
    module, file = library(kind, extra=kind), folder / "model"
    with quiet():
        if kind == "xgboost":
            own = module.XGBClassifier(n_estimators=9, enable_categorical=True)
            own.fit(frame(kind), PAID).save_model(file.with_suffix(".ubj"))
        elif kind == "lightgbm":
            own = module.LGBMClassifier(n_estimators=9, verbose=-1, cat_smooth=0)
            own.fit(frame(kind), PAID).booster_.save_model(file.with_suffix(".txt"))
        else:
            own = module.CatBoostClassifier(
                iterations=30, verbose=0, cat_features=["job", "rooms"],
                allow_writing_files=False,
            )  # fmt: skip
            own.fit(frame(kind), PAID).save_model(str(file.with_suffix(".cbm")))
    return own, next(folder.iterdir())


def schema(*jobs: str, rooms: Feature | None = None) -> Schema:
    rooms = rooms or Integer("rooms", 10, 40)
    return Schema(Category("job", jobs), rooms, Integer("income", 0, 89))


def rows(*jobs: str) -> Any:
    """Return the rows as arrays hold them, for levels in this order."""
    return np.column_stack(
        [[jobs.index(j) for j in JOBS[JOB]], ROOM_NUMBERS[ROOMS], INCOME]
    )


@pytest.mark.parametrize("kind", LIBRARIES)
def test_levels_in_any_order_are_those_of_the_training(
    kind: str, tmp_path: Path
) -> None:
    own, path = trained(kind, tmp_path)
    order = ("pilot", "farmer", "clerk", "doctor")
    model = load_model(path, schema=schema(*order))
    with quiet():
        expected = own.predict_proba(frame(kind))
    assert np.allclose(model.scores(rows(*order)), expected)
    assert len({tuple(s) for s in expected.round(6)}) > 9


@pytest.mark.parametrize("kind", LIBRARIES)
def test_pickled_estimators_get_the_names_too(kind: str, tmp_path: Path) -> None:
    own, _ = trained(kind, tmp_path)
    file, order = tmp_path / "own.pkl", ("pilot", "farmer", "clerk", "doctor")
    file.write_bytes(pickle.dumps(own))
    texts = Category("rooms", ("10", "25", "40"))
    told = schema(*order) if kind == "catboost" else schema(*order, rooms=texts)
    if kind != "catboost":
        pytest.importorskip("pandas")
        made = frame(kind).astype({"rooms": str}).astype({"rooms": "category"})
        with quiet():
            own.fit(made, PAID)
        file.write_bytes(pickle.dumps(own))
        given = rows(*order)
        given[:, 1] = ROOMS
    else:
        made, given = frame(kind), rows(*order)
    model = load_model(file, trust=True, schema=told)
    with quiet():
        assert np.allclose(model.scores(given), own.predict_proba(made))


@pytest.mark.parametrize("kind", LIBRARIES)
def test_without_a_schema_nothing_is_asked(kind: str, tmp_path: Path) -> None:
    _, path = trained(kind, tmp_path)
    with pytest.raises(ModelError, match="say what their numbers stand for"):
        load_model(path).predict(rows(*JOBS))


@pytest.mark.parametrize("kind", ["xgboost", "lightgbm"])
def test_names_cannot_be_numbers(kind: str, tmp_path: Path) -> None:
    _, path = trained(kind, tmp_path)
    numbers = Schema(*(Integer(name, 0, 89) for name in ("job", "rooms", "income")))
    with pytest.raises(ModelError, match="the first is 'clerk'"):
        load_model(path, schema=numbers).predict(rows(*JOBS))


@pytest.mark.parametrize("kind", LIBRARIES)
def test_a_file_with_categories_is_not_repaired(kind: str, tmp_path: Path) -> None:
    from nomos.train.repairable import make_repairable

    _, path = trained(kind, tmp_path)
    with pytest.raises(ModelError, match="too little to train it again"):
        make_repairable(path, trust=False)
