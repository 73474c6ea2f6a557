"""Which episodes of a guided training start from a bug, and from which one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True)
class Schedule:
    """How likely an episode starts from a bug: nothing at first, then more in steps.

    The first steps of training are for learning the game at all; bugs are ironed out
    when the policy already plays.
    """

    growth: float = 0.15
    every: int = 50  # rollouts
    most: float = 0.6

    def __post_init__(self) -> None:
        if not (self.growth >= 0 and 0 <= self.most <= 1):
            raise ValueError(
                f"the guiding probability grows by {self.growth} up to {self.most}:"
                " the first must not be negative, the second lie between 0 and 1"
            )
        if self.every < 1:
            raise ValueError(f"`every` must be 1 rollout or more, not {self.every}")

    def probability(self, rollouts: int) -> float:
        """Return the share of episodes that start from a bug after so many rollouts."""
        # Rounded: three steps of 0.15 are 0.45, not 0.44999999999999996.
        return min(self.most, round(self.growth * (rollouts // self.every), 10))


@dataclass(frozen=True, slots=True)
class Start:
    """A state to start an episode from, and the bug that it belongs to."""

    bug: str
    name: str  # of the input or variable that holds the state
    state: Any


class BuggyStarts:
    """The states of all bugs found so far, those of the last test ahead of the others."""

    def __init__(self) -> None:
        self.all: dict[tuple[str, str], Start] = {}
        self.newest: list[Start] = []

    def __len__(self) -> int:
        return len(self.all)

    def add(self, found: Sequence[Start]) -> int:
        """Take in what the newest test found; say how many of its bugs are new."""
        known = {start.bug for start in self.all.values()}
        self.newest = list(found)
        for start in found:
            self.all.setdefault((start.bug, start.name), start)
        return len({start.bug for start in found} - known)


class StartChooser:
    """Chooses the starts of one environment, from a generator of its own.

    Each of the newest starts is taken once, in random order; from then on all starts
    ever found are drawn from, so that what was ironed out is not forgotten.
    """

    def __init__(self, seed: Sequence[int] | int) -> None:
        self.rng = np.random.default_rng(seed)
        self.probability = 0.0
        self._newest: list[Start] = []
        self._all: list[Start] = []

    def update(
        self, probability: float, newest: Sequence[Start], everything: Sequence[Start]
    ) -> None:
        """Take over what another test and the schedule say."""
        self.probability = probability
        order = self.rng.permutation(len(newest))
        self._newest = [newest[i] for i in order]
        self._all = list(everything)

    def choose(self) -> Start | None:
        """Return where the next episode starts, None for the game's own start."""
        guided = self.rng.random() < self.probability
        if not guided or not self._all:
            return None
        if self._newest:
            return self._newest.pop()
        return self._all[self.rng.integers(len(self._all))]

    def seed(self) -> int:
        """Draw what is to fix the randomness of an episode."""
        return int(self.rng.integers(2**31))


def states_of(bug: str, values: Mapping[str, Any], names: Sequence[str]) -> list[Start]:
    """Return the states of a bug by the names that the spec gives to them."""
    return [Start(bug, name, values[name]) for name in names]
