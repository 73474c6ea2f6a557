"""Proofs of many kinds of models: answers are those of brute force."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from nomos.domain import Flag, Integer, Real, Schema
from nomos.errors import NotProvable
from nomos.verify import ProofOptions, verify
from tests.sizes import one_of
from tests.slow.libraries import quiet
from tests.verify.triples import Triple, all_rows, brute_force, domain_of, spec_of

pytest.importorskip("sklearn")
SCHEMA = Schema(Integer("a", 0, 4), Integer("b", 0, 3), Flag("c"))
ROWS = all_rows(SCHEMA, np.float32)
NUMBERS = ROWS @ [1.0, -0.5, 0.7] + np.random.default_rng(0).normal(size=len(ROWS))
TARGETS = {
    "numbers": NUMBERS,
    "positive": np.exp(NUMBERS / 3),
    "two labels": (NUMBERS > 1).astype(int),
    "three labels": np.searchsorted([0.3, 2], NUMBERS),
}
SPEC = """\
import small;
input x1;
var x2 := x1[a := x1.a + randInt(1, 2)];
requires x2.a <= 4;
output d1;
output d2;
{{
  d1 = predict(x1)
  d2 = predict(x2)
}}
ensures {ensures};
"""
ENSURES = ("d1 <= d2", "abs(d1 - d2) <= 0.8", "d1 <= 2", "d2 <= 1.5 * d1")
PATIENT = ProofOptions(seconds=60, counting=60)
FEW: dict[str, Any] = {"n_estimators": 5, "random_state": 0}
# The library, the class, its parameters, what it learns.
KINDS: dict[str, tuple[str, str, dict[str, Any], str]] = {
    "adaboost": ("sklearn.ensemble", "AdaBoostClassifier", FEW, "two labels"),
    "adaboost, three": ("sklearn.ensemble", "AdaBoostClassifier", FEW, "three labels"),
    "bagging": ("sklearn.ensemble", "BaggingClassifier", FEW, "two labels"),
    "bagging, features": ("sklearn.ensemble", "BaggingClassifier",
                          FEW | {"max_features": 2, "max_samples": 12}, "three labels"),
    "bagging, numbers": ("sklearn.ensemble", "BaggingRegressor", FEW, "numbers"),
    "voting": ("sklearn.ensemble", "VotingClassifier", {"voting": "soft"}, "two labels"),
    "voting, hard": ("sklearn.ensemble", "VotingClassifier", {"weights": [2, 1]}, "three labels"),
    "voting, numbers": ("sklearn.ensemble", "VotingRegressor", {"weights": [2, 1]}, "numbers"),
    "histograms, poisson": ("sklearn.ensemble", "HistGradientBoostingRegressor",
                            {"loss": "poisson", "max_iter": 5, "min_samples_leaf": 3}, "positive"),
    "histograms, gamma": ("sklearn.ensemble", "HistGradientBoostingRegressor",
                          {"loss": "gamma", "max_iter": 5, "min_samples_leaf": 3}, "positive"),
    "forest, poisson": ("sklearn.ensemble", "RandomForestRegressor",
                        FEW | {"criterion": "poisson", "max_depth": 2}, "positive"),
    "linear, poisson": ("sklearn.linear_model", "PoissonRegressor", {}, "positive"),
    "linear, gamma": ("sklearn.linear_model", "GammaRegressor", {}, "positive"),
    "linear, tweedie": ("sklearn.linear_model", "TweedieRegressor", {"power": 1.5}, "positive"),
    "linear, normal": ("sklearn.linear_model", "TweedieRegressor", {}, "positive"),
    "lightgbm, dart": ("lightgbm", "LGBMRegressor",
                       {"boosting_type": "dart", "drop_rate": 0.5, "skip_drop": 0.0}, "numbers"),
    "lightgbm, rf": ("lightgbm", "LGBMRegressor", {"boosting_type": "rf"}, "numbers"),
    "lightgbm, rf, labels": ("lightgbm", "LGBMClassifier", {"boosting_type": "rf"}, "three labels"),
    "lightgbm, poisson": ("lightgbm", "LGBMRegressor", {"objective": "poisson"}, "positive"),
    "lightgbm, gamma": ("lightgbm", "LGBMRegressor", {"objective": "gamma"}, "positive"),
    "lightgbm, tweedie": ("lightgbm", "LGBMRegressor", {"objective": "tweedie"}, "positive"),
    "xgboost, dart": ("xgboost", "XGBRegressor", {"booster": "dart", "rate_drop": 0.5}, "numbers"),
    "xgboost, dart, labels": ("xgboost", "XGBClassifier", {"booster": "dart", "rate_drop": 0.5},
                              "two labels"),
    "xgboost, poisson": ("xgboost", "XGBRegressor", {"objective": "count:poisson"}, "positive"),
    "xgboost, gamma": ("xgboost", "XGBRegressor", {"objective": "reg:gamma"}, "positive"),
    "xgboost, tweedie": ("xgboost", "XGBRegressor", {"objective": "reg:tweedie"}, "positive"),
    "xgboost, shares": ("xgboost", "XGBRegressor", {"objective": "reg:logistic"}, "two labels"),
    "catboost, lossguide": ("catboost", "CatBoostRegressor", {"grow_policy": "Lossguide"}, "numbers"),
    "catboost, depthwise": ("catboost", "CatBoostClassifier", {"grow_policy": "Depthwise"},
                            "three labels"),
}  # fmt: skip


def fit(kind: str) -> Any:
    """Train a model of a kind."""
    from sklearn import tree

    library, name, given, target = KINDS[kind]
    module = pytest.importorskip(library)
    if library in ("lightgbm", "xgboost", "catboost"):
        given = given | {"n_estimators": 6, "max_depth": 2}
    if library == "lightgbm":
        given |= {"min_child_samples": 3, "verbose": -1, "n_jobs": 1}
        given |= {"bagging_freq": 1, "bagging_fraction": 0.7}
    if library == "catboost":
        given |= {"verbose": 0, "allow_writing_files": False, "thread_count": 1}
    if name.startswith("Voting"):
        kind = "Regressor" if target == "numbers" else "Classifier"
        made = getattr(tree, f"DecisionTree{kind}")
        given = given | {"estimators": [(f"m{n}", made(max_depth=n)) for n in (2, 3)]}
    with quiet():
        return getattr(module, name)(**given).fit(ROWS, TARGETS[target])


def compare_with_brute_force(model: Any, *more: str) -> None:
    """Prove and count by brute force; both must say the same."""
    domain = domain_of(SCHEMA, model, ROWS, model.predict)
    for ensures in (*ENSURES, *more):
        text = SPEC.format(ensures=ensures)
        triple = Triple(spec_of(text, domain), domain, text, "")
        cases, bad = brute_force(triple)
        proof = verify(triple.spec, domain, options=PATIENT)
        assert (proof.cases, proof.violating) == (cases, (bad, bad)), ensures
        assert proof.verdict == ("violated" if bad else "holds"), ensures


@pytest.mark.parametrize("kind", one_of(5, KINDS))
def test_proofs_of_a_kind_are_those_of_brute_force(kind: str) -> None:
    with quiet():
        compare_with_brute_force(fit(kind))


def test_exponentials_that_overflow_are_ordered_and_no_more() -> None:
    """Numbers of which many are infinite: the order of scores says nothing of them."""
    model = fit("histograms, poisson")
    for (member,) in model._predictors:
        member.nodes["value"] *= 800
    with quiet(), np.errstate(all="ignore"):
        compare_with_brute_force(model, "d1 < d2", "d2 <= d1", "d1 <= 1.1 * d2")


def test_members_that_are_no_trees_are_refused() -> None:
    from sklearn import ensemble, linear_model

    model = ensemble.BaggingRegressor(linear_model.Ridge(), n_estimators=2)
    model.fit(ROWS, NUMBERS)
    domain = domain_of(SCHEMA, model, ROWS, model.predict)
    with pytest.raises(NotProvable, match="of a Ridge: only trees are joined"):
        verify(spec_of(SPEC.format(ensures="d1 <= 99"), domain), domain)


MOVED = """\
import small;
input x1;
input other;
requires abs(x1.r - other.r) <= 0.25;
var x2 := x1[r := other.r];
output d1;
output d2;
{{
  d1 = predict(x1)
  d2 = predict(x2)
}}
ensures {ensures};
"""


@pytest.mark.parametrize("weight", [3.0, -0.7, 0.0])
def test_linear_models_are_proved_where_real_features_change(weight: float) -> None:
    from sklearn import linear_model, pipeline, preprocessing

    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.uniform(-2, 5, 50), rng.integers(0, 2, 50)])
    scaled = preprocessing.StandardScaler(), linear_model.LinearRegression()
    model = pipeline.make_pipeline(*scaled).fit(rows, rows @ [weight, 1.5])
    domain = domain_of(Schema(Real("r", -2, 5), Flag("c")), model, rows, model.predict)
    reach = 0.25 * abs(weight)
    for ensures, holds in (
        (f"abs(d1 - d2) <= {reach + 0.01}", True),
        (f"abs(d1 - d2) <= {reach - 0.01}", False),
        (f"isclose(d1, d2, rel := 0, abs := {reach + 0.01})", True),
        (f"d1 - d2 < {reach - 0.01}", False),
        ("x1.r > other.r ==> d1 >= d2 - 1e-6", weight >= 0),
    ):
        text = MOVED.format(ensures=ensures)
        proof = verify(spec_of(text, domain), domain, options=PATIENT)
        assert proof.verdict == ("holds" if holds else "violated"), ensures
