"""Models that answer with numbers are evaluated by how near these come to their labels."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor

from nomos.train import repair
from nomos.train.report import repair_data

DOMAIN = """
import numpy as np

from nomos import Domain, Schema, batched, load_model
from nomos.domain import Category, Integer

SCHEMA = Schema(
    Integer("rooms", 1, 9), Integer("age", 0, 90), Category("town", ("Aix", "Bern"))
)


def make(count, seed):
    rng = np.random.default_rng(seed)
    rows = rng.integers([1, 0, 0], [10, 91, 2], (count, 3))
    return rows.astype(float), rows @ [9, -0.3, 20] + rng.normal(0, 25, count)


class Homes(Domain):
    schema = SCHEMA

    def __init__(self, model: str) -> None:
        self.rows, self.rents = make(300, 1)
        self.model = load_model(model, schema=SCHEMA)

    def inputs(self):
        return self.rows

    def labels(self):
        return self.rents

    def training(self):
        return make(600, 2)

    @batched
    def rent(self, rows):
        return self.model.predict(rows)
"""
SPEC = """
    import homes;
    input x1;
    var x2 := x1[rooms := x1.rooms + 1];
    requires x2.rooms <= 9;
    output d1;
    output d2;
    {
      d1 = rent(x1)
      d2 = rent(x2)
    }
    ensures ENSURES;
"""


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "homes.py").write_text(DOMAIN)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def repaired(world: Path, ensures: str, constraints: Any = None, **plan: Any) -> Any:
    made: dict[str, Any] = {}
    exec(DOMAIN, made)
    rows, rents = made["make"](600, 2)
    frame = pd.DataFrame(rows, columns=["rooms", "age", "town"])
    towns = pd.Categorical(np.array(["Aix", "Bern"])[rows[:, 2].astype(int)])
    model = HistGradientBoostingRegressor(
        max_iter=40, monotonic_cst=constraints, random_state=0
    ).fit(frame.assign(town=towns), rents)
    spec = world / "rooms.nom"
    spec.write_text(dedent(SPEC).replace("ENSURES", ensures))
    return repair(spec, model, **plan)


def test_a_monotonicity_with_a_tolerance_is_trained_for_beside_constraints_by_name(
    world: Path,
) -> None:
    result = repaired(world, "d1 <= d2 + 0.1", {"age": -1}, points=20)
    assert "may only rise with `rooms`" in result.notes["rooms"]
    assert result.before.total_rate > 0 == result.after.total_rate
    assert result.model.estimator.monotonic_cst == [1, -1, 0]


def test_numbers_are_judged_by_r2_and_rmse_with_intervals(world: Path) -> None:
    result = repaired(world, "d1 <= d2", points=20)
    before, after = result.before.quality, result.after.quality
    assert (before.name, len(before.records)) == ("R²", 300)
    ends = before.interval
    assert ends.low < before.value < ends.high < 1
    made: dict[str, Any] = {}
    exec(DOMAIN, made)
    rows, rents = made["make"](300, 1)
    errors = rents - np.asarray(result.model.predict(rows))
    assert after.value == pytest.approx(1 - (errors**2).mean() / rents.var())
    assert after.rmse == pytest.approx((errors**2).mean() ** 0.5)
    data = repair_data(result)
    assert data["after"]["accuracy"]["rmse"] == after.rmse
    assert data["change"]["low"] < data["change"]["points"] < data["change"]["high"]
    # Rents that fall with each room are far from all labels.
    worse = repaired(world, "d1 >= d2", points=5)
    assert worse.verdict == "not repaired"
    assert "R² " in worse.statement and "the specs may ask for what" in worse.statement


def test_what_numbers_cannot_be_trained_for_is_said(world: Path) -> None:
    result = repaired(world, "abs(d2 - d1) >= 3", rounds=2)
    assert "numbers have no labels: nothing was done" in result.notes["rooms"]
    assert result.verdict == "not repaired"
    assert len(result.rounds) == 2  # a round that changes nothing ends the repair
