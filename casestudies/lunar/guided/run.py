"""One training run of the study: PPO, tested as it goes, guided by its bugs or not."""

import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from casestudies.lunar.guided.setting import Setting
from casestudies.lunar.state import from_row
from casestudies.lunar.train import Evaluation, evaluate, make_learner
from nomos.states.fuzzing import load_pool
from nomos.train import GuidedTraining, PolicyTest, Schedule
from nomos.train.guiding.actions import Actions, best_actions
from nomos.train.guiding.tests import PolicyTests

HERE = Path(__file__).parent
BASE_SEED = 0
# What the folder of a study holds besides its runs.
BASE, HELD_OUT = "base.zip", "held_out.npz"
# The seeds of evaluation games: while training, and of the policies chosen in the end.
WATCHING_SEED = 10_000
JUDGING_SEED = 20_000
ACTIONS = np.eye(4, dtype=np.float32)

Tell = Callable[[dict[str, Any]], None]


def reward_of(act: Actions, *, seed: int, games: int) -> Evaluation:
    """Play games from gymnasium's own starts."""
    return evaluate(lambda views: ACTIONS[act(views)], seed=seed, episodes=games)


def train_base(setting: Setting, path: Path) -> None:
    """Train the policy that every run goes on from, as usual."""
    import torch

    torch.set_num_threads(1)
    learner = make_learner(
        BASE_SEED, environments=setting.environments, rollout=setting.rollout
    )
    learner.learn(setting.base_steps)
    unfinished = path.with_name("unfinished-" + path.name)
    learner.save(unfinished)
    unfinished.replace(path)


def train_once(
    setting: Setting, seed: int, *, guided: bool, folder: Path, tell: Tell
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

    base = folder / BASE if setting.base_steps else None
    train(setting, seed, guided=guided, base=base, on_test=on_test)
    trained = time.process_time() - began
    chosen = {name: choose(tests) for name, choose in CHOICES.items()}
    judged = {
        number: judge(policies[number], setting, folder / HELD_OUT)
        for number in sorted(set(chosen.values()))
    }
    cpu_s = {"training": trained, "all": time.process_time() - began}
    return {
        "schema": 1,
        "seed": seed,
        "guided": guided,
        "setting": setting.to_json(),
        "cpu_s": _rounded(cpu_s),
        "tests": tests,
        "chosen": {
            name: {"test": number, **judged[number]} for name, number in chosen.items()
        },
    }


def train(
    setting: Setting,
    seed: int,
    *,
    guided: bool,
    base: Path | None,
    on_test: Callable[[PolicyTest, Any], None],
) -> None:
    """Train a policy; the normal training is tested as well, but starts from no bug."""
    most = setting.most if guided else 0.0
    guide = GuidedTraining(
        HERE / "relax.nom",
        settings={"step_limit": str(setting.step_limit)},
        starts=setting.starts,
        tests=setting.tests,
        fresh=setting.fresh,
        test_every=setting.test_every,
        schedule=Schedule(setting.growth, setting.grow_every, most),
        seed=seed,
        on_test=on_test,
    )
    learner = make_learner(
        seed,
        environments=setting.environments,
        rollout=setting.rollout,
        wrap=guide.wrap,
    )
    if base is not None:
        learner.set_parameters(base)
    learner.learn(setting.steps, callback=guide.callback())


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


def judge(act: Actions, setting: Setting, held_out: Path) -> dict[str, Any]:
    """Count the bugs of a policy on states that no training saw, beside chance."""
    counts = {}
    for name in ("relax", "control"):
        tests = PolicyTests(
            HERE / f"{name}.nom",
            {"pool": str(held_out), "step_limit": str(setting.step_limit)},
            policy="policy",
            budget=setting.judge_tests,
        )
        found = tests.run(act, seed=JUDGING_SEED)
        counts[f"{name}_bugs"] = found.counts.unique_bugs
    reward = reward_of(act, seed=JUDGING_SEED, games=setting.judge_games)
    won = won_from(act, held_out, step_limit=setting.step_limit)
    figures = {"reward": reward.mean, "landed": reward.landed, "won": won}
    return {"tests": setting.judge_tests, **counts, **_rounded(figures)}


def won_from(act: Actions, pool: Path, *, step_limit: int) -> float:
    """Return the share of a pool's states from which a policy does not crash.

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
        name: round(value, 3) if isinstance(value, float) else value
        for name, value in figures.items()
    }
