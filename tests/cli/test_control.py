"""`nomos run --control`: violations beside those that chance makes."""

from __future__ import annotations

import json
from pathlib import Path
from textwrap import dedent

import pytest
from click.testing import CliRunner

from nomos.cli import cli

DICE = '''
from pathlib import Path

from nomos import Domain, random


class Dice(Domain):
    """Players with an advantage, and throws."""

    def __init__(self, pool: str = "") -> None:
        self.file = pool

    def inputs(self):
        if self.file:
            return [int(line) for line in Path(self.file).read_text().split()]
        return [0, 0, 0, 4]

    @random
    def throw(self, advantage, rng):
        return int(rng.integers(10)) + advantage
'''
UNFAIR = """
import dice;
input x;
output a;
output b;
{
  a = throw(x)
  b = throw(0)
}
ensures a <= b;
"""
CHANCE = UNFAIR.replace("a = throw(x)", "a = throw(0)")


@pytest.fixture
def table(tmp_path, monkeypatch) -> Path:
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "dice.py").write_text(DICE)
    (tmp_path / "unfair.nom").write_text(dedent(UNFAIR))
    (tmp_path / "chance.nom").write_text(dedent(CHANCE))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str) -> str:
    result = CliRunner().invoke(cli, ["run", *arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return f"{result.exit_code}\n{result.output}"


def test_a_run_shows_violations_beside_those_of_its_control(table):
    text = run(
        "unfair.nom", "--control", "chance.nom", "--budget", "2000", "--json", "r.json"
    )
    assert text.startswith("1\n")
    assert "beside chance (chance):" in text
    (entry,) = json.loads((table / "r.json").read_text())["runs"]
    control = entry["control"]
    assert control["property"] == "chance"
    # Nine of twenty pairs of throws, and of those with a lead of 4, differ the wrong way.
    assert control["violations"] == pytest.approx(900, abs=120)
    assert entry["violations"] > control["violations"] + 100
    assert sum(count for _, count in entry["margins"]) == entry["violations"]


def test_the_control_is_not_stored_and_does_not_fail_the_run(table):
    harmless = dedent(UNFAIR).replace("a <= b;", "a <= b + 1000;")
    (table / "harmless.nom").write_text(harmless)
    text = run("harmless.nom", "--control", "chance.nom", "--budget", "300")
    assert text.startswith("0\n")
    listed = CliRunner().invoke(cli, ["bugs"]).output
    assert "chance" not in listed


def test_inputs_come_from_the_file_that_is_named(table):
    (table / "leads.txt").write_text("50\n")
    text = run("unfair.nom", "--inputs", "leads.txt", "--budget", "50", "--no-store")
    assert "passed=0 violations=50" in text


def test_a_domain_without_such_a_setting_says_which_it_has(project):
    text_file = project.folder / "rows.txt"
    text_file.write_text("")
    result = CliRunner().invoke(
        cli,
        [
            "run",
            str(project.folder / "specs" / "income.nom"),
            "--inputs",
            str(text_file),
        ],
    )
    assert "its settings are: model, people, fail_at" in str(result.exception)
