"""Trees, linear models and networks of scikit-learn, with what comes before them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from nomos.device import Array
from nomos.errors import NotProvable
from nomos.structures.categories import CategorySplits
from nomos.structures.inherited import find_class
from nomos.structures.model import DOUBLE, Chances, ModelColumns, Origins, Structure
from nomos.structures.sklearn_layers import linear_layers, name_link, network_layers
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
    if getattr(estimator, "n_outputs_", 1) != 1 and read is not network_layers:
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
    chances = name_link(count) if estimator.loss == "log_loss" else ""
    base = estimator._raw_predict_init(nothing)
    return _sum_trees(estimator, columns, trees, base, chances=chances)


def _joined_trees(estimator: Any, given: ModelColumns, name: str) -> Trees:
    """Return bagging, voting or AdaBoost as a sum of the trees of its members.

    Members add up their probabilities, or vote with their labels: then each must be one
    tree. In AdaBoost, votes for other labels are subtracted.
    """
    classes, is_boosted = getattr(estimator, "classes_", None), "AdaBoost" in name
    members = [_read_member(member, given, name) for member in estimator.estimators_]
    named = "estimator_weights_" if is_boosted else "_weights_not_none"
    weights: Any = getattr(estimator, named, None)
    weights = np.ones(len(members)) if weights is None else np.asarray(weights)
    votes = is_boosted or getattr(estimator, "voting", "") == "hard"
    count = sum(len(member.trees) for member in members)
    width, base, trees = 1 if classes is None else len(classes), np.zeros(1), []
    known: Any = classes if is_boosted else np.arange(width)
    features = getattr(estimator, "estimators_features_", [None] * len(members))
    shares = weights / weights.sum()
    for member, share, own in zip(members, shares, features, strict=False):
        if classes is None:
            base = base + share * member.base
        elif votes and len(member.trees) > 1:
            raise NotProvable(f"{name} whose members are sums, and vote with labels")
        for tree in member.trees:
            value = share * tree.value
            if classes is not None:
                value = np.zeros((len(tree.left), width))
                value[:, np.searchsorted(known, member.labels)] = tree.value
                if votes:
                    value = _vote(value, share, is_boosted=is_boosted)
                else:
                    value = value * (count * share / len(member.trees))
            feature = tree.feature if own is None else np.asarray(own)[tree.feature]
            trees.append(replace(tree, value=value, feature=feature))
    base = base if classes is None else np.zeros(trees[0].value.shape[1])
    is_one = count == len(members) and getattr(estimator, "n_jobs", None) in (None, 1)
    chances: Chances = "" if classes is None or votes else "mean"
    columns, more = (
        given.as_numbers(np.float32),
        {"in_order": is_one, "chances": chances},
    )
    return _sum_trees(estimator, columns, trees, base, **more)


def _vote(value: Array, share: float, *, is_boosted: bool) -> Array:
    """Return votes for the labels of nodes; of two labels AdaBoost has one score."""
    width = value.shape[1]
    chosen: Array = np.eye(width)[value.argmax(axis=1)]
    if not is_boosted:
        return share * chosen
    votes: Array = np.where(chosen, share, -share / (width - 1))
    return votes[:, 1:] - votes[:, :1] if width == 2 else votes


def _read_member(member: Any, given: ModelColumns, name: str) -> Trees:
    """Return a member of an ensemble, if it adds up trees without a link."""
    if not find_class(member, _MEMBERS):
        raise NotProvable(f"{name} of a {type(member).__name__}: only trees are joined")
    found = estimator_structure(member, given)
    if not isinstance(found, Trees) or found.chances not in ("", "mean"):
        raise NotProvable(f"{name} of members that make probabilities of scores")
    return found


def _histogram_trees(estimator: Any, columns: ModelColumns, name: str) -> Trees:
    losses: dict[str, Chances] = {"squared_error": "", "absolute_error": "", "quantile": "",
                                  "poisson": "exp", "gamma": "exp"}  # fmt: skip
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
    is_value = name.endswith("Regressor")
    chances = losses[estimator.loss] if is_value else name_link(count)
    base = estimator._baseline_prediction
    return _sum_trees(estimator, splits.columns(), trees, base, chances=chances)


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
    (linear_layers, "linear_model",
     "LogisticRegression LogisticRegressionCV LinearRegression Ridge RidgeCV Lasso LassoCV "
     "ElasticNet ElasticNetCV PoissonRegressor GammaRegressor TweedieRegressor SGDClassifier SGDRegressor RidgeClassifier Perceptron"),
    (linear_layers, "svm", "LinearSVC LinearSVR"),
    (network_layers, "neural_network", "MLPClassifier MLPRegressor"),
    (_forest_trees, "tree", "DecisionTreeClassifier DecisionTreeRegressor "
     "ExtraTreeClassifier ExtraTreeRegressor"),
    (_forest_trees, "ensemble", "RandomForestClassifier RandomForestRegressor "
     "ExtraTreesClassifier ExtraTreesRegressor"),
    (_boosting_trees, "ensemble", "GradientBoostingClassifier GradientBoostingRegressor"),
    (_joined_trees, "ensemble", "AdaBoostClassifier BaggingClassifier BaggingRegressor "
     "VotingClassifier VotingRegressor"),
    (_histogram_trees, "ensemble",
     "HistGradientBoostingClassifier HistGradientBoostingRegressor"),
)  # fmt: skip
_MEMBERS = [
    n for n, read in READERS.items() if read in (_forest_trees, _boosting_trees)
]
