"""Many games played side by side: who wins, by best actions or by drawn ones."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from casestudies.guided_games.games import Flags, Game, Rows

_MANY = 2048  # games of a pool side by side

Scores = Callable[[NDArray[np.float32]], NDArray[np.float64]]


@dataclass(frozen=True, slots=True)
class Played:
    """What became of games: which were won, and the steps of all together."""

    won: Flags
    steps: int
    moves: tuple[NDArray[np.float32], NDArray[np.int64], NDArray[np.int64]] | None = (
        None
    )


def play_games(
    game: Game,
    rows: Rows,
    scores: Scores,
    rng: np.random.Generator,
    *,
    noise: float = 0.0,
    keep_moves: bool = False,
) -> Played:
    """Play from each row; `noise` is the temperature of drawn actions, 0 the best ones.

    With `keep_moves`, observations, actions and the number of their game are returned.
    """
    rows, running = rows.copy(), np.arange(len(rows))
    won, steps = np.zeros(len(rows), dtype=bool), 0
    seen, acted, whose = [], [], []
    for _ in range(game.limit):
        if not len(running):
            break
        views = game.observe(rows[running])
        actions = choose_actions(scores(views), noise, rng)
        if keep_moves:
            seen.append(views)
            acted.append(actions)
            whose.append(running)
        moved = rows[running]
        good, bad = game.step(moved, actions, rng)
        rows[running] = moved
        steps += len(running)
        won[running[good]] = True
        running = running[~(good | bad)]
    if game.wins_by_lasting:
        won[running] = True
    if not keep_moves:
        return Played(won, steps)
    kept = (np.concatenate(seen), np.concatenate(acted), np.concatenate(whose))
    return Played(won, steps, kept)


def choose_actions(
    scores: NDArray[np.float64], noise: float, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return the best actions, or actions drawn by the scores at a temperature."""
    if noise:  # the largest of scores plus such noise is a draw by the scores
        scores = scores / noise - np.log(-np.log(rng.random(scores.shape)))
    return scores.argmax(axis=1)


def grow_pool(
    game: Game, count: int, policies: list[Scores], rng: np.random.Generator
) -> Rows:
    """Return moments of games that policies play with some of their moves at random.

    From a usual start, a policy plays up to a fifth of the longest game; up to three in
    ten of its moves are drawn from all actions alike. Games that end before are left out.
    """
    found: list[Rows] = []
    while sum(map(len, found)) < count:
        for scores in policies:
            rows = game.begin(_MANY, rng)
            last = rng.integers(0, game.limit // 5 + 1, _MANY)
            astray = rng.uniform(0, 0.3, _MANY)
            alive = np.ones(_MANY, dtype=bool)
            for step in range(game.limit // 5 + 1):
                found += [rows[alive & (last == step)].copy()]
                actions = choose_actions(scores(game.observe(rows)), 0, rng)
                random = rng.integers(0, game.actions, _MANY)
                actions = np.where(rng.random(_MANY) < astray, random, actions)
                won, lost = game.step(rows, actions, rng)
                alive &= ~(won | lost)
    pool = np.concatenate(found)
    return pool[rng.permutation(len(pool))[:count]]
