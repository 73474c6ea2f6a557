"""Splits of trees by categories, as columns that say whether a value is in a set."""

from collections.abc import Sequence
from typing import Literal

import numpy as np

from nomos.device import Array
from nomos.structures.model import ModelColumns
from nomos.structures.trees import Tree


class CategorySplits:
    """The sets of categories by which trees split; each is one more column: 0 or 1."""

    def __init__(self, columns: ModelColumns) -> None:
        self._columns = columns
        self._places: dict[tuple[int, tuple[int, ...], bool], int] = {}

    def send_levels(
        self,
        tree: Tree,
        node: int,
        levels: Sequence[int],
        side: Literal["left", "right"],
        *,
        unknown: bool = False,
    ) -> None:
        """Let a node send these levels to a side; `unknown` says: what is none, too."""
        key = int(tree.feature[node]), tuple(levels), unknown
        place = self._places.setdefault(key, len(self._places))
        tree.feature[node] = len(self._columns.origins) + place
        tree.threshold[node] = 0.5  # those of the set are above it, and go right
        if side == "left":
            tree.left[node], tree.right[node] = tree.right[node], tree.left[node]

    def columns(self) -> ModelColumns:
        """Return the model's columns, those of the sets after them."""
        known, sets = self._columns, tuple(self._places)
        if not sets:
            return known

        def transform(rows: Array) -> Array:
            made = known.transform(rows)
            more = [
                np.isin(made[:, place], levels) | (np.isnan(made[:, place]) & unknown)
                for place, levels, unknown in sets
            ]
            return np.column_stack([made, *(one.astype(made.dtype) for one in more)])

        origins = (
            known.origins[place].after_step(rising=False, affine=False)
            for place, _, _ in sets
        )
        return ModelColumns(transform, (*known.origins, *origins))
