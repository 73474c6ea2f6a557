"""A driver of very many workers, which answer in any order and die."""

from __future__ import annotations

from pathlib import Path

from benchmarks.simulated import CHUNK, SimulatedPool
from nomos.api import campaign_options
from nomos.results.result import Result
from nomos.runner.driver import Driver
from nomos.runner.jobs import Job

CASES = 500_000


def run(workers: int, deaths: float) -> tuple[Result, SimulatedPool]:
    pool = SimulatedPool(workers, bugs=0.01, deaths=deaths)
    options = campaign_options(budget=CASES, search="random", jobs=workers, batch=CHUNK)
    driver = Driver(Path(), options, pool=pool)
    (result,) = driver.run([Job(Path("simulated.nom"))], [0]).results
    return result, pool


def test_nothing_is_lost_and_nothing_counted_twice() -> None:
    result, pool = run(workers=200, deaths=0.3)
    counts = result.counts
    assert pool.died > 5
    assert counts.tests == counts.passed + counts.violations == CASES
    assert counts.unique_bugs == counts.violations > 0
    assert counts.crashed == 0
    cases = [bug.case for bug in result.bugs]
    assert cases == sorted(set(cases))
