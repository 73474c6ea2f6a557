"""The rounds of a repair: train, look, keep the best, and know when to stop.

After each round, the model is looked at on records that nothing was trained on. Those that
the repair is judged on are others: they are asked before the first round, and when all is
over.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from hashlib import blake2b
from pathlib import Path

import numpy as np

from nomos.errors import ModelError, StoreError
from nomos.files import write_whole
from nomos.models.recognise import open_archive
from nomos.results.reading import decode_value, parse_json
from nomos.train.repairing.cases.drawn import (
    RoundData,
    TrainingCases,
    TrainingData,
    Untrainable,
    draw_cases,
    join_rows,
)
from nomos.train.repairing.judging.evaluate import (
    Bench,
    Evaluation,
    Share,
    SwappableModel,
    ask_in_batches,
    noise_of,
)
from nomos.train.repairing.trainers.choose import Trainer

_VERSION = 4  # of what is kept of a repair
_FIRST_WEIGHT, _LARGEST_WEIGHT = 4.0, 128.0
_LOOKED_AT = 5000  # cases of each spec that a round is looked at with
_FEWEST_CASES, _MOST_CASES = 2000, 60_000  # drawn for a round, of each spec
_CLEARLY = 0.8  # of the rate before: what is not below may be chance
_BY_CHANCE = 2.0  # standard errors by which a rate may be higher
_PATIENCE = 4  # rounds without a better model
_BEYOND = 3.0  # times: so much further than the goal is enough; other cases will differ


@dataclass(frozen=True, slots=True)
class Goal:
    """What a repair is after, and what it may cost."""

    times: float = 10.0  # by how much the rate of violations is to fall
    points: float = 1.0  # of accuracy that may be lost, in percent
    rounds: int = 12

    def allows(self, before: Evaluation, after: Evaluation, noise: float = 0.0) -> bool:
        """Tell whether the accuracy has not fallen too far; `noise` is in points."""
        lost = 100 * (before.accuracy.value - after.accuracy.value)
        return lost <= self.points + noise + 1e-9

    def is_reached(self, before: Evaluation, after: Evaluation) -> bool:
        """Tell whether the specs together are broken so much less often, none more."""
        wanted = before.total_rate / self.times
        return after.total_rate <= wanted and not self.worse_specs(before, after)

    def is_better(self, before: Evaluation, after: Evaluation) -> bool:
        """Tell whether the specs are broken less often, one of them by more than chance.

        Other records will be broken differently: a fall that a few records make up is
        chance, also where all of their cases were tried.
        """
        return after.total_rate < before.total_rate and any(
            rate.value - after.rates[name].value
            > _BY_CHANCE * (before.variance(name) + after.variance(name)) ** 0.5
            for name, rate in before.rates.items()
        )

    def worse_specs(self, before: Evaluation, after: Evaluation) -> list[str]:
        """Return the specs that are broken more often than before, by more than chance."""
        return [
            name
            for name, rate in before.rates.items()
            if _is_higher(rate, after.rates[name])
        ]


def _is_higher(before: Share, after: Share) -> bool:
    """Tell whether a rate has risen, by more than counts differ from run to run."""
    total = min(before.total, after.total)
    rise = (after.value - before.value) * total
    spread = (max(0.0, after.value + before.value) * total) ** 0.5
    return rise > (0 if before.exact and after.exact else _BY_CHANCE * spread)


@dataclass(frozen=True, slots=True)
class Round:
    """How the model stood after a round, where it is looked at; 0 is the first model."""

    number: int
    evaluation: Evaluation
    weights: Mapping[str, float]
    noise: float = 0.0  # points: the standard error of the change in accuracy


@dataclass(slots=True)
class RoundProgress:
    """Where a repair has come to: all that is needed to go on."""

    rounds: list[Round] = field(default_factory=list)
    best: int = 0
    now: bytes = b""
    best_state: bytes = b""
    stop: str = ""
    written: str = ""  # the digest of the model's file


def seed_of(seed: int, *what: object) -> int:
    """Return a seed for one purpose: no two purposes share their cases."""
    text = ":".join(map(str, ("repair", seed, *what)))
    return int.from_bytes(blake2b(text.encode(), digest_size=4).digest(), "little")


class Rounds:
    """Trains a model round by round."""

    def __init__(
        self,
        bench: Bench,
        look: Bench,
        trainer: Trainer,
        swappable: SwappableModel,
        function: str,
        plan: tuple[Goal, int],
    ) -> None:
        self.goal, self.seed = plan
        self.bench = bench
        self.look = look
        self.trainer = trainer
        self.swappable = swappable
        self.function = function
        self.needed = True  # whether there are violations, if not where it looks
        self.notes: dict[str, str] = {}
        records, schema = bench.records, bench.domain.schema
        with swappable.listening() as heard:
            answers = ask_in_batches(getattr(bench.domain, function), records.items)
        columns = () if schema is None else schema.columns
        self.data = TrainingData(
            function, join_rows(heard), answers, records.labels, columns
        )
        self._first_right = look.right(function)
        # In points: of few records, a single one is more than may be lost.
        self._one_record = 100 / len(look.records)

    def run(
        self, progress: RoundProgress, told: Callable[[int, float], None]
    ) -> Iterator[Round]:
        """Go on from where a repair has come to; yields each round when it is over."""
        self.trainer.begin(self.data)
        if progress.rounds:
            self.trainer.restore(progress.now)
        else:
            weights = {one.name: _FIRST_WEIGHT for one in self.bench.properties}
            yield self._close_round(progress, self._look_at_model(0, weights))
        while not progress.stop:
            number = len(progress.rounds)
            weights = self._next_weights(progress)
            self.swappable.model = self.trainer.model
            costly = number > 1 and not self._is_allowed(progress.rounds)
            data = self._draw_round_data(number, weights, costly)
            self.notes |= self.trainer.train(data, partial(told, number))
            yield self._close_round(progress, self._look_at_model(number, weights))

    def _close_round(self, progress: RoundProgress, done: Round) -> Round:
        """Take in a finished round and say whether it is the last."""
        progress.rounds.append(done)
        progress.now = self.trainer.snapshot()
        first, best = progress.rounds[0], progress.rounds[progress.best]
        if done.number == 0 or self._rank_of(first, done) < self._rank_of(first, best):
            progress.best, progress.best_state = done.number, progress.now
        progress.stop = self._why_stop(progress)
        return done

    def _rank_of(self, first: Round, one: Round) -> tuple[int, float, float]:
        """Return how good a round is, the lowest for the best.

        First those that reach the goal with accuracy to spare, for other records will
        differ; then those that just reach it; then those that are clearly better than
        the first model and cost little; then those that reach it if their loss of
        accuracy is chance; then the first model; then all others.
        """
        before, after = first.evaluation, one.evaluation
        spare = -self.goal.points / 2
        worse = self.goal.worse_specs(before, after)
        better = after.total_rate < _CLEARLY * before.total_rate and not worse
        reached = self.goal.is_reached(before, after)
        ways = (
            reached and self.goal.allows(before, after, spare),
            reached and self.goal.allows(before, after, self._one_record),
            better and self.goal.allows(before, after, self._one_record),
            reached and self.goal.allows(before, after, one.noise),
            one is first,
            True,
        )
        group = ways.index(True)
        # Beyond a point, the next cases will differ by more than two rounds do.
        enough = before.total_rate / self.goal.times / _BEYOND
        return group, max(enough, after.total_rate), -after.accuracy.value

    def _is_allowed(self, rounds: Sequence[Round]) -> bool:
        first, last = rounds[0].evaluation, rounds[-1].evaluation
        return self.goal.allows(first, last, self._one_record)

    def _why_stop(self, progress: RoundProgress) -> str:
        first, last = progress.rounds[0], progress.rounds[-1]
        rate, wanted = last.evaluation.total_rate, first.evaluation.total_rate
        if last.number == 0:
            return "" if self.needed or rate else "no violation was found"
        enough = rate <= wanted / self.goal.times / _BEYOND
        if enough and self._rank_of(first, last)[0] == 0:
            return "the goal is reached" if rate else "no violation is left"
        patience = _PATIENCE if progress.best else 2 * _PATIENCE
        if last.number - progress.best >= patience:
            return f"{patience} rounds brought no better model"
        if last.number >= self.goal.rounds:
            return f"{last.number} rounds are over"
        return ""

    def _next_weights(self, progress: RoundProgress) -> dict[str, float]:
        """Weigh specs that are still broken too often more; all less, if it costs much."""
        first, last = progress.rounds[0], progress.rounds[-1]
        if last.number == 0:
            return dict(last.weights)
        if not self._is_allowed(progress.rounds):
            return {name: weight / 2 for name, weight in last.weights.items()}
        weights = {}
        for name, weight in last.weights.items():
            wanted = first.evaluation.rates[name].value / self.goal.times / 2
            broken = last.evaluation.rates[name].value > wanted
            weights[name] = min(_LARGEST_WEIGHT, weight * 2) if broken else weight
        return weights

    def _look_at_model(self, number: int, weights: Mapping[str, float]) -> Round:
        self.swappable.model = self.trainer.model
        evaluation = self.look.estimate(
            self.function, seed=seed_of(self.seed, "look"), budget=_LOOKED_AT
        )
        noise = noise_of(self._first_right, self.look.right(self.function))
        return Round(number, evaluation, weights, noise)

    def _draw_round_data(
        self, number: int, weights: Mapping[str, float], costly: bool
    ) -> RoundData:
        seed = seed_of(self.seed, "train", number)
        count = int(np.clip(2 * len(self.bench.records), _FEWEST_CASES, _MOST_CASES))
        cases: dict[str, TrainingCases] = {}
        for one in self.bench.properties:
            engine = self.bench.engines[one.name]
            try:
                cases[one.name] = draw_cases(
                    engine, self.swappable, seed=seed, count=count
                )
            except Untrainable as why:
                self.notes[one.name] = f"not trained on: {why}"
        return RoundData(cases, weights, seed, costly)


class Checkpoint:
    """A file that holds the rounds of one repair, written whole or not at all."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def save(self, progress: RoundProgress) -> None:
        """Keep where the repair has come to."""
        document = {
            "version": _VERSION,
            "best": progress.best,
            "stop": progress.stop,
            "written": progress.written,
            "rounds": [asdict(one) for one in progress.rounds],
        }
        written = io.BytesIO()
        with zipfile.ZipFile(written, "w") as archive:
            archive.writestr("rounds.json", json.dumps(document))
            archive.writestr("now", progress.now)
            archive.writestr("best", progress.best_state)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            (self.path.parent / ".gitignore").write_text("*\n")
            write_whole(self.path, written.getvalue())
        except OSError as error:
            raise StoreError(
                f"the round cannot be kept in {self.path}: {error}"
            ) from None

    def load(self) -> RoundProgress:
        """Return where the repair had come to: at its beginning, where nothing is kept."""
        try:
            if not self.path.exists():
                return RoundProgress()
            with open_archive(self.path) as archive:
                document = parse_json(archive.read("rounds.json"))
                now, best = archive.read("now"), archive.read("best")
            if document["version"] != _VERSION:
                return RoundProgress()
            rounds = [decode_value(Round, data) for data in document["rounds"]]
            best_round = decode_value(int, document["best"])
            stop = decode_value(str, document["stop"])
            written = decode_value(str, document["written"])
        except (OSError, ValueError, KeyError, TypeError, ModelError) as error:
            raise StoreError(
                f"{self.path} holds no repair to go on with: {error}; delete it"
            ) from None
        return RoundProgress(rounds, best_round, now, best, stop, written)

    def clear(self) -> None:
        """Forget the repair."""
        self.path.unlink(missing_ok=True)


def repair_key(parts: Sequence[str | bytes]) -> str:
    """Return a name for a repair: that of the same specs, model, data and plan."""
    digest = blake2b(digest_size=8)
    for part in parts:
        content = part.encode() if isinstance(part, str) else part
        digest.update(len(content).to_bytes(8, "little") + content)
    return digest.hexdigest()
