"""One training run of the study: PPO, tested as it goes, by one of the three arms."""

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from casestudies.fuzzing import load_pool
from casestudies.guiding import GuidedTraining, PolicyTest
from casestudies.guiding.policy_tests import Actions, PolicyTests, best_actions
from casestudies.guiding.starts import Start, StartChooser
from casestudies.lunar.guided.bases import (
    HELD_OUT,
    WATCHING_SEED,
    base_path,
    reward_of,
)
from casestudies.lunar.guided.setting import Setting
from casestudies.lunar.state import from_row, lowered_pads, with_pad
from casestudies.lunar.train import STEP_LIMIT

HERE = Path(__file__).parent
POOL = HERE.parent / "pool.npz"
# One for all policies: they are judged by the same cases and games.
JUDGING_SEED = 20_000

Tell = Callable[[dict[str, Any]], None]


class PoolStarts(StartChooser):
    """Starts from random states of the pool, with the surface lowered as in a case."""

    def __init__(self, seed: Sequence[int] | int) -> None:
        super().__init__(seed)
        states = [from_row(row) for row in load_pool(POOL).states]
        lowerable = [s for s in states if lowered_pads(s)[0] < lowered_pads(s)[1]]
        self._all = [Start("", "s1", state) for state in lowerable]

    def take_starts(self, newest: Sequence[Start], everything: Sequence[Start]) -> None:
        """Leave the bugs of a test alone."""

    def pick_start(self) -> Start:
        """Return a state of the pool, as it is or changed."""
        start = super().pick_start()
        if self.rng.random() < 0.5:
            return start
        pad = float(self.rng.uniform(*lowered_pads(start.state)))
        return Start("", "s2", with_pad(start.state, pad))


def train_once(
    setting: Setting, arm: str, base: int, seed: int, tell: Tell
) -> dict[str, Any]:
    """Train once and return what the file of the run is to hold."""
    import torch

    torch.set_num_threads(1)
    began = time.process_time()
    tests: list[dict[str, Any]] = []
    policies: list[Actions] = []

    def on_test(test: PolicyTest, model: Any) -> None:
        act = best_actions(model)
        policies.append(act)
        reward = reward_of(act, seed=WATCHING_SEED, games=setting.games)
        figures = asdict(test) | {"reward": reward.mean, "landed": reward.landed}
        tests.append(_rounded(figures))
        tell(tests[-1])

    share = train(setting, arm, base, seed, on_test)
    trained = time.process_time() - began
    chosen = {name: CHOICES[name](tests) for name in setting.choices}
    evaluated = {
        number: judge(policies[number], setting)
        for number in sorted(set(chosen.values()))
    }
    cpu_s = {"training": trained, "all": time.process_time() - began}
    return {
        "schema": 2,
        "arm": arm,
        "base": base,
        "seed": seed,
        "setting": setting.to_json(),
        "cpu_s": _rounded(cpu_s),
        "guided_steps": round(share, 4),
        "tests": tests,
        "chosen": {
            name: {"test": number, **evaluated[number]}
            for name, number in chosen.items()
        },
    }


def train(
    setting: Setting,
    arm: str,
    base: int,
    seed: int,
    on_test: Callable[[PolicyTest, Any], None],
) -> float:
    """Train a policy; return the share of steps that other starts than usual had."""
    guide = GuidedTraining(
        HERE / "relax.nom",
        settings={"step_limit": str(setting.step_limit), "pool": str(POOL)},
        starts=setting.starts,
        tests=setting.tests,
        fresh=setting.fresh if arm == "guided" else 0,
        test_every=setting.test_every,
        share=0.0 if arm == "normal" else setting.share,
        min_reward=setting.min_reward,
        forget_after=setting.forget_after,
        seed=seed,
        on_test=on_test,
    )

    def wrap(game: Any) -> Any:
        env = guide.wrap(game)
        if arm == "pool":
            env.chooser = PoolStarts(0)
        return env

    learner = make_learner(setting, seed, wrap)
    if base:
        learner.policy.load_state_dict(base_weights(base))
    learner.learn(setting.steps, callback=guide.callback())
    return guide.guided_steps


def make_learner(setting: Setting, seed: int, wrap: Callable[[Any], Any]) -> Any:
    """Build PPO as the setting says."""
    from gymnasium.wrappers import TimeLimit
    from stable_baselines3 import PPO
    from stable_baselines3.common.monitor import Monitor
    from stable_baselines3.common.vec_env import DummyVecEnv

    from casestudies.lunar.lander import Lander

    rate = setting.learning_rate
    games = DummyVecEnv(
        [lambda: Monitor(TimeLimit(wrap(Lander()), STEP_LIMIT))] * setting.environments
    )
    return PPO(
        "MlpPolicy",
        games,
        n_steps=setting.rollout,
        batch_size=setting.batch,
        n_epochs=setting.epochs,
        gamma=setting.gamma,
        gae_lambda=setting.gae_lambda,
        ent_coef=setting.entropy,
        learning_rate=(lambda left: rate * left) if setting.rate_falls else rate,
        seed=seed,
        device="cpu",
    )


def base_weights(base: int) -> Any:
    """Load what a base knows: the weights of its policy and of its critic."""
    from stable_baselines3 import PPO

    return PPO.load(base_path(base), device="cpu").policy.state_dict()


def minimum_bug(tests: list[dict[str, Any]]) -> int:
    """Choose the policy with the fewest bugs; of equal ones that with more reward."""
    return min(range(len(tests)), key=lambda i: (tests[i]["bugs"], -tests[i]["reward"]))


def maximum_reward(tests: list[dict[str, Any]]) -> int:
    """Choose the policy with the most reward; of equal ones that with fewer bugs."""
    return min(range(len(tests)), key=lambda i: (-tests[i]["reward"], tests[i]["bugs"]))


def last(tests: list[dict[str, Any]]) -> int:
    """Choose the policy that training ended with."""
    return len(tests) - 1


CHOICES = {
    "minimum_bug": minimum_bug,
    "maximum_reward": maximum_reward,
    "last": last,
}


def judge(act: Actions, setting: Setting) -> dict[str, Any]:
    """Count the bugs of a policy on states that no training saw, beside chance."""
    counts = {}
    sizes = {"relax": setting.judge_tests, "control": setting.control_tests}
    for name, size in sizes.items():
        tests = PolicyTests(
            HERE / f"{name}.nom",
            {"pool": str(HELD_OUT), "step_limit": str(setting.step_limit)},
            policy="policy",
            budget=size,
        )
        found = tests.run(act, seed=JUDGING_SEED)
        counts[f"{name}_bugs"] = len(found.bugs)
    reward = reward_of(act, seed=JUDGING_SEED, games=setting.judge_games)
    won = won_from(act, HELD_OUT, step_limit=setting.step_limit)
    figures = {"reward": reward.mean, "landed": reward.landed, "won": won}
    return {**counts, **_rounded(figures)}


def won_from(act: Actions, pool: Path, *, step_limit: int) -> float:
    """Return the share of games from a pool's states that a policy does not crash in.

    A policy that loses everywhere has no bugs: nothing is won that could be lost.
    """
    from casestudies.lunar.lander import Lander

    states = [from_row(row) for row in load_pool(pool).states]
    games = [Lander() for _ in states]
    views = [
        game.restore(state, seed=JUDGING_SEED + number)
        for number, (game, state) in enumerate(zip(games, states, strict=True))
    ]
    running, lost = list(range(len(games))), 0
    for _ in range(step_limit):
        if not running:
            break
        actions = act(np.stack([views[i] for i in running])).tolist()
        still = []
        for i, action in zip(running, actions, strict=True):
            views[i], reward, ended, _, _ = games[i].step(action)
            lost += ended and reward < 0
            if not ended:
                still.append(i)
        running = still
    return 1 - lost / len(games)


def _rounded(figures: dict[str, Any]) -> dict[str, Any]:
    return {
        name: round(value, 4) if isinstance(value, float) else value
        for name, value in figures.items()
    }
