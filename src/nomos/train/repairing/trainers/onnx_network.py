"""Networks in ONNX files as torch modules that can be trained, and back.

Only what plain feed-forward networks are made of; the graph stays as it is, and training
changes the numbers of its weights alone.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from nomos.errors import ModelError
from nomos.models.extras import need, reason
from nomos.models.formats.torch import need_torch

_WHAT = "repairs of ONNX models"


def load_network(path: Path) -> OnnxNetwork:
    """Read an ONNX file as a network."""
    onnx = need("onnx", extra="repair", what=_WHAT)
    try:
        model = onnx.load(str(path))
    except Exception as error:  # protobuf fails in many ways
        raise ModelError(f"{path} cannot be read: {reason(error)}") from error
    return OnnxNetwork(model, str(path))


class OnnxNetwork:
    """A graph, run node by node by torch.

    `module` has the weights of the layers as parameters. Other constants, such as a mean
    that is subtracted before the first layer, stay as they are.
    """

    def __init__(self, model: Any, name: str) -> None:
        torch = need_torch()
        numpy_helper = need("onnx", extra="repair", what=_WHAT).numpy_helper
        self.model = model
        graph = model.graph
        self.constants: dict[str, Any] = {
            one.name: numpy_helper.to_array(one) for one in graph.initializer
        }
        steps = [_Step(node, numpy_helper) for node in graph.node]
        self.constants |= {s.output: s.value for s in steps if s.kind == "Constant"}
        self.steps = [step for step in steps if step.kind != "Constant"]
        inputs = [one.name for one in graph.input if one.name not in self.constants]
        outputs = [one.name for one in graph.output]
        unknown = sorted({s.kind for s in self.steps} - set(_RUN))
        problem = None
        if unknown:
            problem = f"has {', '.join(unknown)}"
        elif len(inputs) != 1:
            problem = f"has {len(inputs)} inputs"
        elif self.steps and not set(self.steps[-1].outputs) & set(outputs):
            problem = "does not end with its output"
        if problem is not None:
            raise ModelError(
                f"{name} {problem}, and only plain feed-forward networks in ONNX files "
                f"can be fine-tuned ({', '.join(sorted(_RUN))}); repair the model that "
                "it was exported from"
            )
        self.input, self.output = inputs[0], self.steps[-1].output
        self._weights = self._find_weights()
        if not self._weights:
            raise ModelError(f"{name} has no layers, so there is nothing to train")
        self.module = _module(self, torch)

    def _find_weights(self) -> list[str]:
        """Return the constants that layers are made of: weights, and biases after them."""
        found: list[str] = []
        begun = False
        for step in self.steps:
            own = [name for name in step.inputs if name in self.constants]
            begun |= step.kind in ("Gemm", "MatMul") and bool(own)
            if begun and step.kind in ("Gemm", "MatMul", "Add"):
                found += own
        reals = (n for n in found if self.constants[n].dtype.kind == "f")
        return list(dict.fromkeys(reals))

    @property
    def trainable(self) -> list[str]:
        """The names of the constants that are trained."""
        return self._weights

    def run(self, rows: Any, values: dict[str, Any]) -> Any:
        """Run the graph on rows, with these constants."""
        values = {**values, self.input: rows}
        for step in self.steps:
            given = [values[name] for name in step.inputs if name]
            values[step.output] = _RUN[step.kind](given, step)
        return values[self.output]

    def to_bytes(self, weights: dict[str, Any]) -> bytes:
        """Return the file's content, with other weights."""
        onnx = need("onnx", extra="repair", what=_WHAT)
        other = onnx.ModelProto()
        other.CopyFrom(self.model)
        for tensor in other.graph.initializer:
            if tensor.name in weights:
                value = weights[tensor.name].astype(self.constants[tensor.name].dtype)
                tensor.CopyFrom(onnx.numpy_helper.from_array(value, tensor.name))
        for node in other.graph.node:
            if node.op_type == "Constant" and node.output[0] in weights:
                value = weights[node.output[0]].astype(np.float32)
                node.attribute[0].t.CopyFrom(onnx.numpy_helper.from_array(value))
        content: bytes = other.SerializeToString()
        return content


class _Step:
    """A node of the graph."""

    def __init__(self, node: Any, numpy_helper: Any) -> None:
        self.kind: str = node.op_type
        self.inputs = list(node.input)
        self.outputs = list(node.output)
        self.output: str = node.output[0]
        self.options: dict[str, Any] = {}
        for one in node.attribute:
            kinds = {1: one.f, 2: one.i, 7: list(one.ints)}
            self.options[one.name] = kinds.get(one.type)
            if self.kind == "Constant":
                tensor = one.type == 4
                self.value: Any = (
                    numpy_helper.to_array(one.t)
                    if tensor
                    else np.array(kinds[one.type])
                )

    def option(self, name: str, default: Any) -> Any:
        return self.options.get(name, default)


def _gemm(given: list[Any], step: _Step) -> Any:
    a = given[0].T if step.option("transA", 0) else given[0]
    b = given[1].T if step.option("transB", 0) else given[1]
    product = step.option("alpha", 1.0) * (a @ b)
    return product if len(given) < 3 else product + step.option("beta", 1.0) * given[2]


def _flatten(given: list[Any], step: _Step) -> Any:
    return given[0].flatten(step.option("axis", 1))


def _reshape(given: list[Any], step: _Step) -> Any:
    rows = given[0]
    shape = [int(size) for size in given[1].tolist()]
    shape = [rows.shape[i] if size == 0 else size for i, size in enumerate(shape)]
    # A graph made for one row keeps the number of rows that it is given.
    return rows.reshape(len(rows), *shape[1:])


def _method(name: str) -> Callable[[list[Any], _Step], Any]:
    return lambda given, step: getattr(given[0], name)()


def _along(name: str) -> Callable[[list[Any], _Step], Any]:
    return lambda given, step: getattr(given[0], name)(dim=step.option("axis", -1))


def _leaky(given: list[Any], step: _Step) -> Any:
    slope = step.option("alpha", 0.01)
    return given[0].clamp_min(0) + slope * given[0].clamp_max(0)


def _elu(given: list[Any], step: _Step) -> Any:
    bent = step.option("alpha", 1.0) * given[0].clamp_max(0).expm1()
    return given[0].clamp_min(0) + bent


_RUN: dict[str, Callable[[list[Any], _Step], Any]] = {
    "Add": lambda given, step: given[0] + given[1],
    "Cast": lambda given, step: given[0].float(),
    "Div": lambda given, step: given[0] / given[1],
    "Dropout": lambda given, step: given[0],
    "Elu": _elu,
    "Flatten": _flatten,
    "Gemm": _gemm,
    "Identity": lambda given, step: given[0],
    "LeakyRelu": _leaky,
    "LogSoftmax": _along("log_softmax"),
    "MatMul": lambda given, step: given[0] @ given[1],
    "Mul": lambda given, step: given[0] * given[1],
    "Relu": _method("relu"),
    "Reshape": _reshape,
    "Sigmoid": _method("sigmoid"),
    "Softmax": _along("softmax"),
    "Sub": lambda given, step: given[0] - given[1],
    "Tanh": _method("tanh"),
}


def _module(network: OnnxNetwork, torch: Any) -> Any:
    """Make the module around a network; its class needs torch, so it is made here."""

    class Network(torch.nn.Module):  # type: ignore[misc]  # torch has no types here
        def __init__(self) -> None:
            super().__init__()
            trained = set(network.trainable)
            # Names of a graph may hold dots, which torch does not take.
            self.weights = torch.nn.ParameterList(
                [
                    torch.nn.Parameter(torch.tensor(network.constants[name]))
                    for name in network.trainable
                ]
            )
            self.fixed = {
                name: torch.tensor(value)
                for name, value in network.constants.items()
                if name not in trained
            }

        def forward(self, rows: Any) -> Any:
            weights = dict(zip(network.trainable, self.weights, strict=True))
            return network.run(rows.float(), {**self.fixed, **weights})

        def to_bytes(self) -> bytes:
            named = zip(network.trainable, self.weights, strict=True)
            return network.to_bytes({n: w.detach().numpy() for n, w in named})

    return Network().eval()
