"""The rounds of a repair: make a model, judge it, choose the best, and know when to stop.

Every record is evaluated by models that were not trained on it. Where records to train on are
given, one model is made and evaluated on all inputs. Else there is a model for each fold of the
inputs, trained on the other folds (cross-validation), and what is kept at the end is made
in the same way on all of them.

The best of several rounds looks better than it is on the records by which it was chosen.
So what is claimed is cross-fitted: for each fold, the round is chosen by the other folds, and
its figures on this fold are taken. The claim is about this way of choosing.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nomos.train.cases import answering, sample_asks
from nomos.train.constraints import find_constraint
from nomos.train.evaluate import Bench, Evaluation, join_evaluations, seed_of
from nomos.train.learner import Found, Learner, Recipe, Way, make_recipe
from nomos.train.records import Parts
from nomos.train.repairable import Repairable

_FIRST_WEIGHT, _LARGEST_WEIGHT = 4.0, 128.0
_FEWEST_CASES = 200  # of each spec, in each fold
_BY_CHANCE = 2.0  # standard errors by which a rate may be higher
_PATIENCE = 3  # rounds without a better model
_BEYOND = 3.0  # times: so much further than the goal is enough; other cases will differ


@dataclass(frozen=True, slots=True)
class Goal:
    """What a repair is after, and what it may cost."""

    times: float = 10.0  # by how much the rate of violations is to fall
    points: float = 1.0  # of accuracy, or R², that may be lost, in percent
    rounds: int = 6
    budget: int = 5000  # cases of each spec that a model is evaluated by
    seed: int = 0

    def keeps_quality(
        self, before: Evaluation, after: Evaluation, *, by_chance: bool = False
    ) -> bool:
        """Tell whether no more is lost than allowed, or no more that is beyond chance."""
        spare = before.quality.points_by_chance(after.quality) if by_chance else 0.0
        lost = before.quality.points_lost(after.quality)
        return lost <= self.points + spare + 1e-9

    def is_reached(self, before: Evaluation, after: Evaluation) -> bool:
        """Tell whether the specs together are broken so much less often, none more."""
        wanted = before.total_rate / self.times
        return after.total_rate <= wanted and not self.worse_specs(before, after)

    def is_better(self, before: Evaluation, after: Evaluation) -> bool:
        """Tell whether the specs are broken less often, one of them by more than chance.

        Other records will be broken differently: a fall that a few records make up is
        chance, also where all of their cases were tried.
        """
        fell = self.better_specs(before, after)
        return after.total_rate < before.total_rate and bool(fell)

    def better_specs(self, before: Evaluation, after: Evaluation) -> list[str]:
        """Return the specs that are broken less often, by more than chance."""
        return [
            name
            for name, rate in before.rates.items()
            if rate.value - after.rates[name].value > _chance(before, after, name)
        ]

    def worse_specs(self, before: Evaluation, after: Evaluation) -> list[str]:
        """Return the specs that are broken more often than before, by more than chance."""
        return [
            name
            for name, rate in before.rates.items()
            if after.rates[name].value - rate.value
            > (0 if rate.exact else _chance(before, after, name))
        ]


def _chance(before: Evaluation, after: Evaluation, name: str) -> float:
    """Return by how much the rate of a spec may change by chance."""
    variance = before.rate_variance(name) + after.rate_variance(name)
    return _BY_CHANCE * float(variance**0.5)


@dataclass(frozen=True, slots=True, eq=False)
class Round:
    """How the model of a round stands, fold by fold; round 0 is the first model."""

    number: int
    parts: tuple[Evaluation, ...]
    weights: Mapping[str, float]
    recipe: Recipe | None = None

    def without(self, fold: int | None = None) -> Evaluation:
        """Return the evaluation on all folds but one, or on all."""
        return join_evaluations([p for n, p in enumerate(self.parts) if n != fold])


class Rounds:
    """Makes a model round by round, for each fold, until it is good enough."""

    def __init__(
        self, repairable: Repairable, parts: Parts, bench: Bench, goal: Goal
    ) -> None:
        self.repairable, self.parts = repairable, parts
        self.swappable, self.benches = bench.swappable, [*map(bench.on, parts.folds)]
        self.goal, self.seed = goal, goal.seed
        self.done: list[Round] = []
        self._found: dict[str, Found] = {}
        # The models of all rounds, where there is one of each
        self._kept: list[Any] = []

    def run(self) -> Iterator[Round]:
        """Judge the first model, then make others; yields each round when it is over."""
        weights = dict.fromkeys(self.benches[0].engines, _FIRST_WEIGHT)
        first = self.repairable.first
        yield self._judge([first] * len(self.benches), weights)
        if not self.done[0].without().total_rate:
            return
        self._find_constraints()
        folds = [None] if self.parts.training is not None else range(len(self.benches))
        learners = [self._make_learner(fold) for fold in folds]
        way: Way = "train" if self._is_trainable else "guard"
        self._kept = [first]
        while len(self.done) <= self.goal.rounds:
            way, weights = self._next_step(way, weights)
            recipe = self._make_recipe(way)
            way, seed = recipe.way, seed_of(self.seed, "train", len(self.done))
            changed = [learner.train(recipe, weights, seed) for learner in learners]
            if not any(changed):
                return
            models = [learner.model for learner in learners]
            self._kept.append(models[0])
            models *= len(self.benches) // len(models)
            yield self._judge(models, weights, recipe)
            if self._is_enough():
                return

    def _find_constraints(self) -> None:
        """Find out once what each spec asks for, from cases of the first fold."""
        bench, repairable = self.benches[0], self.repairable
        seed = seed_of(self.seed, "sample")
        for one in bench.properties:
            engine = bench.engines[one.name]
            self.swappable.model = repairable.first
            with answering(self.swappable, repairable.usual):
                asks = sample_asks(engine, self.swappable, seed)
            asks = asks or sample_asks(engine, self.swappable, seed)  # it wants scores
            found = Found(find_constraint(one.spec, asks), None)
            if self._is_trainable:
                prepared = find_constraint(one.spec, asks, repairable.prepare_columns)
                found = Found(found.raw, prepared)
            self._found[one.name] = found

    @property
    def _is_trainable(self) -> bool:
        return self.repairable.estimator is not None

    def _make_learner(self, fold: int | None) -> Learner:
        records = self.parts.train_without(fold)
        return Learner(self.repairable, self.benches[0].on(records))

    def _make_recipe(self, way: Way) -> Recipe:
        schema = self.benches[0].domain.schema
        columns = () if schema is None else schema.columns
        recipe = make_recipe(way, self._found, self.repairable, columns)
        if way != "guard" or recipe.has_guard or not self._is_trainable:
            return recipe
        return make_recipe("add", self._found, self.repairable, columns)

    def _judge(
        self,
        models: Sequence[Any],
        weights: Mapping[str, float],
        recipe: Recipe | None = None,
    ) -> Round:
        """Evaluate the models of a round, each on its fold."""
        parts, seed = [], seed_of(self.seed, "judge")
        cases = max(_FEWEST_CASES, self.goal.budget // len(self.benches))
        for bench, model in zip(self.benches, models, strict=True):
            self.swappable.model = model
            parts.append(bench.evaluate(seed=seed, budget=cases))
        self.done.append(Round(len(self.done), tuple(parts), weights, recipe))
        return self.done[-1]

    def _next_step(
        self, way: Way, weights: Mapping[str, float]
    ) -> tuple[Way, dict[str, float]]:
        """Go on with what is cheaper where a round cost too much; else weigh more.

        Constraints are tried on the trained model first, then on the first model.
        """
        first, last = self.done[0].without(), self.done[-1].without()
        if len(self.done) == 1:
            return way, dict(weights)
        constrained = any(one.raw is not None for one in self._found.values())
        if not self.goal.keeps_quality(first, last):
            if way == "train" and constrained:
                return "guard", dict(weights)
            if way == "guard" and self._is_trainable:
                return "add", dict(weights)
            return way, {name: weight / 2 for name, weight in weights.items()}
        if way == "guard" and self._is_trainable:
            way = "add"
        wanted = {n: r.value / self.goal.times / 2 for n, r in first.rates.items()}
        return way, {
            name: min(_LARGEST_WEIGHT, weight * 2)
            if last.rates[name].value > wanted[name]
            else weight
            for name, weight in weights.items()
        }

    def _is_enough(self) -> bool:
        """Tell whether the last round is so good, or so many brought nothing better."""
        first, last = self.done[0].without(), self.done[-1].without()
        enough = last.total_rate <= first.total_rate / self.goal.times / _BEYOND
        if enough and self._rank(first, last, is_first=False)[0] <= 1:
            return True
        return self.done[-1].number - self.choose() >= _PATIENCE

    def choose(self, fold: int | None = None) -> int:
        """Return the number of the best round, by all folds but this one."""
        first = self.done[0].without(fold)
        ranks = [
            self._rank(first, one.without(fold), is_first=one.number == 0)
            for one in self.done
        ]
        return ranks.index(min(ranks))

    def _rank(
        self, first: Evaluation, one: Evaluation, *, is_first: bool
    ) -> tuple[int, float, float]:
        """Return how good a round is, the lowest for the best.

        First those that reach the goal at the price that is allowed; then those that are
        better by more than chance at that price; then those that reach the goal if the
        loss of accuracy is chance; then the first model; then all others.
        """
        goal = self.goal
        reached, cheap = goal.is_reached(first, one), goal.keeps_quality(first, one)
        maybe = goal.keeps_quality(first, one, by_chance=True)
        better = goal.is_better(first, one) and not goal.worse_specs(first, one)
        ways = (reached and cheap, better and cheap, reached and maybe, is_first, True)
        group = 3 if is_first else ways.index(True)
        enough = first.total_rate / goal.times / _BEYOND
        return group, max(enough, one.total_rate), -one.quality.value

    def claim(self) -> Evaluation:
        """Return the evaluation of what is chosen, each fold by a choice of the others."""
        chosen = [self.choose(fold) for fold in range(len(self.benches))]
        parts = [self.done[n].parts[fold] for fold, n in enumerate(chosen)]
        return join_evaluations(parts)

    def make_model(self, chosen: int) -> Any:
        """Return the model of a round, made on all records that may be trained on."""
        if self.parts.training is not None:
            return self._kept[chosen]
        learner = self._make_learner(None)
        for done in self.done[1 : chosen + 1]:
            assert done.recipe is not None
            seed = seed_of(self.seed, "train", done.number)
            learner.train(done.recipe, done.weights, seed)
        return learner.model
