"""`nomos doctor` says what is installed, and runs nothing of the user's."""

from __future__ import annotations

import json
from importlib import metadata

from click.testing import CliRunner

from nomos import __version__
from nomos.cli import cli


def doctor(*arguments: str) -> str:
    done = CliRunner().invoke(cli, ["doctor", *arguments])
    assert done.exit_code == 0, done.output
    return done.output


def test_versions_extras_and_the_project_are_told(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NOMOS_DATA", str(tmp_path / "lost"))
    (tmp_path / "pyproject.toml").write_text("[tool.nomos]\nbudget = 0\n")
    found = json.loads(doctor("--format", "json"))
    assert found["program"]["nomos"] == __version__
    assert found["needed"]["numpy"] == metadata.version("numpy")
    assert found["extras"]["onnx"] != "not installed"
    assert found["project"]["store"] == "none"
    assert found["project"]["NOMOS_DATA"] == "set (no such folder)"


def test_no_path_of_the_machine_is_told(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert str(tmp_path) not in doctor()
