"""What a search is: it proposes a generation of cases, and learns from their verdicts.

A generation depends on the seed, its number and what was learned before it. So results
are the same for every batch size, way and number of workers.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Literal

import numpy as np

from nomos.device import Array

Learns = Literal["nothing", "verdicts", "margins"]  # of a generation
WORDS = 4  # draws of a case, behind its inputs, that a search may change


@dataclass(frozen=True, slots=True)
class Material:
    """What a search knows of a program before it runs.

    `low`, `high` and `whole` speak of each feature of each input of a case, `data` of
    the rows at hand. `cuts` are, for each feature, where the model's trees begin to
    answer differently; None where nothing is known of trees. `unguided` says why there
    is no telling how near a case comes to a violation; "" where there is.
    """

    low: Array
    high: Array
    whole: Array
    data: Array  # one number for each feature of one input
    inputs: int
    cuts: tuple[Array, ...] | None = None
    unguided: str = ""
    missing: Array | None = None  # which features may be; None: none of them

    def leave_out(self, rng: np.random.Generator, values: Array, column: Any) -> Array:
        """Return values of columns, some of them missing where they may be."""
        if self.missing is None:
            return values
        gone = self.missing[column] & (rng.random(values.shape) < _MISSING)
        return np.where(gone, np.nan, values)

    @property
    def features(self) -> int:
        """How many numbers the inputs of a case are."""
        return len(self.low)


@dataclass(frozen=True, slots=True)
class Proposal:
    """Cases to run: the features of their inputs, and words for their other draws.

    `origins` are the rows of the data that the inputs were made from, -1 where from
    none: what was changed is counted against them.
    """

    values: Array  # (cases, features)
    words: Array  # (cases, WORDS)
    origins: Array  # (cases, inputs)

    def __len__(self) -> int:
        return len(self.words)

    def take(self, index: Any) -> Proposal:
        """Return some of the cases."""
        if isinstance(index, slice):
            return Proposal(*(column[index] for column in self.columns))
        return Proposal(*(column.take(index, axis=0) for column in self.columns))

    @property
    def columns(self) -> tuple[Array, Array, Array]:
        """All that is known of the cases."""
        return self.values, self.words, self.origins

    def state(self) -> list[Any]:
        """Return the cases as data that JSON can hold."""
        return [column.tolist() for column in self.columns]

    @staticmethod
    def from_state(state: list[Any]) -> Proposal:
        """Return the cases of which `state` told."""
        kinds, count = (np.float64, np.uint64, np.int64), len(state[1])
        columns = map(np.array, state, kinds)
        return Proposal(*(column.reshape(count, -1) for column in columns))


def join_proposals(parts: list[Proposal]) -> Proposal:
    """Put cases together."""
    columns = zip(*(part.columns for part in parts), strict=True)
    return Proposal(*map(np.concatenate, columns))


@dataclass(frozen=True, slots=True)
class Feedback:
    """What became of the cases of a generation.

    The signals say how near a case came to a violation, NaN where that is not known:
    `margin` by the scores of the answers that would be one, `trend` by where the scores
    tend to.
    """

    passed: Array
    violated: Array
    margin: Array
    trend: Array


def generation_rng(seed: int, name: str, generation: int) -> np.random.Generator:
    """Return the random numbers of one generation."""
    digest = blake2b(f"{seed}:{name}:{generation}".encode(), digest_size=16).digest()
    key = np.frombuffer(digest, dtype=np.uint64)
    return np.random.Generator(np.random.Philox(key=key))


_TIMES = (1, 1, 1, 2, 2, 3)  # how many features are changed, each as likely
_ANY, _REAL = 0.25, 0.35  # how often a change takes any value, or that of a real row
_MISSING = 0.2  # of the values that may be missing
_STEP = 0.05  # of a feature's range: the size of a small step
_FRESH_WORD, _MOVED_WORD = 0.3, 0.3
_WORD_STEP = 2.0**58


def draw_words(rng: np.random.Generator, count: int) -> Array:
    """Return fresh words for the draws of cases."""
    return rng.integers(0, 2**64, (count, WORDS), dtype=np.uint64, endpoint=False)


def move_words(rng: np.random.Generator, old: Array) -> Array:
    """Return words of which some are fresh and some a little larger or smaller."""
    what = rng.random(old.shape)
    size = np.asarray(rng.normal(0, _WORD_STEP, old.shape))
    step = size.astype(np.int64).view(np.uint64)
    moved = np.where(what < _FRESH_WORD + _MOVED_WORD, old + step, old)
    return np.where(what < _FRESH_WORD, draw_words(rng, len(old)), moved)


def draw_uniform(material: Material, rng: np.random.Generator, count: int) -> Array:
    """Return any values of the features, each as likely."""
    share = rng.random((count, material.features))
    size = material.high - material.low
    counted = np.floor(share * (size + 1)).clip(0, size)
    values = np.asarray(material.low + np.where(material.whole, counted, share * size))
    return material.leave_out(rng, values, slice(None))


def change_features(
    material: Material, rng: np.random.Generator, values: Array
) -> Array:
    """Change one to three features: by a small step, to a real row's value, or to any."""
    count, features = values.shape
    values = values.copy()
    times = rng.choice(_TIMES, count)
    own = len(material.data[0])
    for turn in range(max(_TIMES)):
        at = np.flatnonzero(times > turn)
        column = rng.integers(0, features, len(at))
        what = rng.random(len(at))
        low, high = material.low[column], material.high[column]
        step = np.abs(rng.normal(0, 1, len(at))) * (high - low) * _STEP
        step = np.where(material.whole[column], np.maximum(1, np.rint(step)), step)
        near = values[at, column] + step * rng.choice([-1, 1], len(at))
        real = material.data[rng.integers(0, len(material.data), len(at)), column % own]
        anything = draw_uniform(material, rng, len(at))[np.arange(len(at)), column]
        new = np.where(what < _ANY, anything, np.where(what < _ANY + _REAL, real, near))
        values[at, column] = np.clip(new, low, high)
    return values


def real_rows(
    material: Material, rng: np.random.Generator, count: int
) -> tuple[Array, Array]:
    """Return the features of rows of the data, and which rows they are."""
    origins = rng.integers(0, len(material.data), (count, material.inputs))
    return material.data[origins].reshape(count, -1), origins


@dataclass(slots=True)
class Mutated:
    """Rows of the data with one to three features changed; learns nothing."""

    material: Material
    size: int = 1024
    learns: Learns = "nothing"

    def propose(self, rng: np.random.Generator) -> Proposal:
        """Return the next generation."""
        return self.propose_cases(rng, self.size)

    def propose_cases(self, rng: np.random.Generator, count: int) -> Proposal:
        """Return so many cases."""
        rows, origins = real_rows(self.material, rng, count)
        values = change_features(self.material, rng, rows)
        return Proposal(values, draw_words(rng, count), origins)

    def learn(self, cases: Proposal, feedback: Feedback) -> None:
        """Take in what became of a generation: here, nothing."""

    def state(self) -> Any:
        """Return what was learned, as data that JSON can hold."""

    def restore(self, state: Any) -> None:
        """Go on from what a strategy of the same kind had learned."""


@dataclass(slots=True)
class Uniform(Mutated):
    """Any rows that the schema allows, each as likely; learns nothing."""

    def propose_cases(self, rng: np.random.Generator, count: int) -> Proposal:
        """Return so many cases."""
        values = draw_uniform(self.material, rng, count)
        origins = np.full((count, self.material.inputs), -1)
        return Proposal(values, draw_words(rng, count), origins)
