"""Models with a fault whose size is known, over the schema of German credit.

The property says that longer employment never changes a grant to a refusal.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from nomos.search.making import Encoding

Array = np.ndarray[Any, Any]
CHANGED = "employment_since"
PLACES = ("duration", "credit_amount", "age")  # by which the fault's place is given
FADES = 0.12  # of a feature's range: how far the fault of a smooth model is felt
_SAMPLE = 40_000
_STEPS = 16


class Planted:
    """What planted models have in common."""

    def __init__(self, encoding: Encoding, share: float, seed: int) -> None:
        self.encoding, self.share = encoding, share
        self.rng = np.random.default_rng([seed, 7])
        names = [feature.name for feature in encoding.schema.features]
        self.at = [names.index(name) for name in PLACES]
        self.changed = names.index(CHANGED)
        size = encoding.high - encoding.low
        self.size = np.where(size > 0, size, 1)

    def fitted(self) -> Any:
        """Return the model."""
        return self

    def sample(self, low: Array, high: Array) -> Array:
        """Return rows, each feature uniform; those of the place between bounds."""
        one = self.encoding
        values = self.rng.integers(
            one.low.astype(int), one.high.astype(int) + 1, (_SAMPLE, len(one.low))
        ).astype(float)
        values[:, self.at] = self.rng.integers(
            low.astype(int), high.astype(int) + 1, (_SAMPLE, len(low))
        )
        return values

    def more(self, values: Array) -> tuple[Array, Array]:
        """Return rows with longer employment, as the spec draws it, and which have it."""
        before, most = values[:, self.changed], self.encoding.high[self.changed]
        can = before < most
        later = np.minimum(
            before + 1 + np.floor(self.rng.random(len(values)) * (most - before)), most
        )
        rows = values.copy()
        rows[:, self.changed] = later
        return rows, can


class Smooth(Planted):
    """The score rises with employment, and falls a little around one point.

    How much it falls there is chosen so that so large a share of cases is violated.
    """

    classes = np.array([0, 1])

    def __init__(self, encoding: Encoding, share: float, seed: int) -> None:
        super().__init__(encoding, share, seed)
        centre = self.rng.uniform(0.1, 0.9, len(self.at))
        self.centre = encoding.low[self.at] + centre * self.size[self.at]
        self.weights = self.rng.normal(0, 0.3, len(self.size))
        self.weights[self.changed] = 0
        low, high = 1.0, 4.0
        self.height = 1.0
        for _ in range(_STEPS):
            self.height = (low + high) / 2
            too_many = self.measured() > share
            low, high = (low, self.height) if too_many else (self.height, high)
        self.share = self.measured()

    def measured(self) -> float:
        """Return the share of violated cases, from the rows where the score falls."""
        reach = FADES * np.sqrt(2 * np.log(self.height)) * self.size[self.at]
        low = np.ceil(np.maximum(self.centre - reach, self.encoding.low[self.at]))
        high = np.floor(np.minimum(self.centre + reach, self.encoding.high[self.at]))
        if (low > high).any():
            return 0.0
        values = self.sample(low, high)
        near = float(np.prod((high - low + 1) / (self.size[self.at] + 1)))
        rows, can = self.more(values)
        wrong = can & (self.score(values) > 0) & (self.score(rows) <= 0)
        return near * float(wrong.sum() / max(1, can.sum()))

    def score(self, values: Array) -> Array:
        """Return by how much a credit is granted."""
        place = (values[:, self.at] - self.centre) / self.size[self.at]
        felt = np.exp(-(place**2).sum(axis=1) / (2 * FADES**2))
        scaled = (values - self.encoding.low) / self.size - 0.5
        rises = 2 * scaled[:, self.changed]
        return (scaled @ self.weights) + rises * (1 - self.height * felt)

    def scores(self, rows: Any) -> Array:
        """Return the scores of a refusal and of a grant."""
        score = self.score(self.encoding.encode(np.asarray(rows)))
        return np.stack([-score / 2, score / 2], axis=1)

    def predict(self, rows: Any) -> Array:
        """Return 1 for a grant, 0 for a refusal."""
        return (self.scores(rows)[:, 1] > 0).astype(np.int64)


class Needle(Planted):
    """A tree of scikit-learn that is right but for a small box, and says so nowhere.

    Its leaves have no more than two scores. Sixty more thresholds decide nothing.
    """

    def fitted(self) -> Any:
        """Return the tree."""
        from sklearn.tree import DecisionTreeClassifier
        from sklearn.tree._tree import Tree

        encoding = self.encoding
        width = np.cbrt(self.share)
        counts = self.size[self.at] + 1
        wide = np.maximum(1, np.rint(width * counts))
        wide[1] = max(1, round(self.share * counts.prod() / (wide[0] * wide[2])))
        self.share = float(np.prod(wide / counts))
        low = encoding.low[self.at]
        first = low + np.floor(self.rng.random(3) * (counts - wide + 1))
        self.nodes: list[tuple[int, int, int, float, int]] = []
        self._plant(list(zip(self.at, first, wide, strict=True)))
        tree = DecisionTreeClassifier()
        columns = encoding.schema.width
        tree.fit(np.zeros((2, columns)), [0, 1])
        state = tree.tree_.__getstate__()
        nodes = np.zeros(len(self.nodes), dtype=state["nodes"].dtype)
        values = np.zeros((len(nodes), 1, 2))
        for number, (left, right, column, threshold, label) in enumerate(self.nodes):
            row = nodes[number]
            row["left_child"], row["right_child"] = left, right
            row["feature"], row["threshold"] = column, threshold
            row["n_node_samples"] = row["weighted_n_node_samples"] = 1
            values[number, 0, max(0, label)] = 1
        state |= {"nodes": nodes, "values": values, "node_count": len(nodes)}
        tree.tree_ = Tree(columns, np.array([2]), 1)
        tree.tree_.__setstate__(state | {"max_depth": 100})
        return tree

    def _node(self, column: int, threshold: float) -> int:
        """Add a fork, whose children come later."""
        self.nodes.append((-1, -1, column, threshold, -1))
        return len(self.nodes) - 1

    def _join(self, node: int, left: int, right: int) -> int:
        _, _, column, threshold, label = self.nodes[node]
        self.nodes[node] = left, right, column, threshold, label
        return node

    def _leaf(self, label: int) -> int:
        self.nodes.append((-1, -1, -2, -2.0, label))
        return len(self.nodes) - 1

    def _column(self, feature: int) -> int:
        return int(self.encoding.schema.place(feature)[1].start)

    def _by_employment(self, short: int, thresholds: int = 0) -> int:
        """Add a fork at two years; `thresholds` are below it and decide nothing."""
        node = self._node(self._column(self.changed), 1.5)
        left = self._idle(short, thresholds)
        return self._join(node, left, self._idle(1 - short, thresholds))

    def _idle(self, label: int, left: int) -> int:
        if left == 0:
            return self._leaf(label)
        one = self.encoding
        feature = int(self.rng.integers(len(one.low)))
        low, high = one.low[feature], one.high[feature]
        threshold = 0.5 + float(self.rng.integers(int(low), max(1, int(high))))
        node = self._node(self._column(feature), threshold)
        return self._join(node, self._leaf(label), self._idle(label, left - 1))

    def _plant(self, box: list[tuple[int, float, float]], idle: int = 30) -> int:
        """Add the forks that lead into the box; outside, all is right."""
        if not box:
            return self._by_employment(1)
        (feature, first, wide), *others = box
        column = self._column(feature)
        below = self._node(column, first - 0.5)
        outside = self._by_employment(0, idle)
        above = self._node(column, first + wide - 0.5)
        inside = self._plant(others, 0)
        self._join(above, inside, self._by_employment(0))
        return self._join(below, outside, above)
