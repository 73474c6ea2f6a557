"""How fast cases with a list of 1,000 inputs are, on an example of group fairness.

    python -m benchmarks.lists [--cases 3000]

A thousand people are drawn for each case, and the shares of those who are granted a loan are
compared between two groups. Release 0.2 evaluated 16 to 19 such cases a second. Goal: 100
times as many. CPU time is printed beside wall-clock time, because others may use the machine.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from pathlib import Path

from nomos import api
from nomos.domain.find import build
from nomos.engine.cases import RandomCases
from nomos.engine.choices import Stream
from nomos.engine.engine import Engine
from nomos.engine.evaluated import Limits
from nomos.engine.program import Program

BEFORE = 19  # cases a second, of release 0.2
DOMAIN = """
import numpy as np

from nomos import Domain, Schema, batched
from nomos.domain import Category, Integer


class People(Domain):
    schema = Schema(Integer("income", 0, 100), Integer("debts", 0, 20), Category("sex", ("f", "m")))

    def inputs(self):
        rng = np.random.default_rng(0)
        return rng.integers([0, 0, 0], [101, 21, 2], (5000, 3)).astype(np.float32)

    @batched
    def predict(self, rows):
        return (rows[:, 0] - 2 * rows[:, 1] + 8 * rows[:, 2] > 34).astype(int)
"""
SPEC = """# Of a thousand people, men and women are granted a loan about equally often.
import people;

input xs[1000];

output ds;
{
  ds = [predict(x) for x in xs]
}
var women := count i in xs: xs[i].sex == "f";
var granted_women := count i in xs if xs[i].sex == "f": ds[i] == 1;
var granted_men := count i in xs if xs[i].sex == "m": ds[i] == 1;
ensures abs(granted_women / women - granted_men / (len(xs) - women)) <= 0.15;
"""


def main() -> None:
    """Print cases a second."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=3000)
    count = parser.parse_args().cases
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "parity.nom"
        path.write_text(SPEC)
        (path.parent / "people.py").write_text(DOMAIN)
        loaded = api.load_spec(path)
        assert loaded.checked.spec is not None
        assert loaded.imported is not None
        assert loaded.imported.domain is not None
        domain = build(loaded.imported.domain, {})
        engine = Engine(Program(loaded.checked.spec, domain))
        cases = RandomCases(Stream(0, "parity"), 0, count)
        engine.run(cases.part(0, 64), Limits(count, count))  # as a campaign begins
        began, cpu = time.perf_counter(), time.process_time()
        evaluated = engine.run(cases, Limits(count, count))
        wall, cpu = time.perf_counter() - began, time.process_time() - cpu
    print(f"{count:,} cases with 1,000 inputs: {len(evaluated.violations)} violated")
    print(f"{count / wall:,.0f} cases/s; {count / cpu:,.0f} for each second of CPU")
    print(
        f"{count / wall / BEFORE:,.0f} times the {BEFORE} cases/s of 0.2 (goal 100), "
        f"{count / cpu / BEFORE:,.0f} times by CPU; load {os.getloadavg()[0]:.1f}"
    )


if __name__ == "__main__":
    main()
