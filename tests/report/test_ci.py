"""What CI systems read: JUnit, SARIF, event lines, and the gate on new bugs."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner

from nomos.cli import cli


def nomos(*arguments: str) -> int:
    return CliRunner().invoke(cli, list(arguments)).exit_code


class TestJunit:
    def test_a_violated_property_is_a_failure_with_its_bug(self, project):
        nomos("run", "specs", "--junit", "out.xml", "-q")
        suites = ElementTree.parse("out.xml").getroot()
        assert suites.get("failures") == "1"
        case = suites.find("testsuite/testcase")
        assert case.get("name") == "income[bumpy] seed 0"
        failure = case.find("failure")
        assert "unique bugs" in failure.get("message")
        assert "* income" in failure.text
        assert "nomos replay" in failure.text

    def test_a_failed_property_is_an_error_and_a_clean_one_neither(self, project):
        nomos(
            "run",
            "specs",
            "--model",
            "short",
            "--model",
            "smooth",
            "--junit",
            "out.xml",
        )
        suites = ElementTree.parse("out.xml").getroot()
        assert (suites.get("errors"), suites.get("failures")) == ("1", "0")

    def test_what_xml_cannot_hold_is_replaced(self, project):
        project.spec(
            "odd",
            '# \x00 <script>\nimport loans;\ninput x1;\nvar s := "a\\x00]]>\\ud800";\n'
            "output d;\n{ d = predict(x1) }\nensures d == 2;\n",
        )
        nomos("run", "specs/odd.nom", "--junit", "out.xml", "-q")
        assert "<script>" in ElementTree.parse("out.xml").find(".//failure").text


class TestSarif:
    @pytest.fixture
    def document(self, project) -> dict:
        nomos("run", "specs", "--sarif", "out.sarif", "-q")
        return json.loads(Path("out.sarif").read_text())

    def test_bugs_stand_at_the_line_of_their_ensures(self, document):
        (run,) = document["runs"]
        place = run["results"][0]["locations"][0]["physicalLocation"]
        assert place["artifactLocation"]["uri"] == "specs/income.nom"
        assert place["region"]["startLine"] == 14
        assert run["tool"]["driver"]["rules"][0]["id"] == "income"

    def test_every_result_points_to_its_rule(self, document):
        (run,) = document["runs"]
        rules = run["tool"]["driver"]["rules"]
        for result in run["results"]:
            assert rules[result["ruleIndex"]]["id"] == result["ruleId"]


def test_events_come_as_lines_of_json(project):
    nomos("run", "specs", "--events", "out.jsonl", "-q")
    events = [json.loads(line) for line in Path("out.jsonl").read_text().splitlines()]
    assert events[0]["event"] == "started"
    assert events[-1]["event"] == "finished"
    assert events[-1]["verdict"] == "violated"
    assert {event["event"] for event in events} >= {"bug", "progress"}


def test_crashes_weigh_more_than_violations(project):
    assert nomos("run", "specs", "-q", "--set", "fail_at=50") == 3
    (run,) = _results("--set", "fail_at=50")
    assert run["violations"] and run["crashed"]


def _results(*arguments: str) -> list[dict]:
    nomos("run", "specs", "-q", "--json", "out.json", *arguments)
    return json.loads(Path("out.json").read_text())["runs"]


class TestFailOnNew:
    def test_known_bugs_pass_and_one_more_does_not(self, project):
        assert nomos("run", "specs", "-q") == 1  # the bugs become known
        assert nomos("run", "specs", "-q", "--fail-on", "new") == 0
        text = (project.folder / "loans.py").read_text()
        worse = project.folder / "worse"
        worse.mkdir()
        (worse / "loans.py").write_text(text.replace("income < 65", "income < 66"))
        (worse / "income.nom").write_text(
            (project.folder / "specs/income.nom").read_text()
        )
        store = ("--store", str(project.folder / ".nomos"))
        for _ in range(2):  # being told once does not make a bug known
            assert nomos("run", "worse", "-q", "--fail-on", "new", *store) == 1

    def test_known_bugs_are_those_of_every_model(self, project):
        nomos("run", "specs", "-q", "--model", "bumpy")
        assert nomos("run", "specs", "-q", "--model", "nan", "--fail-on", "new") == 1
        assert nomos("run", "specs", "-q", "--model", "smooth", "--fail-on", "new") == 0

    def test_without_known_bugs_every_bug_is_new(self, project):
        assert nomos("run", "specs", "-q", "--fail-on", "new") == 1


class TestCompare:
    def test_fixed_kept_and_new_bugs_are_told_apart(self, project, exact_income_bugs):
        status = nomos(
            *("compare", "specs", "--model", "bumpy", "--model", "smooth"),
            *("--json", "out.json"),
        )
        (one,) = json.loads(Path("out.json").read_text())["comparisons"]
        assert status == 0
        assert len(one["fixed"]) == exact_income_bugs("bumpy")
        assert one["kept"] == one["added"] == []
        assert one["difference"]["value"] < 0
        assert one["difference"]["interval"]["high"] < 0

    def test_new_bugs_give_1(self, project):
        assert nomos("compare", "specs", "--model", "smooth", "--model", "bumpy") == 1

    def test_it_takes_two_models(self, project):
        assert nomos("compare", "specs", "--model", "smooth") == 2


class TestLastLines:
    def last(self, *arguments: str) -> list[str]:
        done = CliRunner().invoke(cli, ["run", "specs", *arguments])
        return done.output.splitlines()

    def test_after_bugs_they_name_what_shows_more(self, project):
        *_, show, replay, bugs, report = self.last()
        names = [line.split()[1] for line in (show, replay, bugs, report)]
        assert names == ["show", "replay", "bugs", "report"]

    def test_after_none_was_found_they_say_how_to_look_further(self, project):
        *_, last = self.last("--model", "smooth", "--search", "random")
        assert last == "nomos run … --budget 50000  ten times as many cases"

    def test_after_every_case_was_tried_there_is_nothing_to_add(self, project):
        assert "nomos run" not in self.last("--model", "smooth")[-1]
