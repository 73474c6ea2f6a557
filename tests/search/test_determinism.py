"""A search gives the same for every batch, mode and number of workers, and resumed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nomos.store.store import Store
from tests.runner.driving import drive, outcome, run
from tests.runner.test_resuming import comparable, run_stored
from tests.sizes import size

SEARCHES: dict[str, dict[str, Any]] = {
    "guided": {"search": "guided", "shrink": False},
    "generated": {"inputs": "generated", "shrink": False},
    "diverse": {"search": "diverse", "shrink": False},
    "cuts": {"search": "guided", "shrink": False, "settings": {"kind": "tree"}},
}
SPECS = ("income", "pairs", "loops")


def found_by(path: Path, **options: Any) -> dict[str, Any]:
    found = outcome(run(path, **options)[0])
    del found["mode"]
    return found


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize(
    "cases", [size(400, 700), pytest.param(1500, marks=pytest.mark.slow)]
)
def test_batches_and_ways(loans: Path, search: str, spec: str, cases: int) -> None:
    path, options = loans.with_stem(spec), {**SEARCHES[search], "cases": cases}
    want = found_by(path, **options)
    assert want["counts"]["tests"] == cases
    modes = (
        ["coroutines", "sequential"]
        if spec == "loops"
        else ["vectorized", "coroutines", "sequential"]
    )
    for number, batch in enumerate((7, 64, 4096)):
        mode = modes[number % len(modes)]
        assert found_by(path, batch=batch, mode=mode, **options) == want, (batch, mode)


@pytest.mark.parametrize(
    "search",
    [
        pytest.param(name, marks=[pytest.mark.slow] if name == "cuts" else [])
        for name in SEARCHES  # each worker has to load the library of trees
    ],
)
def test_workers(loans: Path, search: str) -> None:
    paths = [loans.with_stem(spec) for spec in SPECS]
    options = {**SEARCHES[search], "cases": size(300, 700), "seeds": [0, 1]}
    one, _, _ = drive(paths, **options)
    many, _, _ = drive(paths, jobs=2, batch=50, **options)
    assert len(one.results) == 6
    assert [outcome(r) for r in many.results] == [outcome(r) for r in one.results]


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("crashes", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_killed_again_and_again_it_comes_to_the_same(
    loans: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    search: str,
    crashes: bool,
) -> None:
    loans = loans if search == "guided" else loans.with_stem("pairs")  # it has some
    monkeypatch.setattr("nomos.runner.campaigns.recording._CHECKPOINT_S", 0.0)
    options = {**SEARCHES[search], "cases": size(1500, 3000), "crashes": 3000}
    fault = {"fault": "raise"} if crashes else {}
    options["settings"] = options.get("settings", {}) | fault
    whole = run_stored(loans, tmp_path / "whole", **options)
    assert whole is not None
    assert whole.results[0].counts.unique_bugs > 0
    done, deaths = None, 0
    while done is None:
        die_at = 2 + deaths if deaths < 4 else None
        done = run_stored(
            loans, tmp_path / "killed", die_at=die_at, resume=True, **options
        )
        deaths += 1
    assert deaths == 5
    assert comparable(done.results[0]) == comparable(whole.results[0])
    with (
        Store.open(tmp_path / "whole") as first,
        Store.open(tmp_path / "killed") as second,
    ):
        assert second.rows(1) == first.rows(1)
        assert second.bugs() == first.bugs()


def test_a_tree_in_verifies_is_searched_by_its_probabilities(loans: Path) -> None:
    done, _, warnings = drive([loans], **SEARCHES["cuts"], cases=300)
    assert done.results[0].search == "guided"
    assert warnings == []


def test_a_seed_has_its_own_cases(loans: Path) -> None:
    for options in SEARCHES.values():
        path = loans.with_stem("pairs")
        first, second = (run(path, seed=s, cases=500, **options)[0] for s in (1, 2))
        assert first.bugs != second.bugs
