"""Drawn rows, put together only where they are asked for.

Most of a row is never looked at: a feature is read from its own column, a changed
feature is kept beside the row, and the model's answer for an unchanged row is often
remembered. So a column of drawn rows is the places where they were drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from nomos.device import Array, DeviceRows, is_tensor, to_host, to_tensor
from nomos.domain.records import Column, cast_values, items, take, to_column
from nomos.domain.schema import Schema


class SourceRows:
    """The array that inputs are drawn from, and its features as a spec sees them."""

    def __init__(self, rows: Array, schema: Schema | None) -> None:
        self.rows = rows
        self.schema = schema
        self._features: dict[int, Column] = {}
        self._on: dict[str, DeviceRows] = {}

    def on(self, device: str) -> DeviceRows:
        """Return the rows on a device; they are brought there once."""
        if device not in self._on:
            self._on[device] = DeviceRows(self.rows, device)
        return self._on[device]

    def feature(self, key: Any) -> tuple[int, Column]:
        """Return where a feature starts, and its values for all rows."""
        assert self.schema is not None
        feature, columns = self.schema.place(key)
        start: int = columns.start
        if start not in self._features:
            self._features[start] = feature.decode_values(self.rows[:, columns])
        return start, self._features[start]


class Rows:
    """A column of rows of a source, some of their features changed."""

    __slots__ = ("changes", "places", "source")

    def __init__(
        self, source: SourceRows, places: Array, changes: dict[int, Array] | None = None
    ) -> None:
        self.source = source
        self.places = places
        self.changes = changes or {}  # by the first column: what the columns now hold

    def __len__(self) -> int:
        return len(self.places)

    def take(self, index: Array | slice) -> Rows:
        """Return the rows at these positions."""
        changes = {start: values[index] for start, values in self.changes.items()}
        return Rows(self.source, self.places[index], changes)

    def get_feature(self, key: Any) -> Column:
        """Return a feature of each row."""
        start, values = self.source.feature(key)
        if start not in self.changes:
            return take(values, self.places)
        assert self.source.schema is not None
        feature, _ = self.source.schema.place(key)
        return feature.decode_values(self.changes[start])

    def set_feature(self, key: Any, values: Column) -> Rows:
        """Return rows in which each has its own new value of a feature."""
        assert self.source.schema is not None
        feature, columns = self.source.schema.place(key)
        held = cast_values(feature.write_many(values), self.source.rows.dtype)
        return Rows(self.source, self.places, {**self.changes, columns.start: held})

    def array(self) -> Array:
        """Return the rows themselves, as an array of the caller's own."""
        rows = self.source.rows.take(self.places, axis=0)
        for start, values in self.changes.items():
            rows[:, start : start + values.shape[1]] = values
        return rows

    def tensor(self, device: str) -> Any:
        """Return the rows themselves, as a tensor of the caller's own."""
        rows = self.source.on(device).take(self.places)
        for start, values in self.changes.items():
            rows[:, start : start + values.shape[1]] = to_tensor(values, device)
        return rows


def part(value: Any, index: Array) -> Any:
    """Return a value for some of its cases; one that holds for all stays as it is."""
    if isinstance(value, Rows):
        return value.take(index)
    if isinstance(value, np.ndarray | list) or is_tensor(value):
        return take(value, index)
    return value


def frozen(value: Any) -> Any:
    """Guard an array against a function that would change it in place."""
    if isinstance(value, np.ndarray) and value.flags.writeable:
        value = value.view()
        value.flags.writeable = False
    return value


def each(value: Any, count: int) -> list[Any]:
    """Return a value case by case."""
    if isinstance(value, Rows):
        return list(frozen(value.array()))
    if isinstance(value, np.ndarray | list) or is_tensor(value):
        return items(value)
    return [value] * count


def own_column(
    value: Any, chosen: slice, count: int, device: str | None = None
) -> Column:
    """Return a value for some of its cases as a column that may be changed.

    With a device, records are a tensor there.
    """
    if isinstance(value, Rows):
        rows = value.take(chosen)
        return rows.array() if device is None else rows.tensor(device)
    if is_tensor(value):
        return to_host(value[chosen]) if device is None else value[chosen].clone()  # type: ignore[no-any-return]  # a column
    if isinstance(value, np.ndarray):
        return value[chosen].copy()
    if isinstance(value, list):
        return value[chosen]
    return to_column([value] * count)


def rows_as_recorded(
    records: Sequence[Sequence[float]], source: Any, schema: Schema | None, count: int
) -> Array:
    """Return recorded rows as those of a source; raises LookupError for what are none.

    Each feature has a value that the schema allows, or one that a row of the source has.
    """
    if schema is None or not isinstance(source, np.ndarray) or source.ndim != 2:
        raise LookupError("the recorded case has rows, and the inputs are none")
    shape = count, source.shape[1]
    if (len(records), *{len(record) for record in records}) != shape:
        raise LookupError(f"the recorded rows have not the shape {shape} any more")
    wanted = np.array(records, dtype=np.float64)
    with np.errstate(all="ignore"):
        rows = wanted.astype(source.dtype)
    if not np.array_equal(rows.astype(np.float64), wanted, equal_nan=True):
        raise LookupError(f"the recorded rows do not fit into {source.dtype}")
    for feature in schema.features:
        at = schema.place(feature.name)[1]
        for row in rows[:, at]:
            problem = next(feature.problems(row[None]), "")
            same = np.isclose(source[:, at], row, rtol=0, atol=0, equal_nan=True)
            if problem and not same.all(axis=1).any():
                raise LookupError(f"the recorded rows are not of the schema: {problem}")
    return rows
