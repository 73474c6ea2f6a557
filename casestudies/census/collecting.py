"""As many violations as can be had: steps from those that were found.

What it finds is much of the same. It is for comparison with searches that are measured
by how much they find.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from nomos.search.mutation import Mutated, uniform
from nomos.search.strategy import Material, Proposal, Told, joined

Array = np.ndarray[Any, Any]
_FRESH = 0.05  # of the cases of a generation
_MOST = 5000  # found cases that are stepped from


@dataclass(slots=True)
class Collecting:
    """Changes one feature of a violation: one of those whose change left it one."""

    material: Material
    size: int = 1000
    learns: bool = True
    found: Proposal | None = None
    hits: Array = field(default_factory=lambda: np.empty(0))
    tries: Array = field(default_factory=lambda: np.empty(0))
    changed: Array = field(default_factory=lambda: np.empty(0, dtype=np.int64))

    def propose(self, rng: np.random.Generator) -> Proposal:
        """Return the next generation."""
        material = self.material
        if self.found is None:
            self.hits = np.ones(material.features)
            self.tries = np.full(material.features, 2.0)
            self.changed = np.empty(0, dtype=np.int64)
            return Mutated(material).some(rng, self.size)
        count = int(self.size * (1 - _FRESH))
        start = self.found.take(rng.integers(0, len(self.found), count))
        values = start.values.copy()
        worth = (self.hits / self.tries) * np.log1p(material.high - material.low)
        self.changed = rng.choice(material.features, count, p=worth / worth.sum())
        at = np.arange(count), self.changed
        values[at] = uniform(material, rng, count)[at]
        stepped = Proposal(values, start.words, start.origins)
        fresh = Mutated(material).some(rng, self.size - count)
        return joined([stepped, fresh])

    def learn(self, cases: Proposal, told: Told) -> None:
        """Keep what was found, and which changes left it a violation."""
        count = len(self.changed)
        size = self.material.features
        hits = told.violated[:count].astype(float)
        self.hits = self.hits + np.bincount(self.changed, hits, minlength=size)
        self.tries = self.tries + np.bincount(self.changed, minlength=size)
        new = cases.take(np.flatnonzero(told.violated))
        if len(new):
            old = [] if self.found is None else [self.found]
            self.found = joined([*old, new]).take(np.s_[-_MOST:])

    def state(self) -> Any:
        """Return what was learned, as data that JSON can hold."""
        if self.found is None:
            return None
        kept = self.found.values, self.found.words, self.found.origins
        return [column.tolist() for column in (*kept, self.hits, self.tries)]

    def restore(self, state: Any) -> None:
        """Go on from what a strategy of the same kind had learned."""
        if state is not None:
            values, drawn, origins, hits, tries = state
            self.found = Proposal(
                np.array(values, dtype=np.float64),
                np.array(drawn, dtype=np.uint64),
                np.array(origins, dtype=np.int64),
            )
            self.hits, self.tries = np.array(hits), np.array(tries)
