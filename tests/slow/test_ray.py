"""Workers on Ray: the results of one process, whatever ends an actor or a machine."""

from __future__ import annotations

import threading
import time
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


@pytest.mark.parametrize(
    ("fault", "limits"),
    [
        ("segfault", {}),
        ("kill", {}),
        ("exit", {}),
        ("hang", {"call_timeout_s": 4.0}),
    ],
)
def test_exactly_the_cases_at_fault_crash(
    ray: Any,
    steps: Path,  # noqa: F811
    fault: str,
    limits: dict[str, float],
) -> None:
    result, _ = run(
        steps,
        settings={"fault": fault, "at": "37"},
        search="exhaustive",
        engine="ray",
        cpus=0.5,
        **limits,
    )
    want = truth(at=(37,))
    assert result.counts.crashed == want["crashed"] == 2
    assert result.counts.passed == want["passed"]
    assert result.counts.violations == want["violations"]
    assert all(crash.error for crash in result.crashes)


def test_a_machine_that_is_lost_costs_nothing() -> None:
    """Two raylets; one of them is removed in the middle of the campaign."""
    library("ray", extra="ray")
    with quiet():
        from ray.cluster_utils import Cluster

        cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
        second = cluster.add_node(num_cpus=1)
        cluster.wait_for_nodes()
    try:
        _lose(cluster, second)
    finally:
        with quiet():
            cluster.shutdown()


def _lose(cluster: Any, node: Any) -> None:
    import ray

    ray.init(address=cluster.address, log_to_driver=False)
    try:
        folder = Path(ray._private.utils.get_ray_temp_dir()).parent / "nomos_lost"
        path = _project(folder)
        options = {"search": "random", "cases": 4000, "batch": 40}
        one, _ = run(path, **options)
        timer = threading.Timer(3.0, cluster.remove_node, [node])
        timer.start()
        began = time.monotonic()
        many, _ = run(path, jobs=2, engine="ray", cpus=1, **options)
        timer.join()
        assert time.monotonic() - began > 3.0  # it was under way
        assert outcome(many) == outcome(one)
    finally:
        ray.shutdown()


def _project(folder: Path) -> Path:
    from tests.runner.conftest import DOMAIN, STEPS

    (folder / "specs").mkdir(parents=True, exist_ok=True)
    (folder / "pyproject.toml").touch()
    slow = DOMAIN.replace(
        "numbers = np.asarray(numbers)",
        "numbers = np.asarray(numbers); time.sleep(0.05)",
    )
    (folder / "steps.py").write_text(slow)
    (folder / "specs" / "steps.nom").write_text(STEPS)
    return folder / "specs" / "steps.nom"
