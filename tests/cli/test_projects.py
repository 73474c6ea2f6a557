"""What one command runs: every spec that is there, each as its own project says."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import nomos as package
from nomos.cli import cli
from nomos.errors import NotRun
from tests.conftest import DOMAIN, INCOME
from tests.test_pytest_plugin import run_pytest

TWO = INCOME.replace(
    "ensures d1 <= d2;", "ensures rising: d1 <= d2;\nensures low: d1 <= 1;"
)


def nomos(*words: str) -> Result:
    return CliRunner().invoke(cli, ["run", *words])


@pytest.fixture
def projects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two projects: A names a model without bugs, B has the domain's own, with bugs."""
    monkeypatch.chdir(tmp_path)
    for name, settings in (("A", '[tool.nomos.models]\n"." = "smooth"\n'), ("B", "")):
        (tmp_path / name / "specs").mkdir(parents=True)
        (tmp_path / name / "pyproject.toml").write_text(settings)
        (tmp_path / name / "loans.py").write_text(DOMAIN)
        (tmp_path / name / "specs" / "income.nom").write_text(INCOME)
    return tmp_path


def test_each_project_has_its_own_models_gate_and_store(projects: Path) -> None:
    done = nomos("A", "B", "--json", "out.json")
    assert done.exit_code == 1
    runs = json.loads(Path("out.json").read_text())["runs"]
    assert [(r["model"], r["verdict"]) for r in runs] == [
        ("smooth", "holds"),
        ("bumpy", "violated"),
    ]
    assert (projects / "A/.nomos").is_dir() and (projects / "B/.nomos").is_dir()
    with (projects / "A/pyproject.toml").open("a") as settings:
        settings.write('[tool.nomos]\nmax-rate = "90%"\nseed = 5\n')
    done = nomos("A", "B", "--json", "out.json")
    assert done.exit_code == 1  # A's gate lets nothing of B pass
    seeds = [r["seed"] for r in json.loads(Path("out.json").read_text())["runs"]]
    assert seeds == [5, 0]
    assert [r.verdict for r in package.run_specs(["A", "B"])] == ["violated"] * 2


def spoil(folder: Path, what: str) -> str:
    if what == "capitals":
        (folder / "BAD.NOM").write_text(INCOME)
        return "BAD.NOM"
    if what == "pipe":
        os.mkfifo(folder / "pipe.nom")
        return "pipe.nom"
    (folder.parent / "elsewhere").mkdir()
    (folder.parent / "elsewhere" / "other.nom").write_text(INCOME)
    (folder / "linked").symlink_to("../elsewhere")
    return "linked"


@pytest.mark.parametrize("what", ["capitals", "pipe", "link"])
def test_what_is_found_and_not_run_is_listed(project: Any, what: str) -> None:
    model = ("--model", "smooth")
    name = spoil(project.folder / "specs", what)
    done = nomos("specs", *model, "--json", "out.json")
    assert done.exit_code == 3
    assert f"specs/{name}: left out: " in done.output
    (failure,) = json.loads(Path("out.json").read_text())["failures"]
    assert failure["spec"] == f"specs/{name}"
    assert nomos("specs", *model, "--exclude", name).exit_code == 0
    with pytest.raises(NotRun, match="left out"):
        package.assert_holds("specs", models=["smooth"])
    for command in (["check", "specs"], ["verify", "specs"]):
        shown = CliRunner().invoke(cli, command)
        assert f"specs/{name}: left out" in shown.output and shown.exit_code in (2, 3)
    settings = f'[tool.nomos]\nexclude = ["specs/{name}"]\n'
    (project.folder / "pyproject.toml").write_text(settings)
    assert nomos("specs", *model).exit_code == 0


def test_a_link_to_specs_that_are_run_anyway_is_no_loss(project: Any) -> None:
    (project.folder / "specs" / "again").symlink_to(".")
    assert nomos("specs", "--model", "smooth").exit_code == 0


def test_a_pipe_that_is_named_is_refused_and_not_waited_for(project: Any) -> None:
    os.mkfifo(project.folder / "pipe.nom")
    done = nomos("pipe.nom")
    assert "is no regular file" in str(done.exception) + done.output


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (("--calls", "1"), 3),
        (("--time", "0.000000001"), 3),
        (("--budget", "1"), 3),
        (("--budget", "20"), 0),
        (("--budget", "20", "--min-cases", "21"), 3),
        (("--budget", "20", "--seeds", "2", "--min-cases", "40"), 0),
        (("--budget", "2", "--min-cases", "1"), 0),
    ],
)
def test_a_run_of_a_few_cases_is_not_green(
    project: Any, words: tuple[str, ...], status: int
) -> None:
    how = ("--search", "random", "--model", "smooth", "--junit", "out.xml")
    done = nomos("specs", *how, *words)
    assert done.exit_code == status, done.output
    is_empty = "no case was run" in done.output  # so little time may be up before
    is_small = status == 3 and "--calls" not in words and not is_empty
    assert ("(--min-cases)" in done.output) == is_small
    assert ('errors="1"' in Path("out.xml").read_text()) == (status == 3)


def test_the_project_pytest_and_python_count_cases_too(project: Any) -> None:
    few = {"search": "random", "budget": 20, "models": ["smooth"]}
    package.assert_holds("specs", **few)
    with pytest.raises(AssertionError, match="at least 30 are needed"):
        package.assert_holds("specs", min_cases=30, **few)
    given = ("specs", "--nomos-model", "smooth", "--nomos-budget", "20")
    assert run_pytest(project.folder, *given)[0] == 0
    assert run_pytest(project.folder, *given, "--nomos-min-cases", "30")[0] == 1
    (project.folder / "pyproject.toml").write_text("[tool.nomos]\nmin-cases = 30\n")
    assert run_pytest(project.folder, *given)[0] == 1
    how = ("--search", "random", "--budget", "20", "--model", "smooth")
    assert nomos("specs", *how).exit_code == 3


def test_fail_on_may_name_an_ensures(project: Any) -> None:
    project.spec("two", TWO)
    both = ("specs", "--fail-on")
    assert nomos(*both, "rising").exit_code == 1
    assert nomos(*both, "two.rising").exit_code == 1
    done = nomos(*both, "low", "--junit", "out.xml")
    assert done.exit_code == 0
    assert "two passes: `low` is not violated" in done.output
    assert 'failures="0"' in Path("out.xml").read_text()
    assert nomos(*both, "low", "--max-rate", "0.1%").exit_code in (0, 3)
    assert nomos(*both, "rising", "--max-rate", "0.1%").exit_code == 1
    assert nomos(*both, "lwo").exit_code == 2
