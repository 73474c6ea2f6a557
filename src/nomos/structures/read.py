"""From a loaded model to its structure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from nomos.errors import NotProvable
from nomos.structures.boosters import read_catboost, read_lightgbm, read_xgboost
from nomos.structures.estimators import last_step, read_estimator
from nomos.structures.model import (
    DOUBLE,
    SINGLE,
    Layers,
    ModelColumns,
    Structure,
    as_they_are,
)
from nomos.structures.onnx import read_onnx

_NOTHING = {"Dropout", "Identity", "Flatten"}


def read_structure(model: Any, width: int) -> Structure:
    """Return what a model is made of: an adapter of `load_model`, or an estimator."""
    match type(model).__name__:
        case "OnnxModel":
            return read_onnx(model.path, width)
        case "EstimatorModel":
            return _estimator(model.estimator, as_they_are(width, model._rows))
        case "XgboostModel":
            return read_xgboost(
                model.booster, model.classes, as_they_are(width, model._rows)
            )
        case "LightgbmModel":
            return read_lightgbm(
                model.booster, model.classes, as_they_are(width, model._rows)
            )
        case "CatboostModel":
            return read_catboost(model.model, model.classes, as_they_are(width))
        case "TorchModel":
            return _torch(model.module, width)
        case kind if not hasattr(model, "predict"):
            raise NotProvable(
                f"the model is a {kind}: neither trees nor layers that a proof knows"
            )
        case _:
            return _estimator(model, as_they_are(width))


def _estimator(estimator: Any, columns: ModelColumns) -> Structure:
    """Return what an object with `predict` is made of."""
    estimator, columns = last_step(estimator, columns)
    classes = getattr(estimator, "classes_", None)
    match type(estimator).__name__:
        case "XGBClassifier" | "XGBRegressor" | "XGBRFClassifier" | "XGBRFRegressor":
            return read_xgboost(estimator.get_booster(), classes, columns)
        case "LGBMClassifier" | "LGBMRegressor":
            return read_lightgbm(estimator.booster_, classes, columns)
        case "CatBoostClassifier" | "CatBoostRegressor":
            known = classes if classes is not None and len(classes) else None
            return read_catboost(estimator, known, columns)
        case _:
            return read_estimator(estimator, columns)


def _torch(module: Any, width: int) -> Layers:
    """Return the layers of a torch module: linear ones, with ReLU between them."""
    weights, biases = [], []
    rectified, link, roundoff = True, 0.0, DOUBLE
    for name, layer in _steps(module):
        if name == "Linear" and rectified:
            weight = layer.weight.detach().numpy()
            roundoff = SINGLE if weight.dtype == np.float32 else roundoff
            weights.append(weight.astype(float))
            none = np.zeros(len(weight))
            biases.append(none if layer.bias is None else layer.bias.detach().numpy())
            rectified = False
        elif name == "ReLU" and weights and not rectified:
            rectified = True
        elif name in ("Softmax", "LogSoftmax") and weights and not rectified:
            link = 16 * SINGLE
        elif name not in _NOTHING:
            raise NotProvable(
                f"the module has a {name} where a proof knows linear layers "
                "with ReLU between them"
            )
    if not weights or rectified:
        raise NotProvable("the module does not end with a linear layer")
    dtype = np.float32 if roundoff == SINGLE else np.float64
    return Layers(
        columns=as_they_are(width).as_numbers(dtype),
        weights=tuple(weights),
        biases=tuple(bias.astype(float) for bias in biases),
        roundoff=roundoff,
        link=link,
    )


def _steps(module: Any) -> Iterator[tuple[str, Any]]:
    """Yield the layers of a Sequential one after the other, by their names."""
    name = getattr(module, "original_name", type(module).__name__)
    if name == "Sequential":
        for child in module.children():
            yield from _steps(child)
    elif name in ("Linear", "ReLU", "Softmax", "LogSoftmax") or name in _NOTHING:
        yield name, module
    else:
        raise NotProvable(f"a module of the class {name} is no Sequential of layers")
