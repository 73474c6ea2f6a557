"""How many cases a second a property of 1,000 inputs takes: group fairness.

python -m benchmarks.lists
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

import nomos
from nomos import Domain, Schema, batched
from nomos.diagnostics import Source
from nomos.domain import Category, Real
from nomos.domain.domain import offer_of
from nomos.engine.cases import RandomCases
from nomos.engine.choices import Stream
from nomos.engine.engine import Engine
from nomos.engine.judged import Limits
from nomos.engine.program import Program
from nomos.lang.checking.check import check_spec

SPEC = """
input xs[1000];
output ds;
{
  ds = [predict(x) for x in xs]
}
var women := count i in xs: xs[i].sex == "female" && ds[i] == 1;
var men := count i in xs: xs[i].sex == "male" && ds[i] == 1;
ensures fair: women / (count i in xs: xs[i].sex == "female")
  - men / (count i in xs: xs[i].sex == "male") in -0.1..0.1;
"""


class People(Domain):
    """Applicants, and a model that hardly looks at their sex."""

    schema = Schema(Category("sex", ("female", "male")), Real("income", 0, 100))

    def inputs(self) -> Any:
        rng = np.random.default_rng(0)
        return np.column_stack([rng.integers(0, 2, 5000), rng.uniform(0, 100, 5000)])

    @batched
    def predict(self, rows: Any) -> Any:
        return (rows[:, 1] + rows[:, 0] > 50).astype(int)


def main() -> None:
    """Print cases per second, the best of three runs."""
    checked = check_spec(Source("lists.nom", SPEC), "lists", offer_of(People))
    assert checked.spec is not None, checked.diagnostics
    program = Program(checked.spec, People())
    rates = []
    for _ in range(3):
        engine, count = Engine(program), 2000
        began = time.process_time()
        judged = engine.run(
            RandomCases(Stream(0, "lists"), 0, count), Limits(2**62, 2**62)
        )
        rates.append(count / (time.process_time() - began))
        assert len(judged) == count
    print(f"nomos {nomos.__version__}: {max(rates):,.0f} cases/s of 1,000 inputs each")


if __name__ == "__main__":
    main()
