"""The rows of a source, and which of them are near to a record."""

from collections.abc import Iterable

import numpy as np

from nomos.device import Array
from nomos.domain.schema import Schema
from nomos.results.result import Nearest


class RealRows:
    """The rows of a source, compared feature by feature."""

    def __init__(self, source: Array, schema: Schema) -> None:
        self.rows = source
        self.schema = schema
        self.slices = [schema.place(f.name)[1] for f in schema.features]
        self._by_column = np.asfortranarray(source)  # rows are compared much faster so
        numbers = source.astype(np.float64)
        spans = [float(np.ptp(numbers[:, s])) or 1.0 for s in self.slices]
        self._scales = np.array(spans)

    def off(self, record: Array, rows: Array | None = None) -> Array:
        """Return in which features each row differs from a record."""
        other: Array = (self._by_column if rows is None else rows) != record
        if len(self.slices) == other.shape[1]:  # a column for each feature
            return other
        return np.stack([other[:, s].any(axis=1) for s in self.slices], axis=1)

    def far(self, record: Array, rows: Array | None = None) -> Array:
        """Return how far rows, by their numbers, are from a record in each feature."""
        some = self.rows if rows is None else self.rows[rows]
        apart = np.abs(some.astype(np.float64) - record.astype(np.float64))
        if len(self.slices) < apart.shape[1]:
            apart = np.stack([apart[:, s].max(axis=1) for s in self.slices], axis=1)
        return np.asarray(apart / self._scales)

    def order(self, record: Array) -> Array:
        """Return the rows by their number of other features, then by how far they are."""
        return np.lexsort((self.far(record).mean(axis=1), self.off(record).sum(axis=1)))

    def nearest(self, record: Array) -> Nearest:
        """Return the first row in this order, and the features in which it differs."""
        off = self.off(record)
        count = off.sum(axis=1)
        near = np.flatnonzero(count == count.min())  # few: only they are measured
        row = int(near[np.lexsort((self.far(record, near).mean(axis=1),))[0]])
        named = zip(self.schema.features, off[row], strict=True)
        return Nearest(row, tuple(feature.name for feature, other in named if other))

    def mix_rows(self, record: Array, row: int, kept: Iterable[int]) -> Array:
        """Return a real row with some features of a record."""
        made: Array = self.rows[row].copy()
        for number in kept:
            made[self.slices[number]] = record[self.slices[number]]
        return made
