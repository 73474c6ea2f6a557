"""Many workers: how much faster they are, and how many one driver keeps busy.

    python -m benchmarks.scaling                       one and two processes, two on Ray
    python -m benchmarks.scaling --simulate 1000       a driver of 1,000 workers
    python -m benchmarks.scaling --memory 100000000    memory of an exhaustive search

The first takes the time on the clock, so it needs a machine with two idle cores; its
load is printed. The second feeds the driver with judged chunks as so many workers would
send them, bugs at a rate of 1 %, workers that die now and then; its CPU time, less that of
the simulation, and its memory are printed on the way. The third tries every case of a
property and prints the largest memory of the driver and of its workers.
"""

from __future__ import annotations

import argparse
import os
import resource
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before numpy is imported

import nomos
from benchmarks.simulated import CHUNK, SimulatedPool
from nomos.api import campaign_options
from nomos.results.result import Result
from nomos.runner.campaigns.violations import MOST_TOLD_APART
from nomos.runner.driver import Driver  # the simulated workers need the driver itself
from nomos.runner.events import Event, Progress
from nomos.runner.jobs import Job

DOMAIN = '''
import numpy as np
from nomos import Domain, Schema, batched
from nomos.domain import Integer, Real


class Table(Domain):
    """Rows of 30 features, and a network that is as much work as one of a real size."""

    schema = Schema(Integer("number", 0, 2**40), *(Real(f"f{i}", 0, 1) for i in range(29)))

    def __init__(self, rows: int = 1000, layers: int = 12) -> None:
        rng = np.random.default_rng(0)
        self.rows = np.hstack([np.arange(rows)[:, None], rng.random((rows, 29))])
        self.weights = [rng.normal(0, 0.2, (30, 30)) for _ in range(layers)]

    def inputs(self):
        return self.rows

    @batched
    def predict(self, rows):
        values = rows
        for weights in self.weights:
            values = np.tanh(values @ weights)
        return values[:, 0] > -0.99
'''
SPEC = """
import table_domain;
input x1;
var x2 := x1[number := x1.number + randInt(1, 10000)];
output d1;
output d2;
{
  d1 = predict(x1)
  d2 = predict(x2)
}
ensures d1 == d2 || d1 != d2;
"""


@contextmanager
def project() -> Iterator[Path]:
    """Make a project of one property in a folder; return its spec."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "pyproject.toml").write_text("")  # the root of the project
        (Path(folder) / "table_domain.py").write_text(DOMAIN)
        spec = Path(folder) / "any.nom"
        spec.write_text(SPEC)
        yield spec


def speed(cases: int, rounds: int) -> None:
    """Print the time on the clock of one process, two, and two on Ray, taking turns."""
    kinds: dict[str, dict[str, object]] = {
        "--jobs 1": {},
        "--jobs 2": {"jobs": 2},
        "--engine ray --jobs 2": {"jobs": 2, "engine": "ray"},
    }
    try:
        import ray

        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    except ImportError:
        del kinds["--engine ray --jobs 2"]
    took: dict[str, list[Took]] = {name: [] for name in kinds}
    print(f"load of the machine: {os.getloadavg()[0]:.1f} of {os.cpu_count()} cores")
    with project() as spec:
        for _ in range(rounds):
            for name, options in kinds.items():
                took[name].append(timed(spec, cases, options))
    first = min(one.clock for one in took["--jobs 1"])
    cpu = min(one.driver for one in took["--jobs 1"])
    for name, times in took.items():
        clock = min(one.clock for one in times)
        print(
            f"{name:24}{cases / clock:>12,.0f} cases/s {first / clock:>6.2f}x", end=""
        )
        if name == "--jobs 2":
            driver = min(one.driver for one in times)
            workers = min(one.workers for one in times)
            idle = cpu / max(driver, workers / 2)
            print(f"; CPU: driver {driver:.2f} s, workers {workers:.2f} s,", end="")
            print(f" so {idle:.2f}x where both have a core", end="")
        print()
    print(f"load of the machine: {os.getloadavg()[0]:.1f} of {os.cpu_count()} cores")


@dataclass(frozen=True, slots=True)
class Took:
    """Seconds of a campaign: on the clock, and of CPU in driver and workers."""

    clock: float
    driver: float
    workers: float


def timed(spec: Path, cases: int, options: dict[str, object]) -> Took:
    """Run a campaign; the CPU time has the start of the workers in it."""
    ours = time.process_time()
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    result = nomos.run_specs(
        spec, store=False, budget=cases, search="random", **options
    )[0]
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert result.counts.tests == cases
    workers = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Took(result.counts.seconds, time.process_time() - ours, workers)


def memory_mb(pid: int | str = "self") -> float:
    """Return how much memory a process holds now."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGESIZE") / 2**20


class Watch:
    """Prints, ten times in a campaign, how fast chunks are merged and the memory."""

    def __init__(self, pool: SimulatedPool, cases: int) -> None:
        self.pool = pool
        self.cases = cases
        self.began = time.process_time()
        self._next = 0.0

    def __call__(self, event: Event) -> None:
        """Hear how far the campaign is."""
        if isinstance(event, Progress) and event.counts.tests >= self._next:
            self._next += self.cases / 10
            print(
                f"{event.counts.tests:>16,} cases {self.rate():>8,.0f} chunks/s"
                f" {memory_mb():>7.0f} MB {event.counts.unique_bugs:>13,} bugs",
                flush=True,
            )

    def rate(self) -> float:
        """Return the chunks merged in a second of the driver's CPU."""
        spent = time.process_time() - self.began - self.pool.seconds
        return self.pool.chunks / spent if spent else 0.0


def simulate(workers: int, cases: int) -> None:
    """Print what one driver of so many workers can do."""
    pool = SimulatedPool(workers, bugs=0.01, deaths=0.001)
    options = campaign_options(budget=cases, search="random", jobs=workers, batch=CHUNK)
    watch = Watch(pool, cases)
    driver = Driver(Path(), options, handlers=[watch], pool=pool)
    (result,) = driver.run([Job(Path("simulated.nom"))], [0]).results
    check(result, cases)
    rate = watch.rate()
    print(f"{pool.chunks:,} chunks, {pool.died:,} workers died, {rate:,.0f} chunks/s")
    for seconds in (0.1, 0.5, 2.0):
        busy = rate * seconds
        print(f"chunks of {seconds} s: one driver keeps {busy:,.0f} workers busy")


def check(result: Result, cases: int) -> None:
    """Assert that nothing was lost and nothing counted twice."""
    counts = result.counts
    assert counts.tests == cases == counts.passed + counts.violations, result.reason
    assert counts.unique_bugs == min(counts.violations, MOST_TOLD_APART)


class Largest:
    """Looks at the memory of this process and its children while it is entered."""

    def __enter__(self) -> Largest:
        self.driver = self.worker = 0.0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _look(self) -> None:
        me = os.getpid()
        while not self._over.wait(0.2):
            self.driver = max(self.driver, memory_mb())
            for pid in Path(f"/proc/{me}/task/{me}/children").read_text().split():
                with suppress(OSError):  # it has ended
                    self.worker = max(self.worker, memory_mb(int(pid)))


def memory(cases: int, jobs: int) -> None:
    """Try every case and print the largest memory."""
    rows = max(1, cases // 10_000)  # each of them is changed in 10,000 ways
    settings = {"rows": str(rows), "layers": "0"}
    with project() as spec, Largest() as largest:
        began = time.perf_counter()
        result = nomos.run_specs(
            spec, store=False, settings=settings, search="exhaustive", jobs=jobs
        )[0]
        seconds = time.perf_counter() - began
    assert result.is_complete
    assert result.counts.tests == rows * 10_000
    print(
        f"--jobs {jobs}: {result.counts.tests:,} cases in {seconds:.0f} s; driver"
        f" {largest.driver:.0f} MB, largest worker {largest.worker:.0f} MB"
    )


def main() -> None:
    """Print what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--simulate", type=int, metavar="WORKERS")
    parser.add_argument("--memory", type=int, metavar="CASES")
    parser.add_argument("--jobs", type=int, nargs="+", default=[1, 2])
    parser.add_argument(
        "--cases", type=int, help="of --simulate 10**10, else 6 * 10**6"
    )
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    if options.simulate:
        simulate(options.simulate, options.cases or 10**10)
    elif options.memory:
        for jobs in options.jobs:
            memory(options.memory, jobs)
    else:
        speed(options.cases or 6 * 10**6, options.rounds)


if __name__ == "__main__":
    main()
