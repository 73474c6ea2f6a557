"""Grow the pool of states that the cartpole specification draws from.

python -m casestudies.cartpole.fuzz [--states 500] [--threshold 0.4] [--seed 1]
"""

import argparse
import time
from pathlib import Path

from casestudies.cartpole.pole import Pole
from casestudies.lunar.policy import fingerprint, load_policy, sampling
from nomos.search.states import Fuzzable, FuzzSettings, grow, open_pool

HERE = Path(__file__).parent


def environment(model: Path) -> Fuzzable:
    """Give the game and the policy that a pool is grown with."""
    return Fuzzable(
        Pole(),
        actions=2,
        origin=f"CartPole-v1, policy {fingerprint(model)}",
        policy=sampling(load_policy(model)),
    )


def main() -> None:
    """Grow a pool and say what it cost."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--states", type=int, default=500)
    parser.add_argument("--threshold", type=float, default=FuzzSettings().threshold)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--output", type=Path, default=HERE / "pool.npz")
    arguments = parser.parse_args()
    game = environment(HERE / "models" / "ppo.onnx")
    pool = open_pool(
        arguments.output,
        settings=FuzzSettings(threshold=arguments.threshold),
        seed=arguments.seed,
        origin=game.origin,
    )
    grow(
        pool,
        game.environment,
        actions=game.actions,
        size=arguments.states,
        policy=game.policy,
        progress=lambda pool: pool.save(arguments.output),
    )
    print(
        f"{arguments.output}: {len(pool)} states in {pool.trial_count} trials, "
        f"{time.process_time():.1f} CPU seconds"
    )


if __name__ == "__main__":
    main()
