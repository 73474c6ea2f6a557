"""The inputs that a proof speaks of: a range of values for each feature of the schema."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any

import numpy as np

from nomos.device import Array
from nomos.domain.schema import (
    Category,
    Feature,
    Flag,
    Integer,
    OneHot,
    Ordinal,
    Real,
    Schema,
)
from nomos.errors import NomosError, NotProvable
from nomos.results.result import Outside

_CELLS_AT_ONCE = 2_000_000  # of rows and features: memory
_SHOWN = 10  # of the rows outside
EVERY_FEATURE = "*"  # in the place of a feature's name


@dataclass(frozen=True, slots=True)
class FeatureRange:
    """The values that a feature may have: names, or all numbers from low to high."""

    feature: Feature
    columns: slice
    low: float = 0
    high: float = 0
    names: tuple[str, ...] | None = None

    @property
    def is_real(self) -> bool:
        """Whether there are more values than can be counted."""
        return isinstance(self.feature, Real) and self.low < self.high

    @property
    def count(self) -> int:
        """How many values there are; one for a real range, which is not counted."""
        if self.names is not None:
            return len(self.names)
        return 1 if self.is_real else int(self.high) - int(self.low) + 1

    def values(self) -> Array:
        """Return all values; the two ends of a real range."""
        if self.names is not None:
            return np.array(self.names)
        if isinstance(self.feature, Real):
            return np.unique([float(self.low), float(self.high)])
        return np.arange(int(self.low), int(self.high) + 1)

    def has(self, values: Array) -> Array:
        """Return which values are in the range."""
        if self.names is not None:
            return np.isin(values, self.names)
        return np.asarray((values >= self.low) & (values <= self.high))

    def sample(self, rng: np.random.Generator, count: int) -> Array:
        """Draw values."""
        if self.is_real:
            return 2 * rng.uniform(self.low / 2, self.high / 2, count)  # no overflow
        if self.names is None and not isinstance(self.feature, Real):
            return rng.integers(int(self.low), int(self.high) + 1, count)
        return rng.choice(self.values(), count)

    def write(self, values: Array, dtype: np.dtype[Any]) -> Array:
        """Return what the columns of rows hold for values, as specs would write them."""
        if not isinstance(self.feature, OneHot | Category):
            if values.size:
                self.check_held(values.min(), values.max(), dtype)
            return values[:, None].astype(float).astype(dtype)
        levels, order = _sort_levels(tuple(self.feature.levels))
        codes = order[np.searchsorted(levels, values)]
        if isinstance(self.feature, Category):
            return codes[:, None].astype(dtype)
        return np.eye(len(levels), dtype=dtype)[codes]

    def check_held(self, low: float, high: float, dtype: np.dtype[Any]) -> None:
        """Refuse numbers that rows cannot hold: numpy would wrap them around."""
        limits: Any = np.finfo(dtype) if dtype.kind == "f" else np.iinfo(dtype)
        least, most = float(limits.min), float(limits.max)
        if low < least or high > most:
            found = f"{low:g} to {high:g}"
            name = self.feature.name
            raise NotProvable(f"`{name}` gets {found}: rows of {dtype} do not hold it")

    def decode_values(self, rows: Array) -> Array:
        """Return the values of this feature in rows."""
        read = self.feature.decode_values(rows[:, self.columns])
        if isinstance(self.feature, OneHot | Category):
            return np.array(list(read), dtype=str)
        return np.asarray(read)


@cache
def _sort_levels(levels: tuple[str, ...]) -> tuple[Array, Array]:
    """Return levels in order, and the place of each in the schema."""
    order = np.argsort(levels)
    return np.array(levels)[order], order


@dataclass(frozen=True)
class Space:
    """All records with each feature in its range."""

    schema: Schema
    ranges: Mapping[str, FeatureRange]

    @property
    def is_real(self) -> bool:
        """Whether some feature has more values than can be counted."""
        return any(one.is_real for one in self.ranges.values())

    def range_of(self, variable: str) -> FeatureRange:
        """Return the range of a feature of an input, such as `x1.age`."""
        return self.ranges[variable.partition(".")[2]]

    def inside(self, data: Array) -> Array:
        """Return which rows lie in the space; one with a missing value does not."""
        ok = np.ones(len(data), bool)
        for one in self.ranges.values():
            ok &= one.has(one.decode_values(data))
        return ok

    def list_outside(self, data: Array) -> Outside | None:
        """Return which rows lie outside, and by which features; None if all are inside."""
        out = {n: ~one.has(one.decode_values(data)) for n, one in self.ranges.items()}
        rows = np.flatnonzero(~self.inside(data))
        counts = {name: int(own.sum()) for name, own in out.items() if own.any()}
        if not len(rows):
            return None
        return Outside(len(data), len(rows), tuple(rows[:_SHOWN].tolist()), counts)

    def restrict_to(self, changes: Mapping[str, FeatureRange]) -> Space:
        """Return a smaller space."""
        return Space(self.schema, {**self.ranges, **changes})

    def rows(
        self, values: Mapping[str, Array], count: int, dtype: np.dtype[Any]
    ) -> Array:
        """Return rows whose features have these values."""
        rows = np.zeros((count, self.schema.width), dtype)
        for name, one in self.ranges.items():
            rows[:, one.columns] = one.write(values[name], dtype)
        return rows

    @cached_property
    def lowest(self) -> Array:
        """The row whose features all have their first value, in doubles."""
        # Not of all values: they may be too many for the memory.
        first = {
            name: np.array([one.low] if one.names is None else one.names[:1])
            for name, one in self.ranges.items()
        }
        return self.rows(first, 1, np.dtype(float))

    def change_feature(self, name: str, values: Array, dtype: np.dtype[Any]) -> Array:
        """Return rows with these values of one feature, and the lowest of the others."""
        one = self.ranges[name]
        rows = np.repeat(self.lowest.astype(dtype), len(values), axis=0)
        rows[:, one.columns] = one.write(values, dtype)
        return rows

    def list_columns(
        self, name: str, values: Array, dtype: np.dtype[Any], model: Any, own: list[int]
    ) -> Array:
        """Return some of a model's columns for values of a feature, (values, columns).

        They are made for a part of the values at once: a row has all features, and
        millions of rows of hundreds of features do not fit into memory.
        """
        step = max(1, _CELLS_AT_ONCE // self.schema.width)
        parts = (values[n : n + step] for n in range(0, max(1, len(values)), step))
        made = [
            model.transform(self.change_feature(name, part, dtype))[:, own]
            for part in parts
        ]
        return np.concatenate(made)

    def sample(self, rng: np.random.Generator, count: int) -> dict[str, Array]:
        """Draw records, each feature by itself."""
        return {name: one.sample(rng, count) for name, one in self.ranges.items()}


def whole(schema: Schema) -> Space:
    """Return all that a schema allows."""
    places = {f.name: schema.place(f.name) for f in schema.features}
    return Space(schema, {n: feature_range(*place) for n, place in places.items()})


def feature_range(feature: Feature, columns: slice) -> FeatureRange:
    """Return all values that a schema allows a feature; raises where they have no end."""
    match feature:
        case OneHot() | Category():
            return FeatureRange(feature, columns, names=feature.drawn)
        case Ordinal(levels=levels):
            return FeatureRange(feature, columns, 0, len(levels) - 1)
        case Flag():
            return FeatureRange(feature, columns, 0, 1)
        case Integer(low=low, high=high) | Real(low=low, high=high):
            if not (math.isfinite(low) and math.isfinite(high)) or low > high:
                raise NotProvable(
                    f"`{feature.name}` ranges from {low} to {high}: "
                    "a proof needs a finite range in the schema"
                )
            return FeatureRange(feature, columns, low, high)
        case _:
            raise NotProvable(
                f"`{feature.name}` is a {type(feature).__name__}, "
                "of which a proof does not know the values"
            )


def within(space: Space, text: str) -> Space:
    """Return the part of a space that `age=18..70,sex=Female|Male` names."""
    changes = {}
    for part in text.split(","):
        name, equals, wanted = part.strip().partition("=")
        if not equals or name not in space.ranges:
            known = ", ".join(space.ranges)
            raise NomosError(f"--within: {part!r} is not FEATURE=RANGE of {known}")
        if name in changes:
            raise NomosError(f"--within: `{name}` is there twice")
        changes[name] = _restrict_feature(space.ranges[name], wanted)
    return space.restrict_to(changes)


def _restrict_feature(one: FeatureRange, wanted: str) -> FeatureRange:
    name = one.feature.name
    if one.names is not None:
        chosen = tuple(dict.fromkeys(wanted.split("|")))
        if unknown := [level for level in chosen if level not in one.names]:
            raise NomosError(f"--within: `{name}` has no level {unknown[0]!r}")
        return replace(one, names=chosen)
    low, dots, high = wanted.partition("..")
    try:
        first = float(low) if low else one.low
        last = (float(high) if high else one.high) if dots else first
        if math.isnan(first) or math.isnan(last):
            raise ValueError
    except ValueError:
        raise NomosError(f"--within: {wanted!r} is no range LOW..HIGH") from None
    return _intersect_ranges(one, first, last)


def _intersect_ranges(one: FeatureRange, low: float, high: float) -> FeatureRange:
    """Return the common part of a range and another."""
    low, high = max(low, one.low), min(high, one.high)
    if not isinstance(one.feature, Real):
        low, high = math.ceil(low), math.floor(high)
    if low > high:
        name, given = one.feature.name, f"{one.low:g} to {one.high:g}"
        raise NomosError(f"`{name}` has no such value: the schema has {given}")
    return replace(one, low=low, high=high)


def around(space: Space, row: Array, radius: Mapping[str, float]) -> Space:
    """Return the records whose features are as near to a row's as `radius` says."""
    changes = {}
    for name, one in space.ranges.items():
        value = one.decode_values(row[None])[0]
        distance = radius.get(name, radius.get(EVERY_FEATURE, 0.0))
        if math.isinf(distance):
            continue
        if one.names is not None:
            changes[name] = replace(one, names=(str(value),))
        else:
            changes[name] = _intersect_ranges(one, value - distance, value + distance)
    return space.restrict_to(changes)
