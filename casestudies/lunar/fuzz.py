"""Grow the pool of states that the lunar specifications draw from.

    python -m casestudies.lunar.fuzz [--states 2000] [--threshold 0.4] [--seed 1]

Goes on with the output file where there is one, and saves as it goes: it can be
stopped at any time, and ends with the same pool as a run that was not.
"""

import argparse
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from casestudies.lunar.lander import Lander, Observation
from casestudies.lunar.policy import fingerprint, load_policy, sampling
from casestudies.lunar.state import from_row, to_row
from nomos.search.states import Fuzzable, FuzzSettings, StatePool, grow, open_pool

HERE = Path(__file__).parent


class LanderRows(Lander):
    """The game with its moments as rows of numbers, as the fuzzer wants them."""

    def snapshot(self) -> NDArray[np.float64]:
        """Take the present moment as a row."""
        return to_row(super().snapshot())

    def restore(self, state: NDArray[np.float64], *, seed: int) -> Observation:
        """Return to the moment that a row holds."""
        return super().restore(from_row(state), seed=seed)


def environment(model: Path) -> Fuzzable:
    """Give the game and the policy that a pool is grown with."""
    return Fuzzable(
        LanderRows(),
        actions=4,
        origin=f"LunarLander-v3, policy {fingerprint(model)}",
        policy=sampling(load_policy(model)),
    )


def main() -> None:
    """Grow a pool and say what it cost."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--states", type=int, default=2000)
    parser.add_argument("--threshold", type=float, default=FuzzSettings().threshold)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--model", type=Path, default=HERE / "models" / "ppo.onnx")
    parser.add_argument("--output", type=Path, default=HERE / "pool.npz")
    arguments = parser.parse_args()
    path = arguments.output
    game = environment(arguments.model)
    pool = open_pool(
        path,
        settings=FuzzSettings(threshold=arguments.threshold),
        seed=arguments.seed,
        origin=game.origin,
    )

    def progress(pool: StatePool) -> None:
        pool.save(path)
        print(f"{pool.trial_count:>8} trials: {len(pool)} states", flush=True)

    grow(
        pool,
        game.environment,
        actions=game.actions,
        size=arguments.states,
        policy=game.policy,
        progress=progress,
    )
    print(f"{path}: {len(pool)} states, {time.process_time():.1f} CPU seconds")


if __name__ == "__main__":
    main()
