"""From plain data back to dataclasses, by the types of their fields."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import EnumType
from functools import cache
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

_hints = cache(get_type_hints)


def read(kind: Any, data: Any) -> Any:
    """Return the value of a type that plain data stand for.

    A field that is not there has its default; raises TypeError where it has none. Of an
    enumeration, data have the names.
    """
    inner = [one for one in get_args(kind) if one is not NoneType]
    match get_origin(kind):
        case None if hasattr(kind, "__dataclass_fields__"):
            types = {n: one for n, one in _hints(kind).items() if n in data}
            return kind(**{name: read(one, data[name]) for name, one in types.items()})
        case None if isinstance(kind, EnumType):
            return kind[data]
        case origin if origin in (Union, UnionType):
            return data if data is None or len(inner) > 1 else read(inner[0], data)
        case origin if origin in (tuple, Sequence):
            return tuple(read(inner[0], item) for item in data)
        case origin if origin is Mapping:
            return {key: read(inner[1], item) for key, item in dict(data).items()}
        case _:
            return data
