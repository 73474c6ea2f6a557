"""From a loaded model to its structure."""

from __future__ import annotations

from typing import Any

import numpy as np

from nomos.verify.question.symbolic import NotProvable
from nomos.verify.structure.boosters import read_catboost, read_lightgbm, read_xgboost
from nomos.verify.structure.estimators import read_estimator
from nomos.verify.structure.model import Structure
from nomos.verify.structure.onnx import read_onnx
from nomos.verify.structure.torch import read_torch


def read_structure(model: Any, width: int) -> Structure:
    """Return what a model is made of: an adapter of `load_model`, or an estimator."""
    match type(model).__name__:
        case "OnnxModel":
            return read_onnx(model.path, width)
        case "EstimatorModel":
            return _estimator(model.estimator, model._rows, width)
        case "XgboostModel":
            return read_xgboost(model.booster, model.classes)
        case "LightgbmModel":
            return read_lightgbm(model.booster, model.classes)
        case "CatboostModel":
            return read_catboost(model.model, model.classes)
        case "TorchModel":
            return read_torch(model.module, width)
        case kind if not hasattr(model, "predict"):
            raise NotProvable(
                f"the model is a {kind}: neither trees nor layers that a proof knows"
            )
        case _:
            return _estimator(model, np.asarray, width)


def _estimator(estimator: Any, rows: Any, width: int) -> Structure:
    """Return what an object with `predict` is made of."""
    classes = getattr(estimator, "classes_", None)
    match type(estimator).__name__:
        case "XGBClassifier" | "XGBRegressor":
            return read_xgboost(estimator.get_booster(), classes)
        case "LGBMClassifier" | "LGBMRegressor":
            return read_lightgbm(estimator.booster_, classes)
        case "CatBoostClassifier" | "CatBoostRegressor":
            known = classes if classes is not None and len(classes) else None
            return read_catboost(estimator, known)
        case _:
            return read_estimator(estimator, rows, width)
