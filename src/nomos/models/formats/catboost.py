"""Models that CatBoost saved, or holds in memory: their answers, trees and training."""

import json
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from nomos.device import Array
from nomos.domain.schema import Category
from nomos.errors import ModelError, NotProvable
from nomos.models.extras import as_model_error, need
from nomos.models.formats.boosters import Booster
from nomos.models.kinds import ModelKind
from nomos.structures.model import DOUBLE, ModelColumns, as_they_are
from nomos.structures.parameters import Parameters
from nomos.structures.trees import Tree, Trees

_PARAMETERS = ("learning_rate", "depth", "l2_leaf_reg", "random_seed", "loss_function")
# What people write for a gap, since CatBoost takes none in a category.
_GAPS = ("nan", "None", "NaN", "NA", "N/A", "<NA>", "missing", "Missing", "unknown")
_PROBED = 64  # rows, by which a text that the model knows is told from another


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
        self._texts: dict[tuple[int, Category], Array] = {}
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
            if isinstance(feature, Category):
                mixed[:, place] = self._spell(place, feature)[codes]
            else:
                mixed[:, place] = codes
        return mixed

    def _spell(self, place: int, feature: Category) -> Array:
        """Return the texts that the model was trained with for the levels of a category.

        A file of CatBoost has hashes of them. So a text that may have been another one in
        training is looked for: the model answers for it as for no text that it never saw.
        """
        if (place, feature) not in self._texts:
            spelt = [self._find_spelling(place, feature, x) for x in feature.levels]
            self._texts[place, feature] = np.array(spelt)
        return self._texts[place, feature]

    def _find_spelling(self, place: int, feature: Category, level: str) -> str:
        others = [x for x in _other_spellings(level) if x not in feature.levels]
        if not others:
            return level
        rows = self._draw_rows()

        def ask(text: str) -> bytes:
            rows[:, place] = text
            return self._predict_raw(rows, "RawFormulaVal").tobytes()

        answers = {text: ask(text) for text in (level, *others)}
        unknown = ask("a text that no model was trained with")
        known = [text for text, answer in answers.items() if answer != unknown]
        if len({answers[text] for text in known}) > 1:
            raise ModelError(
                f"{self.name} knows {' and '.join(map(repr, known))} in `{feature.name}`,"
                f" and {level!r} may be any of them: let the schema have them as levels"
            )
        return known[0] if known else level

    def _draw_rows(self) -> Array:
        draw = np.random.default_rng(0)
        columns = []
        for place in range(self.width or 0):
            feature = self._find_feature(place)
            ends = (getattr(feature, "low", 0.0), getattr(feature, "high", 1.0))
            known = ends if np.isfinite(ends).all() else (0.0, 1.0)
            values = draw.uniform(*known, _PROBED)
            if place in self.categories:
                values = draw.choice(getattr(feature, "levels", ("0",)), _PROBED)
            columns.append(values.astype(object))
        return np.column_stack(columns)

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
        return _model_trees(self.model, self.classes, as_they_are(width))


def _other_spellings(level: str) -> Iterator[str]:
    """Yield what pandas, and people, make of the text of a cell."""
    if level in ("True", "False"):
        yield str(int(level == "True"))  # CatBoost's text of a truth value
    elif not level:  # which stands for all gaps of a table
        yield from _GAPS
    elif level.isdecimal():
        yield f"{level}.0"  # a column with gaps is one of reals


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
    floats = written["features_info"].get("float_features", [])
    others = [k for k in ("categorical_features", "text_features", "embedding_features")
              if written["features_info"].get(k)]  # fmt: skip
    if others:
        raise NotProvable(f"a CatBoost model with {others[0].replace('_', ' ')}")
    scale, bias = written["scale_and_bias"]
    place = {one["feature_index"]: one["flat_feature_index"] for one in floats}
    trees = [
        _symmetric_tree(t, place, scale) for t in written.get("oblivious_trees", ())
    ]
    trees += [_free_tree(t, place, scale) for t in written.get("trees", ())]
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


def _free_tree(root: Any, place: dict[int, int], scale: float) -> Tree:
    """Return a tree whose nodes hold each other; what is above a border goes right."""
    queue, nodes, values = [root], list[tuple[int, float, int, int]](), []
    for node in queue:  # it grows meanwhile
        values.append(np.zeros(1))
        if "split" not in node:
            nodes.append((0, 0.0, -1, -1))
            values[-1] = scale * np.ravel(node["value"]).astype(float)
            continue
        split = node["split"]
        if split["split_type"] != "FloatFeature":
            raise NotProvable("a CatBoost model that splits by more than numbers")
        feature, last = place[split["float_feature_index"]], len(queue)
        nodes.append((feature, float(np.float32(split["border"])), last, last + 1))
        queue += [node["left"], node["right"]]
    count = max(map(len, values))
    value = np.array([np.resize(own, count) for own in values])
    asked, bound, left, right = map(np.array, zip(*nodes, strict=True))
    return Tree(asked, bound, left, right, value)


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
