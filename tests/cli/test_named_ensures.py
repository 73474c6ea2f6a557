"""The name of an `ensures` stands wherever what it says stands."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from nomos.cli import cli

SPEC = """
import loans;
param step := 40;
input x1;
var x2 := x1[income := x1.income + randInt(1, step)];
output d1; output d2;
{
  d1 = predict(x1)
  d2 = predict(x2)
}
ensures keeps_its_loan: d1 <= d2;
ensures abs(d1 - d2) <= 5;
"""
NAMED = "keeps_its_loan: d1 <= d2"


@pytest.fixture
def written(project: Any) -> tuple[str, Path]:
    """Run the spec with every kind of file; return what was printed, and the folder."""
    project.spec("named", SPEC)
    files = ["--junit", "j.xml", "--sarif", "s.sarif", "--html", "h.html"]
    command = ["run", "specs/named.nom", *files, "--json", "j.json"]
    done = CliRunner().invoke(cli, command)
    assert done.exit_code == 1, done.output
    return done.output, project.folder


def test_the_console_names_it_with_its_rate_and_its_bug(
    written: tuple[str, Path],
) -> None:
    said, _ = written
    assert f"`{NAMED}`: " in said
    assert f"`{NAMED}` does not hold" in said


def test_every_file_names_it(written: tuple[str, Path]) -> None:
    _, folder = written
    name, _, test = NAMED.partition(" ")
    escaped = f"{name} {test.replace('<', '&lt;')}"
    assert f"`{escaped}`: " in (folder / "j.xml").read_text()
    assert f"<code>{escaped}</code>" in (folder / "h.html").read_text()
    (result,) = json.loads((folder / "j.json").read_text())["runs"]
    first, second = result["ensures"]
    assert (first["name"], first["text"]) == ("keeps_its_loan", NAMED)
    assert first["violations"] > second["violations"] == 0


def test_it_is_a_rule_of_its_own_for_code_hosts(written: tuple[str, Path]) -> None:
    _, folder = written
    (run,) = json.loads((folder / "s.sarif").read_text())["runs"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert rules == ["named", "named/keeps_its_loan"]
    found = {(item["ruleId"], item["ruleIndex"]) for item in run["results"]}
    assert found == {("named/keeps_its_loan", 1)}
