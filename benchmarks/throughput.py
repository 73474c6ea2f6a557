"""Cases per second: one at a time, in lanes, in columns, and the bare model.

    python benchmarks/throughput.py [--cases 100000] [--large 1000000] [--memory 10000000]

The spec is COMPAS' felony_inc over 36 made-up features. The models are a decision tree
(scikit-learn, depth 8) and a neural network of 36-18-12-9-9-3 (scikit-learn's
MLPClassifier, whose forward pass is plain numpy). "One at a time" does what the first
implementation did: a loop that calls the model on single rows; it is measured on fewer
cases and given as a rate. The bare model is asked for both rows of the very cases that
the campaign runs, 8192 rows at a time. All figures are of one run of one thread, each
the best of three rounds, which take turns; ratios and goals are about CPU time, and the
time on the clock stands beside it.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from nomos.campaign.events import Finished
from nomos.campaign.runner import Budget, Campaign

from nomos import Domain, Schema, batched
from nomos.diagnostics import Source
from nomos.domain import Integer, Real
from nomos.domain.domain import offer_of
from nomos.harness.choices import RandomCase, Stream, bounded_many
from nomos.harness.engine import Engine, Way
from nomos.harness.program import Program
from nomos.lang.check import check

FELONIES = "felonies"
SPEC = f"""\
input x1;
var v1 := x1.{FELONIES};
var v2 := v1 + randInt(1, 10);
var x2 := x1[{FELONIES} := v2];
requires v2 <= 20;
output d1;
output d2;
{{
  d1 = predict(x1)
  d2 = predict(x2)
}}
ensures d1 <= d2;
"""
ROWS, WIDTH = 3875, 36
ROUNDS = 3


def make_rows(count: int, seed: int) -> np.ndarray:
    """Return people: felonies first, then 35 numbers that mean nothing."""
    rng = np.random.default_rng(seed)
    felonies = np.minimum(rng.poisson(0.5, (count, 1)), 20)
    return np.hstack([felonies, rng.random((count, WIDTH - 1))]).astype(np.float32)


def train(kind: str) -> Any:
    """Return a model of three risks that learned from 20,000 people."""
    from sklearn.neural_network import MLPClassifier
    from sklearn.tree import DecisionTreeClassifier

    rows = make_rows(20_000, seed=1)
    noise = np.random.default_rng(2).normal(0, 0.3, len(rows))
    risk = np.digitize(0.4 * rows[:, 0] + rows[:, 1] + rows[:, 2] + noise, [1.0, 1.6])
    if kind == "tree":
        tree = DecisionTreeClassifier(max_depth=8, min_samples_leaf=20, random_state=0)
        return tree.fit(rows, risk)
    model = MLPClassifier((18, 12, 9, 9), max_iter=60, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it need not converge to be timed
        return model.fit(rows, risk)


def make_domain(predict: Callable[[np.ndarray], np.ndarray]) -> Domain:
    """Return a domain around a model."""

    class People(Domain):
        schema = Schema(
            Integer(FELONIES, 0, 20), *(Real(f"f{i}", 0, 1) for i in range(1, WIDTH))
        )

        def __init__(self) -> None:
            self.rows = make_rows(ROWS, seed=3)

        def inputs(self) -> np.ndarray:
            return self.rows

        @batched
        def predict(self, rows: np.ndarray) -> np.ndarray:
            return predict(rows)

    return People()


def make_engine(domain: Domain, way: Way) -> Engine:
    """Return an engine for the spec."""
    offer = offer_of(type(domain))
    checked = check(Source("felony_inc.nom", SPEC), "felony_inc", offer)
    assert checked.spec is not None
    return Engine(Program(checked.spec, domain), way)


class Stopwatch:
    """Adds up the seconds of the processor and of the clock while it is entered."""

    def __init__(self) -> None:
        self.cpu = self.wall = 0.0

    def __enter__(self) -> Stopwatch:
        self._began = time.process_time(), time.perf_counter()
        return self

    def __exit__(self, *_: object) -> None:
        self.cpu += time.process_time() - self._began[0]
        self.wall += time.perf_counter() - self._began[1]


def campaign(engine: Engine, cases: int) -> tuple[Stopwatch, Finished]:
    """Run a campaign; return what it took and its end."""
    running = Campaign(engine, 0, Budget(cases=cases), name_bug=str)
    with Stopwatch() as took:
        end = list(running.run())[-1]
    assert isinstance(end, Finished)
    assert end.counts.tests == cases
    return took, end


def one_at_a_time(domain: Any, cases: int) -> Stopwatch:
    """Run a loop with single-row calls of the model; return what it took."""
    stream, source = Stream(0, "felony_inc"), domain.rows
    predict = type(domain).predict.method
    done = number = 0
    with Stopwatch() as took:
        while done < cases:
            draws = RandomCase(stream, number)
            number += 1
            x1 = source[draws.integer(0, len(source) - 1)]
            felonies = int(x1[0]) + draws.integer(1, 10)
            if felonies > 20:
                continue
            x2 = x1.copy()
            x2[0] = felonies
            _ = predict(domain, x1[None])[0] <= predict(domain, x2[None])[0]
            done += 1
    return took


def rows_of_cases(source: np.ndarray, cases: int) -> Iterator[np.ndarray]:
    """Yield the rows of a campaign's cases, 8192 at a time, drawn as the campaign does."""
    stream = Stream(0, "felony_inc")
    waiting, number = np.empty((0, WIDTH), dtype=np.float32), 0
    while cases:
        low = np.zeros(8192, dtype=np.int64)
        places = bounded_many(stream.words(0, number, 8192), low, low + (ROWS - 1))
        rises = bounded_many(stream.words(1, number, 8192), low + 1, low + 10)
        number += 8192
        first = source[places]
        second = first.copy()
        second[:, 0] += rises
        accepted = np.flatnonzero(second[:, 0] <= 20)[:cases]
        cases -= len(accepted)
        waiting = np.concatenate([waiting, first[accepted], second[accepted]])
        while len(waiting) >= 8192 or (not cases and len(waiting)):
            yield waiting[:8192]
            waiting = waiting[8192:]


def bare_predict(domain: Any, cases: int) -> Stopwatch:
    """Ask the model alone for the two rows of every case; return what it took."""
    predict = type(domain).predict.method
    took = Stopwatch()
    for rows in rows_of_cases(domain.rows, cases):
        with took:
            predict(domain, rows)
    return took


def report(
    label: str, value: float, goal: float | None = None, *, least: bool = True
) -> None:
    """Print a figure, and whether its goal is reached."""
    line = f"  {label:<38} {value:>12,.2f}"
    if goal is not None:
        reached = value >= goal if least else value <= goal
        sign = ">=" if least else "<="
        line += f"   goal {sign} {goal:g}: {'reached' if reached else 'NOT reached'}"
    print(line)


def report_rate(label: str, cases: int, took: Stopwatch) -> float:
    """Print cases per second and return those per second of CPU."""
    cpu, wall = cases / took.cpu, cases / took.wall
    print(f"  {label:<38} {cpu:>12,.0f}   by the clock {wall:>12,.0f}")
    return cpu


def best(rounds: list[Stopwatch]) -> Stopwatch:
    """Return the round that other work on the machine disturbed least."""
    return min(rounds, key=lambda took: took.cpu)


def measure(kind: str, cases: int, large: int) -> None:
    """Measure one model in every way."""
    domain = make_domain(train(kind).predict)
    engines = {way: make_engine(domain, way) for way in ("lanes", "columns")}
    fewer = min(cases, 1000)
    one_at_a_time(domain, 100)  # warm, as the engines below
    loops: list[Stopwatch] = []
    took: dict[str, list[Stopwatch]] = {way: [] for way in engines}
    for _ in range(ROUNDS):
        loops.append(one_at_a_time(domain, fewer))
        for way, engine in engines.items():
            campaign(engine, 5000)
            took[way].append(campaign(engine, cases)[0])
    print(f"{kind}: cases per CPU second, {cases} cases")
    loop = report_rate("one at a time", fewer, best(loops))
    rates = {way: report_rate(way, cases, best(took[way])) for way in engines}
    is_tree = kind == "tree"
    report("lanes / one at a time", rates["lanes"] / loop, 40 if is_tree else None)
    report("columns / one at a time", rates["columns"] / loop, 500 if is_tree else None)
    runs = [campaign(engines["columns"], large) for _ in range(ROUNDS)]
    columns, _ = min(runs, key=lambda run: run[0].cpu)
    bare = best([bare_predict(domain, large) for _ in range(ROUNDS)])
    print(f"{kind}: {large} cases in columns")
    report_rate("columns", large, columns)
    report_rate("bare predict on the same rows", large, bare)
    report("columns' time / bare predict's", columns.cpu / bare.cpu, 1.6, least=False)
    share = engines["columns"].answers.rows_sent / (2 * large)
    report("rows sent / those of one at a time", share, 0.55, least=False)


def memory(cases: int) -> None:
    """Run a large campaign and print how much memory it took."""
    engine = make_engine(make_domain(train("tree").predict), "columns")
    took, _ = campaign(engine, cases)
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"tree: {cases} cases in columns, in a process of their own")
    report_rate("columns", cases, took)
    report("largest resident memory, MB", used, 600, least=False)


def main() -> None:
    """Print all figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=100_000)
    parser.add_argument("--large", type=int, default=1_000_000)
    parser.add_argument("--memory", type=int, default=10_000_000)
    parser.add_argument("--only-memory", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.only_memory:
        memory(options.memory)
        return
    for kind in ("tree", "network"):
        measure(kind, options.cases, options.large)
    if options.memory:  # in a process of its own, so that only it is counted
        command = [sys.executable, __file__, "--only-memory"]
        subprocess.run([*command, "--memory", str(options.memory)], check=True)


if __name__ == "__main__":
    main()
