"""Networks of scikit-learn as torch modules that can be trained, and back."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

from nomos.models.formats.sklearn import EstimatorModel
from nomos.models.formats.torch import need_torch
from nomos.train.repairing.trainers.estimators import last_step, prepared
from nomos.train.repairing.trainers.fine_tune import FineTuner

_ACTIVATIONS = {
    "relu": "relu",
    "tanh": "tanh",
    "logistic": "sigmoid",
    "identity": "clone",
}


def is_network(estimator: Any) -> bool:
    """Tell whether an estimator, or the last step of a pipeline, is a plain network."""
    last = last_step(estimator)
    if type(last).__name__ not in ("MLPClassifier", "MLPRegressor"):
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
        last_step(other).coefs_ = [w.detach().numpy().copy() for w in module.weights]
        last_step(other).intercepts_ = [
            b.detach().numpy().copy() for b in module.biases
        ]
        return other

    return FineTuner(
        _module(last_step(estimator), need_torch()),
        name,
        lambda module: dump(with_weights(module)),
        wrap=lambda module: EstimatorModel(with_weights(module), name),
        prepare=lambda rows: np.asarray(prepared(estimator, first._rows(rows))),
    )


def _module(network: Any, torch: Any) -> Any:
    """Make a module of the layers; it ends in scores, before they become chances."""
    activation = _ACTIVATIONS[network.activation]

    class Layers(torch.nn.Module):  # type: ignore[misc]  # torch has no types here
        def __init__(self) -> None:
            super().__init__()
            parts = (network.coefs_, network.intercepts_)
            self.weights, self.biases = (
                torch.nn.ParameterList(
                    [torch.nn.Parameter(torch.tensor(one)) for one in part]
                )
                for part in parts
            )

        def forward(self, rows: Any) -> Any:
            count = len(self.weights)
            for at in range(count):
                rows = rows @ self.weights[at] + self.biases[at]
                rows = getattr(rows, activation)() if at < count - 1 else rows
            return rows

    return Layers().eval()
