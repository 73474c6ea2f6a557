"""The guided search: a fixed share of each generation for every kind of case."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from nomos.search.collecting import Collecting
from nomos.search.genetic import Genetic
from nomos.search.mutation import Mutated, Uniform, real_rows, words
from nomos.search.strategy import (
    Learns,
    Material,
    Proposal,
    Strategy,
    Told,
    joined,
)

_SIZE = 100  # cases of a generation
_ALL = 0.5  # of the cases between the cuts of trees have all their features redrawn


@dataclass(slots=True)
class Boundaries(Mutated):
    """Rows of the data with some or all features moved between other cuts of the trees.

    The trees answer alike between two cuts, so each such stretch is as likely, however
    short it is. A fault that several features lead to takes many moves at once, and one
    near the data takes few: half of the cases have any share of their features moved.
    """

    def some(self, rng: np.random.Generator, count: int) -> Proposal:
        """Return so many cases."""
        material = self.material
        assert material.cuts is not None
        values, origins = real_rows(material, rng, count)
        share = np.where(rng.random(count) < _ALL, 1.0, rng.random(count))
        for column, cuts in enumerate(material.cuts):
            at = np.flatnonzero(rng.random(count) < share)
            stretch = rng.integers(0, len(cuts), len(at))
            whole = material.whole[column]
            ends = np.append(cuts[1:], material.high[column] + whole)
            along = rng.random(len(at)) * (ends - cuts)[stretch]
            values[at, column] = cuts[stretch] + (np.floor(along) if whole else along)
        return Proposal(values, words(rng, count), origins)


@dataclass(slots=True)
class Guided(Strategy):
    """Changed rows, a search by margin from the data, and one by trend from anywhere.

    Where the cuts of trees are known, there are cases between them as well. Each kind
    learns from the cases of all.
    """

    material: Material
    size: int = _SIZE
    learns: Learns = "margins"
    parts: list[Mutated | Genetic] = field(default_factory=list)

    def __post_init__(self) -> None:
        material = self.material
        self.parts = [Mutated(material)]
        if not material.unguided:
            self.parts += [
                Genetic(material, "margin", Mutated(material)),
                Genetic(material, "trend", Uniform(material)),
            ]
        if material.cuts is not None:
            self.parts.append(Boundaries(material))

    def propose(self, rng: np.random.Generator) -> Proposal:
        """Return the next generation."""
        shares = np.array_split(np.arange(self.size), len(self.parts))
        parts = zip(self.parts, map(len, shares), strict=True)
        return joined([part.some(rng, count) for part, count in parts])

    def learn(self, cases: Proposal, told: Told) -> None:
        """Take in what became of a generation."""
        for part in self.parts:
            part.learn(cases, told)

    def state(self) -> Any:
        """Return what was learned, as data that JSON can hold."""
        return [part.state() for part in self.parts]

    def restore(self, state: Any) -> None:
        """Go on from what a strategy of the same kind had learned."""
        for part, own in zip(self.parts, state, strict=True):
            part.restore(own)


def strategy(name: str, material: Material) -> Strategy:
    """Return a strategy by its name; without anything to be guided by, it mutates."""
    if name == "uniform":
        return Uniform(material)
    if name == "collecting":
        return Collecting(material)
    if name == "mutated" or (material.unguided and material.cuts is None):
        return Mutated(material)
    return Guided(material)
