"""The 22 specs of COMPAS and German credit as pytest tests, red where violated."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from casestudies.compas.data import load_people
from casestudies.datasets import DataMissingError
from casestudies.german_credit.data import load_applicants

CASES = Path(__file__).parents[2] / "casestudies"
pytestmark = pytest.mark.slow

SPECS = ("casestudies/compas/specs", "casestudies/german_credit/specs")
BUDGET = "300"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Copy both case studies, so that the bugs found are stored elsewhere."""
    try:
        load_people("test")
        load_applicants("test")
    except DataMissingError as error:
        pytest.skip(str(error))
    folder = tmp_path_factory.mktemp("project")
    (folder / "pyproject.toml").touch()
    for name in ("__init__.py", "datasets.py", "compas", "german_credit"):
        source, target = CASES / name, folder / "casestudies" / name
        if source.is_dir():
            shutil.copytree(source, target)
        else:
            target.parent.mkdir(exist_ok=True)
            shutil.copy(source, target)
    return folder


def run(folder: Path, *command: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", *command],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "COLUMNS": "200", "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 1, done.stdout + done.stderr
    return done.stdout


def outcomes(folder: Path, *options: str) -> dict[str, str]:
    common = ("-p", "no:cacheprovider", "-rA", "--nomos-budget", BUDGET)
    out = run(folder, "pytest", *SPECS, *common, *options)
    found = re.findall(r"^(PASSED|FAILED) \S+/specs/(\w+\.nom)::", out, re.MULTILINE)
    return {name: outcome for outcome, name in found}


def test_specs_are_red_where_violated_also_side_by_side(folder: Path) -> None:
    files = ("--budget", BUDGET, "-q", "--json", "out.json")
    run(folder, "nomos", "run", *SPECS, *files)
    runs = json.loads((folder / "out.json").read_text())["runs"]
    expected = {
        Path(run["spec"]).name: "FAILED" if run["verdict"] == "violated" else "PASSED"
        for run in runs
    }
    assert len(expected) == 22
    assert set(expected.values()) == {"FAILED", "PASSED"}
    assert outcomes(folder) == expected
    assert outcomes(folder, "-n", "2") == expected
