"""What is left of the cases of a network: values of a table, a range, or a polygon.

A component adds to the sums of the first layer, for all calls at once. Bounds are over
many parts at a time: `state` holds one row for each part.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from nomos.device import Array
from nomos.engine.space import count_from
from nomos.verify.question.cases import Variables, choose_cases
from nomos.verify.question.components import CaseTable, Slot
from nomos.verify.question.space import Space

HalfPlane = tuple[float, float, float]  # (a, b, c): a * number + b * draw + c >= 0
_CHUNK = 2_000_000  # numbers that a bound looks at at once
_CORNERS = 12


@dataclass(frozen=True, slots=True, eq=False)
class Listed:
    """A table of values; a state says which rows are left."""

    table: CaseTable
    sums: Array  # (rows, calls * outputs of the first layer)

    def root(self, space: Space) -> Array:
        """Return the state of one part in which all rows of a space are left."""
        left = np.ones(len(self.table), bool)
        for variable, values in self.table.variables.items():
            if "." in variable:  # a feature, and no draw
                left &= space.range_of(variable).has(values)
        return left

    def enclose_sums(self, state: Array, weights: Array) -> tuple[Array, Array]:
        """Return the least and the most of `weights . sums`, (parts, weights)."""
        value = weights @ self.sums.T
        step = max(1, _CHUNK // max(1, value[0].size))
        low, high = np.empty((2, len(state), value.shape[1]))
        for start in range(0, len(state), step):
            some = slice(start, start + step)
            own = value if len(value) == 1 else value[some]
            left = state[some, None, :]
            low[some] = np.where(left, own, np.inf).min(axis=2)
            high[some] = np.where(left, own, -np.inf).max(axis=2)
        return low, high

    def volume(self, state: Array) -> int:
        """Return how many cases the rows stand for."""
        return int(self.table.counts[state].sum())

    def numbers(self, state: Array) -> Array:
        """Return how many rows are left in each part."""
        return np.asarray(state.sum(axis=1), float)

    def halve_state(self, state: Array, weights: Array) -> tuple[Array, Array]:
        """Return the rows of low and of high value."""
        rows = np.flatnonzero(state)
        order = rows[np.argsort(self.sums[rows] @ weights, kind="stable")]
        low = np.zeros_like(state)
        low[order[: len(order) // 2]] = True
        return low, state & ~low

    def values(self, state: Array) -> tuple[Variables, Array]:
        """Return the rows that are left in one part, and how many cases each stands for."""
        return choose_cases(self.table.variables, state), self.table.counts[state]


@dataclass(frozen=True, slots=True, eq=False)
class Wide:
    """A number that no call changes; a state is the range that is left.

    Where numbers are the beginnings of steps, all of a step counts for bounds.
    """

    variable: str
    base: Array  # what it adds where it is 0
    slope: Array
    is_real: bool = False
    step: int = 0

    def root(self, space: Space) -> Array:
        """Return the whole range."""
        one = space.range_of(self.variable)
        return np.array([one.low, one.high], float)

    def enclose_sums(self, state: Array, weights: Array) -> tuple[Array, Array]:
        """Return the least and the most of `weights . sums`."""
        one = weights @ self.slope * state[:, :1]
        two = weights @ self.slope * (state[:, 1:] + self.step)
        base = weights @ self.base
        return np.minimum(one, two) + base, np.maximum(one, two) + base

    def volume(self, state: Array) -> int:
        """Return how many numbers are left; 1 for reals, which are not counted."""
        return 1 if self.is_real else int(state[1] - state[0]) + 1

    def numbers(self, state: Array) -> Array:
        """Return how many numbers are left in each part; infinite for reals."""
        apart: Array = state[:, 1] - state[:, 0]
        return np.where(apart == 0, 1.0, np.inf) if self.is_real else apart + 1

    def halve_state(self, state: Array, weights: Array) -> tuple[Array, Array]:
        """Return the two halves of a range."""
        middle = (state[0] + state[1]) / 2
        if self.is_real:
            return np.array([state[0], middle]), np.array([middle, state[1]])
        middle = np.floor(middle)
        return np.array([state[0], middle]), np.array([middle + 1, state[1]])

    def values(self, state: Array) -> tuple[Variables, Array]:
        """Return the numbers that are left."""
        listed = np.arange(int(state[0]), int(state[1]) + 1)
        numbers = state[:1] if self.is_real else listed
        return {self.variable: numbers}, np.ones(len(numbers), np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Polygon:
    """All pairs of a number and a draw; a state is a box (number, number, draw, draw)."""

    number_variable: str
    draw_variable: str
    draws: tuple[float, float]  # the least and the greatest
    planes: tuple[HalfPlane, ...]
    base: Array  # what a pair adds: base + number * by_number + draw * by_draw
    by_number: Array
    by_draw: Array
    forms: Mapping[Slot, HalfPlane]  # the number of each call, in the pair

    def root(self, space: Space) -> Array:
        """Return a box around all pairs."""
        one = space.range_of(self.number_variable)
        return np.array([one.low, one.high, *self.draws], float)

    def corners(self, state: Array) -> tuple[Array, Array]:
        """Return the corners of each part, a corner repeated, and which are empty."""
        corners = np.zeros((len(state), _CORNERS, 2))
        empty = np.zeros(len(state), bool)
        for part, (a, b, c, d) in enumerate(state):
            points = [(a, c), (b, c), (b, d), (a, d)]
            for plane in self.planes:
                points = _clip_polygon(points, plane)
            empty[part] = not points
            points = points or [(a, c)]
            corners[part] = [points[min(n, len(points) - 1)] for n in range(_CORNERS)]
        return corners, empty

    def enclose_sums(self, state: Array, weights: Array) -> tuple[Array, Array]:
        """Return the least and the most of `weights . sums`; nothing is far below 0."""
        corners, empty = self.corners(state)
        x, y = corners[:, None, :, 0], corners[:, None, :, 1]
        value = (weights @ self.by_number)[:, :, None] * x
        value += (weights @ self.by_draw)[:, :, None] * y
        value += (weights @ self.base)[:, :, None]
        low, high = value.min(axis=2), value.max(axis=2)
        high[empty] = -1e30
        return low, high

    def _list_lines(self, state: Array) -> tuple[Array, Array, Array]:
        """Return the numbers of a part, and the least and the greatest draw of each."""
        number = np.arange(int(state[0]), int(state[1]) + 1)
        low = np.full(len(number), state[2])
        high = np.full(len(number), state[3])
        for a, b, c in self.planes:
            rest = a * number + c
            if b > 0:
                low = np.maximum(low, np.ceil(-rest / b))
            elif b < 0:
                high = np.minimum(high, np.floor(rest / -b))
            else:
                high = np.where(rest >= 0, high, low - 1)
        return number, low, high

    def volume(self, state: Array) -> int:
        """Return how many pairs there are."""
        _, low, high = self._list_lines(state)
        return int(np.maximum(high - low + 1, 0).astype(np.int64).sum())

    def numbers(self, state: Array) -> Array:
        """Return how many pairs there may be."""
        sides = state[:, 1::2] - state[:, ::2] + 1
        pairs: Array = sides.prod(axis=1)
        return pairs

    def halve_state(self, state: Array, weights: Array) -> tuple[Array, Array]:
        """Return the halves of a box, cut across its longer side."""
        side = 0 if state[1] - state[0] >= state[3] - state[2] else 2
        middle = np.floor((state[side] + state[side + 1]) / 2)
        one, two = state.copy(), state.copy()
        one[side + 1], two[side] = middle, middle + 1
        return one, two

    def values(self, state: Array) -> tuple[Variables, Array]:
        """Return the pairs that are left."""
        number, low, high = self._list_lines(state)
        lengths = np.maximum(high - low + 1, 0).astype(np.int64)
        draws = count_from(low, lengths).astype(np.int64)
        pairs = {
            self.number_variable: np.repeat(number, lengths),
            self.draw_variable: draws,
        }
        return pairs, np.ones(len(draws), np.int64)


# Values that are coupled, and what they add to the first layer's sums.
Component = Listed | Wide | Polygon


def _clip_polygon(
    points: list[tuple[float, float]], plane: HalfPlane
) -> list[tuple[float, float]]:
    """Return the part of a polygon on one side of a line."""
    a, b, c = plane
    sides = [a * x + b * y + c for x, y in points]
    kept = []
    for here, (x, y) in enumerate(points):
        after = (here + 1) % len(points)
        if sides[here] >= 0:
            kept.append((x, y))
        if (sides[here] < 0) != (sides[after] < 0):
            t = sides[here] / (sides[here] - sides[after])
            p, q = points[after]
            kept.append((x + t * (p - x), y + t * (q - y)))
    return kept
