"""Models that add up trees."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from nomos.device import Array
from nomos.domain.records import whole_limits
from nomos.errors import NotProvable
from nomos.structures.model import DOUBLE, Structure


@dataclass(frozen=True, slots=True, eq=False)
class Tree:
    """A tree as arrays over its nodes; a leaf has no children (-1) and its values."""

    feature: Array
    threshold: Array
    left: Array
    right: Array
    value: Array  # (nodes, scores)

    def leaf(self, columns: Array, *, strict: bool) -> Array:
        """Return the leaf that each row reaches."""
        numbers, here = np.ravel(columns), np.arange(len(self.left))
        leaf = self.left < 0
        # From a leaf, either side leads back to it.
        sides = [np.where(leaf, here, side) for side in (self.right, self.left)]
        children = np.stack(sides, axis=1).ravel()
        feature = np.where(leaf, 0, self.feature)
        first = np.arange(len(columns)) * columns.shape[1]
        at: Array = np.zeros(len(columns), np.int64)
        while len(leaf) > 1:
            x, bound = numbers.take(first + feature.take(at)), self.threshold.take(at)
            goes_left = x < bound if strict else x <= bound
            after = children.take(2 * at + goes_left)
            if (after == at).all():
                break
            at = after
        return at


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Trees(Structure):
    """A sum of trees.

    Attributes:
        base: What is added to the sums.
        strict: A row goes left where its number is smaller, not where it is equal.
        in_order: Sums are made in one order, tree by tree, and the label is decided by
            them: so if no tree gives more, the sum is not more, rounding included.
    """

    trees: tuple[Tree, ...]
    base: Array
    strict: bool = False
    in_order: bool = True

    def __post_init__(self) -> None:
        """Refuse trees with numbers that cannot be compared or added."""
        for tree in self.trees:
            if np.isnan(tree.threshold[tree.left >= 0]).any():
                raise NotProvable("the model has a threshold that is not a number")
            if not np.isfinite(tree.value).all():
                raise NotProvable("the model has a leaf whose value is not finite")
        if not self.trees:
            raise NotProvable("the model has no trees")
        if not np.isfinite(self.base).all():
            raise NotProvable("the model begins with a score that is not finite")

    @property
    def outputs(self) -> int:
        """How many scores there are."""
        return len(self.base)

    @property
    def terms(self) -> int:
        """How many trees there are."""
        return len(self.trees)

    @property
    def sizes(self) -> Array:
        """How large each score may be."""
        most = sum(np.abs(tree.value).max(axis=0) for tree in self.trees)
        return np.asarray(np.abs(self.base) + most)

    @property
    def largest(self) -> float:
        """A bound on the size of all scores."""
        return float(self.sizes.max())

    @property
    def error(self) -> Array:
        """How far the library's sums may be from the true ones, for each score."""
        # Twice: the sums that bounds are made of are rounded as well.
        growth = 2 * (len(self.trees) + 4) * (self.roundoff + DOUBLE)
        return growth * self.sizes + self.link

    def error_on(self, rows: Array) -> Array:
        """Bound the error of scores, which is the same for all rows."""
        return self.error

    def scores(self, rows: Array) -> Array:
        """Return the sums for rows, calculated as they are defined."""
        columns = self.columns.transform(rows)
        total = np.tile(self.base.astype(float), (len(rows), 1))
        for tree in self.trees:
            total += tree.value[tree.leaf(columns, strict=self.strict)]
        return total


def place_values(value: Array, place: int, count: int) -> Array:
    """Return the values of nodes as those of one of several scores."""
    values = np.zeros((len(value), count))
    values[:, place] = value
    return values


class TreeKeys:
    """Which values of features trees distinguish."""

    def __init__(self, model: Trees, space: Any, dtype: np.dtype[Any]) -> None:
        self.model, self.space, self.dtype = model, space, dtype
        found: dict[int, list[Array]] = {}
        for tree in model.trees:
            forks = tree.left >= 0
            for column in np.unique(tree.feature[forks]):
                own = tree.threshold[forks & (tree.feature == column)]
                found.setdefault(int(column), []).append(own)
        self.thresholds = {c: np.unique(np.concatenate(t)) for c, t in found.items()}
        self._starts: dict[str, Array] = {}

    def places(self, feature: str) -> list[int]:
        """Return the model's columns that trees compare and a feature makes."""
        own = self.model.columns.find_made_of(self.space.ranges[feature].columns)
        return [place for place in own if place in self.thresholds]

    def columns(self, feature: str, values: Array) -> Array:
        """Return the model's columns at `places` for values of a feature."""
        own, columns = self.places(feature), self.model.columns
        made: Array = self.space.list_columns(feature, values, self.dtype, columns, own)
        return made

    def of(self, feature: str, values: Array) -> Array:
        """Return the cells of values: between which thresholds they lie."""
        side: Literal["left", "right"] = "right" if self.model.strict else "left"
        places = self.places(feature)
        made = self.columns(feature, values).T if places else np.empty((0, 0))
        found = [np.zeros(len(values), np.int64)]
        for place, column in zip(places, made, strict=True):
            found.append(np.searchsorted(self.thresholds[place], column, side))
        return np.stack(found, axis=1)

    def rises(self, feature: str) -> bool:
        """Tell whether every column of a feature rises with it."""
        one = self.space.ranges[feature]
        return one.names is None and all(
            self.model.columns.origins[place].rising for place in self.places(feature)
        )

    def starts(self, feature: str) -> Array:
        """Return the whole numbers at which a cell begins, found by halving."""
        if feature not in self._starts:
            # Beyond what rows hold, numbers wrap around and rise no more.
            least, most = whole_limits(self.dtype)
            ends = max(least, -(2**53)), min(most, 2**53)
            self._starts[feature] = self.find_starts(feature, *ends, np.asarray)
        return self._starts[feature]

    def find_starts(
        self, feature: str, least: int, most: int, decode: Callable[[Array], Array]
    ) -> Array:
        """Return the places from `least` to `most` at which a cell begins, by halving.

        `decode` gives the values at places, which rise with them.
        """
        places = self.places(feature)
        if not places or not self.rises(feature):
            return np.empty(0, np.int64)
        found = []
        for column, place in enumerate(places, start=1):
            wanted = np.arange(1, len(self.thresholds[place]) + 1)
            low = np.full(len(wanted), least)  # below every threshold, or never met
            high = np.full(len(wanted), most)
            while (low < high).any():
                middle = (low >> 1) + (high >> 1) + (low & high & 1)
                there = self.of(feature, decode(middle))[:, column] >= wanted
                high = np.where(there, middle, high)
                low = np.where(there, low, np.minimum(middle + 1, high))
            found.append(low)
        return np.unique(np.concatenate(found))
