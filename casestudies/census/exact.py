"""Count exactly, over every row that the schema allows, where trees break fairness.

Sums of trees answer alike within a cell: a box between their thresholds. All cells are
gone through, some features one after the other and the rest as one array. What a cell
counts is how many rows are in it. Where rounding could decide, the model itself is asked
about a row of the cell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, product
from math import comb, prod
from typing import Any

import numpy as np

from nomos.structures.trees import Tree, Trees

Array = np.ndarray[Any, Any]
Ask = Callable[[Array], Array]  # the labels of rows


@dataclass(frozen=True, slots=True)
class Cells:
    """The cells of one feature: a value of each, and how many values it has."""

    values: Array
    counts: Array


def cells_of(trees: Trees, feature: int, values: Array) -> Cells:
    """Tell the values of a feature apart as far as trees do."""
    marks = [
        tree.threshold[(tree.left >= 0) & (tree.feature == feature)]
        for tree in trees.trees
    ]
    between = np.searchsorted(np.unique(np.concatenate(marks)), values, "left")
    _, first, counts = np.unique(between, return_index=True, return_counts=True)
    return Cells(values[first], counts)


Leaf = tuple[dict[int, Array], float]  # allowed cells by the feature, and the value


class Tables:
    """What leaves add to the sums of all cells of the `inner` features."""

    def __init__(self, leaves: Sequence[Leaf], inner: Sequence[int], *more: Any):
        self.inner = inner
        groups: dict[tuple[int, ...], list[Leaf]] = {}
        for leaf in leaves:
            groups.setdefault(tuple(f for f in inner if f in leaf[0]), []).append(leaf)
        self._groups = [
            (
                [allowed for allowed, _ in group],
                np.stack([*map(self._table, group)]).astype(np.float32),
            )
            for group in groups.values()
        ]
        shapes = [stacked[0].shape for _, stacked in self._groups]
        self._order = _order([*shapes, *more])

    def _table(self, leaf: Leaf) -> Array:
        """Return what a leaf adds to cells; features that it does not ask have size 1."""
        table = np.array(leaf[1])
        for feature in self.inner:
            table = table[..., None] * leaf[0].get(feature, np.ones(1))
        return table

    def sums(self, given: dict[int, int], more: Array) -> Array:
        """Return the sums for one cell of each other feature, and of what is added."""
        tables = []
        for group, stacked in self._groups:
            alive = [
                all(own[given[f]] for f, own in allowed.items() if f in given)
                for allowed in group
            ]
            tables.append(np.tensordot(np.array(alive, np.float32), stacked, 1))
        tables.append(more)
        for a, b in self._order:
            tables.append(tables[a] + tables[b])
        return tables[-1]


class Grid:
    """The answers for all cells of the `inner` features, and of the `here` features."""

    def __init__(
        self, trees: Trees, cells: Sequence[Cells], here: list[int], inner: list[int]
    ) -> None:
        self.trees, self.cells, self.here, self.inner = trees, cells, here, inner
        shape = tuple(len(cells[f].values) for f in inner)
        self._shape, self._one = shape, (1,) * len(shape)
        leaves = [leaf for tree in trees.trees for leaf in _leaves(tree, cells)]
        asked = [any(f in here for f in allowed) for allowed, _ in leaves]
        common = [
            leaf for leaf, is_here in zip(leaves, asked, strict=True) if not is_here
        ]
        own = [leaf for leaf, is_here in zip(leaves, asked, strict=True) if is_here]
        self._common = Tables(common, inner, self._one)
        self._own = Tables(own, inner, shape)

    def answers(self, given: dict[int, int], ask: Ask) -> Array:
        """Return which cells are answered by 1, for one cell of each other feature."""
        base = np.full(self._one, self.trees.base[0], np.float32)
        common = np.broadcast_to(self._common.sums(given, base), self._shape)
        sizes = [len(self.cells[f].values) for f in self.here]
        answers = np.empty((*sizes, *self._shape), bool)
        for some in np.ndindex(*sizes):
            both = given | dict(zip(self.here, some, strict=True))
            answers[some] = self._decided(self._own.sums(both, common), both, ask)
        return answers

    def _decided(self, sums: Array, given: dict[int, int], ask: Ask) -> Array:
        """Return which sums are positive; of those near 0, what the model says."""
        error = 2 * float(self.trees.error[0])  # of these sums, and of the library's
        answers: Array = sums > error
        if np.count_nonzero(answers) != np.count_nonzero(sums > -error):
            near = np.nonzero(np.abs(sums) <= error)
            rows = np.empty((len(near[0]), len(self.cells)), dtype=np.float32)
            for feature, place in given.items():
                rows[:, feature] = self.cells[feature].values[place]
            for feature, places in zip(self.inner, near, strict=True):
                rows[:, feature] = self.cells[feature].values[places]
            answers[near] = ask(rows) == 1
        return answers


def _leaves(tree: Tree, cells: Sequence[Cells]) -> Iterator[Leaf]:
    """Yield each leaf: which cells of which features lead there, and its value."""
    todo: list[tuple[int, dict[int, Array]]] = [(0, {})]
    while todo:
        node, allowed = todo.pop()
        if tree.left[node] < 0:
            yield allowed, float(tree.value[node, 0])
            continue
        feature = int(tree.feature[node])
        values = cells[feature].values
        before = allowed.get(feature, np.ones(len(values)))
        left = values <= tree.threshold[node]
        todo.append((int(tree.left[node]), {**allowed, feature: before * left}))
        todo.append((int(tree.right[node]), {**allowed, feature: before * ~left}))


def _order(shapes: list[tuple[int, ...]]) -> list[tuple[int, int]]:
    """Return which two tables to add next, again and again: those of a small sum first."""
    shapes, left, order = list(shapes), list(range(len(shapes))), []
    while len(left) > 1:
        sums = {
            pair: np.broadcast_shapes(*(shapes[n] for n in pair))
            for pair in combinations(left, 2)
        }
        pair = min(sums, key=lambda pair: prod(sums[pair]))
        left = [n for n in left if n not in pair] + [len(shapes)]
        shapes.append(sums[pair])
        order.append(pair)
    return order


def shares(
    trees: Trees,
    cells: Sequence[Cells],
    protected: Sequence[int],
    inner: Sequence[int],
    ask: Ask,
) -> dict[int, Fraction]:
    """Return, for each protected feature, the share of pairs with another decision.

    A pair is two rows that differ in that feature alone.
    """
    here, inner = [f for f in protected if f not in inner], list(inner)
    grid = Grid(trees, cells, here, inner)
    outer = [f for f in range(len(cells)) if f not in (*inner, *here)]
    found = dict.fromkeys(protected, 0)
    for places in product(*(range(len(cells[f].values)) for f in outer)):
        given = dict(zip(outer, places, strict=True))
        weight = prod(int(cells[f].counts[p]) for f, p in given.items())
        answers = grid.answers(given, ask)
        for feature in protected:
            different = _differing(answers, [*here, *inner], cells, feature)
            found[feature] += weight * different
    sizes = [int(one.counts.sum()) for one in cells]
    return {
        f: Fraction(count, comb(sizes[f], 2) * prod(sizes) // sizes[f])
        for f, count in found.items()
    }


def _differing(
    answers: Array, axes: list[int], cells: Sequence[Cells], feature: int
) -> int:
    """Count pairs of rows that differ in one feature and get different answers."""
    counts = cells[feature].counts
    by_value = np.moveaxis(answers, axes.index(feature), 0)
    ones = np.zeros(by_value.shape[1:], dtype=np.int16)
    for one, count in zip(by_value, counts.tolist(), strict=True):
        ones += np.multiply(one, count, dtype=np.int16)
    size = int(counts.sum())
    both = np.nonzero((ones > 0) & (ones < size))  # cells with 0 and 1 among the values
    weights = ones[both].astype(np.int64)
    weights *= size - weights
    for places, other in zip(both, (f for f in axes if f != feature), strict=True):
        weights *= cells[other].counts[places]
    return int(weights.sum())
