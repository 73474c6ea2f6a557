"""Small searches after published ones, to compare with at equal numbers of calls.

They are written from the papers' descriptions, for the two runs of a fairness property,
and are not the authors' programs:

- after Aequitas (Udeshi, Arora, Chattopadhyay, ASE 2018): rows at random, then small steps
  around those that are discriminatory; features that led to more are stepped more often.
- after ExpGA (Fan and others, ICSE 2022): seeds whose score depends most on the protected
  feature, then a genetic search whose fitness is how far the two scores are apart.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from nomos.search.strategy import (
    Feedback,
    Learns,
    Material,
    Proposal,
    Uniform,
    draw_words,
    join_proposals,
)

Array = np.ndarray[Any, Any]
_MOST_KEPT = 1000


@dataclass(slots=True)
class Aequitas:
    """Rows at random in the first half of a generation, steps around finds in the other."""

    material: Material
    size: int = 100
    learns: Learns = "margins"
    found: Array | None = None
    weights: Array = field(default_factory=lambda: np.empty(0))

    def propose(self, rng: np.random.Generator) -> Proposal:
        """Return the next generation."""
        material = self.material
        if self.found is None:
            self.weights = np.ones(material.features)
            return Uniform(material).propose_cases(rng, self.size)
        count = self.size // 2
        values = self.found[rng.integers(0, len(self.found), count)].copy()
        chances = self.weights / self.weights.sum()
        column = rng.choice(material.features, count, p=chances)
        at = np.arange(count), column
        stepped = values[at] + rng.choice([-1.0, 1.0], count)
        values[at] = np.clip(stepped, material.low[column], material.high[column])
        near = Proposal(
            values, draw_words(rng, count), np.full((count, material.inputs), -1)
        )
        return join_proposals(
            [Uniform(material).propose_cases(rng, self.size - count), near]
        )

    def learn(self, cases: Proposal, told: Feedback) -> None:
        """Keep what is discriminatory."""
        new = cases.values[told.violated]
        if len(new):
            old = new[:0] if self.found is None else self.found
            moved = (
                (new[:, None] != old[None, -20:]).sum(axis=(0, 1)) if len(old) else 0
            )
            self.weights = self.weights + np.asarray(moved) / max(1, len(new) * 20)
            self.found = np.concatenate([old, new])[-_MOST_KEPT:]

    def state(self) -> Any:
        """Return what was learned; these searches are not resumed."""

    def restore(self, state: Any) -> None:
        """Begin anew."""


@dataclass(slots=True)
class ExpGA:
    """Crossing and mutation of the rows whose two scores are furthest apart."""

    material: Material
    size: int = 100
    learns: Learns = "margins"
    kept: Array | None = None
    near: Array = field(default_factory=lambda: np.empty(0))

    def propose(self, rng: np.random.Generator) -> Proposal:
        """Return the next generation."""
        material, count = self.material, self.size
        if self.kept is None:
            return Uniform(material).propose_cases(rng, count)
        tried = rng.integers(0, len(self.kept), (2, count, 2))
        mother, father = (
            self.kept[pair[np.arange(count), self.near[pair].argmax(axis=1)]]
            for pair in tried
        )
        cut = rng.integers(0, material.features, count)[:, None]
        values = np.where(np.arange(material.features) < cut, mother, father)
        column = rng.integers(0, material.features, count)
        anything = Uniform(material).propose_cases(rng, count).values
        at = np.arange(count), column
        values[at] = anything[at]
        origins = np.full((count, material.inputs), -1)
        return Proposal(values, draw_words(rng, count), origins)

    def learn(self, cases: Proposal, told: Feedback) -> None:
        """Keep the fittest, discriminatory or not."""
        good = np.flatnonzero(np.isfinite(told.trend))
        values, near = cases.values[good], told.trend[good]
        if self.kept is not None:
            values = np.concatenate([self.kept, values])
            near = np.concatenate([self.near, near])
        order = np.argsort(-near, kind="stable")[:_MOST_KEPT]
        self.kept, self.near = values[order], near[order]

    def state(self) -> Any:
        """Return what was learned; these searches are not resumed."""

    def restore(self, state: Any) -> None:
        """Begin anew."""
