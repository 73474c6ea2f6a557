"""Readers of model files, each with the library of the model alone."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from nomos.check_proof.trees import DOUBLE, SINGLE, Array, LeafBoxes, ModelInFile
from nomos.check_proof.trees import CertificateRefused as Refused

_ARRAYS = {  # what skops distrusts, and runs no code
    "numpy.dtype",
    "sklearn.tree._tree.Tree",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
}
_ONE_LEVEL = ("Cast", "ZipMap", "Identity")
_NODES = ("treeids", "nodeids", "modes", "featureids", "values")
_CHILDREN = ("truenodeids", "falsenodeids")


def read_sklearn(path: Path, width: int) -> ModelInFile:
    """Read a tree, a forest or boosting of scikit-learn from a skops file."""
    import skops.io

    fields = skops.io.get_untrusted_types(file=path)
    if not _ARRAYS.issuperset(fields):
        raise Refused(f"the file holds types that may run code: {fields}")
    found: Any = skops.io.load(path, trusted=fields)
    name, labels = type(found).__name__, getattr(found, "classes_", None)
    labels = None if labels is None else labels.tolist()
    if name.startswith("HistGradientBoosting"):
        return _read_histograms(found, labels, width)
    if name.startswith("GradientBoosting"):
        return _read_boosting(found, labels, width)
    members, base = [found], np.zeros(len(labels or [0]))
    if name.startswith(("RandomForest", "ExtraTrees")):
        members = found.estimators_
    elif not name.startswith(("DecisionTree", "ExtraTree")):
        raise Refused(f"{name} is not understood")
    scale = 1.0 if labels is not None else 1 / len(members)
    found = [member.tree_ for member in members]
    trees = [(t.feature, t.threshold, t.children_left, t.children_right,
              t.value[:, 0] * scale) for t in found]  # fmt: skip
    body = LeafBoxes(trees, base, DOUBLE, width, np.float32)
    return ModelInFile(body, labels)


def _read_boosting(found: Any, labels: list[Any] | None, width: int) -> ModelInFile:
    if found.init not in (None, "zero"):
        raise Refused("boosting that begins with a model of its own")
    base = found._raw_predict_init(np.zeros((1, width), np.float32)).reshape(-1)
    trees = []
    for members in found.estimators_:
        for place, tree in enumerate(member.tree_ for member in members):
            value = tree.value[:, 0] * found.learning_rate * np.eye(len(base))[place]
            children = tree.children_left, tree.children_right
            trees.append((tree.feature, tree.threshold, *children, value))
    return ModelInFile(LeafBoxes(trees, base, DOUBLE, width, np.float32), labels)


def _read_histograms(found: Any, labels: list[Any] | None, width: int) -> ModelInFile:
    base = found._baseline_prediction.reshape(-1)
    usual = labels is not None or found.loss == "squared_error"
    if not usual or np.any(found.is_categorical_ or False):
        raise Refused("histogram boosting of this loss, or of categories")
    trees = []
    for members in found._predictors:
        for place, nodes in enumerate(member.nodes for member in members):
            left = np.where(nodes["is_leaf"], -1, nodes["left"].astype(int))
            value = np.eye(len(base))[place] * nodes["value"][:, None]
            bound, right = nodes["num_threshold"], nodes["right"]
            trees.append((nodes["feature_idx"], bound, left, right, value))
    return ModelInFile(LeafBoxes(trees, base, DOUBLE, width, np.float64), labels)


def read_xgboost(path: Path, width: int) -> ModelInFile:
    """Read trees of XGBoost."""
    import xgboost

    booster = xgboost.Booster(model_file=str(path))
    learner = json.loads(bytes(booster.save_raw("json")))["learner"]
    own, fields = learner["gradient_booster"], learner["learner_model_param"]
    objective, model = learner["objective"]["name"], own["model"]
    weighted = any(weight != 1 for weight in model.get("weight_drop", ()))
    if own["name"] != "gbtree" or booster.attr("best_iteration") or weighted:
        raise Refused("this kind of XGBoost model is not understood")
    if objective not in ("binary:logistic", "multi:softprob", "reg:squarederror"):
        raise Refused(f"the objective {objective} is not understood")
    count = max(1, int(fields["num_class"]))
    base = np.resize(np.array(json.loads(fields["base_score"]), float), count)
    base = np.log(base / (1 - base)) if objective == "binary:logistic" else base
    trees = []
    for tree, place in zip(model["trees"], model["tree_info"], strict=True):
        bound = np.array(tree["split_conditions"], np.float32).astype(float)
        many = tree["tree_param"]["size_leaf_vector"] not in "01"
        if tree["categories_nodes"] or many:
            raise Refused("splits by categories are not understood")
        value = np.eye(count)[place] * bound[:, None]
        children = tree["left_children"], tree["right_children"]
        trees.append((tree["split_indices"], bound, *children, value))
    body = LeafBoxes(trees, base, SINGLE, width, np.float32, strict=True)
    labels = None if objective[:3] == "reg" else [*range(max(2, count))]
    return ModelInFile(body, labels)


def read_lightgbm(path: Path, width: int) -> ModelInFile:
    """Read trees of LightGBM."""
    import lightgbm

    fields = lightgbm.Booster(model_file=str(path)).dump_model()
    kind = fields.get("objective", "custom")
    known = kind.split()[0] in ("binary", "multiclass", "regression")
    if not known or fields["average_output"] or "sqrt" in kind:
        raise Refused(f"the objective {kind} is not understood")
    count, trees = fields["num_tree_per_iteration"], []
    for number, one in enumerate(fields["tree_info"]):
        *parts, leaf = _list_nodes(one["tree_structure"])
        trees.append((*parts, np.eye(count)[number % count] * leaf[:, None]))
    body = LeafBoxes(trees, np.zeros(count), DOUBLE, width, np.float64)
    labels = None if kind.startswith("regression") else [*range(max(2, count))]
    return ModelInFile(body, labels)


def _list_nodes(root: Any) -> list[Array]:
    """Return features, thresholds, children and values of nodes that hold each other."""
    nodes: list[Any] = []
    queue = [root]
    for node in queue:  # it grows meanwhile
        if "split_feature" not in node:
            nodes.append((0, 0.0, -1, -1, node["leaf_value"]))
            continue
        if node["decision_type"] != "<=" or node["missing_type"] == "Zero":
            raise Refused("splits by categories are not understood")
        split, last = (node["split_feature"], node["threshold"]), len(queue)
        nodes.append((*split, last, last + 1, 0.0))
        queue += [node["left_child"], node["right_child"]]
    return list(map(np.array, zip(*nodes, strict=True)))


def read_onnx(path: Path, width: int) -> ModelInFile:
    """Read an ensemble of trees from an ONNX file."""
    import onnx

    nodes = onnx.load(path, load_external_data=False).graph.node
    (node, *more) = [n for n in nodes if n.op_type.startswith("TreeEnsemble")]
    fields = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
    modes = {*fields.get("nodes_modes", ())} - {b"LEAF"}
    usual = fields.get("aggregate_function", b"SUM") == b"SUM"
    usual &= (
        fields.get("post_transform", b"NONE") == b"NONE" and "nodes_values" in fields
    )
    usual &= modes in ({b"BRANCH_LEQ"}, {b"BRANCH_LT"}) and not more
    if not usual or {n.op_type for n in nodes} - {*_ONE_LEVEL, node.op_type}:
        raise Refused("trees alone, that are summed, are understood")
    texts = [text.decode() for text in fields.get("classlabels_strings", [])]
    labels = fields.get("classlabels_int64s") or texts or None
    base, value = _read_leaves(fields, "class" if labels else "target", labels or [0])
    by_tree: dict[int, list[Any]] = {}
    parts = (fields[f"nodes_{part}"] for part in (*_NODES, *_CHILDREN))
    for row in zip(*parts, strict=True):
        by_tree.setdefault(row[0], []).append(row)
    trees = []
    for number, rows in by_tree.items():
        place = {row[1]: at for at, row in enumerate(rows)}
        children = [[-1 if row[2] == b"LEAF" else place[row[side]] for row in rows]
                    for side in (5, 6)]  # fmt: skip
        values = [value.get((number, row[1]), 0 * base) for row in rows]
        bounds = [np.float32(row[4]) for row in rows]
        trees.append(([row[3] for row in rows], bounds, *children, values))
    strict = modes == {b"BRANCH_LT"}
    body = LeafBoxes(trees, base, SINGLE, width, np.float32, strict=strict)
    return ModelInFile(body, labels)


def _read_leaves(fields: Any, part: str, labels: list[Any]) -> tuple[Array, Any]:
    """Return what is added to the sums, and the values of leaves by tree and node."""
    count = len(labels)
    given = fields.get("base_values")
    base = np.resize(np.array(given or np.zeros(count), float), count)
    value: dict[Any, Array] = {}
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
READERS: dict[str, Callable[[Path, int], ModelInFile]] = {
    "skops file": read_sklearn,
    "XGBoost model": read_xgboost,
    "LightGBM model": read_lightgbm,
    "ONNX model": read_onnx,
}
