"""Properties of one number that rises: one copy of a network instead of two.

Where a spec only lets one number of a record rise, and its ensures compose (never down
and never down is never down), it is enough to look at steps of 1. A step from label p to
label q needs scores of p and q that meet, and a score of p that does not pull ahead of
q's on the way: bounds of both are those of one call, over half as many features.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from nomos.device import Array
from nomos.diagnostics.source import Span
from nomos.lang import core
from nomos.verify.engines.bounds import Bounds, Relaxation, State, interval
from nomos.verify.engines.netsearch import Part, combinations, halves, volume
from nomos.verify.engines.regions import Regions
from nomos.verify.engines.search import Deadline
from nomos.verify.engines.shapes import Component, Listed, Polygon, Wide
from nomos.verify.question.cases import columns_of, one_case, size_of
from nomos.verify.question.components import AtomGroup, groups
from nomos.verify.question.conditions import Violation
from nomos.verify.question.space import Space

_BATCH = 256
_SMALL = 1000  # steps that are asked rather than halved
_SWEPT = 4000  # records along whose numbers is looked
_STOPS = 48
_CHANGES, _ROUNDS = (1, 2, 3, 4, 6, 8), 4  # of features, so that records are near rows
_ASKED = 64  # parts that are asked at once
_SLOPES = 0.6  # the part of the time in which one copy is tried
_FEW_PARTS, _MANY_PARTS = 2000, 10**9  # before and after looking along some records
_EACH = 64  # parts of each of many spaces
_LISTED = 1000  # values of tables that many spaces share
_START, _END = "start of a rise", "end of a rise"


@dataclass(frozen=True, slots=True, eq=False)
class Rise:
    """A question about one number that rises from one call to the other."""

    group: AtomGroup
    shape: Component
    feature: str
    first: int  # the call with the smaller number
    bad: tuple[tuple[int, int], ...]  # labels before and after a step

    def ends(self, space: Space) -> tuple[int, int]:
        """Return the least and the greatest of the numbers of both calls in a space."""
        pairs = _list_pairs(self.shape, self.shape.root(space))
        return int(np.floor(pairs.min())), int(np.ceil(pairs.max()))


def find_rise(ways: list[Violation], regions: Regions) -> Rise | None:
    """Return the question as one about a number that rises, if it is one."""
    question = regions.cases.question
    if len(question.calls) != 2 or not ways or ways[0].labels is None:
        return None
    if len(question.functions) > 1:
        return None
    one, two = question.calls
    changed = [name for name in one if one[name] != two[name]]
    if len(changed) != 1:
        return None
    (name,) = changed
    for group in groups(regions.cases):
        if {(0, name), (1, name)} == set(group.slots) and len(group.features) == 1:
            space = regions.cases.space
            if space.ranges[name].is_real or not regions.is_line(name):
                return None
            shape = regions.component(group)
            pairs = _list_pairs(shape, shape.root(space))
            order = np.sign(pairs[:, 1] - pairs[:, 0])
            if not len(pairs) or not order[0] or (order != order[0]).any():
                return None
            first = 0 if order[0] > 0 else 1
            bad = list_forbidden_steps(ways, len(regions.model.labels), first)
            return Rise(group, shape, name, first, bad) if bad else None
    return None


def _list_pairs(shape: Component, state: Array) -> Array:
    """Return the numbers of both calls, if whole; of a polygon, those at its corners."""
    if isinstance(shape, Polygon):
        corners, empty = shape.corners(state[None])
        forms = [form for _, form in sorted(shape.forms.items())]
        at = [corners[~empty] @ form[:2] + form[2] for form in forms]
        return np.stack(at, axis=-1).reshape(-1, 2)
    slots = shape.table.slots if isinstance(shape, Listed) else {}
    columns = [values[state].astype(float) for _, values in sorted(slots.items())]
    pairs = np.stack(columns or [np.empty(0)] * 2, axis=1)
    return pairs if (pairs == np.floor(pairs)).all() else pairs[:0]


def variables_of_rise(
    rise: Rise, start: int, end: int, regions: Regions
) -> dict[str, Any] | None:
    """Return the variables with which the number rises from a start to an end, if any do."""
    wanted = (start, end) if rise.first == 0 else (end, start)
    guards = list(rise.group.guards)
    rising = sorted(rise.group.slots.items())
    for (_, value), number in zip(rising, wanted, strict=True):
        constant = core.Constant(number, span=value.span)
        guards.append(core.Compare("==", value, constant, span=value.span))
    own = regions.component(replace(rise.group, guards=tuple(guards)))
    found, counts = own.values(own.root(regions.cases.space))
    return one_case(found, 0) if len(counts) else None


def list_forbidden_steps(
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
    search.begin({0: regions.cases.space})
    found = next(search.run(_FEW_PARTS), None)
    if found is None and search.left:
        swept = search.sweep(data)
        case = None if swept is None else search.case_of(swept)
        if case is not None:
            return case
        found = next(search.run(_MANY_PARTS), None)
    if found is None:
        return not search.left
    # A forbidden step ends the search. Where the spec does not take it, the rest of the
    # steps is unknown: there is no proof then, and the other engine has to look.
    return search.case_of(found[1]) or False


def prove_by_slopes(
    ways: list[Violation], regions: Regions, spaces: Mapping[int, Space], seconds: float
) -> dict[int, int]:
    """Return how many cases parts of a space have, of those that few bounds prove."""
    rise = find_rise(ways, regions)
    own = groups(regions.cases)
    if rise is None or any(group.features and not group.slots for group in own):
        return {}  # what no call sees is one row for the whole space
    components = regions.components(own)
    proved: dict[int, int] = {}
    for start in range(0, len(spaces), _BATCH):
        some = itertools.islice(spaces.items(), start, start + _BATCH)
        roots = {n: [c.root(one) for c in components] for n, one in some}
        sizes = {n: volume(components, root) for n, root in roots.items()}
        search = SlopeSearch(regions, rise, Deadline(seconds, 0.0))
        search.begin({n: spaces[n] for n, size in sizes.items() if size})
        if any(sum(map(len, part.state)) > _LISTED for part in search.left):
            break
        rest = {n for n, _ in search.run(_EACH * len(roots))}
        rest |= {part.number for part in search.left}
        proved |= {n: size for n, size in sizes.items() if size and n not in rest}
    return proved


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
        self.low, self.high = rise.ends(cases.space)
        base, slope = one_call.line((0, rise.feature), self.low, self.high)
        steps = Wide(_START, base, slope, step=1)
        self.components: tuple[Component, ...] = (steps, *one_call.components(others))
        self.relaxation = Relaxation(one_call, self.components)
        self.direction = slope
        self.labels = len(model.labels)
        self.pairs = list(itertools.permutations(range(self.labels), 2))
        self.weights = np.stack([self._pair_weights(p, q) for p, q in self.pairs])
        self.places = [self.pairs.index(pair) for pair in rise.bad]
        # Where a step begins its first label wins, and where it ends the other.
        wins = [[pair[0] in step for pair in self.pairs] for step in rise.bad]
        self.wins = np.array(wins)
        self.left: list[Part] = []
        self.parts = 0

    def begin(self, spaces: Mapping[int, Space]) -> None:
        """Take the steps of parts of the space as those that are left."""
        live = np.ones(len(self.rise.bad), bool)
        for number, space in spaces.items():
            low, high = self.rise.ends(space)
            others = (c.root(space) for c in self.components[1:])
            state = np.array([low, high - 1], float), *others
            self.left.append(Part(state, live, number))

    def case_of(self, found: dict[str, Any]) -> dict[str, Any] | None:
        """Return the case of the spec in which a number rises so; None: it has none."""
        start, end = found.pop(_START), found.pop(_END)
        variables = variables_of_rise(self.rise, start, end, self.regions)
        if variables is None:
            return None
        case = {**found, **variables}
        return case if self.cases.find_broken(columns_of(case, 1), 1)[0] else None

    def _pair_weights(self, p: int, q: int) -> Array:
        """Return the weights of (score of p - score of q)."""
        own = np.zeros(self.model.outputs)
        if self.model.decision == "sign":
            return own + (p - q)
        own[p], own[q] = 1, -1
        return own

    def sweep(self, data: Array) -> dict[str, Any] | None:
        """Look along the whole way of the number, from rows of the data and near them."""
        rng = np.random.default_rng(0)
        way = np.linspace(self.low, self.high, _STOPS)
        way = np.unique(way.astype(np.int64))
        for changes in (0, *_CHANGES * _ROUNDS):
            variables = self.cases.from_rows(data, rng, _SWEPT, changes)
            count = size_of(variables)
            if not count or self.limits.are_up:
                return None
            several = {name: np.repeat(v, len(way)) for name, v in variables.items()}
            several[_START] = np.tile(way, count)
            rows = self.cases.rows(self.record, several, count * len(way))
            scores = self.model.scores(rows)
            labels = self.model.places(scores).reshape(count, -1)
            bad = self._find_forbidden(labels[:, :-1], labels[:, 1:])
            if bad.any():
                record, stop = np.argwhere(bad)[0]
                case = one_case(variables, int(record))
                return {**case, _START: int(way[stop]), _END: int(way[stop + 1])}
        return None

    def _find_forbidden(self, before: Array, after: Array) -> Array:
        """Return which pairs of labels are forbidden."""
        bad = np.zeros(before.shape, bool)
        for p, q in self.rise.bad:
            bad |= (before == p) & (after == q)
        return bad

    def run(self, most: int) -> Iterator[tuple[int, dict[str, Any]]]:
        """Settle parts, so many at most; goes on where it ended before.

        Yields the number of a space in which a step is forbidden, with its case, and
        leaves the rest of that space. Nothing left is a proof for the other spaces.
        """
        while self.left and self.parts <= most and not self.limits.are_up:
            batch, self.left = self.left[:_BATCH], self.left[_BATCH:]
            few, halved = self._decide_steps(batch)
            self.left += halved
            self.parts += len(batch)
            for start in range(0, len(few), _ASKED):
                for number, case in self._ask_steps(few[start : start + _ASKED]):
                    self.left = [part for part in self.left if part.number != number]
                    yield number, case

    def _decide_steps(self, batch: list[Part]) -> tuple[list[Part], list[Part]]:
        """Return what is left of parts: what is few enough to be asked, and halves."""
        parts = zip(*(part.state for part in batch), strict=True)
        state = [np.stack(own) for own in parts]
        known = self.relaxation.layers(state)
        shape = (len(batch), len(self.weights), 1, self.weights.shape[1])
        weights = np.broadcast_to(self.weights[:, None], shape)
        most, flat = self.relaxation.upper(state, known, weights, self.relaxation.last)
        slack = (np.abs(self.weights) @ self.relaxation.error(known).T).T
        possible = most >= -slack
        flat_or_falling = self._least_slopes(known) <= 2 * slack
        live = flat_or_falling[:, self.places] & [part.live for part in batch]
        live &= (possible[:, None] | ~self.wins).all(axis=2)
        few = self.relaxation.numbers(state).prod(axis=1) <= _SMALL
        left = [replace(part, live=own) for part, own in zip(batch, live, strict=True)]
        asked = np.flatnonzero(live.any(axis=1) & few)
        halved = np.flatnonzero(live.any(axis=1) & ~few)
        toward = np.array(self.places)[live[halved].argmax(axis=1)]
        halves = self._halve_steps([left[n] for n in halved], [s[halved] for s in state],
                              flat[halved, toward], [(a[halved], b[halved]) for a, b in known])  # fmt: skip
        return [left[n] for n in asked], list(halves)

    def _least_slopes(self, known: Bounds) -> Array:
        """Return the least that (score of p - score of q) rises by in a step."""
        single = [(low[:, 0], high[:, 0]) for low, high in known]
        low, high = self.relaxation.slopes(single, self.weights)
        backward = interval(self.direction[None], 0.0, low, high)[0][..., 0]
        way = np.broadcast_to(self.direction, single[0][0].shape)
        forward = -self.relaxation.forward(single, way, way, -self.weights)
        return np.maximum(backward, forward)

    def _halve_steps(
        self, left: list[Part], state: State, weights: Array, known: Bounds
    ) -> Iterator[Part]:
        """Split the component that bends most ReLUs of the first layer."""
        if not left:
            return
        low, high = known[0][0][:, 0], known[0][1][:, 0]
        width = np.maximum(high - low, 1e-9)
        bent = ((low < 0) & (high > 0)) * np.abs(self.model.weights[1]).sum(axis=0)
        scale = np.abs(weights).max(axis=1, keepdims=True) * 5
        sizes = bent / width * scale * width.max()
        gains = self.relaxation.gains(state, weights, sizes)
        yield from halves(self.components, left, gains, weights)

    def _ask_steps(self, parts: list[Part]) -> Iterator[tuple[int, dict[str, Any]]]:
        """Ask about both ends of all steps of parts; yields cases with bad ones."""
        found = []
        for part in parts:
            first, *others = part.state
            # The end of a step is the start of the next one.
            chosen = first + np.arange(2), *others
            found.append(combinations(self.components, chosen)[0])
        sizes = [size_of(variables) for variables in found]
        together = {n: np.concatenate([one[n] for one in found]) for n in found[0]}
        said = self.cases.ask(self.cases.rows(self.record, together, sum(sizes)))
        labels = (said[:, None] == self.model.labels).argmax(axis=1)
        split = np.split(labels, np.cumsum(sizes)[:-1])
        for part, variables, own in zip(parts, found, split, strict=True):
            own = own.reshape(int(part.state[0][1] - part.state[0][0]) + 2, -1)
            bad = self._find_forbidden(own[:-1], own[1:])
            if bad.any():
                case = one_case(variables, int(np.argmax(bad)))
                yield part.number, {**case, _END: case[_START] + 1}
