"""The nodes and constants of an ONNX file, read without a library for it.

The file is a protocol buffer: fields with a number and a kind, some of them messages
with fields of their own. Only what structures need is read.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from nomos.device import Array
from nomos.errors import NotProvable

_TYPES = {1: "<f4", 6: "<i4", 7: "<i8", 11: "<f8"}


@dataclass(frozen=True, slots=True)
class OnnxNode:
    """An operation with the names of its inputs and outputs."""

    operator: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Graph:
    """The operations of a model in order, its constants, and its input."""

    nodes: tuple[OnnxNode, ...]
    constants: dict[str, Array]
    inputs: tuple[str, ...]


def read_graph(path: Path) -> Graph:
    """Read the graph of a file."""
    try:
        (graph,) = _Message(path.read_bytes()).messages(7)
        nodes = [_read_node(message) for message in graph.messages(1)]
        constants = dict(_read_tensor(message) for message in graph.messages(5))
        inputs = [message.text(1) for message in graph.messages(11)]
    except (ValueError, IndexError, TypeError) as error:
        raise NotProvable(f"the graph in {path.name} cannot be read: {error}") from None
    for node in nodes:
        if node.operator == "Constant" and "value" in node.attributes:
            constants[node.outputs[0]] = node.attributes["value"]
    return Graph(
        tuple(node for node in nodes if node.operator != "Constant"),
        constants,
        tuple(name for name in inputs if name not in constants),
    )


class _Message:
    """The fields of a message by their numbers; numbers of 4 and 8 bytes as bytes."""

    def __init__(self, data: bytes) -> None:
        self.fields: dict[int, list[int | bytes]] = {}
        at = 0
        while at < len(data):
            key, at = _read_varint(data, at)
            value: int | bytes
            if key & 7 == 0:
                value, at = _read_varint(data, at)
            else:
                size = {1: 8, 5: 4}.get(key & 7)
                if size is None:
                    if key & 7 != 2:
                        raise ValueError("it is damaged")
                    size, at = _read_varint(data, at)
                if at + size > len(data):
                    raise ValueError("it is cut short")
                value, at = data[at : at + size], at + size
            self.fields.setdefault(key >> 3, []).append(value)

    def bytes(self, number: int) -> list[bytes]:
        """Return the fields of a number that are bytes, as all of them have to be."""
        found = self.fields.get(number, [])
        if not all(isinstance(value, bytes) for value in found):
            raise ValueError("it is damaged")
        return found  # type: ignore[return-value]  # as was just checked

    def messages(self, number: int) -> list[_Message]:
        return [_Message(value) for value in self.bytes(number)]

    def texts(self, number: int) -> list[str]:
        return [value.decode() for value in self.bytes(number)]

    def text(self, number: int) -> str:
        return (self.texts(number) or [""])[-1]

    def reals(self, number: int, kind: str = "<f4") -> list[float]:
        numbers: list[float] = np.frombuffer(
            b"".join(self.bytes(number)), kind
        ).tolist()
        return numbers

    def integers(self, number: int) -> list[int]:
        """Return numbers that stand alone, or are packed in bytes."""
        found: list[int] = []
        for value in self.fields.get(number, []):
            if isinstance(value, int):
                found.append(value)
                continue
            at = 0
            while at < len(value):
                one, at = _read_varint(value, at)
                found.append(one)
        return [one - 2**64 if one >= 2**63 else one for one in found]


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    result = shift = 0
    while True:
        byte = data[at]
        at += 1
        result |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return result, at


def _read_node(given: _Message) -> OnnxNode:
    attributes = dict(_read_attribute(message) for message in given.messages(5))
    inputs, outputs = given.texts(1), given.texts(2)
    return OnnxNode(given.text(4), tuple(inputs), tuple(outputs), attributes)


def _read_attribute(given: _Message) -> tuple[str, Any]:
    tensors = [_read_tensor(message)[1] for message in given.messages(5)]
    one = [*given.reals(2), *given.integers(3), *given.texts(4), *tensors]
    many: list[Any] = given.reals(7) or given.integers(8) or given.texts(9)
    return given.text(1), many or (one[-1] if one else None)


def _read_tensor(given: _Message) -> tuple[str, Array]:
    if 13 in given.fields:
        raise ValueError("its constants are in another file")
    name, kind = given.text(8), _TYPES.get((given.integers(2) or [0])[-1])
    if kind is None:
        return name, np.empty(0)  # a text or the like, which no structure uses
    numbers = [*given.reals(4), *given.reals(10, "<f8")]
    numbers += [*given.integers(5), *given.integers(7)]
    raw = given.bytes(9)
    array = np.frombuffer(raw[-1], kind) if raw else np.array(numbers).astype(kind)
    return name, array.reshape(given.integers(1))
