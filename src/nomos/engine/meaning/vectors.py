"""Arithmetic on numbers as in Python, and on vectors element by element.

A vector is a list, a tuple or an array of numbers. What is calculated with one is an array
of 64-bit numbers, whatever type its elements had: nothing wraps around, and a list is
never joined to another or repeated.
"""

import math
import operator
from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

from nomos.device import Array, is_tensor, to_host

_LARGEST = 2**63 - 1
_LONGEST_POWER = 10_000  # bits of an integer that `**` gives


def raise_power(base: Any, exponent: Any) -> Any:
    """Return a power; one that is no real number, or endless to write, is an error."""
    whole = isinstance(base, int) and isinstance(exponent, int) and abs(base) > 1
    if whole and exponent * math.log2(abs(base)) >= _LONGEST_POWER:
        raise OverflowError(f"{base} ** {exponent} has too many digits")
    result = base**exponent
    if isinstance(result, complex):
        raise ValueError(f"{base} ** {exponent} is no real number")
    return result


ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv,
    "%": operator.mod, "**": raise_power,
}  # fmt: skip


def is_vector(value: Any) -> bool:
    """Tell whether a value is calculated with element by element."""
    if isinstance(value, list | tuple):
        return True
    return (isinstance(value, np.ndarray) or is_tensor(value)) and bool(value.ndim)


def as_vector(value: Any) -> Array:
    """Return the numbers of a vector in 64 bits."""
    try:
        found = np.asarray(to_host(value))
    except ValueError:  # of numpy, which has no place for such a list
        raise ValueError("items of several lengths are no vector") from None
    is_whole = all(isinstance(one, int) for one in found.flat[:1])
    if found.dtype.kind in "uO" and is_whole and abs(found).max() > _LARGEST:
        raise OverflowError("a vector holds numbers that are too large")
    if found.dtype.kind in "biu":
        return found.astype(np.int64)
    if found.dtype.kind == "f":
        return found.astype(np.float64)
    if not found.size:
        return found.astype(np.float64)
    raise TypeError(f"only numbers are calculated with, but a vector holds {value!r}")


def calculate(signs: str, first: Any, *others: Any) -> Any:
    """Calculate a chain such as `a + b - c`, from its left end; signs stand with blanks."""
    steps = zip(signs.split(), others, strict=True)
    return reduce(lambda left, step: _apply_sign(step[0], left, step[1]), steps, first)


def _apply_sign(sign: str, left: Any, right: Any) -> Any:
    if not (is_vector(left) or is_vector(right)):
        return ARITHMETIC[sign](left, right)
    a, b = (as_vector(s) if is_vector(s) else _check_number(s) for s in (left, right))
    if is_vector(left) and is_vector(right) and a.shape != b.shape:
        shapes = f"{list(a.shape)} and {list(b.shape)}"
        said = f"`{sign}` takes vectors of one shape"
        raise ValueError(f"{said}, but these have {shapes}")
    if sign == "**":
        return apply_to_each(raise_power, *np.broadcast_arrays(a, b))
    if sign in "/%" and not np.all(b):
        raise ZeroDivisionError("division by zero in a vector")
    if sign in "+-*" and "f" not in (
        np.asarray(a).dtype.kind,
        np.asarray(b).dtype.kind,
    ):
        x, y = (int(np.abs(side).max(initial=0)) for side in (a, b))
        if max(x * y if sign == "*" else x + y, x, y) > _LARGEST:
            raise OverflowError("the numbers of a vector become too large")
    with np.errstate(all="ignore"):
        return ARITHMETIC[sign](a, b)


def _check_number(value: Any) -> Any:
    if isinstance(value, bool | int | float | np.number):
        return value
    raise TypeError(f"a vector is calculated with numbers, not with {value!r}")


def negate(value: Any) -> Any:
    """Return a number, or a vector, with the other sign."""
    return -as_vector(value) if is_vector(value) else -value


def apply_to_each(function: Callable[..., Any], *values: Array) -> Array:
    """Return a vector of what a function of numbers gives for each element."""
    cases = zip(*(np.ravel(value).tolist() for value in values), strict=True)
    results = [function(*case) for case in cases]
    return as_vector(results).reshape(values[0].shape)


def extend_to_vectors(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a function of a number that takes vectors, too."""

    def apply(value: Any) -> Any:
        if is_vector(value):
            return apply_to_each(function, as_vector(value))
        return function(value)

    return apply


def norm(vector: Any, kind: Any = 2) -> float:
    """Return how long a vector is.

    By kind, that is the root of its squares (2), the sum of its sizes (1) or the largest
    of them (inf). It is calculated in Python, so that it is the same in every execution mode.
    """
    if not is_vector(vector):
        raise TypeError(f"`norm` takes a vector, not {vector!r}")
    sizes = [float(size) for size in np.abs(as_vector(vector)).ravel()]
    if any(size != size for size in sizes):
        return math.nan
    if kind == 1:
        return math.fsum(sizes) if math.inf not in sizes else math.inf
    if kind == 2:
        return math.hypot(*sizes)
    if kind == math.inf:
        return max(sizes, default=0.0)
    raise ValueError(f"`norm` is of kind 1, 2 or inf, not {kind!r}")


def isclose(left: Any, right: Any, rel: float = 1e-9, abs: float = 0.0) -> bool:
    """Tell whether numbers are close; of vectors and records, all their elements.

    What is no number, such as a name, must be equal.
    """
    if isinstance(left, dict) and isinstance(right, dict):
        keys = left.keys() == right.keys()
        return keys and all(isclose(v, right[k], rel, abs) for k, v in left.items())
    if is_vector(left) or is_vector(right):
        a, b = (np.asarray(to_host(side), dtype=object) for side in (left, right))
        if is_vector(left) and is_vector(right) and a.shape != b.shape:
            raise ValueError(f"`isclose` of shapes {list(a.shape)} and {list(b.shape)}")
        return all(isclose(one, other, rel, abs) for one, other in np.broadcast(a, b))
    if isinstance(left, str) and isinstance(right, str):
        return left == right
    return math.isclose(left, right, rel_tol=rel, abs_tol=abs)
