"""Shares of all cases of a schema, against a plain loop over every pair of rows."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest

from casestudies.census.exact import cells_of, shares
from nomos.structures.model import as_they_are
from nomos.structures.trees import Tree, Trees

SIZES = (5, 3, 4, 2)


def some_trees(seed: int) -> Trees:
    """Return six trees of depth 2 over small whole numbers."""
    rng = np.random.default_rng(seed)
    trees = []
    for _ in range(6):
        feature = np.where(np.arange(7) < 3, rng.integers(0, len(SIZES), 7), -1)
        threshold = rng.integers(0, 4, 7) + 0.5
        left = np.array([1, 3, 5, -1, -1, -1, -1])
        right = np.array([2, 4, 6, -1, -1, -1, -1])
        trees.append(Tree(feature, threshold, left, right, rng.choice([-1, 1], (7, 1))))
    columns = as_they_are(len(SIZES), np.float32)
    return Trees(
        columns=columns,
        trees=tuple(trees),
        base=np.zeros(1),
        roundoff=2.0**-24,
        classes=np.arange(2),
    )


@pytest.mark.parametrize("seed", range(3))
def test_shares_are_those_of_all_pairs_of_rows(seed: int) -> None:
    trees = some_trees(seed)
    asked = []

    def ask(rows: np.ndarray) -> np.ndarray:
        asked.append(len(rows))
        return (trees.scores(rows)[:, 0] > 0).astype(int)

    cells = [cells_of(trees, f, np.arange(n)) for f, n in enumerate(SIZES)]
    found = shares(trees, cells, [3, 2, 0], [0, 1], ask)
    assert sum(asked) > 0  # sums of whole numbers are often 0
    every = np.array(list(product(*map(range, SIZES))), dtype=np.float32)
    answers = dict(zip(map(tuple, every.tolist()), ask(every).tolist(), strict=True))
    for feature in (3, 2, 0):
        pairs = [
            (a, b)
            for a, b in combinations(answers, 2)
            if [n for n in range(4) if a[n] != b[n]] == [feature]
        ]
        bad = sum(answers[a] != answers[b] for a, b in pairs)
        assert found[feature] == Fraction(bad, len(pairs))
