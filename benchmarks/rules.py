"""Rules that say where bugs are: are planted ones named, and do their intervals hold?

    python -m benchmarks.rules [--seeds 20] [--boxes 60]

First, models that break a property inside a box of 2 or 3 features alone, of a table with
numbers, flags and categories; the box holds 1 % of the rows or more. A rule names it
exactly if it has the same features and relations and covers the same cases, but for 5 in
100. Goal: 90 % of the boxes. Then, for properties of the case studies and so many seeds,
each rule that is shown is tried on very many other cases of the held-out inputs. Goal: of
all rules, 93 % have a true precision inside the interval that they print.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import nomos
from nomos.domain import Flag, Integer, OneHot
from nomos.domain.schema import Schema
from nomos.engine.cases import RandomCases
from nomos.engine.choices import Stream
from nomos.engine.engine import Engine
from nomos.engine.evaluated import Limits
from nomos.engine.interpreter import Verdict
from nomos.groups.features import features_of
from nomos.groups.grouping import Sampled, key_of, meets_rule
from nomos.results.analysis import BugGroup, Rule
from nomos.results.result import Result
from nomos.runner.campaigns.explained.sampling import SampledPart, Sampling

STUDIES = Path(__file__).parent.parent / "casestudies"
PAIRS = (
    *(("compas", "felony_inc", model) for model in ("dt", "nn")),
    *(("compas", spec, "nn") for spec in ("others_inc", "is_recid_set")),
    ("compas", "priors_inc", "dt"),
    *(("german_credit", "crdt_hist_dec", model) for model in ("dt", "nn")),
    *(("german_credit", spec, "dt") for spec in ("empl_since_dec", "crdt_amount_inc")),
    ("german_credit", "job_dec", "nn"),
)
TRUTH_CASES = 120_000
_CHUNK = 4096
ROWS = 20_000


class Condition(NamedTuple):
    """One side of a planted box."""

    feature: str
    relation: str
    value: Any


class Planted(nomos.Domain):
    """A table, and a model that falls with the step inside a box and rises outside."""

    schema = Schema(
        Integer("step", 0, 50),
        Integer("age", 18, 90),
        Integer("income", 0, 200),
        Integer("years", 0, 30),
        Integer("debts", 0, 12),
        Flag("member"),
        Flag("owner"),
        OneHot("town", ("Aix", "Bern", "Cork", "Dax")),
        OneHot("job", ("none", "office", "shop")),
    )
    box: tuple[Condition, ...] = ()

    def inputs(self) -> np.ndarray:
        """Return rows whose features are independent."""
        rng = np.random.default_rng(5)
        columns: list[Any] = []
        for feature in self.schema.features:
            if isinstance(feature, Integer):
                columns.append(rng.integers(feature.low, feature.high + 1, ROWS))
            elif isinstance(feature, Flag):
                columns.append(rng.integers(0, 2, ROWS))
            elif isinstance(feature, OneHot):
                levels = len(feature.levels)
                columns.append(np.eye(levels)[rng.integers(0, levels, ROWS)])
        return np.column_stack(columns).astype(np.float32)

    @nomos.batched
    def predict(self, rows: np.ndarray) -> np.ndarray:
        """Return the step, with the wrong sign inside the box."""
        return np.where(inside(rows, self.box), -rows[:, 0], rows[:, 0])


SPEC = """
input x1;
var x2 := x1[step := x1.step + 1];
output d1;
output d2;
{
  d1 = predict(x1)
  d2 = predict(x2)
}
ensures d1 <= d2;
"""


def inside(rows: np.ndarray, box: tuple[Condition, ...]) -> np.ndarray:
    """Return which rows are in a box."""
    met = np.ones(len(rows), dtype=bool)
    for name, relation, value in box:
        feature, columns = Planted.schema.place(name)
        if isinstance(feature, OneHot):
            met &= rows[:, columns.start + feature.levels.index(value)] == 1
        elif relation == "is":
            met &= rows[:, columns.start] == float(value)
        else:
            x = rows[:, columns.start]
            met &= x <= value if relation == "<=" else x >= value
    return met


def boxes(count: int) -> Iterator[tuple[Condition, ...]]:
    """Yield boxes of 2 and 3 features that hold 1 to 12 % of the rows."""
    rng = np.random.default_rng(11)
    rows = Planted().inputs()
    made = 0
    while made < count:
        chosen = rng.choice(range(1, 9), size=2 + made % 2, replace=False)
        box = tuple(_side(Planted.schema.features[number], rng) for number in chosen)
        if 0.01 <= inside(rows, box).mean() <= 0.12:
            made += 1
            yield tuple(sorted(box))


def _side(feature: Any, rng: np.random.Generator) -> Condition:
    if isinstance(feature, OneHot):
        return Condition(feature.name, "is", str(rng.choice(feature.levels)))
    if isinstance(feature, Flag):
        return Condition(feature.name, "is", str(rng.integers(0, 2)))
    share = rng.uniform(0.15, 0.5)
    cut = int(share * (feature.high - feature.low))
    if rng.random() < 0.5:
        return Condition(feature.name, "<=", feature.low + cut)
    return Condition(feature.name, ">=", feature.high - cut)


def planted(count: int) -> None:
    """Print how many boxes are named."""
    rows = Planted().inputs()
    named = {2: [0, 0, 0], 3: [0, 0, 0]}
    for number, box in enumerate(boxes(count)):
        domain = type("Boxed", (Planted,), {"box": box})
        result = nomos.run(
            SPEC, domain=domain, store=False, search="random", seed=number, shrink=False
        )
        assert result.analysis is not None
        rule = result.analysis.groups[0].region
        tally = named[len(box)]
        tally[2] += 1
        if rule is None:
            continue
        told = tuple(Condition(c.feature, c.relation, c.value) for c in rule.conditions)
        same = sorted(c[:2] for c in told) == sorted(c[:2] for c in box)
        tally[0] += same
        one, two = inside(rows, told), inside(rows, box)
        tally[1] += same and bool((one & two).sum() >= 0.95 * (one | two).sum())
    for size, (features, exact, tried) in named.items():
        print(
            f"boxes of {size} features: {exact} of {tried} named exactly"
            f" ({features} with the right features and relations)"
        )
    exact = sum(tally[1] for tally in named.values())
    print(f"planted boxes named exactly: {exact / count:.1%} (goal 90 %)", flush=True)


def truth(engine: Engine, property: str, *, k: int, by_outputs: bool) -> Sampled:
    """Return very many random cases of a property with their verdicts.

    Not all cases, each once: an input with many would count more than where it is drawn.
    """
    sampling = Sampling(engine, by_outputs=by_outputs, k=k)
    stream = Stream(10**6, property)
    for first in range(0, TRUTH_CASES, _CHUNK):
        cases = RandomCases(stream, first, _CHUNK)
        evaluated = engine.run(cases, Limits(2**62, 2**62), repeat=False)
        failed = np.zeros(cases.count, dtype=np.int64)
        failed[evaluated.violations.rows] = evaluated.violations.failed
        rows = np.flatnonzero((evaluated.verdicts == Verdict.PASSED) | (failed > 0))
        sampling.take(SampledPart(cases, rows, failed[rows]))
    return sampling.draw_sample(10**9)


def rules_of(result: Result) -> list[tuple[BugGroup, Rule]]:
    """Return all rules that a result shows, each with its group."""
    groups = () if result.analysis is None else result.analysis.groups
    pairs = chain.from_iterable(((g, g.region), (g, g.by_answer)) for g in groups)
    return list({rule: (group, rule) for group, rule in pairs if rule}.values())


def held_precision(group: BugGroup, rule: Rule, cases: Sampled) -> float | None:
    """Return how many of the held-out cases that meet a rule are violated so."""
    features = features_of(cases.raw) + features_of(cases.answers)
    met = meets_rule(rule, features) & cases.held_out
    if not met.any():
        return None
    texts = {key_of(0, group.outputs)[1]}
    y = np.array([key is not None and key[1] in texts for key in cases.keys])
    return float(y[met].mean())


def intervals(seeds: int) -> None:
    """Print how many rules have a true precision inside their interval."""
    within = shown = answered = 0
    for study, spec, model in PAIRS:
        path = STUDIES / study / "specs" / f"{spec}.nom"
        onnx = str(STUDIES / study / "models" / f"{model}.onnx")
        cases: Sampled | None = None
        mine = [0, 0]
        for seed in range(seeds):
            (result,) = nomos.run_specs(  # at random, or all seeds would be one
                path,
                models=[onnx],
                seeds=[seed],
                search="random",
                store=False,
                shrink=False,
            )
            for group, rule in rules_of(result):
                if cases is None:
                    live: Any = result.live
                    engine = live.ready_job.engine
                    by_outputs = bool(group.outputs)
                    k = result.counts.k
                    cases = truth(engine, result.name, k=k, by_outputs=by_outputs)
                value = held_precision(group, rule, cases)
                if value is None:
                    continue
                mine[1] += 1
                mine[0] += rule.precision.low <= value <= rule.precision.high
                answered += rule is group.by_answer
        within, shown = within + mine[0], shown + mine[1]
        print(f"{study} {spec} {model}: {mine[0]} of {mine[1]} inside", flush=True)
    share = within / max(1, shown)
    print(
        f"rules shown: {shown} ({answered} with the model's answer),"
        f" true precision inside the interval: {share:.1%} (goal 93 %)"
    )


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--boxes", type=int, default=60)
    options = parser.parse_args()
    planted(options.boxes)
    intervals(options.seeds)


if __name__ == "__main__":
    main()
