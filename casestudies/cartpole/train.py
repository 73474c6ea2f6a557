"""Train the balancing policy: PPO, exported to ONNX with a card.

python -m casestudies.cartpole.train [--seed 1] [--steps 100000]
"""

import argparse
import time
from pathlib import Path

from casestudies.cartpole.pole import Pole
from casestudies.lunar.policy import Scores, torch_scores
from casestudies.lunar.train import export

MODELS = Path(__file__).parent / "models"
STEP_LIMIT = 500
EPISODES = 100
CARD_SEED = 20_000


def evaluate(scores: Scores) -> float:
    """Give the mean number of steps, out of 500, that games from fresh starts last."""
    steps = 0
    for episode in range(EPISODES):
        game = Pole()
        view, _ = game.reset(seed=CARD_SEED + episode)
        for _ in range(STEP_LIMIT):
            view, _, ended, _, _ = game.step(int(scores(view[None])[0].argmax()))
            steps += 1
            if ended:
                break
    return steps / EPISODES


def main() -> None:
    """Train and write the model and its card."""
    from gymnasium.wrappers import TimeLimit
    from stable_baselines3 import PPO
    from stable_baselines3.common.monitor import Monitor

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--steps", type=int, default=100_000)
    parser.add_argument("--folder", type=Path, default=MODELS)
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    game = Monitor(TimeLimit(Pole(), STEP_LIMIT))
    learner = PPO("MlpPolicy", game, seed=arguments.seed, device="cpu")
    scores = torch_scores(learner.policy)
    learner.learn(arguments.steps)
    export(learner.policy, arguments.folder / "ppo.onnx")
    card = (
        "# Balancing policy\n\n"
        "Written by `python -m casestudies.cartpole.train`; not by hand.\n\n"
        "PPO (Stable-Baselines3, its default setting) on gymnasium's CartPole-v1, two\n"
        "hidden layers of 64 tanh units. Input: the game's 4 observations as float32;\n"
        "output: a score for each of the 2 actions, the better of which is played.\n"
        f"Training seed {arguments.seed}, {learner.num_timesteps:,} steps, "
        f"{time.process_time():.0f} CPU seconds.\n\n"
        f"`ppo.onnx`: {evaluate(scores):.1f} of {STEP_LIMIT} steps on average over "
        f"{EPISODES} games from fresh starts (seeds {CARD_SEED} on).\n"
    )
    (arguments.folder / "README.md").write_text(card)
    print(card)


if __name__ == "__main__":
    main()
