"""The three arms of the training study on CartPole, with many cheap seeds.

    python -m casestudies.cartpole.guided [--seeds 20] [--save FILE]
    python -m casestudies.cartpole.guided --show casestudies/results/cartpole-training.json

Each run trains a policy from nothing: as usual, with half of the steps from bugs, or with
half of them from random states of the pool, as they are or with a longer pole. The last
policy is judged by held-out states. Runs that are in the file are not made again.
"""

import argparse
import io
import json
from collections.abc import Sequence
from contextlib import redirect_stdout
from dataclasses import astuple, replace
from pathlib import Path
from typing import Any

import numpy as np

from casestudies.cartpole.cartpole import LONGEST, STEP_LIMIT, CartPole, PoleState
from casestudies.guiding import GuidedTraining
from casestudies.guiding.fine_tune import play_games
from casestudies.guiding.policy_tests import Actions, PolicyTests, best_actions
from casestudies.guiding.starts import Start, StartChooser
from casestudies.lunar.guided.effects import effect, mean
from casestudies.lunar.guided.setting import ARMS

HERE = Path(__file__).parent
SPEC = HERE / "specs" / "relax.nom"
HELD_OUT = str(HERE / "held_out.npz")  # grown by seed 2, the other pool by seed 1
RESULTS = HERE.parent / "results" / "cartpole-training.json"
STEPS = 40_960
JUDGE_TESTS = 1000
JUDGE_GAMES = 20
JUDGING_SEED = 20_000


class PoolStarts(StartChooser):
    """Starts from random states of the pool, half of them with a longer pole."""

    def __init__(self, seed: Sequence[int] | int) -> None:
        super().__init__(seed)
        self._all = [Start("", "s1", state) for state in CartPole().inputs()]

    def take_starts(self, newest: Sequence[Start], everything: Sequence[Start]) -> None:
        """Leave the bugs of a test alone."""

    def pick_start(self) -> Start:
        """Return a state of the pool, as it is or changed."""
        state = super().pick_start().state
        longer = self.rng.random() < 0.5
        factor = self.rng.uniform(1.0, LONGEST) if longer else 1.0
        return Start("", "s2", replace(state, length=state.length * factor))


def restore(game: Any, state: PoleState, seed: int) -> Any:
    """Put the game into a state of the spec."""
    return game.restore(np.array(astuple(state)), seed=seed)


def make_game() -> Any:
    """Make the game with its limit of steps."""
    from gymnasium.wrappers import TimeLimit

    from casestudies.cartpole.pole import Pole

    return TimeLimit(Pole(), STEP_LIMIT)


def train_once(arm: str, seed: int) -> dict[str, Any]:
    """Train a policy and judge it."""
    import torch
    from stable_baselines3 import PPO
    from stable_baselines3.common.env_util import make_vec_env

    torch.set_num_threads(1)
    guide = GuidedTraining(
        SPEC,
        restore=restore,
        tests=20,
        fresh=100 if arm == "guided" else 0,
        test_every=5,
        share=0.0 if arm == "normal" else 0.5,
        seed=seed,
    )

    def wrap(game: Any) -> Any:
        env = guide.wrap(game)
        if arm == "pool":
            env.chooser = PoolStarts(0)
        return env

    env = make_vec_env(make_game, 8, seed=seed, wrapper_class=wrap)
    learner = PPO(
        "MlpPolicy", env, n_steps=256, batch_size=128, seed=seed, device="cpu"
    )
    learner.learn(STEPS, callback=guide.callback())
    figures = judge(best_actions(learner))
    return {"arm": arm, "seed": seed, **figures, "guided_steps": guide.guided_steps}


def judge(act: Actions) -> dict[str, Any]:
    """Count bugs in held-out cases, those won, and the steps of usual games."""
    tests = PolicyTests(SPEC, {"pool": HELD_OUT}, policy="policy", budget=JUDGE_TESTS)
    bugs = len(tests.run(act, seed=JUDGING_SEED).bugs)
    reward = mean(
        play_games(act, [make_game() for _ in range(JUDGE_GAMES)], seed=JUDGING_SEED)
    )
    return {"bugs": bugs, "won": won_share(act), "reward": reward}


def won_share(act: Actions) -> float:
    """Return the share of the held-out states from which the pole stays up."""
    states = CartPole(pool=HELD_OUT).inputs()
    games = [make_game() for _ in states]
    views = []
    for game, state in zip(games, states, strict=True):
        game.reset()
        views.append(restore(game.unwrapped, state, 0))
    running, won = list(range(len(games))), 0
    while running:
        actions = act(np.stack([views[i] for i in running]))
        still = []
        for i, action in zip(running, actions.tolist(), strict=True):
            views[i], _, fell, over, _ = games[i].step(action)
            won += over and not fell
            if not (fell or over):
                still.append(i)
        running = still
    return won / len(games)


def print_study(runs: Sequence[dict[str, Any]]) -> None:
    """Print effects with intervals, then the means of each arm."""
    by_seed: dict[int, dict[str, dict[str, Any]]] = {}
    for run in runs:
        by_seed.setdefault(run["seed"], {})[run["arm"]] = run
    groups = [group for group in by_seed.values() if set(group) == set(ARMS)]
    print(f"CartPole: {len(groups)} seeds, {STEPS:,} steps, {JUDGE_TESTS:,} cases")
    if not groups:
        return
    for other, arm in (("normal", "guided"), ("normal", "pool"), ("pool", "guided")):
        columns = ([per_won(group[name]) for group in groups] for name in (other, arm))
        found = effect(*columns)
        low, high = found.ratio_interval.low, found.ratio_interval.high
        print(
            f"{arm} against {other}: bugs per won case {100 * (found.ratio - 1):+.0f} %"
            f" (95 %: {100 * (low - 1):+.0f} % to {100 * (high - 1):+.0f} %);"
            f" fewer in {found.lower} of {found.pairs}, more in {found.higher};"
            f" Wilcoxon p = {found.p:.2g}"
        )
    print(
        f"{'arm':<8}{'bugs':>8}{'won':>8}{'per 100 won':>13}{'reward':>9}{'steps':>8}"
    )
    for arm in ARMS:
        own = [group[arm] for group in groups]
        bugs, won = mean([r["bugs"] for r in own]), mean([r["won"] for r in own])
        rate, reward = mean([per_won(r) for r in own]), mean([r["reward"] for r in own])
        share = mean([r["guided_steps"] for r in own])
        print(
            f"{arm:<8}{bugs:>8.1f}{won:>8.1%}{rate:>13.1f}{reward:>9.1f}{share:>8.0%}"
        )


def per_won(run: dict[str, Any]) -> float:
    """Return the bugs for each hundred cases whose first game is won."""
    return 100 * float(run["bugs"]) / max(1.0, run["won"] * JUDGE_TESTS)


def write_page(runs: Sequence[dict[str, Any]], results: Path, page: Path) -> None:
    """Write what is printed into a page, below the command that prints it."""
    from casestudies.paper import write_part

    printed = io.StringIO()
    with redirect_stdout(printed):
        print_study(runs)
    command = f"python -m casestudies.cartpole.guided --show {results}"
    text = f"```sh\n{command}\n```\n\n```text\n{printed.getvalue()}```"
    write_part(page, "cartpole", text)


def main() -> None:
    """Make the runs that are missing, seed by seed, and print what there is."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--save", type=Path, default=RESULTS)
    parser.add_argument("--show", type=Path, help="show such a file, train nothing")
    parser.add_argument("--page", type=Path, help="write the table into a page")
    arguments = parser.parse_args()
    path = arguments.show or arguments.save
    runs = json.loads(path.read_text())["runs"] if path.exists() else []
    made = {(run["seed"], run["arm"]) for run in runs}
    for seed in () if arguments.show else range(1, arguments.seeds + 1):
        for arm in ARMS:
            if (seed, arm) not in made:
                runs.append(train_once(arm, seed))
                print(runs[-1], flush=True)
                lines = ",\n".join(json.dumps(run) for run in runs)
                path.write_text(f'{{"schema": 1, "runs": [\n{lines}\n]}}\n')
    print_study(runs)
    if arguments.page is not None:
        write_page(runs, path, arguments.page)


if __name__ == "__main__":
    main()
