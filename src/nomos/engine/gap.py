"""By how much a comparison that does not hold is missed."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from nomos.device import Array, to_host
from nomos.lang import core

_PLAIN = core.Constant | core.Variable | core.GetFeature | core.Arithmetic | core.Negate


def sides(test: core.Expr) -> tuple[core.Expr, core.Expr] | None:
    """Return the side of a comparison that must be the smaller one, and the other.

    None where there is no such thing, or where working it out would call a function.
    """
    while isinstance(test, core.Logic) and test.operator == "==>":
        test = test.right  # where it fails, its premise holds
    if not isinstance(test, core.Compare):
        return None
    inner = [node for side in (test.left, test.right) for node in core.walk(side)]
    items = any(isinstance(n, core.Variable) and "[" in n.name for n in inner)
    if items or not all(isinstance(node, _PLAIN) for node in inner):
        return None
    if test.operator in ("<=", "<"):
        return test.left, test.right
    return (test.right, test.left) if test.operator in (">=", ">") else None


def gaps(test: core.Expr, count: int, value: Callable[[core.Expr], Any]) -> Array:
    """Return the gap of each of `count` cases; NaN where the sides are no numbers.

    `value` gives the values of an expression, for all of these cases.
    """
    unknown = np.full(count, math.nan)
    both = sides(test)
    if both is None:
        return unknown
    smaller, larger = (_numbers(value(side), count) for side in both)
    if smaller is None or larger is None:
        return unknown
    with np.errstate(all="ignore"):
        gap = smaller - larger
    return np.where(np.isfinite(gap), gap, math.nan)


def _numbers(value: Any, count: int) -> Array | None:
    column = np.asarray(to_host(value))
    if column.dtype.kind not in "if" or column.ndim > 1:
        return None
    return np.broadcast_to(column.astype(np.float64), count)
