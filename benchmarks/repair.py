"""Repair of models that it was not tuned on, before and after.

    python benchmarks/repair.py [1-tree] [affairs-tree] [compas] ... [--seeds 1]

Without names, twelve models of twelve kinds are repaired, on six tables that a seed makes
(`repairs/made.py`). Each table is split once: half is trained on, a quarter is given to Nomos,
and a quarter is for the figures here, which Nomos never sees. The goal is 10 times fewer
violations for at most 1 point of accuracy, or of 100 R²; no model may become worse. What
Nomos claims of the change in accuracy is compared with the change that is seen.

`affairs-tree` and the like are models of tables that statsmodels, vega_datasets and
scikit-learn bring along, and need these. `compas`, `german_credit` and `mnist` are the
networks of the case studies, which need their data; their figures are those of the repair
itself. Everything runs on one thread and is the same for the same seed. The repaired models
go to a folder that is deleted.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
import warnings
from dataclasses import dataclass
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before numpy and torch are imported

from nomos.train.evaluate import (
    Bench,
    Evaluation,
    Records,
    SwappableModel,
    find_scale,
)
from nomos.train.repair import Repair, load_properties, repair

CASES = Path(__file__).parents[1] / "casestudies"
TABLES = Path(__file__).parent / "repairs"
sys.path.insert(0, str(TABLES))

from models import LIST, MADE, SCORED  # noqa: E402 - its folder is known only now
from tables import part_of  # noqa: E402

BUDGET = 20_000


@dataclass(frozen=True, slots=True)
class Goal:
    """By how much violations are to fall, and what it may cost."""

    times: float = 10
    points: float = 1.0


STUDIES = {"compas": Goal(), "german_credit": Goal(), "mnist": Goal(2, 0.5)}
LISTED = [f"{seed}-{make.__name__}" for seed, make, _ in MADE]
MODELS = {
    f"{table}-{make.__name__}": one
    for one in [*LIST, *MADE]
    for table, make, _ in [one]
}


def main() -> None:
    """Repair the models, and print a table for each and one of all goals."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    known = [*MODELS, *STUDIES]
    parser.add_argument("names", nargs="*", help=f"some of: {', '.join(known)}")
    parser.add_argument("--seeds", type=int, default=1, help="run seeds 0, 1, ...")
    arguments = parser.parse_args()
    if unknown := set(arguments.names) - set(known):
        parser.error(f"there is no {', '.join(sorted(unknown))}")
    lines = []
    for name in arguments.names or LISTED:
        for seed in range(arguments.seeds):
            measure = measure_study if name in STUDIES else measure_model
            with tempfile.TemporaryDirectory() as folder:
                lines.append(measure(name, seed, Path(folder)))
    print("Goals (rate: mean over the violated specs)")
    print(f"{'':26}{'rate':>22}{'times lower':>13}{'accuracy':>20}{'points':>8}  goal")
    for line in lines:
        print(line)
    reached = sum("NOT reached" not in line for line in lines)
    outside = sum("OUTSIDE" in line for line in lines)
    print(f"{reached} of {len(lines)} reached, {outside} claims outside their interval")


def measure_model(name: str, seed: int, folder: Path) -> str:
    """Train and repair a model of the list, and judge it on what Nomos never saw."""
    table, make, specs = MODELS[name]
    settings = {"seed": str(table), "scored": str(make in SCORED).lower()}
    settings = settings if isinstance(table, int) else {}
    paths = [str(TABLES / f"{spec}.nom") for spec in specs]
    domain = load_properties(paths)[0].imported.domain
    given = (table, make in SCORED) if settings else ()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the libraries, while they train
        path = make(part_of(*domain.table(*given), "training"), folder / make.__name__)
    began = time.process_time()
    result = repair(paths, path, seed=seed, trust=True, settings=settings)
    show(f"{name}, seed {seed}", result, time.process_time() - began)
    kept = path if result.path is None else result.path
    before, after = (unseen(paths, model, given) for model in (path, kept))
    print(f"  {result.verdict}: {result.statement}")
    table_of(before, after)
    return goal_line(f"{name}, seed {seed}", Goal(), before, after) + claim(
        result, before, after
    )


def claim(result: Repair, before: Evaluation, after: Evaluation) -> str:
    """Say whether the change in accuracy that is seen is one that was claimed.

    The unseen records differ by chance, too, so both intervals count.
    """
    claimed = result.before.quality.points_lost(result.after.quality)
    seen = before.quality.points_lost(after.quality)
    chance = [
        one.quality.points_by_chance(other.quality)
        for one, other in ((result.before, result.after), (before, after))
    ]
    is_inside = abs(claimed - seen) <= sum(part**2 for part in chance) ** 0.5
    return f"; claimed {-claimed:+.2f}: {'inside' if is_inside else 'OUTSIDE'}"


def unseen(
    paths: list[str], model: Path, given: tuple[int, bool] | tuple[()]
) -> Evaluation:
    """Judge a model on the part of its table that Nomos never saw."""
    properties = load_properties(paths)
    domain = properties[0].imported.domain(str(model), "unseen", *given)
    records = Records(domain.inputs(), domain.labels())
    scale = find_scale(domain.decide, records)
    bench = Bench(properties, domain, records, "decide", SwappableModel(None), scale)
    return bench.evaluate(seed=2024, budget=BUDGET)


def measure_study(case: str, seed: int, folder: Path) -> str:
    """Repair the network of a case study, and return the line of its goal."""
    goal = STUDIES[case]
    began = time.process_time()
    result = repair(
        [CASES / case / "specs"],
        CASES / case / "models" / "nn.onnx",
        times=goal.times,
        points=goal.points,
        budget=BUDGET,
        seed=seed,
        out=folder / "repaired.json",
    )
    show(f"{case}, seed {seed}", result, time.process_time() - began)
    print(f"  {result.verdict}: {result.statement}")
    table_of(result.before, result.after)
    return goal_line(f"{case}, seed {seed}", goal, result.before, result.after)


def show(title: str, result: Repair, seconds: float) -> None:
    """Say how a repair went."""
    rounds = len(result.rounds) - 1
    print(f"{title}: {result.how}, {result.origin}")
    print(f"  {rounds} rounds, round {result.chosen} kept, {seconds:.0f} s of CPU")


def table_of(before: Evaluation, after: Evaluation) -> None:
    """Show each spec and the accuracy, with their intervals."""
    for name, rate in before.rates.items():
        if rate.count or after.rates[name].count:
            parts = (shown(one, name) for one in (before, after))
            print(f"  {name:20} {' -> '.join(parts)}")
    ends = [(100 * one.quality.value, one.quality.interval) for one in (before, after)]
    parts = (f"{v:.2f} ({100 * e.low:.2f} to {100 * e.high:.2f})" for v, e in ends)
    print(f"  {before.quality.name:20} {' -> '.join(parts)}\n", flush=True)


def goal_line(title: str, goal: Goal, first: Evaluation, last: Evaluation) -> str:
    """Say whether a goal is reached, with the figures that decide it."""
    violated = [name for name, rate in first.rates.items() if rate.count]
    before, after = (mean(evaluation, violated) for evaluation in (first, last))
    right = [100 * evaluation.quality.value for evaluation in (first, last)]
    lost = right[0] - right[1]
    worse = [n for n, rate in first.rates.items() if last.rates[n].value > rate.value]
    reached = before >= goal.times * after and lost <= goal.points + 1e-9
    times = f"{before / after:.1f}" if after else "none left"
    wanted = f"{goal.times:g} times, {goal.points:g} points"
    return (
        f"{title:26}{100 * before:9.3f} % -> {100 * after:5.3f} %{times:>13}"
        f"{right[0]:9.2f} -> {right[1]:5.2f} %{-lost:+8.2f}"
        f"  {wanted}: {''.join(f'{name} worse, ' for name in worse)}"
        f"{'reached' if reached and not worse else 'NOT reached'}"
    )


def mean(evaluation: Evaluation, names: list[str]) -> float:
    """Return the mean rate of some specs."""
    return sum(evaluation.rates[name].value for name in names) / max(1, len(names))


def shown(evaluation: Evaluation, name: str) -> str:
    """Write a rate with its interval; one of all cases there are is exact."""
    rate, ends = evaluation.rates[name], evaluation.interval(name)
    text = f"{rate.count} of {rate.total}: {100 * rate.value:.2f} %"
    return (
        text
        if rate.exact
        else f"{text} ({100 * ends.low:.2f} to {100 * ends.high:.2f})"
    )


if __name__ == "__main__":
    main()
