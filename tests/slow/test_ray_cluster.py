"""A cluster of two machines, one of which is lost in the middle of a campaign."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pytest

from tests.runner.conftest import DOMAIN, STEPS
from tests.runner.driving import outcome, run
from tests.slow.libraries import library, quiet

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore"),  # of Ray and what it brings
]


def test_a_machine_that_is_lost_costs_nothing(tmp_path: Path) -> None:
    ray = library("ray", extra="ray")
    with quiet():
        from ray.cluster_utils import Cluster

        cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
        second = cluster.add_node(num_cpus=1)
        cluster.wait_for_nodes()
    try:
        ray.init(address=cluster.address, log_to_driver=False)
        _lose(cluster, second, _project(tmp_path))
    finally:
        ray.shutdown()
        with quiet():
            cluster.shutdown()


def _lose(cluster: Any, node: Any, path: Path) -> None:
    options = {"search": "random", "cases": 8000, "batch": 40}
    one, _ = run(path, **options)

    timer = threading.Timer(8.0, lambda: cluster.remove_node(node))
    timer.start()
    began = time.monotonic()
    many, _ = run(path, jobs=2, engine="ray", cpus=1, **options)
    took = time.monotonic() - began
    timer.join()
    assert took > 8.0  # it was under way
    assert outcome(many) == outcome(one)


def _project(folder: Path) -> Path:
    (folder / "specs").mkdir()
    (folder / "pyproject.toml").touch()
    slow = DOMAIN.replace(
        "numbers = np.asarray(numbers)",
        "numbers = np.asarray(numbers); time.sleep(0.1)",
    )
    (folder / "steps.py").write_text(slow)
    (folder / "specs" / "steps.nom").write_text(STEPS)
    return folder / "specs" / "steps.nom"
