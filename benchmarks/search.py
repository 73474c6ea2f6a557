"""What searches find with equal numbers of model rows: rare violations, and groups.

    python benchmarks/search.py [nets smooth needle decided groups] [--seeds 100:120]

Needs the data of the tabular case studies, the extra `onnx`, and scikit-learn for the
last two. A row is a record that the model is asked about; scores come with its answers
and cost none. Nothing was tuned on seeds from 100 on.

- nets: six properties of networks that hold on the data and are violated by one case in
  10,000 to 100,000 of the schema. Goal: guided finds a violation within 20,000 rows in
  at least 17 of 20 seeds, uniform inputs and unguided mutation in at most 10.
- smooth: planted models, other ones for each seed, whose answer falls with employment
  around some point: the share of violations over the schema is 1e-5, or 1e-6. Goal: at
  1e-5 guided finds one in at least 16 of 20.
- needle: a tree in which a box of 3e-6 of the schema is wrong. Goal: 16 of 20.
- decided: rows that campaigns of 5,000 random cases send to the model, where the first
  answer may decide a case and where it may not. The cases and their verdicts are the
  same. Goal: for speech, as many inputs with bugs with at most a third of the rows.
- groups: bugs told apart by outputs and region, for each violated pair of property and
  model, with 5,000 rows. Goal: 1.3 times as many as unguided mutation in the geometric
  mean, nowhere less than 0.9 times.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before numpy is imported
sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np

from benchmarks.planted import Needle, Smooth
from nomos import api
from nomos.engine.cases import MadeCases
from nomos.engine.choices import Stream
from nomos.engine.evaluated import Limits
from nomos.engine.interpreter import Verdict
from nomos.results.result import Result
from nomos.runner.campaigns.plans.planning import Generations
from nomos.runner.driver import Driver
from nomos.runner.executors.worker import Setting, Worker
from nomos.runner.jobs import Job, Prepared
from nomos.runner.options import Options
from nomos.search.guided import strategy_by_name
from nomos.search.making import Making
from nomos.search.strategy import generation_rng

CASES = Path(__file__).parents[1] / "casestudies"
ROWS = 20_000
GROUP_ROWS = 5_000
NETS = (
    *(("compas", f"priors_{way}") for way in ("dec", "inc")),
    *(("german_credit", f"crdt_amount_{way}") for way in ("dec", "inc")),
    *(("german_credit", f"install_rate_{way}") for way in ("dec", "inc")),
)
STRATEGIES = ("guided", "mutated", "uniform")
PLANTED_IN = ("german_credit", "empl_since_inc")
_SURROGATE = 30_000  # cases of each kind that the regions of a network are told by


def prepared(case: str, spec: str, model: str = "nn") -> Prepared:
    """Load a property of a case study and its model."""
    loaded = api.load_spec(CASES / case / "specs" / f"{spec}.nom")
    settings = {"model": str(CASES / case / "models" / f"{model}.onnx")}
    return Worker(Setting(CASES.parent)).prepare_job(Job(loaded.path, settings, loaded))


def search(how: str, one: Prepared, seed: int, rows: int, *, all_of: bool) -> Result:
    """Search with so many rows; without `all_of`, until there is a bug."""
    most = {"default_budget": 10**9, "calls": rows, "until_bug": not all_of}
    driver = Driver(CASES.parent, Options(search="guided", **most))

    def planning(options, about, seed, ask, warn):
        chosen, name = strategy_by_name(how, ask("material")), about.subject.property
        return Generations(chosen, options, seed=seed, name=name)

    driver.planning = planning  # type: ignore[method-assign]  # one of ours
    run = driver.run([Job(Path(one.subject.spec), prepared=one)], [seed])
    for failure in run.failures:
        raise failure.error
    return run.results[0]


def tell_found(name: str, how: str, needed: list[int | None], goal: str) -> None:
    """Print in how many seeds a violation was found, and after how many rows."""
    found = sorted(rows for rows in needed if rows is not None)
    after = f"median {found[len(found) // 2]:>6} rows" if found else ""
    count = f"{len(found):>2} of {len(needed)}"
    print(f"{name:34}{how:9}{count:>9}  {after:20} {goal}", flush=True)


def needed(how: str, one: Prepared, seed: int) -> int | None:
    """Return after how many rows a search found a violation; None: not at all."""
    result = search(how, one, seed, ROWS, all_of=False)
    return result.counts.model_calls if result.counts.confirmed else None


def nets(seeds: range) -> None:
    """Search for rare violations of networks."""
    for case, spec in NETS:
        one = prepared(case, spec)
        for how in STRATEGIES:
            rows = [needed(how, one, seed) for seed in seeds]
            goal = "goal: 17 or more" if how == "guided" else "goal: 10 or fewer"
            tell_found(f"{case}/{spec}/nn", how, rows, goal)


def planted(kind: Any, share: float, seeds: range, goal: str) -> None:
    """Search planted models for what is wrong with them."""
    rows: dict[str, list[int | None]] = {how: [] for how in STRATEGIES}
    shares = []
    for seed in seeds:
        one = prepared(*PLANTED_IN)
        model = kind(Making(one.engine.program)._encoding, share, seed)
        one.domain.model = model.fitted()  # type: ignore[attr-defined]  # it has one
        shares.append(model.share)
        for how in STRATEGIES:
            rows[how].append(needed(how, one, seed))
    told = f"{kind.__name__.lower()} {min(shares):.1e} to {max(shares):.1e}"
    for how in STRATEGIES:
        tell_found(told, how, rows[how], goal if how == "guided" else "")


def made_cases(making: Making, how: str, count: int) -> tuple[np.ndarray, MadeCases]:
    """Return the features of the first input, and cases, of a strategy of seed 99."""
    one = strategy_by_name(how, making.build_material())
    one.size = count
    cases = one.propose(generation_rng(99, how, 0))
    made = making.build_inputs(cases)
    features = cases.values[:, : making._encoding.data.shape[1]]
    return features, MadeCases(Stream(99, how), 0, made, 0, count)


class Regions:
    """Tells regions of the inputs apart: leaves of a tree that was fitted to verdicts."""

    def __init__(self, one: Prepared) -> None:
        from sklearn.tree import DecisionTreeClassifier

        self.making, self.one = Making(one.engine.program), one
        values, wrong = [], []
        for how in ("uniform", "mutated"):
            features, cases = made_cases(self.making, how, _SURROGATE)
            evaluated = one.engine.run_made(cases, Limits(2**62, 2**62))
            kept = evaluated.accepted
            values.append(features[kept])
            wrong.append(evaluated.verdicts[kept] == Verdict.VIOLATED)
        self.violations = int(np.concatenate(wrong).sum())
        tree = DecisionTreeClassifier(
            max_leaf_nodes=60, min_samples_leaf=10, random_state=0
        )
        self.tree = tree.fit(np.concatenate(values), np.concatenate(wrong))

    def groups(self, result: Result) -> int:
        """Return how many groups bugs are in: by their outputs and the region."""
        bugs = result.bugs
        if not bugs:
            return 0
        dtype = self.one.engine.program.source.dtype
        rows = np.array([bug.records[0] for bug in bugs], dtype=dtype)
        leaves = self.tree.apply(self.making._encoding.encode(rows)).tolist()
        found = set()
        for bug, leaf in zip(bugs, leaves, strict=True):
            values = self.one.replay(bug).values
            outputs = tuple(values.get(name) for name in result.subject.outputs)
            found.add((outputs, leaf))
        return len(found)


@contextmanager
def rows_of(one: Prepared) -> Iterator[list[int]]:
    """Note how many rows `predict` is asked for, each time; noise and blur are no model."""
    function: Any = type(one.domain).predict  # type: ignore[attr-defined]  # it has one
    asked, rows = function.method, list[int]()

    def noting(domain: Any, records: Any) -> Any:
        rows.append(len(records))
        return asked(domain, records)

    function.method = noting
    try:
        yield rows
    finally:
        function.method = asked


def decided(seeds: range) -> None:
    """Count the rows that the model is sent, with and without answers that decide."""
    cases = [("speech_command", "w_noise", "cnn"), ("mnist", "blur", "nn")]
    cases += [(case, spec, "nn") for case, spec in (*NETS[:3], PLANTED_IN)]
    for case, spec, model in cases:
        one = prepared(case, spec, model)
        declared, sent, found = type(one.domain).classes, [], []
        for classes in (declared, {}):
            type(one.domain).classes = classes  # type: ignore[misc]  # for a moment
            options = Options(default_budget=5_000, search="random", groups=False)
            job = Job(Path(one.subject.spec), prepared=one)
            with rows_of(one) as rows:
                (result,) = Driver(CASES.parent, options).run([job], seeds[:1]).results
            sent.append(sum(rows))
            found.append(result.counts.bug_inputs)
        type(one.domain).classes = declared  # type: ignore[misc]  # as it was
        told = f"{sent[0]:>6} rows where decided, {sent[1]:>6} where not"
        more = f"{found[0]} and {found[1]} inputs with bugs"
        print(f"{f'{case}/{spec}/{model}':34}{told}: {sent[0] / sent[1]:.2f}; {more}")


def groups(seeds: range) -> None:
    """Count the groups that searches find."""
    ratios = []
    pairs = [
        (case, path.stem, model)
        for case in ("compas", "german_credit")
        for path in sorted((CASES / case / "specs").glob("*.nom"))
        for model in ("dt", "nn")
    ]
    for case, spec, model in pairs:
        one = prepared(case, spec, model)
        regions = Regions(one)
        if regions.violations < 30:  # in 60,000 cases: too rare to have groups
            continue
        means = {
            how: float(
                np.mean(
                    [
                        regions.groups(search(how, one, seed, GROUP_ROWS, all_of=True))
                        for seed in seeds
                    ]
                )
            )
            for how in ("guided", "mutated")
        }
        ratio = means["guided"] / max(means["mutated"], 1e-9)
        ratios.append(ratio)
        name = f"{case}/{spec}/{model}"
        told = f"guided {means['guided']:6.1f}  mutated {means['mutated']:6.1f}"
        print(f"{name:34}{told}  {ratio:5.2f} times", flush=True)
    mean = float(np.exp(np.mean(np.log(ratios))))
    print(
        f"geometric mean {mean:.2f} times (goal: 1.3), least {min(ratios):.2f}"
        f" (goal: 0.9), {len(ratios)} pairs"
    )


def main() -> None:
    """Run the parts that are named."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parts = ("nets", "smooth", "needle", "decided", "groups")
    parser.add_argument("parts", nargs="*", default=parts, help=f"of {parts}")
    parser.add_argument("--seeds", default="100:120", help="FIRST:END")
    given = parser.parse_args()
    seeds = range(*map(int, given.seeds.split(":")))
    print(f"seeds {seeds[0]} to {seeds[-1]}; {ROWS} rows ({GROUP_ROWS} for groups)")
    for part in given.parts or parts:
        began = time.perf_counter()
        print(f"\n{part}")
        if part == "nets":
            nets(seeds)
        elif part == "smooth":
            planted(Smooth, 1e-5, seeds, "goal: 16 or more")
            planted(Smooth, 1e-6, seeds, "no goal")
        elif part == "needle":
            planted(Needle, 3e-6, seeds, "goal: 16 or more")
        elif part == "decided":
            decided(seeds)
        elif part == "groups":
            groups(seeds[:5])
        else:
            parser.error(f"there is no part {part}")
        print(f"{time.perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main()
