"""What the nodes of an ONNX graph do, in torch; the names are those of ONNX."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from nomos.errors import ModelError
from nomos.models.formats.torch import need_torch
from nomos.structures.onnxfile import OnnxNode


def _gemm(given: list[Any], step: OnnxNode) -> Any:
    a = given[0].T if step.option("transA", 0) else given[0]
    b = given[1].T if step.option("transB", 0) else given[1]
    product = step.option("alpha", 1.0) * (a @ b)
    for bias in given[2:]:
        product = product if bias is None else product + step.option("beta", 1.0) * bias
    return product


def _reshape(given: list[Any], step: OnnxNode) -> Any:
    rows = given[0]
    shape = [int(size) for size in given[1].tolist()]
    shape = [rows.shape[i] if size == 0 else size for i, size in enumerate(shape)]
    # A graph made for one row keeps the number of rows that it is given.
    return rows.reshape(len(rows), *shape[1:])


def _method(name: str) -> Callable[[list[Any], OnnxNode], Any]:
    return lambda given, step: getattr(given[0], name)()


def _along(name: str) -> Callable[[list[Any], OnnxNode], Any]:
    return lambda given, step: getattr(given[0], name)(dim=step.option("axis", -1))


def _bent(name: str, alpha: float) -> Callable[[list[Any], OnnxNode], Any]:
    return lambda given, step: getattr(need_torch().nn.functional, name)(
        given[0], step.option("alpha", alpha)
    )


def _conv(given: list[Any], step: OnnxNode) -> Any:
    torch = need_torch()
    bias = given[2] if len(given) > 2 else None
    size = given[1].ndim - 2
    conv = getattr(torch.nn.functional, f"conv{size}d")
    return conv(
        _pad_rows(given[0], step, size, 0.0),
        given[1],
        bias,
        stride=step.option("strides", 1),
        dilation=step.option("dilations", 1),
        groups=step.option("group", 1),
    )


def _max_pool(given: list[Any], step: OnnxNode) -> Any:
    size = step.option("kernel_shape", [])
    pool = getattr(need_torch().nn.functional, f"max_pool{len(size)}d")
    rows = _pad_rows(given[0], step, len(size), -math.inf)
    return pool(rows, size, step.option("strides", 1), ceil_mode=_ceil(step))


def _average_pool(given: list[Any], step: OnnxNode) -> Any:
    size = step.option("kernel_shape", [])
    pads = step.option("pads", [0] * 2 * len(size))
    if pads[: len(size)] != pads[len(size) :]:
        raise ModelError("an AveragePool with different pads at both ends")
    pool = getattr(need_torch().nn.functional, f"avg_pool{len(size)}d")
    return pool(
        given[0],
        size,
        step.option("strides", 1),
        pads[: len(size)],
        _ceil(step),
        bool(step.option("count_include_pad", 0)),
    )


def _ceil(step: OnnxNode) -> bool:
    return bool(step.option("ceil_mode", 0))


def _pad_rows(rows: Any, step: OnnxNode, size: int, value: float) -> Any:
    """Pad as a node says: all begins, then all ends; torch wants the last axis first."""
    if step.option("auto_pad", "NOTSET") not in ("NOTSET", "VALID"):
        raise ModelError(f"a {step.kind} with auto_pad {step.option('auto_pad', '')}")
    pads = step.option("pads", [0] * 2 * size)
    if not any(pads):
        return rows
    pairs = zip(pads[:size], pads[size:], strict=True)
    turned = [end for pair in reversed(list(pairs)) for end in pair]
    return need_torch().nn.functional.pad(rows, turned, value=value)


def _batch_norm(given: list[Any], step: OnnxNode) -> Any:
    rows, *weights = given
    shape = (1, -1, *[1] * (rows.ndim - 2))
    scale, bias, mean, variance = (weight.reshape(shape) for weight in weights)
    spread = (variance + step.option("epsilon", 1e-5)).sqrt()
    return (rows - mean) / spread * scale + bias


def _scaler(given: list[Any], step: OnnxNode) -> Any:
    torch = need_torch()
    offset, scale = (torch.tensor(step.option(n, [])) for n in ("offset", "scale"))
    return (given[0] - offset) * scale


def _axes(given: list[Any], step: OnnxNode) -> list[int]:
    axes = given[1].tolist() if len(given) > 1 else step.option("axes", None)
    if axes is None:
        raise ModelError(f"a {step.kind} that does not name its axes")
    return sorted(int(axis) for axis in axes)


def _unsqueeze(given: list[Any], step: OnnxNode) -> Any:
    rows = given[0]
    for axis in _axes(given, step):
        rows = rows.unsqueeze(axis)
    return rows


def _clip(given: list[Any], step: OnnxNode) -> Any:
    low, high = [*given[1:], None, None][:2]
    low = step.option("min", None) if low is None else low
    high = step.option("max", None) if high is None else high
    return given[0].clamp(min=low, max=high)


def _transpose(given: list[Any], step: OnnxNode) -> Any:
    order = step.option("perm", list(reversed(range(given[0].ndim))))
    return given[0].permute(order)


OPERATORS: dict[str, Callable[[list[Any], OnnxNode], Any]] = {
    "Add": lambda given, step: given[0] + given[1],
    "AveragePool": _average_pool,
    "BatchNormalization": _batch_norm,
    "Cast": _method("float"),  # to reals: what else there is has no gradient
    "Clip": _clip,
    "Concat": lambda given, step: need_torch().cat(given, step.option("axis", 1)),
    "Conv": _conv,
    "Div": lambda given, step: given[0] / given[1],
    "Dropout": lambda given, step: given[0],
    "Elu": _bent("elu", 1.0),
    "Flatten": lambda given, step: given[0].flatten(step.option("axis", 1)),
    "Gemm": _gemm,
    "GlobalAveragePool": lambda given, step: given[0].mean(
        tuple(range(2, given[0].ndim)), keepdim=True
    ),
    "Identity": lambda given, step: given[0],
    "LeakyRelu": _bent("leaky_relu", 0.01),
    "LogSoftmax": _along("log_softmax"),
    "MatMul": lambda given, step: given[0] @ given[1],
    "MaxPool": _max_pool,
    "Mul": lambda given, step: given[0] * given[1],
    "Relu": _method("relu"),
    "Reshape": _reshape,
    "Scaler": _scaler,
    "Sigmoid": _method("sigmoid"),
    "Softmax": _along("softmax"),
    "Squeeze": lambda given, step: given[0].squeeze(tuple(_axes(given, step))),
    "Sub": lambda given, step: given[0] - given[1],
    "Tanh": _method("tanh"),
    "Transpose": _transpose,
    "Unsqueeze": _unsqueeze,
}
