"""A trained policy made safer: fine-tuned from its bugs, judged before and after.

tuned = fine_tune(PPO.load("policy.zip"), "specs/relax.nom")
print(tuned)
tuned.model.save("safer.zip")
"""

from __future__ import annotations

import copy
import io
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from casestudies.guiding.policy_tests import Actions, PolicyTest, best_actions
from casestudies.guiding.training import GuidedTraining, import_sb3
from nomos.errors import DomainError, NomosError

# No test of a training has this seed, nor any game of it.
_JUDGING_SEED = 2**31 - 1
_WATCHING_SEED = 32_452_843
_WATCHED_GAMES = 50
_LONGEST = 100_000  # steps of a game that ends by itself

Verdict = Literal[
    "safer", "fewer bugs, maybe by chance", "no fewer bugs", "reward lost"
]


@dataclass(frozen=True, slots=True)
class TuningBudget:
    """How much is trained, and by how much the policy is judged before and after.

    Attributes:
        steps: of training.
        tests: of the policy while it is trained.
        cases: that the policy is judged by.
        games: from the game's own starts that its reward is the mean of.
        environments: side by side; without it 16, and 1 for algorithms that learn from
            a memory of steps (DQN, SAC).
        lose: how much lower the mean reward may be in the end.
        algorithm: other settings of the algorithm, by the names that SB3 has for them.
    """

    steps: int = 294_912
    tests: int = 18
    cases: int = 3000
    games: int = 100
    environments: int | None = None
    lose: float = 10.0
    algorithm: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a policy comes to in cases and games that are no part of its training."""

    cases: int
    bugs: int
    chance: int | None  # violations of the control, in as many cases
    reward: float
    error: float  # of the mean reward: its standard error

    def __str__(self) -> str:
        chance = "" if self.chance is None else f", {self.chance} by chance alone"
        reward = f"{self.reward:.1f} ± {1.96 * self.error:.1f}"
        return f"{self.bugs} bugs in {self.cases} cases{chance}; reward {reward}"


@dataclass(frozen=True, slots=True)
class FineTuned:
    """A policy that was fine-tuned, and what became of it."""

    model: Any
    before: Judgement
    after: Judgement
    history: Sequence[PolicyTest]  # the curve: what each test while training found
    kept: int  # after how many steps the policy was as it is now
    guided_steps: float
    held_out: bool  # whether other inputs are judged than those that were trained on
    lose: float

    @property
    def verdict(self) -> Verdict:
        """What may be claimed of the policy."""
        if self.after.reward < self.before.reward - self.lose:
            return "reward lost"
        if self.after.bugs >= self.before.bugs:
            return "no fewer bugs"
        # The root of a count that chance makes has a variance of a quarter.
        fall = math.sqrt(self.before.bugs) - math.sqrt(self.after.bugs)
        return (
            "safer" if fall > 1.96 * math.sqrt(0.5) else "fewer bugs, maybe by chance"
        )

    def __str__(self) -> str:
        inputs = "inputs that no training saw" if self.held_out else "the same inputs"
        return "\n".join(
            [
                f"before: {self.before}",
                f"after:  {self.after}",
                f"judged on {inputs}, other cases than those of the training;"
                f" {100 * self.guided_steps:.0f} % of the steps were from bugs,"
                f" and the policy is that after {self.kept} of them",
            ]
        )


@dataclass(frozen=True, slots=True)
class PolicyJudge:
    """Judges policies by the same cases and games."""

    guided: GuidedTraining
    control: str | Path | None
    budget: TuningBudget
    make: Callable[[], Any]

    def __call__(self, act: Actions) -> Judgement:
        """Count bugs, and what chance alone does; play for the reward."""
        guided, control = self.guided, self.control
        games = [self.make() for _ in range(self.budget.games)]
        rewards = play_games(act, games, seed=_JUDGING_SEED)
        error = float(np.std(rewards)) / math.sqrt(len(rewards))
        return Judgement(
            cases=self.budget.cases,
            bugs=self._count_violations(guided.spec, act),
            chance=None if control is None else self._count_violations(control, act),
            reward=float(np.mean(rewards)),
            error=error,
        )

    def _count_violations(self, spec: str | Path, act: Actions) -> int:
        tests = replace(self.guided, spec=spec).policy_tests(self.budget.cases)
        return len(tests.run(act, seed=_JUDGING_SEED).bugs)


def fine_tune(
    model: Any,
    guided: GuidedTraining | str | Path,
    *,
    budget: TuningBudget | None = None,
    environment: Callable[[], Any] | None = None,
    held_out: Mapping[str, str] | None = None,
    control: str | Path | None = None,
) -> FineTuned:
    """Fine-tune a trained policy of Stable-Baselines3 such that it breaks a spec less.

    Args:
        model: the algorithm with its policy, as its `load` returns it; it stays as it is.
        guided: the spec, or all that says how training is guided by it.
        budget: how much is trained and judged; how often is tested is up to it as well.
        environment: makes the game, with its limit of steps; without it, the domain's
            method `training_environment` does.
        held_out: settings that give the domain other inputs to judge by.
        control: a spec that only chance can break, to compare with.
    """
    if not isinstance(guided, GuidedTraining):
        guided = GuidedTraining(guided)
    budget = budget or TuningBudget()
    make = environment or _environment_of(guided)
    learner = _build_learner(model, guided, make, budget)
    # The steps between two updates, of all environments together.
    steps = getattr(learner, "n_steps", None) or learner.train_freq.frequency
    rollouts = budget.steps / (int(steps) * int(learner.n_envs))
    guided = replace(guided, test_every=max(1, round(rollouts / budget.tests)))
    evaluated = replace(guided, settings={**guided.settings, **(held_out or {})})
    return _train_between(
        learner, guided, PolicyJudge(evaluated, control, budget, make)
    )


def _train_between(
    learner: Any, guided: GuidedTraining, judge: PolicyJudge
) -> FineTuned:
    """Train between two judgements."""
    before = judge(best_actions(learner))
    kept = _Kept(judge, guided.on_test)
    guided = replace(guided, on_test=kept)
    learner.learn(judge.budget.steps, callback=guided.callback())
    kept.restore_best(learner)
    return FineTuned(
        model=learner,
        before=before,
        after=judge(best_actions(learner)),
        history=tuple(guided.history),
        kept=kept.steps,
        guided_steps=guided.guided_steps,
        held_out=judge.guided.settings != guided.settings,
        lose=judge.budget.lose,
    )


class _Kept:
    """Keeps the last policy of those tested while training that keeps the reward.

    Not the one with the fewest bugs: the smallest of many small counts is mostly luck.
    The games that this is decided by are others than those of the judgement.
    """

    def __init__(
        self, judge: PolicyJudge, on_test: Callable[[PolicyTest, Any], None] | None
    ) -> None:
        self.steps = 0
        self._judge = judge
        self._on_test = on_test
        self._enough = -math.inf
        self._parameters: Any = None

    def __call__(self, test: PolicyTest, model: Any) -> None:
        games = [self._judge.make() for _ in range(_WATCHED_GAMES)]
        reward = float(
            np.mean(play_games(best_actions(model), games, seed=_WATCHING_SEED))
        )
        if self._parameters is None:
            # Half of what may be lost: the mean of so few games is not exact.
            self._enough = reward - self._judge.budget.lose / 2
        if reward >= self._enough:
            self.steps = test.steps
            self._parameters = copy.deepcopy(model.get_parameters())
        if self._on_test is not None:
            self._on_test(test, model)

    def restore_best(self, model: Any) -> None:
        """Give the model the policy that was kept."""
        model.set_parameters(self._parameters)


def play_games(act: Actions, games: Sequence[Any], *, seed: int) -> list[float]:
    """Play games side by side from their own starts; return the reward of each."""
    views = [game.reset(seed=seed + n)[0] for n, game in enumerate(games)]
    rewards = [0.0] * len(games)
    running = list(range(len(games)))
    for _ in range(_LONGEST):
        actions = act(np.stack([views[i] for i in running]))
        still = []
        for i, action in zip(running, actions, strict=True):
            views[i], reward, terminated, truncated, _ = games[i].step(action)
            rewards[i] += float(reward)
            if not (terminated or truncated):
                still.append(i)
        running = still
        if not running:
            return rewards
    raise NomosError(
        f"a game has not ended after {_LONGEST} steps\n"
        "help: limit its steps, for instance with gymnasium.wrappers.TimeLimit"
    )


def _environment_of(guided: GuidedTraining) -> Callable[[], Any]:
    """Return the domain's own way to make the game."""
    domain = guided.policy_tests(1).domain
    make: Callable[[], Any] | None = getattr(domain, "training_environment", None)
    if make is None:
        raise DomainError(
            f"{type(domain).__name__} has no game to train in\n"
            "help: give it a method `training_environment` that returns a gymnasium"
            " environment whose `restore(state, seed=...)` takes the spec's states"
        )
    return make


def _build_learner(
    model: Any,
    guided: GuidedTraining,
    make: Callable[[], Any],
    budget: TuningBudget,
) -> Any:
    """Return the algorithm with the same policy, other environments and settings."""
    sb3 = import_sb3()
    count = budget.environments or (1 if hasattr(model, "replay_buffer") else 16)
    env = sb3.build_environments([lambda: guided.wrap(make())] * count)
    rate = model.lr_schedule(1.0)
    changes: dict[str, Any] = {"learning_rate": lambda left: rate * left}
    if hasattr(model, "n_epochs"):  # PPO
        changes |= {"n_steps": 512, "batch_size": 128, "n_epochs": 4}
    if hasattr(model, "replay_buffer"):  # no steps at random: it plays already
        changes["learning_starts"] = model.batch_size
    if hasattr(model, "exploration_initial_eps"):  # DQN
        changes["exploration_initial_eps"] = model.exploration_final_eps
    file = io.BytesIO()
    model.save(file)
    file.seek(0)
    changes |= {"seed": guided.seed, **budget.algorithm}
    return type(model).load(file, env=env, device=model.device, **changes)
