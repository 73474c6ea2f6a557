"""Models as what their files calculate: sums of trees, as the boxes of their leaves."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Interval = tuple[Any, Any]
SINGLE, DOUBLE = 2.0**-24, 2.0**-53
LINK = 1e-6  # a library may take scores that are so near to each other for equal
MOST_PAIRS = 3_000_000


class CertificateRefused(Exception):
    """The certificate does not show what it says, or is not understood."""


class BoxTooLarge(Exception):
    """A box is too large to say something of it."""


@dataclass(slots=True)
class ModelInFile:
    """What a file calculates: its scores, and the labels that the highest one gives.

    The only score of a model with labels is positive for the second one.
    """

    body: Any
    labels: list[Any] | None

    @property
    def scores(self) -> int:
        """How many scores there are."""
        return len(self.body.base)

    def columns(self, lo: Array, hi: Array) -> Interval:
        """Return intervals of columns, from those of a row."""
        return lo.astype(self.body.dtype), hi.astype(self.body.dtype)


class LeafBoxes:
    """A sum of trees, as the boxes of all their leaves."""

    def __init__(
        self,
        trees: list[Any],
        base: Any,
        unit: float,
        width: int,
        dtype: Any,
        strict: bool = False,
    ) -> None:
        """Take features, thresholds, left, right and values of the nodes of each tree."""
        found: list[Any] = []
        self.base, self.dtype = np.asarray(base, float), dtype
        for number, (feature, bound, left, right, values) in enumerate(trees):
            stack = [(0, np.full(width, -np.inf, dtype), np.full(width, np.inf, dtype))]
            left_over = len(left)  # a tree visits each of its nodes once
            while stack:
                node, lo, hi = stack.pop()
                left_over -= 1
                if left_over < 0:
                    raise CertificateRefused("the nodes of a tree lead round")
                if left[node] < 0:
                    found.append((number, lo, hi, values[node]))
                    continue
                at, exact = int(feature[node]), float(bound[node])
                cut = dtype(exact)  # the highest that goes left
                if float(cut) > exact or (strict and float(cut) == exact):
                    cut = np.nextafter(cut, dtype(-np.inf))
                one, two = hi.copy(), lo.copy()
                one[at] = min(hi[at], cut)
                two[at] = max(lo[at], np.nextafter(cut, dtype(np.inf)))
                stack += [(int(left[node]), lo, one), (int(right[node]), two, hi)]
        self.tree, self.low, self.high, self.value = map(
            np.array, zip(*found, strict=True)
        )
        self.starts = np.flatnonzero(np.diff(self.tree, prepend=-1))
        most = np.maximum.reduceat(np.abs(self.value), self.starts).sum(axis=0)
        size = np.abs(self.base) + most
        # One tree sums nothing up, and rounds nothing.
        is_sum = len(trees) > 1 or self.base.any()
        self.error = (
            is_sum * 2 * (len(trees) + 4) * (unit + DOUBLE) * size + is_sum * LINK
        )

    def look(self, box: Any) -> LeavesOfRuns:
        """Return what the trees give in a box."""
        return LeavesOfRuns(self, box)


class LeavesOfRuns:
    """Which leaves the runs of the cases in a box reach, alone and two runs together."""

    def __init__(self, trees: LeafBoxes, box: Any) -> None:
        self.trees, self.box = trees, box
        self.levels: dict[int, Array] = {}  # of features with a column for each level
        self.reached: list[Any] = [
            ((trees.low <= hi) & (trees.high >= lo)).all(axis=1) for lo, hi in box.rows
        ]
        for column in box.claim["columns"]:
            if column["width"] > 1:
                at, eye = column["start"], np.eye(column["width"])
                own = slice(at, at + column["width"])
                low, high = trees.low[:, None, own], trees.high[:, None, own]
                self.levels[at] = np.all((low <= eye) & (high >= eye), axis=2)
                for call, (_, hi) in enumerate(box.rows):
                    self.reached[call] &= (self.levels[at] & (hi[own] > 0)).any(axis=1)
        self.together: dict[tuple[int, int], tuple[Array, Array]] = {}

    def sum(self, gains: Array, tree: Array) -> float:
        """Return the sum of the best gain of each tree; none where one has no leaf."""
        starts = np.flatnonzero(np.diff(tree, prepend=-1))
        if len(starts) < len(self.trees.starts):
            return -math.inf
        return float(np.maximum.reduceat(gains, starts).sum())

    def best(self, call: int, weights: Array) -> float:
        """Return the most that a weighted sum of scores of a run may be."""
        own, trees = self.reached[call], self.trees
        constant = trees.base @ weights + np.abs(weights) @ trees.error
        return self.sum(trees.value[own] @ weights, trees.tree[own]) + float(constant)

    def joint(self, a: int, v: Array, b: int, w: Array) -> float:
        """Return the most that weighted scores of two runs may be together."""
        (one, two), trees = self.pairs(a, b), self.trees
        gains = trees.value[one] @ v + trees.value[two] @ w
        constant = trees.base @ (v + w) + (np.abs(v) + np.abs(w)) @ trees.error
        return self.sum(gains, trees.tree[one]) + float(constant)

    def gives(self, a: int, p: int, b: int, q: int) -> bool:
        """Tell whether one case can get these labels, if a single tree gives them."""
        value = self.trees.value
        if self.trees.error.any():
            return True
        label = np.asarray(value.argmax(axis=1))
        if value.shape[1] == 1:
            label = value[:, 0] > 0
        one, two = self.pairs(a, b)
        return bool(((label[one] == p) & (label[two] == q)).any())

    def never_above(self, a: int, b: int, score: int) -> bool:
        """Tell whether no tree gives more to one run than to another."""
        one, two = self.pairs(a, b)
        value = self.trees.value[:, score]
        return bool((value[one] <= value[two]).all())

    def pairs(self, a: int, b: int) -> tuple[Array, Array]:
        """Return the pairs of leaves of a tree that one case can reach with two runs."""
        if (a, b) not in self.together:
            one, two = (np.flatnonzero(self.reached[call]) for call in (a, b))
            tree, columns = self.trees.tree, self.box.claim["columns"]
            first = np.searchsorted(tree[two], tree[one])
            count = np.searchsorted(tree[two], tree[one], "right") - first
            if count.sum() > MOST_PAIRS:
                raise BoxTooLarge
            before = np.cumsum(count) - count
            at = np.repeat(first - before, count) + np.arange(count.sum())
            i, j = np.repeat(one, count), two[at]
            for column in columns:
                kept = self.meet(column, a, b, i, j)
                i, j = i[kept], j[kept]
            self.together[a, b] = i, j
        return self.together[a, b]

    def meet(self, column: Any, a: int, b: int, i: Array, j: Array) -> Any:
        """Return which pairs of leaves take values of a feature that one case can have."""
        own = slice(column["start"], column["start"] + column["width"])
        one, two = (self.box.calls[call][column["feature"]] for call in (a, b))
        low, high = self.trees.low[:, own], self.trees.high[:, own]
        if one == two:
            return (np.maximum(low[i], low[j]) <= np.minimum(high[i], high[j])).all(
                axis=1
            )
        if one[0] != "atom":
            one, two, i, j = two, one, j, i
        atom = next(
            (x for x in self.box.claim["atoms"] if ["atom", x["name"]] == one), None
        )
        if atom is None or column["width"] > 1:
            return slice(None)
        (lo, hi), bits = self.box.values[one[1]], np.finfo(self.trees.dtype).nmant
        same = np.dtype(self.box.claim["dtype"]) == self.trees.dtype
        if max(abs(lo), abs(hi)) > 2.0**bits or not (same or atom["kind"] != "real"):
            return slice(None)
        lo, hi = np.maximum(lo, low[i, 0]), np.minimum(hi, high[i, 0])  # may be empty
        if atom["kind"] != "real":
            lo, hi = np.ceil(lo), np.floor(hi)
        try:
            ends = self.box.written(two, self.box.values | {one[1]: (lo, hi)})
        except BoxTooLarge:
            return slice(None)
        made = [end.astype(self.trees.dtype) for end in ends]
        return (lo <= hi) & (made[0] <= high[j, 0]) & (made[1] >= low[j, 0])
