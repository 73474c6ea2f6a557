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
            return Proposal(self.values[index], self.words[index], self.origins[index])
        columns = self.values, self.words, self.origins
        return Proposal(*(column.take(index, axis=0) for column in columns))

    def state(self) -> list[Any]:
        """Return the cases as data that JSON can hold."""
        columns = self.values, self.words, self.origins
        return [column.tolist() for column in columns]

    @staticmethod
    def of(state: list[Any]) -> Proposal:
        """Return the cases of which `state` told."""
        values, words, origins = state
        count = len(words)
        return Proposal(
            np.array(values, dtype=np.float64).reshape(count, -1),
            np.array(words, dtype=np.uint64).reshape(count, -1),
            np.array(origins, dtype=np.int64).reshape(count, -1),
        )


def joined(parts: list[Proposal]) -> Proposal:
    """Put cases together."""
    return Proposal(
        np.concatenate([part.values for part in parts]),
        np.concatenate([part.words for part in parts]),
        np.concatenate([part.origins for part in parts]),
    )


@dataclass(frozen=True, slots=True)
class Told:
    """What became of the cases of a generation.

    The signals say how near a case came to a violation, NaN where that is not known:
    `margin` by the scores of the answers that would be one, `trend` by where the scores
    tend to.
    """

    passed: Array
    violated: Array
    margin: Array
    trend: Array


def generator(seed: int, name: str, generation: int) -> np.random.Generator:
    """Return the random numbers of one generation."""
    digest = blake2b(f"{seed}:{name}:{generation}".encode(), digest_size=16).digest()
    key = np.frombuffer(digest, dtype=np.uint64)
    return np.random.Generator(np.random.Philox(key=key))
