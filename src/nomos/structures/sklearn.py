"""Trees, linear models and networks of scikit-learn, with what comes before them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from nomos.device import Array
from nomos.errors import NotProvable
from nomos.structures.categories import CategorySplits
from nomos.structures.inherited import find_class
from nomos.structures.model import (
    DOUBLE,
    SINGLE,
    Chances,
    Layers,
    ModelColumns,
    Origins,
    Structure,
)
from nomos.structures.trees import Tree, Trees, place_values

Reader = TypeVar("Reader")
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
                columns = _append_steps(steps, columns)
            estimator = estimator.steps[-1][1]
        elif (
            find_class(estimator, _SEARCHES) and hasattr(estimator, "best_estimator_")
        ):  # fmt: skip
            estimator = estimator.best_estimator_
        else:
            return estimator, columns


def _append_steps(steps: Any, columns: ModelColumns) -> ModelColumns:
    """Return what steps before a model make of columns."""
    origins = trace_origins(steps, columns.origins)
    return ModelColumns(lambda rows: steps.transform(columns.transform(rows)), origins)


def estimator_structure(estimator: Any, given: ModelColumns) -> Structure:
    """Return what a fitted estimator of scikit-learn is made of."""
    found = find_class(estimator, READERS)
    name, read = found.partition(":")[2], READERS[found]
    if getattr(estimator, "n_outputs_", 1) != 1 and read is not _network_layers:
        raise NotProvable(f"{name} predicts several outputs")
    return read(estimator, given, name)


def _sum_trees(
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


def _node_arrays(tree: Any) -> tuple[Array, Array, Array, Array]:
    """Return the features and thresholds of a tree's nodes, and their children."""
    return tree.feature, tree.threshold, tree.children_left, tree.children_right


def _forest_trees(estimator: Any, given: ModelColumns, name: str) -> Trees:
    columns = given.as_numbers(np.float32)
    members = getattr(estimator, "estimators_", [estimator])  # of a single tree, itself
    is_value = name.endswith("Regressor")
    if is_value and getattr(estimator, "criterion", "") == "poisson":
        raise NotProvable(f"{name} with the criterion poisson")
    scale = len(members) if is_value else 1
    found = [m.tree_ for m in members]
    trees = [Tree(*_node_arrays(t), t.value[:, 0, :] / scale) for t in found]
    # Threads add up the trees of a forest in the order in which they come.
    in_order = getattr(estimator, "n_jobs", None) in (None, 1)
    base = np.zeros(trees[0].value.shape[1])
    more: dict[str, Any] = {"in_order": in_order, "chances": "" if is_value else "mean"}
    return _sum_trees(estimator, columns, trees, base, **more)


def _boosting_trees(estimator: Any, given: ModelColumns, name: str) -> Trees:
    columns = given.as_numbers(np.float32)
    if not (estimator.init is None or estimator.init == "zero"):
        raise NotProvable(f"{name} that begins with a model of its own")
    count = estimator.estimators_.shape[1]
    trees = []
    for members in estimator.estimators_:
        for place, member in enumerate(members):
            tree = member.tree_
            value = tree.value[:, 0, 0] * estimator.learning_rate
            trees.append(Tree(*_node_arrays(tree), place_values(value, place, count)))
    nothing = np.zeros((1, estimator.n_features_in_), np.float32)
    chances = _name_link(count) if estimator.loss == "log_loss" else ""
    base = estimator._raw_predict_init(nothing)
    return _sum_trees(estimator, columns, trees, base, chances=chances)


def _histogram_trees(estimator: Any, columns: ModelColumns, name: str) -> Trees:
    losses = ("squared_error", "absolute_error", "quantile")
    if name.endswith("Regressor") and estimator.loss not in losses:
        raise NotProvable(f"{name} with the loss {estimator.loss}")
    if getattr(estimator, "is_categorical_", None) is not None:
        columns = _move_categories_first(estimator, columns)
    splits = CategorySplits(columns.as_numbers(np.float64))
    count = len(estimator._predictors[0])
    trees = []
    for members in estimator._predictors:
        for place, member in enumerate(members):
            tree = _histogram_tree(member, splits)
            trees.append(replace(tree, value=place_values(tree.value, place, count)))
    chances = _name_link(count) if name.endswith("Classifier") else ""
    base = estimator._baseline_prediction
    return _sum_trees(estimator, splits.columns(), trees, base, chances=chances)


def _name_link(count: int) -> Chances:
    """Return how classifiers of so many scores make probabilities of them."""
    return "sigmoid" if count == 1 else "softmax"


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
        splits.send_levels(tree, node, levels, "left", unknown=unknown)
    return tree


def _move_categories_first(estimator: Any, columns: ModelColumns) -> ModelColumns:
    """Return columns as histograms take them: categories as numbers, before the others."""
    named = np.asarray(estimator.is_categorical_)
    order = [*np.flatnonzero(named), *np.flatnonzero(~named)]
    origins = [columns.origins[place] for place in order]
    first = _trace_encoding(None, tuple(origins[: named.sum()]))
    return ModelColumns(
        lambda rows: estimator._preprocess_X(columns.transform(rows), reset=False),
        (*first, *origins[named.sum() :]),
    )


def _linear_layers(estimator: Any, given: ModelColumns, name: str) -> Layers:
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
        roundoff=_find_roundoff(np.asarray(estimator.coef_)),
        classes=classes,
        chances="sigmoid"
        if name.startswith("LogisticRegression") and len(weights) == 1
        else "",
    )


def _network_layers(estimator: Any, given: ModelColumns, name: str) -> Layers:
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
    roundoff = _find_roundoff(estimator.coefs_[0])
    return Layers(
        columns=columns,
        weights=tuple(np.asarray(w, float).T for w in estimator.coefs_),
        biases=tuple(np.asarray(b, float) for b in estimator.intercepts_),
        roundoff=roundoff,
        classes=classes,
        link=0.0 if classes is None else 16 * roundoff,
        chances="" if classes is None else _name_link(outputs),
    )


def _find_roundoff(weights: Array) -> float:
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


def _trace_pipeline(pipeline: Any, origins: Origins) -> Origins:
    for _, step in pipeline.steps:
        origins = trace_origins(step, origins)
    return origins


def _trace_scaler(scaler: Any, origins: Origins) -> Origins:
    scale = getattr(scaler, "scale_", None)
    # A column is divided by its scale, or multiplied with it: the sign is the same.
    signs = np.ones(len(origins)) if scale is None else np.sign(scale)
    clips = bool(getattr(scaler, "clip", False))
    return tuple(
        origin.after_step(rising=bool(sign > 0), affine=not clips)
        for origin, sign in zip(origins, signs, strict=True)
    )


def _trace_one_hot(encoder: Any, origins: Origins) -> Origins:
    if getattr(encoder, "_infrequent_enabled", False):
        raise NotProvable("a OneHotEncoder that joins infrequent categories")
    dropped = encoder.drop_idx_
    drops = [None] * len(origins) if dropped is None else dropped
    traced = _trace_encoding(encoder, origins)
    parts = zip(traced, encoder.categories_, drops, strict=True)
    found: Origins = ()
    for one, levels, drop in parts:
        found += (one,) * (len(levels) - (drop is not None))
    return found


def _trace_encoding(_: Any, origins: Origins) -> Origins:
    return tuple(origin.after_step(rising=False, affine=False) for origin in origins)


def _trace_steps(_: Any, origins: Origins) -> Origins:
    return tuple(origin.after_step(rising=True, affine=False) for origin in origins)


def _trace_bins(discretizer: Any, origins: Origins) -> Origins:
    if discretizer.encode == "ordinal":
        return _trace_steps(discretizer, origins)
    traced = _trace_encoding(discretizer, origins)
    counts = zip(traced, discretizer.n_bins_, strict=True)
    return tuple(one for one, count in counts for _ in range(count))


def _trace_selection(selector: Any, origins: Origins) -> Origins:
    return tuple(origins[place] for place in selector.get_support(indices=True))


def _trace_imputer(imputer: Any, origins: Origins) -> Origins:
    missing, filled = imputer.missing_values, imputer.statistics_.tolist()
    if imputer.add_indicator or missing == missing:  # NaN alone is not itself
        raise NotProvable("a SimpleImputer that adds columns or replaces numbers")
    if len(filled) != len(origins) or any(one != one for one in filled):
        raise NotProvable("a SimpleImputer that drops columns")
    return origins


def _trace_function(transformer: Any, origins: Origins) -> Origins:
    if transformer.func is not None:
        raise NotProvable("a FunctionTransformer runs code of its own before the model")
    return origins


def _trace_column_transformer(transformer: Any, origins: Origins) -> Origins:
    found: Origins = ()
    for name, step, _ in transformer.transformers_:
        if not (isinstance(step, str) and step == "drop"):
            places = transformer._transformer_to_input_indices[name]
            found += trace_origins(step, tuple(origins[place] for place in places))
    return found


def _by_class(*rows: tuple[Reader, str, str]) -> dict[str, Reader]:
    """Return a table of functions by `module:Class`, from rows of many classes."""
    return {
        f"sklearn.{module}:{name}": read
        for read, module, names in rows
        for name in names.split()
    }


_TRANSFORMERS: dict[str, Callable[[Any, Origins], Origins]] = _by_class(
    (_trace_pipeline, "pipeline", "Pipeline"),
    (_trace_column_transformer, "compose", "ColumnTransformer"),
    (_trace_scaler, "preprocessing", "StandardScaler MinMaxScaler MaxAbsScaler RobustScaler"),
    (_trace_one_hot, "preprocessing", "OneHotEncoder"),
    (_trace_encoding, "preprocessing", "OrdinalEncoder QuantileTransformer PowerTransformer"),
    (_trace_steps, "preprocessing", "Binarizer"),
    (_trace_bins, "preprocessing", "KBinsDiscretizer"),
    (_trace_function, "preprocessing", "FunctionTransformer"),
    (_trace_imputer, "impute", "SimpleImputer"),
    (_trace_selection, "feature_selection",
     "VarianceThreshold SelectKBest SelectPercentile SelectFromModel RFE"),
)  # fmt: skip
READERS: Mapping[str, Callable[[Any, ModelColumns, str], Structure]] = _by_class(
    (_linear_layers, "linear_model",
     "LogisticRegression LogisticRegressionCV LinearRegression Ridge RidgeCV Lasso LassoCV "
     "ElasticNet ElasticNetCV SGDClassifier SGDRegressor RidgeClassifier Perceptron"),
    (_linear_layers, "svm", "LinearSVC LinearSVR"),
    (_network_layers, "neural_network", "MLPClassifier MLPRegressor"),
    (_forest_trees, "tree", "DecisionTreeClassifier DecisionTreeRegressor "
     "ExtraTreeClassifier ExtraTreeRegressor"),
    (_forest_trees, "ensemble", "RandomForestClassifier RandomForestRegressor "
     "ExtraTreesClassifier ExtraTreesRegressor"),
    (_boosting_trees, "ensemble", "GradientBoostingClassifier GradientBoostingRegressor"),
    (_histogram_trees, "ensemble",
     "HistGradientBoostingClassifier HistGradientBoostingRegressor"),
)  # fmt: skip
