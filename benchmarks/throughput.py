"""What a case costs: Nomos beside a plain loop, Hypothesis and the bare model.

    python -m benchmarks.throughput [--cases 5000 200000] [--rounds 5] [--models tree ...]

Two properties of the case studies, COMPAS' felony_inc and German credit's crdt_hist_dec,
with the committed ONNX models and with models of scikit-learn that learnt from the same
training part, at the violation rates that these models have. Then a made-up model that
violates a property at a chosen rate. Needs the data of the case studies and the extras
`onnx` and `sklearn`, and Hypothesis.

One process, one thread, CPU time. All figures are medians of rounds in which the ways
take turns, so that a busy machine disturbs them alike. "loop" draws a case and asks the
model for its two rows, one after the other; Hypothesis does the same with its own draws.
"bare" asks the model for both rows of as many cases, 8192 rows at a time. Bugs are not put into
groups and not made smaller: that takes the same time for few cases and for many, and is
printed at the end.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before numpy is imported

import argparse
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

import nomos
from casestudies.compas.compas import Compas
from casestudies.german_credit.german_credit import GermanCredit
from nomos.results.result import Result
from nomos.runner.events import Event, Finished, Started

CASES = Path(__file__).parents[1] / "casestudies"
BATCH = 8192
SINGLE = 200  # cases of the loop and of Hypothesis: they are slow, and rates will do
RATES = (0.0, 0.01, 0.05, 0.2, 0.5)
Predict = Callable[[np.ndarray], np.ndarray]
Changed = Callable[[np.ndarray, Callable[..., Any]], np.ndarray]


@dataclass(frozen=True, slots=True)
class Property:
    """A property of a case study, and its change of rows as a program would write it.

    `change` returns changed rows; of two bounds, `draw` gives whole numbers between
    them, both included. A row that must not be tested comes back unchanged.
    """

    case: str
    name: str
    domain: type[Any]
    change: Changed


def felony_inc(rows: np.ndarray, draw: Callable[..., Any]) -> np.ndarray:
    """Return the same people with more felonies, as many as there can be."""
    changed = rows.copy()
    changed[:, 1] += draw(1, 10)
    changed[changed[:, 1] > 20] = rows[changed[:, 1] > 20]
    return changed


def crdt_hist_dec(rows: np.ndarray, draw: Callable[..., Any]) -> np.ndarray:
    """Return the same applicants with a better history."""
    changed, history = rows.copy(), rows[:, 7]
    changed[:, 7] = np.where(history > 0, draw(0, np.maximum(0, history - 1)), history)
    return changed


PROPERTIES = (
    Property("compas", "felony_inc", Compas, felony_inc),
    Property("german_credit", "crdt_hist_dec", GermanCredit, crdt_hist_dec),
)


def models(case: Property) -> dict[str, Predict]:
    """Return the committed models and those of scikit-learn."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.neural_network import MLPClassifier
    from sklearn.tree import DecisionTreeClassifier

    files = CASES / case.case / "models"
    found: dict[str, Predict] = {
        name: nomos.load_model(str(files / name)).predict
        for name in ("dt.onnx", "nn.onnx")
    }
    rows, labels = case.domain().training()
    made = {
        "tree": DecisionTreeClassifier(max_depth=8, random_state=0),
        "MLP": MLPClassifier((12, 9, 9), max_iter=60, random_state=0),
        "forest": RandomForestClassifier(100, max_depth=8, random_state=0),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it need not converge to be tested
        return found | {n: model.fit(rows, labels).predict for n, model in made.items()}


class Stopwatch:
    """Takes the CPU time of a campaign, from its first event to its last."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self, event: Event) -> None:
        """Hear what happens."""
        if isinstance(event, Started):
            self.began = time.process_time()
        elif isinstance(event, Finished):
            self.seconds = time.process_time() - self.began


@dataclass(slots=True)
class Cost:
    """What a campaign took, for a case."""

    seconds: float
    sent: int
    result: Result
    calls: int = 0  # of the model, with `sent` rows in all


def campaign(
    case: Property, predict: Predict, cases: int, *, explain: bool = False
) -> Cost:
    """Run the property by Nomos; with `explain`, put bugs into groups and shrink some."""
    sent: list[int] = []

    class Counting(case.domain):  # type: ignore[name-defined, misc]  # one of two
        """The domain with this model, which counts the rows that it is sent."""

        @nomos.batched
        def predict(self, rows):
            sent.append(len(rows))
            return predict(rows)

    watch = Stopwatch()
    path = CASES / case.case / "specs" / f"{case.name}.nom"
    result = nomos.run(
        path,
        domain=Counting,
        budget=cases,
        search="random",
        handlers=[watch],
        groups=explain,
        shrink=explain,
    )
    assert result.counts.tests == cases, result.reason
    return Cost(watch.seconds / cases, sum(sent), result, len(sent))


def explaining(case: Property, name: str, predict: Predict, rounds: int) -> None:
    """Print what it takes to put the bugs of a campaign into groups and shrink some."""
    for cases in (5000, 200_000):
        plain, whole = [], []
        for _ in range(rounds):
            plain.append(campaign(case, predict, cases).seconds * cases)
            explained = campaign(case, predict, cases, explain=True)
            whole.append(explained.seconds * cases)
        said = f"groups and smaller bugs of {case.name}, {name}, {cases:,} cases:"
        print(f"{said} {median(whole) - median(plain):.2f} s of CPU", flush=True)


def loop(case: Property, rows: np.ndarray, predict: Predict, seed: int) -> float:
    """Return the seconds that a case takes one at a time."""
    rng = np.random.default_rng(seed)
    done = violations = 0
    began = time.process_time()
    while done < SINGLE:
        one = rows[rng.integers(len(rows))][None]
        other = case.change(one, lambda low, high: rng.integers(low, high + 1))
        if (one != other).any():
            violations += predict(one)[0] > predict(other)[0]
            done += 1
    return (time.process_time() - began) / done


def hypothesis(case: Property, rows: np.ndarray, predict: Predict) -> float:
    """Return the seconds that a case takes Hypothesis, which is not to stop at a bug."""
    from hypothesis import HealthCheck, Phase, given, settings
    from hypothesis import strategies as st

    done = violations = 0

    @settings(
        max_examples=SINGLE,
        database=None,
        deadline=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(st.integers(0, len(rows) - 1), st.data())
    def test(place: int, data: Any) -> None:
        nonlocal done, violations
        one = rows[place][None]
        other = case.change(
            one,
            lambda low, high: data.draw(
                st.integers(int(np.max(low)), int(np.max(high)))
            ),
        )
        if (one != other).any():
            violations += predict(one)[0] > predict(other)[0]
            done += 1

    began = time.process_time()
    test()
    return (time.process_time() - began) / done


def drawn_rows(case: Property, rows: np.ndarray, cases: int) -> np.ndarray:
    """Return both rows of as many cases, drawn as the property draws them."""
    rng = np.random.default_rng(0)
    ones = np.empty((0, rows.shape[1]), rows.dtype)
    others = ones
    while len(ones) < cases:
        some = rows[rng.integers(len(rows), size=cases)]
        changed = case.change(
            some, lambda low, high: rng.integers(low, np.asarray(high) + 1, cases)
        )
        fits = (some != changed).any(axis=1)
        ones = np.concatenate([ones, some[fits]])[:cases]
        others = np.concatenate([others, changed[fits]])[:cases]
    return np.concatenate([ones, others])


def different_rows(case: Property, cases: int) -> str:
    """Say how many different rows cases have: no fewer can be sent to the model."""
    both = drawn_rows(case, case.domain().inputs(), cases)
    count = len(np.unique(both, axis=0))
    share = count / len(both)
    return f"{case.name}: {cases:,} cases have {count:,} different rows, {share:.2f} of all"


def bare(rows: np.ndarray, predict: Predict) -> float:
    """Return the seconds that the model takes for the two rows of a case, in batches."""
    began = time.process_time()
    for first in range(0, len(rows), BATCH):
        predict(rows[first : first + BATCH])
    return (time.process_time() - began) / (len(rows) / 2)


HEAD = (
    f"{'property':14}{'model':9}{'cases':>8}{'violated':>10}{'µs/case':>9}"
    f"{'x loop':>8}{'x Hypoth.':>10}{'/ bare':>8}{'rows sent':>11}"
)


def measure(
    case: Property, name: str, predict: Predict, cases: int, rounds: int
) -> str:
    """Return the line of one property, model and number of cases."""
    rows = case.domain().inputs()
    both = drawn_rows(case, rows, cases)
    campaign(case, predict, 500)  # warm
    ours, loops, bares, others = [], [], [], []
    for seed in range(rounds):
        loops.append(loop(case, rows, predict, seed))
        bares.append(bare(both, predict))
        others.append(hypothesis(case, rows, predict))
        ours.append(campaign(case, predict, cases))
    cost = median(one.seconds for one in ours)
    counts = ours[0].result.counts
    return (
        f"{case.name:14}{name:9}{cases:>8,}{counts.violations / cases:>10.2%}"
        f"{1e6 * cost:>9.2f}{median(loops) / cost:>8.0f}{median(others) / cost:>10.0f}"
        f"{cost / median(bares):>8.2f}{ours[0].sent / (2 * cases):>11.2f}"
    )


PLANTED = """
input x1;
var x2 := x1[f0 := x1.f0 + randInt(1, 1000)];
output d1; output d2;
{
  d1 = predict(x1)
  d2 = predict(x2)
}
ensures d1 <= d2;
"""


def planted(rate: float, cases: int, rounds: int) -> Cost:
    """Run a property that a made-up model violates at a rate."""
    inputs = np.random.default_rng(0).random((5000, 20))

    def predict(rows: np.ndarray) -> np.ndarray:
        mixed = (rows[:, 0] * 12.9898 + rows[:, 1] * 78.233) % 1
        return np.where((rows[:, 0] < 1) | (mixed >= rate), 1, 0)

    seconds = []
    for _ in range(rounds):
        watch = Stopwatch()
        result = nomos.run(
            PLANTED,
            inputs=inputs,
            predict=predict,
            budget=cases,
            search="random",
            handlers=[watch],
            groups=False,
            shrink=False,
        )
        seconds.append(watch.seconds / cases)
    return Cost(median(seconds), 0, result)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, nargs="+", default=[5000, 200_000])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--models", nargs="+", help="dt.onnx nn.onnx tree MLP forest")
    options = parser.parse_args(arguments)
    for case in PROPERTIES:
        for cases in options.cases:
            print(different_rows(case, cases))
    print(HEAD, flush=True)
    for case in PROPERTIES:
        for name, predict in models(case).items():
            if options.models is None or name in options.models:
                for cases in options.cases:
                    line = measure(case, name, predict, cases, options.rounds)
                    print(line, flush=True)
    for case in PROPERTIES:
        explaining(case, "tree", models(case)["tree"], options.rounds)
    cases = max(options.cases)
    print(
        f"\na made-up model, {cases:,} cases\n{'violated':>10}{'µs/case':>9}{'/ 0 %':>8}"
    )
    costs = {rate: planted(rate, cases, options.rounds) for rate in RATES}
    for cost in costs.values():
        share = cost.result.counts.violations / cases
        times = cost.seconds / costs[0.0].seconds
        print(f"{share:>10.2%}{1e6 * cost.seconds:>9.2f}{times:>8.2f}")


if __name__ == "__main__":
    main()
