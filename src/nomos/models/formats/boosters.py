"""Boosted trees: models that XGBoost, LightGBM and CatBoost saved."""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from nomos.device import Array
from nomos.domain.reading.csvfile import MISSING
from nomos.domain.schema import Category, Feature
from nomos.errors import ModelError
from nomos.models.adapter import Adapter, NoScores
from nomos.models.extras import need, told_as
from nomos.models.screening.ubjson import check_ubjson

_XGBOOST_LABELS = {"binary:hinge", "multi:softmax"}
_END = "\nend of trees\n"
# What a tree of LightGBM has for each of its forks.
_FORKS = (
    "split_feature", "threshold", "decision_type", "split_gain", "internal_value",
    "internal_weight", "internal_count", "left_child", "right_child",
)  # fmt: skip
_LEAVES = ("leaf_value", "leaf_weight", "leaf_count")


class Booster(Adapter, ABC):
    """Boosted trees; their objective says whether they give labels, chances or numbers.

    Those that know no classes give numbers. `categories` are columns, with the names that
    they had in a data frame: the model knows each by its place among them. Without names,
    it was trained on numbers.
    """

    objective = ""
    categories: Mapping[int, Sequence[Any]] = {}

    def _rows(self, rows: Any) -> Any:
        array = super()._rows(rows)
        if not any(map(len, self.categories.values())) or not len(array):
            return array
        array = array.astype(np.promote_types(array.dtype, np.float32))  # a copy
        for place, names in self.categories.items():
            if len(names):
                array[:, place] = self._codes(array[:, place], place, names)
        return array

    def _codes(self, column: Array, place: int, names: Sequence[Any]) -> Array:
        """Return the model's own numbers of categories; NaN for what it never saw."""
        feature, values = self._feature(place), np.asarray(names)
        if isinstance(feature, Category):
            texts = [str(name) for name in names]
            own = [texts.index(x) if x in texts else np.nan for x in feature.levels]
            return np.array(own)[column.astype(np.int64)]
        if values.dtype.kind not in "biuf":
            raise ModelError(
                f"{self.name} was trained with names in `{feature.name}`, of which the "
                f"first is {names[0]!r}: in the schema it has to be a Category of them"
            )
        same = column[:, None] == values
        return np.where(same.any(axis=1), same.argmax(axis=1), np.nan)

    def _feature(self, place: int) -> Feature:
        """Return the feature that a category of the model is."""
        if self.schema is None:
            raise ModelError(
                f"{self.name} has categories (column {place + 1}): say what their "
                "numbers stand for with load_model(..., schema=schema)"
            )
        parts = self.schema.places.values()
        return next(feature for feature, own in parts if own.start <= place < own.stop)

    @abstractmethod
    def _answer(self, rows: Any) -> Array:
        """Return numbers, or the chances of the classes: of two, that of the second."""

    def _labels(self, rows: Any) -> Any:
        return self._answer(rows) if self.classes is None else super()._labels(rows)

    def _scores(self, rows: Any) -> Array:
        if self.classes is None:
            raise NoScores(f"{self.name} is a model of {self.objective}: no scores")
        answer = self._answer(rows)
        return answer if answer.ndim == 2 else np.column_stack([1 - answer, answer])


class XgboostModel(Booster):
    """A booster of XGBoost."""

    dtype = np.float32

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
        self.categories = _xgboost_names(booster)

    def _codes(self, column: Array, place: int, names: Sequence[Any]) -> Array:
        own, feature = super()._codes(column, place, names), self._feature(place)
        gaps = np.isnan(column)
        if isinstance(feature, Category):
            missing = np.array([level in MISSING for level in feature.levels])
            gaps = missing[column.astype(np.int64)]
        if (np.isnan(own) & ~gaps).any():
            raise ModelError(
                f"`{feature.name}` has values that {self.name} was not trained with, "
                f"which XGBoost refuses; it knows {', '.join(map(str, names))}"
            )
        return own

    def _labels(self, rows: Any) -> Any:
        if self.objective in _XGBOOST_LABELS:
            return self._given(rows, "value").astype(np.int64)
        return super()._labels(rows)

    def _scores(self, rows: Any) -> Array:
        if self.objective == "binary:hinge":
            raise NoScores(f"{self.name} is a model of {self.objective}: no scores")
        return super()._scores(rows)

    def _answer(self, rows: Any) -> Array:
        if self.objective == "multi:softmax":
            margins = self._given(rows, "margin")
            raised = np.exp(margins - margins.max(axis=1, keepdims=True))
            chances: Array = raised / raised.sum(axis=1, keepdims=True)
            return chances
        answer = self._given(rows, "value")
        return (
            1 / (1 + np.exp(-answer)) if self.objective == "binary:logitraw" else answer
        )

    def _given(self, rows: Any, kind: str) -> Array:
        answer: Array = self.booster.inplace_predict(
            rows,
            iteration_range=self._rounds,
            predict_type=kind,
            validate_features=False,
        )
        return answer


def _xgboost_names(booster: Any) -> dict[int, list[Any]]:
    """Return the names of categories by column, where the model has kept them."""
    types = booster.feature_types or ()
    found: dict[int, list[Any]] = {p: [] for p, kind in enumerate(types) if kind == "c"}
    if not found:
        return {}
    model = json.loads(bytes(booster.save_raw("json")))["learner"]["gradient_booster"]
    for place, kept in enumerate(model["model"].get("cats", {}).get("enc", ())):
        values = kept["values"]
        if (ends := kept.get("offsets")) is not None:
            text = bytes(value % 256 for value in values)
            values = [text[a:b].decode() for a, b in pairwise(ends)]
        if values:
            found[place] = values
    return found


def load_xgboost(path: Path, *, trust: bool = False) -> XgboostModel:
    """Load an XGBoost file; there is nothing in it that would need trust."""
    xgboost = need("xgboost", extra="xgboost", what="XGBoost models")
    with told_as(f"{path} is no readable XGBoost model"):
        data = path.read_bytes()
        if data[1:2] == b"L":
            check_ubjson(data)
        # From memory: for a path, XGBoost goes by the ending.
        return XgboostModel(xgboost.Booster(model_file=bytearray(data)), str(path))


class CatboostModel(Booster):
    """A CatBoost model; one that knows classes is a classifier."""

    def __init__(self, model: Any, name: str) -> None:
        super().__init__(name)
        self.model = model
        self.objective = "numbers"
        self.width = len(model.feature_names_)
        self.columns = list(model.feature_names_)
        self.categories = dict.fromkeys(model.get_cat_feature_indices(), ())
        if len(model.classes_):
            self.classes = np.asarray(model.classes_)

    def _rows(self, rows: Any) -> Any:
        array = super()._rows(rows)
        if not self.categories:
            return array
        # CatBoost knows categories by whole numbers or words, and takes no reals.
        mixed = array.astype(object)
        for place in self.categories:
            feature, codes = self._feature(place), array[:, place].astype(np.int64)
            named = feature.levels if isinstance(feature, Category) else None
            mixed[:, place] = codes if named is None else np.array(named)[codes]
        return mixed

    def _labels(self, rows: Any) -> Any:
        if self.classes is None:
            return self._answer(rows)
        return self._given(rows, "Class").reshape(len(rows))

    def _answer(self, rows: Any) -> Array:
        is_number = self.classes is None
        return self._given(rows, "RawFormulaVal" if is_number else "Probability")

    def _given(self, rows: Any, kind: str) -> Array:
        answer = self.model.predict(rows, prediction_type=kind, thread_count=1)
        return np.asarray(answer)


def load_catboost(path: Path, *, trust: bool = False) -> CatboostModel:
    """Load a CatBoost file; there is nothing in it that would need trust."""
    catboost = need("catboost", extra="catboost", what="CatBoost models")
    with told_as(f"{path} is no readable CatBoost model"):
        model = catboost.CatBoost().load_model(str(path), format="cbm")
        return CatboostModel(model, str(path))


class LightgbmModel(Booster):
    """A booster of LightGBM."""

    def __init__(
        self, booster: Any, objective: str, name: str, kept: str = "null"
    ) -> None:
        super().__init__(name)
        self.booster, self.objective = booster, objective
        self.categories = self._names(json.loads(kept) or [])
        self.width = booster.num_feature()
        self.columns = booster.feature_name()
        classes = booster.num_model_per_iteration()
        if objective == "binary" or classes > 1:
            self.classes = np.arange(max(classes, 2))

    def _names(self, names: list[list[Any]]) -> dict[int, Sequence[Any]]:
        """Return the names of categories by column; they are kept in the columns' order."""
        infos = self.booster.dump_model(num_iteration=1)["feature_infos"]
        columns = enumerate(self.booster.feature_name())
        places = [p for p, name in columns if infos.get(name, {}).get("values")]
        if names and len(places) != len(names):
            raise ModelError(
                f"{self.name} has the names of {len(names)} categories, and splits by "
                f"{len(places)}: which they are is not known"
            )
        return dict(zip(places, names or [[] for _ in places], strict=True))

    def _answer(self, rows: Any) -> Array:
        answer: Array = self.booster.predict(rows, num_threads=1)
        return answer


def load_lightgbm(path: Path, *, trust: bool = False) -> LightgbmModel:
    """Load a LightGBM file; there is nothing in it that would need trust."""
    lightgbm = need("lightgbm", extra="lightgbm", what="LightGBM models")
    try:
        text = path.read_text(encoding="utf-8")
    except ValueError:
        raise ModelError(f"{path} is no readable LightGBM model: no text") from None
    with told_as(f"{path} is no readable LightGBM model"):
        # The parameters after the trees are for training.
        booster = lightgbm.Booster(model_str=_whole_trees(text))
    objective = re.search(r"^objective=(\S+)", text, re.MULTILINE)
    told = objective[1] if objective else "custom"
    kept = re.search(r"^pandas_categorical:(.*)$", text, re.MULTILINE)
    return LightgbmModel(booster, told, str(path), kept[1] if kept else "null")


def _whole_trees(text: str) -> str:
    """Return a model's text up to the end of its trees; ValueError where they are not.

    LightGBM ends the process at trees that are cut short or damaged.
    """
    told = re.search(r"^tree_sizes=([\d ]*)$", text, re.MULTILINE)
    sizes = [int(size) for size in told[1].split()] if told else []
    first, last = text.find("\nTree=0\n"), text.find(_END)
    all_trees = text[first + 1 : last + 1]
    trees = all_trees.split("\nTree=")
    if (
        min(first, last) < 0
        or "\nend of parameters\n" not in text[last:]
        or len(trees) != len(sizes)
        or len(all_trees.encode()) != sum(sizes)
        or re.search(r"[^\n\r -~]", all_trees)
        or not all(map(_is_tree, trees))
    ):
        raise ValueError("its trees are cut short or damaged")
    return text[: last + len(_END)]


def _is_tree(text: str) -> bool:
    lines = (line.partition("=") for line in text.split("\n")[1:] if line)
    try:
        parts = {name: [float(v) for v in values.split()] for name, _, values in lines}
        leaves = int(parts["num_leaves"][0])
        forks = [parts[name] for name in _FORKS if leaves > 1]
    except (KeyError, IndexError, ValueError):
        return False
    children = [child for fork in forks[-2:] for child in fork]
    return (
        len(parts.get("leaf_value", ())) == leaves
        and all(len(fork) == leaves - 1 for fork in forks)
        and all(len(parts.get(n, parts["leaf_value"])) == leaves for n in _LEAVES)
        and all(-leaves <= child < leaves - 1 for child in children)
    )
