"""What a small campaign costs, and what is explained of it, beside other programs.

    python -m benchmarks.small [--cases 1000 5000 50000] [--rounds 5] [--models tree ...]

COMPAS' felony_inc by `nomos.run` as it is by default (the flakiness check on; groups, rules and
smaller cases are made when somebody looks at them: that is "shown"), on five models, at the
violation rates that these have, with the calls of the model and the rows in them, beside

- an expert's numpy program, which draws as many cases at once, asks the model for each
  different row once, judges and deduplicates;
- a loop that asks for the two rows of a case, one after the other;
- Hypothesis, which does the same with its own draws;
- gemtest, where it is installed: each case is a test of pytest.

The last three are measured on few cases and multiplied. One process, one thread, CPU time,
medians of rounds in which the ways take turns. Needs the data of the case studies, the
extras `onnx` and `sklearn`, and Hypothesis.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before numpy is imported

import argparse
import pickle
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from statistics import median

import numpy as np

from benchmarks.throughput import (
    PROPERTIES,
    Predict,
    Property,
    bare,
    campaign,
    drawn_rows,
    hypothesis,
    loop,
    models,
)

MODELS = ("dt.onnx", "tree", "booster", "forest", "MLP")
CHEAP_US = 1.0  # of a row: below it, milliseconds count and not times
GEMTEST_CASES = 200
MOST_TIMES, MOST_ABOVE_MS = 4.0, 10.0
GEMTEST = """
import pickle
import gemtest as gmt
import numpy as np

rows = np.load("rows.npy")
with open("model.pickle", "rb") as file:
    predict = pickle.load(file)
rng = np.random.default_rng(0)
relation = gmt.create_metamorphic_relation(name="felony_inc", data=list(rows[:CASES]))

@gmt.transformation(relation)
def change(row):
    changed = row.copy()
    changed[1] = min(20, changed[1] + rng.integers(1, 11))
    return changed

@gmt.relation(relation)
def does_not_fall(before, after):
    return bool(before <= after)

@gmt.system_under_test(relation)
def test_model(row):
    return predict(row[None])[0]
"""


def all_models(case: Property) -> dict[str, Predict]:
    """Return the models of the other benchmark, and a histogram booster."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    rows, labels = case.domain().training()
    booster = HistGradientBoostingClassifier(max_iter=50, random_state=0)
    return models(case) | {"booster": booster.fit(rows, labels).predict}


def expert(case: Property, rows: np.ndarray, predict: Predict, cases: int) -> float:
    """Return the seconds of a program that asks for each different row once."""
    began = time.process_time()
    both = np.ascontiguousarray(drawn_rows(case, rows, cases))
    keys = both.view(np.dtype((np.void, both.dtype.itemsize * both.shape[1]))).ravel()
    _, first, where = np.unique(keys, return_index=True, return_inverse=True)
    answers = np.asarray(predict(both[first]))[where]
    bad = np.flatnonzero(answers[:cases] > answers[cases:])
    pairs = np.stack([where[bad], where[cases + bad]], axis=1)
    np.unique(pairs, axis=0)
    return time.process_time() - began


def gemtest(rows: np.ndarray, predict: Predict) -> float | None:
    """Return the seconds of a case of gemtest; None where that cannot be run."""
    if find_spec("gemtest") is None:
        return None
    took = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        np.save(folder / "rows.npy", rows)
        try:
            (folder / "model.pickle").write_bytes(pickle.dumps(predict))
        except (TypeError, pickle.PicklingError):  # a session of onnxruntime
            return None
        for cases in (1, GEMTEST_CASES):
            text = GEMTEST.replace("CASES", str(cases))
            (folder / "test_model.py").write_text(text)
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            words = ["-m", "pytest", "-q", "--tb=no", "-p", "no:cacheprovider"]
            done = subprocess.run(
                [sys.executable, *words, "test_model.py"],
                cwd=folder, capture_output=True, text=True, check=False,
            )  # fmt: skip
            if done.returncode not in (0, 1):
                print(f"gemtest failed: {done.stdout[-300:]}{done.stderr[-300:]}")
                return None
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            took.append(after.ru_utime + after.ru_stime)
            took[-1] -= before.ru_utime + before.ru_stime
    return (took[1] - took[0]) / (GEMTEST_CASES - 1)


def measure(
    case: Property, name: str, predict: Predict, cases: int, rounds: int
) -> str:
    """Return the line of one model and number of cases."""
    rows = case.domain().inputs()
    both = drawn_rows(case, rows, cases)
    ours, shown, experts, loops, others, rates = [], [], [], [], [], []
    campaign(case, predict, 300, explain=True)  # warm
    for seed in range(rounds):
        experts.append(expert(case, rows, predict, cases))
        cost = campaign(case, predict, cases, explain=True)
        ours.append(cost.seconds * cases)
        calls, rows_sent = cost.calls, cost.sent  # before anything is shown
        began = time.process_time()
        assert cost.result.analysis is not None
        assert cost.result.analysis.groups
        shown.append(time.process_time() - began)
        loops.append(loop(case, rows, predict, seed) * cases)
        others.append(hypothesis(case, rows, predict) * cases)
        rates.append(bare(both, predict) / 2)
    mine, best = median(ours), median(experts)
    row_us, above = 1e6 * median(rates), 1e3 * (mine - best)
    is_met = mine <= MOST_TIMES * best if row_us > CHEAP_US else above <= MOST_ABOVE_MS
    counts = cost.result.counts
    gem = gemtest(rows, predict)
    told = "-" if gem is None else f"{1e3 * gem * cases:.0f}"
    return (
        f"{name:9}{cases:>8,}{counts.violations / cases:>10.2%}{row_us:>9.2f}"
        f"{calls:>7}{rows_sent:>9,}"
        f"{1e3 * mine:>10.1f}{1e3 * median(shown):>9.1f}{1e3 * best:>10.1f}{mine / best:>8.1f}{above:>10.1f}"
        f"{1e3 * median(loops):>10.0f}{1e3 * median(others):>12.0f}{told:>12}"
        f"  {'yes' if is_met else 'no'}"
    )


HEAD = (
    f"{'model':9}{'cases':>8}{'violated':>10}{'µs/row':>9}{'calls':>7}{'rows':>9}"
    f"{'Nomos ms':>10}{'shown':>9}"
    f"{'expert ms':>10}{'times':>8}{'above ms':>10}{'loop ms':>10}{'Hypoth. ms':>12}"
    f"{'gemtest ms':>12}  goal met"
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, nargs="+", default=[1000, 5000, 50_000])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--models", nargs="+", choices=MODELS, default=MODELS)
    options = parser.parse_args(arguments)
    case = PROPERTIES[0]
    load = os.getloadavg()[0]
    print(f"{platform.machine()}, {os.cpu_count()} cores, load {load:.1f}; {case.name}")
    found = all_models(case)
    print(HEAD, flush=True)
    for name in options.models:
        for cases in options.cases:
            print(measure(case, name, found[name], cases, options.rounds), flush=True)


if __name__ == "__main__":
    main()
