"""Models that XGBoost saved, or holds in memory: their answers, trees and training."""

import json
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from nomos.device import Array
from nomos.domain.schema import MISSING, Category
from nomos.errors import ModelError, NotProvable
from nomos.models.adapter import NoScores
from nomos.models.extras import as_model_error, need
from nomos.models.formats.boosters import Booster
from nomos.models.kinds import ModelKind
from nomos.models.screening.ubjson import check_json_depth, check_ubjson
from nomos.structures.categories import CategorySplits
from nomos.structures.model import SINGLE, Chances, ModelColumns, as_they_are
from nomos.structures.parameters import Parameters
from nomos.structures.trees import Tree, Trees, place_values

_LABEL_OBJECTIVES = {"binary:hinge", "multi:softmax"}
_LOST = "\ufffd"  # for a letter of a name that a file does not have


class XgboostModel(Booster):
    """A booster of XGBoost."""

    dtype = np.float32
    forgotten = "a file of XGBoost does not say which constraints it was trained with"

    def __init__(self, booster: Any, name: str) -> None:
        super().__init__(name)
        self.booster = booster
        booster.set_param({"nthread": 1})
        self.width = booster.num_features()
        self.columns = booster.feature_names
        learner = json.loads(booster.save_config())["learner"]
        self.objective = str(learner["objective"]["name"])
        count = int(learner["learner_model_param"]["num_class"])
        if self.objective.startswith(("binary:", "multi:")):
            self.classes = np.arange(max(count, 2))
        # A booster that was stopped early is used up to its best round, as in XGBoost.
        best = booster.attr("best_iteration")
        self._rounds = (0, 0 if best is None else int(best) + 1)
        self._readings = _category_names(booster)
        self.categories = {place: last for place, (*_, last) in self._readings.items()}

    def _encode_categories(
        self, column: Array, place: int, names: Sequence[Any]
    ) -> Array:
        feature = self._find_feature(place)
        if isinstance(feature, Category):
            levels = feature.levels
            read = [_restore_names(names, levels) for names in self._readings[place]]
            names = max(read, key=lambda names: len({*levels}.intersection(names)))
        own = super()._encode_categories(column, place, names)
        gaps = np.isnan(column)
        if isinstance(feature, Category):
            missing = np.array([level in MISSING for level in feature.levels])
            gaps = missing[column.astype(np.int64)]
        if (np.isnan(own) & ~gaps).any():
            known = ", ".join(map(str, names))
            if any(_LOST in str(name) for name in names):
                raise ModelError(
                    f"of the names in `{feature.name}`, {self.name} has no more than"
                    f" {known}: XGBoost loses letters beyond ASCII\nhelp: train it with"
                    " other names for them, in ASCII, or with numbers"
                )
            raise ModelError(
                f"`{feature.name}` has values that {self.name} was not trained with, "
                f"which XGBoost refuses; it knows {known}"
            )
        return own

    def label_rows(self, rows: Any) -> Any:
        """Return the labels of rows."""
        if self.objective in _LABEL_OBJECTIVES:
            return self._predict_raw(rows, "value").astype(np.int64)
        return super().label_rows(rows)

    def score_rows(self, rows: Any) -> Array:
        """Return the scores of rows, one for each class."""
        if self.objective == "binary:hinge":
            raise NoScores(f"{self.name} is a model of {self.objective}: no scores")
        return super().score_rows(rows)

    def predict_numbers(self, rows: Any) -> Array:
        """Return numbers, or the chances of the classes."""
        if self.objective == "multi:softmax":
            margins = self._predict_raw(rows, "margin")
            raised = np.exp(margins - margins.max(axis=1, keepdims=True))
            chances: Array = raised / raised.sum(axis=1, keepdims=True)
            return chances
        answer = self._predict_raw(rows, "value")
        is_raw = self.objective == "binary:logitraw"
        return 1 / (1 + np.exp(-answer)) if is_raw else answer

    def _predict_raw(self, rows: Any, kind: str) -> Array:
        answer: Array = self.booster.inplace_predict(
            rows,
            iteration_range=self._rounds,
            predict_type=kind,
            validate_features=False,
        )
        return answer

    def extract_structure(self, width: int) -> Trees:
        """Return the model's trees."""
        columns = as_they_are(width, self.convert_rows)
        return _booster_structure(self.booster, self.classes, columns)


def _category_names(booster: Any) -> dict[int, Sequence[list[Any]]]:
    """Return the names of categories by column, as each way to read them has them."""
    types = booster.feature_types or ()
    found: dict[int, Sequence[list[Any]]]
    found = {p: ([],) for p, kind in enumerate(types) if kind == "c"}
    if not found:
        return {}
    model = json.loads(bytes(booster.save_raw("json")))["learner"]["gradient_booster"]
    for place, kept in enumerate(model["model"].get("cats", {}).get("enc", ())):
        values = kept["values"]
        if (ends := kept.get("offsets")) is not None and values:
            found[place] = _cut_names(bytes(value % 256 for value in values), ends)
        elif values:
            found[place] = (values,)
    return found


def _cut_names(text: bytes, ends: Sequence[int]) -> Sequence[list[Any]]:
    """Return the names of categories, with ends that count bytes, and that count letters.

    XGBoost (3.2) counts letters where it should count bytes: with letters beyond ASCII,
    what it keeps ends too early, and `\ufffd` stands for each letter that is lost. A file
    does not say which it is, so the levels of the data do.
    """
    whole = text.decode(errors="ignore").ljust(ends[-1], _LOST)
    places = list(pairwise(ends))
    by_bytes = [text[a:b].decode(errors="replace") for a, b in places]
    return by_bytes, [whole[a:b] for a, b in places]


def _restore_names(names: Sequence[Any], levels: Sequence[str]) -> Sequence[Any]:
    """Return names whole: one with lost letters is the one level that it can be."""
    restored = list(names)
    for place, name in enumerate(names):
        known = str(name).rstrip(_LOST)
        size = len(str(name))
        fitting = [x for x in levels if len(x) == size and x.startswith(known)]
        if known != str(name) and len(fitting) == 1:
            restored[place] = fitting[0]
    return restored


def load_xgboost(path: Path, *, trust: bool = False) -> XgboostModel:
    """Load an XGBoost file; there is nothing in it that would need trust."""
    xgboost = need("xgboost", extra="xgboost", what="XGBoost models")
    with as_model_error(f"{path} is no readable XGBoost model"):
        data = path.read_bytes()
        if data[1:2] == b"L":
            check_ubjson(data)
        else:
            check_json_depth(data)
        # From memory: for a path, XGBoost goes by the ending.
        return XgboostModel(xgboost.Booster(model_file=bytearray(data)), str(path))


# The objectives whose scores are the answers, or how answers are made of them.
_PLAIN = ("multi:softprob", "multi:softmax", "reg:squarederror", "reg:absoluteerror",
          "reg:quantileerror", "reg:squaredlogerror", "reg:pseudohubererror")  # fmt: skip
_LINKS: dict[str, Chances] = {
    **dict.fromkeys(("binary:logistic", "binary:logitraw", "reg:logistic"), "sigmoid"),
    **dict.fromkeys(("count:poisson", "reg:gamma", "reg:tweedie"), "exp"),
}
# What a model in a file may have; what is not understood is refused.
_MODEL_KEYS = {"cats", "gbtree_model_param", "iteration_indptr", "tree_info", "trees",
               "weight_drop"}  # fmt: skip


def _booster_structure(
    booster: Any, classes: Array | None, columns: ModelColumns
) -> Trees:
    """Return the trees of an XGBoost booster."""
    learner = json.loads(bytes(booster.save_raw("json")))["learner"]
    boosting, objective = learner["gradient_booster"], learner["objective"]["name"]
    weights = boosting.get("weight_drop", ())
    if boosting["name"] == "dart":  # since 3.4 it is called gbtree
        boosting = boosting["gbtree"]
    elif boosting["name"] != "gbtree":
        raise NotProvable(f"an XGBoost model of {boosting['name']}")
    if objective not in (*_PLAIN, *_LINKS):
        raise NotProvable(f"an XGBoost model with the objective {objective}")
    parameters = learner["learner_model_param"]
    if int(parameters.get("num_target", 1)) > 1:
        raise NotProvable("an XGBoost model of several outputs")
    count = max(1, int(parameters["num_class"]))
    model = boosting["model"]
    if unknown := model.keys() - _MODEL_KEYS:
        raise NotProvable(f"an XGBoost model with `{min(unknown)}`")
    weights = model.get("weight_drop", weights) or [1] * len(model["trees"])
    parallel = int(model["gbtree_model_param"].get("num_parallel_tree", 1))
    best = booster.attr("best_iteration")
    last = None if best is None else (int(best) + 1) * count * max(1, parallel)
    splits = CategorySplits(columns.as_numbers(np.float32))
    trees = [
        _parse_tree(tree, place, count, splits, np.float32(weight))
        for tree, place, weight in zip(
            model["trees"][:last], model["tree_info"], weights, strict=False
        )
    ]
    base = _parse_base(parameters["base_score"], objective)
    return Trees(
        columns=splits.columns(),
        trees=tuple(trees),
        base=np.broadcast_to(base, count).astype(float),
        strict=True,
        roundoff=SINGLE,
        classes=classes,
        link=0.0 if classes is None else 16 * SINGLE,
        in_order=count == 1,
        chances=_LINKS.get(objective, ""),
    )


def _parse_base(stored: str, objective: str) -> Array:
    base = np.array(json.loads(stored) if stored.startswith("[") else [float(stored)])
    with np.errstate(divide="ignore"):  # of labels that are all the same
        if objective in ("binary:logistic", "reg:logistic"):
            base = np.log(base / (1 - base))
        elif _LINKS.get(objective) == "exp":
            base = np.log(base)
    return base


def _parse_tree(
    tree: Any, place: int, count: int, splits: CategorySplits, weight: Any
) -> Tree:
    if int(tree["tree_param"].get("size_leaf_vector", 1)) > 1:
        raise NotProvable("an XGBoost model with leaves of many values")
    left, right = np.array(tree["left_children"]), np.array(tree["right_children"])
    bound = np.array(tree["split_conditions"], np.float32).astype(float)
    value = place_values(np.where(left < 0, bound * float(weight), 0), place, count)
    found = Tree(np.array(tree["split_indices"]), bound, left, right, value)
    parts = (tree[f"categories_{part}"] for part in ("nodes", "segments", "sizes"))
    for node, start, size in zip(*parts, strict=True):
        levels = tree["categories"][start : start + size]
        unknown = not tree["default_left"][node]
        splits.send_levels(found, node, levels, "right", unknown=unknown)
    return found


def _make_xgboost_estimator(model: Any) -> tuple[Any, Callable[[Any], bytes]]:
    """Return an estimator with a file's parameters, as far as the file says them."""
    import xgboost

    kind = "Regressor" if model.classes is None else "Classifier"
    booster = model.booster
    learner = json.loads(booster.save_config())["learner"]
    trees = [json.loads(tree) for tree in booster.get_dump(dump_format="json")]
    estimator = getattr(xgboost, f"XGB{kind}")(
        n_estimators=booster.num_boosted_rounds(),
        max_depth=max(map(_measure_depth, trees), default=0) or None,
        objective=learner["objective"]["name"],
        n_jobs=1,
        random_state=0,
        verbosity=0,
    )
    form = "json" if Path(model.name).read_bytes()[1:2] != b"L" else "ubj"
    return estimator, lambda trained: bytes(trained.get_booster().save_raw(form))


def _measure_depth(tree: dict[str, Any]) -> int:
    depths = [_measure_depth(child) for child in tree.get("children", ())]
    return 1 + max(depths) if depths else 0


_CLASSES = ("xgboost:XGBClassifier", "xgboost:XGBRegressor")
_FORESTS = ("xgboost:XGBRFClassifier", "xgboost:XGBRFRegressor")
KIND = ModelKind(
    parameters=Parameters.listed_beside(__file__),
    name="XGBoost model",
    shown=("XGBoost", "`model.json`, `model.ubj`"),
    extra="xgboost",
    endings=(".ubj",),
    is_mine=lambda file: file.head.startswith(b"{") and b"learner" in file.head,
    load=load_xgboost,
    flavour=("xgboost", "data", "model.xgb"),
    types=_CLASSES + _FORESTS,
    read=lambda fitted, columns: _booster_structure(
        fitted.get_booster(), getattr(fitted, "classes_", None), columns
    ),
    constraints=dict.fromkeys(_CLASSES + _FORESTS, "monotone_constraints"),
    directions=tuple,
    to_train=_make_xgboost_estimator,
)
