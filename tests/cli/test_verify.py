"""`nomos verify` on a small project: what it prints, and its exit status."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from nomos.cli import cli
from nomos.cli.campaigns.verify import exit_status

pytest.importorskip("sklearn")
DOMAIN = """\
import numpy as np
from sklearn.tree import DecisionTreeClassifier

from nomos import Domain, Schema, batched
from nomos.domain import Integer

ROWS = np.array([[a, b] for a in range(10) for b in range(3)], np.float32)


class Steps(Domain):
    schema = Schema(Integer("a", 0, 9), Integer("b", 0, 2))
    verifies = {"predict": "model"}

    def __init__(self, low: int = 4):
        self.model = DecisionTreeClassifier().fit(ROWS, ROWS[:, 0] > low)

    def inputs(self):
        return ROWS

    @batched
    def predict(self, rows):
        return self.model.predict(rows).astype(int)
"""
SPEC = """\
import steps;
input x1;
var x2 := x1[a := x1.a + randInt(1, 3)];
requires x2.a <= 9;
output d1;
output d2;
{
  d1 = predict(x1)
  d2 = predict(x2)
}
ensures d1 <= d2;
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "steps.py").write_text(DOMAIN)
    (tmp_path / "up.nom").write_text(SPEC)
    (tmp_path / "down.nom").write_text(SPEC.replace("d1 <= d2", "d1 >= d2"))
    loop = "for _ in range(2): d2 = predict(x2)"
    (tmp_path / "loop.nom").write_text(SPEC.replace("d2 = predict(x2)", loop))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["verify", *arguments])


def test_a_proof_has_status_0_and_says_of_how_many_cases(folder: Path) -> None:
    done = run("up.nom")
    assert done.exit_code == 0
    assert done.output == "up: holds; proved: 0 of 72 cases of the schema\n"


def test_a_violation_has_status_1_and_shows_a_case(folder: Path) -> None:
    done = run("down.nom")
    assert done.exit_code == 1
    assert "down: violated; exact: 18 of 72 cases of the schema (25 %)" in done.output
    assert "`d1 >= d2` does not hold" in done.output
    assert "of the data" in done.output


def test_what_cannot_be_proved_has_status_3_and_its_place(folder: Path) -> None:
    done = run("loop.nom")
    assert done.exit_code == 3
    assert "loop: open; cannot be proved: the block is more than" in done.output
    assert "loop.nom:8:" in done.output
    assert run("loop.nom", "--fail-on", "open").exit_code == 1


def test_json_has_exact_numbers_and_the_witness(folder: Path) -> None:
    (result,) = json.loads(run("down.nom", "--json").output)["results"]
    assert (result["cases"], result["violating"], result["exact"]) == (
        72,
        [18, 18],
        True,
    )
    assert result["witness"]["nearest"]["x1"]["distance"] == 0
    assert result["assumptions"]


def test_scope_can_be_a_part_or_the_surroundings_of_rows(folder: Path) -> None:
    assert (
        "of 18 cases within a=5..,b=0..1"
        in run("down.nom", "--within", "a=5..,b=0..1").output
    )
    around = run("up.nom", "--around", "inputs", "--radius", "a=1", "--rows", "4")
    assert around.exit_code == 0
    assert "4 holds, of 4 rows (around a=1)" in around.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--within", "c=1"), "'c=1' is not FEATURE=RANGE of a, b"),
        (("--within", "a=x..3"), "is no range LOW..HIGH"),
        (("--within", "a=20..30"), "has no such value"),
        (("--radius", "a=1"), "--radius goes with --around"),
        (("--around", "inputs", "--radius", "a=near"), "is not FEATURE=DISTANCE"),
        (("--around", "inputs", "--radius", "z=1"), "no feature `z`"),
    ],
)
def test_wrong_scopes_are_refused(
    folder: Path, arguments: tuple[str, ...], message: str
) -> None:
    done = run("up.nom", *arguments)
    assert done.exit_code != 0
    assert message in done.output + str(done.exception)


def test_a_violation_outweighs_what_is_open() -> None:
    assert exit_status(["holds", "open", "violated"], "violated") == 1
    assert exit_status(["holds", "open"], "violated") == 3
    assert exit_status(["holds"], "open") == 0
