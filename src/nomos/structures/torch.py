"""Modules of torch as layers: a Sequential of linear layers with ReLU between them."""

import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from nomos.errors import NotProvable
from nomos.structures.inherited import find_class, is_instance
from nomos.structures.model import DOUBLE, SINGLE, Layers, as_they_are

_LAYERS = [
    "Sequential", "Linear", "ReLU", "Softmax", "LogSoftmax", "Dropout", "Identity",
    "Flatten",
]  # fmt: skip
_MANGLED = re.compile(r"\.___torch_mangle_\d+")


def layers_of(module: Any, width: int, classes: Any) -> Layers:
    """Return the layers of a module: linear ones, with ReLU between them."""
    weights, biases = [], []
    rectified, link, roundoff = True, 0.0, DOUBLE
    for name, layer in _walk_layers(module):
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
        elif name not in ("Dropout", "Identity", "Flatten"):
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
        classes=classes,
        link=link,
    )


def _walk_layers(module: Any) -> Iterator[tuple[str, Any]]:
    """Yield the layers of a Sequential one after the other, by their names."""
    name = _layer_class(module)
    hooks = ("_forward_hooks", "_forward_pre_hooks")
    if any(len(getattr(module, hook, ())) for hook in hooks):
        raise NotProvable(
            f"a {name or 'module'} with hooks, which run code of their own"
        )
    if name == "Sequential":
        for child in module.children():
            yield from _walk_layers(child)
    elif name:
        yield name, module
    else:
        raise NotProvable(
            f"a module of the class {getattr(module, 'original_name', type(module).__name__)}"
            " is no Sequential of layers"
        )


def _layer_class(module: Any) -> str:
    """Return which layer of torch a module is; one of TorchScript keeps its class's name.

    That is the whole name with its module: a class of the user's own may be called Linear.
    """
    if not is_instance(module, ("torch.jit:ScriptModule",)):
        found = find_class(module, [f"torch.nn:{name}" for name in _LAYERS])
        return found.partition(":")[2]
    full_name = _MANGLED.sub("", module._c._type().qualified_name())
    path, _, name = full_name.removeprefix("__torch__.").rpartition(".")
    return name if path.startswith("torch.nn.modules.") and name in _LAYERS else ""
