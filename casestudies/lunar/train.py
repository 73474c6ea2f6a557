"""Train the landing policies: PPO, exported to ONNX with a card that says how good they are.

    python -m casestudies.lunar.train [--seed 1] [--steps 1000000]

Writes models/{early,middle,paper}.onnx the first time that the evaluation
passes 0, 100 and 175, models/ppo.onnx at the end, and models/README.md.
"""

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from casestudies.lunar.policy import Scores, torch_scores

HERE = Path(__file__).parent
MODELS = HERE / "models"

STEP_LIMIT = 1000
ENVIRONMENTS = 16
EPISODES = 100
# Evaluations while training and the one on the card start from other seeds.
WATCHING_SEED = 10_000
CARD_SEED = 20_000
# The last is the average reward of the policy in the paper.
MILESTONES = {"early": 0.0, "middle": 100.0, "paper": 175.0}


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What full games of a policy, played without noise in its actions, came to."""

    mean: float
    deviation: float
    landed: float

    def __str__(self) -> str:
        return (
            f"reward {self.mean:.1f} ± {self.deviation:.1f}, "
            f"{self.landed:.0%} ended at rest"
        )


def evaluate(scores: Scores, *, seed: int, episodes: int = EPISODES) -> Evaluation:
    """Play games of gymnasium's own starts side by side, the best action each step."""
    from casestudies.lunar.lander import Lander

    games = [Lander() for _ in range(episodes)]
    views = [game.reset(seed=seed + i)[0] for i, game in enumerate(games)]
    rewards = np.zeros(episodes)
    landed = np.zeros(episodes, dtype=bool)
    running = list(range(episodes))
    for _ in range(STEP_LIMIT):
        actions = scores(np.stack([views[i] for i in running])).argmax(axis=1).tolist()
        still = []
        for i, action in zip(running, actions, strict=True):
            views[i], reward, ended, _, _ = games[i].step(action)
            rewards[i] += reward
            landed[i] = ended and reward > 0
            if not ended:
                still.append(i)
        running = still
        if not running:
            break
    return Evaluation(float(rewards.mean()), float(rewards.std()), float(landed.mean()))


def export(policy: Any, path: Path) -> None:
    """Write an SB3 MlpPolicy's action scores as an ONNX model of plain layers."""
    from onnx import TensorProto, checker, helper, numpy_helper, save_model

    layers = [
        layer for layer in policy.mlp_extractor.policy_net if hasattr(layer, "weight")
    ]
    layers.append(policy.action_net)
    nodes, weights, value = [], [], "observation"
    for number, layer in enumerate(layers):
        for name in ("weight", "bias"):
            array = getattr(layer, name).detach().numpy()
            weights.append(numpy_helper.from_array(array, f"{name}{number}"))
        last = number == len(layers) - 1
        result = "scores" if last else f"sum{number}"
        inputs = [value, f"weight{number}", f"bias{number}"]
        nodes.append(helper.make_node("Gemm", inputs, [result], transB=1))
        if not last:
            nodes.append(helper.make_node("Tanh", [result], [f"layer{number}"]))
            value = f"layer{number}"
    ends = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", width])
        for name, width in (
            ("observation", layers[0].in_features),
            ("scores", layers[-1].out_features),
        )
    ]
    graph = helper.make_graph(nodes, "policy", ends[:1], ends[1:], weights)
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8
    )
    checker.check_model(model)
    save_model(model, path)


def make_learner(
    seed: int,
    *,
    environments: int = ENVIRONMENTS,
    rollout: int = 1024,
    wrap: Callable[[Any], Any] = lambda game: game,
) -> Any:
    """Build PPO by the setting that SB3's authors tuned for this game."""
    from gymnasium.wrappers import TimeLimit
    from stable_baselines3 import PPO
    from stable_baselines3.common.monitor import Monitor
    from stable_baselines3.common.vec_env import DummyVecEnv

    from casestudies.lunar.lander import Lander

    games = DummyVecEnv(
        [lambda: Monitor(TimeLimit(wrap(Lander()), STEP_LIMIT))] * environments
    )
    return PPO(
        "MlpPolicy",
        games,
        n_steps=rollout,
        batch_size=64,
        n_epochs=4,
        gamma=0.999,
        gae_lambda=0.98,
        ent_coef=0.01,
        seed=seed,
        device="cpu",
    )


def train(steps: int, seed: int, folder: Path) -> dict[str, tuple[int, Evaluation]]:
    """Train, export at each milestone, and say what each exported policy reaches."""
    import torch
    from stable_baselines3.common.callbacks import BaseCallback

    torch.set_num_threads(1)
    learner = make_learner(seed)
    scores = torch_scores(learner.policy)
    results: dict[str, tuple[int, Evaluation]] = {}
    waiting = dict(MILESTONES)

    def keep(name: str) -> None:
        export(learner.policy, folder / f"{name}.onnx")
        results[name] = learner.num_timesteps, evaluate(scores, seed=CARD_SEED)

    class Watch(BaseCallback):
        def _on_step(self) -> bool:
            return True

        def _on_rollout_start(self) -> None:
            now = evaluate(scores, seed=WATCHING_SEED)
            print(f"{learner.num_timesteps:>8} steps: {now}", flush=True)
            for name in [
                name for name, reward in waiting.items() if now.mean >= reward
            ]:
                del waiting[name]
                keep(name)

    learner.learn(steps, callback=Watch())
    keep("ppo")
    return results


def write_card(
    results: dict[str, tuple[int, Evaluation]], seed: int, cpu_s: float, path: Path
) -> None:
    """Say beside the models what they are and how they were measured."""
    rows = [
        f"| `{name}.onnx` | {steps:,} | {found.mean:.1f} | {found.deviation:.1f} | {found.landed:.0%} |"
        for name, (steps, found) in results.items()
    ]
    path.write_text(
        "\n".join(
            [
                "# Landing policies",
                "",
                "Written by `python -m casestudies.lunar.train`; not by hand.",
                "",
                "PPO (Stable-Baselines3) on gymnasium's LunarLander-v3, two hidden",
                "layers of 64 tanh units. Input: the game's 8 observations as float32;",
                "output: a score for each of the 4 actions, the best of which is played.",
                f"Training seed {seed}, {ENVIRONMENTS} games side by side, {cpu_s:.0f} CPU seconds",
                "with the evaluations.",
                "",
                f"Each was measured over {EPISODES} games of gymnasium's own starts"
                f" (seeds {CARD_SEED} on),",
                f"at most {STEP_LIMIT} steps, not used while training.",
                "The first three are the first whose reward passed 0, 100 and 175 (the",
                f"reward of the paper's policy) over {EPISODES} games watched while training.",
                "",
                "| model | training steps | mean reward | deviation | at rest in the end |",
                "|---|---|---|---|---|",
                *rows,
                "",
            ]
        )
    )


def main() -> None:
    """Train and write the models and their card."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--steps", type=int, default=1_000_000)
    parser.add_argument("--folder", type=Path, default=MODELS)
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    results = train(arguments.steps, arguments.seed, arguments.folder)
    path = arguments.folder / "README.md"
    write_card(results, arguments.seed, time.process_time(), path)
    print(path.read_text())


if __name__ == "__main__":
    main()
