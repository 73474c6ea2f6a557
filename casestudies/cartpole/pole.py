"""Gymnasium's CartPole with moments that can be kept and restored, pole length included."""

from typing import Any

import numpy as np
from gymnasium.envs.classic_control.cartpole import CartPoleEnv
from numpy.typing import NDArray


class Pole(CartPoleEnv):
    """One game of CartPole; a moment is cart, pole and the pole's half length."""

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Start a game with a pole of the usual length."""
        self._set_length(0.5)
        return super().reset(seed=seed, options=options)

    def snapshot(self) -> NDArray[np.float64]:
        """Take the present moment: place, speed, angle, spin, half length."""
        return np.array([*self.state, self.length], dtype=np.float64)

    def restore(
        self, state: NDArray[np.float64], *, seed: int = 0
    ) -> NDArray[np.float32]:
        """Return to a moment; nothing in this game is random, so no seed matters."""
        *self.state, length = np.asarray(state, dtype=np.float64)
        self._set_length(float(length))
        self.steps_beyond_terminated = None
        return np.array(self.state, dtype=np.float32)

    def _set_length(self, length: float) -> None:
        self.length = length
        self.polemass_length = self.masspole * length
