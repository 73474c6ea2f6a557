"""Games of gymnasium, many at a time: a row is a moment of one game.

The equations are those of gymnasium's CartPole, MountainCar and Acrobot
(`tests/casestudies/test_guided_games.py` plays both side by side). Each game has one
quantity more than gymnasium's, which says how hard it is and which `relax` makes easier:
the length of the pole, the strength of the engine, gravity. The policy does not see it.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.float64]
Flags = NDArray[np.bool_]
Ends = tuple[Flags, Flags]  # which games are won in this step, and which are lost


class Game(Protocol):
    """A game: its moments, its moves, and what makes it easier."""

    name: str
    actions: int
    limit: int  # steps of a game
    wins_by_lasting: bool  # else a game is won when it ends before the limit

    def begin(self, count: int, rng: np.random.Generator) -> Rows:
        """Return starts of the game as usual, as hard as `relax` may make them."""
        ...

    def observe(self, rows: Rows) -> NDArray[np.float32]:
        """Return what the policy sees."""
        ...

    def step(
        self, rows: Rows, actions: NDArray[np.int64], rng: np.random.Generator
    ) -> Ends:
        """Move the rows one step on, in place; return which games were won and lost."""
        ...

    def relax(self, rows: Rows, rng: np.random.Generator) -> Rows:
        """Return the same moments of an easier game."""
        ...


def draw_last(rows: Rows, easiest: float, rng: np.random.Generator) -> Rows:
    """Return rows whose last column is drawn between its value and the easiest one."""
    hardest = rows[:, -1]
    drawn = hardest + (easiest - hardest) * rng.random(len(rows))
    return np.column_stack([rows[:, :-1], drawn])


@dataclass(frozen=True, slots=True)
class Pole:
    """CartPole: cart, speed, angle, spin, and half the length of the pole."""

    name: str = "CartPole, longer poles"
    gusts: float = 0.0  # newtons
    actions: int = 2
    limit: int = 500
    wins_by_lasting: bool = True

    def begin(self, count: int, rng: np.random.Generator) -> Rows:
        """Return upright poles of any length that is tested."""
        start = rng.uniform(-0.05, 0.05, (count, 4))
        return np.column_stack([start, 0.5 * rng.uniform(1, 4, count)])

    def observe(self, rows: Rows) -> NDArray[np.float32]:
        """Return all but the length."""
        return rows[:, :4].astype(np.float32)

    def step(
        self, rows: Rows, actions: NDArray[np.int64], rng: np.random.Generator
    ) -> Ends:
        """Push the cart to the left or to the right for a fiftieth of a second."""
        _, speed, angle, spin, length = rows.T
        force = np.where(actions == 1, 10.0, -10.0)
        force += rng.normal(0, self.gusts, len(rows)) if self.gusts else 0.0
        cosine, sine = np.cos(angle), np.sin(angle)
        inner = (force + 0.1 * length * spin**2 * sine) / 1.1
        bend = (9.8 * sine - cosine * inner) / (
            length * (4.0 / 3.0 - 0.1 * cosine**2 / 1.1)
        )
        push = inner - 0.1 * length * bend * cosine / 1.1
        rows[:, :4] += 0.02 * np.column_stack([speed, push, spin, bend])
        fell = (np.abs(rows[:, 0]) > 2.4) | (np.abs(rows[:, 2]) > 12 * np.pi / 180)
        return np.zeros_like(fell), fell

    def relax(self, rows: Rows, rng: np.random.Generator) -> Rows:
        """Make the poles longer, so that they fall more slowly."""
        return draw_last(rows, 2.0, rng)


@dataclass(frozen=True, slots=True)
class Car:
    """MountainCar: place, speed, and the strength of the engine."""

    name: str = "MountainCar, stronger engines"
    actions: int = 3
    limit: int = 200
    wins_by_lasting: bool = False

    def begin(self, count: int, rng: np.random.Generator) -> Rows:
        """Return cars in the valley with any engine that is tested."""
        place = rng.uniform(-0.6, -0.4, count)
        engine = 0.001 * rng.uniform(1, 1.5, count)
        return np.column_stack([place, np.zeros(count), engine])

    def observe(self, rows: Rows) -> NDArray[np.float32]:
        """Return place and speed."""
        return rows[:, :2].astype(np.float32)

    def step(
        self, rows: Rows, actions: NDArray[np.int64], rng: np.random.Generator
    ) -> Ends:
        """Accelerate to the left, not at all, or to the right."""
        place, speed, engine = rows.T
        pull = (actions - 1) * engine - 0.0025 * np.cos(3 * place)
        rows[:, 1] = np.clip(speed + pull, -0.07, 0.07)
        rows[:, 0] = np.clip(rows[:, 0] + rows[:, 1], -1.2, 0.6)
        rows[(rows[:, 0] <= -1.2) & (rows[:, 1] < 0), 1] = 0.0
        there = rows[:, 0] >= 0.5
        return there, np.zeros_like(there)

    def relax(self, rows: Rows, rng: np.random.Generator) -> Rows:
        """Make the engines stronger."""
        return draw_last(rows, 0.0015, rng)


@dataclass(frozen=True, slots=True)
class TwoLinks:
    """Acrobot: two angles, two speeds, and gravity."""

    name: str = "Acrobot, less gravity"
    actions: int = 3
    limit: int = 500
    wins_by_lasting: bool = False

    def begin(self, count: int, rng: np.random.Generator) -> Rows:
        """Return hanging links under any gravity that is tested."""
        start = rng.uniform(-0.1, 0.1, (count, 4))
        return np.column_stack([start, 9.8 * rng.uniform(0.6, 1, count)])

    def observe(self, rows: Rows) -> NDArray[np.float32]:
        """Return sines and cosines of the angles, and the speeds."""
        first, second = rows[:, 0], rows[:, 1]
        sides = (np.cos(first), np.sin(first), np.cos(second), np.sin(second))
        return np.column_stack([*sides, rows[:, 2:4]]).astype(np.float32)

    def step(
        self, rows: Rows, actions: NDArray[np.int64], rng: np.random.Generator
    ) -> Ends:
        """Turn the joint to one side, not at all, or to the other, by Runge and Kutta."""
        torque, gravity, time = actions - 1.0, rows[:, 4], 0.2
        y = rows[:, :4].copy()
        k1 = _links_change(y, torque, gravity)
        k2 = _links_change(y + time / 2 * k1, torque, gravity)
        k3 = _links_change(y + time / 2 * k2, torque, gravity)
        k4 = _links_change(y + time * k3, torque, gravity)
        y += time / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        y[:, :2] = (y[:, :2] + np.pi) % (2 * np.pi) - np.pi
        y[:, 2] = np.clip(y[:, 2], -4 * np.pi, 4 * np.pi)
        y[:, 3] = np.clip(y[:, 3], -9 * np.pi, 9 * np.pi)
        rows[:, :4] = y
        high = -np.cos(y[:, 0]) - np.cos(y[:, 1] + y[:, 0]) > 1.0
        return high, np.zeros_like(high)

    def relax(self, rows: Rows, rng: np.random.Generator) -> Rows:
        """Let less gravity pull."""
        return draw_last(rows, 0.6 * 9.8, rng)


def _links_change(y: Rows, torque: Rows, gravity: Rows) -> Rows:
    """Return how angles and speeds of two links of mass and length 1 change."""
    first, second, speed1, speed2 = y.T
    d1 = 0.25 + (1.25 + np.cos(second)) + 2.0
    d2 = 0.25 + 0.5 * np.cos(second) + 1.0
    pull2 = 0.5 * gravity * np.cos(first + second - np.pi / 2)
    pull1 = (
        -0.5 * speed2**2 * np.sin(second)
        - speed2 * speed1 * np.sin(second)
        + 1.5 * gravity * np.cos(first - np.pi / 2)
        + pull2
    )
    bend2 = (torque + d2 / d1 * pull1 - 0.5 * speed1**2 * np.sin(second) - pull2) / (
        1.25 - d2**2 / d1
    )
    return np.column_stack([speed1, speed2, -(d2 * bend2 + pull1) / d1, bend2])


SIDE = 6
CELLS = SIDE * SIDE
MOVES = np.array([[0, 1], [1, 0], [0, -1], [-1, 0]])


@dataclass(frozen=True, slots=True)
class Lava:
    """Cross a field of lava: place of the player, then 1 for each cell of lava.

    From one corner to the other, as in MiniGrid's LavaCrossing, but for lava anywhere and
    moves in four directions. A cell of lava loses; a wall stops. What a path wins with,
    wins with less lava too: each bug can be avoided, unless the player slips.
    """

    name: str = "lava crossing, less lava"
    slips: float = 0.0  # how often a move goes in any direction
    lava: float = 0.35  # of the cells off the path
    actions: int = 4
    limit: int = 40
    wins_by_lasting: bool = False

    def begin(self, count: int, rng: np.random.Generator) -> Rows:
        """Return fields with a path of moves to the right and down."""
        field = (rng.random((count, CELLS)) < self.lava).astype(float)
        rights = np.tile(np.arange(2 * SIDE - 2) < SIDE - 1, (count, 1))
        rights = rng.permuted(rights, axis=1)
        column = np.cumsum(rights, axis=1)
        row = np.cumsum(~rights, axis=1)
        field[np.arange(count)[:, None], row * SIDE + column] = 0.0
        field[:, 0] = 0.0
        return np.column_stack([np.zeros((count, 2)), field])

    def observe(self, rows: Rows) -> NDArray[np.float32]:
        """Return the lava, and 1 in the cell of the player."""
        place = rows[:, 0] * SIDE + rows[:, 1]
        here = place[:, None] == np.arange(CELLS)
        return np.column_stack([rows[:, 2:], here]).astype(np.float32)

    def step(
        self, rows: Rows, actions: NDArray[np.int64], rng: np.random.Generator
    ) -> Ends:
        """Move the player by one cell."""
        if self.slips:
            slipped = rng.random(len(rows)) < self.slips
            actions = np.where(slipped, rng.integers(0, 4, len(rows)), actions)
        rows[:, :2] = np.clip(rows[:, :2] + MOVES[actions], 0, SIDE - 1)
        place = (rows[:, 0] * SIDE + rows[:, 1]).astype(int)
        return place == CELLS - 1, rows[np.arange(len(rows)), 2 + place] > 0

    def relax(self, rows: Rows, rng: np.random.Generator) -> Rows:
        """Take away between one and half of the cells of lava."""
        rows = rows.copy()
        order = np.where(rows[:, 2:] > 0, rng.random((len(rows), CELLS)), 2.0)
        total = (order < 2).sum(axis=1)
        gone = rng.integers(1, np.maximum(2, total // 2 + 1))
        rank = order.argsort(axis=1).argsort(axis=1)
        rows[:, 2:][rank < gone[:, None]] = 0.0
        return rows
