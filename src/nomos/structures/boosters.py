"""Trees of XGBoost, LightGBM and CatBoost."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from nomos.device import Array
from nomos.errors import NotProvable
from nomos.structures.categories import CategorySplits
from nomos.structures.model import DOUBLE, SINGLE, ModelColumns
from nomos.structures.trees import Tree, Trees, placed


def read_xgboost(booster: Any, classes: Array | None, columns: ModelColumns) -> Trees:
    """Return the trees of an XGBoost booster."""
    learner = json.loads(bytes(booster.save_raw("json")))["learner"]
    boosting, objective = learner["gradient_booster"], learner["objective"]["name"]
    if boosting["name"] != "gbtree":
        raise NotProvable(f"an XGBoost model of {boosting['name']}")
    known = ("binary:logistic", "binary:logitraw", "multi:softprob", "multi:softmax",
             "reg:squarederror", "reg:absoluteerror", "reg:quantileerror",
             "reg:squaredlogerror", "reg:pseudohubererror")  # fmt: skip
    if objective not in known:
        raise NotProvable(f"an XGBoost model with the objective {objective}")
    parameters = learner["learner_model_param"]
    count = max(1, int(parameters["num_class"]))
    model = boosting["model"]
    parallel = int(model["gbtree_model_param"].get("num_parallel_tree", 1))
    best = booster.attr("best_iteration")
    last = None if best is None else (int(best) + 1) * count * max(1, parallel)
    splits = CategorySplits(columns.as_numbers(np.float32))
    trees = [
        _xgboost_tree(tree, place, count, splits)
        for tree, place in zip(model["trees"][:last], model["tree_info"], strict=False)
    ]
    stored = parameters["base_score"]
    base = np.array(json.loads(stored) if stored.startswith("[") else [float(stored)])
    if objective == "binary:logistic":
        base = np.log(base / (1 - base))
    return Trees(
        columns=splits.columns(),
        trees=tuple(trees),
        base=np.broadcast_to(base, count).astype(float),
        strict=True,
        roundoff=SINGLE,
        classes=classes,
        link=0.0 if classes is None else 16 * SINGLE,
        in_order=count == 1,
    )


def _xgboost_tree(tree: Any, place: int, count: int, splits: CategorySplits) -> Tree:
    if int(tree["tree_param"].get("size_leaf_vector", 1)) > 1:
        raise NotProvable("an XGBoost model with leaves of many values")
    left, right = np.array(tree["left_children"]), np.array(tree["right_children"])
    bound = np.array(tree["split_conditions"], np.float32).astype(float)
    value = placed(np.where(left < 0, bound, 0), place, count)
    found = Tree(np.array(tree["split_indices"]), bound, left, right, value)
    parts = (tree[f"categories_{part}"] for part in ("nodes", "segments", "sizes"))
    for node, start, size in zip(*parts, strict=True):
        levels = tree["categories"][start : start + size]
        unknown = not tree["default_left"][node]
        splits.split(found, node, levels, "right", unknown=unknown)
    return found


def read_lightgbm(booster: Any, classes: Array | None, columns: ModelColumns) -> Trees:
    """Return the trees of a LightGBM booster."""
    model = booster.dump_model()
    objective = str(model.get("objective", "custom")).split(" ")[0]
    known = ("binary", "multiclass", "softmax", "regression", "regression_l1", "huber",
             "quantile", "fair", "mape", "lambdarank", "custom")  # fmt: skip
    if objective not in known or "sqrt" in str(model.get("objective", "")):
        raise NotProvable(f"a LightGBM model with the objective {objective}")
    if model.get("average_output"):
        raise NotProvable("a LightGBM model that averages its trees")
    count = int(model["num_tree_per_iteration"])
    splits = CategorySplits(columns.as_numbers(np.float64))
    trees = [
        _lightgbm_tree(one["tree_structure"], number % count, count, splits)
        for number, one in enumerate(model["tree_info"])
    ]
    return Trees(
        columns=splits.columns(),
        trees=tuple(trees),
        base=np.zeros(count),
        roundoff=DOUBLE,
        classes=classes,
        link=0.0 if classes is None else 64 * DOUBLE,
        in_order=count == 1,
    )


def _lightgbm_tree(root: Any, place: int, count: int, splits: CategorySplits) -> Tree:
    nodes: list[tuple[int, float, int, int, float]] = []
    categories: dict[int, list[int]] = {}

    def add(node: Any) -> int:
        here = len(nodes)
        if "split_feature" not in node:
            if node.get("leaf_coeff"):
                raise NotProvable("a LightGBM model of linear trees")
            nodes.append((-1, 0.0, -1, -1, float(node["leaf_value"])))
            return here
        bound = node["threshold"]
        if node["decision_type"] == "==":
            categories[here] = [int(level) for level in str(bound).split("||")]
            bound = 0.0
        elif node.get("missing_type") == "Zero":
            raise NotProvable("a LightGBM model that takes zero for missing")
        nodes.append((0, 0.0, -1, -1, 0.0))
        left, right = add(node["left_child"]), add(node["right_child"])
        nodes[here] = (int(node["split_feature"]), float(bound), left, right, 0.0)
        return here

    add(root)
    feature, bound, left, right, leaf = (np.array(c) for c in zip(*nodes, strict=True))
    tree = Tree(feature, bound, left, right, placed(leaf, place, count))
    for here, levels in categories.items():
        splits.split(tree, here, levels, "left")
    return tree


def read_catboost(model: Any, classes: Array | None, columns: ModelColumns) -> Trees:
    """Return the trees of a CatBoost model, by way of its JSON."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        model.save_model(str(path), format="json")
        written = json.loads(path.read_text(encoding="utf-8"))
    if "oblivious_trees" not in written:
        raise NotProvable("a CatBoost model whose trees are not symmetric")
    floats = written["features_info"].get("float_features", [])
    others = [k for k in ("categorical_features", "text_features", "embedding_features")
              if written["features_info"].get(k)]  # fmt: skip
    if others:
        raise NotProvable(f"a CatBoost model with {others[0].replace('_', ' ')}")
    scale, bias = written["scale_and_bias"]
    place = {one["feature_index"]: one["flat_feature_index"] for one in floats}
    trees = [_catboost_tree(t, place, scale) for t in written["oblivious_trees"]]
    count = trees[0].value.shape[1]
    loss = written.get("model_info", {}).get("params", {}).get("loss_function", {})
    plain = ("RMSE", "MAE", "Quantile", "Huber", "LogCosh")
    if classes is None and loss.get("type") not in plain:
        raise NotProvable(f"a CatBoost model with the loss {loss.get('type')}")
    return Trees(
        columns=columns.as_numbers(np.float32),
        trees=tuple(trees),
        base=np.broadcast_to(np.asarray(bias, float), count).astype(float),
        roundoff=DOUBLE,
        classes=classes,
        in_order=count == 1 and scale == 1,
    )


def _catboost_tree(tree: Any, place: dict[int, int], scale: float) -> Tree:
    """Return a symmetric tree, whose levels all ask the same, as a plain one."""
    splits = tree["splits"] or []
    if any(split["split_type"] != "FloatFeature" for split in splits):
        raise NotProvable("a CatBoost model that splits by more than numbers")
    depth = len(splits)
    inner = 2**depth - 1
    leaves = np.asarray(tree["leaf_values"], float).reshape(2**depth, -1) * scale
    nodes = np.arange(inner + 2**depth)
    value = np.zeros((len(nodes), leaves.shape[1]))
    value[inner:] = leaves
    feature, bound = np.zeros(len(nodes), np.int64), np.zeros(len(nodes))
    for node in range(inner):
        level = (node + 1).bit_length() - 1
        split = splits[depth - 1 - level]  # the last split is the highest bit
        feature[node] = place[split["float_feature_index"]]
        bound[node] = np.float32(split["border"])
    left, right = (np.where(nodes < inner, 2 * nodes + n, -1) for n in (1, 2))
    return Tree(feature, bound, left, right, value)
