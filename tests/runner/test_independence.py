"""The results are the same for every batch size, mode of running and number of workers."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import pytest

from nomos.runner.jobs import Job
from tests.runner.driving import drive, outcome, run, truth
from tests.runner.test_driver import run_dying
from tests.sizes import one_of

CAMPAIGNS: dict[str, dict[str, Any]] = {
    "random": {"search": "random", "cases": 300},
    "exhaustive": {"search": "exhaustive"},
    "exhaustive, not all": {"search": "exhaustive", "budget": 130},
    "crashes": {
        "search": "random",
        "cases": 300,
        "settings": {"fault": "raise", "at": "7,23,31"},
        "crashes": 1000,
    },
    "too many crashes": {
        "search": "random",
        "settings": {"fault": "raise", "at": "7,23,31"},
        "crashes": 9,
    },
    "until a bug": {"search": "random", "until_bug": True},
    "until a bug, with crashes": {
        "search": "random",
        "until_bug": True,
        "settings": {"fault": "raise", "at": "7,12,14"},
        "crashes": 1000,
    },
    "calls": {"search": "random", "calls": 321, "groups": False, "shrink": False},
    "few run in isolation": {"search": "random", "cases": 500, "confirm": 6},
    "all run in isolation": {"search": "exhaustive", "confirm": "all"},
}


def found_by(path: Path, **options: Any) -> dict[str, Any]:
    """Return what a campaign finds, without the name of the way it ran."""
    found = outcome(run(path, **options)[0])
    del found["mode"]
    return found


@pytest.mark.parametrize(
    ("spec", "name"),
    one_of(3, product(("steps", "late", "walks"), CAMPAIGNS)),
)
def test_batches_and_ways(steps: Path, spec: str, name: str) -> None:
    path, options = steps.with_stem(spec), CAMPAIGNS[name]
    if spec == "walks" and options["search"] == "exhaustive":
        pytest.skip("its block draws, so its cases cannot be listed")
    want = found_by(path, **options)
    modes = (
        ["coroutines", "sequential"]
        if spec == "walks"
        else ["vectorized", "coroutines", "sequential"]
    )
    for number, batch in enumerate((1, 7, 512)):
        mode = modes[number % len(modes)]
        got = found_by(path, batch=batch, mode=mode, **options)
        assert got == want, (batch, mode)


def paths_for(steps: Path, name: str) -> list[Path]:
    specs = ["steps", "late", "walks"]
    if CAMPAIGNS[name]["search"] == "exhaustive":
        specs.remove("walks")  # its block draws, so its cases cannot be listed
    return [steps.with_stem(spec) for spec in specs]


@pytest.mark.parametrize("name", one_of(2, CAMPAIGNS, first=1))
def test_workers_that_answer_in_any_order(steps: Path, name: str) -> None:
    paths, options = paths_for(steps, name), CAMPAIGNS[name]
    settings = options.get("settings", {})
    how = {key: value for key, value in options.items() if key != "settings"}
    one, _, _ = drive(paths, seeds=[0, 1], **options)
    many = run_dying([Job(path, settings) for path in paths], [0, 1], batch=50, **how)
    assert len(one.results) == 2 * len(paths)
    assert [outcome(r) for r in many.results] == [outcome(r) for r in one.results]


PROCESSES = {"random": 3, "until a bug, with crashes": 3, "exhaustive": 2}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[] if name in PROCESSES else [pytest.mark.slow])
        for name in CAMPAIGNS
    ],
)
def test_workers_in_processes(steps: Path, name: str) -> None:
    paths, jobs = paths_for(steps, name), PROCESSES.get(name, 2)
    one, _, _ = drive(paths, seeds=[0, 1], **CAMPAIGNS[name])
    many, _, _ = drive(paths, seeds=[0, 1], jobs=jobs, batch=50, **CAMPAIGNS[name])
    assert [outcome(r) for r in many.results] == [outcome(r) for r in one.results]


@pytest.mark.parametrize("mode", ["vectorized", "coroutines", "sequential"])
def test_every_case_is_judged_as_by_hand(steps: Path, mode: str) -> None:
    result, _ = run(steps, search="exhaustive", mode=mode)
    want = truth()
    assert result.counts.passed == want["passed"]
    assert result.counts.violations == result.counts.unique_bugs == want["violations"]
    assert result.counts.discarded == want["discarded"]


def test_answers_that_depend_on_the_batch_are_told_for_every_batch(
    steps: Path,
) -> None:
    options = {"search": "exhaustive", "settings": {"fault": "crowd"}, "confirm": "all"}
    for batch in (20, 64, 4096):
        counts = outcome(run(steps, batch=batch, **options)[0])["counts"]
        assert counts["flaky"] > 0
        assert counts["confirmed"] > 0
