"""As many different violations as can be had: steps from those that were found."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from nomos.device import Array
from nomos.engine.cases import marks_of
from nomos.search.strategy import (
    Feedback,
    Learns,
    Material,
    Mutated,
    Proposal,
    join_proposals,
)

_FRESH = 0.02  # of the cases of a generation
_KEPT = 8000  # found cases that are stepped from
_LARGEST = 8000  # cases of a generation: as many as were found
_CHANGES = 2  # features of a case; one alone leads to the same cases again and again
_STEP = 0.01  # of a feature's range
_SHARPNESS = 8  # how much more often a way is taken that led to more new violations


def _no_ways() -> Array:
    return np.empty((_CHANGES, 0), dtype=np.int64)


@dataclass(slots=True)
class Diverse:
    """Changes features of violations in the ways that lead to new ones.

    There are two ways to change each feature: by a small step, and to any value.
    """

    material: Material
    size: int = 250
    learns: Learns = "verdicts"
    found: Proposal | None = None
    hits: Array = field(default_factory=lambda: np.empty(0))
    tries: Array = field(default_factory=lambda: np.empty(0))
    ways: Array = field(default_factory=_no_ways)  # of the generation under way

    def __post_init__(self) -> None:
        self.hits = np.ones(2 * self.material.features)
        self.tries = 2 * self.hits

    def propose(self, rng: np.random.Generator) -> Proposal:
        """Return the next generation."""
        fresh = Mutated(self.material)
        if self.found is None:
            return fresh.propose_cases(rng, self.size)
        size = min(max(self.size, len(self.found)), _LARGEST)
        count = int(size * (1 - _FRESH))
        # In order, so that cases of one origin stand together: trees answer such rows
        # faster, whose branches they take one after the other.
        start = self.found.take(np.sort(rng.integers(0, len(self.found), count)))
        self.ways = self._choose_ways(rng, count)
        values = self._step_values(rng, start.values)
        stepped = Proposal(values, start.words, start.origins)
        return join_proposals([stepped, fresh.propose_cases(rng, size - count)])

    def _choose_ways(self, rng: np.random.Generator, count: int) -> Array:
        """Choose ways to change cases: by what came of them, and where they lead."""
        span = self.material.high - self.material.low
        room = np.log1p(np.concatenate([2 * _STEP * span, span]))
        worth = (self.hits / self.tries) ** _SHARPNESS * room
        times = rng.multinomial(_CHANGES * count, worth / worth.sum())
        ways = rng.permutation(np.repeat(np.arange(len(worth)), times))
        return ways.reshape(_CHANGES, count)

    def _step_values(self, rng: np.random.Generator, values: Array) -> Array:
        material, values = self.material, values.copy()
        for ways in self.ways:
            column = ways % material.features
            at = np.arange(len(values)), column
            low, high = material.low[column], material.high[column]
            whole = material.whole[column]
            step = rng.normal(0, _STEP * (high - low))
            near = values[at] + step + whole * (np.sign(step) + 0.5)
            anything = low + rng.random(len(values)) * (high - low + whole)
            anything = material.leave_out(rng, anything, column)
            new = np.where(ways < material.features, near, anything)
            values[at] = np.clip(np.where(whole, np.floor(new), new), low, high)
        return values

    def learn(self, cases: Proposal, feedback: Feedback) -> None:
        """Keep what was found and is new, and which ways led there."""
        is_new = self._are_new(cases, feedback.violated)
        ways = self.ways[:, : len(cases)]  # the last generation may be cut
        hits = np.tile(is_new[: ways.shape[1]], _CHANGES)
        self.hits = self.hits + np.bincount(ways.ravel(), hits, len(self.hits))
        self.tries = self.tries + np.bincount(ways.ravel(), None, len(self.tries))
        self.ways = _no_ways()
        new = cases.take(np.flatnonzero(is_new))
        if len(new):
            old = [] if self.found is None else [self.found]
            self.found = join_proposals([*old, new]).take(np.s_[-_KEPT:])

    def _are_new(self, cases: Proposal, violated: Array) -> Array:
        """Return which cases are violations whose inputs are not among those kept."""
        at = np.flatnonzero(violated)
        kept = [] if self.found is None else [self.found.values]
        marks = marks_of(np.concatenate([*kept, cases.values[at]]))
        first = np.unique(marks, return_index=True)[1] - (len(marks) - len(at))
        is_new = np.zeros(len(cases), dtype=bool)
        is_new[at[first[first >= 0]]] = True
        return is_new

    def state(self) -> Any:
        """Return what was learned, as data that JSON can hold."""
        found = None if self.found is None else self.found.state()
        return [found, self.hits.tolist(), self.tries.tolist()]

    def restore(self, state: Any) -> None:
        """Go on from what a strategy of the same kind had learned."""
        found, hits, tries = state
        self.found = None if found is None else Proposal.from_state(found)
        self.hits, self.tries = np.array(hits), np.array(tries)
