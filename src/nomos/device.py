"""Where models run and tensors live: a device and a precision, chosen once for a run.

torch is imported only where a device other than the processor is asked for, or where a
domain works with tensors; without it everything here is numpy.
"""

import sys
import warnings
from contextlib import AbstractContextManager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any, TypeGuard, TypeVar, get_args

import numpy as np

from nomos.accepted import Precision
from nomos.errors import ModelError

Array = np.ndarray[Any, Any]
_UNTOLD = 2**33  # bytes that are left, where a device does not tell
PRECISIONS: tuple[Precision, ...] = get_args(Precision)
_RESIDENT = 4  # inputs stay on a device if they take at most this part of what is free
_Held = TypeVar("_Held")


@dataclass(frozen=True, slots=True)
class Placement:
    """A device, and the precision of networks on it; None: as their files have it."""

    device: str = "cpu"
    dtype: Precision | None = None
    is_auto: bool = False  # the device was chosen, not asked for

    def __post_init__(self) -> None:
        if self.dtype is not None and self.dtype not in PRECISIONS:
            raise ModelError(f"{self.dtype!r} is none of {', '.join(PRECISIONS)}")

    @property
    def is_rounded(self) -> bool:
        """Whether networks run at a lower precision than the one that judges."""
        return self.dtype in ("bfloat16", "float16")


_HERE = Placement()
_placed: ContextVar[Placement] = ContextVar("placed", default=_HERE)
_is_reference: ContextVar[bool] = ContextVar("is_reference", default=False)


def placement() -> Placement:
    """Return where models are loaded here."""
    return _placed.get()


def is_reference_precision() -> bool:
    """Tell whether networks answer at float32 here, whatever they were loaded for."""
    return _is_reference.get()


class during(AbstractContextManager[None]):  # noqa: N801 - called as a function
    """Let a variable have a value inside."""

    def __init__(self, variable: ContextVar[_Held], value: _Held) -> None:
        self._variable, self._value = variable, value

    def __enter__(self) -> None:
        self._before = self._variable.set(self._value)

    def __exit__(self, *error: object) -> None:
        self._variable.reset(self._before)


def place_models(wanted: Placement) -> AbstractContextManager[None]:
    """Load models on a device inside: what `--device` and `--dtype` do."""
    device, is_auto = resolve_device(wanted.device), wanted.device == "auto"
    return during(_placed, replace(wanted, device=device, is_auto=is_auto))


def reference_precision() -> AbstractContextManager[None]:
    """Let networks answer at float32 inside."""
    return during(_is_reference, True)


def resolve_device(device: str) -> str:
    """Return a device that is there; `auto` is the fastest. Raises where it is not."""
    if device == "cpu":
        return device
    try:
        import torch
    except ImportError:
        if device == "auto":
            return "cpu"
        raise ModelError(
            f"the device {device} needs torch, which is not installed:"
            " pip install 'nomos-ml[torch]'"
        ) from None
    there = [f"cuda:{number}" for number in range(torch.cuda.device_count())]
    there += ["cuda"] if there else []
    there += ["mps"] if torch.backends.mps.is_available() else []
    if device == "auto":
        return next((d for d in ("cuda", "mps") if d in there), "cpu")
    if device not in there:
        found = ", ".join(["cpu", *there])
        raise ModelError(
            f"there is no device {device}: torch {torch.__version__} finds {found}"
        )
    return device


def is_tensor(value: Any) -> TypeGuard[Any]:
    """Tell whether a value is a tensor of torch; where torch is not loaded, none is."""
    torch: Any = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def to_host(value: Any) -> Any:
    """Return a tensor as an array of its own; anything else as it is."""
    if not is_tensor(value):
        return value
    tensor = value.detach()
    if str(tensor.dtype) in ("torch.bfloat16", "torch.float16"):
        tensor = tensor.float()  # numpy has no bfloat16; nothing is lost
    host: Array = tensor.cpu().numpy()
    return host.copy() if tensor.device.type == "cpu" else host


def to_tensor(value: Any, device: str) -> Any:
    """Return an array of numbers as a tensor of its own; anything else as it is."""
    import torch

    if is_tensor(value):
        return value.to(device)
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "biuf":
        return value
    if device == "mps" and value.dtype == np.float64:
        value = value.astype(np.float32)  # it has no doubles
    if device == "cpu":
        return torch.tensor(value)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an array is read-only: it is copied at once
        return torch.from_numpy(np.ascontiguousarray(value)).to(device)


def places_on(tensor: Any, index: Array) -> Any:
    """Return positions as a tensor beside the one that they are positions of."""
    import torch

    return torch.from_numpy(np.ascontiguousarray(index)).to(tensor.device)


def is_out_of_memory(error: BaseException) -> bool:
    """Tell whether a device had too little memory; half as much may do."""
    named = type(error).__name__ == "OutOfMemoryError"
    return "torch" in sys.modules and (named or "out of memory" in str(error))


def free_cache() -> None:
    """Give memory back that torch keeps for later."""
    torch: Any = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        torch.cuda.empty_cache()


def free_bytes(device: str) -> int | None:
    """Return how much memory a device has left; None for the processor."""
    if not device.startswith("cuda"):
        return None if device == "cpu" else _UNTOLD
    import torch

    return int(torch.cuda.mem_get_info(torch.device(device))[0])


class DeviceRows:
    """The rows that inputs are drawn from, on a device: all of them if they fit."""

    def __init__(self, rows: Array, device: str) -> None:
        self.rows = rows
        self.device = device
        free = free_bytes(device)
        fits = free is None or rows.nbytes <= free // _RESIDENT
        self._resident = to_tensor(rows, device) if fits and device != "cpu" else None

    def take(self, places: Array) -> Any:
        """Return the rows at these places, as a tensor of the caller's own."""
        if self._resident is not None:
            return self._resident[places_on(self._resident, places)]
        import torch

        if self.device == "cpu":
            return torch.from_numpy(self.rows.take(places, axis=0))
        shape = (len(places), *self.rows.shape[1:])
        kind = torch.from_numpy(self.rows[:0].copy()).dtype
        page = torch.empty(shape, dtype=kind, pin_memory=self.device.startswith("cuda"))
        np.take(self.rows, places, axis=0, out=page.numpy())
        return page.to(self.device, non_blocking=True)
