"""Workers on Ray: the results of one process, whatever ends an actor or a machine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.runner.conftest import steps  # noqa: F401 - a fixture
from tests.runner.driving import drive, outcome, run, truth
from tests.slow.libraries import library, quiet

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore"),  # of Ray and what it brings
]


@pytest.fixture(scope="module")
def ray() -> Iterator[Any]:
    module = library("ray", extra="ray")
    with quiet():
        module.init(num_cpus=3, include_dashboard=False, log_to_driver=False)
        yield module
        module.shutdown()


@pytest.mark.parametrize("jobs", [1, 3])
def test_the_results_are_those_of_one_process(ray: Any, steps: Path, jobs: int) -> None:  # noqa: F811
    paths = [steps, steps.with_stem("walks")]
    options = {"search": "random", "cases": 500, "seeds": [0, 1], "batch": 60}
    one, _, _ = drive(paths, **options)
    many, _, _ = drive(paths, jobs=jobs, engine="ray", cpus=0.5, **options)
    assert [outcome(r) for r in many.results] == [outcome(r) for r in one.results]
    assert ray.is_initialized()  # what was there is left as it was


@pytest.mark.parametrize("fault", ["segfault", "kill", "exit"])
def test_exactly_the_cases_at_fault_crash(
    ray: Any,
    steps: Path,  # noqa: F811
    fault: str,
) -> None:
    result, _ = run(
        steps,
        settings={"fault": fault, "at": "37"},
        search="exhaustive",
        engine="ray",
        cpus=0.5,
    )
    want = truth(at=(37,))
    assert result.counts.crashed == want["crashed"] == 2
    assert result.counts.passed == want["passed"]
    assert result.counts.violations == want["violations"]
    assert all(crash.error for crash in result.crashes)
