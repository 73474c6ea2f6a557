"""Models that XGBoost saved as JSON or UBJSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from nomos.models.adapter import Adapter, Array, NoScores
from nomos.models.extras import need, told_as
from nomos.models.screening.ubjson import check_ubjson

_LABELS = {"binary:hinge", "multi:softmax"}


class XgboostModel(Adapter):
    """A booster; its objective says whether it gives labels, chances or numbers."""

    dtype = np.float32

    def __init__(self, booster: Any, name: str) -> None:
        super().__init__(name)
        self.booster = booster
        booster.set_param({"nthread": 1})
        self.width = booster.num_features()
        learner = json.loads(booster.save_config())["learner"]
        self._objective = str(learner["objective"]["name"])
        count = int(learner["learner_model_param"]["num_class"])
        if self._objective.startswith(("binary:", "multi:")):
            self.classes = np.arange(max(count, 2))
        # A booster that was stopped early is used up to its best round, as in XGBoost.
        best = booster.attr("best_iteration")
        self._rounds = (0, 0 if best is None else int(best) + 1)

    def _labels(self, rows: Any) -> Any:
        if self._objective in _LABELS:
            return self._ask_booster(rows).astype(np.int64)
        is_number = self.classes is None
        return self._ask_booster(rows) if is_number else super()._labels(rows)

    def _scores(self, rows: Any) -> Array:
        if self.classes is None or self._objective == "binary:hinge":
            raise NoScores(f"{self.name} is a model of {self._objective}: no scores")
        if self._objective == "multi:softmax":
            return _softmax(self._ask_booster(rows, margin=True))
        answer = self._ask_booster(rows)
        if answer.ndim == 2:
            return answer
        if self._objective == "binary:logitraw":
            answer = 1 / (1 + np.exp(-answer))
        return np.column_stack([1 - answer, answer])

    def _ask_booster(self, rows: Any, *, margin: bool = False) -> Array:
        answer: Array = self.booster.inplace_predict(
            rows,
            iteration_range=self._rounds,
            predict_type="margin" if margin else "value",
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


def _softmax(margins: Array) -> Array:
    raised = np.exp(margins - margins.max(axis=1, keepdims=True))
    result: Array = raised / raised.sum(axis=1, keepdims=True)
    return result
