"""Games played to be seen: where the lander was at each step, and how it ended."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from casestudies.lunar.lander import Lander
from casestudies.lunar.state import (
    CORNER_X,
    HEIGHT,
    WIDTH,
    LanderState,
    corner_heights,
)
from nomos.domain.show import Scene

FLAG_HEIGHT = 50 / 30
PAD_ENDS = (CORNER_X[4], CORNER_X[6])


@dataclass(frozen=True, slots=True)
class Flight:
    """One game: place and angle of the lander at each step, and its end in words."""

    path: NDArray[np.float64]
    won: bool
    end: str


def fly(
    game: Lander,
    policy: Callable[[NDArray[np.float32]], int],
    state: LanderState,
    *,
    seed: int,
    step_limit: int,
) -> Flight:
    """Play from a state as the domain's `play` does, and keep what happens."""
    observation = game.restore(state, seed=seed)
    path = [_pose(game)]
    for step in range(1, step_limit + 1):
        observation, reward, ended, _, _ = game.step(policy(observation))
        path.append(_pose(game))
        if ended:
            won = reward > 0
            away = abs(observation[0]) >= 1.0
            how = "landed" if won else "left the field" if away else "crashed"
            return Flight(np.array(path), won, f"{how} after {step} steps")
    return Flight(np.array(path), True, f"still in the air after {step_limit} steps")


def _pose(game: Lander) -> tuple[float, float, float]:
    position = game.lander.position
    return position.x, position.y, game.lander.angle


def scene(state: LanderState, flight: Flight, caption: str) -> Scene:
    """Draw a flight: the ground, a flag at each end of the pad, the path."""
    ground = np.column_stack([CORNER_X, corner_heights(state.heights)])
    flags = [np.array([(x, state.pad), (x, state.pad + FLAG_HEIGHT)]) for x in PAD_ENDS]
    lines = (ground, *flags)
    return Scene(WIDTH, HEIGHT, lines, flight.path, f"{caption}: {flight.end}")
