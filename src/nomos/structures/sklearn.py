"""Trees, linear models and networks of scikit-learn, with what comes before them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from nomos.device import Array
from nomos.errors import NotProvable
from nomos.structures.categories import CategorySplits
from nomos.structures.inherited import find_class
from nomos.structures.model import (
    DOUBLE,
    SINGLE,
    Layers,
    ModelColumns,
    Origins,
    Structure,
)
from nomos.structures.trees import Tree, Trees, placed

_SEARCHES = tuple(
    f"sklearn.model_selection:{name}"
    for name in ("GridSearchCV", "RandomizedSearchCV", "HalvingGridSearchCV",
                 "HalvingRandomSearchCV")
)  # fmt: skip


def last_step(estimator: Any, columns: ModelColumns) -> tuple[Any, ModelColumns]:
    """Return the model that searches and pipelines end with, and the columns it gets."""
    while True:
        if find_class(estimator, ["sklearn.pipeline:Pipeline"]):
            steps = estimator[:-1]
            if len(steps.steps):
                columns = _after(steps, columns)
            estimator = estimator.steps[-1][1]
        elif (
            find_class(estimator, _SEARCHES) and hasattr(estimator, "best_estimator_")
        ):  # fmt: skip
            estimator = estimator.best_estimator_
        else:
            return estimator, columns


def _after(steps: Any, columns: ModelColumns) -> ModelColumns:
    """Return what steps before a model make of columns."""
    origins = trace_origins(steps, columns.origins)
    return ModelColumns(lambda rows: steps.transform(columns.transform(rows)), origins)


def read_estimator(estimator: Any, given: ModelColumns) -> Structure:
    """Return what a fitted estimator of scikit-learn is made of."""
    found = find_class(estimator, READERS)
    name, read = found.partition(":")[2], READERS[found]
    if getattr(estimator, "n_outputs_", 1) != 1 and read is not _network:
        raise NotProvable(f"{name} predicts several outputs")
    return read(estimator, given, name)


def _sum(
    estimator: Any, columns: ModelColumns, trees: Sequence[Tree], base: Any, **more: Any
) -> Trees:
    return Trees(
        columns=columns,
        trees=tuple(trees),
        base=np.asarray(base, float).reshape(-1),
        roundoff=DOUBLE,
        classes=getattr(estimator, "classes_", None),
        **more,
    )


def _parts(tree: Any) -> tuple[Array, Array, Array, Array]:
    """Return the features and thresholds of a tree's nodes, and their children."""
    return tree.feature, tree.threshold, tree.children_left, tree.children_right


def _forest(estimator: Any, given: ModelColumns, name: str) -> Trees:
    columns = given.as_numbers(np.float32)
    members = getattr(estimator, "estimators_", [estimator])  # of a single tree, itself
    is_value = name.endswith("Regressor")
    if is_value and getattr(estimator, "criterion", "") == "poisson":
        raise NotProvable(f"{name} with the criterion poisson")
    scale = len(members) if is_value else 1
    found = [m.tree_ for m in members]
    trees = [Tree(*_parts(t), t.value[:, 0, :] / scale) for t in found]
    # Threads add up the trees of a forest in the order in which they come.
    in_order = getattr(estimator, "n_jobs", None) in (None, 1)
    base = np.zeros(trees[0].value.shape[1])
    return _sum(estimator, columns, trees, base, in_order=in_order)


def _boosting(estimator: Any, given: ModelColumns, name: str) -> Trees:
    columns = given.as_numbers(np.float32)
    if not (estimator.init is None or estimator.init == "zero"):
        raise NotProvable(f"{name} that begins with a model of its own")
    count = estimator.estimators_.shape[1]
    trees = []
    for members in estimator.estimators_:
        for place, member in enumerate(members):
            tree = member.tree_
            value = tree.value[:, 0, 0] * estimator.learning_rate
            trees.append(Tree(*_parts(tree), placed(value, place, count)))
    nothing = np.zeros((1, estimator.n_features_in_), np.float32)
    return _sum(estimator, columns, trees, estimator._raw_predict_init(nothing))


def _histograms(estimator: Any, columns: ModelColumns, name: str) -> Trees:
    losses = ("squared_error", "absolute_error", "quantile")
    if name.endswith("Regressor") and estimator.loss not in losses:
        raise NotProvable(f"{name} with the loss {estimator.loss}")
    if getattr(estimator, "is_categorical_", None) is not None:
        columns = _categories_first(estimator, columns)
    splits = CategorySplits(columns.as_numbers(np.float64))
    count = len(estimator._predictors[0])
    trees = []
    for members in estimator._predictors:
        for place, member in enumerate(members):
            tree = _histogram_tree(member, splits)
            trees.append(replace(tree, value=placed(tree.value, place, count)))
    return _sum(estimator, splits.columns(), trees, estimator._baseline_prediction)


def _histogram_tree(member: Any, splits: CategorySplits) -> Tree:
    nodes = member.nodes
    leaf = nodes["is_leaf"].astype(bool)
    left, right = (
        np.where(leaf, -1, nodes[side].astype(np.int64)) for side in ("left", "right")
    )
    feature = nodes["feature_idx"].astype(np.int64)
    value = np.where(leaf, nodes["value"], 0)
    tree = Tree(feature, nodes["num_threshold"].astype(float), left, right, value)
    for node in np.flatnonzero(nodes["is_categorical"] & ~leaf).tolist():
        words = member.raw_left_cat_bitsets[nodes["bitset_idx"][node]]
        levels = [n for n in range(32 * len(words)) if words[n // 32] >> (n % 32) & 1]
        unknown = bool(nodes["missing_go_to_left"][node])
        splits.split(tree, node, levels, "left", unknown=unknown)
    return tree


def _categories_first(estimator: Any, columns: ModelColumns) -> ModelColumns:
    """Return columns as histograms take them: categories as numbers, before the others."""
    named = np.asarray(estimator.is_categorical_)
    order = [*np.flatnonzero(named), *np.flatnonzero(~named)]
    origins = [columns.origins[place] for place in order]
    first = _ordinal(None, tuple(origins[: named.sum()]))
    return ModelColumns(
        lambda rows: estimator._preprocess_X(columns.transform(rows), reset=False),
        (*first, *origins[named.sum() :]),
    )


def _linear(estimator: Any, given: ModelColumns, name: str) -> Layers:
    columns = given.as_numbers(np.float64)
    weights = np.atleast_2d(np.asarray(estimator.coef_, float))
    biases = np.broadcast_to(np.asarray(estimator.intercept_, float), len(weights))
    classes = getattr(estimator, "classes_", None)
    if classes is None and len(weights) != 1:
        raise NotProvable(f"{name} predicts several outputs")
    return Layers(
        columns=columns,
        weights=(weights,),
        biases=(np.array(biases),),
        roundoff=_roundoff(np.asarray(estimator.coef_)),
        classes=classes,
    )


def _network(estimator: Any, given: ModelColumns, name: str) -> Layers:
    columns = given.as_numbers(np.float64)
    layers, activation = len(estimator.coefs_), estimator.activation
    if activation != "relu" and not (activation == "identity" and layers == 1):
        raise NotProvable(f"{name} with the activation {activation}")
    if estimator.out_activation_ not in ("logistic", "softmax", "identity"):
        raise NotProvable(f"{name} whose output is {estimator.out_activation_}")
    outputs = len(estimator.intercepts_[-1])
    classes = getattr(estimator, "classes_", None)
    if outputs != 1 and (classes is None or estimator.out_activation_ == "logistic"):
        raise NotProvable(f"{name} predicts several outputs")
    roundoff = _roundoff(estimator.coefs_[0])
    return Layers(
        columns=columns,
        weights=tuple(np.asarray(w, float).T for w in estimator.coefs_),
        biases=tuple(np.asarray(b, float) for b in estimator.intercepts_),
        roundoff=roundoff,
        classes=classes,
        link=0.0 if classes is None else 16 * roundoff,
    )


def _roundoff(weights: Array) -> float:
    return SINGLE if weights.dtype == np.float32 else DOUBLE


def trace_origins(transformer: Any, origins: Origins) -> Origins:
    """Return the origins of the columns that a fitted transformer makes."""
    if transformer is None or transformer == "passthrough":
        return origins
    name = find_class(transformer, _TRANSFORMERS)
    if not name:
        known = ", ".join(one.partition(":")[2] for one in _TRANSFORMERS)
        raise NotProvable(
            f"a {type(transformer).__name__} comes before the model, and what it makes of "
            f"a row is not known to a proof; known are: {known}"
        )
    return _TRANSFORMERS[name](transformer, origins)


def _pipeline(pipeline: Any, origins: Origins) -> Origins:
    for _, step in pipeline.steps:
        origins = trace_origins(step, origins)
    return origins


def _scaler(scaler: Any, origins: Origins) -> Origins:
    scale = getattr(scaler, "scale_", None)
    # A column is divided by its scale, or multiplied with it: the sign is the same.
    signs = np.ones(len(origins)) if scale is None else np.sign(scale)
    clips = bool(getattr(scaler, "clip", False))
    return tuple(
        origin.changed(rising=bool(sign > 0), affine=not clips)
        for origin, sign in zip(origins, signs, strict=True)
    )


def _one_hot(encoder: Any, origins: Origins) -> Origins:
    if getattr(encoder, "_infrequent_enabled", False):
        raise NotProvable("a OneHotEncoder that joins infrequent categories")
    dropped = encoder.drop_idx_
    drops = [None] * len(origins) if dropped is None else dropped
    parts = zip(_ordinal(encoder, origins), encoder.categories_, drops, strict=True)
    found: Origins = ()
    for one, levels, drop in parts:
        found += (one,) * (len(levels) - (drop is not None))
    return found


def _ordinal(_: Any, origins: Origins) -> Origins:
    return tuple(origin.changed(rising=False, affine=False) for origin in origins)


def _steps(_: Any, origins: Origins) -> Origins:
    return tuple(origin.changed(rising=True, affine=False) for origin in origins)


def _bins(discretizer: Any, origins: Origins) -> Origins:
    if discretizer.encode == "ordinal":
        return _steps(discretizer, origins)
    counts = zip(_ordinal(discretizer, origins), discretizer.n_bins_, strict=True)
    return tuple(one for one, count in counts for _ in range(count))


def _selected(selector: Any, origins: Origins) -> Origins:
    return tuple(origins[place] for place in selector.get_support(indices=True))


def _imputer(imputer: Any, origins: Origins) -> Origins:
    missing, filled = imputer.missing_values, imputer.statistics_.tolist()
    if imputer.add_indicator or missing == missing:  # NaN alone is not itself
        raise NotProvable("a SimpleImputer that adds columns or replaces numbers")
    if len(filled) != len(origins) or any(one != one for one in filled):
        raise NotProvable("a SimpleImputer that drops columns")
    return origins


def _function(transformer: Any, origins: Origins) -> Origins:
    if transformer.func is not None:
        raise NotProvable("a FunctionTransformer runs code of its own before the model")
    return origins


def _column_transformer(transformer: Any, origins: Origins) -> Origins:
    found: Origins = ()
    for name, step, _ in transformer.transformers_:
        if not (isinstance(step, str) and step == "drop"):
            places = transformer._transformer_to_input_indices[name]
            found += trace_origins(step, tuple(origins[place] for place in places))
    return found


def _named(module: str, names: str) -> list[str]:
    return [f"sklearn.{module}:{name}" for name in names.split()]


_TRANSFORMERS: dict[str, Callable[[Any, Origins], Origins]] = {
    "sklearn.pipeline:Pipeline": _pipeline,
    "sklearn.compose:ColumnTransformer": _column_transformer,
    **dict.fromkeys(
        _named(
            "preprocessing", "StandardScaler MinMaxScaler MaxAbsScaler RobustScaler"
        ),
        _scaler,
    ),
    "sklearn.preprocessing:OneHotEncoder": _one_hot,
    "sklearn.preprocessing:OrdinalEncoder": _ordinal,
    "sklearn.preprocessing:Binarizer": _steps,
    "sklearn.preprocessing:KBinsDiscretizer": _bins,
    "sklearn.preprocessing:QuantileTransformer": _ordinal,
    "sklearn.preprocessing:PowerTransformer": _ordinal,
    **dict.fromkeys(
        _named(
            "feature_selection",
            "VarianceThreshold SelectKBest SelectPercentile SelectFromModel RFE",
        ),
        _selected,
    ),
    "sklearn.impute:SimpleImputer": _imputer,
    "sklearn.preprocessing:FunctionTransformer": _function,
}

READERS: Mapping[str, Callable[[Any, ModelColumns, str], Structure]] = {
    **dict.fromkeys(
        _named(
            "linear_model",
            "LogisticRegression LogisticRegressionCV LinearRegression Ridge RidgeCV Lasso "
            "LassoCV ElasticNet ElasticNetCV SGDClassifier SGDRegressor RidgeClassifier "
            "Perceptron",
        )
        + _named("svm", "LinearSVC LinearSVR"),
        _linear,
    ),
    **dict.fromkeys(
        _named("neural_network", "MLPClassifier MLPRegressor"),
        _network,
    ),
    **dict.fromkeys(
        _named(
            "tree",
            "DecisionTreeClassifier ExtraTreeClassifier DecisionTreeRegressor "
            "ExtraTreeRegressor",
        )
        + _named(
            "ensemble",
            "RandomForestClassifier ExtraTreesClassifier RandomForestRegressor "
            "ExtraTreesRegressor",
        ),
        _forest,
    ),
    **dict.fromkeys(
        _named("ensemble", "GradientBoostingClassifier GradientBoostingRegressor"),
        _boosting,
    ),
    **dict.fromkeys(
        _named(
            "ensemble",
            "HistGradientBoostingClassifier HistGradientBoostingRegressor",
        ),
        _histograms,
    ),
}
