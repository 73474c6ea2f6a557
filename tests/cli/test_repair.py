"""`nomos repair` on the command line: what it prints, writes, refuses and ends with."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from nomos.cli import cli
from nomos.errors import NomosError

pytest.importorskip("sklearn")

DOMAIN = '''
import numpy as np

from nomos import Domain, Schema, batched, load_model
from nomos.domain import Integer


class Shop(Domain):
    """Customers, and a model that says who gets a discount."""

    schema = Schema(Integer("orders", 0, 50), Integer("years", 0, 20))

    def __init__(self, model: str) -> None:
        self.rows = np.random.default_rng(1).integers(0, [51, 21], (240, 2))
        self.model = load_model(model)

    def inputs(self):
        return self.rows.astype(np.float32)

    def labels(self):
        return (self.rows[:, 0] > 20).astype(int)

    @batched
    def discount(self, rows):
        return self.model.predict(rows)
'''
SPEC = """\
# Who orders more keeps the discount.
import shop;
input x1;
var x2 := x1[orders := x1.orders + randInt(1, 9)];
requires x2.orders <= 50;
output d1;
output d2;
{
  d1 = discount(x1)
  d2 = discount(x2)
}
ensures d1 <= d2;
"""


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    from sklearn.ensemble import HistGradientBoostingClassifier

    monkeypatch.chdir(tmp_path)
    Path("pyproject.toml").write_text("")
    Path("shop.py").write_text(DOMAIN)
    Path("orders.nom").write_text(SPEC)
    rng = np.random.default_rng(2)
    rows = rng.integers(0, [51, 21], (500, 2)).astype(np.float32)
    labels = (rows[:, 0] + rng.normal(0, 12, 500) > 20).astype(int)
    model = HistGradientBoostingClassifier(max_iter=20, random_state=0)
    Path("model.pkl").write_bytes(pickle.dumps(model.fit(rows, labels)))
    lines = (f"{a:.0f},{b:.0f},{c}" for (a, b), c in zip(rows, labels, strict=True))
    Path("data.csv").write_text("orders,years,label\n" + "\n".join(lines) + "\n")
    return tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["repair", *arguments])


REPAIR = ("orders.nom", "--model", "model.pkl", "--trust", "--points", "10")


def test_repair_shows_the_trade_off_and_writes_the_model(shop: Path) -> None:
    done = run(*REPAIR, "--data", "data.csv", "--label", "label", "--json", "r.json")
    assert done.exit_code == 0, done.output
    lines = [line.strip() for line in done.output.splitlines()]
    assert lines[0] == (
        "training again: trained on 500 records of the data given, evaluated on 240 others"
    )
    assert lines[1].startswith("before: violations ")
    assert any(line.startswith("orders ") and " % (" in line for line in lines)
    assert any(line.startswith("accuracy ") for line in lines)
    assert any(line.startswith("note: orders: a monotonicity") for line in lines)
    assert "repaired: violations" in done.output
    assert lines[-1] == "written: model.repaired.pkl"
    assert Path("model.repaired.pkl").exists()
    data = json.loads(Path("r.json").read_text())["repair"]
    assert data["verdict"] == "repaired"
    before, after = data["before"]["rates"]["orders"], data["after"]["rates"]["orders"]
    assert before["count"] > 0 == after["count"]
    assert before["low"] < before["count"] / before["total"] < before["high"]


def test_repair_takes_part_of_the_inputs_where_there_is_no_data(shop: Path) -> None:
    done = run(*REPAIR, "--out", "other.pkl")
    assert "evaluated on 240 of Shop.inputs(), by cross-validation" in done.output
    assert Path("other.pkl").exists() == (done.exit_code == 0)


def test_repair_of_a_sound_model_says_so_and_writes_nothing(shop: Path) -> None:
    from sklearn.tree import DecisionTreeClassifier

    tree = DecisionTreeClassifier(max_depth=1).fit([[0.0, 0], [50, 0]], [0, 1])
    Path("model.pkl").write_bytes(pickle.dumps(tree))
    done = run(*REPAIR)
    assert done.exit_code == 0
    assert "clean: no case of the inputs is violated" in done.output
    assert not Path("model.repaired.pkl").exists()
    unwritten = run(*REPAIR, "--json", "/dev/full")
    assert "/dev/full was not written" in unwritten.output
    assert unwritten.exit_code == 3


def test_repair_without_success_ends_with_status_1(shop: Path) -> None:
    Path("orders.nom").write_text(SPEC.replace("d1 <= d2", "d1 > d2"))
    done = run(*REPAIR, "--rounds", "3", "--quiet")
    assert done.exit_code == 1
    assert done.output == ""
    assert not Path("model.repaired.pkl").exists()


def error(*arguments: str) -> str:
    """Return what the command line would print as an error."""
    done = run(*arguments)
    assert isinstance(done.exception, NomosError), done.output
    return str(done.exception)


def test_repair_refuses_what_it_cannot_do_with_a_remedy(shop: Path) -> None:
    assert "load it with --trust" in error("orders.nom", "--model", "model.pkl")
    Path("model.repaired.pkl").write_text("mine")
    assert "name another file with --out" in error(*REPAIR)
    assert Path("model.repaired.pkl").read_text() == "mine"
    done = run(*REPAIR, "--data", "data.csv")
    assert done.exit_code == 2
    assert "--data and --label go together" in done.output


def test_a_bad_spec_stops_a_repair_at_once(shop: Path) -> None:
    Path("orders.nom").write_text(SPEC.replace("d1 <= d2", "d1 <= d3"))
    done: Any = run(*REPAIR)
    assert done.exit_code == 2
    assert "`d3` is not declared" in done.output
