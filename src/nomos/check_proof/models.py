"""Readers of model files, each with the library of the model alone."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from nomos.check_proof.trees import DOUBLE, SINGLE, Array, Model, Refused, Trees


def read_sklearn(path: Path, width: int) -> Model:
    """Read a tree, a forest or boosting of scikit-learn from a skops file."""
    import skops.io

    arrays = (
        "numpy.dtype",
        "sklearn.tree._tree.Tree",
        "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    )
    told = skops.io.get_untrusted_types(file=path)
    if not {*told} <= {*arrays}:
        raise Refused(f"the file holds types that may run code: {told}")
    found: Any = skops.io.load(path, trusted=told)
    name, labels = type(found).__name__, getattr(found, "classes_", None)
    dtype: Any
    base, scale, dtype = np.zeros(1 if labels is None else len(labels)), 1.0, np.float32
    if name.startswith("HistGradientBoosting"):
        base, dtype = found._baseline_prediction.reshape(-1), np.float64
        named = labels is not None or found.loss == "squared_error"
        if not named or np.any(found.is_categorical_ or False):
            raise Refused("this loss, or categories")
        trees = [
            (
                n["feature_idx"],
                n["num_threshold"],
                np.where(n["is_leaf"], -1, n["left"].astype(int)),
                n["right"],
                np.eye(len(base))[p] * n["value"][:, None],
            )
            for own in found._predictors
            for p, n in enumerate(m.nodes for m in own)
        ]
    else:
        members = [found]
        if name.startswith(("RandomForest", "ExtraTrees")):
            members = found.estimators_
            scale = 1.0 if labels is not None else 1 / len(members)
        elif not name.startswith(("DecisionTree", "ExtraTree")):
            raise Refused(f"{name} is not understood")
        trees = [
            (
                t.feature,
                t.threshold,
                t.children_left,
                t.children_right,
                t.value[:, 0] * scale,
            )
            for t in (m.tree_ for m in members)
        ]
    body = Trees(trees, base, DOUBLE, width, dtype)
    return Model(body, None if labels is None else labels.tolist(), len(base), dtype)


def read_xgboost(path: Path, width: int) -> Model:
    """Read trees of XGBoost."""
    import xgboost

    booster = xgboost.Booster(model_file=str(path))
    learner = json.loads(bytes(booster.save_raw("json")))["learner"]
    own, told = learner["gradient_booster"], learner["learner_model_param"]
    objective, weights = (
        learner["objective"]["name"],
        own["model"].get("weight_drop", ()),
    )
    if (
        own["name"] != "gbtree"
        or booster.attr("best_iteration")
        or any(weight != 1 for weight in weights)
    ):
        raise Refused("this kind of XGBoost model is not understood")
    if objective not in ("binary:logistic", "multi:softprob", "reg:squarederror"):
        raise Refused(f"the objective {objective} is not understood")
    count = max(1, int(told["num_class"]))
    base = np.resize(np.array(json.loads(told["base_score"]), float), count)
    base = np.log(base / (1 - base)) if objective == "binary:logistic" else base
    trees = []
    for tree, place in zip(
        own["model"]["trees"], own["model"]["tree_info"], strict=True
    ):
        bound = np.array(tree["split_conditions"], np.float32).astype(float)
        if (
            tree["categories_nodes"]
            or tree["tree_param"]["size_leaf_vector"] not in "01"
        ):
            raise Refused("splits by categories are not understood")
        trees.append(
            (
                tree["split_indices"],
                bound,
                tree["left_children"],
                tree["right_children"],
                np.eye(count)[place] * bound[:, None],
            )
        )
    body = Trees(trees, base, SINGLE, width, np.float32, strict=True)
    return Model(
        body,
        None if objective[:3] == "reg" else [*range(max(2, count))],
        count,
        np.float32,
    )


def read_lightgbm(path: Path, width: int) -> Model:
    """Read trees of LightGBM."""
    import lightgbm

    told = lightgbm.Booster(model_file=str(path)).dump_model()
    kind = told.get("objective", "custom")
    if (
        kind.split()[0] not in ("binary", "multiclass", "regression")
        or told["average_output"]
        or "sqrt" in kind
    ):
        raise Refused(f"LightGBM's {kind} is not understood")
    count, trees = told["num_tree_per_iteration"], []
    for number, one in enumerate(told["tree_info"]):
        nodes: list[Any] = []
        queue = [one["tree_structure"]]
        for node in queue:  # it grows meanwhile
            if "split_feature" not in node:
                nodes.append((0, 0.0, -1, -1, node["leaf_value"]))
                continue
            if node["decision_type"] != "<=" or node["missing_type"] == "Zero":
                raise Refused("splits by categories are not understood")
            nodes.append(
                (
                    node["split_feature"],
                    node["threshold"],
                    len(queue),
                    len(queue) + 1,
                    0.0,
                )
            )
            queue += [node["left_child"], node["right_child"]]
        *parts, leaf = map(np.array, zip(*nodes, strict=True))
        trees.append((*parts, np.eye(count)[number % count] * leaf[:, None]))
    body = Trees(trees, np.zeros(count), DOUBLE, width, np.float64)
    return Model(
        body,
        None if kind == "regression" else [*range(max(2, count))],
        count,
        np.float64,
    )


def read_onnx(path: Path, width: int) -> Model:
    """Read an ensemble of trees from an ONNX file."""
    import onnx

    graph = onnx.load(path, load_external_data=False).graph
    (node, *more) = [n for n in graph.node if n.op_type.startswith("TreeEnsemble")]
    after = {n.op_type for n in graph.node} - {
        "Cast",
        "ZipMap",
        "Identity",
        node.op_type,
    }
    told = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
    modes = {*told.get("nodes_modes", ())} - {b"LEAF"}
    usual = (
        told.get("aggregate_function", b"SUM") == b"SUM"
        and told.get("post_transform", b"NONE") == b"NONE"
    )
    if (
        after
        or more
        or not usual
        or "nodes_values" not in told
        or modes not in ({b"BRANCH_LEQ"}, {b"BRANCH_LT"})
    ):
        raise Refused("trees alone, that are summed, are understood")
    part = "target" if node.op_type.endswith("Regressor") else "class"
    labels = told.get("classlabels_int64s") or [
        x.decode() for x in told.get("classlabels_strings", [])
    ]
    count = len(labels) or 1
    base = np.resize(np.array(told.get("base_values") or [0.0] * count), count)
    fold = (
        count == 2 and len({*told["class_ids"]}) == 1
    )  # scores of the second class alone
    value: dict[Any, Array] = {}
    for tree, at, place, weight in zip(
        *(told[f"{part}_{x}"] for x in ("treeids", "nodeids", "ids", "weights")),
        strict=True,
    ):
        value.setdefault((tree, at), np.zeros(count))[place] += weight
    if fold:
        base = np.array(
            [
                base.sum()
                - 0.5
                * (min(told["class_weights"]) >= 0 and not told.get("base_values"))
            ]
        )
        value, count = {key: one.sum(keepdims=True) for key, one in value.items()}, 1
    own: dict[int, list[Any]] = {}
    for row in zip(
        *(
            told[f"nodes_{x}"]
            for x in (
                "treeids",
                "nodeids",
                "modes",
                "featureids",
                "values",
                "truenodeids",
                "falsenodeids",
            )
        ),
        strict=True,
    ):
        own.setdefault(row[0], []).append(row)
    trees = []
    for number, rows in own.items():
        place = {row[1]: at for at, row in enumerate(rows)}
        left, right = (
            [-1 if row[2] == b"LEAF" else place[row[side]] for row in rows]
            for side in (5, 6)
        )
        values = [value.get((number, row[1]), np.zeros(count)) for row in rows]
        trees.append(
            (
                [row[3] for row in rows],
                [np.float32(row[4]) for row in rows],
                left,
                right,
                values,
            )
        )
    body = Trees(trees, base, SINGLE, width, np.float32, strict=modes == {b"BRANCH_LT"})
    return Model(body, labels or None, count, np.float32)


READERS: dict[str, Callable[[Path, int], Model]] = {
    "scikit-learn": read_sklearn,
    "XGBoost": read_xgboost,
    "LightGBM": read_lightgbm,
    "ONNX": read_onnx,
}
