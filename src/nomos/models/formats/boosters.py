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
from nomos.domain.schema import Schema, names_of_levels
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


_UNSEEN = -1.0


class Booster(Adapter, ABC):
    """Boosted trees; their objective says whether they give labels, chances or numbers.

    Those that know no classes give numbers. One that was trained on names of categories
    counts them in its own way: with a schema, rows get the model's numbers for them.
    """

    objective = ""
    takes_unseen = True  # a category that it was not trained on is a missing one
    _codes: tuple[Schema | None, dict[int, Array]] = None, {}

    def known_levels(self) -> Mapping[int, Sequence[str]]:
        """Return the categories of each column that has such, as the model counts them."""
        return {}

    def asked_by_name(self) -> set[int]:
        """Return the columns whose categories the model knows by their names."""
        return {*self.known_levels()}

    def _rows(self, rows: Any) -> Any:
        array = super()._rows(rows)
        if self.schema is not self._codes[0]:
            named = {} if self.schema is None else names_of_levels(self.schema)
            known = self.known_levels() if named else {}
            both = [place for place in named if place in known]
            self._codes = self.schema, {p: _counted(named[p], known[p]) for p in both}
        for place, codes in self._codes[1].items():
            array = array.copy()
            array[:, place] = codes[array[:, place].astype(np.int64)]
            if (array[:, place] == _UNSEEN).any() and not self.takes_unseen:
                raise ValueError(f"column {place + 1} has a category that is not known")
            array[array[:, place] == _UNSEEN, place] = np.nan
        return array

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


def _counted(named: Sequence[str], known: Sequence[str]) -> Array:
    """Return the place of names among those that are known; a gap is NaN."""
    places = {name: float(place) for place, name in enumerate(known)}
    gaps = dict.fromkeys(MISSING, np.nan)
    return np.array([(gaps | places).get(name, _UNSEEN) for name in named])


class XgboostModel(Booster):
    """A booster of XGBoost."""

    dtype = np.float32
    takes_unseen = False

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

    def known_levels(self) -> Mapping[int, Sequence[str]]:
        """Return the categories that the file has, from XGBoost 3.1 on."""
        learner = json.loads(self.booster.save_raw("json"))["learner"]
        trees = learner["gradient_booster"]
        kept = trees.get("gbtree", trees).get("model", {}).get("cats", {})
        found: dict[int, Sequence[str]] = {}
        for place, one in enumerate(kept.get("enc", ())):
            ends, text = one.get("offsets", ()), bytes(b % 256 for b in one["values"])
            words = [text[a:b].decode() for a, b in pairwise(ends)]
            found |= {place: words} if words else {}
        return found

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
        self._categories = list(model.get_cat_feature_indices())
        if len(model.classes_):
            self.classes = np.asarray(model.classes_)

    def asked_by_name(self) -> set[int]:
        """Return the columns of categories: CatBoost takes their names."""
        return set(self._categories)

    def _rows(self, rows: Any) -> Any:
        array = super()._rows(rows)
        if not self._categories:
            return array
        # CatBoost knows categories by whole numbers or words, and takes no reals.
        mixed = array.astype(object)
        named = {} if self.schema is None else names_of_levels(self.schema)
        for column in self._categories:
            codes = array[:, column].astype(np.int64)
            names = np.array(named.get(column, ()), dtype=object)
            mixed[:, column] = names[codes] if column in named else codes
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

    def __init__(self, booster: Any, text: str, name: str) -> None:
        super().__init__(name)
        objective = re.search(r"^objective=(\S+)", text, re.MULTILINE)
        self.objective = objective[1] if objective else "custom"
        self.booster = booster
        self._text = text
        self.width = booster.num_feature()
        self.columns = booster.feature_name()
        classes = booster.num_model_per_iteration()
        if self.objective == "binary" or classes > 1:
            self.classes = np.arange(max(classes, 2))

    def known_levels(self) -> Mapping[int, Sequence[str]]:
        """Return the categories of the data frame that it was trained on."""
        told = re.search(r"^pandas_categorical:(\[\[.*\]\])$", self._text, re.MULTILINE)
        infos = re.search(r"^feature_infos=(.*)$", self._text, re.MULTILINE)
        kinds = infos[1].split() if infos else []
        places = [p for p, k in enumerate(kinds) if k[0] != "[" and k != "none"]
        names = [list(map(str, one)) for one in json.loads(told[1])] if told else []
        if len(names) != len(places) and names:
            raise ModelError(f"{self.name} does not say which columns are categories")
        return dict(zip(places, names, strict=False))

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
    return LightgbmModel(booster, text, str(path))


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
