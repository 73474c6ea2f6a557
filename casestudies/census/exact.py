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
from functools import reduce
from itertools import combinations, product
from math import comb, prod
from typing import Any

import numpy as np

from nomos.verify.structure.trees import Tree, Trees

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


class Grid:
    """The sums of trees for all cells of the `inner` features, given the others."""

    def __init__(self, trees: Trees, cells: Sequence[Cells], inner: Sequence[int]):
        self.trees, self.cells, self.inner = trees, cells, list(inner)
        self.shape = tuple(len(cells[f].values) for f in inner)
        leaves = [leaf for tree in trees.trees for leaf in _leaves(tree, cells)]
        groups: dict[tuple[int, ...], list[tuple[dict[int, Array], float]]] = {}
        for allowed, value in leaves:
            own = tuple(f for f in self.inner if f in allowed)
            groups.setdefault(own, []).append((allowed, value))
        self._groups = [
            (group, np.stack([self._table(*leaf) for leaf in group]))
            for group in groups.values()
        ]
        constant = (1,) * len(self.inner)
        self._order = _order([t[0].shape for _, t in self._groups] + [constant])

    def _table(self, allowed: dict[int, Array], value: float) -> Array:
        """Return what a leaf adds to cells; features that it does not ask have size 1."""
        table = np.array(value)
        for feature in self.inner:
            table = table[..., None] * allowed.get(feature, np.ones(1))
        return table

    def sums(self, given: dict[int, int]) -> Array:
        """Return the sums of all cells, for one cell of each other feature."""
        tables = []
        for group, stacked in self._groups:
            alive = [
                all(own[given[f]] for f, own in allowed.items() if f in given)
                for allowed, _ in group
            ]
            tables.append(np.tensordot(np.array(alive, float), stacked, 1))
        tables.append(np.full((1,) * len(self.shape), float(self.trees.base[0])))
        for a, b in self._order:
            tables.append(tables[a] + tables[b])
        return np.broadcast_to(tables[-1], self.shape)

    def answers(self, given: dict[int, int], ask: Ask) -> Array:
        """Return which cells are answered by 1; those near 0 as the model says."""
        sums, error = self.sums(given), float(self.trees.error[0])
        answers: Array = sums > 0
        if np.count_nonzero(sums > error) != np.count_nonzero(sums > -error):
            near = np.nonzero(np.abs(sums) <= error)
            rows = np.empty((len(near[0]), len(self.cells)), dtype=np.float32)
            for feature, place in given.items():
                rows[:, feature] = self.cells[feature].values[place]
            for feature, places in zip(self.inner, near, strict=True):
                rows[:, feature] = self.cells[feature].values[places]
            answers[near] = ask(rows) == 1
        return answers


def _leaves(
    tree: Tree, cells: Sequence[Cells]
) -> Iterator[tuple[dict[int, Array], float]]:
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

    A pair is two rows that differ in that feature alone. Counts stay whole: none is as
    large as 2**53 before it becomes a Python number.
    """
    grid = Grid(trees, cells, inner)
    here = [f for f in protected if f not in inner]
    outer = [f for f in range(len(cells)) if f not in (*inner, *here)]
    found = dict.fromkeys(protected, 0)
    for places in product(*(range(len(cells[f].values)) for f in outer)):
        given = dict(zip(outer, places, strict=True))
        weight = prod(int(cells[f].counts[p]) for f, p in given.items())
        answers = np.empty((*(len(cells[f].values) for f in here), *grid.shape), bool)
        for some in np.ndindex(answers.shape[: len(here)]):
            both = given | dict(zip(here, some, strict=True))
            answers[some] = grid.answers(both, ask)
        axes = [*here, *inner]
        for feature in protected:
            found[feature] += weight * _differing(answers, axes, cells, feature)
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
    ones = sum(
        np.multiply(one, count, dtype=np.int32)
        for one, count in zip(by_value, counts.tolist(), strict=True)
    )
    pairs: Array = ones * (int(counts.sum()) - ones)
    others = [cells[f].counts.astype(float) for f in axes if f != feature]
    return int(reduce(lambda table, one: table @ one, reversed(others), pairs))
