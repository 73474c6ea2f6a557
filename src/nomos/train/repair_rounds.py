"""The rounds of a repair: train, look, keep the best, and know when to stop.

While it trains, a repair looks at the training records alone. The held-out records are
asked twice: before the first round, and when all is over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, Protocol

import numpy as np

from nomos.train.repair_cases import Cases, NoMeaning, draw_cases
from nomos.train.repair_judge import Bench, StandIn, Standing, answered
from nomos.train.repair_lesson import Lesson

_FIRST_WEIGHT, _LARGEST_WEIGHT = 2.0, 64.0
_WATCHED = 2000  # cases of each spec that a round is looked at with
_FEWEST_CASES, _MOST_CASES = 2000, 20_000  # drawn for a round, of each spec
_PATIENCE = 4  # rounds without a better model


class Mender(Protocol):
    """A model that can be trained further, whatever it is made of."""

    how: str

    @property
    def model(self) -> Any:
        """The model as a domain asks it."""
        ...

    def begin(self, function: str, rows: Any, answers: Any) -> None:
        """Take note of the model as it is before the first round."""
        ...

    def notes(self, lesson: Lesson) -> Mapping[str, str]:
        """Say what is done otherwise than one would expect, by spec."""
        ...

    def train(self, lesson: Lesson, told: Callable[[float], None]) -> None:
        """Train for one round; tell what part of it is done."""
        ...

    def snapshot(self) -> bytes:
        """Return the state of the training."""
        ...

    def restore(self, snapshot: bytes) -> None:
        """Go back to a state."""
        ...

    def content(self) -> bytes:
        """Return the model's file."""
        ...


@dataclass(frozen=True, slots=True)
class Goal:
    """What a repair is after, and what it may cost."""

    times: float = 10.0  # by how much the rate of violations is to fall
    points: float = 1.0  # of accuracy that may be lost, in percent
    rounds: int = 12

    def allows(self, before: Standing, after: Standing) -> bool:
        """Tell whether the accuracy has not fallen too far."""
        lost = 100 * (before.accuracy.value - after.accuracy.value)
        return lost <= self.points + 1e-9

    def reached(self, before: Standing, after: Standing) -> bool:
        """Tell whether the specs together are broken so much less often, none more."""
        return after.total_rate <= before.total_rate / self.times and not any(
            after.rates[name].value > rate.value for name, rate in before.rates.items()
        )


@dataclass(frozen=True, slots=True)
class Round:
    """How the model stood after a round, on the training records; 0 is the first model."""

    number: int
    standing: Standing
    weights: Mapping[str, float]


@dataclass(slots=True)
class Progress:
    """Where a repair has come to: all that is needed to go on."""

    rounds: list[Round] = field(default_factory=list)
    best: int = 0
    now: bytes = b""
    best_state: bytes = b""
    stop: str = ""


def seed_of(seed: int, *what: object) -> int:
    """Return a seed for one purpose: no two purposes share their cases."""
    text = ":".join(map(str, ("repair", seed, *what)))
    return int.from_bytes(blake2b(text.encode(), digest_size=4).digest(), "little")


class Rounds:
    """Trains a model round by round."""

    def __init__(
        self,
        bench: Bench,
        mender: Mender,
        stand_in: StandIn,
        function: str,
        goal: Goal,
        seed: int,
    ) -> None:
        self.bench = bench
        self.mender = mender
        self.stand_in = stand_in
        self.function = function
        self.goal = goal
        self.seed = seed
        self.needed = True  # whether there are violations, if not in training records
        self.notes: dict[str, str] = {}
        items = bench.records.items
        with stand_in.listening() as heard:
            self.answers = answered(bench.domain, function, items)
        self.rows = _joined(heard)

    def run(
        self, progress: Progress, told: Callable[[int, float], None]
    ) -> Iterator[Round]:
        """Go on from where a repair has come to; yields each round when it is over."""
        self.mender.begin(self.function, self.rows, self.answers)
        if progress.rounds:
            self.mender.restore(progress.now)
        else:
            yield self._close(progress, Round(0, self._look(), self._first_weights()))
        while not progress.stop:
            number = len(progress.rounds)
            weights = self._weights(progress.rounds)
            self.stand_in.model = self.mender.model
            lesson = self._lesson(number, weights)
            self.notes |= self.mender.notes(lesson)
            self.mender.train(lesson, lambda part: told(number, part))  # noqa: B023 - called at once
            yield self._close(progress, Round(number, self._look(), weights))

    def _close(self, progress: Progress, done: Round) -> Round:
        """Take in a finished round and say whether it is the last."""
        progress.rounds.append(done)
        progress.now = self.mender.snapshot()
        first, best = progress.rounds[0], progress.rounds[progress.best]
        allowed = self.goal.allows(first.standing, done.standing)
        if done.number == 0 or (allowed and _is_better(done, best)):
            progress.best, progress.best_state = done.number, progress.now
        progress.stop = self._stop(progress, allowed)
        return done

    def _stop(self, progress: Progress, allowed: bool) -> str:
        last = progress.rounds[-1]
        if last.number == 0 and self.needed:
            return ""
        if allowed and not last.standing.total_rate:
            return "no violation is left in the training records"
        if last.number - progress.best >= _PATIENCE:
            return f"{_PATIENCE} rounds brought no better model"
        if last.number >= self.goal.rounds:
            return f"{last.number} rounds are over"
        return ""

    def _first_weights(self) -> dict[str, float]:
        return {one.name: _FIRST_WEIGHT for one in self.bench.properties}

    def _weights(self, rounds: Sequence[Round]) -> dict[str, float]:
        """Weigh the specs that are still broken too often twice as much as before."""
        first, last = rounds[0], rounds[-1]
        if last.number == 0:
            return dict(last.weights)
        weights = {}
        for name, weight in last.weights.items():
            wanted = first.standing.rates[name].value / self.goal.times / 2
            broken = last.standing.rates[name].value > wanted
            weights[name] = min(_LARGEST_WEIGHT, weight * 2) if broken else weight
        return weights

    def _look(self) -> Standing:
        self.stand_in.model = self.mender.model
        return self.bench.standing(
            self.function, seed=seed_of(self.seed, "look"), budget=_WATCHED
        )

    def _lesson(self, number: int, weights: Mapping[str, float]) -> Lesson:
        seed = seed_of(self.seed, "train", number)
        count = int(np.clip(2 * len(self.bench.records), _FEWEST_CASES, _MOST_CASES))
        cases: dict[str, Cases] = {}
        for one in self.bench.properties:
            engine = self.bench.engines[one.name]
            try:
                cases[one.name] = draw_cases(
                    engine, self.stand_in, seed=seed, count=count
                )
            except NoMeaning as why:
                self.notes[one.name] = f"not trained on: {why}"
        labels = self.bench.records.labels
        return Lesson(
            self.function, self.rows, self.answers, labels, cases, weights, seed
        )


def _is_better(one: Round, other: Round) -> bool:
    """Compare rounds by how often they break specs, then by how often they are right."""
    a, b = one.standing, other.standing
    return (a.total_rate, -a.accuracy.value) < (b.total_rate, -b.accuracy.value)


def _joined(heard: list[Any]) -> Any:
    if heard and all(isinstance(rows, np.ndarray) for rows in heard):
        return np.concatenate(heard)
    return [row for rows in heard for row in rows]
