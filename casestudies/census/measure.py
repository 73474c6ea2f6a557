"""Measure how many discriminatory inputs searches find, and how near to people they are.

    python -m casestudies.census.measure [--seed 100] [--calls 200000]

Prints, for each model and protected feature: the share of people of the test part,
which is exact; the share of all rows that the schema allows, with its interval; and what
searches find with equal numbers of calls, for each call and for each second of CPU. One
row at a time means that the search asks the model about a single row, as the published
programs do; the others ask for a generation at once.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np

from casestudies.census.rivals import Aequitas, ExpGA
from nomos import api
from nomos.results.result import Result
from nomos.results.statistics import clopper_pearson
from nomos.runner.campaigns.planning import Planned, generations
from nomos.runner.driver import Driver
from nomos.runner.jobs import Job, Prepared, Preparing
from nomos.runner.options import Budget, Options
from nomos.search.collecting import Collecting
from nomos.search.guided import Guided
from nomos.search.making import Making
from nomos.search.mutation import Mutated, Uniform
from nomos.search.strategy import Told, generator

HERE = Path(__file__).parent
PROTECTED = ("sex", "race", "age")


SEARCHES: dict[str, Any] = {
    "guided": Guided,
    "collecting": Collecting,
    "mutated": Mutated,
    "uniform": Uniform,
    "after ExpGA, in batches": ExpGA,
    "after Aequitas, in batches": Aequitas,
}


def prepared(spec: str, model: str) -> Prepared:
    """Load a property and a model."""
    loaded = api.load_spec(HERE / "specs" / f"{spec}.nom")
    settings = {"model": str(HERE / "models" / f"{model}.onnx")}
    return Preparing(HERE.parents[1]).prepare(loaded, settings)


def searched(one: Prepared, how: Any, seed: int, calls: int) -> tuple[Result, float]:
    """Search with so many calls; return what was found, and the seconds of CPU."""
    budget = Budget(cases=10**9, calls=calls)
    driver = Driver(
        HERE.parents[1], Options(budget=budget, search="guided", confirm=30)
    )

    def planning(options: Any, about: Any, seed: int, ask: Any, warn: Any) -> Planned:
        return Planned(generations(options, about, seed, how(ask("material", how is not Collecting))))

    driver.planning = planning  # type: ignore[method-assign]  # one of ours
    began = time.process_time()
    run = driver.run([Job(Path(one.subject.spec), prepared=one)], [seed])
    for failure in run.failures:
        raise failure.error
    return run.results[0], time.process_time() - began


def one_by_one(one: Prepared, how: Any, seed: int, calls: int) -> tuple[int, float]:
    """Search by asking about one row at a time; return the finds and the seconds."""
    making = Making(one.engine.program)
    search = how(making.material())
    model: Any = one.domain.model  # type: ignore[attr-defined]  # a census has one
    schema = one.engine.program.schema
    assert schema is not None
    feature = one.subject.property
    column = schema.place(feature)[1].start
    low, high = (
        int(side[column]) for side in (making._encoding.low, making._encoding.high)
    )
    found: set[bytes] = set()
    asked = number = 0
    began = time.process_time()
    while asked < calls:
        cases = search.propose(generator(seed, feature, number))
        number += 1
        rows = making.inputs(cases).rows
        violated = np.zeros(len(rows), dtype=bool)
        trend = np.zeros(len(rows))
        for place, row in enumerate(rows):
            others = [v for v in range(low, high + 1) if v != row[column]]
            other = row.copy()
            other[column] = others[int(cases.words[place, 0] % len(others))]
            first, second = model.scores(row[None])[0], model.scores(other[None])[0]
            asked += 2
            trend[place] = abs(_share(first) - _share(second))
            if first.argmax() != second.argmax():
                violated[place] = True
                found.add(row.tobytes())
        search.learn(cases, Told(~violated, violated, trend, trend))
    return len(found), time.process_time() - began


def _share(scores: np.ndarray) -> float:
    grown = np.exp(scores - scores.max())
    return float(grown[1] / grown.sum())


def near_people(result: Result) -> str:
    """Say how many features the finds that were run alone differ from the nearest person."""
    far = [len(bug.nearest[0].changed) for bug in result.bugs if bug.nearest]
    return f"{np.median(far):.0f}" if far else "-"


def measure(spec: str, model: str, seed: int, calls: int) -> None:
    """Print what is found of one property and model."""
    one = prepared(spec, model)
    options = Options(search="exhaustive", confirm=10)
    job = Job(Path(one.subject.spec), prepared=one)
    began = time.process_time()
    (people,) = Driver(HERE.parents[1], options).run([job], [0]).results
    counts, spent = people.counts, time.process_time() - began
    print(
        f"\n{spec}, {model}: of the people's cases {counts.violations:,} of"
        f" {counts.judged:,} ({100 * counts.violations / counts.judged:.2f} %, exact,"
        f" {spent:.1f} s of CPU); {counts.bug_inputs:,} of"
        f" {len(one.engine.program.source):,} people"
    )
    anywhere, _ = searched(one, Uniform, seed, 200_000)
    c = anywhere.counts
    share = clopper_pearson(c.violations, c.judged)
    print(f"of the schema {100 * share.low:.2f} to {100 * share.high:.2f} % (95 %)")
    print(f"{'':32}{'distinct':>9}{'a call':>9}{'a CPU s':>9}{'features off':>14}")
    for name, how in SEARCHES.items():
        result, seconds = searched(one, how, seed, calls)
        found = result.counts.bug_inputs
        print(
            f"{name:32}{found:>9,}{found / calls:>9.3f}{found / seconds:>9,.0f}"
            f"{near_people(result):>14}",
            flush=True,
        )
    for name, rival in (("after ExpGA", ExpGA), ("after Aequitas", Aequitas)):
        found, seconds = one_by_one(one, rival, seed, calls)
        told = f"{found:>9,}{found / calls:>9.3f}{found / seconds:>9,.0f}"
        print(f"{name + ', one row at a time':32}{told}", flush=True)


def main() -> None:
    """Measure both models and all protected features."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=100)
    parser.add_argument("--calls", type=int, default=200_000)
    parser.add_argument("--models", nargs="*", default=["nn", "gb"])
    parser.add_argument("--specs", nargs="*", default=PROTECTED)
    given = parser.parse_args()
    print(f"seed {given.seed}, {given.calls:,} calls for each search")
    for model in given.models:
        for spec in given.specs:
            measure(spec, model, given.seed, given.calls)


if __name__ == "__main__":
    main()
