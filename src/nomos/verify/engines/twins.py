"""Bounds of a network's scores and of how fast they change, together.

A point moves through a box in a direction. Of each neuron there are two numbers: its sum `z`,
and how fast the sum changes, `dz`. A ReLU makes `(z, dz)` where it is on, `(0, 0)` where it
is off, so what is asked of scores and of their slopes is asked of one network with pairs.

An upper bound of `weights . (scores, slopes)` is made from the last layer backwards. Of each
pair, any line `p z + r dz` may go on to the layer below, if what the ReLU makes of the pair
exceeds it by at most `q` anywhere in the pair's box: `q` is found at eight corners, four of
each side. So a bound is right whatever the lines are (a Lagrangian decomposition), and lines
may be improved: the subgradient of the bound is how far the pairs that the layers choose for
themselves are from what the layers below them give. A neuron that is known to be on or off is
a line itself; where that was assumed, the line may be tilted, which makes use of what was
assumed. Several conditions that have to be met at once are weighed against each other (`mix`):
if any weighing is below zero everywhere, no point meets all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from nomos.device import Array
from nomos.structures.model import DOUBLE

_MOMENTUM, _STEP = 0.7, 0.5
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


@dataclass(frozen=True, slots=True, eq=False)
class Conditions:
    """What has to be at least 0: `scores . weights + slopes . slopes + constants`."""

    scores: Array  # (conditions, scores)
    slopes: Array
    constants: Array


@dataclass(slots=True, eq=False)
class Lines:
    """By part: how conditions are mixed, and the lines of each layer's pairs."""

    mix: Array
    tilts: list[tuple[Array, Array]]

    def choose(self, index: Array) -> Lines:
        """Return those of some parts."""
        return Lines(self.mix[index], [(p[index], r[index]) for p, r in self.tilts])

    def keep_better(self, other: Lines, better: Array) -> None:
        """Take over the lines of some parts."""
        self.mix[better] = other.mix[better]
        for own, new in zip(self.tilts, other.tilts, strict=True):
            for to, source in zip(own, new, strict=True):
                to[better] = source[better]

    def copy(self) -> Lines:
        """Return lines that may be changed."""
        return Lines(self.mix.copy(), [(p.copy(), r.copy()) for p, r in self.tilts])


class Bounded(NamedTuple):
    """Of parts: an upper bound, its lines, and what misses how much where it is reached."""

    bound: Array
    lines: Lines
    misses: list[Array]  # of each layer, (parts, neurons)
    point: Array  # in the box of the inputs, (parts, inputs)
    pull: Array  # how much the bound depends on each input


@dataclass(frozen=True, slots=True, eq=False)
class Twins:
    """A network over a box, and the direction in which its points move.

    The first layer's sums are `weights[0] @ point + biases[0]`; they change by
    `direction + turns @ turn`, where turns are between `turn_low` and `turn_high`.
    """

    weights: tuple[Array, ...]
    biases: tuple[Array, ...]
    direction: Array
    turns: Array
    turn_low: Array
    turn_high: Array

    @property
    def depth(self) -> int:
        """How many layers of ReLUs there are."""
        return len(self.weights) - 1

    @property
    def _rounding(self) -> float:
        """By how much of their sizes sums of a bound may be off."""
        return 8 * DOUBLE * sum(weight.shape[1] + 16 for weight in self.weights)

    def first_layer(self, low: Array, high: Array) -> PairBox:
        """Return the pairs of the first layer on boxes, (parts, inputs)."""
        least, most = interval_sums(self.weights[0], low, high)
        ends = interval_sums(self.turns, self.turn_low[None], self.turn_high[None])
        slow, fast = (np.broadcast_to(e + self.direction, least.shape) for e in ends)
        bias = self.biases[0]
        return _widen(
            PairBox(least + bias, most + bias, slow, fast), self._sizes(low, high)[0]
        )

    def next_layer(self, low: Array, high: Array, known: list[PairBox]) -> PairBox:
        """Return the pairs of the layer above those that are known."""
        layer, last = len(known), known[-1]
        weight, bias = self.weights[layer], self.biases[layer]
        on, off = last.low >= 0, last.high <= 0
        least, most = interval_sums(
            weight, np.maximum(last.low, 0), np.maximum(last.high, 0)
        )
        slow, fast = interval_sums(
            weight,
            np.where(on, last.least, np.where(off, 0, np.minimum(last.least, 0))),
            np.where(on, last.most, np.where(off, 0, np.maximum(last.most, 0))),
        )
        width = len(bias)
        unit, none = np.eye(width), np.zeros((width, width))
        sums = np.concatenate([unit, -unit, none, none])
        changes = np.concatenate([none, none, unit, -unit])
        shape = (len(low), *sums.shape)
        top = self._bound_greedily(
            low, high, known, np.broadcast_to(sums, shape), np.broadcast_to(changes, shape)
        )
        a, b, c, d = np.split(top, 4, axis=1)
        found = PairBox(
            np.maximum(least + bias, -b), np.minimum(most + bias, a),
            np.maximum(slow, -d), np.minimum(fast, c),
        )  # fmt: skip
        return _widen(found, self._sizes(low, high)[layer])

    def _bound_greedily(
        self, low: Array, high: Array, known: list[PairBox], sums: Array, changes: Array
    ) -> Array:
        """Bound weighed sums of a layer, (parts, weights), with the first lines at hand."""
        constant = sums @ self.biases[len(known)]
        size = np.abs(sums) @ np.abs(self.biases[len(known)])
        for layer in range(len(known), 0, -1):
            box = PairBox(*(side[:, None] for side in known[layer - 1]))
            far, fast = box.sizes()
            weight, bias = np.abs(self.weights[layer]).T, self.biases[layer - 1]
            size = size + (np.abs(sums) * (far @ weight)).sum(-1)
            size = size + (np.abs(changes) * (fast @ weight)).sum(-1)
            sums, changes = sums @ self.weights[layer], changes @ self.weights[layer]
            sums, changes, above = choose_lines(sums, changes, box)
            constant = constant + above.sum(-1) + sums @ bias
            size = size + (np.abs(sums) * (far + np.abs(bias))).sum(-1)
            size = size + (np.abs(changes) * fast).sum(-1)
        flat = sums @ self.weights[0]
        reach = np.maximum(np.abs(low), np.abs(high)) @ np.abs(self.weights[0]).T
        size = size + (np.abs(sums) * reach[:, None]).sum(-1)
        constant = constant + changes @ self.direction
        constant = constant + _most(flat, low[:, None], high[:, None])
        constant = constant + _most(changes @ self.turns, self.turn_low, self.turn_high)
        return constant + self._rounding * size

    def bound_scores(
        self, low: Array, high: Array, known: list[PairBox], asked: Conditions
    ) -> Array:
        """Bound each condition by itself, (parts, conditions)."""
        shape = (len(low), *asked.scores.shape)
        sums = np.broadcast_to(asked.scores, shape)
        changes = np.broadcast_to(asked.slopes, shape)
        return self._bound_greedily(low, high, known, sums, changes) + asked.constants

    def begin(self, asked: Conditions, mix: Array, known: list[PairBox]) -> Lines:
        """Return the first lines for a mix of conditions, of parts."""
        sums, changes = mix @ asked.scores, mix @ asked.slopes
        tilts = []
        for layer in range(self.depth, 0, -1):
            sums, changes = sums @ self.weights[layer], changes @ self.weights[layer]
            box = known[layer - 1]
            sums, changes, _ = choose_lines(sums, changes, box)
            fixed = (box.low >= 0) | (box.high <= 0)
            tilts.append((np.where(fixed, 0, sums), np.where(fixed, 0, changes)))
        return Lines(mix, tilts[::-1])

    def improve(
        self, asked: Conditions, box: tuple[Array, Array], known: list[PairBox],
        lines: Lines, forced: list[Array], *, steps: int, aim: float, scale: Array,
    ) -> Bounded:  # fmt: skip
        """Bound a mix of conditions, improving lines step by step.

        `forced` says of which neurons it was assumed that they are on or off; `aim` is how
        far below 0 a bound should come, `scale` how fast the mix may change.
        """
        kinds = [_Layer.of(own, hand) for own, hand in zip(known, forced, strict=True)]
        lines, best, before = lines.copy(), None, None
        for step in range(steps + 1):
            found = self._descend(asked, box, kinds, lines)
            now = Bounded(found.bound, lines, [], found.point, found.pull)
            raw = self._subgradient(asked, kinds, found, now)
            if best is None:
                best = now._replace(lines=lines.copy(), bound=found.bound.copy())
            better = found.bound < best.bound
            best.bound[better] = found.bound[better]
            best.lines.keep_better(lines, better)
            best = now._replace(bound=best.bound, lines=best.lines)
            if step == steps or (best.bound < 0).all():
                break
            lines, before = _step(lines, raw, kinds, before, found.bound + aim, scale)
        assert best is not None
        return best

    def _descend(
        self, asked: Conditions, box: tuple[Array, Array], kinds: list[_Layer], lines: Lines
    ) -> _Descent:
        """Bound with given lines; rounding errors of the bound itself are added to it."""
        sums, changes = lines.mix @ asked.scores, lines.mix @ asked.slopes
        last = self.biases[-1]
        bound = lines.mix @ asked.constants + sums @ last
        size = lines.mix @ np.abs(asked.constants) + np.abs(sums) @ np.abs(last)
        chosen: list[_Chosen] = []
        for layer in range(self.depth, 0, -1):
            weight, bias, kind = self.weights[layer], self.biases[layer - 1], kinds[layer - 1]
            size = size + kind.size_of(np.abs(sums) @ np.abs(weight),
                                       np.abs(changes) @ np.abs(weight))  # fmt: skip
            own = kind.choose(sums @ weight, changes @ weight, *lines.tilts[layer - 1])
            chosen.append(own)
            sums, changes = own.line
            bound = bound + own.above.sum(axis=1) + sums @ bias
            size = size + kind.size_of(np.abs(sums), np.abs(changes))
            size = size + np.abs(sums) @ np.abs(bias)
        flat, turn = sums @ self.weights[0], changes @ self.turns
        low, high = box
        point = np.where(flat > 0, high, low)
        turned = np.where(turn > 0, self.turn_high, self.turn_low)
        bound = bound + (flat * point).sum(axis=1) + changes @ self.direction
        bound = bound + (turn * turned).sum(axis=1)
        far = np.maximum(np.abs(low), np.abs(high))
        size = size + (np.abs(sums) @ np.abs(self.weights[0]) * far).sum(axis=1)
        bound = bound + self._rounding * size
        pull = np.abs(flat) * (high - low)
        return _Descent(bound, chosen[::-1], point, turned, pull)

    def _subgradient(
        self, asked: Conditions, kinds: list[_Layer], found: _Descent, now: Bounded
    ) -> list[Array]:
        """Return how the bound changes with the mix and the tilts; notes the misses."""
        sums = found.point @ self.weights[0].T + self.biases[0]
        changes = found.turned @ self.turns.T + self.direction
        raw = []
        for layer, (kind, own) in enumerate(zip(kinds, found.chosen, strict=True), 1):
            z, dz, h, dh = own.corner
            now.misses.append(kind.find_misses(own, sums, changes))
            raw += [np.where(kind.tilted, sums - z, 0),
                    np.where(kind.turned, changes - dz, 0)]  # fmt: skip
            h = h + np.where(kind.on, sums - z, 0)
            dh = dh + np.where(kind.on, changes - dz, 0)
            sums = h @ self.weights[layer].T + self.biases[layer]
            changes = dh @ self.weights[layer].T
        mixed = sums @ asked.scores.T + changes @ asked.slopes.T + asked.constants
        return [mixed, *raw]

    def _sizes(self, low: Array, high: Array) -> list[tuple[Array, Array]]:
        """Return of each layer how large what is summed can be, for rounding errors."""
        size = np.maximum(np.abs(low), np.abs(high)).max(axis=0)
        turn = np.maximum(np.abs(self.turn_low), np.abs(self.turn_high))
        fast = np.abs(self.turns) @ turn + np.abs(self.direction)
        found = []
        for layer, (weight, bias) in enumerate(
            zip(self.weights[:-1], self.biases[:-1], strict=True)
        ):
            size = np.abs(weight) @ size + np.abs(bias)
            fast = np.abs(weight) @ fast if layer else fast
            terms = 64 * sum(w.shape[1] + 8 for w in self.weights[: layer + 1]) * DOUBLE
            found.append((terms * size, terms * fast))
        return found


class _Chosen(NamedTuple):
    """Of a layer: what it is asked for, the line, how far above, and the corner of that."""

    asked: tuple[Array, Array]
    line: tuple[Array, Array]
    above: Array
    corner: tuple[Array, Array, Array, Array]


class _Descent(NamedTuple):
    bound: Array
    chosen: list[_Chosen]
    point: Array
    turned: Array
    pull: Array


@dataclass(frozen=True, slots=True, eq=False)
class _Layer:
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
    def of(cls, box: PairBox, forced: Array) -> _Layer:
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

    def choose(self, sums: Array, changes: Array, p: Array, r: Array) -> _Chosen:
        """Return by how much pairs exceed their lines."""
        p = np.where(self.tilted, p, 0) + np.where(self.on, sums, 0)
        r = np.where(self.turned, r, 0) + np.where(self.on, changes, 0)
        z, dz, h, dh = self.corners
        over = np.where(self.has, sums * h + changes * dh - p * z - r * dz, -np.inf)
        at = over.argmax(axis=0)[None]
        corner = tuple(np.take_along_axis(c, at, 0)[0] for c in (z, dz, h, dh))
        above = np.take_along_axis(over, at, 0)[0]
        return _Chosen((sums, changes), (p, r), above, (corner[0], corner[1], corner[2], corner[3]))

    def find_misses(self, own: _Chosen, sums: Array, changes: Array) -> Array:
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


def _step(
    lines: Lines, raw: list[Array], kinds: list[_Layer], before: list[Array] | None,
    wanted: Array, scale: Array,
) -> tuple[Lines, list[Array]]:  # fmt: skip
    """Move lines against the subgradient, as far as it promises what is wanted (Polyak)."""
    steep = [scale, *(side for kind in kinds for side in kind.steep)]
    moves = [own * s for own, s in zip(raw, steep, strict=True)]
    if before is not None:
        moves = [a + _MOMENTUM * b for a, b in zip(moves, before, strict=True)]
    size = sum(
        (own * own / np.where(s > 0, s, np.inf)).sum(axis=1)
        for own, s in zip(moves, steep, strict=True)
    )
    far = (_STEP * np.maximum(wanted, 1e-6) / np.maximum(size, 1e-12))[:, None]
    mix = np.where(scale > 0, np.maximum(lines.mix - far * moves[0], 0), lines.mix)
    tilts = [
        (p - far * moves[2 * n + 1], r - far * moves[2 * n + 2])
        for n, (p, r) in enumerate(lines.tilts)
    ]
    return Lines(mix, tilts), moves


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


def _most(weights: Array, low: Array, high: Array) -> Array:
    most: Array = (np.maximum(weights, 0) * high + np.minimum(weights, 0) * low).sum(-1)
    return most


def _widen(box: PairBox, error: tuple[Array, Array]) -> PairBox:
    """Return a box that also holds what rounding of its ends may have lost."""
    own, fast = error
    low, high = box.low - own, box.high + own
    return PairBox(low, np.maximum(low, high), box.least - fast,
                   np.maximum(box.least - fast, box.most + fast))  # fmt: skip
