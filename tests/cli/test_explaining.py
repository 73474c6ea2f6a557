"""Groups, shrunk cases and planted faults on the command line."""

from __future__ import annotations

import json

from click.testing import CliRunner, Result

from nomos.cli import cli
from tests.conftest import Project


def nomos(*arguments: str) -> Result:
    return CliRunner().invoke(cli, arguments)


def test_a_smaller_case_is_stored_shown_and_replayed(project: Project) -> None:
    ran = nomos("run", "specs/income.nom", "--search", "random", "--json", "out.json")
    assert ran.exit_code == 1, ran.output
    (run,) = json.loads((project.folder / "out.json").read_text())["runs"]
    assert run["analysis"]["grouped"] == run["isolated_reruns"]
    bug = next(bug for bug in run["bugs"] if bug["shrunk"])
    assert bug["shrunk"]["inputs"]["x2"]["income"] == 60
    shown = nomos("show", bug["id"])
    assert shown.exit_code == 0, shown.output
    assert "shrunk: its records are inputs that were given" in shown.output
    assert shown.output.count("* income") == 2  # as it was found, and shrunk
    replayed = nomos("replay", bug["id"], "--shrunk")
    assert replayed.exit_code == 1, replayed.output
    assert "60" in replayed.output
    small = next(bug for bug in run["bugs"] if not bug["shrunk"])
    none = nomos("replay", small["id"], "--shrunk")
    assert "no shrunk case was found" in str(none.exception)


def test_nothing_is_made_smaller_where_nobody_wants_it(project: Project) -> None:
    nomos("run", "specs/income.nom", "--no-shrink", "--json", "out.json")
    (run,) = json.loads((project.folder / "out.json").read_text())["runs"]
    assert run["analysis"]["groups"]
    assert run["analysis"]["tried"] == 0
    assert not any(bug["shrunk"] for bug in run["bugs"])
    nomos("run", "specs/income.nom", "--no-shrink", "--no-groups", "--json", "out.json")
    (run,) = json.loads((project.folder / "out.json").read_text())["runs"]
    assert run["analysis"]["groups"] == [] and run["analysis"]["flakiness"]["cases"]


def test_sanity_says_what_a_spec_notices(project: Project) -> None:
    ran = nomos("run", "specs/income.nom", "--sanity")
    assert ran.exit_code == 0, ran.output
    assert "reversed                  noticed" in ran.output
    assert "a model passes that always answers 0 or 1" in ran.output
    assert not (project.folder / ".nomos").exists()


def test_sanity_is_not_green_for_a_spec_that_demands_nothing(project: Project) -> None:
    text = (project.folder / "specs" / "income.nom").read_text()
    project.spec("empty", text.replace("ensures d1 <= d2", "ensures d1 == d1"))
    ran = nomos("run", "specs/empty.nom", "--sanity")
    assert ran.exit_code == 1
    assert "notices none of these faults" in ran.output


def test_sanity_is_not_green_where_a_spec_could_not_be_tried(project: Project) -> None:
    text = (project.folder / "specs" / "income.nom").read_text()
    project.spec("empty", text.replace("ensures d1 <= d2", "ensures d1 == d1"))
    project.spec("away", text.replace("import loans", "import nowhere"))
    ran = nomos("run", "specs", "--sanity")
    assert ran.exit_code == 3
    assert "nowhere" in ran.stderr


def test_sanity_runs_where_the_model_is_asked_to(project: Project) -> None:
    ran = nomos("run", "specs/income.nom", "--sanity", "--device", "cuda:99")
    assert ran.exit_code == 3
    assert "cuda:99" in ran.output


def test_sanity_says_why_a_spec_could_not_be_tried(project: Project) -> None:
    text = (project.folder / "specs" / "income.nom").read_text()
    project.spec("drawn", text.replace("predict(x2)", "predict(jitter(x2))"))
    ran = nomos("run", "specs/drawn.nom", "--sanity", "--search", "exhaustive")
    assert ran.exit_code == 3
    assert "drawn cannot be searched exhaustively: a draw inside" in ran.output
