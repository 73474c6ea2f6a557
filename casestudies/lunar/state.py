"""A moment of LunarLander as plain numbers, and its surface made lower or higher.

Needs numpy alone, so that a specification can be checked where the game is not
installed. Lengths are the simulator's metres: the field is 20 wide, 13.3 high.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

WIDTH = 600 / 30
HEIGHT = 400 / 30

# The ground is 10 straight pieces between 11 corners. Each corner is the mean of
# three of 12 raw heights (times 0.99), and five of those twelve are the landing pad.
CORNERS = 11
RAW_HEIGHTS = 12
PAD = range(3, 8)
CORNER_X = tuple(WIDTH / (CORNERS - 1) * i for i in range(CORNERS))

LOWEST_PAD = HEIGHT / 12
CLEARANCE = HEIGHT / 6  # what a raised pad leaves free below the lander's centre

# Circles about the bodies' origins that hold the whole body.
LANDER_RADIUS = 22.1 / 30
LEG_RADIUS = 8.3 / 30


class Body(NamedTuple):
    """Where a rigid body is and how it moves."""

    x: float
    y: float
    angle: float
    vx: float
    vy: float
    spin: float


@dataclass(frozen=True, slots=True)
class LanderState:
    """A moment of the game: three bodies, which legs touch ground, the terrain."""

    lander: Body
    legs: tuple[Body, Body]
    contacts: tuple[bool, bool]
    heights: tuple[float, ...]

    @property
    def pad(self) -> float:
        """The height of the landing pad."""
        return self.heights[PAD[0]]


ROW_WIDTH = 3 * len(Body._fields) + 2 + RAW_HEIGHTS


def to_row(state: LanderState) -> NDArray[np.float64]:
    """Write a state as one row of numbers, without loss."""
    bodies = chain(state.lander, *state.legs)
    return np.array([*bodies, *state.contacts, *state.heights], dtype=np.float64)


def from_row(row: NDArray[np.float64]) -> LanderState:
    """Read a state back from its row."""
    if row.shape != (ROW_WIDTH,):
        raise ValueError(f"a lander state has {ROW_WIDTH} numbers, not {row.shape}")
    numbers = row.tolist()
    return LanderState(
        lander=Body(*numbers[:6]),
        legs=(Body(*numbers[6:12]), Body(*numbers[12:18])),
        contacts=(bool(numbers[18]), bool(numbers[19])),
        heights=tuple(numbers[20:]),
    )


def corner_heights(heights: Sequence[float]) -> list[float]:
    """Give the ground's height at each corner, from the raw heights."""
    # The first corner takes the last raw height as its left neighbour, as the game does.
    return [
        0.33 * (heights[i - 1] + heights[i] + heights[i + 1]) for i in range(CORNERS)
    ]


def with_pad(state: LanderState, pad: float) -> LanderState:
    """Scale the whole surface so that its pad has the given height.

    Scaling moves every point of the surface the same way, and keeps what the game
    says of a terrain: the heights beside the pad are uniform in 0 .. 2 * pad.

    The legs of the result touch nothing: where they did, the surface has moved away.
    """
    scale = pad / state.pad
    heights = [height * scale for height in state.heights]
    for i in PAD:
        heights[i] = pad
    return replace(state, contacts=(False, False), heights=tuple(heights))


def lowered_pads(state: LanderState) -> tuple[float, float]:
    """Give the range that a lowered pad is drawn from; empty where low >= high."""
    return LOWEST_PAD, state.pad


def raised_pads(state: LanderState) -> tuple[float, float]:
    """Give the range that a raised pad is drawn from; empty where low >= high.

    The pad stays `CLEARANCE` below the lander. The rest of the surface rises with
    it, so it must stay below the craft as well: a lander put under the surface
    could come to rest on the floor of the world and count as landed.
    """
    bodies = [(state.lander, LANDER_RADIUS), *((leg, LEG_RADIUS) for leg in state.legs)]
    left = min(body.x - radius for body, radius in bodies)
    right = max(body.x + radius for body, radius in bodies)
    lowest = min(body.y - radius for body, radius in bodies)
    ground = corner_heights(state.heights)
    below = [float(np.interp(x, CORNER_X, ground)) for x in (left, right)]
    below += [y for x, y in zip(CORNER_X, ground, strict=True) if left < x < right]
    under_craft = state.pad * lowest / max(below)
    return state.pad, min(state.lander.y - CLEARANCE, under_craft)
