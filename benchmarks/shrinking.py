"""Bugs made smaller: is the smallest change found, and how near are real inputs?

    python -m benchmarks.shrinking [--bugs 50]

First, models with a planted smallest change: loans are refused in a band of incomes to
people of a small region. Bugs are made of real rows in which 2 to 6 features are changed at
random. A bug is as small as it can be if no case violates whose row has fewer features off
a real one, and no smaller step violates for its row; both are found by trying them all.
Goal: 85 %, with 500 cases for each bug. Then, bugs of four properties of the case studies
found in the same way, 2 to 9 features off the nearest row. Goal: a median of at most 1.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from statistics import mean, median
from typing import Any

import numpy as np

import nomos
from nomos.domain.schema import Category, Flag, Integer, OneHot, Ordinal, Schema
from nomos.engine.cases import ListedCases
from nomos.engine.choices import Stream, map_to_range
from nomos.engine.engine import Engine
from nomos.engine.evaluated import Limits
from nomos.engine.interpreter import Verdict
from nomos.runner.executors.worker import Setting, Worker
from nomos.runner.jobs import Job
from nomos.shrinking.passes import RealRows
from nomos.shrinking.shrink import Shrinker

STUDIES = Path(__file__).parent.parent / "casestudies"
PROPERTIES = (
    ("compas", "felony_inc", "nn"),
    ("compas", "priors_inc", "dt"),
    ("german_credit", "job_inc", "nn"),
    ("german_credit", "crdt_amount_inc", "dt"),
)
STEP = 30  # the largest


class Loans(nomos.Domain):
    """Loans that are refused in a band of incomes to people of a region."""

    schema = Schema(
        Integer("income", 0, 150),
        Integer("age", 18, 90),
        Integer("debts", 0, 30),
        Integer("years", 0, 40),
        Flag("member"),
        OneHot("town", ("Aix", "Bern", "Cork", "Dax")),
    )
    plant = 0

    def inputs(self) -> np.ndarray:
        """Return 300 people: the rich have few debts, and nobody is both old and new."""
        rng = np.random.default_rng(3)
        income = rng.integers(10, 120, 300)
        age = rng.integers(18, 80, 300)
        debts = rng.integers(0, 1 + (130 - income) // 8)
        years = rng.integers(0, 1 + (age - 15) // 3)
        town = np.eye(4)[rng.integers(0, 4, 300)]
        columns = [income, age, debts, years, rng.integers(0, 2, 300), town]
        return np.column_stack(columns).astype(np.float32)

    @nomos.batched
    def predict(self, rows: np.ndarray) -> np.ndarray:
        """Grant from an income of 20 on, but for a band."""
        low = 50 + 12 * (self.plant % 5)
        band = (rows[:, 0] >= low) & (rows[:, 0] < low + 6)
        match self.plant % 4:
            case 0:
                region = rows[:, 2] >= 5
            case 1:
                region = rows[:, 2] >= 20  # no such person
            case 2:
                region = (rows[:, 1] >= 60) & (rows[:, 5] == 1)
            case _:
                region = (rows[:, 2] >= 18) & (rows[:, 3] >= 10)
        return ((rows[:, 0] >= 20) & ~(band & region)).astype(int)


SPEC = f"""
input x1;
var x2 := x1[income := x1.income + randInt(1, {STEP})];
output d1;
output d2;
{{
  d1 = predict(x1)
  d2 = predict(x2)
}}
ensures d1 <= d2;
"""


def mutated(
    real: RealRows, rng: np.random.Generator, count: int, most: int
) -> np.ndarray:
    """Return real rows in which 2 features or more have other values of the schema."""
    rows = real.rows[rng.integers(0, len(real.rows), count)].copy()
    features = real.schema.features
    for row in rows:
        for number in rng.choice(
            len(features), rng.integers(2, most + 1), replace=False
        ):
            feature, columns = features[number], real.slices[number]
            match feature:
                case Integer(low=low, high=high):
                    row[columns] = rng.integers(low, high + 1)
                case Flag():
                    row[columns] = rng.integers(0, 2)
                case OneHot(levels=levels):
                    row[columns] = np.eye(len(levels))[rng.integers(0, len(levels))]
                case Ordinal(levels=levels) | Category(levels=levels):
                    row[columns] = rng.integers(0, len(levels))
    return rows


def bugs_of(
    engine: Engine, real: RealRows, wanted: int, most: int
) -> Iterator[tuple[np.ndarray, tuple[int, ...], int]]:
    """Yield bugs at mutated rows: the row, the draws, and how far off real rows it is."""
    rng, words = np.random.default_rng(1), Stream(1, "bugs")
    found = first = 0
    while found < wanted:
        rows = mutated(real, rng, 2000, most)
        own = engine.with_inputs(rows)
        largest = _largest_draw(engine)
        drawn = words.words(0, first, len(rows)).tolist()
        draws = [map_to_range(word, 1, largest) for word in drawn]
        first += len(rows)
        columns = [np.arange(len(rows))] + ([np.array(draws)] if largest else [])
        known = np.stack(columns, axis=1)
        evaluated = own.run(ListedCases(known), Limits(2**62, 2**62), repeat=False)
        for row in evaluated.violations.rows[:5].tolist():
            off = int(real.off(rows[row]).sum(axis=1).min())
            alone = own.replay(tuple(known[row].tolist())).verdict
            if off >= 2 and found < wanted and alone is Verdict.VIOLATED:
                found += 1
                yield rows[row], tuple(known[row, 1:].tolist()), off


def _largest_draw(engine: Engine) -> int:
    """Return the largest number that a spec draws, by its text; 0 where it draws none."""
    text = engine.program.spec.source.text
    if "randInt(" not in text:
        return 0
    bound = text.split("randInt(")[1].split(")")[0].split(",")[1].strip()
    return int(bound)


def prepared_planted(plant: int) -> Engine:
    """Return a planted model, ready to be asked."""
    domain = type("Planted", (Loans,), {"plant": plant})
    result: Any = nomos.run(SPEC, domain=domain, store=False, budget=10)
    engine: Engine = result.live.ready_job.engine
    return engine


def smallest_step(engine: Engine, row: np.ndarray) -> int:
    """Return the smallest step that violates for a row; 0 where none does."""
    income = row[0] + np.arange(1, STEP + 1)
    rows = np.repeat(row[None], STEP + 1, axis=0)
    rows[1:, 0] = income
    predict: Any = engine.program.find_batched("predict")
    answers = np.asarray(predict.many(rows))
    worse = np.flatnonzero(answers[0] > answers[1:])
    return int(worse[0]) + 1 if len(worse) else 0


def fewest_off(engine: Engine, real: RealRows) -> int:
    """Return how many features must be changed in some real row to get a violation."""
    if any(smallest_step(engine, row) for row in real.rows):
        return 0
    for row in real.rows:
        for feature, columns in zip(real.schema.features, real.slices, strict=True):
            if isinstance(feature, Integer):
                for value in range(feature.low, feature.high + 1):
                    made = row.copy()
                    made[columns] = value
                    if smallest_step(engine, made):
                        return 1
    return 2


def planted(bugs: int) -> None:
    """Print how many bugs became as small as they can be."""
    reached, tried = [], []
    for plant in range(8):
        engine = prepared_planted(plant)
        schema = engine.program.schema
        assert schema is not None
        real = RealRows(engine.program.source, schema)
        fewest = fewest_off(engine, real)
        mine = []
        for row, draws, _ in bugs_of(engine, real, bugs // 2, 6):
            shrinker = Shrinker(engine)
            found = shrinker.shrink_records([row], [0], draws, 0)
            tried.append(shrinker.tried)
            made = row
            off = int(real.off(row).sum(axis=1).min())
            if found is not None:
                record = found.records[0]
                made = engine.program.source[record.row].copy()
                for name, value in record.changes.items():
                    feature, columns = schema.place(name)
                    made[columns] = feature.write(value)
                off, draws = found.features_off, found.draws
            mine.append(off == fewest and draws == (smallest_step(engine, made),))
        reached += mine
        print(
            f"plant {plant}: {fewest} off at best, reached {mean(mine):.0%}", flush=True
        )
    print(
        f"smallest change reached: {mean(reached):.1%} of {len(reached)} (goal 85 %),"
        f" cases tried: median {median(tried):.0f}, at most {max(tried)}",
        flush=True,
    )


def real_properties(bugs: int) -> None:
    """Print how near bugs of the case studies come to real rows."""
    for study, spec, model in PROPERTIES:
        path = STUDIES / study / "specs" / f"{spec}.nom"
        onnx = str(STUDIES / study / "models" / f"{model}.onnx")
        prepared = Worker(Setting(STUDIES)).prepare_job(Job(path, {"model": onnx}))
        engine = prepared.engine
        assert engine.program.schema is not None
        real = RealRows(engine.program.source, engine.program.schema)
        before, after, tried = [], [], []
        for row, draws, off in bugs_of(engine, real, bugs, 9):
            shrinker = Shrinker(engine)
            found = shrinker.shrink_records([row], [0], draws, 0)
            before.append(off)
            after.append(off if found is None else found.features_off)
            tried.append(shrinker.tried)
        print(
            f"{study} {spec} {model}: {len(after)} bugs, features off the nearest row:"
            f" median {median(before):g} ({min(before)} to {max(before)}) ->"
            f" {median(after):g} ({min(after)} to {max(after)}), goal 1;"
            f" cases tried: median {median(tried):.0f}, at most {max(tried)}",
            flush=True,
        )


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bugs", type=int, default=50)
    options = parser.parse_args()
    planted(options.bugs)
    real_properties(options.bugs)


if __name__ == "__main__":
    main()
