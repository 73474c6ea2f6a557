"""Linear models and networks of scikit-learn as layers of sums."""

from typing import Any

import numpy as np

from nomos.device import Array
from nomos.errors import NotProvable
from nomos.structures.model import DOUBLE, SINGLE, Chances, Layers, ModelColumns


def name_link(count: int) -> Chances:
    """Return how classifiers of so many scores make probabilities of them."""
    return "sigmoid" if count == 1 else "softmax"


def linear_layers(estimator: Any, given: ModelColumns, name: str) -> Layers:
    """Return a linear model as one layer."""
    columns = given.as_numbers(np.float64)
    weights = np.atleast_2d(np.asarray(estimator.coef_, float))
    biases = np.broadcast_to(np.asarray(estimator.intercept_, float), len(weights))
    classes = getattr(estimator, "classes_", None)
    if classes is None and len(weights) != 1:
        raise NotProvable(f"{name} predicts several outputs")
    return Layers(
        columns=columns,
        weights=(weights,),
        biases=(np.array(biases),),
        roundoff=_find_roundoff(np.asarray(estimator.coef_)),
        classes=classes,
        chances=_find_link(estimator, name) if len(weights) == 1 else "",
    )


def _find_link(estimator: Any, name: str) -> Chances:
    """Return what is made of the sum of a linear model."""
    if name.startswith("LogisticRegression"):
        return "sigmoid"
    power = getattr(estimator, "power", 1)
    link = getattr(estimator, "link", "log")
    is_log = link == "log" or (link == "auto" and power > 0)
    is_exponential = name in ("PoissonRegressor", "GammaRegressor", "TweedieRegressor")
    return "exp" if is_exponential and is_log else ""


def network_layers(estimator: Any, given: ModelColumns, name: str) -> Layers:
    """Return a network with ReLU between its layers."""
    columns = given.as_numbers(np.float64)
    layers, activation = len(estimator.coefs_), estimator.activation
    if activation != "relu" and not (activation == "identity" and layers == 1):
        raise NotProvable(f"{name} with the activation {activation}")
    if estimator.out_activation_ not in ("logistic", "softmax", "identity"):
        raise NotProvable(f"{name} whose output is {estimator.out_activation_}")
    outputs = len(estimator.intercepts_[-1])
    classes = getattr(estimator, "classes_", None)
    if outputs != 1 and (classes is None or estimator.out_activation_ == "logistic"):
        raise NotProvable(f"{name} predicts several outputs")
    roundoff = _find_roundoff(estimator.coefs_[0])
    return Layers(
        columns=columns,
        weights=tuple(np.asarray(w, float).T for w in estimator.coefs_),
        biases=tuple(np.asarray(b, float) for b in estimator.intercepts_),
        roundoff=roundoff,
        classes=classes,
        link=0.0 if classes is None else 16 * roundoff,
        chances="" if classes is None else name_link(outputs),
    )


def _find_roundoff(weights: Array) -> float:
    return SINGLE if weights.dtype == np.float32 else DOUBLE
