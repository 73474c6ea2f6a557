"""Searches for a point of a path: parts of a box in which neurons are on or off.

A part is bounded by `twins`. What the bound leaves open is halved: the neuron whose lines are
farthest above what it does at the point where the bound is reached is on in one half, off in
the other. Lines of the part are where those of its halves begin, so a few steps improve them.
Where all neurons are known a part is linear, and lines are improved for long; if that does
not settle it, the input is halved that the bound depends on most. Deep parts come first, which
keeps few parts in the memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from nomos.device import Array
from nomos.errors import NotProvable
from nomos.verify.engines.paths.pairs import PairBox
from nomos.verify.engines.paths.traces import Path
from nomos.verify.engines.paths.twins import Bounded, BoxParts, Lines, Pace
from nomos.verify.engines.search import Deadline

_BATCH = 128
_STEPS = (4, 16)  # first for all parts, then for those that are left
_LONG = 150  # where nothing is left to be assumed
_NARROW = 1e-7  # of a box, which is halved no more
_AIM = 0.3  # of the first bound, below 0
Ask = Callable[[Array], dict[str, Any] | None]


@dataclass(slots=True, eq=False)
class _Parts:
    """Parts of the box: what is assumed and known of each, and its lines."""

    low: Array
    high: Array
    boxes: list[PairBox]
    forced: list[Array]  # of each layer's neurons: 1 on, -1 off, 0 nothing is assumed
    lines: Lines
    stale: Array  # the first layer whose boxes do not use what is assumed
    scale: Array  # how fast the mix may change

    def __len__(self) -> int:
        return len(self.low)

    def choose(self, index: Array) -> _Parts:
        """Return some of the parts."""
        return _Parts(
            self.low[index], self.high[index],
            [PairBox(*(side[index] for side in box)) for box in self.boxes],
            [own[index] for own in self.forced],
            self.lines.choose(index), self.stale[index], self.scale[index],
        )  # fmt: skip


class PathSearch:
    """Settles one search along a path."""

    def __init__(self, path: Path, limits: Deadline, ask: Ask) -> None:
        self.path, self.limits, self.ask = path, limits, ask
        self.twins, self.parts = path.twins, 0
        self.example: dict[str, Any] | None = None
        asked, twins = path.asked, path.twins
        low, high = path.low[None], path.high[None]
        boxes = [twins.first_layer(low, high)]
        while len(boxes) < twins.depth:
            boxes.append(twins.next_layer(low, high, boxes))
        each = twins.bound_scores(low, high, boxes, asked)[0]
        self.aim = _AIM * float(np.abs(each[0]) + 1e-12)
        mix = np.eye(1, len(asked.constants))
        self.root = _Parts(
            low, high, boxes,
            [np.zeros(box.low.shape, np.int8) for box in boxes],
            twins.begin(asked, mix, boxes), np.full(1, twins.depth), 0 * mix,
        )  # fmt: skip

    def run(self) -> bool:
        """Tell whether there is no such point; notes an example if one is met."""
        stack = [self.root]
        while stack and self.example is None:
            if self.limits.are_up:
                return False
            parts = _take(stack)
            self.parts += len(parts)
            children = self._decide(parts)
            stack += children
        return self.example is None

    def _decide(self, parts: _Parts) -> list[_Parts]:
        """Bound parts; returns the halves of those that are left."""
        parts = self._meet_each(self._refresh(parts))
        found: Bounded | None = None
        for steps in _STEPS:
            if not len(parts):
                return []
            found = self._improve(parts, steps)
            parts, found = _keep_open(parts, found)
        if not len(parts):
            return []
        assert found is not None
        self.example = self.ask(found.point)
        missed = np.concatenate(found.misses, axis=1)
        at = missed.argmax(axis=1)
        is_linear = missed[np.arange(len(at)), at] < 0
        children = list(self._assume(parts.choose(~is_linear), at[~is_linear]))
        if is_linear.any():
            rest = parts.choose(is_linear)
            rest, last = _keep_open(rest, self._improve(rest, _LONG))
            if len(rest):
                halves = _halve_inputs(rest, last.pull, self.path.grids)
                if halves is None:
                    raise NotProvable(
                        "the answers are too near to what breaks the property for bounds"
                    )
                children += halves
        return [own for own in children if len(own)]

    def _improve(self, parts: _Parts, steps: int) -> Bounded:
        forced = [own != 0 for own in parts.forced]
        place = BoxParts(parts.low, parts.high, parts.boxes, forced)
        pace = Pace(steps, self.aim, parts.scale)
        return self.twins.improve(self.path.asked, place, parts.lines, pace)

    def _refresh(self, parts: _Parts) -> _Parts:
        """Bound layers anew above what was assumed; parts without points are dropped."""
        empty = self._fit_names(parts)
        for layer in range(self.twins.depth):
            some = np.flatnonzero((parts.stale <= layer) & ~empty)
            if len(some):
                low, high = parts.low[some], parts.high[some]
                below = [
                    PairBox(*(s[some] for s in box)) for box in parts.boxes[:layer]
                ]
                fresh = (
                    self.twins.next_layer(low, high, below)
                    if layer
                    else self.twins.first_layer(low, high)
                )
                old = parts.boxes[layer]
                for side, new, tighter in zip(
                    old, fresh, (np.maximum, np.minimum) * 2, strict=True
                ):
                    side[some] = tighter(side[some], new)
            box = parts.boxes[layer]
            empty |= (box.low > box.high).any(axis=1) | (box.least > box.most).any(
                axis=1
            )
        parts.stale[:] = self.twins.depth
        return parts.choose(np.flatnonzero(~empty))

    def _fit_names(self, parts: _Parts) -> Array:
        """Narrow inputs that go together to values that they have; returns where none is left."""
        empty = np.zeros(len(parts), bool)
        halved = np.flatnonzero(parts.stale == 0)
        for columns, rows in self.path.names if len(halved) else ():
            at = np.ix_(halved, columns)
            low, high = parts.low[at][:, None], parts.high[at][:, None]
            inside = ((rows >= low) & (rows <= high)).all(axis=2)[..., None]
            empty[halved] |= ~inside.any(axis=(1, 2))
            parts.low[at] = np.where(inside, rows, np.inf).min(axis=1)
            parts.high[at] = np.where(inside, rows, -np.inf).max(axis=1)
        parts.low[empty], parts.high[empty] = self.path.low, self.path.high
        return empty

    def _meet_each(self, parts: _Parts) -> _Parts:
        """Return the parts in which each condition by itself may be met."""
        if not len(parts):
            return parts
        asked = self.path.asked
        each = self.twins.bound_scores(parts.low, parts.high, parts.boxes, asked)
        size = np.abs(each) + 1e-12
        parts.scale = (size[:, :1] / size.max(axis=1, keepdims=True)) ** 2
        parts.scale = parts.scale * (np.arange(size.shape[1]) > 0)
        is_met = (each >= -1e-12 * (1 + np.abs(asked.constants))).all(axis=1)
        return parts.choose(np.flatnonzero(is_met))

    def _assume(self, parts: _Parts, neurons: Array) -> Iterator[_Parts]:
        """Yield both halves of parts: with a neuron on, and off."""
        ends = np.cumsum([0, *(box.low.shape[1] for box in parts.boxes)])
        layers = np.searchsorted(ends, neurons, side="right") - 1
        for sign in (1, -1):
            half = parts.choose(np.arange(len(parts)))
            for layer, box in enumerate(half.boxes):
                rows = np.flatnonzero(layers == layer)
                own = neurons[rows] - ends[layer]
                half.forced[layer][rows, own] = sign
                for line in half.lines.tilts[layer]:
                    line[rows, own] = 0
                if sign > 0:
                    box.low[rows, own] = np.maximum(box.low[rows, own], 0)
                else:
                    box.high[rows, own] = np.minimum(box.high[rows, own], 0)
            half.stale[:] = np.minimum(layers + 1, self.twins.depth)
            yield half


def _take(stack: list[_Parts]) -> _Parts:
    """Take the last parts from a stack, as many as are bounded at once."""
    taken = [stack.pop()]
    while stack and sum(map(len, taken)) < _BATCH:
        taken.append(stack.pop())
    first = taken[-1]
    spare = sum(map(len, taken)) - _BATCH
    if spare > 0:
        stack.append(first.choose(np.arange(spare)))
        taken[-1] = first.choose(np.arange(spare, len(first)))
    return _join(taken)


def _join(parts: list[_Parts]) -> _Parts:
    layers = range(len(parts[0].boxes))
    return _Parts(
        np.concatenate([p.low for p in parts]),
        np.concatenate([p.high for p in parts]),
        [PairBox(*(np.concatenate([p.boxes[n][side] for p in parts]) for side in range(4)))
         for n in layers],
        [np.concatenate([p.forced[n] for p in parts]) for n in layers],
        Lines(np.concatenate([p.lines.mix for p in parts]), [
            (np.concatenate([p.lines.tilts[n][0] for p in parts]),
             np.concatenate([p.lines.tilts[n][1] for p in parts])) for n in layers]),
        np.concatenate([p.stale for p in parts]),
        np.concatenate([p.scale for p in parts]),
    )  # fmt: skip


def _keep_open(parts: _Parts, found: Bounded) -> tuple[_Parts, Bounded]:
    """Return the parts that a bound leaves open, with the lines that were found."""
    left = np.flatnonzero(~(found.bound < 0))
    parts.lines = found.lines
    misses = [own[left] for own in found.misses]
    return parts.choose(left), Bounded(
        found.bound[left],
        found.lines.choose(left),
        misses,
        found.point[left],
        found.pull[left],
    )


def _halve_inputs(
    parts: _Parts, pull: Array, grids: tuple[Array | None, ...]
) -> list[_Parts] | None:
    """Return both halves of parts, cut across the input that bounds depend on most.

    Inputs with few values come first: what lies between their values is no input.
    """
    has_few = np.array([grid is not None for grid in grids])
    wide = parts.high > parts.low
    order = np.where(wide, pull + (has_few & (pull > 0)) * (1 + pull.max()), -1.0)
    rows, at = np.arange(len(parts)), order.argmax(axis=1)
    low, high = parts.low[rows, at], parts.high[rows, at]
    if (high - low <= _NARROW * (1 + np.abs(low))).any():
        return None
    left = right = (low + high) / 2
    for place in np.unique(at):
        if (grid := grids[place]) is not None:
            own = at == place
            number = np.searchsorted(grid, left[own], side="right")
            left, right = left.copy(), right.copy()
            left[own], right[own] = grid[number - 1], grid[number]
    halves = [parts.choose(rows), parts.choose(rows)]
    halves[0].high[rows, at], halves[1].low[rows, at] = left, right
    for half in halves:
        half.stale[:] = 0
    return halves
