"""Trees, linear models and networks of scikit-learn, with what comes before them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from nomos.verify.question.symbolic import NotProvable
from nomos.verify.structure.columns import Array, ModelColumns
from nomos.verify.structure.layers import Layers
from nomos.verify.structure.preprocessing import ColumnOrigin, Origins, dense, trace
from nomos.verify.structure.trees import (
    DOUBLE,
    SINGLE,
    Tree,
    Trees,
    check_trees,
    decision_of,
)

Structure = Trees | Layers
_LINEAR = {
    "LogisticRegression", "LogisticRegressionCV", "LinearRegression", "Ridge", "RidgeCV",
    "Lasso", "LassoCV", "ElasticNet", "ElasticNetCV", "SGDClassifier", "SGDRegressor",
    "RidgeClassifier", "LinearSVC", "LinearSVR", "Perceptron",
}  # fmt: skip
_FORESTS = {
    "RandomForestClassifier", "ExtraTreesClassifier",
    "RandomForestRegressor", "ExtraTreesRegressor",
}  # fmt: skip
_SINGLE_TREES = {
    "DecisionTreeClassifier", "ExtraTreeClassifier",
    "DecisionTreeRegressor", "ExtraTreeRegressor",
}  # fmt: skip


def read_estimator(
    estimator: Any, rows: Callable[[Array], Any], width: int
) -> Structure:
    """Return what a fitted estimator is made of; `rows` makes what it takes of an array."""
    origins: Origins = tuple(ColumnOrigin(column) for column in range(width))
    before: Callable[[Array], Array] = lambda given: dense(rows(given))  # noqa: E731
    if type(estimator).__name__ == "Pipeline":
        steps = estimator[:-1]
        if len(steps.steps):
            origins = trace(steps, origins)
            before = lambda given: dense(steps.transform(rows(given)))  # noqa: E731
        estimator = estimator.steps[-1][1]
    name, module = type(estimator).__name__, type(estimator).__module__
    if not module.startswith("sklearn."):
        raise NotProvable(f"a {name} of {module} is not known to a proof")
    if getattr(estimator, "n_outputs_", 1) != 1 and name not in {
        "MLPClassifier",
        "MLPRegressor",
    }:
        raise NotProvable(f"{name} predicts several outputs")
    if name in _LINEAR:
        return _linear(estimator, before, origins)
    if name in ("MLPClassifier", "MLPRegressor"):
        return _network(estimator, before, origins)
    if name in _SINGLE_TREES | _FORESTS:
        return _forest(estimator, _columns(before, origins, np.float32), name)
    if name in ("GradientBoostingClassifier", "GradientBoostingRegressor"):
        return _boosting(estimator, _columns(before, origins, np.float32), name)
    if name in ("HistGradientBoostingClassifier", "HistGradientBoostingRegressor"):
        return _histograms(estimator, _columns(before, origins, np.float64), name)
    raise NotProvable(f"a {name} is neither trees nor layers that a proof knows")


def _columns(
    before: Callable[[Array], Array], origins: Origins, dtype: Any
) -> ModelColumns:
    return ModelColumns(
        lambda rows: before(rows).astype(dtype),
        tuple(origin.source for origin in origins),
        tuple(origin.rising for origin in origins),
    )


def _tree(tree: Any, value: Array) -> Tree:
    return Tree(
        tree.feature.astype(np.int64),
        tree.threshold.astype(float),
        tree.children_left.astype(np.int64),
        tree.children_right.astype(np.int64),
        value,
    )


def _forest(estimator: Any, columns: ModelColumns, name: str) -> Trees:
    members = estimator.estimators_ if name in _FORESTS else [estimator]
    is_value = name.endswith("Regressor")
    if is_value and getattr(estimator, "criterion", "") == "poisson":
        raise NotProvable(f"{name} with the criterion poisson")
    scale = len(members) if is_value else 1
    trees = [_tree(m.tree_, m.tree_.value[:, 0, :] / scale) for m in members]
    return Trees(
        columns=columns,
        trees=check_trees(trees, name),
        base=np.zeros(trees[0].value.shape[1]),
        decision="value" if is_value else "argmax",
        strict=False,
        roundoff=DOUBLE,
        classes=None if is_value else estimator.classes_,
        # Threads add up the trees of a forest in the order in which they come.
        in_order=getattr(estimator, "n_jobs", None) in (None, 1),
    )


def _boosting(estimator: Any, columns: ModelColumns, name: str) -> Trees:
    if not (estimator.init is None or estimator.init == "zero"):
        raise NotProvable(f"{name} that begins with a model of its own")
    rounds, count = estimator.estimators_.shape
    trees = []
    for number in range(rounds):
        for place in range(count):
            tree = estimator.estimators_[number, place].tree_
            value = np.zeros((tree.node_count, count))
            value[:, place] = tree.value[:, 0, 0] * estimator.learning_rate
            trees.append(_tree(tree, value))
    nothing = np.zeros((1, estimator.n_features_in_), np.float32)
    base = np.asarray(estimator._raw_predict_init(nothing), float)[0]
    is_value = name.endswith("Regressor")
    return Trees(
        columns=columns,
        trees=check_trees(trees, name),
        base=base,
        decision=decision_of(None if is_value else estimator.classes_, count),
        strict=False,
        roundoff=DOUBLE,
        classes=None if is_value else estimator.classes_,
    )


def _histograms(estimator: Any, columns: ModelColumns, name: str) -> Trees:
    is_value = name.endswith("Regressor")
    if is_value and estimator.loss not in (
        "squared_error",
        "absolute_error",
        "quantile",
    ):
        raise NotProvable(f"{name} with the loss {estimator.loss}")
    if getattr(estimator, "is_categorical_", None) is not None:
        raise NotProvable(f"{name} with categorical features")
    count = len(estimator._predictors[0])
    trees = []
    for members in estimator._predictors:
        for place, member in enumerate(members):
            nodes = member.nodes
            leaf = nodes["is_leaf"].astype(bool)
            value = np.zeros((len(nodes), count))
            value[:, place] = np.where(leaf, nodes["value"], 0)
            left, right = (
                np.where(leaf, -1, nodes[side].astype(np.int64))
                for side in ("left", "right")
            )
            feature = nodes["feature_idx"].astype(np.int64)
            bound = nodes["num_threshold"].astype(float)
            trees.append(Tree(feature, bound, left, right, value))
    return Trees(
        columns=columns,
        trees=check_trees(trees, name),
        base=np.asarray(estimator._baseline_prediction, float).reshape(-1),
        decision=decision_of(None if is_value else estimator.classes_, count),
        strict=False,
        roundoff=DOUBLE,
        classes=None if is_value else estimator.classes_,
    )


def _linear(
    estimator: Any, before: Callable[[Array], Array], origins: Origins
) -> Layers:
    weights = np.atleast_2d(np.asarray(estimator.coef_, float))
    biases = np.broadcast_to(np.asarray(estimator.intercept_, float), len(weights))
    classes = getattr(estimator, "classes_", None)
    if classes is None and len(weights) != 1:
        raise NotProvable(f"{type(estimator).__name__} predicts several outputs")
    return Layers(
        columns=_columns(before, origins, np.float64),
        affine=tuple(origin.affine for origin in origins),
        weights=(weights,),
        biases=(np.array(biases),),
        decision=decision_of(classes, len(weights)),
        roundoff=_roundoff(np.asarray(estimator.coef_)),
        classes=classes,
    )


def _network(
    estimator: Any, before: Callable[[Array], Array], origins: Origins
) -> Layers:
    name = type(estimator).__name__
    if estimator.activation not in ("relu", "identity"):
        raise NotProvable(f"{name} with the activation {estimator.activation}")
    if estimator.activation == "identity" and len(estimator.coefs_) > 1:
        raise NotProvable(f"{name} with the activation identity")
    if estimator.out_activation_ not in ("logistic", "softmax", "identity"):
        raise NotProvable(f"{name} whose output is {estimator.out_activation_}")
    outputs = len(estimator.intercepts_[-1])
    classes = getattr(estimator, "classes_", None)
    if (classes is None and outputs != 1) or (
        classes is not None and estimator.out_activation_ == "logistic" and outputs != 1
    ):
        raise NotProvable(f"{name} predicts several outputs")
    roundoff = _roundoff(estimator.coefs_[0])
    return Layers(
        columns=_columns(before, origins, np.float64),
        affine=tuple(origin.affine for origin in origins),
        weights=tuple(np.asarray(w, float).T for w in estimator.coefs_),
        biases=tuple(np.asarray(b, float) for b in estimator.intercepts_),
        decision=decision_of(classes, outputs),
        roundoff=roundoff,
        classes=classes,
        link=0.0 if classes is None else 16 * roundoff,
    )


def _roundoff(weights: Array) -> float:
    return SINGLE if weights.dtype == np.float32 else DOUBLE
