"""Models that CatBoost saved as .cbm files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from nomos.models.adapter import Adapter, Array, NoScores
from nomos.models.extras import need, told_as


class CatboostModel(Adapter):
    """A CatBoost model; one that knows classes is a classifier."""

    def __init__(self, model: Any, name: str) -> None:
        super().__init__(name)
        self.model = model
        self.width = len(model.feature_names_)
        self._categories = list(model.get_cat_feature_indices())
        if len(model.classes_):
            self.classes = np.asarray(model.classes_)

    def _rows(self, rows: Any) -> Any:
        array = super()._rows(rows)
        if not self._categories:
            return array
        # CatBoost knows categories by whole numbers or words, and takes no reals.
        mixed = array.astype(object)
        for column in self._categories:
            mixed[:, column] = array[:, column].astype(np.int64)
        return mixed

    def _labels(self, rows: Any) -> Array:
        if self.classes is None:
            return self._ask_model(rows, "RawFormulaVal")
        return self._ask_model(rows, "Class").reshape(len(rows))

    def _scores(self, rows: Any) -> Array:
        if self.classes is None:
            raise NoScores(f"{self.name} predicts numbers and gives no scores")
        return self._ask_model(rows, "Probability")

    def _ask_model(self, rows: Any, kind: str) -> Array:
        answer = self.model.predict(rows, prediction_type=kind, thread_count=1)
        return np.asarray(answer)


def load_catboost(path: Path, *, trust: bool = False) -> CatboostModel:
    """Load a CatBoost file; there is nothing in it that would need trust."""
    catboost = need("catboost", extra="catboost", what="CatBoost models")
    with told_as(f"{path} is no readable CatBoost model"):
        model = catboost.CatBoost().load_model(str(path), format="cbm")
        return CatboostModel(model, str(path))
