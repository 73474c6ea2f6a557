"""`nomos verify` on a small project: what it prints, and its exit status."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from nomos.cli import cli
from nomos.store.store import Store

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
    said, assumed = done.output.splitlines()
    assert said == "up: holds; proved: 0 of 72 cases of the schema"
    assert assumed.startswith("assumed: the structure that was read is the model: ")


def test_a_quiet_proof_prints_nothing_but_errors(folder: Path) -> None:
    done = run("up.nom", "down.nom", "--quiet")
    assert (done.exit_code, done.output) == (1, "")
    done = run("up.nom", "--quiet", "--time", "1e-9")
    assert (done.exit_code, done.stdout) == (3, "")
    assert done.stderr.startswith("error: up: undecided; not proved: the time is up")


def test_inputs_of_which_no_proof_speaks_are_counted(folder: Path) -> None:
    own = "np.vstack([ROWS, [[np.nan, 1]], [[3, 7]]])"
    (folder / "steps.py").write_text(DOMAIN.replace("return ROWS", f"return {own}"))
    done = run("up.nom")
    assert done.exit_code == 0
    said = "2 of 32 inputs lie outside the schema, with a value missing or out of range"
    assert f"{said} (a of 1, b of 1): rows 30, 31; no proof speaks" in done.output
    run("up.nom", "--json", "out.json", "--html", "page.html")
    (result,) = json.loads((folder / "out.json").read_text())["runs"]
    expected = {
        "inputs": 32,
        "count": 2,
        "rows": [30, 31],
        "features": {"a": 1, "b": 1},
    }
    assert result["proof"]["outside"] == expected
    assert said in (folder / "page.html").read_text()


def test_an_implication_that_says_nothing_is_no_proof(folder: Path) -> None:
    text = (folder / "up.nom").read_text()
    idle = text.replace("ensures ", "ensures x1.a > 100 ==> ")
    (folder / "idle.nom").write_text(idle)
    done = run("idle.nom", "--json", "out.json", "--html", "page.html")
    said = "no case has what stands before `==>` in `x1.a > 100 ==> "
    assert done.exit_code == 3 and f"idle: undecided; not proved: {said}" in done.output
    (result,) = json.loads((folder / "out.json").read_text())["runs"]
    assert result["verdict"] == "undecided"
    (premise,) = result["proof"]["premises"]
    assert (premise["least"], premise["most"]) == (0, 0)
    assert run("idle.nom", "--fail-on", "undecided").exit_code == 1
    (folder / "some.nom").write_text(idle.replace("100", "3"))
    done = run("some.nom", "--html", "page.html")
    assert done.exit_code == 0
    page = (folder / "page.html").read_text()
    for words in (" cases have what stands before", "<li>The structure that was read"):
        assert words in page, words
    assert "\n36 cases have what stands before `==>` in `x1.a > 3" in done.output


def test_a_violation_has_status_1_and_shows_a_case(folder: Path) -> None:
    done = run("down.nom")
    assert done.exit_code == 1
    assert "down: violated; exact: 18 of 72 cases of the schema (25 %)" in done.output
    assert "`d1 >= d2` does not hold" in done.output
    assert "of the data" in done.output


def test_what_cannot_be_proved_has_status_3_and_its_place(folder: Path) -> None:
    done = run("loop.nom")
    assert done.exit_code == 3
    assert "loop: undecided; not proved: the block is more than" in done.output
    assert "loop.nom:8:" in done.output
    assert run("loop.nom", "--fail-on", "undecided").exit_code == 1


def test_json_has_exact_numbers_and_the_witness(folder: Path) -> None:
    assert run("down.nom", "--json", "out.json").exit_code == 1
    (result,) = json.loads((folder / "out.json").read_text())["runs"]
    assert (result["verdict"], result["scope"]) == ("violated", "schema")
    proof = result["proof"]
    assert (proof["cases"], proof["violating"]) == (72, [18, 18])
    assert proof["nearest"]["x1"]["changed"] == []
    assert proof["assumptions"]


def test_scope_can_be_a_part_or_the_surroundings_of_rows(folder: Path) -> None:
    assert (
        "of 18 cases within a=5..,b=0..1"
        in run("down.nom", "--within", "a=5..,b=0..1").output
    )
    around = run("up.nom", "--around", "inputs", "--radius", "a=1", "--rows", "4")
    assert around.exit_code == 0
    assert "4 holds, of 4 rows (around a=1)" in around.output
    every = run("up.nom", "--around", "inputs", "--radius", "1,b=0", "--rows", "4")
    assert "4 holds, of 4 rows (around every feature=1, b=0)" in every.output
    down = ("down.nom", "--around", "inputs", "--rows", "4", "--radius")
    assert (
        run(*down, "9").output.split("(")[0]
        == run(*down, "a=9,b=9").output.split("(")[0]
    )
    assert run(*down, "9").output.split("(")[0] != run(*down, "0").output.split("(")[0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--within", "c=1"), "'c=1' is not FEATURE=RANGE of a, b"),
        (("--within", "a=x..3"), "is no range LOW..HIGH"),
        (("--within", "a=20..30"), "has no such value"),
        (("--radius", "a=1"), "--radius goes with --around"),
        (("--around", "inputs", "--radius", "a=near"), "is neither FEATURE=DISTANCE"),
        (("--around", "inputs", "--radius", "z=1"), "no feature `z`"),
    ],
)
def test_wrong_scopes_are_refused(
    folder: Path, arguments: tuple[str, ...], message: str
) -> None:
    done = run("up.nom", *arguments)
    assert done.exit_code != 0
    assert message in done.output + str(done.exception)


def test_a_spec_that_cannot_begin_is_named_and_the_others_are_proved(
    folder: Path,
) -> None:
    text = (folder / "up.nom").read_text()
    (folder / "away.nom").write_text(text.replace("import steps", "import nowhere"))
    done = run("away.nom", "up.nom", "--json", "out.json")
    assert done.exit_code == 3
    assert "error: away.nom" in done.output and "nowhere" in done.output
    assert "up: holds; proved" in done.output
    assert [
        f["spec"] for f in json.loads(Path("out.json").read_text())["failures"]
    ] == ["away.nom"]


def test_a_violation_outweighs_what_is_open(folder: Path) -> None:
    assert run("up.nom", "loop.nom", "down.nom").exit_code == 1
    assert run("up.nom", "loop.nom").exit_code == 3
    assert run("up.nom", "--fail-on", "undecided").exit_code == 0


def other(*arguments: str) -> Result:
    return CliRunner().invoke(cli, arguments)


def test_a_stored_violation_is_shown_and_replayed_from_its_records(
    folder: Path,
) -> None:
    run("down.nom")
    with Store.open(folder / ".nomos") as store:
        (result,) = store.newest()
    assert result.proof is not None and result.proof.witness is not None
    bug = result.proof.witness
    assert "d1 >= d2" in other("show", bug.id).output
    again = other("replay", bug.id[:6])
    assert again.exit_code == 1 and "still there" in again.output
    (folder / "steps.py").write_text(
        DOMAIN.replace("ROWS[:, 0] > low", "ROWS[:, 0] < 0")
    )
    assert other("replay", bug.id).exit_code == 0  # all labels are alike now


def test_a_report_shows_the_proof_beside_what_was_tried(folder: Path) -> None:
    assert other("run", "up.nom", "--budget", "20").exit_code == 0
    run("up.nom")
    other("report", "-o", "page.html")
    page = (folder / "page.html").read_text()
    assert "proved: 0 of 72 cases of the schema" in page
    assert "0 of 20" in page
    assert "it was proved that no case breaks the property" in page


def test_a_proof_of_another_model_is_not_shown_beside_what_was_tried(
    folder: Path,
) -> None:
    run("up.nom")
    (folder / "steps.py").write_text(DOMAIN.replace("low: int = 4", "low: int = 3"))
    other("run", "up.nom", "--budget", "20")
    with Store.open(folder / ".nomos") as store:
        (result,) = store.newest()
    assert (result.verdict, result.proof) == ("none-found", None)


def test_run_tries_a_proof_where_nothing_was_found(folder: Path) -> None:
    done = other("run", "up.nom", "--verify", "--budget", "20")
    assert done.exit_code == 0
    assert "proved: 0 of 72 cases of the schema" in done.output
    assert "0 of 20" in done.output


HIDDEN = (  # only the records of the inputs with b == 0 are tried
    DOMAIN.replace("return ROWS\n", "return ROWS[ROWS[:, 1] == 0]\n").replace(
        "ROWS[:, 0] > low", "(ROWS[:, 0] > low) ^ (ROWS[:, 1] == 2)"
    )
)


def test_a_violation_that_only_a_proof_finds_makes_a_run_fail(folder: Path) -> None:
    (folder / "steps.py").write_text(HIDDEN)
    tried = ("run", "up.nom", "--search", "exhaustive")
    assert other(*tried).exit_code == 0
    done = other(*tried, "--verify", "--fail-on", "new", "--json", "run.json")
    assert done.exit_code == 1
    assert "exact: 0 of 24; exact: 6 of 72 cases of the schema" in done.output
    (result,) = json.loads((folder / "run.json").read_text())["runs"]
    assert (result["verdict"], result["scope"]) == ("violated", "schema")


def test_an_open_proof_leaves_what_was_tried_and_can_count_as_failed(
    folder: Path,
) -> None:
    done = other("run", "loop.nom", "--verify", "--budget", "20")
    assert done.exit_code == 0
    assert "none found" in done.output and "not proved: the block" in done.output
    assert "loop.nom:8:" in done.output
    assert other("run", "loop.nom", "--verify", "--fail-on", "undecided").exit_code == 1


def test_junit_counts_an_open_property_as_an_error(folder: Path) -> None:
    run("loop.nom", "down.nom", "--junit", "out.xml")
    text = (folder / "out.xml").read_text()
    assert 'failures="1" errors="1"' in text
    assert "nomos replay" in text
