"""Models that LightGBM saved, or holds in memory: their answers, trees and training."""

import json
import math
import re
from collections.abc import Callable, Collection, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from nomos.device import Array
from nomos.errors import ModelError, NotProvable
from nomos.models.extras import as_model_error, need
from nomos.models.formats.boosters import Booster
from nomos.models.kinds import ModelKind
from nomos.structures.categories import CategorySplits
from nomos.structures.model import DOUBLE, Chances, ModelColumns, as_they_are
from nomos.structures.parameters import Parameters
from nomos.structures.trees import Tree, Trees, place_values

_MARKS = (b"tree\nversion=", b"tree\r\nversion=")
_END = "\nend of trees\n"
# What a tree of LightGBM has for each of its forks.
_FORKS = (
    "split_feature", "threshold", "decision_type", "split_gain", "internal_value",
    "internal_weight", "internal_count", "left_child", "right_child",
)  # fmt: skip
_EXPONENTIAL = ("poisson", "gamma", "tweedie")
_MOST_WAYS = 10_000  # in which names are tried on columns
_LEAVES = ("leaf_value", "leaf_weight", "leaf_count")
_PARAMETERS = (
    *("learning_rate", "num_leaves", "max_depth", "lambda_l1", "lambda_l2", "seed"),
    *("min_data_in_leaf", "feature_fraction", "bagging_fraction"),
    "monotone_constraints",
)


class LightgbmModel(Booster):
    """A booster of LightGBM."""

    def __init__(
        self, booster: Any, objective: str, name: str, kept: str = "null"
    ) -> None:
        super().__init__(name)
        self.booster, self.objective = booster, objective
        self.categories = self._match_names(json.loads(kept) or [])
        self.width = booster.num_feature()
        self.columns = booster.feature_name()
        classes = booster.num_model_per_iteration()
        if objective == "binary" or classes > 1:
            self.classes = np.arange(max(classes, 2))

    def _match_names(self, names: list[list[Any]]) -> dict[int, Sequence[Any]]:
        """Return the names of categories by column; they are kept in the columns' order."""
        infos = self.booster.dump_model(num_iteration=1)["feature_infos"]
        columns = enumerate(self.booster.feature_name())
        given = {p: infos.get(name, {}).get("values") for p, name in columns}
        places = {place: max(values) for place, values in given.items() if values}
        if not names:
            return dict.fromkeys(places, ())
        # It keeps also the names of categories that no tree asks for.
        few = math.comb(len(names), len(places)) <= _MOST_WAYS
        pairs = [
            (way, [len(n) - most for n, most in zip(way, places.values(), strict=True)])
            for way in (combinations(names, len(places)) if few else ())
        ]
        fits = [way for way, more in pairs if {*more} <= {1}]
        fits = fits or [way for way, more in pairs if min(more) >= 1]
        ways = {json.dumps(way): way for way in fits}
        if len(ways) != 1:
            raise ModelError(
                f"{self.name} has the names of {len(names)} categories, and splits by "
                f"{len(places)}: which they are is not known"
            )
        return dict(zip(places, *ways.values(), strict=True))

    def predict_numbers(self, rows: Any) -> Array:
        """Return numbers, or the chances of the classes."""
        answer: Array = self.booster.predict(rows, num_threads=1)
        return answer

    def extract_structure(self, width: int) -> Trees:
        """Return the model's trees."""
        columns = as_they_are(width, self.convert_rows)
        return _booster_trees(self.booster, self.classes, columns)


def load_lightgbm(path: Path, *, trust: bool = False) -> LightgbmModel:
    """Load a LightGBM file; there is nothing in it that would need trust."""
    lightgbm = need("lightgbm", extra="lightgbm", what="LightGBM models")
    try:
        text = path.read_text(encoding="utf-8")
    except ValueError:
        raise ModelError(f"{path} is no readable LightGBM model: no text") from None
    with as_model_error(f"{path} is no readable LightGBM model"):
        # The parameters after the trees are for training.
        booster = lightgbm.Booster(model_str=_whole_trees(text))
    objective = re.search(r"^objective=(\S+)", text, re.MULTILINE)
    given = objective[1] if objective else "custom"
    kept = re.search(r"^pandas_categorical:(.*)$", text, re.MULTILINE)
    return LightgbmModel(booster, given, str(path), kept[1] if kept else "null")


def _whole_trees(text: str) -> str:
    """Return a model's text up to the end of its trees; ValueError where they are not.

    LightGBM ends the process at trees that are cut short or damaged.
    """
    given = re.search(r"^tree_sizes=([\d ]*)$", text, re.MULTILINE)
    sizes = [int(size) for size in given[1].split()] if given else []
    first, last = text.find("\nTree=0\n"), text.find(_END)
    all_trees = text[first + 1 : last + 1]
    trees = all_trees.split("\nTree=")
    if (
        min(first, last) < 0
        or "\nend of parameters\n" not in text[last:]
        or len(trees) != len(sizes)
        or len(all_trees.encode()) != sum(sizes)
        or re.search(r"[^\n\r -~]", all_trees)
        or not all(map(_is_whole_tree, trees))
    ):
        raise ValueError("its trees are cut short or damaged")
    return text[: last + len(_END)]


def _is_whole_tree(text: str) -> bool:
    lines = (line.partition("=") for line in text.split("\n")[1:] if line)
    try:
        parts = {name: [float(v) for v in values.split()] for name, _, values in lines}
        leaves = int(parts["num_leaves"][0])
        forks = [parts[name] for name in _FORKS if leaves > 1]
    except (KeyError, IndexError, ValueError):
        return False
    leaf = parts.get("leaf_value", [])
    children = [child for fork in forks[-2:] for child in fork]
    return (
        len(leaf) == leaves
        and all(len(fork) == leaves - 1 for fork in forks)
        and all(len(parts.get(n, leaf) or [0.0]) == leaves for n in _LEAVES)
        and all(-leaves <= child < leaves - 1 for child in children)
    )


def _hold(rows: Any) -> Any:
    """Return rows as LightGBM holds them: of other arrays than its two, floats of 32 bits."""
    is_own = not isinstance(rows, np.ndarray) or rows.dtype in (np.float32, np.float64)
    return rows if is_own else rows.astype(np.float32)


def _booster_trees(booster: Any, classes: Array | None, columns: ModelColumns) -> Trees:
    """Return the trees of a LightGBM booster."""
    model = booster.dump_model()
    objective = str(model.get("objective", "custom")).split(" ")[0]
    known = ("binary", "multiclass", "softmax", "regression", "regression_l1", "huber",
             "quantile", "fair", "mape", "lambdarank", "custom", *_EXPONENTIAL)  # fmt: skip
    if objective not in known or "sqrt" in str(model.get("objective", "")):
        raise NotProvable(f"a LightGBM model with the objective {objective}")
    count, infos = int(model["num_tree_per_iteration"]), model["tree_info"]
    share = count / len(infos) if model.get("average_output") else 1.0
    chances: Chances = "exp" if objective in _EXPONENTIAL else ""
    as_held = ModelColumns(lambda rows: _hold(columns.transform(rows)), columns.origins)
    splits = CategorySplits(as_held.as_numbers(np.float64))
    trees = [
        _tree_of_node(one["tree_structure"], number % count, count, splits, share)
        for number, one in enumerate(infos)
    ]
    return Trees(
        columns=splits.columns(),
        trees=tuple(trees),
        base=np.zeros(count),
        roundoff=DOUBLE,
        classes=classes,
        link=0.0 if classes is None else 64 * DOUBLE,
        in_order=count == 1,
        chances="sigmoid" if model["objective"] == "binary sigmoid:1" else chances,
    )


def _tree_of_node(
    root: Any, place: int, count: int, splits: CategorySplits, share: float
) -> Tree:
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
    tree = Tree(feature, bound, left, right, place_values(share * leaf, place, count))
    for here, levels in categories.items():
        splits.send_levels(tree, here, levels, "left")
    return tree


def _make_lightgbm_estimator(model: Any) -> tuple[Any, Callable[[Any], bytes]]:
    """Return an estimator with a file's parameters, as far as the file says them."""
    import lightgbm

    kind = "Regressor" if model.classes is None else "Classifier"
    # The parameters stand after the trees, where the adapter does not read.
    text = Path(model.name).read_text(encoding="utf-8")
    known = lightgbm.Booster(model_str=text).params
    names = (*_PARAMETERS, "objective")
    estimator = getattr(lightgbm, f"LGBM{kind}")(
        n_estimators=model.booster.current_iteration(),
        n_jobs=1,
        verbose=-1,
        **{name: known[name] for name in names if name in known},
    )
    return estimator, lambda trained: trained.booster_.model_to_string().encode()


def _all_aliases(name: str) -> Collection[str]:
    """Return all names of a parameter: many have several."""
    from lightgbm import basic

    found: set[str] = basic._ConfigAliases.get_by_alias(name)
    return found


_CLASSES = ("lightgbm:LGBMClassifier", "lightgbm:LGBMRegressor")
KIND = ModelKind(
    parameters=Parameters.listed_beside(__file__, _all_aliases),
    name="LightGBM model",
    shown=("LightGBM", "`model.txt`"),
    extra="lightgbm",
    is_mine=lambda file: file.head.startswith(_MARKS),
    load=load_lightgbm,
    flavour=("lightgbm", "data", "model.lgb"),
    types=_CLASSES,
    read=lambda fitted, columns: _booster_trees(
        fitted.booster_, getattr(fitted, "classes_", None), columns
    ),
    constraints=dict.fromkeys(_CLASSES, "monotone_constraints"),
    to_train=_make_lightgbm_estimator,
)
