"""Candidates for the study: has a game bugs beyond chance, and could they be avoided?

    python -m casestudies.guided_games.testbeds
    python -m casestudies.guided_games.testbeds --show casestudies/results/testbeds.json

Each game is learned from nothing with two seeds that the study does not use. A case is a
moment of the game that training did not start from, and an easier one. The rule was fixed
before: a game is taken if it has at least three times as many bugs as its control, the same
moment played twice, and at least half of the bugs can be avoided: one of 30 games from the
lost moment, with drawn actions, is won.
"""

import argparse
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from casestudies.guided_games.games import Car, Game, Lava, Pole, TwoLinks
from casestudies.guided_games.play import grow_pool, play_games
from casestudies.guided_games.study import ATTEMPTS, BASE_STEPS, NOISES

RESULTS = Path(__file__).parent.parent / "results" / "testbeds.json"
CANDIDATES: Sequence[Game] = (
    Pole(),
    replace(Pole(), name="CartPole, longer poles, gusts", gusts=5.0),
    Car(),
    TwoLinks(),
    Lava(),
    replace(Lava(), name="lava crossing, less lava, slippery", slips=0.05),
)
SEEDS = (101, 102)
CASES = 4_000


def examine(game: Game, seed: int) -> dict[str, Any]:
    """Train a policy and count its bugs, those of the control, and the avoidable ones."""
    from casestudies.guided_games.train import scores_of, train_base

    scores = scores_of(train_base(game, BASE_STEPS, seed))
    rng = np.random.default_rng([seed, 4])
    first = grow_pool(game, CASES, [scores], rng)
    relaxed = game.relax(first, rng)
    one, two, again = (
        play_games(game, rows, scores, rng).won for rows in (first, relaxed, first)
    )
    bugs = relaxed[one & ~two]
    left = bugs
    for attempt in range(ATTEMPTS if len(bugs) else 0):
        noise = NOISES[attempt % len(NOISES)]
        left = left[~play_games(game, left, scores, rng, noise=noise).won]
    return {
        "game": game.name,
        "seed": seed,
        "cases": CASES,
        "won": int(one.sum()),
        "bugs": len(bugs),
        "control": int((one & ~again).sum()),
        "avoidable": len(bugs) - len(left),
    }


def print_candidates(rows: Sequence[dict[str, Any]]) -> None:
    """Print each game with both seeds together, and whether the rule takes it."""
    print(
        f"{'game':<36}{'cases':>7}{'won':>7}{'bugs':>6}{'control':>9}{'avoidable':>11}"
    )
    for name in dict.fromkeys(row["game"] for row in rows):
        own = [row for row in rows if row["game"] == name]
        keys = ("cases", "won", "bugs", "control", "avoidable")
        cases, won, bugs, control, avoidable = (sum(r[k] for r in own) for k in keys)
        taken = bugs > 0 and bugs >= 3 * control and avoidable >= bugs / 2
        print(
            f"{name:<36}{cases:>7}{won:>7}{bugs:>6}{control:>9}{avoidable:>11}"
            f"  {'fits' if taken else ''}"
        )


def main() -> None:
    """Examine what is not in the file and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--save", type=Path, default=RESULTS)
    parser.add_argument("--show", type=Path, help="show such a file, train nothing")
    arguments = parser.parse_args()
    path = arguments.show or arguments.save
    rows = json.loads(path.read_text())["rows"] if path.exists() else []
    made = {(row["game"], row["seed"]) for row in rows}
    for game in () if arguments.show else CANDIDATES:
        for seed in SEEDS:
            if (game.name, seed) not in made:
                rows.append(examine(game, seed))
                lines = ",\n".join(json.dumps(row) for row in rows)
                path.write_text(f'{{"schema": 1, "rows": [\n{lines}\n]}}\n')
    print_candidates(rows)


if __name__ == "__main__":
    main()
