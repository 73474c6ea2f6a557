"""From a loaded model to its structure."""

from __future__ import annotations

from typing import Any

import numpy as np

from nomos.verify.structure.estimators import read_estimator
from nomos.verify.structure.layers import Layers
from nomos.verify.structure.trees import Trees
from nomos.verify.symbolic import NotProvable


def read_structure(model: Any, width: int) -> Trees | Layers:
    """Return what a model is made of: an adapter of `load_model`, or an estimator."""
    kind = type(model).__name__
    if kind == "OnnxModel":
        from nomos.verify.structure.onnx import read_onnx

        return read_onnx(model.path, width)
    if kind == "EstimatorModel":
        return _estimator(model.estimator, model._rows, width)
    if kind == "XgboostModel":
        return _boosters().read_xgboost(model.booster, model.classes)
    if kind == "LightgbmModel":
        return _boosters().read_lightgbm(model.booster, model.classes)
    if kind == "CatboostModel":
        return _boosters().read_catboost(model.model, model.classes)
    if kind == "TorchModel":
        from nomos.verify.structure.torch import read_torch

        return read_torch(model.module, width)
    if hasattr(model, "predict"):
        return _estimator(model, np.asarray, width)
    raise NotProvable(
        f"the model is a {kind}: neither trees nor layers that a proof knows"
    )


def _boosters() -> Any:
    from nomos.verify.structure import boosters

    return boosters


def _estimator(estimator: Any, rows: Any, width: int) -> Trees | Layers:
    """Return what an object with `predict` is made of."""
    kind = type(estimator).__name__
    classes = getattr(estimator, "classes_", None)
    if kind.startswith(("XGBClassifier", "XGBRegressor")):
        return _boosters().read_xgboost(estimator.get_booster(), classes)
    if kind.startswith(("LGBMClassifier", "LGBMRegressor")):
        return _boosters().read_lightgbm(estimator.booster_, classes)
    if kind.startswith(("CatBoostClassifier", "CatBoostRegressor")):
        known = classes if classes is not None and len(classes) else None
        return _boosters().read_catboost(estimator, known)
    return read_estimator(estimator, rows, width)
