"""PPO of Stable-Baselines3 on many games at a time, with starts of our choice."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import VecEnv

from casestudies.guided_games.games import Game, Rows
from casestudies.guided_games.play import Scores

COUNT = 32  # games side by side
ROLLOUT = 64  # steps of each between two updates
PPO_SETTING = {"n_steps": ROLLOUT, "batch_size": 256, "n_epochs": 6, "gae_lambda": 0.98}
GAMMA = {True: 0.99, False: 0.999}

ChooseStarts = Callable[[int], Rows]


class ManyGames(VecEnv):
    """Games as Stable-Baselines3 wants them; `choose_starts` says where each begins."""

    def __init__(self, game: Game, choose_starts: ChooseStarts, seed: int) -> None:
        views = game.observe(game.begin(1, np.random.default_rng(0)))
        box = spaces.Box(-np.inf, np.inf, views.shape[1:], np.float32)
        super().__init__(COUNT, box, spaces.Discrete(game.actions))
        self.game, self.choose_starts = game, choose_starts
        self.rng = np.random.default_rng([seed, 1])

    def reset(self) -> Any:
        """Begin all games."""
        self.rows = self.choose_starts(COUNT)
        self.steps = np.zeros(COUNT, dtype=int)
        return self.game.observe(self.rows)

    def step_async(self, actions: Any) -> None:
        """Take the actions."""
        self.actions = actions

    def step_wait(self) -> Any:
        """Move all games one step on; those that end begin anew."""
        won, lost = self.game.step(self.rows, self.actions, self.rng)
        self.steps += 1
        ended = won | lost
        over = ended | (self.steps >= self.game.limit)
        if self.game.wins_by_lasting:
            rewards = np.ones(COUNT, dtype=np.float32)
        else:
            rewards = (won - 1.0 * lost - 0.01).astype(np.float32)
        views = self.game.observe(self.rows)
        infos: list[dict[str, Any]] = [{} for _ in range(COUNT)]
        for i in np.flatnonzero(over):
            infos[i]["terminal_observation"] = views[i]
            infos[i]["TimeLimit.truncated"] = not ended[i]
        if over.any():
            self.rows[over] = self.choose_starts(int(over.sum()))
            self.steps[over] = 0
            views = self.game.observe(self.rows)
        return views, rewards, over, infos

    def close(self) -> None:
        """Nothing is open."""

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """Return an attribute for each game."""
        return [getattr(self, attr_name, None)] * COUNT

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """No attribute is set from outside."""
        raise AttributeError(attr_name)

    def env_method(self, method_name: str, *args: Any, **kwargs: Any) -> list[Any]:
        """No method is called from outside."""
        raise AttributeError(method_name)

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        """Nothing is wrapped."""
        return [False] * COUNT


def make_learner(game: Game, starts: ChooseStarts, seed: int, rate: float) -> PPO:
    """Return an untrained PPO."""
    torch.set_num_threads(1)
    return PPO(
        "MlpPolicy",
        ManyGames(game, starts, seed),
        learning_rate=rate,
        gamma=GAMMA[game.wins_by_lasting],
        seed=seed,
        device="cpu",
        **PPO_SETTING,
    )


def scores_of(learner: PPO) -> Scores:
    """Return the policy as a function from observations to scores of actions."""

    def scores(views: Any) -> Any:
        with torch.no_grad():
            found = learner.policy.get_distribution(torch.from_numpy(views))
        return found.distribution.logits.double().numpy()

    return scores


def train_base(game: Game, steps: int, seed: int) -> PPO:
    """Train a policy from nothing on games as hard as those that are tested."""
    rng = np.random.default_rng([seed, 2])
    learner = make_learner(game, lambda n: game.begin(n, rng), seed, 1e-3)
    learner.learn(steps)
    return learner


class StopAfter(BaseCallback):
    """Ends a training when its steps and those of its tests are used up."""

    def __init__(self, budget: int, before_rollout: Callable[[int], int]) -> None:
        super().__init__()
        self.budget, self.before_rollout = budget, before_rollout
        self.other = 0  # steps of tests and demonstrations
        self.rollouts = 0

    @property
    def used(self) -> int:
        """All steps so far."""
        return int(self.num_timesteps) + self.other

    def _on_rollout_start(self) -> None:
        self.other += self.before_rollout(self.rollouts)
        self.rollouts += 1

    def _on_step(self) -> bool:
        return self.used < self.budget
