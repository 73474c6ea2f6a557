"""The guided search: a fixed share of each generation for every kind of case.

One kind is genetic: cases that came nearest to a violation are crossed and changed.
"""

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from nomos.device import Array
from nomos.search.diverse import Diverse
from nomos.search.strategy import (
    Feedback,
    Learns,
    Material,
    Mutated,
    Proposal,
    Uniform,
    change_features,
    draw_words,
    join_proposals,
    move_words,
    real_rows,
)

_SIZE = 100  # cases of a generation; of a long campaign, one in so many of those before
_SHORT, _SHARE, _LARGEST = 6000, 20, 8000
_ALL = 0.5  # of the cases between the cuts of trees have all their features redrawn
_KEPT = 100  # cases that have children
_FEWEST = 10  # with fewer, all are fresh
_FRESH = 0.2  # of the cases of a generation
_CROSSED = 0.3  # of the others
_TOURNAMENT = 3


@dataclass(slots=True)
class Boundaries(Mutated):
    """Rows of the data with some or all features moved between other cuts of the trees.

    The trees answer alike between two cuts, so each such stretch is as likely, however
    short it is. A fault that several features lead to takes many moves at once, and one
    near the data takes few: half of the cases have any share of their features moved.
    """

    def propose_cases(self, rng: np.random.Generator, count: int) -> Proposal:
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
        return Proposal(values, draw_words(rng, count), origins)


@dataclass(slots=True)
class Genetic:
    """Keeps the nearest cases; of equally near ones, those nearest to the data.

    Violations are not kept: one that was found leads to many that are no news.
    """

    material: Material
    key: Literal["margin", "trend"]
    fresh: Mutated  # where new cases come from
    kept: Proposal | None = None
    near: Array = field(default_factory=lambda: np.empty(0))

    def propose_cases(self, rng: np.random.Generator, count: int) -> Proposal:
        """Return so many cases."""
        if self.kept is None or len(self.kept) < _FEWEST:
            return self.fresh.propose_cases(rng, count)
        children = int(count * (1 - _FRESH))
        mother, father = (self._choose_parents(rng, children) for _ in range(2))
        values = mother.values
        swapped: Array = np.less(rng.random(values.shape), 0.5)
        swapped[rng.random(children) > _CROSSED] = False
        values = np.where(swapped, father.values, values)
        bred = Proposal(
            change_features(self.material, rng, values),
            move_words(rng, mother.words),
            mother.origins,
        )
        return join_proposals([bred, self.fresh.propose_cases(rng, count - children)])

    def _choose_parents(self, rng: np.random.Generator, count: int) -> Proposal:
        """Choose the best of some, so often."""
        assert self.kept is not None
        tried = rng.integers(0, len(self.kept), (count, _TOURNAMENT))
        best = self.near[tried].argmax(axis=1)
        return self.kept.take(tried[np.arange(count), best])

    def learn(self, cases: Proposal, feedback: Feedback) -> None:
        """Take in what became of a generation."""
        near = feedback.margin if self.key == "margin" else feedback.trend
        good = np.flatnonzero(feedback.passed & np.isfinite(near))
        cases, near = cases.take(good), near[good]
        if self.kept is not None:
            cases = join_proposals([self.kept, cases])
            near = np.concatenate([self.near, near])
        deduplicated = np.column_stack([cases.values, cases.words.astype(np.float64)])
        first = np.sort(np.unique(deduplicated, axis=0, return_index=True)[1])
        cases, near = cases.take(first), near[first]
        order = np.lexsort((self._count_changes(cases), -near))[:_KEPT]
        self.kept, self.near = cases.take(order), near[order]

    def _count_changes(self, cases: Proposal) -> Array:
        """Return how many features differ from the rows that cases were made from."""
        real = self.material.data[cases.origins].reshape(len(cases), -1)
        own = np.repeat(
            cases.origins >= 0, self.material.features // self.material.inputs, axis=1
        )
        return np.asarray(np.where(own, cases.values != real, True).sum(axis=1))

    def state(self) -> Any:
        """Return what was learned, as data that JSON can hold."""
        if self.kept is None:
            return None
        return [self.kept.state(), self.near.tolist()]

    def restore(self, state: Any) -> None:
        """Go on from what a strategy of the same kind had learned."""
        if state is not None:
            kept, near = state
            self.kept, self.near = Proposal.from_state(kept), np.array(near, float)


@dataclass(slots=True)
class Guided:
    """Changed rows, a search by margin from the data, and one by trend from anywhere.

    Where the cuts of trees are known, there are cases between them as well. Each kind
    learns from the cases of all.
    """

    material: Material
    size: int = _SIZE
    learns: Learns = "margins"
    parts: list[Mutated | Genetic] = field(default_factory=list)
    proposed: int = 0  # cases of all generations before

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
        size = min(max(self.size, (self.proposed - _SHORT) // _SHARE), _LARGEST)
        shares = np.array_split(np.arange(size), len(self.parts))
        parts = zip(self.parts, map(len, shares), strict=True)
        return join_proposals([part.propose_cases(rng, count) for part, count in parts])

    def learn(self, cases: Proposal, feedback: Feedback) -> None:
        """Take in what became of a generation."""
        self.proposed += len(cases)
        for part in self.parts:
            part.learn(cases, feedback)

    def state(self) -> Any:
        """Return what was learned, as data that JSON can hold."""
        return [self.proposed, *(part.state() for part in self.parts)]

    def restore(self, state: Any) -> None:
        """Go on from what a strategy of the same kind had learned."""
        self.proposed, *states = state
        for part, own in zip(self.parts, states, strict=True):
            part.restore(own)


Strategy = Mutated | Diverse | Guided


def strategy_by_name(name: str, material: Material) -> Strategy:
    """Return a strategy by its name; without anything to be guided by, it mutates."""
    if name == "uniform":
        return Uniform(material)
    if name == "diverse":
        return Diverse(material)
    if name == "mutated" or (material.unguided and material.cuts is None):
        return Mutated(material)
    return Guided(material)
