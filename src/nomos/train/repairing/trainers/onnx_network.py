"""Networks in ONNX files as torch modules that can be trained, and back.

Only what feed-forward and convolutional networks are made of, also behind what skl2onnx
writes before and after one; the graph stays as it is, and training changes the numbers of
its weights alone.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from nomos.errors import ModelError
from nomos.models.extras import need, reason
from nomos.models.formats.onnx import OnnxModel
from nomos.models.formats.torch import need_torch
from nomos.structures.onnxfile import OnnxNode
from nomos.train.repairing.trainers.fine_tune import FineTuner
from nomos.train.repairing.trainers.onnx_operators import OPERATORS

_WHAT = "repairs of ONNX models"
_LAYERS = ("Gemm", "MatMul", "Conv")
_REALS = (1, 10, 11)  # types of tensors: float, float16, double


def make_onnx_trainer(path: Path) -> FineTuner:
    """Return what fine-tunes the network of an ONNX file."""
    return FineTuner(
        load_network(path).module,
        str(path),
        lambda trained: trained.to_bytes(),
        wrap=lambda trained: trained.to_model(),
    )


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
        onnx = need("onnx", extra="repair", what=_WHAT)
        self.model, self.name = model, name
        graph = model.graph
        self.constants: dict[str, Any] = {
            one.name: onnx.numpy_helper.to_array(one) for one in graph.initializer
        }
        steps = [OnnxNode(node, onnx) for node in graph.node]
        self.constants |= {s.outputs[0]: s.value for s in steps if s.kind == "Constant"}
        inputs = [one.name for one in graph.input if one.name not in self.constants]
        self.output = _find_scores(graph, steps)
        self.steps = _list_needed(steps, self.output)
        unknown = sorted({s.kind for s in self.steps} - set(OPERATORS))
        if unknown or len(inputs) != 1:
            problem = ", ".join(unknown) or f"{len(inputs)} inputs"
            raise ModelError(
                f"{name} has {problem}, and only plain networks in ONNX files can be "
                f"fine-tuned ({', '.join(sorted(OPERATORS))}); repair the model that "
                "it was exported from"
            )
        self.input = inputs[0]
        self.trainable = self._find_weights()
        if not self.trainable:
            raise ModelError(f"{name} has no layers, so there is nothing to train")
        self.module = _make_module(self, torch)

    def _find_weights(self) -> list[str]:
        """Return the constants that are trained: weights of layers, and biases after."""
        found: list[str] = []
        begun = False
        for step in self.steps:
            own = [name for name in step.inputs if name in self.constants]
            begun |= step.kind in _LAYERS and bool(own)
            if begun and step.kind in (*_LAYERS, "Add"):
                found += own
        reals = (n for n in found if self.constants[n].dtype.kind == "f")
        return list(dict.fromkeys(reals))

    def run(self, rows: Any, values: dict[str, Any]) -> Any:
        """Run the graph on rows, with these constants."""
        values = {**values, self.input: rows}
        for step in self.steps:
            given = [values[name] if name else None for name in step.inputs]
            values[step.outputs[0]] = OPERATORS[step.kind](given, step)
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


def _find_scores(graph: Any, steps: list[OnnxNode]) -> str:
    """Return what is trained: the output of reals, else what the labels are made of."""
    for one in graph.output:
        if one.type.tensor_type.elem_type in _REALS:
            return str(one.name)
    for step in reversed(steps):
        if step.kind in ("ZipMap", "ArgMax"):
            return str(step.inputs[0])
    return str(graph.output[0].name)


def _list_needed(steps: list[OnnxNode], output: str) -> list[OnnxNode]:
    """Return the nodes that an output is made of, in their order."""
    wanted, found = {output}, []
    for step in reversed(steps):
        if wanted & set(step.outputs) and step.kind != "Constant":
            wanted |= set(step.inputs)
            found.append(step)
    return found[::-1]


def _make_module(network: OnnxNetwork, torch: Any) -> Any:
    """Make the module around a network; its class needs torch, so it is made here."""

    class Network(torch.nn.Module):  # type: ignore[misc]  # torch has no types here
        def __init__(self) -> None:
            super().__init__()
            trained = set(network.trainable)
            # Names of a graph may hold dots, which torch does not take.
            self.weights = torch.nn.ParameterList(
                torch.tensor(network.constants[name]) for name in network.trainable
            )
            self.fixed = {
                name: torch.tensor(value)
                for name, value in network.constants.items()
                if name not in trained
            }

        def forward(self, rows: Any) -> Any:
            weights = dict(zip(network.trainable, self.weights, strict=True))
            return network.run(rows.float(), {**self.fixed, **weights})

        def to_model(self) -> OnnxModel:
            """Return the network as it would be read from its file."""
            return OnnxModel(Path(network.name), content=self.to_bytes())

        def to_bytes(self) -> bytes:
            named = zip(network.trainable, self.weights, strict=True)
            return network.to_bytes({n: w.detach().numpy() for n, w in named})

    return Network().eval()
