"""Which episodes of a guided training start from a bug, and from which one."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from casestudies.guiding.policy_tests import Choices

_EPISODES = 200  # whose mean length is taken


@dataclass(frozen=True, slots=True)
class Schedule:
    """How the share of bugs grows: nothing at first, then more in equal parts.

    For a training from nothing: its first steps are for learning the game at all.
    """

    growth: float = 0.15
    every: int = 50  # rollouts

    def __post_init__(self) -> None:
        if not self.growth > 0:
            raise ValueError(f"`growth` must be more than 0, not {self.growth}")
        if self.every < 1:
            raise ValueError(f"`every` must be 1 rollout or more, not {self.every}")

    def share_after(self, rollouts: int, most: float) -> float:
        """Return the share after so many rollouts of one that ends at `most`."""
        # Rounded: three parts of 0.15 are 0.45, not 0.44999999999999996.
        return min(most, round(self.growth * (rollouts // self.every), 10))


@dataclass(frozen=True, slots=True)
class Start:
    """A state to start an episode from, and the bug that it belongs to."""

    bug: str
    name: str  # of the input or variable that holds the state
    state: Any


@dataclass(slots=True)
class _Known:
    choices: Choices
    starts: Sequence[Start]
    missed: int = 0  # how many tests in a row it did not occur in


class BuggyStarts:
    """The bugs that still occur, and the states to start from that they have."""

    def __init__(self, forget_after: int) -> None:
        self.forget_after = forget_after
        self.newest: list[Start] = []
        self._known: dict[str, _Known] = {}
        self._ever: set[str] = set()

    def __len__(self) -> int:
        return len(self._known)

    @property
    def all(self) -> list[Start]:
        """The states of all bugs that are known."""
        return [start for known in self._known.values() for start in known.starts]

    def begin_test(self) -> None:
        """Begin to take in what another test finds."""
        self.newest = []

    def add_bug(self, bug: str, choices: Choices, starts: Sequence[Start]) -> bool:
        """Take in a bug of this test; say whether no test found it before."""
        new = bug not in self._ever
        self._ever.add(bug)
        self._known[bug] = _Known(choices, starts)
        self.newest += starts
        return new

    def not_found(self) -> dict[str, Choices]:
        """Return the cases of bugs that are known but were not found by this test."""
        found = {start.bug for start in self.newest}
        return {
            bug: known.choices for bug, known in self._known.items() if bug not in found
        }

    def forget_missed(self, tried: Collection[str], occurred: Collection[str]) -> None:
        """Forget what did not occur for so many tests in a row."""
        for bug in tried:
            known = self._known[bug]
            known.missed = 0 if bug in occurred else known.missed + 1
            if known.missed >= self.forget_after:
                del self._known[bug]


class Dose:
    """How likely an episode must start from a bug for bugs to have a share of steps.

    Episodes from bugs are often much shorter than others; the mean lengths of the last
    episodes of both kinds, of all environments, make up for it.
    """

    def __init__(self) -> None:
        self._lengths = deque[int](maxlen=_EPISODES), deque[int](maxlen=_EPISODES)

    def add_lengths(self, usual: Sequence[int], from_bugs: Sequence[int]) -> None:
        """Take in how long episodes were."""
        self._lengths[0].extend(usual)
        self._lengths[1].extend(from_bugs)

    def probability_of(self, share: float) -> float:
        """Return the probability for a share of the steps."""
        if not all(self._lengths):
            return share
        usual, buggy = (sum(lengths) / len(lengths) for lengths in self._lengths)
        return share * usual / (share * usual + (1 - share) * buggy)


class StartChooser:
    """Chooses the starts of one environment, from a generator of its own.

    Each of the newest starts is taken once, in random order; from then on all starts
    that are known are drawn from.
    """

    def __init__(self, seed: Sequence[int] | int) -> None:
        self.rng = np.random.default_rng(seed)
        self.probability = 0.0
        self._newest: list[Start] = []
        self._all: list[Start] = []

    def take_starts(self, newest: Sequence[Start], everything: Sequence[Start]) -> None:
        """Take over what another test found."""
        order = self.rng.permutation(len(newest))
        self._newest = [newest[i] for i in order]
        self._all = list(everything)

    def choose_start(self) -> Start | None:
        """Return where the next episode starts, None for the game's own start."""
        guided = self.rng.random() < self.probability
        return self.pick_start() if guided and self._all else None

    def pick_start(self) -> Start:
        """Return one of the starts there are: the newest first, then any of them."""
        if self._newest:
            return self._newest.pop()
        return self._all[self.rng.integers(len(self._all))]

    def draw_seed(self) -> int:
        """Draw what is to fix the randomness of an episode."""
        return int(self.rng.integers(2**31))
