"""Features of records of any kind: rows of a schema, dicts, tuples, dataclasses.

`get_feature` and `set_feature` work on one record, the `..._many` forms on a column of
them. A record is a value: setting a feature makes a copy. Numbers come out as Python's
own, whatever held them, so that every way of running a spec reckons alike.
"""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

import numpy as np

from nomos.device import Array, is_tensor, places_on, to_host
from nomos.domain.reading.dates import plain_date, write_date
from nomos.domain.schema import Schema
from nomos.domain.values import copy_owned, plain
from nomos.lang.dates import to_days
from nomos.lang.types import Type

Column = Array | list[Any]  # or a tensor of torch, which mypy is not told of


def get_feature(record: Any, key: Any, schema: Schema | None) -> Any:
    """Return a feature of a record, by name or by number."""
    if isinstance(record, np.ndarray):
        if schema is not None and record.ndim == 1:
            feature, columns = schema.place(key)
            return feature.decode_value(record[columns])
        return plain(record[key])
    if isinstance(record, Mapping):
        return _read_value(record[_name_in(record, key)])
    names = field_names(record)
    if names is not None:
        return _read_value(getattr(record, key if isinstance(key, str) else names[key]))
    return _read_value(record[key])


def _read_value(value: Any) -> Any:
    """Return a value as a spec sees it: a date is the days since 1970."""
    value = plain_date(value)
    return to_days(value) if isinstance(value, date) else value


def _write_value(old: Any, value: Any) -> Any:
    """Return what takes the place of a value: days for a date are a date like it."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not isinstance(old, date | np.datetime64 | str):
        return value
    if isinstance(old, str):
        try:
            to_days(old)
        except ValueError:
            return value
    return write_date(old, value)


def set_feature(record: Any, key: Any, value: Any, schema: Schema | None) -> Any:
    """Return a copy of a record in which one feature has another value."""
    if isinstance(record, np.ndarray):
        changed = record.copy()
        if schema is not None and record.ndim == 1:
            feature, columns = schema.place(key)
            written = np.asarray(feature.write(value))
            is_whole = feature.type is Type.INT
            changed[columns] = cast_values(written, record.dtype, is_whole=is_whole)
        else:
            old, dtype = record[key], record.dtype
            if dtype.names is not None:
                dtype = np.asarray(old).dtype  # a field's own
            changed[key] = _part(value, np.ndim(old), key, dtype)
        changed.flags.writeable = False
        return changed
    if isinstance(record, Mapping):
        name = _name_in(record, key)
        return {**record, name: _write_value(record.get(name), value)}
    names = field_names(record)
    if names is not None:
        name = key if isinstance(key, str) else names[key]
        if name not in names:
            raise KeyError(f"there is no feature {name!r}")
        value = _write_value(getattr(record, name), value)
        if dataclasses.is_dataclass(record):
            return dataclasses.replace(record, **{name: value})  # type: ignore[type-var]  # an instance
        return record._replace(**{name: value})
    if isinstance(record, list | tuple):
        parts = list(record)
        parts[key] = _write_value(parts[key], value)
        return type(record)(parts)
    raise TypeError(f"a {type(record).__name__} has no features")


def _part(value: Any, most: int, key: Any, dtype: np.dtype[Any]) -> Any:
    """Return what an array holds at a key, where it has `most` dimensions."""
    if np.ndim(value) > most:
        raise TypeError(f"feature {key!r} takes a number, not {value!r}")
    if dtype.kind == "V" and np.array(value, dtype).tolist() != value:
        raise OverflowError(f"{value!r} does not fit records of {dtype}")
    if dtype.kind in "OV":
        return value
    given = np.asarray(value)
    if isinstance(value, str | bytes) and given.tolist() != value:  # zeros at its end
        raise OverflowError(f"{value!r} does not fit rows of {dtype}")
    return cast_values(given, dtype)


def _name_in(record: Mapping[Any, Any], key: Any) -> Any:
    """Return the key that is meant: the key itself, or the one at that position."""
    if key in record or not isinstance(key, int):
        return key
    return list(record)[key]


def field_names(record: Any) -> Sequence[str] | None:
    """Return the names of a record's fields, None where it has none."""
    if dataclasses.is_dataclass(record):
        return [field.name for field in dataclasses.fields(record)]
    return getattr(record, "_fields", None)


def get_feature_many(records: Column, key: Any, schema: Schema | None) -> Column:
    """Return a feature of each record of a column."""
    records = to_host(records)
    if isinstance(records, np.ndarray) and records.ndim == 2:
        if schema is not None:
            feature, columns = schema.place(key)
            return feature.decode_values(records[:, columns])
        if isinstance(key, int):
            return numbers(records[:, key])
    return to_column([get_feature(record, key, schema) for record in items(records)])


def set_feature_many(
    records: Column, key: Any, values: Column, schema: Schema | None
) -> Column:
    """Return copies of the records of a column, each with its own new value."""
    records = to_host(records)
    if isinstance(records, np.ndarray) and records.ndim == 2 and schema is not None:
        feature, columns = schema.place(key)
        changed = records.copy()
        written, is_whole = feature.write_many(values), feature.type is Type.INT
        changed[:, columns] = cast_values(written, records.dtype, is_whole=is_whole)
        return changed
    pairs = zip(items(records), items(values), strict=True)
    made = [set_feature(record, key, value, schema) for record, value in pairs]
    return to_column(made)


def cast_values(
    values: Array, dtype: np.dtype[Any], *, is_whole: bool = False
) -> Array:
    """Return values as rows of a type hold them; OverflowError where one does not fit.

    Real numbers are rounded as the type does; nothing else may become another value. Of a
    feature that `is_whole`, reals that are whole are whole numbers.
    """
    if dtype.kind in "iub":
        _check_fits(values, dtype)
    elif dtype.kind == "f":
        _check_floats(values, dtype, is_whole=is_whole)
        if values.dtype.kind in "iu":
            # Python's integers go into a row by way of a double; so do numpy's, then.
            values = values.astype(np.float64)
    elif dtype.kind != "c" and values.dtype != dtype:
        _check_same(values, dtype)
    return values.astype(dtype)


def _check_floats(values: Array, dtype: np.dtype[Any], *, is_whole: bool) -> None:
    """Refuse whole numbers that floats of a type round, and what becomes infinite."""
    kind, (low, high) = values.dtype.kind, whole_limits(dtype)
    if values.dtype == dtype or not values.size or kind == "b":
        return
    if kind in "iu" and low <= int(values.min()) and int(values.max()) <= high:
        return
    # As a float: `high` may not fit a type of few bits.
    if (
        kind == "f"
        and float(np.abs(values[np.isfinite(values)]).max(initial=0)) <= high
    ):
        return
    for value in values.ravel().tolist():
        if not isinstance(value, bool | int | float):
            raise TypeError(f"rows of {dtype} take numbers, not {value!r}")
        try:
            with np.errstate(over="ignore"):
                held = float(dtype.type(value))
        except OverflowError:
            held = math.inf
        whole = isinstance(value, int) or (is_whole and value.is_integer())
        is_other = whole and held != value
        if is_other or (math.isinf(held) and not math.isinf(value)):
            raise OverflowError(f"{value!r} does not fit rows of {dtype}")


def _check_same(values: Array, dtype: np.dtype[Any]) -> None:
    """Refuse what texts, bytes or dates of a type would cut or turn into another value."""
    given = values.tolist()
    same = values.astype(dtype).tolist() == given
    if values.dtype.kind == dtype.kind and dtype.kind in "mM":
        same = bool((values.astype(dtype) == values).all())
    if not same:
        raise OverflowError(f"{given!r} does not fit rows of {dtype}")


def whole_limits(dtype: np.dtype[Any]) -> tuple[int, int]:
    """Return from where to where rows of a type hold every whole number as it is."""
    if dtype.kind == "b":
        return 0, 1
    if dtype.kind == "f":
        largest = 2 ** (int(np.finfo(dtype).nmant) + 1)
        return -largest, largest
    return int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)


def _check_fits(values: Array, dtype: np.dtype[Any]) -> None:
    """Refuse what integers of a type cannot hold: numpy would wrap or cut it."""
    low, high = whole_limits(dtype)
    whole = values.dtype.kind in "iub" and values.size
    if whole and low <= int(values.min()) and int(values.max()) <= high:
        return
    for value in values.ravel().tolist():
        is_whole = isinstance(value, int) or (
            isinstance(value, float) and value.is_integer()
        )
        if not (is_whole and low <= value <= high):
            raise OverflowError(f"{value!r} does not fit rows of {dtype}")


_SCALARS: dict[type, Any] = {int: np.int64, float: np.float64, bool: np.bool_}


def to_column(values: list[Any]) -> Column:
    """Return the column of one value per case: an array where they are alike."""
    if not values:
        return values
    kinds = set(map(type, values))
    if len(kinds) > 1:
        return values
    (kind,) = kinds
    if kind in _SCALARS:
        try:
            return np.array(values, dtype=_SCALARS[kind])
        except OverflowError:
            return values
    if kind is np.ndarray and values[0].ndim:
        shape, dtype = values[0].shape, values[0].dtype
        if all(
            v.shape == shape and (v.dtype is dtype or v.dtype == dtype) for v in values
        ):
            # Three times as fast as `stack`, which makes a view of each value first.
            return np.concatenate(values).reshape(len(values), *shape)
    return values


def numbers(values: Array, *, copy: bool = False) -> Column:
    """Return a one-dimensional array as a column: 64-bit numbers, or a list."""
    kind = values.dtype.kind
    if kind == "b":
        return values.astype(np.bool_, copy=copy)
    if kind == "i" or (kind == "u" and values.dtype.itemsize < 8):
        return values.astype(np.int64, copy=copy)
    if kind == "f" and values.dtype.itemsize <= 8:
        return values.astype(np.float64, copy=copy)
    return to_column([copy_owned(value) for value in values.tolist()])


def items(column: Column) -> list[Any]:
    """Return the values of a column one by one, numbers as Python's own."""
    column = to_host(column)
    if isinstance(column, np.ndarray):
        return column.tolist() if column.ndim == 1 else list(column)
    return column


def take(column: Column, index: Array) -> Column:
    """Return the column of the cases at these positions."""
    if is_tensor(column):
        return column[places_on(column, index)]  # type: ignore[no-any-return]  # a column
    if isinstance(column, np.ndarray):
        return column[index]
    if hasattr(column, "iloc"):  # a data frame, or a column of one
        return column.iloc[index]  # type: ignore[no-any-return]  # a column
    return [column[i] for i in index.tolist()]
