"""`--max-rate` and `--baseline`, as CI uses them: command, project, pytest, Python."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import nomos as package
from nomos.cli import cli
from nomos.errors import NomosError
from tests.test_pytest_plugin import run_pytest

SAMPLE = ("--search", "random", "--budget", "2000")


def nomos(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["run", "specs", *SAMPLE, *arguments])


@pytest.fixture
def rate(project: Any) -> float:
    """Return how often the default model breaks the spec, and keep it as a baseline."""
    assert nomos("--json", "old.json").exit_code == 1
    (run,) = json.loads(Path("old.json").read_text())["runs"]
    return run["violations"] / run["tests"]


def test_a_rate_is_red_green_or_not_decided(rate: float) -> None:
    done = nomos("--max-rate", str(rate + 0.05), "--junit", "out.xml")
    assert done.exit_code == 0
    assert 'failures="0"' in Path("out.xml").read_text()
    assert "income passes: " in done.stdout and "allowed are" in done.stdout
    assert nomos("--max-rate", str(rate / 2)).exit_code == 1
    done = nomos("--max-rate", str(rate + 0.0001))
    assert done.exit_code == 3
    assert "more cases are needed (--budget)" in done.stdout


def test_known_bugs_are_said_to_pass(rate: float) -> None:
    done = nomos("--fail-on", "new")
    assert done.exit_code == 0
    assert "income passes: all of its bugs are known" in done.stdout
    Path(".nomos/cases/specs/income.known").unlink()
    done = nomos("--fail-on", "new")
    assert done.exit_code == 1
    assert "income does not pass: there are new bugs" in done.stdout


def test_another_seed_is_not_worse_and_a_worse_model_is(rate: float) -> None:
    done = nomos("--baseline", "old.json", "--seed", "5", "--json", "new.json")
    assert done.exit_code == 0
    assert "in the baseline" in done.stdout and "worse below 0.01" in done.stdout
    assert nomos("--model", "smooth", "--json", "smooth.json").exit_code == 0
    assert nomos("--baseline", "smooth.json").exit_code == 1
    assert nomos("--model", "smooth", "--baseline", "old.json").exit_code == 0


def test_a_spec_that_is_gone_or_changed_is_not_green(rate: float) -> None:
    spec = Path("specs/income.nom")
    spec.write_text(spec.read_text() + "# changed\n")
    assert nomos("--baseline", "old.json", "--model", "smooth").exit_code == 3
    spec.rename("specs/other.nom")
    done = nomos("--baseline", "old.json", "--model", "smooth")
    assert done.exit_code == 3
    assert "specs/income.nom is in the baseline and was not run" in done.stderr


def test_a_run_may_write_anew_the_projects_own_baseline_that_cannot_be_read(
    rate: float,
) -> None:
    whole = Path("old.json").read_text()
    Path("pyproject.toml").write_text('[tool.nomos]\nbaseline = "old.json"\n')
    for damaged in (b"{damaged", None):
        Path("old.json").unlink()
        if damaged is not None:
            Path("old.json").write_bytes(damaged)
        assert "is no baseline" in str(nomos().exception)
        typed = nomos("--baseline", "old.json", "--json", "new.json")
        assert typed.exit_code and not Path("new.json").exists()
        done = nomos("--model", "smooth", "--json", "old.json", "--quiet")
        assert done.exit_code == 3 and "old.json is no baseline" in done.stderr
        assert json.loads(Path("old.json").read_text())["runs"]
    Path("old.json").write_text(whole)
    assert "write over the baseline" in nomos("--json", "old.json").stderr


def test_the_baseline_is_never_written_over(rate: float) -> None:
    done = nomos("--baseline", "old.json", "--json", "./old.json")
    assert done.exit_code == 2
    assert "write over the baseline" in done.stderr


def test_the_project_may_name_its_gates(rate: float) -> None:
    settings = Path("pyproject.toml")
    settings.write_text(f'[tool.nomos]\nmax-rate = "{100 * rate + 5}%"\n')
    assert nomos().exit_code == 0
    assert nomos("--max-rate", "0.1%").exit_code == 1
    settings.write_text('[tool.nomos]\nbaseline = "old.json"\n')
    assert nomos("--seed", "5").exit_code == 0
    Path("old.json").unlink()
    done = nomos()
    assert isinstance(done.exception, NomosError)
    assert "is no baseline" in str(done.exception)


def test_pytest_and_python_pass_by_the_same_gates(rate: float, project: Any) -> None:
    wide = f"{100 * rate + 5}%"
    gates = [("--nomos-max-rate", wide), ("--nomos-max-rate", "0.1%")]
    gates.append(("--nomos-baseline", "every.json"))
    CliRunner().invoke(cli, ["run", "specs", "--json", "every.json"])
    budget = ("--nomos-budget", "2000")
    found = [run_pytest(project.folder, "specs", *budget, *gate) for gate in gates]
    assert [status for status, _ in found] == [0, 1, 0]
    assert "income does not pass: " in found[1][1]

    spec, how = "specs/income.nom", {"search": "random", "budget": 2000}
    package.assert_holds(spec, max_rate=wide, **how)
    package.assert_holds(spec, baseline="old.json", **how)
    with pytest.raises(AssertionError, match="does not pass"):
        package.assert_holds(spec, max_rate=0.001, **how)


def test_a_page_of_the_store_is_signed_off_by_the_gate_of_the_project(
    rate: float,
) -> None:
    setting = f"[tool.nomos]\nmax-rate = {rate + 0.05}\n"
    for text, passes in ((setting, True), ("[tool.nomos]\n", False)):
        Path("pyproject.toml").write_text(text)
        done = CliRunner().invoke(cli, ["report", "--sign-off", "-o", "page.html"])
        assert done.exit_code == 0, done.output
        assert ("allowed are" in Path("page.html").read_text()) is passes
