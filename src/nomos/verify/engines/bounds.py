"""Bounds of a network's scores over parts of the cases, for all calls at once.

Scores are bounded from the last layer backwards (CROWN): each ReLU is put between two
straight lines, and what remains is linear in the sums of the first layer, which the
components bound exactly. Differences between two calls have bounds of their own, from
how far a ReLU can carry a difference.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nomos.verify.engines.regions import Component, LayerParts
from nomos.verify.question.formulas import Array
from nomos.verify.structure.layers import Layers
from nomos.verify.structure.trees import DOUBLE

State = list[Array]  # of each component, (parts, ...)
Bounds = list[tuple[Array, Array]]  # of each layer's sums, (parts, calls, outputs)


@dataclass(frozen=True, slots=True, eq=False)
class Relaxation:
    """Bounds a network on components, for a number of calls."""

    model: Layers
    parts: LayerParts
    calls: int

    @property
    def components(self) -> tuple[Component, ...]:
        """The components of the cases."""
        return self.parts.components

    @property
    def last(self) -> int:
        """The number of the last layer."""
        return len(self.model.weights) - 1

    def layers(self, state: State) -> Bounds:
        """Bound the sums of all layers but the last."""
        found = [self._first(state)]
        for layer in range(1, self.last):
            found.append(self._layer(state, found, layer))
        return found

    def _first(self, state: State) -> tuple[Array, Array]:
        bias = np.tile(self.model.biases[0], self.calls)
        low, high = bias, bias
        for component, own in zip(self.components, state, strict=True):
            least, most = component.box(own)
            low, high = low + least, high + most
        shape = (len(state[0]), self.calls, -1)
        return low.reshape(shape), high.reshape(shape)

    def _layer(self, state: State, known: Bounds, layer: int) -> tuple[Array, Array]:
        weight, bias = self.model.weights[layer], self.model.biases[layer]
        low, high = interval(weight, bias, *(np.maximum(b, 0) for b in known[-1]))
        parts, width = len(low), len(bias)
        for call in range(self.calls):
            unit = np.zeros((parts, 2 * width, self.calls, width))
            numbers = np.arange(width)
            unit[:, numbers, call, numbers] = 1
            unit[:, width + numbers, call, numbers] = -1
            most, _ = self.upper(state, known, unit, layer)
            high[:, call] = np.minimum(high[:, call], most[:, :width])
            low[:, call] = np.maximum(low[:, call], -most[:, width:])
        return low, np.maximum(low, high)

    def upper(
        self, state: State, known: Bounds, weights: Array, layer: int
    ) -> tuple[Array, Array]:
        """Bound `weights . sums` of a layer from above, (parts, weights).

        Also returns the weights of the first layer's sums that this comes down to.
        """
        constant, first = self._linear(known, weights, layer)
        flat = first.reshape(*first.shape[:2], -1)
        return constant + self._most(state, flat), flat

    def _linear(self, known: Bounds, weights: Array, layer: int) -> tuple[Array, Array]:
        """Return what `weights . sums` of a layer is at most, in sums of the first one."""
        constant: Array = np.zeros(weights.shape[:2])
        for number in range(layer, 0, -1):
            constant = constant + (weights @ self.model.biases[number]).sum(axis=2)
            weights, more = relaxed(
                weights @ self.model.weights[number], known[number - 1]
            )
            constant = constant + more
        return constant + (weights @ self.model.biases[0]).sum(axis=2), weights

    def _most(self, state: State, flat: Array) -> Array:
        """Return the most that the components add to `flat . sums`."""
        most: Array = np.zeros(flat.shape[:2])
        for component, own in zip(self.components, state, strict=True):
            most = most + component.bound(own, flat)[1]
        return most

    def numbers(self, state: State) -> Array:
        """Return how many values are left, (parts, components)."""
        found = [c.numbers(own) for c, own in zip(self.components, state, strict=True)]
        return np.stack(found, axis=1)

    def gains(self, state: State, weights: Array, scales: Array | None = None) -> Array:
        """Return how much bounds depend on each component; -1: it has one value left.

        `weights` are of the first layer's sums, (parts, sums); `scales` say how much it
        counts that a sum is wide.
        """
        found = []
        share = 0.05 * np.abs(weights).mean(axis=1, keepdims=True)
        wide = share if scales is None else scales
        for component, own in zip(self.components, state, strict=True):
            low, high = component.bound(own, weights[:, None])
            least, most = component.box(own)
            gain = (high - low)[:, 0] + ((most - least) * wide).sum(axis=1)
            found.append(np.where(component.numbers(own) < 2, -1.0, gain))
        return np.stack(found, axis=1)

    def error(self, known: Bounds) -> Array:
        """Bound the rounding errors of scores on each part, (parts, scores)."""
        model = self.model
        parts = len(known[0][0]) if known else 1
        size = np.broadcast_to(self.parts.largest, (parts, len(self.parts.largest)))
        error = 8 * model.roundoff * size + self.parts.deviation
        for layer, (weight, bias) in enumerate(
            zip(model.weights, model.biases, strict=True)
        ):
            _, error = model.after(weight, bias, size, error)
            if layer < self.last:
                size = np.maximum(known[layer][1].max(axis=1), 0)
        return np.asarray(error + model.link + self.own_error)

    @property
    def own_error(self) -> Array:
        """Bound the rounding errors of these bounds themselves."""
        size: Array = self.parts.largest
        terms = 0
        for weight, bias in zip(self.model.weights, self.model.biases, strict=True):
            size = size @ np.abs(weight).T + np.abs(bias)
            terms += weight.shape[1] + 8
        own: Array = 8 * terms * DOUBLE * size
        return own

    def difference(
        self, state: State, known: Bounds, pair: tuple[int, int], weights: Array
    ) -> Array:
        """Bound `weights . (scores of one call - scores of another)` from above."""
        hull = self._hull(state, known, pair)
        low, high = self._first_difference(state, pair)
        forward = self.forward(hull, low, high, weights)
        least, most = self.slopes(hull, weights)
        middle, radius = (least + most) / 2, (most - least) / 2
        backward: Array = (radius * np.maximum(-low, high)[:, None]).sum(axis=2)
        backward = backward + self._most(state, self._between(middle, pair))
        smaller: Array = np.minimum(forward, backward)
        return smaller

    def _between(self, weights: Array, pair: tuple[int, int]) -> Array:
        """Return weights of the first layer for a difference of two calls."""
        one, two = pair
        full = np.zeros((*weights.shape[:2], self.calls, weights.shape[2]))
        full[:, :, one], full[:, :, two] = weights, -weights
        return full.reshape(*weights.shape[:2], -1)

    def _first_difference(
        self, state: State, pair: tuple[int, int]
    ) -> tuple[Array, Array]:
        width = len(self.model.biases[0])
        unit = np.concatenate([np.eye(width), -np.eye(width)])
        flat = self._between(np.broadcast_to(unit, (len(state[0]), *unit.shape)), pair)
        most = self._most(state, flat)
        return np.minimum(-most[:, width:], most[:, :width]), most[:, :width]

    def _hull(self, state: State, known: Bounds, pair: tuple[int, int]) -> Bounds:
        """Bound all layers on the line between what two calls see."""
        low, high = (known[0][side][:, list(pair)] for side in (0, 1))
        found = [(low.min(axis=1, keepdims=True), high.max(axis=1, keepdims=True))]
        for layer in range(1, self.last):
            weight, bias = self.model.weights[layer], self.model.biases[layer]
            low, high = interval(weight, bias, *(np.maximum(b, 0) for b in found[-1]))
            width = len(bias)
            unit = np.concatenate([np.eye(width), -np.eye(width)])[:, None]
            unit = np.broadcast_to(unit, (len(low), *unit.shape))
            constant, first = self._linear(found, unit, layer)
            # A line over a segment is highest at one of its ends.
            ends = [self._most(state, self._alone(first, call)) for call in pair]
            most = constant + np.maximum(*ends)
            high = np.minimum(high, most[:, None, :width])
            low = np.maximum(low, -most[:, None, width:])
            found.append((low, np.maximum(low, high)))
        return [(low[:, 0], high[:, 0]) for low, high in found]

    def _alone(self, weights: Array, call: int) -> Array:
        """Return weights of the first layer for one call."""
        full = np.zeros((*weights.shape[:2], self.calls, weights.shape[3]))
        full[:, :, call] = weights[:, :, 0]
        return full.reshape(*weights.shape[:2], -1)

    def forward(self, hull: Bounds, low: Array, high: Array, weights: Array) -> Array:
        """Carry the first layer's differences through the layers."""
        for layer in range(self.last):
            low, high = carried(low, high, hull[layer])
            low, high = interval(self.model.weights[layer + 1], 0.0, low, high)
        return interval(weights, 0.0, low, high)[1]

    def slopes(self, hull: Bounds, weights: Array) -> tuple[Array, Array]:
        """Bound how `weights . scores` changes with the first layer's sums."""
        shape = (len(hull[0][0]), *weights.shape)
        low = high = np.broadcast_to(weights, shape)
        for layer in range(self.last, 0, -1):
            low, high = interval(self.model.weights[layer].T, 0.0, low, high)
            below = hull[layer - 1]
            low, high = carried(low, high, (below[0][:, None], below[1][:, None]))
        return low, high


def interval(
    weight: Array, bias: Array | float, low: Array, high: Array
) -> tuple[Array, Array]:
    """Bound sums of numbers that are between bounds."""
    over, under = np.maximum(weight, 0).T, np.minimum(weight, 0).T
    return low @ over + high @ under + bias, high @ over + low @ under + bias


def carried(low: Array, high: Array, sums: tuple[Array, Array]) -> tuple[Array, Array]:
    """Bound what ReLUs make of slopes or differences: all, nothing, or a part of them."""
    on, off = sums[0] >= 0, sums[1] <= 0
    least = np.where(on, low, np.where(off, 0, np.minimum(low, 0)))
    most = np.where(on, high, np.where(off, 0, np.maximum(high, 0)))
    return least, most


def relaxed(weights: Array, sums: tuple[Array, Array]) -> tuple[Array, Array]:
    """Replace ReLUs by lines above or below them; returns weights and a constant."""
    low, high = sums[0][:, None], sums[1][:, None]
    bent = (low < 0) & (high > 0)
    on = (low >= 0).astype(float)
    above = np.where(bent, high / np.where(bent, high - low, 1), on)
    below = np.where(bent, (high > -low).astype(float), on)
    positive, negative = np.maximum(weights, 0), np.minimum(weights, 0)
    constant = (positive * np.where(bent, -low * above, 0)).sum(axis=(2, 3))
    return positive * above + negative * below, constant
