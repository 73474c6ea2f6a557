"""The example repository: every step of its workflow and of the action is run, offline."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from html import escape
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "credit-model"
INSTALL = re.compile(r"\bpip install\b")


def steps() -> list[tuple[str, dict[str, str]]]:
    """Return the commands of the workflow in their order, with their environments."""
    text = (EXAMPLE / ".github" / "workflows" / "model.yml").read_text()
    found: list[tuple[str, dict[str, str]]] = []
    for step in yaml.safe_load(text)["jobs"]["model"]["steps"]:
        if "run" in step:
            found.append((step["run"], {}))
        elif "/nomos@" in step["uses"]:
            found += action(step["with"])
        else:
            assert step["uses"].startswith("actions/")
    return found


def action(given: dict[str, str]) -> list[tuple[str, dict[str, str]]]:
    """Return the commands of the packaged action, with its inputs put in."""
    document = yaml.safe_load((ROOT / "action.yml").read_text())
    defaults = {name: one["default"] for name, one in document["inputs"].items()}
    assert set(given) <= set(defaults)
    values = {f"inputs.{name}": value for name, value in (defaults | given).items()}
    values["github.action_path"] = str(ROOT)

    def filled(words: str) -> str:
        return re.sub(r"\$\{\{ (.*?) \}\}", lambda found: values[found[1]], words)

    return [
        (filled(step["run"]), {n: filled(v) for n, v in step.get("env", {}).items()})
        for step in document["runs"]["steps"]
        if "run" in step
    ]


def run(command: str, more: dict[str, str], folder: Path) -> tuple[int, str]:
    """Run a step as a runner of GitHub would, with the packages that are here."""
    offline = {"PIP_NO_INDEX": "1", "PIP_DRY_RUN": "1", "PIP_NO_BUILD_ISOLATION": "0"}
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", command],
        cwd=folder,
        env={**os.environ, **offline, **more, "PATH": programs},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def job(folder: Path, training: str) -> tuple[str, int, str]:
    """Run the job up to the step that fails: its command, its status, what was said."""
    command, status, said = "", 0, ""
    for command, more in steps():
        if INSTALL.search(command):  # another test does
            continue
        command = command.replace("python train.py", f"python train.py {training}")
        status, said = run(command, more, folder)
        if status:
            break
    return command, status, said


def words_only(text: str) -> str:
    """Return a text without its numbers, which a library's next version may change."""
    return " ".join(re.sub(r"\d[\d.]*", "N", text).split())


@pytest.mark.slow
def test_the_picture_of_the_first_screen_shows_what_the_commands_say(
    repository: Path,
) -> None:
    assert run("python train.py", {}, repository)[0] == 0
    picture = (ROOT / "docs" / "images" / "one-spec.svg").read_text(encoding="utf-8")
    shown = re.findall(r'<text class="(command|answer)"[^>]*>(.*?)</text>', picture)
    assert [kind for kind, _ in shown].count("command") == 5
    said = ""
    for kind, words in shown:
        if kind == "command":
            said = words_only(run(words.removeprefix("$ "), {}, repository)[1])
        else:
            assert words_only(words) in said
    spec = (repository / "specs" / "lower_debt.nom").read_text()
    for line in filter(None, spec.splitlines()):
        assert f">{escape(line, quote=False)}</text>" in picture


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return Path(shutil.copytree(EXAMPLE, tmp_path / "repository"))


@pytest.mark.slow
def test_the_job_is_green_after_training_with_another_seed(repository: Path) -> None:
    command, status, said = job(repository, "--seed 1")
    assert status == 0, said
    assert command == "pytest -q"  # the last one
    assert "2 passed" in said
    assert (repository / "nomos.html").exists() and (repository / "nomos.xml").exists()


def test_the_job_is_red_for_a_worse_model(repository: Path) -> None:
    command, status, said = job(repository, "--free")
    assert status == 1
    assert "nomos run" in command
    assert "higher_income does not pass" in said
    assert "in the baseline it holds" in said


@pytest.mark.parametrize("number", [0, 2])
def test_what_the_job_installs_is_what_it_needs(repository: Path, number: int) -> None:
    command, more = steps()[number]
    assert INSTALL.search(command)
    status, said = run(command, more, repository)
    assert status == 0, said


HOSTILE = '"; touch owned; echo "$(touch owned)`touch owned` *.nom \\'


def test_no_script_of_the_action_has_an_input_in_its_text() -> None:
    document = yaml.safe_load((ROOT / "action.yml").read_text())
    scripts = [step["run"] for step in document["runs"]["steps"] if "run" in step]
    assert [script for script in scripts if "${{" in script] == []


@pytest.mark.parametrize(
    "name", ["specs", "options", "extras", "junit", "html", "sarif"]
)
def test_an_input_of_the_action_runs_nothing(tmp_path: Path, name: str) -> None:
    statuses = [
        run(command.replace("pip install", "pip --version #"), more, tmp_path)[0]
        for command, more in action({name: HOSTILE})
    ]
    assert any(statuses)
    assert not (tmp_path / "owned").exists()


def test_paths_of_specs_may_have_blanks(tmp_path: Path) -> None:
    """The command is taken down word by word, by what stands for `nomos`."""
    program = tmp_path / "nomos"
    program.write_text("#!/bin/sh\nprintf '%s\\n' \"$@\" > words\n")
    program.chmod(0o755)
    given = {
        "specs": "my specs\n  other.nom\n\n-odd.nom",
        "options": "--set 'name=a b' --budget 5",
        "html": "",
    }
    command, more = action(given)[1]
    more = {**more, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-eo", "pipefail", "-c", command],
        cwd=tmp_path,
        env={**os.environ, **more},
        check=False,
    )
    assert done.returncode == 0
    words = (tmp_path / "words").read_text().splitlines()
    assert words[:2] == ["run", "--github"]
    assert words[2:6] == ["--set", "name=a b", "--budget", "5"]
    assert words[6:] == ["--junit=nomos.xml", "--", "my specs", "other.nom", "-odd.nom"]
