"""Sums of trees: branch and bound over the rows of the tables.

A part of the cases is a choice of rows of each table. A violation is a set of linear
conditions on the scores of all calls of a case. What a condition can come to in a part is
at most the sum, over the trees, of the best tuple of leaves that the part still reaches:
each tree chooses for itself, so the bound ignores that no single case may reach all of
these tuples at once. Where that bound is below zero for some condition of every violation,
the part holds; where the least is above zero for all conditions of one, it is violated.
Other parts are halved by the leaves of the tree whose choice is the widest, which is where
the bound may gain most. In a part in which every tree has one tuple left all cases have
the same answers, and the model itself is asked for one of them: no rounding is guessed.

Where a library adds up its trees in one order (`Trees.in_order`), rounding cannot turn the
order of two sums each of whose terms is in that order; so a violation that needs a rise is
impossible where no tree rises, and needs no margin for rounding errors.

Bounding a part costs tuples x conditions; there are at most as many tuples of a tree as
combinations of its leaves over the calls, mostly far fewer, since only those count that a
case reaches. The number of parts is exponential in the worst case, in the features on which
trees disagree: then time ends the search, and what is left is undecided.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from nomos.device import Array
from nomos.structures.model import DOUBLE
from nomos.structures.trees import Trees
from nomos.verify.engines.leaves import Reached, unpack_bits
from nomos.verify.engines.search import Deadline, Findings
from nomos.verify.question.cases import AskedCases, one_case
from nomos.verify.question.conditions import (
    Objectives,
    Violation,
    list_orders,
    pairs_in_order,
)

_SAMPLES = 64
_CELLS_AT_ONCE = 20_000_000  # of tuples and rows: memory
_SAMPLE_EVERY = 16  # parts
_TRIED = 6  # ways to split a table, by the leaves of a tree


def drop_impossible(
    ways: list[Violation],
    cases: AskedCases,
    model: Trees,
    reached: Reached | None = None,
) -> list[Violation]:
    """Return the violations that are left by a bound of all leaves, or of those reached.

    Each tree gives its best leaf to each call; to all calls the same one, where it sees
    nothing that differs between them. It needs no tuples of leaves, and settles what is easy.
    """
    first, *others = cases.question.calls
    changed = [
        name for name in first if any(one[name] != first[name] for one in others)
    ]
    columns = set[int]()
    for name in changed:
        own = cases.space.ranges[name].columns
        columns.update(model.columns.find_made_of(own))
    objectives = Objectives.of(ways, len(others) + 1, model.outputs)
    weights, constants = objectives.weights, objectives.constants.copy()
    slack = np.abs(constants)
    for tree in model.trees:
        is_leaf = tree.left < 0
        gains: Array = np.tensordot(weights, tree.value, axes=(2, 1))
        if columns.isdisjoint(tree.feature[~is_leaf].tolist()):
            gains = gains.sum(axis=1, keepdims=True)
        for call in range(gains.shape[1]):
            at = np.flatnonzero(is_leaf)
            if reached is not None:
                at = reached.reach_leaves(tree, call)[1]
            best: Array = gains[:, call, at]
            constants += best.max(axis=1)
            slack += np.abs(best).max(axis=1)
    constants += (weights @ model.base).sum(axis=1)
    slack = (np.abs(weights) @ model.error).sum(axis=1) + 64 * DOUBLE * slack
    slack += objectives.slacks
    left = objectives.possible(np.ones(len(ways), bool), constants < -slack)
    return list(itertools.compress(ways, left))


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    mask: Array
    alive: Array  # numbers of the tuples that are still reached
    live: Array  # which violations are still possible
    volume: int


class EnsembleSearch:
    """Settles the cases of one problem for a sum of trees."""

    def __init__(
        self, reached: Reached, ways: list[Violation], limits: Deadline
    ) -> None:
        self.reached, self.ways, self.limits = reached, ways, limits
        self.model = reached.keys.model
        self.bits = np.concatenate([t.bits for t in reached.trees])
        self.values = np.concatenate([t.values for t in reached.trees])
        sizes = [len(t.bits) for t in reached.trees]
        self.tree = np.repeat(np.arange(len(sizes)), sizes)
        self.rng = np.random.default_rng(0)
        self.parts = 0
        calls, scores = self.values.shape[1:]
        self.objectives = Objectives.of(ways, calls, scores)
        flat = self.objectives.weights.reshape(-1, calls * scores)
        self.gains = self.values.reshape(len(self.values), -1) @ flat.T
        base = np.tile(self.model.base, calls)
        self.constants = flat @ base + self.objectives.constants
        error = np.tile(self.model.error, calls)
        size = np.abs(self.gains).sum(axis=0) if len(self.gains) else 0.0
        self.slack = (
            np.abs(flat) @ error
            + 64 * DOUBLE * (size + np.abs(self.constants))
            + self.objectives.slacks
        )
        self._note_orders()

    def _note_orders(self) -> None:
        """Note which tuples rise against the order that a violation needs."""
        columns: list[Array] = []
        owners: list[int] = []  # of the columns: numbers of violations
        for number, way in enumerate(self.ways if self.model.in_order else ()):
            own = [np.tensordot(self.values, w) > 0 for w in list_orders(way)]
            if way.labels is not None:
                pairs = pairs_in_order(way, self.reached.calls)
                own = [self._find_rises(way.labels, *pair) for pair in pairs]
            columns += own
            owners += [number] * len(own)
        self.rules = np.arange(len(self.ways))[:, None] == np.array(owners, int)
        empty = np.zeros((len(self.values), 0), bool)
        self.rising = np.stack(columns, axis=1) if columns else empty

    def _find_rises(self, labels: tuple[int, ...], one: int, two: int) -> Array:
        """Return where a tree gives to call `one` more than to `two` of what it needs."""
        v = self.values
        if self.model.decision == "sign":
            if not labels[one]:
                one, two = two, one
            return np.asarray(v[:, one, 0] > v[:, two, 0])
        a, b = labels[one], labels[two]
        return (v[:, one, a] > v[:, two, a]) | (v[:, two, b] > v[:, one, b])

    def run(self) -> Findings:
        """Search until everything is decided, or the time is up."""
        found = Findings(self.reached.total, method="bounds of leaves")
        mask = np.ones(self.reached.size, bool)
        everything = np.ones(len(self.ways), bool)
        root = _Part(mask, np.arange(len(self.bits)), everything, self.reached.total)
        heap = [(0, 0, root)]
        counting = False
        while heap and not self.limits.are_up:
            children = self._decide_part(heapq.heappop(heap)[2], found)
            if self.limits.found_at is not None and not counting:
                counting = True  # from now on, the largest part first
                heap = [(-p.volume, n, p) for n, (_, _, p) in enumerate(heap)]
                heapq.heapify(heap)
            for child in children:
                self.parts += 1
                order = -child.volume if counting else -self.parts
                heapq.heappush(heap, (order, self.parts, child))
        return found

    def _decide_part(self, part: _Part, found: Findings) -> list[_Part]:
        """Settle a part, or return its halves."""
        gains, tree = self.gains[part.alive], self.tree[part.alive]
        starts = np.flatnonzero(np.r_[True, tree[1:] != tree[:-1]])
        most = np.maximum.reduceat(gains, starts, axis=0).sum(axis=0) + self.constants
        rising: Array = np.any(self.rising[part.alive], axis=0)
        live = self.objectives.possible(part.live, most < -self.slack)
        live &= ~(self.rules @ ~rising)
        if not live.any():
            found.good += part.volume
            return []
        least = np.minimum.reduceat(gains, starts, axis=0).sum(axis=0) + self.constants
        if self.objectives.certain(live, ~(least > self.slack)):
            return self._count_violated(part, found)
        if self.limits.found_at is None and self.parts % _SAMPLE_EVERY == 0:
            self._ask_sample(part, found)
        split = self._choose_split(part, starts, live)
        if split is None:
            if self.reached.cases.find_broken(self.reached.first(part.mask), 1)[0]:
                return self._count_violated(part, found)
            found.good += part.volume
            return []
        return self._halve_part(part, live, *split)

    def _count_violated(self, part: _Part, found: Findings) -> list[_Part]:
        found.bad += part.volume
        found.note(one_case(self.reached.first(part.mask), 0), self.limits)
        return []

    def _ask_sample(self, part: _Part, found: Findings) -> None:
        """Ask about a few cases of a part."""
        picks = [
            self.rng.choice(np.flatnonzero(part.mask[start:stop]), _SAMPLES)
            for start, stop in self.reached.parts
        ]
        variables = self.reached.variables(np.stack(picks, axis=1))
        bad = np.flatnonzero(self.reached.cases.find_broken(variables, _SAMPLES))
        if len(bad):
            found.note(one_case(variables, int(bad[0])), self.limits)

    def _halve_part(
        self, part: _Part, live: Array, table: int, inside: Array
    ) -> list[_Part]:
        start, stop = self.reached.parts[table]
        halves = []
        for side in (inside, ~inside):
            mask = part.mask.copy()
            mask[start:stop] &= side
            kept = self._keep_reached(part.alive, start, stop, mask[start:stop])
            halves.append(_Part(mask, kept, live, self.reached.volume(mask)))
        return sorted(halves, key=lambda half: -len(half.alive))

    def _keep_reached(self, alive: Array, start: int, stop: int, rows: Array) -> Array:
        """Return the tuples that some of these rows of a table lead to."""
        step = max(1, _CELLS_AT_ONCE // max(1, stop - start))
        kept = [
            some[unpack_bits(self.bits[some], start, stop)[:, rows].any(axis=1)]
            for some in (alive[n : n + step] for n in range(0, len(alive), step))
        ]
        return np.concatenate(kept) if kept else alive

    def _choose_split(
        self, part: _Part, starts: Array, live: Array
    ) -> tuple[int, Array] | None:
        """Return a table and rows of it that distinguish tuples of a tree; None: none do."""
        needed = np.flatnonzero(self.objectives.needed[live.argmax()])
        gains = self.gains[part.alive][:, needed]
        most = np.maximum.reduceat(gains, starts, axis=0)
        least = np.minimum.reduceat(gains, starts, axis=0)
        # The condition that is nearest to being impossible.
        ends_of = most.sum(axis=0) + self.constants[needed]
        is_bound = self.objectives.weights[needed].any(axis=(1, 2))
        nearest = int(np.argmin(np.where(is_bound, ends_of, np.inf)))
        spread = (most - least)[:, nearest]
        ends = np.r_[starts[1:], len(part.alive)]
        found: list[tuple[float, int, Array]] = []
        for tree in np.argsort(-spread)[:3]:
            if spread[tree] > 0:
                alive = part.alive[starts[tree] : ends[tree]]
                own = self.gains[alive, needed[nearest]]
                found += self._propose_splits(part, alive, own, _TRIED)
        for tree in np.argsort(starts - ends):  # where nothing helps: any that differs
            if not found:
                alive = part.alive[starts[tree] : ends[tree]]
                none = np.zeros(len(alive))
                found += self._propose_splits(part, alive, none, len(alive))
        return max(found, key=lambda one: one[0])[1:] if found else None

    def _propose_splits(
        self, part: _Part, alive: Array, gains: Array, most: int
    ) -> Iterator[tuple[float, int, Array]]:
        """Yield ways to halve a part by the leaves of one tree, with how much they help."""
        top = gains.max()
        for table, (start, stop) in enumerate(self.reached.parts):
            rows = np.flatnonzero(part.mask[start:stop])
            masks = unpack_bits(self.bits[alive], start, stop)[:, rows]
            for inside in np.unique(masks[~masks.all(axis=1)], axis=0)[:most]:
                one, two = masks[:, inside].any(axis=1), masks[:, ~inside].any(axis=1)
                if (one.all() and two.all()) or not (one.any() and two.any()):
                    continue
                help_ = (top - gains[one].max()) + (top - gains[two].max())
                help_ += 1e-3 * (2 - one.mean() - two.mean())
                whole = np.zeros(stop - start, bool)
                whole[rows[inside]] = True
                yield float(help_), table, whole
