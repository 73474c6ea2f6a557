"""The nodes and constants of an ONNX file, as the package `onnx` reads it.

Constants that the file keeps in other files are refused: nothing beside it is opened.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from nomos.device import Array
from nomos.errors import NotProvable


class OnnxNode:
    """A node of a graph, with its attributes as numbers, texts and arrays."""

    def __init__(self, node: Any, onnx: Any) -> None:
        self.kind: str = node.op_type
        self.inputs = list(node.input)
        self.outputs = list(node.output)
        self.options: dict[str, Any] = {}
        for one in node.attribute:
            value = onnx.helper.get_attribute_value(one)
            if isinstance(value, onnx.TensorProto):
                value = _tensor_of(value, onnx)
            if isinstance(value, list) and value and isinstance(value[0], bytes):
                value = [text.decode(errors="replace") for text in value]
            is_text = isinstance(value, bytes)
            self.options[one.name] = (
                value.decode(errors="replace") if is_text else value
            )

    def option(self, name: str, default: Any) -> Any:
        """Return an attribute of the node."""
        return self.options.get(name, default)

    @property
    def value(self) -> Any:
        """What a Constant holds, in its only attribute."""
        return np.asarray(*self.options.values())


@dataclass(frozen=True, slots=True)
class Graph:
    """The operations of a model in order, its constants, and its input."""

    nodes: tuple[OnnxNode, ...]
    constants: dict[str, Array]
    inputs: tuple[str, ...]


def load_graph(path: Path) -> Graph:
    """Read the graph of a file."""
    try:
        import onnx
        from onnx import helper, numpy_helper  # noqa: F401 - as attributes of the package
    except ImportError:
        raise NotProvable(
            "the graph of an ONNX file is read by onnx: pip install 'nomos-ml[onnx]'"
        ) from None
    try:
        graph = onnx.load_model_from_string(path.read_bytes()).graph
        nodes = [OnnxNode(node, onnx) for node in graph.node]
        constants = {one.name: _tensor_of(one, onnx) for one in graph.initializer}
    except Exception as error:  # protobuf fails in many ways
        raise NotProvable(f"the graph in {path.name} cannot be read: {error}") from None
    for node in nodes:
        if node.kind == "Constant" and "value" in node.options:
            constants[node.outputs[0]] = node.value
    return Graph(
        tuple(node for node in nodes if node.kind != "Constant"),
        constants,
        tuple(one.name for one in graph.input if one.name not in constants),
    )


def _tensor_of(given: Any, onnx: Any) -> Array:
    if given.data_location == onnx.TensorProto.EXTERNAL:
        raise ValueError("its constants are in another file")
    array: Array = onnx.numpy_helper.to_array(given)
    return array
