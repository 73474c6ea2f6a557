"""The policies that the runs of the study go on from, and the states that judge them.

    python -m casestudies.lunar.guided.bases

Each base is trained as usual, by the setting that is tuned for this game, and is the
first policy whose mean reward reaches `ENOUGH` when looked at every 65,536 steps.
"""

from pathlib import Path
from typing import Any

import numpy as np

from casestudies.guiding.policy_tests import Actions, best_actions
from casestudies.lunar.train import Evaluation, evaluate, make_learner

HERE = Path(__file__).parent
FOLDER = HERE / "bases"
HELD_OUT = HERE / "held_out.npz"
SEEDS = (101, 102, 103)
ENOUGH = 200.0
LOOK_EVERY = 65_536
MOST_STEPS = 1_500_000
WATCHING_SEED = 10_000
HELD_OUT_SEED = 2  # the pool that the specs draw from was grown by seed 1
HELD_OUT_STATES = 2000
ACTIONS = np.eye(4, dtype=np.float32)


def reward_of(act: Actions, *, seed: int, games: int) -> Evaluation:
    """Play games from gymnasium's own starts."""
    return evaluate(lambda views: ACTIONS[act(views)], seed=seed, episodes=games)


def base_path(number: int) -> Path:
    """Return the file of a base; they are numbered from 1."""
    return FOLDER / f"{number}.zip"


def train_base(number: int) -> Any:
    """Train a base and keep it."""
    import torch

    torch.set_num_threads(1)
    learner = make_learner(SEEDS[number - 1], rollout=512)
    reward = -np.inf
    while reward < ENOUGH and learner.num_timesteps < MOST_STEPS:
        learner.learn(LOOK_EVERY, reset_num_timesteps=learner.num_timesteps == 0)
        act = best_actions(learner)
        found = reward_of(act, seed=WATCHING_SEED, games=100)
        print(f"base {number}, {learner.num_timesteps:>8} steps: {found}", flush=True)
        reward = found.mean
    FOLDER.mkdir(exist_ok=True)
    unfinished = base_path(number).with_suffix(".part.zip")
    # Without the optimiser's memory: fine-tuning begins with its own.
    learner.save(unfinished, exclude=["policy.optimizer"])
    unfinished.replace(base_path(number))
    return learner


def grow_held_out(path: Path = HELD_OUT, states: int = HELD_OUT_STATES) -> None:
    """Grow the pool of states that policies are judged by."""
    from casestudies.fuzzing import FuzzSettings, grow, open_pool
    from casestudies.lunar.fuzz import environment

    game = environment(HERE.parent / "models" / "ppo.onnx")
    pool = open_pool(
        path, settings=FuzzSettings(), seed=HELD_OUT_SEED, origin=game.origin
    )
    if len(pool) < states:
        grow(
            pool,
            game.environment,
            actions=game.actions,
            size=states,
            policy=game.policy,
            progress=lambda pool: pool.save(path),
        )


def prepare(bases: int) -> None:
    """Make what is not there yet."""
    grow_held_out()
    for number in range(1, bases + 1):
        if not base_path(number).exists():
            train_base(number)


if __name__ == "__main__":
    prepare(len(SEEDS))
