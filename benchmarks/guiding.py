"""Guided fine-tuning of the landing policy: held-out bugs and reward, before and after.

    python -m benchmarks.guiding [--seeds 5] [--steps 294912]

Fine-tunes `casestudies/lunar/models/ppo.onnx` with the default settings of `fine_tune`,
once for each seed. Bugs are those in 3000 cases from states that no training saw, the
same for all seeds; rewards are means of 100 games. Needs the extra `lunar-train`, and
about three CPU minutes for each seed; everything runs on one thread.

Goals, of the mean over the seeds: 20 % fewer bugs, and a reward that is not lower by 10.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before numpy and torch are imported

from casestudies.guiding import FineTuned, GuidedTraining, TuningBudget, fine_tune
from casestudies.lunar.resume import resume

LUNAR = Path(__file__).parents[1] / "casestudies" / "lunar"
GUIDED = LUNAR / "guided"
FEWER, LOSE = 0.2, 10.0


def main(words: Sequence[str] | None = None) -> None:
    """Fine-tune with each seed, and print a line for each and the means."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5, help="run seeds 1, 2, ...")
    parser.add_argument("--first", type=int, default=1, help="the first seed")
    parser.add_argument("--steps", type=int, default=TuningBudget().steps)
    arguments = parser.parse_args(words)
    budget = TuningBudget(arguments.steps)
    policy = resume(LUNAR / "models" / "ppo.onnx")
    print(f"{'seed':>4}  {'bugs':>12}  {'by chance':>10}  {'reward':>16}  from bugs")
    tuned = []
    for seed in range(arguments.first, arguments.first + arguments.seeds):
        tuned.append(measure(policy, seed, budget))
        print(row(str(seed), tuned[-1:]), flush=True)
    print(row("mean", tuned))
    print(goals(tuned))


def measure(policy: Any, seed: int, budget: TuningBudget) -> FineTuned:
    """Fine-tune the policy with one seed."""
    guided = GuidedTraining(
        GUIDED / "relax.nom", settings={"step_limit": "400"}, seed=seed
    )
    return fine_tune(
        policy,
        guided,
        budget=budget,
        held_out={"pool": str(GUIDED / "held_out.npz")},
        control=GUIDED / "control.nom",
    )


def row(name: str, tuned: Sequence[FineTuned]) -> str:
    """Write figures before and after; means where there are several."""

    def both(figure: str, digits: int) -> str:
        before = mean([getattr(one.before, figure) for one in tuned])
        after = mean([getattr(one.after, figure) for one in tuned])
        return f"{before:.{digits}f} > {after:.{digits}f}"

    share = 100 * mean([one.guided_steps for one in tuned])
    cells = (both("bugs", 1), both("chance", 1), both("reward", 1))
    return f"{name:>4}  {cells[0]:>12}  {cells[1]:>10}  {cells[2]:>16}  {share:.0f} %"


def mean(values: Sequence[float]) -> float:
    """Return the mean."""
    return sum(values) / len(values)


def goals(tuned: Sequence[FineTuned]) -> str:
    """Say whether the goals are reached."""
    before = mean([one.before.bugs for one in tuned])
    fewer = 1 - mean([one.after.bugs for one in tuned]) / before
    lost = mean([one.before.reward - one.after.reward for one in tuned])
    reached = "reached" if fewer >= FEWER and lost <= LOSE else "NOT reached"
    return (
        f"bugs {-fewer:+.1%} (goal: -{FEWER:.0%}), reward {-lost:+.1f}"
        f" (goal: not lower by {LOSE:.0f}): {reached}"
    )


if __name__ == "__main__":
    main()
