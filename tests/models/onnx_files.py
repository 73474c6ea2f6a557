"""Write small ONNX files byte by byte: the core needs no library that could do it."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any

FLOAT, INT64, STRING, DOUBLE = 1, 7, 8, 11


def varint(number: int) -> bytes:
    number &= (1 << 64) - 1
    out = b""
    while number > 0x7F:
        out += bytes([number & 0x7F | 0x80])
        number >>= 7
    return out + bytes([number])


def whole(field: int, number: int) -> bytes:
    return varint(field << 3) + varint(number)


def part(field: int, content: bytes | str) -> bytes:
    data = content.encode() if isinstance(content, str) else content
    return varint(field << 3 | 2) + varint(len(data)) + data


def attribute(name: str, value: Any) -> bytes:
    head = part(1, name)
    if isinstance(value, int):
        return head + whole(3, value) + whole(20, 2)
    if isinstance(value[0], int):
        return head + b"".join(whole(8, v) for v in value) + whole(20, 7)
    return head + b"".join(part(9, v) for v in value) + whole(20, 8)


def node(
    op: str, inputs: Sequence[str], output: str, *, domain: str = "", **options: Any
) -> bytes:
    named = b"".join(part(5, attribute(*item)) for item in options.items())
    ins = b"".join(part(1, name) for name in inputs)
    return ins + part(2, output) + part(4, op) + named + part(7, domain)


def tensor(name: str, shape: Sequence[int], values: Sequence[float]) -> bytes:
    dims = b"".join(whole(1, size) for size in shape)
    raw = struct.pack(f"<{len(values)}f", *values)
    return dims + whole(2, FLOAT) + part(8, name) + part(9, raw)


def typed(name: str, kind: int, shape: Sequence[int | None]) -> bytes:
    sizes = b"".join(part(1, b"" if size is None else whole(1, size)) for size in shape)
    return part(1, name) + part(2, part(1, whole(1, kind) + part(2, sizes)))


def untyped(name: str) -> bytes:
    """Describe an output that is a list of {word: score}."""
    score = part(1, whole(1, FLOAT) + part(2, b""))
    maps = part(5, whole(1, STRING) + part(2, score))
    return part(1, name) + part(2, part(4, part(1, maps)))


def model(
    nodes: Sequence[bytes],
    *,
    input: bytes,
    outputs: Sequence[bytes],
    weights: Mapping[str, tuple[Sequence[int], Sequence[float]]],
) -> bytes:
    graph = b"".join(part(1, n) for n in nodes) + part(2, "graph")
    graph += b"".join(part(5, tensor(n, *weight)) for n, weight in weights.items())
    graph += part(11, input) + b"".join(part(12, output) for output in outputs)
    sets = part(8, part(1, "") + whole(2, 17))
    sets += part(8, part(1, "ai.onnx.ml") + whole(2, 3))
    return whole(1, 8) + part(7, graph) + sets
