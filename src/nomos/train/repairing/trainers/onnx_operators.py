"""What the nodes of an ONNX graph do, in torch; the names are those of ONNX."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from nomos.errors import ModelError
from nomos.models.formats.torch import need_torch


class Step:
    """A node of the graph."""

    def __init__(self, node: Any, numpy_helper: Any) -> None:
        self.kind: str = node.op_type
        self.inputs = list(node.input)
        self.outputs = list(node.output)
        self.output: str = node.output[0]
        self.options: dict[str, Any] = {}
        for one in node.attribute:
            kinds = {
                1: one.f,
                2: one.i,
                3: one.s.decode(errors="replace"),
                6: list(one.floats),
                7: list(one.ints),
            }
            self.options[one.name] = kinds.get(one.type)
            if self.kind == "Constant":
                tensor = one.type == 4
                self.value: Any = (
                    numpy_helper.to_array(one.t)
                    if tensor
                    else np.array(kinds[one.type])
                )

    def option(self, name: str, default: Any) -> Any:
        """Return an attribute of the node."""
        return self.options.get(name, default)


def _gemm(given: list[Any], step: Step) -> Any:
    a = given[0].T if step.option("transA", 0) else given[0]
    b = given[1].T if step.option("transB", 0) else given[1]
    product = step.option("alpha", 1.0) * (a @ b)
    return (
        product
        if given[2:] in ([], [None])
        else product + step.option("beta", 1.0) * given[2]
    )


def _flatten(given: list[Any], step: Step) -> Any:
    return given[0].flatten(step.option("axis", 1))


def _reshape(given: list[Any], step: Step) -> Any:
    rows = given[0]
    shape = [int(size) for size in given[1].tolist()]
    shape = [rows.shape[i] if size == 0 else size for i, size in enumerate(shape)]
    # A graph made for one row keeps the number of rows that it is given.
    return rows.reshape(len(rows), *shape[1:])


def _method(name: str) -> Callable[[list[Any], Step], Any]:
    return lambda given, step: getattr(given[0], name)()


def _along(name: str) -> Callable[[list[Any], Step], Any]:
    return lambda given, step: getattr(given[0], name)(dim=step.option("axis", -1))


def _cast(given: list[Any], step: Step) -> Any:
    """Make reals, what else there is would have no gradient."""
    return given[0].float()


def _leaky(given: list[Any], step: Step) -> Any:
    slope = step.option("alpha", 0.01)
    return given[0].clamp_min(0) + slope * given[0].clamp_max(0)


def _elu(given: list[Any], step: Step) -> Any:
    bent = step.option("alpha", 1.0) * given[0].clamp_max(0).expm1()
    return given[0].clamp_min(0) + bent


def _conv(given: list[Any], step: Step) -> Any:
    torch = need_torch()
    bias = given[2] if len(given) > 2 else None
    size = given[1].ndim - 2
    conv = getattr(torch.nn.functional, f"conv{size}d")
    return conv(
        _padded(given[0], step, size, 0.0),
        given[1],
        bias,
        stride=step.option("strides", 1),
        dilation=step.option("dilations", 1),
        groups=step.option("group", 1),
    )


def _max_pool(given: list[Any], step: Step) -> Any:
    size = step.option("kernel_shape", [])
    pool = getattr(need_torch().nn.functional, f"max_pool{len(size)}d")
    rows = _padded(given[0], step, len(size), -math.inf)
    return pool(rows, size, step.option("strides", 1), ceil_mode=_ceil(step))


def _average_pool(given: list[Any], step: Step) -> Any:
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


def _ceil(step: Step) -> bool:
    return bool(step.option("ceil_mode", 0))


def _padded(rows: Any, step: Step, size: int, value: float) -> Any:
    """Pad as a node says: all begins, then all ends; torch wants the last axis first."""
    if step.option("auto_pad", "NOTSET") not in ("NOTSET", "VALID"):
        raise ModelError(f"a {step.kind} with auto_pad {step.option('auto_pad', '')}")
    pads = step.option("pads", [0] * 2 * size)
    if not any(pads):
        return rows
    pairs = zip(pads[:size], pads[size:], strict=True)
    turned = [end for pair in reversed(list(pairs)) for end in pair]
    return need_torch().nn.functional.pad(rows, turned, value=value)


def _batch_norm(given: list[Any], step: Step) -> Any:
    rows, *weights = given
    shape = (1, -1, *[1] * (rows.ndim - 2))
    scale, bias, mean, variance = (weight.reshape(shape) for weight in weights)
    spread = (variance + step.option("epsilon", 1e-5)).sqrt()
    return (rows - mean) / spread * scale + bias


def _scaler(given: list[Any], step: Step) -> Any:
    torch = need_torch()
    offset, scale = (torch.tensor(step.option(n, [])) for n in ("offset", "scale"))
    return (given[0] - offset) * scale


def _axes(given: list[Any], step: Step) -> list[int]:
    axes = given[1].tolist() if len(given) > 1 else step.option("axes", None)
    if axes is None:
        raise ModelError(f"a {step.kind} that does not name its axes")
    return sorted(int(axis) for axis in axes)


def _squeeze(given: list[Any], step: Step) -> Any:
    return given[0].squeeze(tuple(_axes(given, step)))


def _unsqueeze(given: list[Any], step: Step) -> Any:
    rows = given[0]
    for axis in _axes(given, step):
        rows = rows.unsqueeze(axis)
    return rows


def _clip(given: list[Any], step: Step) -> Any:
    low, high = [*given[1:], None, None][:2]
    low = step.option("min", None) if low is None else low
    high = step.option("max", None) if high is None else high
    return given[0].clamp(min=low, max=high)


def _concat(given: list[Any], step: Step) -> Any:
    return need_torch().cat(given, dim=step.option("axis", 1))


def _global_average(given: list[Any], step: Step) -> Any:
    return given[0].mean(dim=tuple(range(2, given[0].ndim)), keepdim=True)


def _transpose(given: list[Any], step: Step) -> Any:
    order = step.option("perm", list(reversed(range(given[0].ndim))))
    return given[0].permute(order)


OPERATORS: dict[str, Callable[[list[Any], Step], Any]] = {
    "Add": lambda given, step: given[0] + given[1],
    "AveragePool": _average_pool,
    "BatchNormalization": _batch_norm,
    "Cast": _cast,
    "Clip": _clip,
    "Concat": _concat,
    "Conv": _conv,
    "Div": lambda given, step: given[0] / given[1],
    "Dropout": lambda given, step: given[0],
    "Elu": _elu,
    "Flatten": _flatten,
    "Gemm": _gemm,
    "GlobalAveragePool": _global_average,
    "Identity": lambda given, step: given[0],
    "LeakyRelu": _leaky,
    "LogSoftmax": _along("log_softmax"),
    "MatMul": lambda given, step: given[0] @ given[1],
    "MaxPool": _max_pool,
    "Mul": lambda given, step: given[0] * given[1],
    "Relu": _method("relu"),
    "Reshape": _reshape,
    "Scaler": _scaler,
    "Sigmoid": _method("sigmoid"),
    "Softmax": _along("softmax"),
    "Squeeze": _squeeze,
    "Sub": lambda given, step: given[0] - given[1],
    "Tanh": _method("tanh"),
    "Transpose": _transpose,
    "Unsqueeze": _unsqueeze,
}
