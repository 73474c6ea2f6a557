"""Rows as one number for each feature: what a search changes, within the schema.

A name of a category or of a one-hot group is the position of its level, so that every
number in a feature's range stands for a row that the schema allows.
"""

from __future__ import annotations

import numpy as np

from nomos.device import Array
from nomos.domain.schema import (
    Feature,
    Flag,
    Integer,
    Levelled,
    OneHot,
    Real,
    Schema,
)


class Encoding:
    """The features of the rows of a source, and the range of each."""

    def __init__(self, schema: Schema, rows: Array) -> None:
        self.schema = schema
        self.dtype = rows.dtype
        self.data = self.encode(rows)  # one row of numbers for each row
        ranges = [self._range(n, f) for n, f in enumerate(schema.features)]
        self.low, self.high = (np.array(side) for side in zip(*ranges, strict=True))
        self.whole = np.array([self._is_whole(n) for n in range(len(ranges))])

    def _is_whole(self, number: int) -> bool:
        feature = self.schema.features[number]
        if type(feature) is Feature:  # of which only the data tell
            return bool((np.rint(self.data[:, number]) == self.data[:, number]).all())
        return not isinstance(feature, Real)

    def _range(self, number: int, feature: Feature) -> tuple[float, float]:
        """Return the smallest and the largest value; where the schema has none, the data's."""
        match feature:
            case Flag():
                return 0.0, 1.0
            case Levelled(levels=levels):
                return 0.0, len(levels) - 1.0
            case Integer(low=low, high=high) | Real(low=low, high=high):
                if np.isfinite(low) and np.isfinite(high):
                    return float(low), float(high)
            case _:
                pass
        own = self.data[:, number]
        return float(own.min()), float(own.max())

    def encode(self, rows: Array) -> Array:
        """Return one number for each feature of rows."""
        found = []
        for number, feature in enumerate(self.schema.features):
            columns = rows[:, self.schema.place(number)[1]]
            is_group = isinstance(feature, OneHot)
            found.append(columns.argmax(axis=1) if is_group else columns[:, 0])
        return np.stack(found, axis=1).astype(np.float64)

    def decode(self, values: Array) -> Array:
        """Return the rows that numbers stand for."""
        if not any(isinstance(feature, OneHot) for feature in self.schema.features):
            return values.astype(self.dtype)  # a column for each feature
        rows = np.zeros((len(values), self.schema.width), dtype=self.dtype)
        for number, feature in enumerate(self.schema.features):
            columns = self.schema.place(number)[1]
            own = values[:, number]
            if isinstance(feature, OneHot):
                at = columns.start + own.astype(np.int64)
                rows[np.arange(len(values)), at] = 1
            else:
                rows[:, columns.start] = own
        return rows
