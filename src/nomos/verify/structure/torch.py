"""Small networks of torch: linear layers with ReLU between them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from nomos.verify.question.symbolic import NotProvable
from nomos.verify.structure.layers import Layers
from nomos.verify.structure.model import DOUBLE, SINGLE, as_they_are

_NOTHING = {"Dropout", "Identity", "Flatten"}


def read_torch(module: Any, width: int) -> Layers:
    """Return the layers of a module."""
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
    return Layers(
        columns=as_they_are(width, np.float32 if roundoff == SINGLE else np.float64),
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
