"""Properties of one number that rises: one copy of a network instead of two.

Where a spec only lets one number of a record rise, and its ensures compose (never down
and never down is never down), it is enough to look at steps of 1. A step from label p to
label q needs scores of p and q that meet, and a score of p that does not pull ahead of
q's on the way: bounds of both are those of one call, over half as many features.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from nomos.device import Array
from nomos.diagnostics.source import Span
from nomos.lang import core
from nomos.verify.engines.bounds import Bounds, Relaxation, State, interval
from nomos.verify.engines.netsearch import Parts, combinations, halves
from nomos.verify.engines.regions import Regions
from nomos.verify.engines.search import Deadline
from nomos.verify.engines.shapes import Component, Listed, Polygon, Wide
from nomos.verify.question.cases import columns_of, one_case, size_of
from nomos.verify.question.components import AtomGroup, groups
from nomos.verify.question.conditions import Violation

_BATCH = 256
_SMALL = 1000  # steps that are asked rather than halved
_SWEPT = 4000  # records along whose numbers is looked
_STOPS = 48
_CHANGES, _ROUNDS = (1, 2, 3, 4, 6, 8), 4  # of features, so that records are near rows
_SLOPES = 0.6  # the part of the time in which one copy is tried
_FEW_PARTS, _MANY_PARTS = 2000, 10**9  # before and after looking along some records
_START, _END = "start of a rise", "end of a rise"


@dataclass(frozen=True, slots=True, eq=False)
class Rise:
    """A question about one number that rises from one call to the other."""

    group: AtomGroup
    feature: str
    first: int  # the call with the smaller number
    low: int
    high: int
    bad: tuple[tuple[int, int], ...]  # labels before and after a step


def find_rise(ways: list[Violation], regions: Regions) -> Rise | None:
    """Return the question as one about a number that rises, if it is one."""
    question = regions.cases.question
    if len(question.calls) != 2 or not ways or ways[0].labels is None:
        return None
    one, two = question.calls
    changed = [name for name in one if one[name] != two[name]]
    if len(changed) != 1:
        return None
    (name,) = changed
    for group in groups(regions.cases):
        if {(0, name), (1, name)} == set(group.slots) and len(group.features) == 1:
            found = _reach(group, name, regions)
            if found is None:
                return None
            first, low, high = found
            bad = _steps(ways, len(regions.model.labels), first)
            if bad:
                return Rise(group, name, first, low, high, bad)
    return None


def _reach(
    group: AtomGroup, name: str, regions: Regions
) -> tuple[int, int, int] | None:
    """Return which call has the smaller number, and the least and greatest of all."""
    one = regions.cases.space.ranges[name]
    if one.names is not None or one.is_real or not regions.is_line(name):
        return None
    pairs = _pairs(group, regions)
    if not len(pairs):
        return None
    difference = pairs[:, 1] - pairs[:, 0]
    low, high = int(np.floor(pairs.min())), int(np.ceil(pairs.max()))
    if (difference > 0).all():
        return 0, low, high
    return (1, low, high) if (difference < 0).all() else None


def _pairs(group: AtomGroup, regions: Regions) -> Array:
    """Return the numbers of both calls, if whole; of a polygon, those at its corners."""
    shape = regions.component(group)
    if isinstance(shape, Polygon):
        corners, empty = shape.corners(shape.root())
        forms = [form for _, form in sorted(shape.forms.items())]
        at = [corners[~empty] @ form[:2] + form[2] for form in forms]
        return np.stack(at, axis=-1).reshape(-1, 2)
    slots = shape.table.slots if isinstance(shape, Listed) else {}
    columns = [values.astype(float) for _, values in sorted(slots.items())]
    pairs = np.stack(columns or [np.empty(0)] * 2, axis=1)
    return pairs if (pairs == np.floor(pairs)).all() else pairs[:0]


def atoms_of_rise(
    rise: Rise, start: int, end: int, regions: Regions
) -> dict[str, Any] | None:
    """Return the atoms with which the number rises from a start to an end, if any do."""
    wanted = (start, end) if rise.first == 0 else (end, start)
    guards = list(rise.group.guards)
    for (_, value), number in zip(
        sorted(rise.group.slots.items()), wanted, strict=True
    ):
        constant = core.Constant(number, span=value.span)
        guards.append(core.Compare("==", value, constant, span=value.span))
    own = regions.component(replace(rise.group, guards=tuple(guards)))
    found, counts = own.values(own.root()[0])
    return one_case(found, 0) if len(counts) else None


def _steps(
    ways: list[Violation], labels: int, first: int
) -> tuple[tuple[int, int], ...]:
    """Return the forbidden steps, where what is allowed composes; else nothing."""
    allowed = np.ones((labels, labels), bool)
    for way in ways:
        assert way.labels is not None
        allowed[way.labels[first], way.labels[1 - first]] = False
    composed = allowed.astype(int) @ allowed.astype(int) > 0
    if not allowed.diagonal().all() or (composed & ~allowed).any():
        return ()
    return tuple((int(p), int(q)) for p, q in np.argwhere(~allowed))


def by_slopes(
    ways: list[Violation], regions: Regions, data: Array, limits: Deadline
) -> bool | dict[str, Any]:
    """Try one copy instead of two: True for a proof, a case that breaks the property."""
    rise = find_rise(ways, regions)
    if rise is None:
        return False
    part = Deadline(_SLOPES * limits.seconds, limits.counting)
    search = SlopeSearch(regions, rise, part)
    outcome = search.run(_FEW_PARTS)
    if outcome is False:
        swept = search.sweep(data)
        case = None if swept is None else search.case_of(swept)
        if case is not None:
            return case
        outcome = search.run(_MANY_PARTS)
    if not isinstance(outcome, dict):
        return outcome
    # A forbidden step ends the search. Where the spec does not take it, the rest of the
    # steps is unknown: there is no proof then, and the other engine has to look.
    return search.case_of(outcome) or False


class SlopeSearch:
    """Settles all steps of a number, for a network that decides on labels."""

    def __init__(self, regions: Regions, rise: Rise, limits: Deadline) -> None:
        self.regions, self.rise, self.limits = regions, rise, limits
        cases, model = regions.cases, regions.model
        self.cases, self.model = cases, model
        record = cases.question.calls[rise.first]
        single = replace(cases, question=replace(cases.question, calls=(record,)))
        self.record = {**record, rise.feature: core.Variable(_START, span=Span(0, 0))}
        one_call = Regions(single, model)
        # The feature that rises is the first component, and in no other one.
        others = []
        for group in groups(single):
            if group.features != rise.group.features:
                kept = {s: v for s, v in group.slots.items() if s[1] != rise.feature}
                others.append(replace(group, slots=kept))
        base, slope = one_call.line((0, rise.feature), rise.low, rise.high)
        steps = Wide(_START, (rise.low, rise.high - 1), base, slope, step=1)
        self.components: tuple[Component, ...] = (steps, *one_call.components(others))
        self.relaxation = Relaxation(one_call, self.components)
        self.direction = slope
        self.labels = len(model.labels)
        self.pairs = list(itertools.permutations(range(self.labels), 2))
        self.weights = np.stack([self._weights(p, q) for p, q in self.pairs])
        self.place = {pair: n for n, pair in enumerate(self.pairs)}
        root = tuple(c.root()[0] for c in self.components)
        self.heap: list[Any] = [(0.0, 0, root, rise.bad)]
        self.parts = 0

    def case_of(self, found: dict[str, Any]) -> dict[str, Any] | None:
        """Return the case of the spec in which a number rises so; None: it has none."""
        start, end = found.pop(_START), found.pop(_END)
        atoms = atoms_of_rise(self.rise, start, end, self.regions)
        if atoms is None:
            return None
        case = {**found, **atoms}
        return case if self.cases.broken(columns_of(case, 1), 1)[0] else None

    def _weights(self, p: int, q: int) -> Array:
        """Return the weights of (score of p - score of q)."""
        own = np.zeros(self.model.outputs)
        if self.model.decision == "sign":
            return own + (p - q)
        own[p], own[q] = 1, -1
        return own

    def sweep(self, data: Array) -> dict[str, Any] | None:
        """Look along the whole way of the number, from rows of the data and near them."""
        rng = np.random.default_rng(0)
        way = np.linspace(self.rise.low, self.rise.high, _STOPS)
        way = np.unique(way.astype(np.int64))
        for changes in (0, *_CHANGES * _ROUNDS):
            atoms = self.cases.from_rows(data, rng, _SWEPT, changes)
            count = size_of(atoms)
            if not count or self.limits.are_up:
                return None
            several = {name: np.repeat(v, len(way)) for name, v in atoms.items()}
            numbers = np.tile(way, count)
            scores = self.model.scores(self._rows(several, numbers, len(numbers)))
            labels = self.model.places(scores).reshape(count, -1)
            bad = self._bad(labels[:, :-1], labels[:, 1:])
            if bad.any():
                record, stop = np.argwhere(bad)[0]
                case = one_case(atoms, int(record))
                return {**case, _START: int(way[stop]), _END: int(way[stop + 1])}
        return None

    def _bad(self, before: Array, after: Array) -> Array:
        """Return which pairs of labels are forbidden."""
        bad = np.zeros(before.shape, bool)
        for p, q in self.rise.bad:
            bad |= (before == p) & (after == q)
        return bad

    def run(self, most: int) -> bool | dict[str, Any]:
        """Settle parts, so many at most; goes on where it ended before.

        Returns True for a proof, False without one, or a case with a forbidden step.
        """
        while self.heap:
            if self.limits.are_up or self.parts > most:
                return False
            some = range(min(_BATCH, len(self.heap)))
            batch = [heapq.heappop(self.heap)[2:] for _ in some]
            for state, live, few in self._settle(batch):
                self.parts += 1
                if not few:
                    part = (-self._number(state), self.parts, state, live)
                    heapq.heappush(self.heap, part)
                    continue
                found = self._ask(state)
                if found is not None:
                    return found
        return True

    def _settle(self, batch: list[Any]) -> Iterator[tuple[Parts, Any, bool]]:
        """Yield what is left of parts, and whether it is few enough to be asked."""
        state = [np.stack(own) for own in zip(*(b[0] for b in batch), strict=True)]
        known = self.relaxation.layers(state)
        shape = (len(batch), len(self.weights), 1, self.weights.shape[1])
        weights = np.broadcast_to(self.weights[:, None], shape)
        most, flat = self.relaxation.upper(state, known, weights, self.relaxation.last)
        slack = (np.abs(self.weights) @ self.relaxation.error(known).T).T
        possible = most >= -slack
        flat_or_falling = self._slopes(known) <= 2 * slack
        few = self.relaxation.numbers(state).prod(axis=1) <= _SMALL
        left, places, toward = [], [], []
        for number, (own, steps) in enumerate(batch):
            live = tuple(
                (p, q)
                for p, q in steps
                if flat_or_falling[number, self.place[p, q]]
                and self._may_step(possible[number], p, q)
            )
            if live and few[number]:
                yield own, live, True
            elif live:
                left.append((own, live))
                places.append(number)
                toward.append(self.place[live[0]])
        if left:
            yield from self._halves(left, [s[places] for s in state], flat[places, toward],
                                    [(a[places], b[places]) for a, b in known])  # fmt: skip

    def _number(self, state: Parts) -> float:
        parts = zip(self.components, state, strict=True)
        return float(np.prod([c.numbers(own[None])[0] for c, own in parts]))

    def _may_step(self, possible: Array, p: int, q: int) -> bool:
        """Tell whether p can win where a step begins, and q where it ends."""
        others = [c for c in range(self.labels) if c not in (p, q)]
        return bool(
            possible[self.place[p, q]]
            and possible[self.place[q, p]]
            and all(possible[self.place[p, c]] for c in others)
            and all(possible[self.place[q, c]] for c in others)
        )

    def _slopes(self, known: Bounds) -> Array:
        """Return the least that (score of p - score of q) rises by in a step."""
        single = [(low[:, 0], high[:, 0]) for low, high in known]
        low, high = self.relaxation.slopes(single, self.weights)
        backward = interval(self.direction[None], 0.0, low, high)[0][..., 0]
        way = np.broadcast_to(self.direction, single[0][0].shape)
        forward = -self.relaxation.forward(single, way, way, -self.weights)
        return np.maximum(backward, forward)

    def _halves(
        self, left: list[Any], state: State, weights: Array, known: Bounds
    ) -> Iterator[tuple[Parts, Any, bool]]:
        """Split the component that bends most ReLUs of the first layer."""
        low, high = known[0][0][:, 0], known[0][1][:, 0]
        width = np.maximum(high - low, 1e-9)
        bent = ((low < 0) & (high > 0)) * np.abs(self.model.weights[1]).sum(axis=0)
        scale = np.abs(weights).max(axis=1, keepdims=True) * 5
        gains = self.relaxation.gains(
            state, weights, bent / width * scale * width.max()
        )
        for number, (own, live) in enumerate(left):
            for half in halves(self.components, own, gains[number], weights[number]):
                yield half, live, False

    def _ask(self, state: Parts) -> dict[str, Any] | None:
        """Ask about both ends of all steps of a part; returns a case with a bad one."""
        atoms, _ = combinations(self.components, state)
        starts = atoms.pop(_START)
        count = len(starts)
        places = []
        for shift in (0, 1):
            said = self.cases.ask(self._rows(atoms, starts + shift, count))
            places.append((said[:, None] == self.model.labels).argmax(axis=1))
        bad = self._bad(*places)
        if not bad.any():
            return None
        place = int(np.argmax(bad))
        start = int(starts[place])
        return {**one_case(atoms, place), _START: start, _END: start + 1}

    def _rows(self, atoms: dict[str, Array], number: Array, count: int) -> Array:
        return self.cases.rows(self.record, {**atoms, _START: number}, count)
