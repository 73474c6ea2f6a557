"""Numpy columns and torch columns, case by case, for each construct of the language.

    python -m benchmarks.gpu_agreement [--device cuda] [--cases 3000] [--json FILE]

Every construct is run on arrays and on tensors of a device, with the same seed. The cases,
their choices, their verdicts and how many calls they make must be the same, and so must
be the ids of the bugs of a small network on pictures, at float32. Exit status 1 if not.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

import nomos
from nomos import Domain, Schema, batched, random, tensors
from nomos.accepted import Mode
from nomos.device import Placement, place_models
from nomos.diagnostics import Source
from nomos.domain import Integer, Real
from nomos.domain.domain import offer_of
from nomos.engine.cases import RandomCases
from nomos.engine.choices import Stream
from nomos.engine.engine import Engine
from nomos.engine.evaluated import EvaluatedChunk, Limits
from nomos.engine.program import Program
from nomos.lang.checking.check import check_spec

# What a truth value is made of: v is drawn, x1 is a row, x2 a changed row on the device.
CONSTRUCTS = {
    "constant": "true",
    "comparison": "d1 == d2 && d1 <= 4 && !(d1 > d2 + 9)",
    "arithmetic": "d1 * 2 - d2 / 3 + v % 3 > 1",
    "negation": "-d1 <= -1 || !(d2 != 3)",
    "logic": "d1 == 1 ==> d2 == 1 || v > 2",
    "get a feature": "x2.a >= x1.a && x2.r < 0.9",
    "get a feature by number": "getFeat(x2, 0) >= getFeat(x1, 0)",
    "set a feature": "predict(x2[a := v]) == predict(x1[a := v])",
    "records compared": "x1 == moved(x1, 0) && (x1 != x2 || v == 0)",
    "records on the device compared": "moved(x1, v) == moved(x1, v) && moved(x2, 1) != x2",
    "arrays of answers": "shares(x1) == shares(x2) || v > 0",
    "conditional": "(if v > 3 then predict(x1) else predict(x2)) > 2",
    "conditional records": "predict(if v > 3 then x1 else moved(x1, 1)) < 4",
    "conditional records of the device": "predict(if v > 3 then x2 else moved(x2, 1)) < 4",
    "definition": "near(d1, d2) && near(predict(moved(x1, 2)), v)",
    "built-in functions": "abs(d1 - d2) + min(d1, v) <= max(d2, 3) && isclose(d1, 2, 0.6)",
    "NaN": "v > 3 || max(0.5, (d1 + 1) * 1e308 * 10 - (d2 + 1) * 1e308 * 10) <= 9",
    "draws": "randInt(0, 9) > d1 && randReal(0, 1) < 0.8",
    "integers of a field": "predict(jumped(x1)) <= 3",
    "uniform field": "predict(jittered(x1)) == d1",
    "label": "label(x1) == d1 || label(x1) > 1",
    "item and quantifier": "forall i in xs: predict(xs[i]) <= predict(moved(xs[i], i))",
    "count, exists and sum": "(count i in xs: predict(xs[i]) == v) + (sum i in xs: xs[i].a)"
    " > 4 || (exists i in xs: xs[i].a == v)",
    "range": "d1 in 1..3 || d2 in {0, 4}",
    "list of answers": "d1 in [predict(x) for x in xs] || d2 > 1",
}
SPEC = """
    import rows;
    def near(a, b) := abs(a - b) <= 2;
    input x1;
    input xs[2];
    var v := randInt(0, 5);
    var x2 := moved(x1, v);
    requires x2.a < 22;
    output d1;
    output d2;
    {{
      {block}
    }}
    ensures {test};
"""
BLOCKS = {
    "columns": "d1 = predict(x1)\n      d2 = predict(x2)",
    "coroutines": "d1 = d2 = 0\n      for x in [x1]: d1 = predict(x)\n      d2 = predict(x2)",
}


class Rows(Domain):
    """Rows of two features, and what is said of them on arrays."""

    schema = Schema(Integer("a", -5, 25), Real("r", -1, 1))

    def inputs(self):
        """Return fifty rows."""
        rng = np.random.default_rng(5)
        rows = [rng.integers(-5, 20, 50), rng.uniform(-1, 1, 50)]
        return np.column_stack(rows).astype(np.float32)

    def labels(self):
        """Return a label for each."""
        return [number % 4 for number in range(50)]

    @batched
    def predict(self, rows):
        """Return a number from 0 to 4."""
        return _predict(rows)

    @batched
    def shares(self, rows):
        """Return two numbers for each row."""
        return rows * 2

    @batched
    def moved(self, rows, by):
        """Return rows with another `a`."""
        return _moved(rows, by)

    @batched
    @random
    def jumped(self, rows, draws):
        """Move rows by what is drawn."""
        return _moved(rows, draws.integers(0, 6, ()))

    @batched
    @random
    def jittered(self, rows, draws):
        """Move rows by what is drawn, in each number."""
        return rows + draws.uniform(2, -2, 2)


class RowsOnDevice(Rows):
    """The same on tensors."""

    predict, shares, moved = (
        batched(tensors(member.method))
        for member in (Rows.predict, Rows.shares, Rows.moved)  # type: ignore[attr-defined]
    )
    jumped, jittered = (
        batched(tensors(member.method))
        for member in (Rows.jumped, Rows.jittered)  # type: ignore[attr-defined]
    )


def _predict(rows: Any) -> Any:
    return (rows[:, 0] * 7 % 5) // 1


def _moved(rows: Any, by: Any) -> Any:
    rows[:, 0] += by
    return rows


def program(test: str, block: str, domain: type[Domain], device: str) -> Program:
    """Return a spec with one condition, ready to run."""
    text = SPEC.format(block=BLOCKS[block], test=test)
    checked = check_spec(Source("rows.nom", text), "rows", offer_of(domain))
    if checked.spec is None:
        raise ValueError(checked.diagnostics)
    with place_models(Placement(device)):
        return Program(checked.spec, domain())


def evaluated(made: Program, cases: int, mode: Mode | None) -> EvaluatedChunk:
    """Run the first cases."""
    stream = Stream(3, "rows")
    return Engine(made, mode).run(RandomCases(stream, 0, cases), Limits(cases, cases))


def _violated(found: EvaluatedChunk) -> list[tuple[int, tuple[int, ...]]]:
    rows = found.violations.rows.tolist()
    return [(row, found.violations.choices_of(n)) for n, row in enumerate(rows)]


def difference(test: str, block: str, device: str, cases: int) -> str:
    """Return what is not the same on arrays and on a device, "" if all is."""
    ours = evaluated(program(test, block, Rows, "cpu"), cases, None)
    for mode in (None, "sequential"):
        count = cases if mode is None else min(cases, 60)  # alone: some of them
        theirs = evaluated(program(test, block, RowsOnDevice, device), count, mode)
        for name in ("verdicts", "accepted", "calls"):
            mine = getattr(ours, name)[:count]
            if not np.array_equal(mine, getattr(theirs, name)):
                return f"{name} differ ({mode or block})"
        mine = [c for row, c in _violated(ours) if row < count]
        if mine != [c for _, c in _violated(theirs)]:
            return f"choices differ ({mode or block})"
        if len(theirs.crashes):
            return theirs.crashes[0].traceback
    return ""


PICTURES = """
    import pictures;
    input x1;
    var x2 := noise(x1, randReal(0, 0.6));
    output d1;
    output d2;
    {
      d1 = predict(x1)
      d2 = predict(x2)
    }
    ensures d1 == d2;
"""


class Pictures(Domain):
    """Small pictures and a small network with weights from a seed."""

    def __init__(self) -> None:
        import torch

        torch.manual_seed(0)
        layers = [torch.nn.Conv2d(3, 16, 3), torch.nn.ReLU(), torch.nn.Flatten()]
        network = torch.nn.Sequential(*layers, torch.nn.Linear(16 * 36, 10))
        self._model = nomos.load_model(network)

    def inputs(self):
        """Return 500 pictures."""
        rng = np.random.default_rng(1)
        return rng.random((500, 3, 8, 8), dtype=np.float32)

    @batched
    @tensors
    def predict(self, images):
        """Return a class for each picture."""
        return self._model.predict(images)

    @batched
    @random
    @tensors
    def noise(self, images, strength, draws):
        """Add noise of a strength."""
        noise = draws.normal(images.shape[1:])
        return images + noise * strength[:, None, None, None].to(images.dtype)


def bug_ids(device: str, cases: int) -> set[str]:
    """Return the ids of the bugs of the network on pictures."""
    result = nomos.run(
        nomos.spec(PICTURES, name="pictures"),
        domain=Pictures,
        budget=cases,
        device=device,
        dtype="float32",
    )
    if result.problem:
        raise ValueError(result.problem)
    return {bug.id for bug in result.bugs}


def main() -> None:
    """Compare, print, and keep what was said."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--cases", type=int, default=3000)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    found = {}
    for block in BLOCKS:
        for name, test in CONSTRUCTS.items():
            said = difference(test, block, options.device, options.cases)
            found[f"{name} ({block})"] = said or "the same"
            print(f"{name} ({block}): {said or 'the same'}", flush=True)
    here, there = (bug_ids(d, options.cases * 10) for d in ("cpu", options.device))
    ids = f"{len(here & there)} the same, {len(here ^ there)} on one device only"
    found["ids of bugs of a network"] = ids
    print(f"ids of bugs of a network: {ids}")
    if options.json is not None:
        about = {"device": options.device, "cases": options.cases}
        options.json.write_text(json.dumps({**about, "found": found}, indent=1) + "\n")
    differs = any("differ" in said or "Error" in said for said in found.values())
    sys.exit(1 if differs or here != there else 0)


if __name__ == "__main__":
    main()
