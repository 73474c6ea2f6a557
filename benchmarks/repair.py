"""Repair of the case studies' networks: violations and accuracy, before and after.

    python benchmarks/repair.py [compas] [german_credit] [mnist] [--seeds 1]

Needs the extra `repair` and the case studies' data. All specs of a case study are
repaired at once. Violations and accuracy are those on inputs and cases that were neither
trained on nor looked at: two thirds of the test part. Everything runs on one thread and
is the same for the same seed. The repaired models go to a folder that is deleted.

Goals, of the mean rate of violations over the specs that were violated, and of accuracy:
COMPAS and German credit 10 times lower for at most 1 point, MNIST 2 times for 0.5.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before numpy and torch are imported

from nomos.train.repairing.judge import Share, Standing
from nomos.train.repairing.repair import Repair, repair

CASES = Path(__file__).parents[1] / "casestudies"
BUDGET = 20_000


@dataclass(frozen=True, slots=True)
class Goal:
    """By how much violations are to fall, and what it may cost."""

    times: float
    points: float


GOALS = {
    "compas": Goal(10, 1.0),
    "german_credit": Goal(10, 1.0),
    "mnist": Goal(2, 0.5),
}


def main() -> None:
    """Repair the networks, and print a table for each and one of all goals."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="*", help=f"some of: {', '.join(GOALS)}")
    parser.add_argument("--seeds", type=int, default=1, help="run seeds 0, 1, ...")
    arguments = parser.parse_args()
    if unknown := set(arguments.cases) - GOALS.keys():
        parser.error(f"there is no {', '.join(sorted(unknown))}")
    lines = []
    for case in arguments.cases or GOALS:
        for seed in range(arguments.seeds):
            lines.append(measure(case, seed))
    print("Goals (rate: mean over the violated specs, held-out cases)")
    print(f"{'':22}{'rate':>22}{'times lower':>13}{'accuracy':>20}{'points':>8}  goal")
    for line in lines:
        print(line)


def measure(case: str, seed: int) -> str:
    """Repair one network, show it spec by spec, and return the line of its goal."""
    goal = GOALS[case]
    began = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        result = repair(
            [CASES / case / "specs"],
            CASES / case / "models" / "nn.onnx",
            times=goal.times,
            points=goal.points,
            budget=BUDGET,
            seed=seed,
            out=Path(folder) / "repaired.onnx",
        )
    seconds = time.process_time() - began
    print(f"{case}, seed {seed}: {result.origin}")
    print(
        f"  {len(result.rounds) - 1} rounds, round {result.chosen} kept, {seconds:.0f} s of CPU"
    )
    for name, rate in result.before.rates.items():
        after = result.after.rates[name]
        if rate.count or after.count:
            print(f"  {name:20} {shown(rate):>34} -> {shown(after)}")
    accuracy = result.before.accuracy, result.after.accuracy
    print(f"  {'accuracy':20} {shown(accuracy[0]):>34} -> {shown(accuracy[1])}")
    print(f"  {result.verdict}: {result.statement}\n", flush=True)
    return goal_line(f"{case}, seed {seed}", goal, result)


def goal_line(title: str, goal: Goal, result: Repair) -> str:
    """Say whether a goal is reached, with the figures that decide it."""
    violated = [name for name, rate in result.before.rates.items() if rate.count]
    before, after = (mean(s, violated) for s in (result.before, result.after))
    right = [100 * s.accuracy.value for s in (result.before, result.after)]
    lost = right[0] - right[1]
    fell = before >= goal.times * after
    reached = fell and lost <= goal.points + 1e-9
    times = f"{before / after:.1f}" if after else "none left"
    wanted = f"{goal.times:g} times, {goal.points:g} points"
    return (
        f"{title:22}{100 * before:9.3f} % -> {100 * after:5.3f} %{times:>13}"
        f"{right[0]:9.2f} -> {right[1]:5.2f} %{-lost:+8.2f}"
        f"  {wanted}: {'reached' if reached else 'NOT reached'}"
    )


def mean(standing: Standing, names: list[str]) -> float:
    """Return the mean rate of some specs."""
    return sum(standing.rates[name].value for name in names) / max(1, len(names))


def shown(share: Share) -> str:
    """Write a share with its interval; one of all cases there are is exact."""
    text = f"{share.count} of {share.total}: {100 * share.value:.2f} %"
    if share.exact:
        return text
    return f"{text} ({100 * share.interval.low:.2f} to {100 * share.interval.high:.2f})"


if __name__ == "__main__":
    main()
