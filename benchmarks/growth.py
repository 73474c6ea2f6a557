"""How costs grow: each size is doubled or made ten times as large, and nothing else.

    python -m benchmarks.growth [--rounds 3] [--only columns rows ...]

CPU seconds of `nomos.run` with everything that is on by default, on made-up models that
cost next to nothing; medians of rounds. The exponent is the slope of the logarithms between
the first and the last size: 1 is linear, 0 no growth; the goal is at most 1.1.

- columns: of rows of real numbers, one of which the property changes;
- rows: of the inputs, of which the same 20,000 cases are drawn; what is counted is time;
- rate: the share of cases that are violations (the dearest beside the cheapest below it);
- k: calls of the model in a case, by a quantifier;
- specs: in a folder, each with its campaign; what is loaded once does not count;
- texts: words of each text.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before numpy is imported

import argparse
import math
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

import nomos

MOST = 1.1
STEP = """
input x1;
var x2 := x1[f0 := x1.f0 + randInt(1, 1000)];
output d1; output d2;
{
  d1 = predict(x1)
  d2 = predict(x2)
}
ensures d1 <= d2;
"""
MANY = """
input xs[SIZE];
output ds;
{
  ds = [predict(x) for x in xs]
}
ensures forall i < j in xs: xs[i].f0 <= xs[j].f0 ==> ds[i] <= ds[j] + 1;
"""
WORDS = """
input t1;
var t2 := strConcat(t1, " again");
output d1; output d2;
{
  d1 = predict(t1)
  d2 = predict(t2)
}
ensures d1 <= d2;
"""
DOMAIN = """
import numpy as np
from nomos import Domain, Schema, batched
from nomos.domain import Integer

class Numbers(Domain):
    schema = Schema(Integer("f0", 0, 2000), Integer("f1", 0, 2000))

    def inputs(self):
        return np.random.default_rng(0).integers(0, 1000, (2000, 2))

    @batched
    def predict(self, rows):
        return rows[:, 0] // 10
"""


def campaign(spec: str, inputs: Any, predict: Callable[..., Any], cases: int) -> None:
    """Run one campaign as `nomos.run` does by default, but that nothing is stored."""
    how: dict[str, Any] = {"search": "random", "budget": cases, "store": False}
    nomos.run(spec, inputs=inputs, predict=predict, **how)


def columns(size: int) -> None:
    """Run a campaign on rows of so many columns."""
    inputs = np.random.default_rng(0).random((500, size))
    campaign(STEP, inputs, lambda rows: rows[:, 0] > 3, 2000)


def rows(size: int) -> None:
    """Run a campaign on so many rows."""
    inputs = _many_rows(size)
    began = time.process_time()
    campaign(STEP, inputs, lambda rows: rows[:, 0] > 3, 20_000)
    _spent.append(time.process_time() - began)


def _many_rows(size: int) -> np.ndarray:
    found = np.empty((size, 8), dtype=np.float32)
    found[:] = np.random.default_rng(0).random((size, 1), dtype=np.float32)
    return found


def rate(size: int) -> None:
    """Run a campaign in which so many of 1,000 cases are violations."""
    inputs = np.random.default_rng(0).random((5000, 20))

    def predict(rows: np.ndarray) -> np.ndarray:
        mixed = (rows[:, 0] * 12.9898 + rows[:, 1] * 78.233) % 1
        return np.where((rows[:, 0] < 1) | (mixed >= size / 1000), 1, 0)

    campaign(STEP, inputs, predict, 100_000)


def calls(size: int) -> None:
    """Run a campaign in which each case asks for so many answers."""
    inputs = np.random.default_rng(0).random((500, 4))
    spec = MANY.replace("SIZE", str(size))
    campaign(spec, inputs, lambda rows: (rows[:, 0] > 0.5).astype(int), 1000)


def specs(size: int) -> None:
    """Run as many specs of a folder."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "pyproject.toml").write_text("")
        (root / "numbers_of.py").write_text(DOMAIN)
        for number in range(size):
            text = "import numbers_of;" + STEP.replace("1000", str(number + 10))
            (root / f"s{number}.nom").write_text(text)
        nomos.run_specs(root, budget=500, search="random", store=False)


def texts(size: int) -> None:
    """Run a campaign on texts of so many words."""
    rng = np.random.default_rng(0)
    inputs = [" ".join(map(str, rng.integers(0, 99, size))) for _ in range(300)]
    campaign(WORDS, inputs, lambda texts: [len(t) % 2 for t in texts], 1000)


# Sizes, and what is run for each.
GROWTHS: dict[str, tuple[Callable[[int], None], tuple[int, ...]]] = {
    "columns": (columns, (100, 1000, 10_000)),
    "rows": (rows, (40_000, 400_000, 4_000_000)),
    "rate": (rate, (1, 10, 100, 1000)),
    "k": (calls, (4, 8, 16, 32)),
    "specs": (specs, (4, 16, 64)),
    "texts": (texts, (10, 100, 1000)),
}
_spent: list[float] = []  # by those that time themselves: not the making of inputs


def seconds(run: Callable[[int], None], size: int) -> float:
    """Return the CPU seconds of one size."""
    _spent.clear()
    began = time.process_time()
    run(size)
    return _spent[0] if _spent else time.process_time() - began


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a line for each kind of growth."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="+", choices=GROWTHS, default=list(GROWTHS))
    options = parser.parse_args(arguments)
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    for name in options.only:
        run, sizes = GROWTHS[name]
        run(sizes[0])  # warm
        found = [
            median(seconds(run, size) for _ in range(options.rounds)) for size in sizes
        ]
        # Between neighbours, since what a campaign costs anyway hides the beginning.
        steps = [
            math.log(after / before) / math.log(large / small)
            for before, after, small, large in zip(
                found, found[1:], sizes, sizes[1:], strict=False
            )
        ]
        shown = "  ".join(
            f"{s:,}: {1e3 * t:.0f} ms" for s, t in zip(sizes, found, strict=True)
        )
        worst = max(steps)
        said = "" if worst <= MOST else ": goal not reached"
        print(f"{name:8} {shown}  exponent at most {worst:.2f}{said}", flush=True)


if __name__ == "__main__":
    main()
