"""Say how many bugs of a policy could be avoided: other policies win where it loses.

    python -m casestudies.lunar.guided.avoidable [MODEL] [--tests 800]

The state that a bug loses is played by each policy of `models/`: its best actions, and
actions drawn by its scores, which try more. Where one of them wins a tenth of the games,
the game was not lost from the start.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from casestudies.guiding.policy_tests import PolicyTests
from casestudies.lunar.lander import Lander
from casestudies.lunar.policy import Scores, load_policy
from casestudies.lunar.state import LanderState

HERE = Path(__file__).parent
MODELS = HERE.parent / "models"
NAMES = ("early", "middle", "paper", "ppo")
STEP_LIMIT = 400
GAMES = 40
# How far from its best actions a policy strays: not at all, as in training, more.
TEMPERATURES = (0.0, 1.0, 3.0)
ENOUGH = 0.1


def won_share(
    state: LanderState, scores: Scores, temperature: float, rng: np.random.Generator
) -> float:
    """Return the share of games from a state that a policy does not crash in."""
    games = [Lander() for _ in range(GAMES)]
    views = [game.restore(state, seed=number) for number, game in enumerate(games)]
    running, lost = list(range(GAMES)), 0
    for _ in range(STEP_LIMIT):
        if not running:
            break
        values = scores(np.stack([views[i] for i in running]))
        if temperature:  # the largest of scores plus such noise is a draw by the scores
            values = values / temperature - np.log(-np.log(rng.random(values.shape)))
        still = []
        for i, action in zip(running, values.argmax(axis=1).tolist(), strict=True):
            views[i], reward, ended, _, _ = games[i].step(action)
            lost += ended and reward < 0
            if not ended:
                still.append(i)
        running = still
    return 1 - lost / GAMES


def main(words: Sequence[str] | None = None) -> None:
    """Find the bugs of a policy and count those that others avoid."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", nargs="?", type=Path, default=MODELS / "ppo.onnx")
    parser.add_argument("--tests", type=int, default=800)
    arguments = parser.parse_args(words)
    tested = load_policy(arguments.model)
    settings = {"step_limit": str(STEP_LIMIT)}
    tests = PolicyTests(
        HERE / "relax.nom", settings, policy="policy", budget=arguments.tests
    )
    bugs = tests.run(lambda views: tested(views).argmax(axis=1), seed=1).bugs
    policies = [load_policy(MODELS / f"{name}.onnx") for name in NAMES]
    rng = np.random.default_rng(0)
    best = [
        max(
            won_share(values["s2"], scores, temperature, rng)
            for scores in policies
            for temperature in TEMPERATURES
        )
        for _, values in bugs
    ]
    avoidable = sum(share >= ENOUGH for share in best)
    print(f"{arguments.model.name}: {len(bugs)} bugs in {arguments.tests} cases;")
    print(f"  in {avoidable} of them the lost state is won by some policy")


if __name__ == "__main__":
    main()
