"""Networks and linear models: branch and bound over parts of the cases.

A part is a state of each component: some rows of a table, a range, a polygon. Its scores
are bounded (`bounds`) together with those of other parts, since a pass over many costs
little more than one. A part whose bounds do not decide it is halved in the component
by which the bound of its nearest condition gains most; small parts are asked from the
model itself, case by case.

Bounds hold for what the library calculates, not only for exact numbers: a condition
counts as impossible only where it fails by more than rounding errors can make up.
A pass costs parts x weights of the network; the number of parts may grow exponentially
with the features that vary and the ReLUs that may go either way; a search whose time is up
leaves an undecided rest.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from nomos.device import Array
from nomos.structures.model import DOUBLE
from nomos.verify.engines.bounds import Bounds, Relaxation, State
from nomos.verify.engines.regions import Regions
from nomos.verify.engines.search import Deadline, Findings
from nomos.verify.engines.shapes import Component
from nomos.verify.question.cases import Variables, choose_cases, one_case
from nomos.verify.question.conditions import Objectives, Violation

Parts = tuple[Array, ...]  # of each component, its state in one part
_BATCH = 128
_SMALL = 512  # cases that are asked rather than halved


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """A part of the cases: the state of each component, and which violations are left.

    `number` says of which of the spaces that are looked at it is a part.
    """

    state: Parts
    live: Array
    number: int = 0


class NetworkSearch:
    """Settles the cases of one problem for a network."""

    def __init__(
        self,
        regions: Regions,
        components: tuple[Component, ...],
        ways: list[Violation],
        limits: Deadline,
    ) -> None:
        self.components, self.cases, self.limits = components, regions.cases, limits
        self.relaxation = Relaxation(regions, components)
        self.objectives = Objectives.of(ways, regions.calls, regions.model.outputs)
        several = self.relaxation.last > 0
        self.opposed = _pair_objectives(self.objectives.weights) if several else {}
        size = np.abs(self.objectives.constants) + 1
        # What an ensures calculates is rounded too.
        self.slack = 64 * DOUBLE * size + self.objectives.slacks
        self.root = tuple(c.root(self.cases.space) for c in components)
        self.total = volume(components, self.root)

    def run(self, example: dict[str, Any] | None = None) -> Findings:
        """Search until everything is decided, or the time is up."""
        method = "slopes of layers" if example else "linear bounds of layers"
        found = Findings(self.total, method=method)
        if example is not None:
            found.note(example, self.limits)
        parts = [Part(self.root, np.ones(len(self.objectives.needed), bool))]
        while parts and not self.limits.are_up:
            if self.limits.found_at is None:
                batch, parts = parts[-_BATCH:], parts[:-_BATCH]
            else:  # to count, large parts first
                batch, parts = parts[:_BATCH], parts[_BATCH:]
            parts += self._decide_batch(batch, found)
        found.total = self.total
        return found

    def _decide_batch(self, batch: list[Part], found: Findings) -> list[Part]:
        state = [np.stack(own) for own in zip(*(p.state for p in batch), strict=True)]
        known = self.relaxation.layers(state)
        most, flat = self._bounds_above(state, known)
        weights = np.abs(self.objectives.weights)
        slack = (weights.sum(axis=1) @ self.relaxation.error(known).T).T + self.slack
        live = np.stack([part.live for part in batch])
        live = self.objectives.possible(live, most < -slack)
        is_bad = np.zeros(len(batch), bool)
        if self.limits.found_at is not None:
            unsure = ~(self._bounds_below(state, known) > slack)
            is_bad = self.objectives.certain(live, unsure)
        is_good = np.asarray(~live.any(axis=1))
        is_small = self.relaxation.numbers(state).prod(axis=1) <= _SMALL
        left = [replace(part, live=own) for part, own in zip(batch, live, strict=True)]
        for number, part in enumerate(left):
            if is_good[number]:
                found.good += volume(self.components, part.state)
            elif is_bad[number]:
                found.bad += volume(self.components, part.state)
            elif is_small[number]:
                self._ask_part(part, found)
        at = np.flatnonzero(~(is_good | is_bad | is_small))
        if not len(at):
            return []
        # The condition that is nearest to being impossible, of the first violation.
        needed = self.objectives.needed[live[at].argmax(axis=1)]
        weights = flat[at, np.where(needed, most[at], np.inf).argmin(axis=1)]
        gains = self.relaxation.gains([own[at] for own in state], weights)
        cut = [left[n] for n in at]
        children = list(halves(self.components, cut, gains, weights))
        # Of reals each half counts as one, as the whole did.
        if self.cases.space.is_real:
            self.total += self._add_volumes(children) - self._add_volumes(cut)
        return children

    def _add_volumes(self, parts: list[Part]) -> int:
        return sum(volume(self.components, part.state) for part in parts)

    def _bounds_above(self, state: State, known: Bounds) -> tuple[Array, Array]:
        """Bound all objectives from above."""
        shape = (len(state[0]), *self.objectives.weights.shape)
        weights = np.broadcast_to(self.objectives.weights, shape)
        most, flat = self.relaxation.upper(state, known, weights, self.relaxation.last)
        most = most + self.objectives.constants
        for pair, members in self.opposed.items():
            own = np.array([self.objectives.weights[o, pair[0]] for o in members])
            bound = self.relaxation.difference(state, known, pair, own)
            bound = bound + self.objectives.constants[members]
            most[:, members] = np.minimum(most[:, members], bound)
        return most, flat

    def _bounds_below(self, state: State, known: Bounds) -> Array:
        shape = (len(state[0]), *self.objectives.weights.shape)
        weights = np.broadcast_to(-self.objectives.weights, shape)
        most, _ = self.relaxation.upper(state, known, weights, self.relaxation.last)
        return self.objectives.constants - most

    def _ask_part(self, part: Part, found: Findings) -> None:
        """Ask about every case of a part."""
        variables, counts = combinations(self.components, part.state)
        bad = self.cases.find_broken(variables, len(counts))
        found.bad += sum(counts[bad].tolist())
        found.good += sum(counts[~bad].tolist())
        if bad.any():
            found.note(one_case(variables, int(np.argmax(bad))), self.limits)


def volume(components: Sequence[Component], state: Sequence[Array]) -> int:
    """Return how many cases a part has."""
    parts = zip(components, state, strict=True)
    return math.prod(component.volume(own) for component, own in parts)


def halves(
    components: tuple[Component, ...], parts: list[Part], gains: Array, weights: Array
) -> Iterator[Part]:
    """Split in each part the component that bounds gain most by; yields what has cases."""
    for part, gain, own in zip(parts, gains, weights, strict=True):
        at, state = int(np.argmax(gain)), part.state
        for half in components[at].halve_state(state[at], own):
            if components[at].volume(half):
                yield replace(part, state=(*state[:at], half, *state[at + 1 :]))


def _pair_objectives(weights: Array) -> dict[tuple[int, int], list[int]]:
    """Return the objectives that are a difference between two calls, by the calls."""
    found: dict[tuple[int, int], list[int]] = {}
    for number, own in enumerate(weights):
        calls = np.flatnonzero(own.any(axis=1))
        if len(calls) == 2 and (own[calls[0]] == -own[calls[1]]).all():
            found.setdefault((int(calls[0]), int(calls[1])), []).append(number)
    return found


def combinations(
    components: tuple[Component, ...], state: Parts
) -> tuple[Variables, Array]:
    """Return the variables of all cases of a part, and how many cases each stands for."""
    listed = [c.values(own) for c, own in zip(components, state, strict=True)]
    sizes = [len(numbers) for _, numbers in listed if len(numbers) != 1]
    everything = np.arange(math.prod(sizes))
    only, *several = np.unravel_index(everything, (1, *sizes))
    places = iter(several)
    variables: Variables = {}
    counts: Array = np.ones(len(only), object)
    for own, numbers in listed:
        index = only if len(numbers) == 1 else next(places)
        variables |= choose_cases(own, index)
        if (numbers != 1).any():
            counts = counts * numbers.astype(object)[index]
    return variables, counts
