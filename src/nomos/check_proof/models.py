"""Readers of model files, each with the library of the model alone."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from nomos.check_proof.trees import Array, LeafBoxes, refuse

_ARRAYS = {  # what skops distrusts, and runs no code
    "numpy.dtype",
    "sklearn.tree._tree.Tree",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
}


def read_sklearn(path: Path, width: int) -> LeafBoxes:
    """Read a tree, a forest or boosting of scikit-learn from a skops file."""
    import skops.io

    fields = skops.io.get_untrusted_types(file=path)
    refuse(not _ARRAYS.issuperset(fields), f"the file may run code: {fields}")
    found: Any = skops.io.load(path, trusted=fields)
    name, labels = type(found).__name__, getattr(found, "classes_", None)
    labels = None if labels is None else labels.tolist()
    rounds: Any = [[one] for one in getattr(found, "estimators_", [found])]
    base: Any = np.zeros(len(labels or [0]))
    kind = "mixed"
    scale = 1.0
    if name.startswith("HistGradientBoosting"):
        rounds, base, kind = found._predictors, found._baseline_prediction, "double"
        odd = labels is None and found.loss != "squared_error"
        refuse(odd or found.is_categorical_ is not None, "this loss, or categories")
    elif name.startswith("GradientBoosting"):
        rounds, scale = found.estimators_, found.learning_rate
        refuse(found.init not in (None, "zero"), "it begins with another model")
        base = found._raw_predict_init(np.zeros((1, width), np.float32))
    else:
        known = name.startswith(("RandomForest", "ExtraTree", "DecisionTree"))
        refuse(not known, f"{name} is not understood")
        scale = 1 / len(rounds) if labels is None else 1.0
    trees = [(*_read_nodes(member, scale), score)
             for members in rounds for score, member in enumerate(members)]  # fmt: skip
    return LeafBoxes(trees, base, labels, width, kind)


def _read_nodes(member: Any, scale: float) -> tuple[Any, ...]:
    """Return features, thresholds, children and values of the nodes of a member."""
    if hasattr(member, "tree_"):
        t = member.tree_
        children = t.children_left, t.children_right
        return t.feature, t.threshold, *children, t.value[:, 0] * scale
    nodes = member.nodes
    left = np.where(nodes["is_leaf"], -1, nodes["left"].astype(int))
    split = nodes["feature_idx"], nodes["num_threshold"]
    return *split, left, nodes["right"], nodes["value"]


def read_xgboost(path: Path, width: int) -> LeafBoxes:
    """Read trees of XGBoost."""
    import xgboost

    booster = xgboost.Booster(model_file=str(path))
    learner = json.loads(bytes(booster.save_raw("json")))["learner"]
    own, fields = learner["gradient_booster"], learner["learner_model_param"]
    objective, model = learner["objective"]["name"], own["model"]
    odd = any(weight != 1 for weight in model.get("weight_drop", ()))
    odd |= own["name"] != "gbtree" or bool(booster.attr("best_iteration"))
    known = objective in ("binary:logistic", "multi:softprob", "reg:squarederror")
    refuse(odd or not known, f"XGBoost of this kind, with {objective}")
    count, trees = max(1, int(fields["num_class"])), []
    base = np.resize(np.array(json.loads(fields["base_score"]), float), count)
    base = np.log(base / (1 - base)) if objective == "binary:logistic" else base
    for tree, score in zip(model["trees"], model["tree_info"], strict=True):
        bound = np.array(tree["split_conditions"], np.float32).astype(float)
        many = tree["tree_param"]["size_leaf_vector"] not in "01"
        refuse(bool(tree["categories_nodes"]) or many, "splits by categories")
        children = tree["left_children"], tree["right_children"]
        trees.append((tree["split_indices"], bound, *children, bound, score))
    labels = None if objective[:3] == "reg" else [*range(max(2, count))]
    return LeafBoxes(trees, base, labels, width, "strict")


def read_lightgbm(path: Path, width: int) -> LeafBoxes:
    """Read trees of LightGBM."""
    import lightgbm

    fields = lightgbm.Booster(model_file=str(path)).dump_model()
    kind = fields.get("objective", "custom")
    odd = kind.split()[0] not in ("binary", "multiclass", "regression")
    refuse(odd or fields["average_output"] or "sqrt" in kind, f"the objective {kind}")
    count = fields["num_tree_per_iteration"]
    trees = [(*_list_nodes(one["tree_structure"]), number % count)
             for number, one in enumerate(fields["tree_info"])]  # fmt: skip
    labels = None if kind.startswith("regression") else [*range(max(2, count))]
    return LeafBoxes(trees, np.zeros(count), labels, width, "double")


def _list_nodes(root: Any) -> list[Array]:
    """Return features, thresholds, children and values of nodes that hold each other."""
    nodes: list[Any] = []
    queue = [root]
    for node in queue:  # it grows meanwhile
        if "split_feature" not in node:
            nodes.append((0, 0.0, -1, -1, node["leaf_value"]))
            continue
        odd = node["decision_type"] != "<=" or node["missing_type"] == "Zero"
        refuse(odd, "splits by categories")
        split, last = (node["split_feature"], node["threshold"]), len(queue)
        nodes.append((*split, last, last + 1, 0.0))
        queue += [node["left_child"], node["right_child"]]
    return list(map(np.array, zip(*nodes, strict=True)))


def read_onnx(path: Path, width: int) -> LeafBoxes:
    """Read an ensemble of trees from an ONNX file."""
    import onnx

    nodes = onnx.load(path, load_external_data=False).graph.node
    (node,) = [n for n in nodes if n.op_type not in ("Cast", "ZipMap", "Identity")]
    fields = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
    usual = {"aggregate_function": b"SUM", "post_transform": b"NONE"}
    odd = any(fields.get(name, value) != value for name, value in usual.items())
    (mode,) = {*fields["nodes_modes"]} - {b"LEAF"}
    odd |= mode not in (b"BRANCH_LEQ", b"BRANCH_LT")
    part = {"TreeEnsembleClassifier": "class", "TreeEnsembleRegressor": "target"}
    refuse(odd or node.op_type not in part, "trees alone, that are summed, are known")
    texts = [text.decode() for text in fields.get("classlabels_strings", [])]
    labels = fields.get("classlabels_int64s") or texts or None
    base, value = _read_leaves(fields, part[node.op_type], len(labels or [0]))
    by_tree: dict[int, list[Any]] = {}
    names = ("treeids", "nodeids", "modes", "featureids", "values", "truenodeids",
             "falsenodeids")  # fmt: skip
    for row in zip(*(fields[f"nodes_{name}"] for name in names), strict=True):
        by_tree.setdefault(row[0], []).append(row)
    trees = []
    for number, rows in by_tree.items():
        place = {row[1]: at for at, row in enumerate(rows)}
        left, right = ([-1 if row[2] == b"LEAF" else place[row[side]] for row in rows]
                       for side in (5, 6))  # fmt: skip
        values = [value.get((number, row[1]), 0 * base) for row in rows]
        bounds = [float(np.float32(row[4])) for row in rows]
        trees.append(([row[3] for row in rows], bounds, left, right, values, 0))
    kind = "strict" if mode == b"BRANCH_LT" else "single"
    return LeafBoxes(trees, base, labels, width, kind)


def _read_leaves(fields: Any, part: str, count: int) -> tuple[Array, Any]:
    """Return what is added to the sums, and the values of leaves by tree and node."""
    given, value = fields.get("base_values"), dict[Any, Array]()
    base = np.resize(np.array(given or np.zeros(count), float), count)
    columns = (fields[f"{part}_{x}"] for x in ("treeids", "nodeids", "ids", "weights"))
    for tree, at, place, weight in zip(*columns, strict=True):
        value.setdefault((tree, at), np.zeros(count))[place] += weight
    if count == 2 and len({*fields["class_ids"]}) == 1:
        # One weight for each leaf: that of the second label, a share or a score.
        is_share = min(fields["class_weights"]) >= 0 and not given
        base = np.array([base.sum() - 0.5 * is_share])
        value = {key: one.sum(keepdims=True) for key, one in value.items()}
    return base, value


# By the names that the table of model kinds has for them.
READERS: dict[str, Callable[[Path, int], LeafBoxes]] = {
    "skops file": read_sklearn, "XGBoost model": read_xgboost,
    "LightGBM model": read_lightgbm, "ONNX model": read_onnx,
}  # fmt: skip
