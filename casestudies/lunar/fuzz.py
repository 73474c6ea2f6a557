"""What the state fuzzer grew `pool.npz` with: the game as rows, a policy that samples."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from casestudies.fuzzing import Fuzzable
from casestudies.lunar.lander import Lander, Observation
from casestudies.lunar.policy import fingerprint, load_policy, sampling
from casestudies.lunar.state import from_row, to_row


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
