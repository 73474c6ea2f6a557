"""When two answers are the same: one meaning for whoever asks a model twice.

Whole numbers, names and truth values are the same if they are equal. Real numbers may
differ by rounding: little beside the *spread* of the answers, so that neither a large
offset (500.2, 500.3) nor a small unit (scores below 0.01) hides what changed.
"""

from collections.abc import Mapping
from numbers import Number
from typing import Any

import numpy as np

from nomos.device import Array, is_tensor, to_host
from nomos.domain.records import Column, items

_OF_SPREAD = 1e-4  # of the spread of the answers
_OF_SIZE = 1e-6  # of a number itself: a few last places of 32 bits
_WHOLE_UP_TO = 2.0**20  # reals of 32 bits hold whole numbers and parts of them so far
_SIMPLE = (int, float, str, bool)  # what most answers are; a short cut
_MOST = 100_000  # numbers that a spread is taken of

# A number for answers that are numbers; for lists of numbers one for each place.
Spread = Any


def measure_spread(answers: Column) -> Spread:
    """Return how far apart answers lie that are real numbers; 0 for all others."""
    column = to_host(answers)
    if isinstance(column, np.ndarray) and column.dtype != object:
        most = _MOST // max(1, column[:1].size) + 2
        return _spread(column[:most]) if column.dtype.kind == "f" else 0.0
    found = items(column)[:_MOST]
    if not found:
        return 0.0
    if all(isinstance(answer, Number) for answer in found):
        reals = [answer for answer in found if isinstance(answer, float)]
        return _spread(np.array(reals)) if reals else 0.0
    sizes = {len(a) if isinstance(a, list | tuple) else -1 for a in found}
    if len(sizes) == 1 and -1 not in sizes:
        return tuple(map(measure_spread, map(list, zip(*found, strict=True))))
    arrays = [a for a in found if isinstance(a, np.ndarray) and a.dtype.kind == "f"]
    if len(arrays) == len(found) and len({a.shape for a in arrays}) == 1:
        return _spread(np.stack(arrays))
    return 0.0


def _spread(column: Array) -> Any:
    """Return the median distance of a column's numbers from their median.

    Those that are equal to it do not count, so that rare answers have a spread. What lies far
    out moves it little, as long as it is not a half of them.
    """
    numbers = column.astype(np.float64)
    with np.errstate(all="ignore"):
        apart = np.abs(numbers - _median_finite(numbers))
        wide = _median_finite(np.where(apart > 0, apart, np.inf))
    return np.where(np.isfinite(wide), wide, 0.0)


def _median_finite(column: Array) -> Array:
    """Return the median of the finite numbers at each place; infinite where none is."""
    if not len(column):
        return np.asarray(np.inf)
    finite = np.isfinite(column)
    ordered = np.sort(np.where(finite, column, np.inf), axis=0)
    place = np.maximum(finite.sum(axis=0) - 1, 0) // 2
    return np.asarray(np.take_along_axis(ordered, place[None], axis=0)[0])


def find_changed_answers(
    first: Column, second: Column, *, rounding: Array | None = None
) -> Array:
    """Return which answers are others the second time.

    `rounding` is by how much real numbers may differ, where that is known.
    """
    one, other = to_host(first), to_host(second)
    kinds = {getattr(getattr(c, "dtype", None), "kind", "") for c in (one, other)}
    if kinds <= {*"biuf"} and one.shape == other.shape:
        same = _same_numbers(one, other, measure_spread(one), rounding)
        return np.asarray(~same.reshape(len(one), -1).all(axis=1))
    spread = measure_spread(one)
    pairs = zip(items(one), items(other), strict=True)
    return np.array([not is_same_answer(a, b, spread) for a, b in pairs], dtype=bool)


def is_same_answer(first: Any, second: Any, spread: Spread | None = None) -> bool:
    """Tell whether two answers are the same, given the spread of such answers.

    Without a spread, real numbers must be equal, too. NaN is the same as NaN. Objects that
    cannot be compared are the same if they are of one kind.
    """
    if type(first) is type(second) and type(first) in _SIMPLE and first == second:
        return True
    if is_tensor(first) or is_tensor(second):
        return is_same_answer(to_host(first), to_host(second), spread)
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        return first.keys() == second.keys() and all(
            is_same_answer(first[key], second[key], _none(spread)) for key in first
        )
    if isinstance(first, list | tuple) and isinstance(second, list | tuple):
        if len(first) != len(second):
            return False
        each = spread if isinstance(spread, tuple) else (_none(spread),) * len(first)
        each = each if len(each) == len(first) else (0.0,) * len(first)
        return all(map(is_same_answer, first, second, each))
    try:
        a, b = np.asarray(first), np.asarray(second)
    except ValueError:  # lists of many lengths are no array, and the other is no list
        return False
    if {a.dtype.kind, b.dtype.kind} <= {*"biuf"}:
        same = a.shape == b.shape and _same_numbers(a, b, spread)
        return bool(np.all(same))
    try:
        if isinstance(first, np.ndarray) or isinstance(second, np.ndarray):
            return np.array_equal(a, b)
        is_comparable = any("__eq__" in vars(kind) for kind in type(first).__mro__[:-1])
        return bool(first == second) if is_comparable else type(first) is type(second)
    except Exception:  # what cannot be compared is not known to differ
        return type(first) is type(second)


def _none(spread: Spread | None) -> Spread | None:
    return None if spread is None else 0.0


def _same_numbers(
    a: Array, b: Array, spread: Spread | None, rounding: Array | None = None
) -> Array:
    """Tell, number by number, which are the same."""
    if a.dtype.kind != "f" and b.dtype.kind != "f":
        return np.asarray(a == b)
    a, b = a.astype(np.float64), b.astype(np.float64)
    same: Array = (a == b) | (np.isnan(a) & np.isnan(b))
    if spread is None:
        return same
    if isinstance(spread, tuple) or np.shape(spread) not in (
        (),
        a.shape[-np.ndim(spread) :],
    ):
        spread = 0.0
    with np.errstate(all="ignore"):
        size = np.maximum(np.abs(a), np.abs(b))
        whole = (np.rint(a) == a) & (np.rint(b) == b) & (size < _WHOLE_UP_TO)
        allowed = np.where(whole, 0.0, _OF_SPREAD * spread + _OF_SIZE * size)
        near = np.abs(a - b) <= (allowed if rounding is None else rounding)
    same |= near & np.isfinite(a) & np.isfinite(b)
    return same
