"""A store with very many bugs: what listing them takes, and starting a run on it.

    python -m benchmarks.store [--bugs 1000000]

A property that never holds is run until so many bugs are in its store, in a folder that
is deleted at the end. Then the commands of a user are run in processes of their own, and
their CPU time is taken, start of Python included; a run on an empty store stands beside.
Goals, for 1,000,000 bugs: `nomos bugs --limit 20` within 0.3 s of CPU, and a run that
starts as fast as on an empty store.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

import nomos

DOMAIN = '''
import numpy as np
from nomos import Domain, Schema, batched
from nomos.domain import Integer


class Numbers(Domain):
    """Whole numbers, and a model that says the opposite of what it should."""

    schema = Schema(Integer("number", 0, 2**40))

    def inputs(self):
        return np.arange(1000.0)[:, None]

    @batched
    def predict(self, rows):
        return -rows[:, 0]
'''
SPEC = """
import numbers_domain;
input x1;
var x2 := x1[number := x1.number + randInt(1, 1000000000)];
output d1;
output d2;
{
  d1 = predict(x1)
  d2 = predict(x2)
}
ensures d1 <= d2;
"""
ROUNDS = 5


@contextmanager
def project() -> Iterator[Path]:
    """Make a project of one property in a folder; return its spec."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "pyproject.toml").write_text("")  # the root of the project
        (Path(folder) / "numbers_domain.py").write_text(DOMAIN)
        spec = Path(folder) / "rises.nom"
        spec.write_text(SPEC)
        yield spec


def cpu_of(folder: Path, *arguments: str) -> float:
    """Return the CPU seconds that a command takes, the median of some runs."""
    command = [sys.executable, "-m", "nomos", *arguments]
    took = []
    for _ in range(ROUNDS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        assert done.returncode in (0, 1), done.stderr
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        took.append(spent)
    return median(took)


def main() -> None:
    """Fill a store and print what the commands take."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bugs", type=int, default=1_000_000)
    bugs = parser.parse_args().bugs
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    run = ("run", "rises.nom", "--budget", "100", "--search", "random", "-q")
    with project() as spec, project() as other:
        began = time.process_time()
        result = nomos.run(spec, budget=bugs, search="random")
        seconds = time.process_time() - began
        found = result.counts.unique_bugs
        size = sum(f.stat().st_size for f in spec.parent.rglob("*") if f.is_file())
        print(f"{found:,} bugs stored, {1e6 * seconds / found:.0f} µs of CPU for each,")
        print(f"{size / 2**20:.0f} MB on disk")
        listed = cpu_of(spec.parent, "bugs", "--limit", "20")
        print(f"nomos bugs --limit 20      {listed:6.2f} s of CPU (goal: 0.3)")
        shown = cpu_of(spec.parent, "show", result.bugs[-1].id)
        print(f"nomos show ID              {shown:6.2f} s of CPU")
        empty = cpu_of(other.parent, *run, "--no-store")
        print(f"nomos run, without a store {empty:6.2f} s of CPU")
        full = cpu_of(spec.parent, *run)
        first = cpu_of(other.parent, *run)
        print(f"nomos run, a small store   {first:6.2f} s of CPU")
        print(f"nomos run, the full store  {full:6.2f} s of CPU")


if __name__ == "__main__":
    main()
