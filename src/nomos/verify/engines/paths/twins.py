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
from nomos.verify.engines.paths.pairs import (
    ChosenLines,
    LayerPairs,
    PairBox,
    choose_lines,
    interval_sums,
    widen_box,
)

_MOMENTUM, _STEP = 0.7, 0.5


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


class BoxParts(NamedTuple):
    """Parts of a box, what is known there, and of which neurons it was assumed."""

    low: Array
    high: Array
    boxes: list[PairBox]
    forced: list[Array]


class Pace(NamedTuple):
    """How many steps, how far below 0 a bound should come, how fast the mix may change."""

    steps: int
    aim: float
    scale: Array


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
        terms: int = sum(weight.shape[1] + 16 for weight in self.weights)
        return 8 * DOUBLE * terms

    def first_layer(self, low: Array, high: Array) -> PairBox:
        """Return the pairs of the first layer on boxes, (parts, inputs)."""
        least, most = interval_sums(self.weights[0], low, high)
        ends = interval_sums(self.turns, self.turn_low[None], self.turn_high[None])
        slow, fast = (np.broadcast_to(e + self.direction, least.shape) for e in ends)
        bias = self.biases[0]
        return widen_box(
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
            low,
            high,
            known,
            np.broadcast_to(sums, shape),
            np.broadcast_to(changes, shape),
        )
        a, b, c, d = np.split(top, 4, axis=1)
        found = PairBox(
            np.maximum(least + bias, -b), np.minimum(most + bias, a),
            np.maximum(slow, -d), np.minimum(fast, c),
        )  # fmt: skip
        return widen_box(found, self._sizes(low, high)[layer])

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
        return np.asarray(constant + self._rounding * size)

    def bound_scores(
        self, low: Array, high: Array, known: list[PairBox], asked: Conditions
    ) -> Array:
        """Bound each condition by itself, (parts, conditions)."""
        shape = (len(low), *asked.scores.shape)
        sums = np.broadcast_to(asked.scores, shape)
        changes = np.broadcast_to(asked.slopes, shape)
        bound = self._bound_greedily(low, high, known, sums, changes)
        return np.asarray(bound + asked.constants)

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
        self, asked: Conditions, place: BoxParts, lines: Lines, pace: Pace
    ) -> Bounded:
        """Bound a mix of conditions, improving lines step by step."""
        kinds = [
            LayerPairs.of(own, hand)
            for own, hand in zip(place.boxes, place.forced, strict=True)
        ]
        lines, best, before = lines.copy(), None, None
        for step in range(pace.steps + 1):
            found = self._descend(asked, (place.low, place.high), kinds, lines)
            now = Bounded(found.bound, lines, [], found.point, found.pull)
            raw = self._subgradient(asked, kinds, found, now)
            if best is None:
                best = now._replace(lines=lines.copy(), bound=found.bound.copy())
            better = found.bound < best.bound
            best.bound[better] = found.bound[better]
            best.lines.keep_better(lines, better)
            best = now._replace(bound=best.bound, lines=best.lines)
            if step == pace.steps or (best.bound < 0).all():
                break
            lines, before = _step(
                lines, raw, kinds, before, found.bound + pace.aim, pace.scale
            )
        assert best is not None
        return best

    def _descend(
        self,
        asked: Conditions,
        box: tuple[Array, Array],
        kinds: list[LayerPairs],
        lines: Lines,
    ) -> _Descent:
        """Bound with given lines; rounding errors of the bound itself are added to it."""
        sums, changes = lines.mix @ asked.scores, lines.mix @ asked.slopes
        last = self.biases[-1]
        bound = lines.mix @ asked.constants + sums @ last
        size = lines.mix @ np.abs(asked.constants) + np.abs(sums) @ np.abs(last)
        chosen: list[ChosenLines] = []
        for layer in range(self.depth, 0, -1):
            weight, bias, kind = (
                self.weights[layer],
                self.biases[layer - 1],
                kinds[layer - 1],
            )
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
        self, asked: Conditions, kinds: list[LayerPairs], found: _Descent, now: Bounded
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


class _Descent(NamedTuple):
    bound: Array
    chosen: list[ChosenLines]
    point: Array
    turned: Array
    pull: Array


def _step(
    lines: Lines, raw: list[Array], kinds: list[LayerPairs], before: list[Array] | None,
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


def _most(weights: Array, low: Array, high: Array) -> Array:
    most: Array = (np.maximum(weights, 0) * high + np.minimum(weights, 0) * low).sum(-1)
    return most
