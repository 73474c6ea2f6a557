from __future__ import annotations

import json
from collections import Counter
from itertools import pairwise
from math import comb
from pathlib import Path
from textwrap import dedent

import pytest
from click.testing import CliRunner
from nomos.campaign.control import Found, beside, gaps_of, histogram, together
from nomos.campaign.events import Bug

from nomos import api
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


def spec_with(table: Path, *ensures: str) -> object:
    lines = "".join(f"ensures {text};\n" for text in ensures)
    (table / "other.nom").write_text(dedent(UNFAIR).replace("ensures a <= b;\n", lines))
    return api.load_spec(table / "other.nom")[0]


def bug(failed: str, **values: object) -> Bug:
    return Bug(f"{failed} {values}", 0, (), failed, values)


def test_a_gap_is_how_far_the_side_that_must_be_smaller_exceeds_the_other(table):
    spec = spec_with(table, "a <= b", "b >= a - 2", "a > 0 ==> a < 2 * b")
    bugs = [
        bug("a <= b", a=7, b=4),
        bug("b >= a - 2", a=9, b=4),
        bug("a > 0 ==> a < 2 * b", a=8, b=4),
    ]
    assert gaps_of(spec, bugs, {}) == {3: 2, 0: 1}


def test_a_violation_met_twice_counts_twice(table):
    spec = spec_with(table, "a <= b")
    found = bug("a <= b", a=7, b=4)
    assert gaps_of(spec, [found], {found.id: 2}) == {3: 2}


@pytest.mark.parametrize("ensures", ["a == b", "a <= b && a > 0", "!(a > b)"])
def test_what_is_no_comparison_of_sizes_has_no_gaps(table, ensures):
    assert gaps_of(spec_with(table, ensures), [], {}) is None


def test_outputs_that_are_no_numbers_have_no_gaps(table):
    spec = spec_with(table, "a <= b")
    assert gaps_of(spec, [bug("a <= b", a="x", b="a")], {}) is None


def test_many_different_gaps_are_put_together_and_none_is_lost():
    gaps = Counter({gap / 7: 1 + gap % 3 for gap in range(1, 200)})
    bars = histogram(gaps)
    assert len(bars) <= 20
    assert sum(bar.count for bar in bars) == gaps.total()
    assert all(one.high < two.low for one, two in pairwise(bars))


def test_violations_are_counted_from_each_threshold_on_beside_those_of_chance():
    rows = beside(
        Found(100, 9, Counter({1: 4, 2: 3, 6: 2})), Found(50, 3, Counter({1: 3}))
    )
    assert [(r.gap, r.violations, r.control_violations) for r in rows] == [
        (1, 9, 3),
        (2, 5, 0),
        (3, 2, 0),
        (5, 2, 0),
    ]


def test_the_chance_is_that_of_fishers_exact_test():
    (row,) = beside(Found(12, 5, None), Found(9, 1, None))
    ways = sum(comb(12, n) * comb(9, 6 - n) for n in (5, 6))
    assert row.chance == pytest.approx(ways / comb(21, 6))
    (same,) = beside(Found(12, 0, None), Found(9, 4, None))
    assert same.chance == pytest.approx(1)


def test_gaps_that_are_no_whole_numbers_get_no_thresholds():
    rows = beside(Found(9, 2, Counter({0.5: 2})), Found(9, 1, Counter({1: 1})))
    assert [row.gap for row in rows] == [None]


def test_seeds_are_put_together():
    parts = [Found(5, 2, Counter({1: 2})), Found(5, 1, Counter({1: 1}))]
    assert together(parts) == Found(10, 3, Counter({1: 3}))
    assert together([*parts, Found(5, 1, None)]).gaps is None


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
    assert "unfair beside chance (chance):" in text
    (entry,) = json.loads((table / "r.json").read_text())["runs"]
    control = entry["control"]
    assert control["property"] == "chance"
    # Nine of twenty pairs of throws, and of those with a lead of 4, differ the wrong way.
    assert control["violations"] == pytest.approx(900, abs=120)
    assert entry["violations"] > control["violations"] + 100
    assert [row["gap"] for row in control["beside"]] == [1, 2, 3, 5]
    assert control["beside"][0]["chance"] < 0.001
    assert sum(bar["count"] for bar in entry["gaps"]) == entry["violations"]


def test_gaps_are_not_told_where_not_all_bugs_are_kept(table, monkeypatch):
    monkeypatch.setattr("nomos.campaign.result.MOST_BUGS_KEPT", 5)
    run("unfair.nom", "--budget", "200", "--json", "r.json", "--no-store")
    (entry,) = json.loads((table / "r.json").read_text())["runs"]
    assert entry["unique_bugs"] > 5
    assert entry["gaps"] is None


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


def test_bugs_of_a_condition_that_the_spec_has_no_more_have_no_gaps(table):
    spec = api.check(table / "unfair.nom").spec
    gone = Bug("0123456789", 0, (), "a condition of an older spec", {})
    assert gaps_of(spec, [gone], {}) is None
