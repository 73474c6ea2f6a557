"""Four ways to go on training, at the same number of steps, judged on unseen moments.

    python -m casestudies.guided_games.study [--bases 8] [--seeds 2] [--save FILE]
    python -m casestudies.guided_games.study --show casestudies/results/guided-games.json

Each base is trained from nothing on games as hard as those that are tested. Then every arm
goes on from it with the same total of steps; those of its tests and of its attempts to win
count. Runs that are in the file are not made again.
"""

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from casestudies.guided_games.games import Flags, Game, Lava, Rows
from casestudies.guided_games.play import grow_pool, play_games

RESULTS = Path(__file__).parent.parent / "results" / "guided-games.json"
ARMS = ("normal", "guided", "pool", "demonstrations")
BASE_STEPS = 300_000
TOTAL_STEPS = 300_000  # of each run, tests included
RATE = 5e-4
TEST_EVERY = 16  # rollouts
TEST_CASES = 500
# Of the episodes, how many start from bugs or the pool; it grows with each test.
SHARE_GROWTH, LARGEST_SHARE = 0.1, 0.5
MOST_BUGS = 500  # the newest are kept
ATTEMPTS = 30  # to win a game that was lost, with drawn actions
NOISES = (1.0, 2.0)
IMITATION_STEPS, KL_WEIGHT = 4, 1.0
HELD_OUT = 60_000
POOL = 20_000
FRESH_GAMES = 2_000
_POOL_SEED, _HELD_OUT_SEED, _JUDGING_SEED = 1_000_003, 1_000_033, 1_000_037

Moves = tuple[NDArray[np.float32], NDArray[np.int64]]


@dataclass(frozen=True, slots=True)
class Cases:
    """Moments to judge by, and easier ones, the same for all policies."""

    first: Rows
    relaxed: Rows
    avoidable: Flags  # whether any attempt of any base won the easier game


@dataclass
class Practice:
    """Where a run starts its games, and what it learned of its bugs so far."""

    game: Game
    arm: str
    pool: Rows
    rng: np.random.Generator
    share: float = 0.0
    lost: list[Rows] = field(default_factory=list)  # easier games that were lost
    moves: list[Moves] = field(default_factory=list)  # with which they were won

    def choose_starts(self, count: int) -> Rows:
        """Return where the next games start."""
        rows = self.game.begin(count, self.rng)
        chosen = self.rng.random(count) < self.share
        wanted = int(chosen.sum())
        if not wanted:
            return rows
        if self.arm == "pool":
            picked = self.pool[self.rng.integers(len(self.pool), size=wanted)]
            rows[chosen] = self.game.relax(picked, self.rng)
        elif self.arm == "guided" and self.lost:
            bugs = np.array(self.lost)
            rows[chosen] = bugs[self.rng.integers(len(bugs), size=wanted)]
        return rows

    def take_test(self, learner: Any) -> int:
        """Test the policy on cases of its own and learn of its bugs; return the steps."""
        self.share = min(LARGEST_SHARE, self.share + SHARE_GROWTH)
        if self.arm in ("normal", "pool"):
            return 0
        from casestudies.guided_games.train import scores_of

        scores = scores_of(learner)
        first = self.pool[self.rng.integers(len(self.pool), size=TEST_CASES)]
        relaxed = self.game.relax(first, self.rng)
        one = play_games(self.game, first, scores, self.rng)
        two = play_games(self.game, relaxed, scores, self.rng)
        bugs = relaxed[one.won & ~two.won]
        self.lost = [*self.lost, *bugs][-MOST_BUGS:]
        attempts = 0
        if self.arm == "demonstrations":
            attempts = self.demonstrate(bugs, scores)
        return one.steps + two.steps + attempts

    def demonstrate(self, bugs: Rows, scores: Any) -> int:
        """Try to win each lost game with drawn actions; keep the moves that won it."""
        steps = 0
        for attempt in range(ATTEMPTS):
            if not len(bugs):
                break
            noise = NOISES[attempt % len(NOISES)]
            played = play_games(
                self.game, bugs, scores, self.rng, noise=noise, keep_moves=True
            )
            steps += played.steps
            assert played.moves is not None
            views, actions, whose = played.moves
            for number in np.flatnonzero(played.won):
                own = whose == number
                self.moves.append((views[own], actions[own]))
            bugs = bugs[~played.won]
        self.moves = self.moves[-MOST_BUGS:]
        return steps


def imitate(learner: Any, moves: list[Moves], rng: np.random.Generator) -> None:
    """Move the policy towards the moves that won, and hold it near what it was."""
    import torch

    views = torch.from_numpy(np.concatenate([seen for seen, _ in moves]))
    actions = torch.from_numpy(np.concatenate([acted for _, acted in moves]))
    policy = learner.policy
    with torch.no_grad():
        former = policy.get_distribution(views).distribution.logits
    for _ in range(IMITATION_STEPS):
        some = torch.from_numpy(rng.integers(len(views), size=min(256, len(views))))
        now = policy.get_distribution(views[some]).distribution
        before = torch.distributions.Categorical(logits=former[some])
        drift = torch.distributions.kl_divergence(before, now).mean()
        loss = KL_WEIGHT * drift - now.log_prob(actions[some]).mean()
        policy.optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(policy.parameters(), 0.5)
        policy.optimizer.step()


def go_on(game: Game, base: Any, pool: Rows, arm: str, seed: int) -> tuple[Any, Any]:
    """Train a copy of a base in one of the ways; return it and what stopped it."""
    from casestudies.guided_games.train import StopAfter, make_learner

    rng = np.random.default_rng([seed, 3])
    practice = Practice(game, arm, pool, rng)
    learner = make_learner(game, practice.choose_starts, seed, RATE)
    learner.policy.load_state_dict(base.policy.state_dict())

    def before_rollout(number: int) -> int:
        steps = 0 if number % TEST_EVERY else practice.take_test(learner)
        if practice.moves:
            imitate(learner, practice.moves, rng)
        return steps

    stop = StopAfter(TOTAL_STEPS, before_rollout)
    learner.learn(10 * TOTAL_STEPS, callback=stop)
    return learner, stop


def make_cases(game: Game, bases: list[Any], count: int, seed: int) -> Cases:
    """Draw moments that no training saw, and find which easier games can be won."""
    from casestudies.guided_games.train import scores_of

    rng = np.random.default_rng(seed)
    policies = [scores_of(base) for base in bases]
    first = grow_pool(game, count, policies, rng)
    relaxed = game.relax(first, rng)
    avoidable = np.zeros(count, dtype=bool)
    for attempt in range(ATTEMPTS):
        left = np.flatnonzero(~avoidable)
        scores = policies[attempt % len(policies)]
        noise = NOISES[attempt // len(policies) % len(NOISES)]
        won = play_games(game, relaxed[left], scores, rng, noise=noise).won
        avoidable[left[won]] = True
    return Cases(first, relaxed, avoidable)


def judge(game: Game, learner: Any, cases: Cases) -> dict[str, Any]:
    """Count bugs of a policy in the cases, and by chance; play usual games."""
    from casestudies.guided_games.train import scores_of

    rng, scores = np.random.default_rng(_JUDGING_SEED), scores_of(learner)
    one = play_games(game, cases.first, scores, rng).won
    two = play_games(game, cases.relaxed, scores, rng).won
    again = play_games(game, cases.first, scores, rng).won
    usual = play_games(game, game.begin(FRESH_GAMES, rng), scores, rng).won
    bugs = one & ~two
    return {
        "won": int(one.sum()),
        "bugs": int(bugs.sum()),
        "avoidable": int((bugs & cases.avoidable).sum()),
        "control": int((one & ~again).sum()),
        "usual": float(usual.mean()),
    }


def run_missing(
    game: Game,
    numbers: list[int],
    seeds: int,
    runs: list[dict[str, Any]],
    keep: Callable[[], None],
) -> None:
    """Make the runs that are not in the file, seed by seed."""
    from casestudies.guided_games.train import scores_of, train_base

    made = {(run["base"], run["seed"], run["arm"]) for run in runs}
    bases = {number: train_base(game, BASE_STEPS, number) for number in numbers}
    cases = make_cases(game, list(bases.values()), HELD_OUT, _HELD_OUT_SEED)
    for number, base in bases.items():
        if (number, 0, "base") not in made:
            figures = judge(game, base, cases)
            runs.append({"base": number, "seed": 0, "arm": "base", **figures})
            keep()
    for seed in range(1, seeds + 1):
        for number, base in bases.items():
            rng = np.random.default_rng([_POOL_SEED, number])
            pool = grow_pool(game, POOL, [scores_of(base)], rng)
            for arm in ARMS:
                if (number, seed, arm) in made:
                    continue
                began = time.process_time()
                own = 1_000 * number + seed
                learner, stop = go_on(game, base, pool, arm, own)
                runs.append(
                    {
                        "base": number,
                        "seed": seed,
                        "arm": arm,
                        **judge(game, learner, cases),
                        "trained": int(stop.num_timesteps),
                        "steps": stop.used,
                        "cpu_s": round(time.process_time() - began, 1),
                    }
                )
                print(runs[-1], flush=True)
                keep()


def main() -> None:
    """Make the runs that are missing and print what there is."""
    from casestudies.guided_games.tables import print_study

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bases", type=int, default=8)
    parser.add_argument("--first", type=int, default=1, help="number of the first base")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--save", type=Path, default=RESULTS)
    parser.add_argument("--show", type=Path, help="show such a file, train nothing")
    arguments = parser.parse_args()
    path = arguments.show or arguments.save
    runs = json.loads(path.read_text())["runs"] if path.exists() else []

    def keep() -> None:
        lines = ",\n".join(json.dumps(run) for run in runs)
        path.write_text(f'{{"schema": 1, "runs": [\n{lines}\n]}}\n')

    if not arguments.show:
        numbers = list(range(arguments.first, arguments.first + arguments.bases))
        run_missing(Lava(), numbers, arguments.seeds, runs, keep)
    print_study(runs)


if __name__ == "__main__":
    main()
