"""Models that CatBoost saved, or holds in memory: their answers, trees and training."""

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from nomos.device import Array
from nomos.domain.schema import Category
from nomos.errors import NotProvable
from nomos.models.extras import as_model_error, need
from nomos.models.formats.boosters import Booster
from nomos.models.kinds import ModelKind
from nomos.structures.model import DOUBLE, ModelColumns, as_they_are
from nomos.structures.parameters import Parameters
from nomos.structures.trees import Tree, Trees

_PARAMETERS = ("learning_rate", "depth", "l2_leaf_reg", "random_seed", "loss_function")


class CatboostModel(Booster):
    """A CatBoost model; one that knows classes is a classifier."""

    knows_names = True

    def __init__(self, model: Any, name: str) -> None:
        super().__init__(name)
        self.model = model
        self.objective = "numbers"
        self.width = len(model.feature_names_)
        self.columns = list(model.feature_names_)
        self.categories = dict.fromkeys(model.get_cat_feature_indices(), ())
        if len(model.classes_):
            self.classes = np.asarray(model.classes_)

    def convert_rows(self, rows: Any) -> Any:
        """Return rows as the library takes them."""
        array = super().convert_rows(rows)
        if not self.categories:
            return array
        # CatBoost knows categories by whole numbers or words, and takes no reals.
        mixed = array.astype(object)
        for place in self.categories:
            feature, codes = self._find_feature(place), array[:, place].astype(np.int64)
            named = feature.levels if isinstance(feature, Category) else None
            mixed[:, place] = codes if named is None else np.array(named)[codes]
        return mixed

    def label_rows(self, rows: Any) -> Any:
        """Return the labels of rows."""
        if self.classes is None:
            return self.predict_numbers(rows)
        return self._predict_raw(rows, "Class").reshape(len(rows))

    def predict_numbers(self, rows: Any) -> Array:
        """Return numbers, or the chances of the classes."""
        is_number = self.classes is None
        return self._predict_raw(rows, "RawFormulaVal" if is_number else "Probability")

    def _predict_raw(self, rows: Any, kind: str) -> Array:
        answer = self.model.predict(rows, prediction_type=kind, thread_count=1)
        return np.asarray(answer)

    def extract_structure(self, width: int) -> Trees:
        """Return the model's trees."""
        columns = as_they_are(width)
        return _model_trees(self.model, self.classes, columns)


def load_catboost(path: Path, *, trust: bool = False) -> CatboostModel:
    """Load a CatBoost file; there is nothing in it that would need trust."""
    catboost = need("catboost", extra="catboost", what="CatBoost models")
    with as_model_error(f"{path} is no readable CatBoost model"):
        model = catboost.CatBoost().load_model(str(path), format="cbm")
        return CatboostModel(model, str(path))


def _model_trees(model: Any, classes: Array | None, columns: ModelColumns) -> Trees:
    """Return the trees of a CatBoost model, by way of its JSON."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        model.save_model(str(path), format="json")
        written = json.loads(path.read_text(encoding="utf-8"))
    if classes is not None and len(classes) == 2:
        threshold = model.get_probability_threshold()
        if threshold != 0.5:
            raise NotProvable(f"a CatBoost model with the threshold {threshold:g}")
    if "oblivious_trees" not in written:
        raise NotProvable("a CatBoost model whose trees are not symmetric")
    floats = written["features_info"].get("float_features", [])
    others = [k for k in ("categorical_features", "text_features", "embedding_features")
              if written["features_info"].get(k)]  # fmt: skip
    if others:
        raise NotProvable(f"a CatBoost model with {others[0].replace('_', ' ')}")
    scale, bias = written["scale_and_bias"]
    place = {one["feature_index"]: one["flat_feature_index"] for one in floats}
    trees = [_symmetric_tree(t, place, scale) for t in written["oblivious_trees"]]
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


def _extract_trees(fitted: Any, columns: ModelColumns) -> Trees:
    classes = getattr(fitted, "classes_", None)
    known = classes if classes is not None and len(classes) else None
    return _model_trees(fitted, known, columns)


def _symmetric_tree(tree: Any, place: dict[int, int], scale: float) -> Tree:
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


def _make_catboost_estimator(model: Any) -> tuple[Any, Callable[[Any], bytes]]:
    """Return an estimator with a file's parameters, as far as the file says them."""
    import catboost

    kind = "Regressor" if model.classes is None else "Classifier"
    known = model.model.get_all_params()
    directions = known.get("monotone_constraints", {})  # by the column's number
    columns = map(str, range(len(model.model.feature_names_)))
    estimator = getattr(catboost, f"CatBoost{kind}")(
        iterations=model.model.tree_count_,
        thread_count=1,
        verbose=False,
        allow_writing_files=False,
        monotone_constraints=[directions.get(column, 0) for column in columns],
        **{name: known[name] for name in _PARAMETERS if name in known},
    )
    return estimator, _write_file


def _write_file(estimator: Any) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.cbm"
        estimator.save_model(str(path))
        return path.read_bytes()


_CLASSES = ("catboost:CatBoostClassifier", "catboost:CatBoostRegressor")
KIND = ModelKind(
    parameters=Parameters.listed_beside(__file__),
    name="CatBoost model",
    shown=("CatBoost", "`model.cbm`"),
    extra="catboost",
    endings=(".cbm",),
    is_mine=lambda file: file.head.startswith(b"CBM1"),
    load=load_catboost,
    flavour=("catboost", "data", "model.cb"),
    types=_CLASSES,
    read=_extract_trees,
    constraints=dict.fromkeys(_CLASSES, "monotone_constraints"),
    to_train=_make_catboost_estimator,
)
