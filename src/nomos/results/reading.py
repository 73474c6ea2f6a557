"""The way in for files that anybody may have written: JSON, and dataclasses made of it.

What is read of a store, a baseline, a JSON result or a checkpoint passes here, and leaves
with the types that its fields have. What it names is not run or opened because of that:
`runner/project/reopening.py` decides this.
"""

import json
import math
from collections.abc import Mapping, Sequence
from enum import EnumType
from functools import cache, partial
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

_MOST_DEPTH = 100  # of lists and objects inside each other
_MOST_BITS = 1000  # of an integer: any of them is a float, too
_hints = cache(partial(get_type_hints, include_extras=True))
# A number of a record: it is NaN where the value is missing. Other numbers never are.
Cell = Annotated[float, "may be missing"]


def parse_json(text: str | bytes) -> Any:
    """Return the data of a JSON text; raises ValueError, however hostile the text is."""
    if not isinstance(text, str | bytes):
        raise ValueError(f"JSON is a text, not {type(text).__name__}")
    try:
        text = text if isinstance(text, str) else text.decode("utf-8")
        data = json.loads(text)
    except RecursionError:
        raise ValueError("JSON is nested too deeply") from None
    if text.count("[") + text.count("{") > _MOST_DEPTH:
        check_depth(data)
    return data


def check_depth(data: Any) -> None:
    """Refuse data that functions which call themselves cannot walk through."""
    level = [data]
    for _ in range(_MOST_DEPTH):
        inner = [item for item in level if isinstance(item, list | dict)]
        if not inner:
            return
        level = [
            part
            for item in inner
            for part in (item.values() if isinstance(item, dict) else item)
        ]
    raise ValueError(f"JSON is nested deeper than {_MOST_DEPTH} levels")


def decode_value(kind: Any, data: Any) -> Any:
    """Return the value of a type that plain data stand for; raises TypeError, ValueError.

    A field that is not there has its default. Of an enumeration, data have the names.
    """
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return _parse_union(inner, data)
    if origin is Annotated:
        is_missing = isinstance(data, float) and math.isnan(data)
        return data if is_missing else decode_value(inner[0], data)
    if origin is Literal:
        return _check_kind(data, isinstance(data, str) and data in inner, kind)
    if origin in (tuple, Sequence):
        return _parse_items(kind, inner, data)
    if origin is Mapping:
        pairs = data.items() if isinstance(data, dict) else data
        _check_kind(pairs, not isinstance(pairs, str), kind)
        return {_key(inner[0], k): decode_value(inner[1], item) for k, item in pairs}
    if hasattr(kind, "__dataclass_fields__"):
        _check_kind(data, isinstance(data, dict), kind)
        types = {n: one for n, one in _hints(kind).items() if n in data}
        return kind(**{n: decode_value(one, data[n]) for n, one in types.items()})
    if isinstance(kind, EnumType):
        return kind[data]
    return _parse_leaf(kind, data)


def _parse_union(kinds: Sequence[Any], data: Any) -> Any:
    if data is None and NoneType in kinds:
        return None
    errors = []
    for kind in kinds:
        try:
            return decode_value(kind, data)
        except (TypeError, ValueError, KeyError) as error:
            errors.append(error)
    raise errors[0]


def _parse_items(kind: Any, inner: Sequence[Any], data: Any) -> tuple[Any, ...]:
    _check_kind(data, isinstance(data, list | tuple), kind)
    if get_origin(kind) is Sequence or Ellipsis in inner:
        return tuple(decode_value(inner[0], item) for item in data)
    return tuple(decode_value(one, item) for one, item in zip(inner, data, strict=True))


def _key(kind: Any, key: Any) -> Any:
    is_written = kind is float and isinstance(key, str)
    return decode_value(kind, float(key) if is_written else key)


def _parse_leaf(kind: Any, data: Any) -> Any:
    """Return a text, a number or a truth."""
    if kind is Any:
        return data
    if kind is str:
        return _check_kind(data, isinstance(data, str), kind)
    if kind is bool:
        return _check_kind(data, isinstance(data, bool), kind)
    _check_kind(data, kind in (int, float) and not isinstance(data, bool), kind)
    _check_kind(data, isinstance(data, int | float if kind is float else int), kind)
    if isinstance(data, int) and data.bit_length() > _MOST_BITS:
        raise ValueError(f"a number has {data.bit_length()} bits")
    if isinstance(data, float) and math.isnan(data):
        raise ValueError("a number is not a number")
    return kind(data)


def _check_kind(data: Any, is_right: bool, kind: Any) -> Any:
    """Return data that are of a kind; raises TypeError where they are not."""
    if not is_right:
        name = getattr(kind, "__name__", str(kind))
        raise TypeError(f"{repr(data)[:60]} is no {name}")
    return data
