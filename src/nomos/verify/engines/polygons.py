"""A number and a draw with linear conditions: the whole points of a polygon."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from nomos.lang import core
from nomos.verify.engines.regions import Component, Regions
from nomos.verify.question.cases import Atoms
from nomos.verify.question.components import AtomGroup, numbered
from nomos.verify.question.formulas import Array
from nomos.verify.question.linear import SIDES, linear, ways
from nomos.verify.question.symbolic import NotProvable, difference

HalfPlane = tuple[float, float, float]  # (a, b, c): a * number + b * draw + c >= 0
_CORNERS = 12


@dataclass(frozen=True, slots=True, eq=False)
class Polygon(Component):
    """All pairs of a number and a draw; a state is a box (number, number, draw, draw)."""

    number_atom: str
    draw_atom: str
    ends: tuple[float, float, float, float]
    planes: tuple[HalfPlane, ...]
    base: Array  # what a pair adds: base + number * by_number + draw * by_draw
    by_number: Array
    by_draw: Array
    forms: Mapping[tuple[int, str], HalfPlane]  # the number of each call, in the pair

    def root(self) -> Array:
        """Return the box around all pairs."""
        return np.array([self.ends], float)

    def corners(self, state: Array) -> tuple[Array, Array]:
        """Return the corners of each part, a corner repeated, and which are empty."""
        corners = np.zeros((len(state), _CORNERS, 2))
        empty = np.zeros(len(state), bool)
        for part, (a, b, c, d) in enumerate(state):
            points = [(a, c), (b, c), (b, d), (a, d)]
            for plane in self.planes:
                points = _clipped(points, plane)
            empty[part] = not points
            points = points or [(a, c)]
            corners[part] = [points[min(n, len(points) - 1)] for n in range(_CORNERS)]
        return corners, empty

    def bound(self, state: Array, weights: Array) -> tuple[Array, Array]:
        """Return the least and the most of `weights . sums`; nothing is far below 0."""
        corners, empty = self.corners(state)
        x, y = corners[:, None, :, 0], corners[:, None, :, 1]
        value = (weights @ self.by_number)[:, :, None] * x
        value += (weights @ self.by_draw)[:, :, None] * y
        value += (weights @ self.base)[:, :, None]
        low, high = value.min(axis=2), value.max(axis=2)
        high[empty] = -1e30
        return low, high

    def _lines(self, state: Array) -> tuple[Array, Array, Array]:
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
        _, low, high = self._lines(state)
        return int(np.maximum(high - low + 1, 0).astype(np.int64).sum())

    def numbers(self, state: Array) -> Array:
        """Return how many pairs there may be."""
        sides = state[:, 1::2] - state[:, ::2] + 1
        pairs: Array = sides.prod(axis=1)
        return pairs

    def split(self, state: Array, weights: Array) -> tuple[Array, Array]:
        """Return the halves of a box, cut across its longer side."""
        side = 0 if state[1] - state[0] >= state[3] - state[2] else 2
        middle = np.floor((state[side] + state[side + 1]) / 2)
        one, two = state.copy(), state.copy()
        one[side + 1], two[side] = middle, middle + 1
        return one, two

    def values(self, state: Array) -> tuple[Atoms, Array]:
        """Return the pairs that are left."""
        number, low, high = self._lines(state)
        lengths = np.maximum(high - low + 1, 0).astype(np.int64)
        draws = numbered(low, lengths).astype(np.int64)
        pairs = {self.number_atom: np.repeat(number, lengths), self.draw_atom: draws}
        return pairs, np.ones(len(draws), np.int64)


def _clipped(
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
            kept.append(
                (x + t * (points[after][0] - x), y + t * (points[after][1] - y))
            )
    return kept


def polygon(group: AtomGroup, regions: Regions) -> Polygon:
    """Return the polygon of a feature and a draw whose conditions are all linear."""
    (number,), (draw,) = group.features, group.draws
    one = regions.cases.space.range_of(number)
    pair = number, draw.atom
    low, high = _line(draw.low, pair), _line(draw.high, pair)
    planes = [(-low[0], 1 - low[1], -low[2]), (high[0], high[1] - 1, high[2])]
    for guard in group.guards:
        planes += _planes(guard, pair)
    for write in group.writes:
        _line(write.value, pair)  # refuses what is not whole
    ends = [low[0] * v + low[2] for v in (one.low, one.high)]
    ends += [high[0] * v + high[2] for v in (one.low, one.high)]
    box = (float(one.low), float(one.high), float(min(ends)), float(max(ends)))
    base, by_number, by_draw = np.zeros(1), np.zeros(1), np.zeros(1)
    forms = {slot: _line(formula, pair) for slot, formula in group.slots.items()}
    for slot, (a, b, c) in forms.items():
        reached = [a * v + b * d + c for v in box[:2] for d in box[2:]]
        own, slope = regions.line(slot, min(reached), max(reached))
        base = base + own + slope * c
        by_number, by_draw = by_number + slope * a, by_draw + slope * b
    sums = base, by_number, by_draw
    return Polygon(number, draw.atom, box, tuple(planes), *sums, forms)


def _line(expr: core.Expr, pair: tuple[str, str]) -> HalfPlane:
    """Return the coefficients of the number and the draw, and the constant: all whole."""
    weights, constant = linear(expr)
    a, b = (weights.get(atom, 0.0) for atom in pair)
    if not (a.is_integer() and b.is_integer() and constant.is_integer()):
        raise NotProvable(
            "this is not always whole, and there are too many values", expr.span
        )
    return a, b, constant


def _planes(guard: core.Expr, pair: tuple[str, str]) -> list[HalfPlane]:
    """Return the half-planes in which a condition holds, where they are all needed."""

    def compared(test: core.Compare, relation: str) -> list[list[HalfPlane]]:
        a, b, c = _line(difference(test), pair)
        # All numbers are whole: above 0 is 1 or more.
        return [
            [(sign * a, sign * b, sign * c - strict) for sign, strict in way]
            for way in SIDES[relation]
        ]

    found = ways(guard, True, compared)
    if len(found) != 1:
        raise NotProvable(
            "this condition is no line, and there are too many values", guard.span
        )
    return found[0]
