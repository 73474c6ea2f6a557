"""Specs as tests, seen from a project that uses the plugin."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
from pathlib import Path
from unittest import mock

import pytest

import nomos
from nomos.errors import NomosError

# Of a run inside this one: what it would write to disk, or do to this process.
WITHOUT = ("-p", "no:cacheprovider", "-p", "no:faulthandler", "-p", "no:logging")


def run_pytest(folder: Path, *arguments: str) -> tuple[int, str]:
    """Run pytest in this process, which is a second sooner than in one of its own."""
    printed = io.StringIO()
    with (
        contextlib.chdir(folder),
        mock.patch.dict(os.environ, COLUMNS="120"),
        contextlib.redirect_stdout(printed),
        contextlib.redirect_stderr(printed),
    ):
        status = pytest.main(["-q", *WITHOUT, *arguments])
    return int(status), printed.getvalue()


def test_a_violated_property_is_red_and_shows_its_bug(project):
    status, out = run_pytest(project.folder, "specs")
    assert status == 1
    assert "1 failed" in out
    assert "* income" in out
    assert "nomos replay" in out
    assert "runner.py" not in out  # not our own stack


def test_a_model_can_be_named_and_a_clean_one_is_green(project):
    status, out = run_pytest(project.folder, "specs", "--nomos-model", "smooth")
    assert (status, "1 passed" in out) == (0, True)
    _, out = run_pytest(
        project.folder,
        "specs",
        "--nomos-model",
        "smooth",
        "--nomos-model",
        "bumpy",
        "-vv",
    )
    assert "income[smooth] PASSED" in out
    assert "income[bumpy] FAILED" in out


def test_models_of_one_name_are_told_apart_by_their_folders(project):
    names = ("--nomos-model", "a/nn.onnx", "--nomos-model", "b/nn.onnx")
    _, out = run_pytest(project.folder, "specs", "--collect-only", *names)
    assert "income[a/nn.onnx]" in out
    assert "income[b/nn.onnx]" in out


def test_the_project_configures_models_and_budget(project):
    (project.folder / "pyproject.toml").write_text(
        '[tool.nomos]\nbudget = 50\n[tool.nomos.models]\nspecs = ["smooth", "bumpy"]\n'
    )
    status, out = run_pytest(project.folder, "specs")
    assert status == 1
    assert "1 failed, 1 passed" in out


def test_selection_works_as_for_other_tests(project):
    project.spec(
        "other",
        "import loans;\ninput x;\noutput d;\n{ d = predict(x) }\nensures d >= 0;\n",
    )
    _, out = run_pytest(project.folder, "specs", "-k", "other")
    assert "1 passed, 1 deselected" in out
    _, out = run_pytest(project.folder, "specs", "-m", "not nomos")
    assert "2 deselected" in out
    _, out = run_pytest(project.folder, "specs", "-x", "-vv")
    assert out.count("PASSED") == 0


def test_xdist_gives_the_same_results(project):
    """Also: nothing but pytest itself is needed for the plugin to be there."""
    models = ("--nomos-model", "smooth", "--nomos-model", "bumpy")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *WITHOUT, "specs", "-n", "2", *models],
        cwd=project.folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "1 failed, 1 passed" in done.stdout


def test_a_wrong_spec_shows_its_mistake(project):
    project.spec("wrong", "import loans;\ninput x;\noutput d;\n{ d = 1 }\nensures e;\n")
    status, out = run_pytest(project.folder, "specs/wrong.nom")
    assert status == 1
    assert "error[undeclared-name]: `e` is not declared" in out


def test_assert_holds_fails_like_an_assertion(project):
    with pytest.raises(AssertionError, match="nomos replay"):
        nomos.assert_holds("specs/income.nom")
    nomos.assert_holds("specs/income.nom", model="smooth", store=False)


def test_a_store_that_cannot_be_had_costs_the_store_only(project):
    (project.folder / ".nomos").write_text("a file where a folder should be")
    with pytest.warns(RuntimeWarning, match="nothing is stored"):
        nomos.assert_holds("specs/income.nom", model="smooth")


def test_a_wrong_configuration_is_refused(project):
    from nomos.runner.project.config import load_config

    for text in (
        "[tool.nomos]\nbudjet = 3\n",
        "[tool.nomos]\nbudget = 0\n",
        "[tool.nomos]\nmodels = 3\n",
        '[tool.nomos.models]\nspecz = ["smooth"]\n',
        "[tool.nomos.models]\nspecs = []\n",
        "[tool.nomos]\nmax-rate = 2\n",
        "[tool",
    ):
        (project.folder / "pyproject.toml").write_text(text)
        with pytest.raises(NomosError, match=r"pyproject\.toml") as refused:
            load_config(project.folder)
        assert "budjet" not in text or "no setting `budjet`" in str(refused.value)
