"""Bounds of a network's scores over parts of the cases, for all calls at once.

Scores are bounded from the last layer backwards (CROWN): each ReLU is put between two
straight lines, and what remains is linear in the sums of the first layer, which the
components bound exactly. Differences between two calls have bounds of their own, from
how far a ReLU can carry a difference: bounding the calls apart would lose that both see
almost the same input, which is what relational properties are about. The error of each
layer's sums is bounded along with them and added at the end.
"""

import numpy as np

from nomos.device import Array
from nomos.structures.model import DOUBLE
from nomos.verify.engines.regions import Regions
from nomos.verify.engines.shapes import Component

State = list[Array]  # of each component, (parts, ...)
Bounds = list[tuple[Array, Array]]  # of each layer's sums, (parts, calls, outputs)


class Relaxation:
    """Bounds a network on components."""

    def __init__(self, regions: Regions, components: tuple[Component, ...]) -> None:
        self.regions, self.components = regions, components
        self.model, self.calls = regions.model, regions.calls
        self.last = len(self.model.weights) - 1  # the number of the last layer

    def layers(self, state: State) -> Bounds:
        """Bound the sums of all layers but the last."""
        bias = np.tile(self.model.biases[0], self.calls)
        low, high = bias, bias
        for component, own in zip(self.components, state, strict=True):
            least, most = component.enclose_sums(own, np.eye(len(bias))[None])
            low, high = low + least, high + most
        shape = (len(state[0]), self.calls, -1)
        found = [(low.reshape(shape), high.reshape(shape))]
        for layer in range(1, self.last):
            own_bounds = (
                self._layer_bounds(state, _of_calls(found, [call]), layer, (call,))
                for call in range(self.calls)
            )
            lows, highs = zip(*own_bounds, strict=True)
            found.append((np.concatenate(lows, axis=1), np.concatenate(highs, axis=1)))
        return found

    def _layer_bounds(
        self, state: State, known: Bounds, layer: int, calls: tuple[int, ...]
    ) -> tuple[Array, Array]:
        """Bound the sums of a layer for all that lies between what calls see."""
        weight, bias = self.model.weights[layer], self.model.biases[layer]
        low, high = interval(weight, bias, *(np.maximum(b, 0) for b in known[-1]))
        width = len(bias)
        unit = np.concatenate([np.eye(width), -np.eye(width)])[:, None]
        unit = np.broadcast_to(unit, (len(low), *unit.shape))
        constant, first = self._carry_back(known, unit, layer)
        # A line over a segment is highest at one of its ends.
        ends = [
            self._component_bounds(state, self._place_weights({c: first[:, :, 0]}))
            for c in calls
        ]
        most = constant + np.max(ends, axis=0)
        high = np.minimum(high, most[:, None, :width])
        low = np.maximum(low, -most[:, None, width:])
        return low, np.maximum(low, high)

    def _place_weights(self, weights: dict[int, Array]) -> Array:
        """Return weights of the first layer's sums: those of some calls, 0 of others."""
        given = next(iter(weights.values()))
        full = np.zeros((*given.shape[:2], self.calls, given.shape[2]))
        for call, own in weights.items():
            full[:, :, call] = own
        return full.reshape(*given.shape[:2], -1)

    def upper(
        self, state: State, known: Bounds, weights: Array, layer: int
    ) -> tuple[Array, Array]:
        """Bound `weights . sums` of a layer from above, (parts, weights).

        Also returns the weights of the first layer's sums that this comes down to.
        """
        constant, first = self._carry_back(known, weights, layer)
        flat = first.reshape(*first.shape[:2], -1)
        return constant + self._component_bounds(state, flat), flat

    def _carry_back(
        self, known: Bounds, weights: Array, layer: int
    ) -> tuple[Array, Array]:
        """Return what `weights . sums` of a layer is at most, in sums of the first one."""
        constant: Array = np.zeros(weights.shape[:2])
        for number in range(layer, 0, -1):
            constant = constant + (weights @ self.model.biases[number]).sum(axis=2)
            weights = weights @ self.model.weights[number]
            weights, more = relax_layer(weights, known[number - 1])
            constant = constant + more
        return constant + (weights @ self.model.biases[0]).sum(axis=2), weights

    def _component_bounds(self, state: State, flat: Array) -> Array:
        """Return the most that the components add to `flat . sums`."""
        most: Array = np.zeros(flat.shape[:2])
        for component, own in zip(self.components, state, strict=True):
            most = most + component.enclose_sums(own, flat)[1]
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
            low, high = component.enclose_sums(own, weights[:, None])
            least, most = component.enclose_sums(own, np.eye(weights.shape[1])[None])
            gain = (high - low)[:, 0] + ((most - least) * wide).sum(axis=1)
            found.append(np.where(component.numbers(own) < 2, -1.0, gain))
        return np.stack(found, axis=1)

    def error(self, known: Bounds) -> Array:
        """Bound the rounding errors of scores on each part, (parts, scores)."""
        model = self.model
        parts = len(known[0][0]) if known else 1
        size = np.broadcast_to(self.regions.largest, (parts, len(self.regions.largest)))
        error = 8 * model.roundoff * size + self.regions.deviation
        layers = zip(model.weights, model.biases, strict=True)
        for layer, (weight, bias) in enumerate(layers):
            _, error = model.after(weight, bias, size, error)
            if layer < self.last:
                size = np.maximum(known[layer][1].max(axis=1), 0)
        return np.asarray(error + model.link + self.own_error)

    @property
    def own_error(self) -> Array:
        """Bound the rounding errors of these bounds themselves."""
        size: Array = self.regions.largest
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
        hull = self._bounds_between(state, known, pair)
        low, high = self._first_difference(state, pair)
        forward = self.forward(hull, low, high, weights)
        least, most = self.slopes(hull, weights)
        middle, radius = (least + most) / 2, (most - least) / 2
        backward: Array = (radius * np.maximum(-low, high)[:, None]).sum(axis=2)
        between = self._place_weights({pair[0]: middle, pair[1]: -middle})
        backward = backward + self._component_bounds(state, between)
        smaller: Array = np.minimum(forward, backward)
        return smaller

    def _first_difference(
        self, state: State, pair: tuple[int, int]
    ) -> tuple[Array, Array]:
        width = len(self.model.biases[0])
        unit = np.concatenate([np.eye(width), -np.eye(width)])
        unit = np.broadcast_to(unit, (len(state[0]), *unit.shape))
        most = self._component_bounds(
            state, self._place_weights({pair[0]: unit, pair[1]: -unit})
        )
        return np.minimum(-most[:, width:], most[:, :width]), most[:, :width]

    def _bounds_between(
        self, state: State, known: Bounds, pair: tuple[int, int]
    ) -> Bounds:
        """Bound all layers on the line between what two calls see."""
        ((low, high),) = _of_calls(known[:1], list(pair))
        found = [(low.min(axis=1, keepdims=True), high.max(axis=1, keepdims=True))]
        for layer in range(1, self.last):
            found.append(self._layer_bounds(state, found, layer, pair))
        return [(low[:, 0], high[:, 0]) for low, high in found]

    def forward(self, hull: Bounds, low: Array, high: Array, weights: Array) -> Array:
        """Carry the first layer's differences through the layers."""
        for layer in range(self.last):
            low, high = carry_slopes(low, high, hull[layer])
            low, high = interval(self.model.weights[layer + 1], 0.0, low, high)
        return interval(weights, 0.0, low, high)[1]

    def slopes(self, hull: Bounds, weights: Array) -> tuple[Array, Array]:
        """Bound how `weights . scores` changes with the first layer's sums."""
        shape = (len(hull[0][0]), *weights.shape)
        low = high = np.broadcast_to(weights, shape)
        for layer in range(self.last, 0, -1):
            low, high = interval(self.model.weights[layer].T, 0.0, low, high)
            below = hull[layer - 1]
            low, high = carry_slopes(low, high, (below[0][:, None], below[1][:, None]))
        return low, high


def _of_calls(known: Bounds, calls: list[int]) -> Bounds:
    return [(low[:, calls], high[:, calls]) for low, high in known]


def interval(
    weight: Array, bias: Array | float, low: Array, high: Array
) -> tuple[Array, Array]:
    """Bound sums of numbers that are between bounds."""
    over, under = np.maximum(weight, 0).T, np.minimum(weight, 0).T
    return low @ over + high @ under + bias, high @ over + low @ under + bias


def carry_slopes(
    low: Array, high: Array, sums: tuple[Array, Array]
) -> tuple[Array, Array]:
    """Bound what ReLUs make of slopes or differences: all, nothing, or a part of them."""
    on, off = sums[0] >= 0, sums[1] <= 0
    least = np.where(on, low, np.where(off, 0, np.minimum(low, 0)))
    most = np.where(on, high, np.where(off, 0, np.maximum(high, 0)))
    return least, most


def relax_layer(weights: Array, sums: tuple[Array, Array]) -> tuple[Array, Array]:
    """Replace ReLUs by lines above or below them; returns weights and a constant."""
    low, high = sums[0][:, None], sums[1][:, None]
    bent = (low < 0) & (high > 0)
    on = (low >= 0).astype(float)
    above = np.where(bent, high / np.where(bent, high - low, 1), on)
    below = np.where(bent, (high > -low).astype(float), on)
    positive, negative = np.maximum(weights, 0), np.minimum(weights, 0)
    constant = (positive * np.where(bent, -low * above, 0)).sum(axis=(2, 3))
    return positive * above + negative * below, constant
