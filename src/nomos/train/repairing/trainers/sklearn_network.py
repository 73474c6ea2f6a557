"""Networks of scikit-learn as torch modules that can be trained, and back."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

from nomos.models.formats.sklearn import EstimatorModel
from nomos.models.formats.torch import need_torch, sequential
from nomos.structures.inherited import find_plain_class
from nomos.train.repairing.trainers.estimators import last_step, prepare_rows
from nomos.train.repairing.trainers.fine_tune import FineTuner

_NETWORKS = (
    "sklearn.neural_network:MLPClassifier",
    "sklearn.neural_network:MLPRegressor",
)
_ACTIVATIONS = {"relu": "ReLU", "tanh": "Tanh", "logistic": "Sigmoid"}


def is_network(estimator: Any) -> bool:
    """Tell whether an estimator, or the last step of a pipeline, is a plain network."""
    last = last_step(estimator)
    if not find_plain_class(last, _NETWORKS):
        return False
    several = getattr(last, "n_outputs_", 1) > 1
    return hasattr(last, "coefs_") and not (
        several and last.out_activation_ in ("logistic", "identity")
    )


def make_network_trainer(
    estimator: Any, name: str, dump: Callable[[Any], bytes]
) -> FineTuner:
    """Return how a network of scikit-learn is trained: its weights by torch."""
    first = EstimatorModel(estimator, name)

    def with_weights(module: Any) -> Any:
        other = copy.deepcopy(estimator)
        trained = [
            {n: p.detach().numpy() for n, p in one.named_parameters()}
            for one in module[::2]
        ]
        last_step(other).coefs_ = [one["weight"].T.copy() for one in trained]
        last_step(other).intercepts_ = [one["bias"].copy() for one in trained]
        return other

    def asked(module: Any) -> EstimatorModel:
        made = EstimatorModel(with_weights(module), name)
        made.schema = first.schema
        return made

    return FineTuner(
        _make_module(last_step(estimator)),
        name,
        lambda module: dump(with_weights(module)),
        first=first,
        wrap=asked,
        prepare=lambda rows: np.asarray(
            prepare_rows(estimator, first.convert_rows(rows))
        ),
    )


def _make_module(network: Any) -> Any:
    """Make a module of the layers; it ends in scores, before they become chances."""
    tensor = need_torch().tensor
    pairs = zip(network.coefs_, network.intercepts_, strict=True)
    layers = [(tensor(weight.T), tensor(bias)) for weight, bias in pairs]
    return sequential(layers, _ACTIVATIONS.get(network.activation, "Identity")).eval()
