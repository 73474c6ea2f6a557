"""Operators on columns: the same results as Python's on each row, all rows at once.

A value is a column or one Python scalar that holds for every row. An operation that
cannot be done on whole columns with Python's exact result returns None; it is then
done row by row. The second result marks the rows on which Python would raise.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from nomos.device import Array, is_tensor, to_host
from nomos.engine.meaning.operators import rank_names
from nomos.engine.meaning.vectors import ARITHMETIC

Result = tuple[Array, Array | None]
_EXACT_IN_FLOAT = 2**53
_LARGEST = 2**63 - 1


def _numeric(value: Any) -> Any | None:
    """Return a number or a column of numbers in a form that numpy reckons with."""
    if isinstance(value, np.ndarray):
        if value.ndim != 1:
            return None
        if value.dtype == np.bool_:
            return value.astype(np.int64)
        return value if value.dtype in (np.int64, np.float64) else None
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, int):
        return value if abs(value) <= _LARGEST else None
    return value if isinstance(value, float) else None


def _is_float(value: Any) -> bool:
    return isinstance(value, float) or getattr(value, "dtype", None) == np.float64


def _largest(value: Any) -> int:
    """Return the largest magnitude of an integer value."""
    if not isinstance(value, np.ndarray):
        return abs(value)  # type: ignore[no-any-return]  # an int
    if not value.size:
        return 0
    return max(abs(int(value.min())), abs(int(value.max())))


def _fits_float(*values: Any) -> bool:
    return all(_is_float(v) or _largest(v) <= _EXACT_IN_FLOAT for v in values)


def arithmetic(sign: str, left: Any, right: Any) -> Result | None:
    """Calculate with columns."""
    if any(isinstance(v, np.ndarray) and v.ndim > 1 for v in (left, right)):
        return _elementwise(sign, left, right)
    a, b = _numeric(left), _numeric(right)
    if a is None or b is None or sign == "**":
        return None  # numpy's powers differ in their last place
    if sign in "/%":
        return _divide(sign, a, b)
    floats = _is_float(a) or _is_float(b)
    if floats and not _fits_float(a, b):
        return None
    if not floats:
        x, y = _largest(a), _largest(b)
        if (x * y if sign == "*" else x + y) > _LARGEST:
            return None
    with np.errstate(all="ignore"):
        return np.asarray(ARITHMETIC[sign](a, b)), None


def _elementwise(sign: str, left: Any, right: Any) -> Result | None:
    """Calculate with columns of vectors of one shape, or of vectors and numbers."""
    sides = [_widen(side) for side in (left, right)]
    shape = max((side.shape for side in sides if isinstance(side, np.ndarray)), key=len)
    for place, side in enumerate(sides):
        if isinstance(side, np.ndarray) and side.ndim == 1:
            sides[place] = side.reshape(-1, *(1 for _ in shape[1:]))
        elif isinstance(side, list) or np.shape(side) not in ((), shape):
            return None
    flat = [np.broadcast_to(s, shape).ravel() if np.ndim(s) else s for s in sides]
    calculated = arithmetic(sign, *flat) if math.prod(shape) else None
    if calculated is None:
        return None
    result, bad = calculated
    if bad is not None:
        bad = np.asarray(bad.reshape(shape[0], -1).any(axis=1))
    return result.reshape(shape), bad


def _widen(value: Any) -> Any:
    """Return a column of numbers in 64 bits, as a single value is calculated with."""
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "bif":
        return value
    return value.astype(np.float64 if value.dtype.kind == "f" else np.int64)


def item(column: Any, index: Any) -> Array | None:
    """Return one item of each vector of a column."""
    if not isinstance(column, np.ndarray) or column.ndim < 2 or type(index) is not int:
        return None
    if not 0 <= index < column.shape[1] or column.dtype.kind not in "bif":
        return None
    chosen: Array = column[:, index]
    return chosen if chosen.ndim > 1 or chosen.dtype == bool else _widen(chosen)


def _divide(sign: str, a: Any, b: Any) -> Result | None:
    if not _fits_float(a, b):
        return None
    zero = np.asarray(b == 0)
    bad = np.broadcast_to(zero, np.broadcast(a, b).shape) if zero.any() else None
    with np.errstate(all="ignore"):
        result = np.true_divide(a, b) if sign == "/" else np.remainder(a, b)
    return np.asarray(result), bad


def change_sign(value: Any, change: Callable[[Any], Any]) -> Array | None:
    """Change the sign of a column, or take it away."""
    number = _numeric(value)
    if number is None or (not _is_float(number) and _largest(number) > _LARGEST):
        return None
    return np.asarray(change(number))


def built_in(name: str, values: list[Any]) -> Array | None:
    """Call a function of the language on columns."""
    match name:
        case "abs":
            return change_sign(values[0], abs)
        case "min" | "max" if len(values) > 1:
            return _extreme(name, values)
        case "round" if len(values) == 1:
            return _round_half_even(values[0])
        case "isclose":
            return _isclose_columns(*values)
        case "missing" if (number := _numeric(values[0])) is not None:
            return np.asarray(np.not_equal(number, number))
        case _:
            return None


def _extreme(name: str, values: list[Any]) -> Array | None:
    """Return the least or the greatest; NaN is either, and of equal ones the first."""
    kinds = {v.dtype if isinstance(v, np.ndarray) else type(v) for v in values}
    floats, integers = {np.dtype(np.float64), float}, {np.dtype(np.int64), int}
    if not (kinds <= floats or kinds <= integers):
        return None  # Python gives one of them as it is, an integer or not
    numbers: list[Any] = [_numeric(value) for value in values]
    if any(number is None for number in numbers):
        return None
    result = numbers[0]
    for other in numbers[1:]:
        better = other < result if name == "min" else other > result
        result = np.where(better | (other != other), other, result)
    return np.asarray(result)


def _round_half_even(value: Any) -> Array | None:
    """Return the nearest integers, halves to the even one."""
    number = _numeric(value)
    if number is None or not isinstance(number, np.ndarray):
        return None
    if not _is_float(number):
        return number
    if not (np.abs(number) < _EXACT_IN_FLOAT).all():
        return None  # NaN, an infinity, or too large
    return np.rint(number).astype(np.int64)


def _isclose_columns(
    left: Any, right: Any, rel: Any = 1e-9, abs: Any = 0.0
) -> Array | None:
    """Compare as `math.isclose` does."""
    a, b = _numeric(left), _numeric(right)
    if a is None or b is None or not _fits_float(a, b):
        return None
    if not all(isinstance(t, int | float) and 0 <= t < _LARGEST for t in (rel, abs)):
        return None
    with np.errstate(all="ignore"):
        apart = np.abs(np.subtract(b, a, dtype=np.float64))
        near = apart <= abs
        for side in (a, b):
            near = near | (apart <= np.abs(np.multiply(rel, side)))
    return np.asarray((a == b) | (near & ~np.isinf(a) & ~np.isinf(b)))


COMPARE = {
    "==": np.equal, "!=": np.not_equal, "<": np.less, "<=": np.less_equal,
    ">": np.greater, ">=": np.greater_equal,
}  # fmt: skip


def compare(operator: str, left: Any, right: Any) -> Array | None:
    """Compare columns of numbers or of strings; with NaN, no comparison holds."""
    a, b = _numeric(left), _numeric(right)
    if a is None or b is None:
        return _compare_strings(operator, left, right)
    if _is_float(a) != _is_float(b) and not _fits_float(a, b):
        return None
    result = np.asarray(COMPARE[operator](a, b))
    if operator == "!=" and (_is_float(a) or _is_float(b)):
        result = result & ~(np.isnan(a) | np.isnan(b))
    return result


def rank_column(levels: Sequence[str], names: Any) -> Any:
    """Return the places of names in their order; None where a row has no such name."""
    try:
        is_names = isinstance(names, str) or names.dtype.kind in "OU"
        return rank_names(levels, names) if is_names else None
    except (AttributeError, TypeError, ValueError):
        return None


def _compare_strings(operator: str, left: Any, right: Any) -> Array | None:
    """Compare columns of names of levels: arrays of objects that are all strings."""
    columns = [side for side in (left, right) if isinstance(side, np.ndarray)]
    others = [side for side in (left, right) if not isinstance(side, np.ndarray)]
    if not columns or not all(isinstance(side, str) for side in others):
        return None
    if any(side.dtype != object or side.ndim != 1 for side in columns):
        return None
    return np.asarray(COMPARE[operator](left, right).astype(bool))


def compare_arrays(operator: str, left: Any, right: Any) -> Array | None:
    """Compare records that are arrays of one shape, element by element."""
    if operator not in ("==", "!="):
        return None
    if not (is_tensor(left) and is_tensor(right)):
        left, right = to_host(left), to_host(right)
        if not isinstance(left, np.ndarray) or not isinstance(right, np.ndarray):
            return None
    if left.ndim < 2 or left.shape != right.shape:
        return None
    same: Array = to_host((left == right).reshape(len(left), -1).all(axis=1))
    return same if operator == "==" else ~same


def truth(value: Any) -> Array | None:
    """Return the truth of each row, as `bool` would give it."""
    if not isinstance(value, np.ndarray) or _numeric(value) is None:
        return None
    return value if value.dtype == np.bool_ else value != 0
