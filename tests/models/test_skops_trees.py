"""Trees of scikit-learn in skops files: loaded without trust, unless they are damaged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import (
    BaggingClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures
from sklearn.tree import DecisionTreeClassifier

from nomos import ModelError, load_model
from nomos.testing import check_model

ROWS = np.random.default_rng(5).normal(size=(60, 4)).astype(np.float32)
THREE = (ROWS[:, :2] > 0.2).sum(axis=1)


@pytest.fixture
def skops() -> Any:
    return pytest.importorskip("skops.io")


@pytest.mark.parametrize(
    "estimator",
    [
        DecisionTreeClassifier(),
        RandomForestClassifier(5),
        GradientBoostingClassifier(n_estimators=5),
        HistGradientBoostingClassifier(max_iter=5, min_samples_leaf=5),
        BaggingClassifier(n_estimators=4, max_features=0.5),
        make_pipeline(PolynomialFeatures(), RandomForestRegressor(5)),
        MLPClassifier((4,), max_iter=3),
        MLPClassifier((4,), max_iter=3, solver="sgd"),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_trees_and_networks_need_no_trust(
    skops: Any, estimator: Any, tmp_path: Path
) -> None:
    skops.dump(estimator.fit(ROWS, THREE), tmp_path / "m.skops")
    model = load_model(tmp_path / "m.skops")
    check_model(model, ROWS)
    assert (model.predict(ROWS) == estimator.predict(ROWS)).all()


@pytest.mark.parametrize(
    ("column", "number"),
    [
        ("left_child", -7),
        ("left_child", 0),
        ("right_child", 0),
        ("right_child", 10**6),
        ("feature", -7),
        ("feature", 10**6),
    ],
)
def test_tree_whose_nodes_lead_nowhere_is_refused(
    skops: Any, tmp_path: Path, column: str, number: int
) -> None:
    estimator = RandomForestClassifier(3).fit(ROWS, THREE)
    tree = estimator.estimators_[1].tree_
    state = tree.__getstate__()
    state["nodes"][column][0] = number
    tree.__setstate__(state)
    skops.dump(estimator, tmp_path / "m.skops")
    with pytest.raises(ModelError, match="a damaged tree: its nodes lead out"):
        load_model(tmp_path / "m.skops")


@pytest.mark.parametrize("column", ["left", "right", "feature_idx"])
def test_histogram_tree_whose_nodes_lead_nowhere_is_refused(
    skops: Any, tmp_path: Path, column: str
) -> None:
    estimator = HistGradientBoostingRegressor(max_iter=2, min_samples_leaf=5)
    estimator.fit(ROWS, THREE)
    estimator._predictors[1][0].nodes[column][0] = 10**6
    skops.dump(estimator, tmp_path / "m.skops")
    with pytest.raises(ModelError, match="a damaged tree: its nodes lead out"):
        load_model(tmp_path / "m.skops")


def test_forest_that_is_narrower_than_its_trees_is_refused(
    skops: Any, tmp_path: Path
) -> None:
    estimator = RandomForestClassifier(3).fit(ROWS, THREE)
    estimator.n_features_in_ = 2
    skops.dump(estimator, tmp_path / "m.skops")
    with pytest.raises(ModelError, match="a damaged tree: its nodes lead out"):
        load_model(tmp_path / "m.skops")
