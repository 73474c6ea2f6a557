"""Steps of a network, one after the other, as layers: sums, with ReLU between them."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from nomos.device import Array
from nomos.errors import NotProvable
from nomos.structures.model import DOUBLE, SINGLE, Layers, as_they_are

_IDLE = ("Dropout", "Identity", "Flatten")


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """What a network does next, by the name that torch has for it; of sums, with what."""

    name: str
    weight: Array | None = None  # (outputs, inputs)
    bias: Array | None = None


def stack_layers(steps: Iterable[Step], width: int, classes: Any) -> Layers:
    """Return the layers that steps make; raises NotProvable for others."""
    weights: list[Array] = []
    biases: list[Array] = []
    rectified, is_logistic, link, roundoff = True, False, 0.0, DOUBLE
    for step in steps:
        weight, bias = step.weight, step.bias
        if is_logistic and step.name not in _IDLE:
            raise NotProvable("the network goes on after a Sigmoid")
        if weight is not None and rectified:
            roundoff = SINGLE if weight.dtype == np.float32 else roundoff
            weights.append(weight.astype(float))
            biases.append(np.zeros(len(weight)) if bias is None else bias.astype(float))
            rectified = False
        elif step.name == "Add" and bias is not None and weights and not rectified:
            biases[-1] = biases[-1] + bias
        elif step.name == "ReLU" and weights and not rectified:
            rectified = True
        elif step.name in ("Softmax", "LogSoftmax") and weights and not rectified:
            link = 16 * SINGLE
        elif step.name == "Sigmoid" and not rectified and len(biases[-1]) == 1:
            is_logistic = True
        elif step.name not in _IDLE:
            raise NotProvable(
                f"the network has a {step.name} where a proof knows linear layers "
                "with ReLU between them"
            )
    if not weights or rectified:
        raise NotProvable("the network does not end with a linear layer")
    dtype = np.float32 if roundoff == SINGLE else np.float64
    return Layers(
        columns=as_they_are(width).as_numbers(dtype),
        weights=tuple(weights),
        biases=tuple(biases),
        roundoff=roundoff,
        classes=classes,
        link=link,
        chances="sigmoid" if is_logistic else "",
    )
