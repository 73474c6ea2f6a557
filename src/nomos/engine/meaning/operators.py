"""Comparing, taking items, adding up; and the built-in functions, in one table."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date
from itertools import combinations, product
from numbers import Number
from typing import Any

import numpy as np

from nomos.device import is_tensor, to_host
from nomos.domain.schema import MISSING
from nomos.domain.values import plain
from nomos.engine.meaning import vectors
from nomos.lang.dates import to_days

Function = Callable[..., Any]


def concatenate(first: Any, second: Any) -> str:
    """Join two strings."""
    if not isinstance(first, str) or not isinstance(second, str):
        raise TypeError("strConcat takes strings")
    return first + second


def equal(left: Any, right: Any) -> bool:
    """Compare as the language does: a string with a number is a mistake, not false."""
    text, other = (left, right) if isinstance(left, str) else (right, left)
    numbers = isinstance(other, np.ndarray) and other.dtype.kind in "biuf"
    if isinstance(text, str) and isinstance(other, Number) and not is_nan(other):
        raise TypeError(f"no string is compared with a number: {text!r} and {other!r}")
    if isinstance(text, str) and numbers:
        raise TypeError(f"no string is compared with numbers: {text!r} and {other!r}")
    return same(left, right)


def same(left: Any, right: Any) -> bool:
    """Compare by value; arrays element by element, and NaN equals nothing."""
    if isinstance(left, np.ndarray) or isinstance(right, np.ndarray):
        return np.array_equal(left, right)
    if isinstance(left, list | tuple) and type(left) is type(right):
        # Python finds one object equal to itself, NaN too.
        return len(left) == len(right) and all(map(same, left, right))
    return bool(left == right)


def differ(left: Any, right: Any) -> bool:
    """Tell whether values differ; a comparison with NaN does not hold."""
    if equal(left, right):
        return False
    return not (is_nan(left) or is_nan(right))


def contains(items: Any, item: Any) -> bool:
    """Tell whether a list or a set has an item that equals this one."""
    if not vectors.is_vector(items) and not isinstance(items, set | frozenset | range):
        raise TypeError(f"`in` takes a list or a set, not {items!r}")
    # All are compared, so that a mistake among them never depends on their order.
    found = [equal(plain(one), item) for one in to_host(items)]
    return any(found)


def is_missing(value: Any) -> bool:
    """Tell whether a feature has no value: NaN, null, or a text that stands for a gap."""
    if isinstance(value, str):
        return value in MISSING
    return value is None or is_nan(value)


PYTHON: dict[str, Function] = {
    "==": equal,
    "!=": differ,
    "<": lambda a, b: bool(a < b),
    "<=": lambda a, b: bool(a <= b),
    ">": lambda a, b: bool(a > b),
    ">=": lambda a, b: bool(a >= b),
}


def rank_names(levels: Sequence[str], names: Any) -> Any:
    """Return the places of names in their order: of one, or of an array of them."""
    places = {level: place for place, level in enumerate(levels)}
    try:
        if isinstance(names, np.ndarray):
            found = [places[name] for name in names.ravel().tolist()]
            return np.array(found, dtype=np.int64).reshape(names.shape)
        return places[names]
    except KeyError as error:
        raise ValueError(f"{error} is none of {', '.join(levels)}") from None


def compare_names(sign: str, levels: Sequence[str], left: Any, right: Any) -> bool:
    """Compare two names by their order; what is no name, as always."""
    if isinstance(left, str) and isinstance(right, str):
        left, right = rank_names(levels, left), rank_names(levels, right)
    return bool(PYTHON[sign](left, right))


def item_at(items: Any, index: Any) -> Any:
    """Return an item of a list; none is counted from its end."""
    if index < 0:
        raise IndexError(f"there is no item {index}")
    return plain(items[index])


def list_indices(over: Any, count: int = 1, is_ordered: bool = False) -> Iterator[Any]:
    """Yield the indices of a list (or below a size), or so many of them as a tuple."""
    sizes = range(over if isinstance(over, int) else size_of(over))
    if count == 1:
        return iter(sizes)
    if is_ordered:
        return combinations(sizes, count)
    return product(sizes, repeat=count)


def size_of(over: Any) -> int:
    """Return how many items a list or a vector has."""
    if not vectors.is_vector(over):
        raise TypeError(f"there are indices of lists and vectors, not of {over!r}")
    return len(over)


def list_items(over: Any) -> list[Any]:
    """Return the items of a list or a vector."""
    return [item_at(over, index) for index in range(size_of(over))]


def count_true(truths: Iterable[Any]) -> int:
    """Return how many of them hold."""
    return sum(1 for truth in truths if truth)


def add_up(values: Iterable[Any], start: Any = 0) -> Any:
    """Add values up from the first to the last; Python's `sum` may round in other ways."""
    result: Any = start
    for value in values:
        result = vectors.calculate("+", result, plain(value))
    return result


def average(values: Iterable[Any]) -> Any:
    """Return the mean of values; there is none of no values."""
    listed = list(values)
    if not listed:
        raise ValueError("there is no mean of an empty list")
    return vectors.calculate("/", add_up(listed), len(listed))


def is_nan(value: Any) -> bool:
    """Tell whether a value is the number that compares with nothing."""
    single = is_tensor(value) or isinstance(value, np.ndarray)
    if single and not value.shape:
        value = value.item()
    return isinstance(value, float | np.floating) and bool(value != value)


def propagate_nan(choose: Function) -> Function:
    """Return `min` or `max` for which NaN among the values is the result.

    Python's own keep or drop it by the order of the arguments.
    """

    def choose_value(*values: Any, **how: Any) -> Any:
        among = values if len(values) != 1 else tuple(values[0])
        if not among and not how:
            raise ValueError(f"there is no {choose.__name__} of an empty list")
        chosen = choose(*(values if among is values else (among,)), **how)
        found = () if how.get("key") else filter(is_nan, among)
        return plain(next(iter(found), chosen))

    return choose_value


def round_number(number: Any, ndigits: int | None = None) -> Any:
    """Round as Python does; NaN stays NaN, where Python raises."""
    return math.nan if is_nan(number) else round(number, ndigits)


# The functions of the language that need nothing but their arguments.
BUILT_INS: dict[str, Function] = {
    "strConcat": concatenate,
    "isclose": vectors.isclose,
    "abs": vectors.extend_to_vectors(abs),
    "len": len,
    "max": propagate_nan(max),
    "min": propagate_nan(min),
    "round": round_number,
    "missing": is_missing,
    "norm": vectors.norm,
    "unseen": lambda level: level,
    "date": lambda a: to_days(a) if isinstance(a, str | date) else a,
    "days": lambda count: count,
    "sqrt": vectors.extend_to_vectors(math.sqrt),
    "exp": vectors.extend_to_vectors(math.exp),
    "log": vectors.extend_to_vectors(math.log),
    "mean": average,
    "sum": add_up,
}
