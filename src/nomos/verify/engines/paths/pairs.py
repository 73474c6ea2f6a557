"""What is known of a layer's pairs, and lines above what its ReLUs make of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from nomos.device import Array

_THIN = 1e-3  # narrower boxes are not weighed up any more
_LEAST = 1e-9


class PairBox(NamedTuple):
    """Between what the sums of a layer are, and their changes: (parts, neurons) each."""

    low: Array
    high: Array
    least: Array
    most: Array

    def sizes(self) -> tuple[Array, Array]:
        """Return how large sums and changes can be."""
        far = np.maximum(np.abs(self.low), np.abs(self.high))
        return far, np.maximum(np.abs(self.least), np.abs(self.most))


class ChosenLines(NamedTuple):
    """Of a layer: what it is asked for, the line, how far above, and the corner of that."""

    asked: tuple[Array, Array]
    line: tuple[Array, Array]
    above: Array
    corner: tuple[Array, Array, Array, Array]


@dataclass(frozen=True, slots=True, eq=False)
class LayerPairs:
    """The pairs of a layer on some parts: their corners, and which neurons are known."""

    box: PairBox
    on: Array
    unsure: Array
    tilted: Array  # of which lines may be tilted
    turned: Array
    corners: tuple[Array, Array, Array, Array]
    has: Array  # which corners there are
    steep: tuple[Array, Array]  # how fast lines may change

    @classmethod
    def of(cls, box: PairBox, forced: Array) -> LayerPairs:
        """Find the corners: both ends of the side that is off, and of the other one."""
        low, high, least, most = box
        on, off = low >= 0, high <= 0
        z = np.stack([low, low, *[np.minimum(high, 0)] * 2,
                      *[np.maximum(low, 0)] * 2, high, high])  # fmt: skip
        dz = np.stack([least, most] * 4)
        is_on = np.arange(8)[:, None, None] >= 4
        has = np.where(is_on, ~off, ~on)
        unsure = ~(on | off)
        tilted = unsure | forced
        turned = unsure & (most - least > 1e-9)
        steep = (
            np.where(tilted, 1 / np.maximum(high - low, _THIN) ** 2, 0),
            np.where(turned, 1 / np.maximum(most - least, _THIN) ** 2, 0),
        )
        corners = (z, dz, np.where(is_on, z, 0), np.where(is_on, dz, 0))
        return cls(box, on, unsure, tilted, turned, corners, has, steep)

    def choose(self, sums: Array, changes: Array, p: Array, r: Array) -> ChosenLines:
        """Return by how much pairs exceed their lines."""
        p = np.where(self.tilted, p, 0) + np.where(self.on, sums, 0)
        r = np.where(self.turned, r, 0) + np.where(self.on, changes, 0)
        z, dz, h, dh = self.corners
        over = np.where(self.has, sums * h + changes * dh - p * z - r * dz, -np.inf)
        at = over.argmax(axis=0)[None]
        corner = tuple(np.take_along_axis(c, at, 0)[0] for c in (z, dz, h, dh))
        above = np.take_along_axis(over, at, 0)[0]
        return ChosenLines(
            (sums, changes), (p, r), above, (corner[0], corner[1], corner[2], corner[3])
        )

    def find_misses(self, own: ChosenLines, sums: Array, changes: Array) -> Array:
        """Return how far lines are above what the ReLUs make of given pairs; -1: known."""
        is_on = sums > 0
        real = np.where(is_on, own.asked[0] * sums + own.asked[1] * changes, 0)
        line = own.line[0] * sums + own.line[1] * changes + own.above
        return np.where(self.unsure, np.maximum(line - real, 0), -1.0)

    def size_of(self, sums: Array, changes: Array) -> Array:
        """Return how large weighed pairs can be."""
        far, fast = self.box.sizes()
        size: Array = (sums * far).sum(axis=1) + (changes * fast).sum(axis=1)
        return size


def choose_lines(
    sums: Array, changes: Array, box: PairBox
) -> tuple[Array, Array, Array]:
    """Return lines above what ReLUs make of pairs, low in the middle of the box.

    For three slopes in the change; what is left has three corners: both ends, and 0.
    """
    low, high, least, most = box
    on, off = low >= 0, high <= 0
    # A wider box than it is keeps lines from being nearly upright.
    left = np.where(on | off, -1.0, np.minimum(low, -_LEAST))
    right = np.where(on | off, 1.0, np.maximum(high, _LEAST))
    width = right - left
    best: tuple[Array, Array, Array, Array] | None = None
    for part in (0.0, 1.0, right / width):
        r = changes * part
        rest = changes - r
        first = np.maximum(-r * least, -r * most)
        inside = np.maximum(rest * least, rest * most)
        middle, last = np.maximum(first, inside), sums * right + inside
        chord = (last - first) / width
        up, down = (middle - first) / -left, (last - middle) / right
        is_below = middle <= first - chord * left
        centre = (left + right) / 2
        bend = np.where(up * centre < down * centre, up, down)
        p = np.where(is_below, chord, bend)
        above = np.where(is_below, first - chord * left, middle)
        height = p * centre + above + r * (least + most) / 2
        if best is None:
            best = p, r, above, height
        else:
            lower = height < best[3]
            p, r, above, height = (
                np.where(lower, new, old)
                for new, old in zip((p, r, above, height), best, strict=True)
            )
            best = p, r, above, height
    assert best is not None
    p, r, above, _ = best
    known = on | off
    return (
        np.where(known, np.where(on, sums, 0), p),
        np.where(known, np.where(on, changes, 0), r),
        np.where(known, 0, above),
    )


def interval_sums(weight: Array, low: Array, high: Array) -> tuple[Array, Array]:
    """Bound sums of numbers that are between bounds."""
    over, under = np.maximum(weight, 0).T, np.minimum(weight, 0).T
    return low @ over + high @ under, high @ over + low @ under


def widen_box(box: PairBox, error: tuple[Array, Array]) -> PairBox:
    """Return a box that also holds what rounding of its ends may have lost."""
    own, fast = error
    low, high = box.low - own, box.high + own
    return PairBox(low, np.maximum(low, high), box.least - fast,
                   np.maximum(box.least - fast, box.most + fast))  # fmt: skip
