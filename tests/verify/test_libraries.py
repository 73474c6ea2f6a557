"""Structures of other libraries' models: answers and counts are those of brute force."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nomos import load_model
from nomos.domain import Category, Flag, Integer, Real, Schema
from nomos.engine.program import Program
from nomos.verify import real
from nomos.verify.prove import ProofOptions, Prover
from tests.slow.libraries import library, quiet
from tests.verify.test_soundness import disagreement
from tests.verify.triples import Triple, all_rows, brute_force, domain_of, spec_of

SCHEMA = Schema(
    Integer("a", 0, 6), Integer("b", -2, 3), Category("c", ("x", "y", "z")), Flag("d")
)
ROWS = all_rows(SCHEMA, np.float32)
VALUES = ROWS @ [1, -0.7, 0.5, 0.3] + np.random.default_rng(0).normal(size=len(ROWS))
LABELS = np.searchsorted(np.quantile(VALUES, [0.4, 0.7]), VALUES)
TWO = (LABELS > 0).astype(int)
TARGETS = {"three": LABELS, "two": TWO, "number": VALUES}
SPEC = """\
import small;
input x1;
var v := x1.a + randInt(1, 2);
var x2 := x1[a := v];
requires v <= 6;
output d1;
output d2;
{
  d1 = predict(x1)
  d2 = predict(x2)
}
ensures d1 <= d2;
"""


@pytest.fixture(autouse=True)
def _fewer_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(real, "SCHEMA_ROWS", 500)


def agrees(model: Any, predict: Callable[[Any], Any] | None = None) -> bool:
    def flat(rows: Any) -> Any:
        with quiet():
            return np.asarray((predict or model.predict)(rows)).reshape(-1)

    domain = domain_of(SCHEMA, model, ROWS, flat)
    triple = Triple(spec_of(SPEC, domain), domain, SPEC, "library")
    return not disagreement(triple, *brute_force(triple))


def pipelines() -> dict[str, Any]:
    from sklearn import compose, ensemble, linear_model, neural_network, preprocessing
    from sklearn.pipeline import make_pipeline

    def before(**options: Any) -> Any:
        return compose.make_column_transformer(
            (preprocessing.OneHotEncoder(**options), [2]),
            (preprocessing.StandardScaler(), [0, 1]),
            remainder="passthrough",
        )

    forest = ensemble.RandomForestClassifier(4, max_depth=3, random_state=0)
    network = neural_network.MLPClassifier((5,), max_iter=50, random_state=0)
    return {
        "logistic": make_pipeline(before(), linear_model.LogisticRegression()),
        "forest": make_pipeline(before(), forest),
        "network": make_pipeline(before(drop="first"), network),
    }


@pytest.mark.parametrize("name", ["logistic", "forest", "network"])
def test_pipelines_with_a_column_transformer(name: str) -> None:
    pytest.importorskip("sklearn")
    with quiet():
        model = pipelines()[name].fit(ROWS, LABELS)
    assert agrees(model)


def test_what_a_search_over_pipelines_chose() -> None:
    pytest.importorskip("sklearn")
    from sklearn.model_selection import GridSearchCV

    options = {"randomforestclassifier__max_depth": [2, 3]}
    with quiet():
        search = GridSearchCV(pipelines()["forest"], options, cv=2).fit(ROWS, LABELS)
    assert agrees(search)


@pytest.mark.parametrize("name", ["bins", "places", "chosen", "quantiles"])
def test_columns_that_are_chosen_or_cut_into_bins(name: str) -> None:
    pytest.importorskip("sklearn")
    from sklearn import feature_selection, linear_model, pipeline, preprocessing, tree

    method = {"quantile_method": "averaged_inverted_cdf"}
    steps: dict[str, Any] = {
        "bins": preprocessing.KBinsDiscretizer(3, **method),
        "places": preprocessing.KBinsDiscretizer(3, encode="ordinal", **method),
        "chosen": feature_selection.SelectKBest(k=2),
        "quantiles": preprocessing.QuantileTransformer(n_quantiles=9),
    }
    for last in (tree.DecisionTreeClassifier(max_depth=4, random_state=0),
                 linear_model.LogisticRegression()):  # fmt: skip
        with quiet():
            model = pipeline.make_pipeline(steps[name], last).fit(ROWS, LABELS)
        assert agrees(model)


@pytest.mark.parametrize("gaps", [False, True])
def test_histograms_with_categories_also_those_they_never_saw(*, gaps: bool) -> None:
    pytest.importorskip("sklearn")
    from sklearn.ensemble import HistGradientBoostingClassifier

    rows, seen = ROWS.copy(), ROWS[:, 0] != 3
    rows[:: 7 if gaps else len(rows), 0] = np.nan  # says where an unknown level goes
    model = HistGradientBoostingClassifier(
        categorical_features=[0, 2], max_iter=6, min_samples_leaf=3
    ).fit(rows[seen], LABELS[seen])
    assert agrees(model)


@pytest.mark.slow
@pytest.mark.parametrize("most", [1, 10])  # sets of levels, or one level at a time
def test_boosters_that_split_by_categories(most: int) -> None:
    xgboost = library("xgboost", extra="xgboost")
    lightgbm = library("lightgbm", extra="lightgbm")
    common = {"n_estimators": 6, "max_cat_to_onehot": most, "n_jobs": 1}
    models = [
        xgboost.XGBClassifier(
            **common, max_depth=3, enable_categorical=True,
            feature_types=["c", "q", "c", "q"],
        ),
        lightgbm.LGBMClassifier(
            **common, num_leaves=6, min_child_samples=5, min_data_per_group=1,
            cat_smooth=0, categorical_feature=[0, 2], verbose=-1,
        ),
    ]  # fmt: skip
    for model in models:
        with quiet():
            model.fit(ROWS, LABELS)
        assert agrees(model), type(model).__name__


@pytest.mark.slow
@pytest.mark.parametrize("name", ["xgboost", "lightgbm", "catboost"])
def test_pipelines_that_end_with_a_booster(name: str) -> None:
    steps = pipelines()["logistic"].steps[:-1]
    from sklearn.pipeline import Pipeline

    with quiet():
        model = Pipeline([*steps, ("last", booster(name, "three"))]).fit(ROWS, LABELS)
    assert agrees(model)


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", ["xgboost", "lightgbm", "catboost"])
def test_boosters_as_objects(name: str, target: str) -> None:
    assert agrees(booster(name, target))


def booster(name: str, target: str) -> Any:
    module = library(name, extra=name)
    kind = "Regressor" if target == "number" else "Classifier"
    options: dict[str, Any] = {
        "xgboost": {"n_estimators": 5, "max_depth": 3, "n_jobs": 1},
        "lightgbm": {"n_estimators": 5, "num_leaves": 6, "min_child_samples": 5,
                     "verbose": -1, "n_jobs": 1},
        "catboost": {"iterations": 5, "depth": 3, "verbose": 0, "thread_count": 1,
                     "allow_writing_files": False},
    }[name]  # fmt: skip
    prefix = {"xgboost": "XGB", "lightgbm": "LGBM", "catboost": "CatBoost"}[name]
    with quiet():
        return getattr(module, prefix + kind)(**options).fit(ROWS, TARGETS[target])


@pytest.mark.slow
def test_boosters_from_files(tmp_path: Path) -> None:
    booster("xgboost", "three").get_booster().save_model(tmp_path / "x.json")
    booster("xgboost", "two").get_booster().save_model(tmp_path / "x.ubj")
    booster("lightgbm", "two").booster_.save_model(tmp_path / "l.txt")
    booster("catboost", "three").save_model(str(tmp_path / "c.cbm"))
    for name in ("x.json", "x.ubj", "l.txt", "c.cbm"):
        assert agrees(load_model(str(tmp_path / name))), name


@pytest.mark.slow
def test_a_constraint_of_catboost_on_real_features_is_proved() -> None:
    catboost = library("catboost", extra="catboost")
    rng = np.random.default_rng(0)
    rows = rng.random((400, 4))
    told = {"iterations": 40, "depth": 4, "verbose": 0, "thread_count": 1}
    model = catboost.CatBoostClassifier(
        **told, monotone_constraints=[1, 0, 0, 0], allow_writing_files=False
    ).fit(rows, (rows @ [1, -1, 2, 1] + rng.normal(size=400) > 1.5).astype(int))

    def scores(rows: Any) -> Any:
        return model.predict(rows, prediction_type="RawFormulaVal")

    # Each record is added up in one order, alone and at any place among others.
    alone = [scores(rows[n : n + 1])[0] for n in range(200)]
    assert np.array_equal(scores(rows)[:200], alone)
    assert np.array_equal(scores(rows[3:])[:197], alone[3:])
    schema = Schema(*(Real(name, 0, 1) for name in "abcd"))
    domain = domain_of(schema, model, rows, model.predict)
    spec = SPEC.replace("randInt(1, 2)", "randInt(1, 20) / 100").replace("<= 6", "<= 1")
    program = Program(spec_of(spec, domain), domain)
    proof = Prover(domain).verify(program, ProofOptions(seconds=10))
    assert proof.verdict == "holds"
    assert "the library adds up its trees in one order" in proof.assumptions


@pytest.mark.slow
def test_onnx_files_of_trees_and_networks(tmp_path: Path) -> None:
    from sklearn import ensemble, neural_network, pipeline, preprocessing

    scaler = preprocessing.StandardScaler()
    forest = ensemble.RandomForestClassifier(3, max_depth=3, random_state=0)
    network = neural_network.MLPClassifier((5,), max_iter=30, random_state=0)
    models = {
        "three": ensemble.GradientBoostingClassifier(n_estimators=4, random_state=0),
        "two": ensemble.GradientBoostingClassifier(n_estimators=4, random_state=0),
        "number": ensemble.RandomForestRegressor(4, max_depth=3, random_state=0),
        "three scaled": pipeline.make_pipeline(scaler, forest),
        "three network": pipeline.make_pipeline(scaler, network),
    }
    for name, model in models.items():
        assert agrees(converted(model, name.split()[0], tmp_path)), name


def converted(model: Any, target: str, folder: Path) -> Any:
    """Return a model that is trained, written as ONNX, and loaded."""
    convert = library("skl2onnx", extra="train").to_onnx
    with quiet():
        model.fit(ROWS, TARGETS[target])
        data = convert(model, ROWS[:1]).SerializeToString()
    path = folder / f"{type(model).__name__} {target}.onnx"
    path.write_bytes(data)
    return load_model(str(path))


@pytest.mark.slow
def test_onnx_files_of_linear_models(tmp_path: Path) -> None:
    from sklearn import linear_model, preprocessing
    from sklearn.pipeline import make_pipeline

    logistic, lasso = linear_model.LogisticRegression(), linear_model.Lasso(alpha=0.1)
    models = [
        (make_pipeline(preprocessing.StandardScaler(), logistic), "three"),
        (make_pipeline(preprocessing.MinMaxScaler(), logistic), "two"),
        (logistic, "two"),
        (linear_model.LinearRegression(), "number"),
        (make_pipeline(preprocessing.StandardScaler(), lasso), "number"),
    ]
    for model, target in models:
        assert agrees(converted(model, target, tmp_path)), (model, target)


@pytest.mark.slow
def test_a_sequential_module_of_torch() -> None:
    torch = library("torch", extra="torch")
    from nomos.models.formats.torch import TorchModel

    torch.manual_seed(0)
    nn = torch.nn
    model = TorchModel(
        nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 3)), "net"
    )
    assert agrees(model)
