"""Values of a case as plain data: what JSON, the store and a reader can hold."""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from datetime import date
from hashlib import sha256
from typing import Any

import numpy as np

from nomos.domain.schema import Schema
from nomos.domain.values import plain
from nomos.results.result import Bug

_LARGEST_ARRAY = 64  # numbers; of larger arrays only the shape and a checksum are kept
_LONGEST_REPR = 500
_PLAIN = (int, str, bool, type(None))


def describe(value: Any, schema: Schema | None = None) -> Any:
    """Return a value as data made of dicts, lists, strings, numbers and None."""
    if type(value) in _PLAIN:  # most are, and bugs have many of them
        return value
    if type(value) is float and math.isfinite(value):
        return value
    if isinstance(value, np.ndarray):
        return _describe_array(value, schema)
    value = plain(value)
    if isinstance(value, date | np.datetime64):
        return str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, int | str):
        return value
    if isinstance(value, Mapping):
        return {str(key): describe(inner) for key, inner in value.items()}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in dataclasses.fields(value)]
        return {name: describe(getattr(value, name)) for name in names}
    if hasattr(value, "_fields"):
        return {name: describe(getattr(value, name)) for name in value._fields}
    if isinstance(value, list | tuple):
        return [describe(inner) for inner in value]
    return repr(value)[:_LONGEST_REPR]


def describe_values(
    values: Mapping[str, Any], outputs: Sequence[str], schema: Schema | None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the values of a case as data: inputs and vars, and outputs."""
    data = {name: describe(value, schema) for name, value in values.items()}
    return (
        {name: value for name, value in data.items() if name not in outputs},
        {name: value for name, value in data.items() if name in outputs},
    )


def distances(bug: Bug) -> list[str]:
    """Say of each input that a search has made how far it is from the data."""
    several = len(bug.nearest) > 1
    return [
        f"input {number if several else ''}".strip()
        + f" was generated: it is {near.text}"
        for number, near in enumerate(bug.nearest, 1)
    ]


def _describe_array(value: np.ndarray[Any, Any], schema: Schema | None) -> Any:
    if schema is not None and value.shape == (schema.width,):
        return {name: describe(read(value[at])) for name, read, at in schema.readers}
    if value.size <= _LARGEST_ARRAY:
        return describe(value.tolist())
    digest = sha256(np.ascontiguousarray(value).tobytes()).hexdigest()
    return {"shape": list(value.shape), "dtype": str(value.dtype), "sha256": digest}
