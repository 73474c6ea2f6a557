"""The nodes and constants of an ONNX file, read without a library for it.

The file is a protocol buffer: fields with a number and a kind, some of them messages
with fields of their own. Only what structures need is read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from nomos.verify.question.symbolic import NotProvable
from nomos.verify.structure.columns import Array

Field = tuple[int, int | bytes]
_TYPES: dict[int, Any] = {1: np.float32, 6: np.int32, 7: np.int64, 11: np.float64}


@dataclass(frozen=True, slots=True)
class OnnxNode:
    """An operation with the names of its inputs and outputs."""

    operator: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Graph:
    """The operations of a model in order, its constants, and its input."""

    nodes: tuple[OnnxNode, ...]
    constants: dict[str, Array]
    inputs: tuple[str, ...]


def read_graph(path: Path) -> Graph:
    """Read the graph of a file."""
    try:
        fields = list(_fields(path.read_bytes()))
        (graph,) = (_bytes(value) for number, value in fields if number == 7)
        return _graph(graph)
    except (ValueError, IndexError, TypeError) as error:
        raise NotProvable(f"the graph in {path.name} cannot be read: {error}") from None


def _graph(data: bytes) -> Graph:
    nodes, constants, inputs = [], {}, []
    for number, value in _fields(data):
        if number == 1:
            nodes.append(_node(_bytes(value)))
        elif number == 5:
            name, array = _tensor(_bytes(value))
            constants[name] = array
        elif number == 11:
            inputs.append(_text(_fields(_bytes(value)), 1))
    for node in nodes:
        if node.operator == "Constant" and "value" in node.attributes:
            constants[node.outputs[0]] = node.attributes["value"]
    own = tuple(name for name in inputs if name not in constants)
    return Graph(
        tuple(node for node in nodes if node.operator != "Constant"), constants, own
    )


def _node(data: bytes) -> OnnxNode:
    inputs, outputs, attributes = [], [], {}
    operator = ""
    for number, value in _fields(data):
        if number == 1:
            inputs.append(_bytes(value).decode())
        elif number == 2:
            outputs.append(_bytes(value).decode())
        elif number == 4:
            operator = _bytes(value).decode()
        elif number == 5:
            name, content = _attribute(_bytes(value))
            attributes[name] = content
    return OnnxNode(operator, tuple(inputs), tuple(outputs), attributes)


def _attribute(data: bytes) -> tuple[str, Any]:
    name = ""
    content: Any = None
    many: dict[int, list[Any]] = {7: [], 8: [], 9: []}
    for number, value in _fields(data):
        if number == 1:
            name = _bytes(value).decode()
        elif number == 2:
            content = float(np.frombuffer(_bytes(value), "<f4")[0])
        elif number == 3:
            content = _signed(value)
        elif number == 4:
            content = _bytes(value).decode()
        elif number == 5:
            content = _tensor(_bytes(value))[1]
        elif number == 7:
            many[7] += np.frombuffer(_bytes(value), "<f4").tolist()
        elif number == 8:
            many[8] += _integers(value)
        elif number == 9:
            many[9].append(_bytes(value).decode())
    return name, next((values for values in many.values() if values), content)


def _tensor(data: bytes) -> tuple[str, Array]:
    shape: list[int] = []
    kind, name, raw = 0, "", None
    numbers: list[float] = []
    for number, value in _fields(data):
        if number == 1:
            shape += _integers(value)
        elif number == 2:
            kind = int(value)
        elif number == 8:
            name = _bytes(value).decode()
        elif number == 9:
            raw = _bytes(value)
        elif number == 4:
            numbers += np.frombuffer(_bytes(value), "<f4").tolist()
        elif number == 10:
            numbers += np.frombuffer(_bytes(value), "<f8").tolist()
        elif number in (5, 7):
            numbers += _integers(value)
        elif number == 13:
            raise ValueError("its constants are in another file")
    if kind not in _TYPES:
        return name, np.empty(0)  # a text or the like, which no structure uses
    dtype = np.dtype(_TYPES[kind]).newbyteorder("<")
    array = np.array(numbers, dtype) if raw is None else np.frombuffer(raw, dtype)
    return name, array.reshape(shape)


def _fields(data: bytes) -> Iterator[Field]:
    """Yield the fields of a message; numbers of 4 and 8 bytes as these bytes."""
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        kind = key & 7
        if kind == 0:
            number, at = _varint(data, at)
            yield key >> 3, number
            continue
        if kind == 2:
            size, at = _varint(data, at)
        elif kind in (1, 5):
            size = 8 if kind == 1 else 4
        else:
            raise ValueError("it is damaged")
        if at + size > len(data):
            raise ValueError("it is cut short")
        yield key >> 3, data[at : at + size]
        at += size


def _varint(data: bytes, at: int) -> tuple[int, int]:
    result = shift = 0
    while True:
        byte = data[at]
        at += 1
        result |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return result, at


def _integers(value: int | bytes) -> list[int]:
    """Return one number, or those that are packed in bytes."""
    if isinstance(value, int):
        return [_signed(value)]
    numbers, at = [], 0
    while at < len(value):
        number, at = _varint(value, at)
        numbers.append(_signed(number))
    return numbers


def _signed(value: int | bytes) -> int:
    assert isinstance(value, int)
    return value - 2**64 if value >= 2**63 else value


def _bytes(value: int | bytes) -> bytes:
    if not isinstance(value, bytes):
        raise ValueError("it is damaged")
    return value


def _text(fields: Iterator[Field], wanted: int) -> str:
    return next(_bytes(value).decode() for number, value in fields if number == wanted)
