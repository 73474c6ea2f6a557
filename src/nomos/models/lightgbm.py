"""Models that LightGBM saved as text."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

from nomos.errors import ModelError
from nomos.models.adapter import Adapter, Array, NoScores
from nomos.models.extras import need, reason


class LightgbmModel(Adapter):
    """A booster; its objective says whether it gives chances or numbers."""

    def __init__(self, booster: Any, objective: str, name: str) -> None:
        super().__init__(name)
        self.booster = booster
        self.width = booster.num_feature()
        self._objective = objective
        classes = booster.num_model_per_iteration()
        if objective == "binary" or classes > 1:
            self.classes = np.arange(max(classes, 2))

    def _labels(self, rows: Any) -> Array:
        if self.classes is None:
            return self._ask_booster(rows)
        places: Array = self._scores(rows).argmax(axis=1)
        return places

    def _scores(self, rows: Any) -> Array:
        if self.classes is None:
            raise NoScores(f"{self.name} is a model of {self._objective}: no scores")
        answer = self._ask_booster(rows)
        return answer if answer.ndim == 2 else np.column_stack([1 - answer, answer])

    def _ask_booster(self, rows: Any) -> Array:
        answer: Array = self.booster.predict(rows, num_threads=1)
        return answer


def load_lightgbm(path: Path, *, trust: bool = False) -> LightgbmModel:
    """Load a LightGBM file; there is nothing in it that would need trust."""
    lightgbm = need("lightgbm", extra="lightgbm", what="LightGBM models")
    try:
        text = path.read_text(encoding="utf-8")
    except ValueError:
        raise ModelError(f"{path} is no readable LightGBM model: no text") from None
    # LightGBM takes a file without its last trees for a smaller model.
    if "\nend of trees" not in text:
        raise ModelError(f"{path} is cut short: its trees do not end")
    try:
        booster = lightgbm.Booster(model_str=text)
    except Exception as error:
        raise ModelError(
            f"{path} is no readable LightGBM model: {reason(error)}"
        ) from error
    objective = re.search(r"^objective=(\S+)", text, re.MULTILINE)
    return LightgbmModel(booster, objective[1] if objective else "custom", str(path))
