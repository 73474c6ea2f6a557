"""What numpy and torch call by different names, so that each change is written once."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from nomos.device import is_tensor


def library(x: Any) -> Any:
    """Return the library of a column: torch of a tensor, else numpy."""
    return sys.modules["torch"] if is_tensor(x) else np


def as_type(x: Any, dtype: Any) -> Any:
    """Return numbers as another type."""
    return x.to(dtype) if is_tensor(x) else x.astype(dtype)


def count_up(count: int, x: Any) -> Any:
    """Return 0, 1, 2 and so on beside a column."""
    if is_tensor(x):
        return library(x).arange(count, device=x.device)
    return np.arange(count)


def reals(values: Any, x: Any) -> Any:
    """Return a column of amounts beside a column, one for each of its records."""
    lib = library(x)
    if is_tensor(x):
        kind = x.dtype if x.is_floating_point() else lib.float32
        made = lib.as_tensor(values, dtype=kind, device=x.device)
    else:
        made = np.asarray(values, x.dtype if x.dtype.kind == "f" else np.float32)
    if made.shape != (len(x),):
        raise ValueError(f"{len(x)} records have amounts of shape {tuple(made.shape)}")
    return made.reshape(-1, *[1] * (x.ndim - 1))


def is_real(x: Any) -> bool:
    """Tell whether a column holds reals."""
    return bool(x.is_floating_point()) if is_tensor(x) else bool(x.dtype.kind == "f")
