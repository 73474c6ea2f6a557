"""What the study prints: effects with intervals, base by base, and means of the arms."""

import math
from collections.abc import Sequence
from typing import Any

from casestudies.lunar.guided.effects import mean, mean_interval, student

PAIRS = (
    ("normal", "guided"),
    ("normal", "pool"),
    ("normal", "demonstrations"),
    ("pool", "guided"),
)

Run = dict[str, Any]


def rate_of(run: Run) -> float:
    """Return avoidable bugs for each thousand pairs whose first game is won."""
    return 1000 * (run["avoidable"] + 0.5) / (run["won"] + 1)


def ratios_by_base(runs: Sequence[Run], before: str, after: str) -> dict[int, float]:
    """Return the mean logarithm of the ratio of rates, for each base."""
    rates = {(run["base"], run["seed"], run["arm"]): rate_of(run) for run in runs}
    logs: dict[int, list[float]] = {}
    for (base, seed, arm), rate in rates.items():
        other = rates.get((base, seed, before))
        if arm == after and other is not None:
            logs.setdefault(base, []).append(math.log(rate / other))
    return {base: mean(found) for base, found in sorted(logs.items())}


def complete_runs(runs: Sequence[Run]) -> list[Run]:
    """Return the runs of the seeds that every base and every arm have."""
    wanted = {(run["base"], run["arm"]) for run in runs if run["seed"]}
    whole = {0}
    for seed in {run["seed"] for run in runs}:
        own = {(run["base"], run["arm"]) for run in runs if run["seed"] == seed}
        whole |= {seed} if own == wanted else set()
    return [run for run in runs if run["seed"] in whole]


def print_study(runs: Sequence[Run]) -> None:
    """Print the effects over bases, then what each arm came to."""
    runs = complete_runs(runs)
    pairs = len({(run["base"], run["seed"]) for run in runs if run["seed"]})
    print(f"{len({run['base'] for run in runs})} bases, {pairs} pairs of base and seed")
    for before, after in PAIRS:
        by_base = ratios_by_base(runs, before, after)
        if len(by_base) < 2:
            continue
        logs = list(by_base.values())
        centre, (low, high) = mean(logs), mean_interval(logs)
        percent = [f"{100 * (math.exp(x) - 1):+.0f} %" for x in (centre, low, high)]
        fewer = sum(log < 0 for log in logs)
        print(
            f"{after} against {before}: avoidable bugs per won pair {percent[0]}"
            f" (95 %: {percent[1]} to {percent[2]}); fewer in {fewer} of {len(logs)}"
            f" bases; such bases show {detectable(logs)} with a power of 80 %"
        )
    print(
        f"{'arm':<15}{'bugs':>7}{'avoidable':>11}{'per 1000 won':>14}{'control':>9}"
        f"{'won':>8}{'usual':>8}{'trained':>9}"
    )
    for arm in dict.fromkeys(run["arm"] for run in runs):
        own = [run for run in runs if run["arm"] == arm]
        figures = {
            key: mean([float(run.get(key, 0)) for run in own])
            for key in ("bugs", "avoidable", "control", "won", "usual", "trained")
        }
        print(
            f"{arm:<15}{figures['bugs']:>7.1f}{figures['avoidable']:>11.1f}"
            f"{mean([rate_of(run) for run in own]):>14.2f}{figures['control']:>9.1f}"
            f"{figures['won']:>8.0f}{figures['usual']:>8.1%}{figures['trained']:>9.0f}"
        )


def detectable(logs: Sequence[float]) -> str:
    """Return the change that so many bases show four times in five."""
    freedom = len(logs) - 1
    spread = math.sqrt(sum((log - mean(logs)) ** 2 for log in logs) / freedom)
    quantiles = student(0.975, freedom) + student(0.8, freedom)
    change = math.exp(-quantiles * spread / math.sqrt(len(logs))) - 1
    return f"{100 * change:+.0f} %"
