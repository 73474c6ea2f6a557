"""Measure how many discriminatory inputs searches find, and how near to people they are.

    python -m casestudies.census.measure [--seed 100] [--calls 100000] [--save FILE]
    python -m casestudies.census.measure --exact --save FILE
    python -m casestudies.census.measure --show casestudies/results/census.json

Prints, for each model and protected feature: the share of people of the test part,
which is exact; the share of all cases of the schema, with its interval, or exactly for
the trees once `--exact` has counted them (four minutes); and what searches find with
equal numbers of calls, for each call and for each second of CPU. One row at a time means
that the search asks the model about a single row, as the published programs do; the
others ask for a generation at once. This search and diverse are compared: they are
run three times in turns, and the least time of each counts.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from casestudies.census import exact
from casestudies.census.rivals import Aequitas, ExpGA
from nomos import api
from nomos.models.kinds import extract_structure
from nomos.results.result import Result
from nomos.results.statistics import clopper_pearson
from nomos.runner.campaigns.plans.planning import Generations
from nomos.runner.driver import Driver
from nomos.runner.executors.worker import Setting, Worker
from nomos.runner.jobs import Job, Prepared
from nomos.runner.options import Options
from nomos.search.diverse import Diverse
from nomos.search.guided import Guided
from nomos.search.making import Making
from nomos.search.strategy import Feedback, Mutated, Uniform, generation_rng
from nomos.structures.trees import Trees

HERE = Path(__file__).parent
PROTECTED = ("sex", "race", "age")
MODELS = {"nn": "network", "gb": "boosted trees"}
NUMBERS = range(5)  # the features with many cells, gone through as one array
SEARCHES: dict[str, Any] = {
    "diverse": Diverse,
    "guided": Guided,
    "generated": Mutated,
    "uniform": Uniform,
    "after ExpGA, in batches": ExpGA,
    "after Aequitas, in batches": Aequitas,
}
COLUMNS = {  # of the distinct inputs, calls, seconds and features off of a search
    "Distinct inputs for each call of the model": lambda f, c, s, o: f"{f / c:.3f}",
    "Distinct inputs for each second of CPU": lambda f, c, s, o: f"{f / s:,.0f}",
    "Features off the nearest person, in the median": lambda f, c, s, o: (
        "" if o is None else f"{o:g}"
    ),
}
RIVAL = "after ExpGA, one row at a time"
TURNS = 3  # of it and of diverse, in turns: the least time of each counts


def prepared(spec: str, model: str) -> Prepared:
    """Load a property and a model."""
    loaded = api.load_spec(HERE / "specs" / f"{spec}.nom")
    settings = {"model": str(HERE / "models" / f"{model}.onnx")}
    worker = Worker(Setting(HERE.parents[1]))
    return worker.prepare_job(Job(loaded.path, settings, loaded))


def searched(one: Prepared, how: Any, seed: int, calls: int) -> tuple[Result, float]:
    """Search with so many calls; return what was found, and the seconds of CPU."""
    search: Any = "diverse" if how is Diverse else "guided"
    most: dict[str, Any] = {"default_budget": 10**9, "calls": calls}
    options = Options(search=search, confirm=30, shrink=False, **most)
    driver = Driver(HERE.parents[1], options)

    def planning(
        options: Any, about: Any, seed: int, ask: Any, warn: Any
    ) -> Generations:
        material = ask("material", search == "guided")
        name = about.subject.property
        return Generations(how(material), options, seed=seed, name=name)

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
    low, high = int(search.material.low[column]), int(search.material.high[column])
    found: set[bytes] = set()
    asked = number = 0
    began = time.process_time()
    while asked < calls:
        cases = search.propose(generation_rng(seed, feature, number))
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
        search.learn(cases, Feedback(~violated, violated, trend, trend))
    return len(found), time.process_time() - began


def _share(scores: np.ndarray) -> float:
    grown = np.exp(scores - scores.max())
    return float(grown[1] / grown.sum())


def features_off(result: Result) -> float | None:
    """Return by how many features the median find that was run alone is off a person."""
    far = [len(bug.nearest[0].changed) for bug in result.bugs if bug.nearest]
    return float(np.median(far)) if far else None


def measure(spec: str, model: str, seed: int, calls: int) -> dict[str, Any]:
    """Return what is found of one property and model."""
    one = prepared(spec, model)
    job = Job(Path(one.subject.spec), prepared=one)
    options = Options(search="exhaustive", confirm=10)
    (people,) = Driver(HERE.parents[1], options).run([job], [0]).results
    anywhere = searched(one, Uniform, seed, 200_000)[0].counts
    share = clopper_pearson(anywhere.violations, anywhere.evaluated)
    found: dict[str, Any] = {
        "people": [people.counts.violations, people.counts.evaluated],
        "schema": [share.low, share.high],
        "searches": {},
    }
    for name, how in SEARCHES.items():
        result, seconds = searched(prepared(spec, model), how, seed, calls)
        told = [result.counts.bug_inputs, calls, seconds, features_off(result)]
        found["searches"][name] = told
    ours, theirs = [], []
    for _ in range(TURNS):
        finds, seconds = one_by_one(prepared(spec, model), ExpGA, seed, calls)
        theirs.append(seconds)
        ours.append(searched(prepared(spec, model), Diverse, seed, calls)[1])
    found["searches"]["diverse"][2] = min(ours)
    found["searches"][RIVAL] = [finds, calls, min(theirs), None]
    return found


def exact_shares(model: str) -> dict[str, str]:
    """Return the shares of all cases of the schema, as fractions."""
    one = prepared("sex", model)
    schema, network = one.engine.program.schema, one.domain.model  # type: ignore[attr-defined]
    assert schema is not None
    encoding = Making(one.engine.program)._encoding
    trees = extract_structure(network, schema.width)
    assert isinstance(trees, Trees)
    cells = [
        exact.cells_of(trees, number, np.arange(low, high + 1, dtype=np.float32))
        for number, (low, high) in enumerate(
            zip(encoding.low, encoding.high, strict=True)
        )
    ]
    places = [schema.place(name)[1].start for name in PROTECTED]
    found = exact.shares(trees, cells, places, NUMBERS, network.predict)
    return {
        name: str(found[place]) for name, place in zip(PROTECTED, places, strict=True)
    }


def tables(results: dict[str, Any]) -> Iterator[str]:
    """Yield lines that say what was measured."""
    pairs = results.get("pairs", ())
    if not pairs:
        yield json.dumps(results)
        return
    yield f"seed {results['seed']}, {results['calls']:,} calls for each search\n"
    yield "| another | model | of the people's cases | of all cases of the schema |"
    yield "|---|---|--:|--:|"
    for spec, model, one in pairs:
        bad, all_ = one["people"]
        exactly = results.get("exact", {}).get(spec) if model == "gb" else None
        low, high = (100 * side for side in one["schema"])
        share = f"{low:.2f} to {high:.2f} % (95 %)"
        if exactly:
            over, under = map(int, exactly.split("/"))
            share = f"{100 * over / under:.6f} %, exact"
        people = f"{bad:,} of {all_:,} ({100 * bad / all_:.2f} %)"
        yield f"| {spec} | {MODELS[model]} | {people} | {share} |"
    names = list(pairs[0][2]["searches"])
    for title, told in COLUMNS.items():
        yield f"\n{title}:\n"
        yield f"| another | model | {' | '.join(names)} |"
        yield f"|---|---|{'--:|' * len(names)}"
        for spec, model, one in pairs:
            cells = [told(*one["searches"][name]) for name in names]
            yield f"| {spec} | {MODELS[model]} | {' | '.join(cells)} |"
    yield "\nDistinct inputs for each second of CPU, diverse against ExpGA:\n"
    for spec, model, one in pairs:
        (ours, _, spent, _), (theirs, _, seconds, _) = (
            one["searches"][name] for name in ("diverse", RIVAL)
        )
        times = (ours / spent) / (theirs / seconds)
        yield f"- {spec}, {MODELS[model]}: {times:.1f} times as many"


def main() -> None:
    """Measure both models and all protected features, or show what was measured."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=100)
    parser.add_argument("--calls", type=int, default=100_000)
    parser.add_argument("--specs", nargs="*", default=PROTECTED)
    parser.add_argument("--exact", action="store_true", help="count cells, search not")
    parser.add_argument("--save", type=Path, help="add the figures to this file")
    parser.add_argument("--show", type=Path, help="show such a file, measure nothing")
    given = parser.parse_args()
    file = given.show or given.save
    results = json.loads(file.read_text()) if file and file.exists() else {}
    if given.exact:
        results["exact"] = exact_shares("gb")
    elif not given.show:
        results |= {"seed": given.seed, "calls": given.calls, "pairs": []}
        for model, spec in product(MODELS, given.specs):
            found = measure(spec, model, given.seed, given.calls)
            results["pairs"].append([spec, model, found])
    if given.save:
        given.save.write_text(json.dumps(results, indent=1) + "\n")
    print("\n".join(tables(results)))


if __name__ == "__main__":
    main()
