"""Say what the bugs of a landing policy are: contact, chance, and whether any could be won.

    python -m casestudies.lunar.anatomy [MODEL] [--property relax|unrelax] [--cases 500]
    python -m casestudies.lunar.anatomy --show casestudies/results/lunar-anatomy.json

A case is that of the property: ten games from a state and ten from the easier one, with
the same seeds. Its control plays the state itself ten times more, with seeds of its own.
Cases are told apart by what touches the ground: a leg already does in the harder state; the
craft does within 5 steps; neither (airborne). A bug is avoidable if one of 30 games from
the lost state, with actions drawn by the policy's scores, is won. With --landing a win is a
landing, not just no crash.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from casestudies.fuzzing import load_pool
from casestudies.lunar.policy import Scores, load_policy
from casestudies.lunar.state import (
    LanderState,
    from_row,
    lowered_pads,
    raised_pads,
    with_pad,
)

HERE = Path(__file__).parent
RESULTS = HERE.parent / "results" / "lunar-anatomy.json"
STEP_LIMIT = 1000
GAMES = 10
ATTEMPTS = 30
TEMPERATURES = (1.0, 3.0)
SOON = 5  # steps to the first contact
GAPS = (1, 3, 5)
KINDS = ("touches ground", f"within {SOON} steps", "airborne")


class Flights:
    """Plays games side by side, in simulators that are used again."""

    def __init__(self, scores: Scores, landing: bool) -> None:
        from casestudies.lunar.lander import Lander

        self.scores, self.landing = scores, landing
        self.new_game, self.games = Lander, list[Lander]()

    def play(
        self,
        states: Sequence[LanderState],
        seeds: Sequence[int],
        rng: np.random.Generator | None = None,
    ) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
        """Return which games were won, and after how many steps a leg touched ground."""
        count = len(states)
        self.games += [self.new_game() for _ in range(count - len(self.games))]
        pairs = zip(self.games, states, seeds, strict=False)
        views = [game.restore(state, seed=seed) for game, state, seed in pairs]
        running, won = list(range(count)), np.zeros(count, dtype=bool)
        touched = np.where([any(state.contacts) for state in states], 0, STEP_LIMIT)
        for step in range(1, STEP_LIMIT + 1):
            if not running:
                break
            values = self.scores(np.stack([views[i] for i in running]))
            if rng is not None:  # a draw by the scores, at two temperatures by turns
                heat = np.array([TEMPERATURES[i % len(TEMPERATURES)] for i in running])
                values = values / heat[:, None] - np.log(
                    -np.log(rng.random(values.shape))
                )
            still = []
            for i, action in zip(running, values.argmax(axis=1).tolist(), strict=True):
                views[i], reward, ended, _, _ = self.games[i].step(action)
                if views[i][6:].any():
                    touched[i] = min(touched[i], step)
                won[i] = ended and reward > 0
                if not ended:
                    still.append(i)
            running = still
        won[running] = not self.landing
        return won, touched


def draw_cases(
    pool: Path, relax: bool, count: int, rng: np.random.Generator
) -> list[tuple[LanderState, LanderState]]:
    """Draw harder states with their easier ones; states without room are left out."""
    states = [from_row(row) for row in load_pool(pool).states]
    bounds = lowered_pads if relax else raised_pads
    able = [state for state in states if bounds(state)[0] < bounds(state)[1]]
    chosen = [able[i] for i in rng.integers(len(able), size=count)]
    changed = [with_pad(state, rng.uniform(*bounds(state))) for state in chosen]
    # The easier state is the one with the lower surface.
    return list(zip(*((chosen, changed) if relax else (changed, chosen)), strict=True))


def examine(
    flights: Flights, cases: Sequence[tuple[LanderState, LanderState]], seed: int
) -> list[dict[str, Any]]:
    """Play all games of each case; return what its bug, if it is one, is made of."""
    rng, found = np.random.default_rng([seed, 1]), []
    for harder, easier in cases:
        seeds = rng.integers(2**32 - 1, size=2 * GAMES).tolist()
        states = [harder] * GAMES + [easier] * GAMES + [harder] * GAMES
        won, touched = flights.play(
            states, [*seeds[:GAMES], *seeds[:GAMES], *seeds[GAMES:]]
        )
        first, second, again = (int(part.sum()) for part in won.reshape(3, GAMES))
        soonest = int(touched[:GAMES].min())
        kind = KINDS[0 if soonest == 0 else 1 if soonest <= SOON else 2]
        row = {
            "kind": kind,
            "won": first,
            "gap": first - second,
            "chance": first - again,
        }
        if first > second:
            own = rng.integers(2**32 - 1, size=ATTEMPTS).tolist()
            row["avoidable"] = bool(
                flights.play([easier] * ATTEMPTS, own, rng)[0].any()
            )
        found.append(row)
    return found


def print_anatomy(name: str, rows: Sequence[dict[str, Any]]) -> None:
    """Print cases, violations and their controls by kind, and what can be avoided."""
    heads = "".join(f"{f'by {gap}+':>8}{'chance':>8}" for gap in GAPS)
    print(f"{name}: {len(rows)} cases, violations by so many games of {GAMES}")
    print(f"{'':<16}{'cases':>7}{'won':>7}{heads}{'avoidable':>12}")
    for kind in ("all", *KINDS):
        own = [row for row in rows if kind in ("all", row["kind"])]
        bugs = [row for row in own if row["gap"] > 0]
        counts = "".join(
            f"{sum(row['gap'] >= gap for row in own):>8}"
            f"{sum(row['chance'] >= gap for row in own):>8}"
            for gap in GAPS
        )
        could = f"{sum(row['avoidable'] for row in bugs)} of {len(bugs)}"
        some = sum(row["won"] > 0 for row in own)
        print(f"{kind:<16}{len(own):>7}{some:>7}{counts}{could:>12}")


def main(words: Sequence[str] | None = None) -> None:
    """Play what is not in the file and print the table of each run in it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "model", nargs="?", type=Path, default=HERE / "models" / "paper.onnx"
    )
    parser.add_argument("--property", choices=["relax", "unrelax"], default="relax")
    parser.add_argument("--cases", type=int, default=500)
    parser.add_argument("--pool", type=Path, default=HERE / "pool.npz")
    parser.add_argument("--landing", action="store_true", help="a win is a landing")
    parser.add_argument("--save", type=Path, default=RESULTS)
    parser.add_argument("--show", type=Path, help="show such a file, play nothing")
    arguments = parser.parse_args(words)
    path = arguments.show or arguments.save
    runs = json.loads(path.read_text())["runs"] if path.exists() else {}
    win = "landing" if arguments.landing else "no crash"
    name = f"{arguments.property}, {arguments.model.name}, win: {win}"
    if not arguments.show and len(runs.get(name, ())) != arguments.cases:
        rng = np.random.default_rng(0)
        relax = arguments.property == "relax"
        cases = draw_cases(arguments.pool, relax, arguments.cases, rng)
        flights = Flights(load_policy(arguments.model), arguments.landing)
        runs[name] = examine(flights, cases, seed=0)
        path.write_text(json.dumps({"schema": 1, "runs": runs}) + "\n")
    for name, rows in runs.items():
        print_anatomy(name, rows)


if __name__ == "__main__":
    main()
