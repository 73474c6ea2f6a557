"""A domain that fails, exits or gives nonsense: status 3, one line, other specs are run."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from nomos.cli import cli

DOMAIN = """
import os
import sys

from nomos import Domain{top}


class Shop(Domain):
    def __init__(self, model: str = ""):
        {build}

    def inputs(self):
        {inputs}

    def labels(self):
        {labels}

    def price(self, thing):
        return thing
"""
GOOD = {
    "top": "",
    "build": "pass",
    "inputs": "return [1, 2, 3]",
    "labels": "return [1, 2, 3]",
}
SPEC = (
    "import {name};\ninput x;\noutput p;\n{{ p = price(x) }}\nensures p == label(x);\n"
)
BROKEN = {
    "exits when imported": ("top", "\nsys.exit(0)", r"it called sys.exit(0)"),
    "raises when imported": ("top", "\n1 / 0", "ZeroDivisionError: division by zero"),
    "wants a package": (
        "top",
        "\nimport nomos_wants_this",
        "if it is a package: pip install nomos_wants_this",
    ),
    "exits when built": ("build", "sys.exit(0)", "it called sys.exit(0)"),
    "raises when built": ("build", "1 / 0", "Shop could not be set up: "),
    "exits for inputs": ("inputs", "sys.exit(0)", "Shop.inputs() failed: "),
    "raises for inputs": ("inputs", "1 / 0", "Shop.inputs() failed: "),
    "has no inputs": ("inputs", "return None", "Shop.inputs() gives None"),
    "gives a dict": ("inputs", "return {'a': 1}", "Shop.inputs() gives a dict"),
    "gives a generator": ("inputs", "yield 1", "give a list of its items"),
    "exits for labels": ("labels", "sys.exit(0)", "Shop.labels() failed: "),
    "raises for labels": ("labels", "1 / 0", "Shop.labels() failed: "),
    "has no labels": ("labels", "return None", "Shop.labels() gives None"),
}


def test_broken_domains_are_told_and_the_other_specs_are_run(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").touch()
    parts = {f"d{n}": {part: code} for n, (part, code, _) in enumerate(BROKEN.values())}
    for name, part in {**parts, "whole": {}}.items():
        (tmp_path / f"{name}.py").write_text(DOMAIN.format(**GOOD | part))
        (tmp_path / f"of_{name}.nom").write_text(SPEC.format(name=name))
    done = subprocess.run(
        [sys.executable, "-m", "nomos", "run", ".", "--json", "out.json"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 3, done.stdout + done.stderr
    told = dict(zip(sorted(parts), done.stderr.splitlines(), strict=True))
    for (name, _), (case, (_, _, words)) in zip(
        parts.items(), BROKEN.items(), strict=True
    ):
        assert words in told[name], case
        assert "beside the spec" not in told[name]
    assert "of_whole" in done.stdout
    assert "holds" in done.stdout
    assert json.loads((tmp_path / "out.json").read_text())


@pytest.mark.parametrize("part", ["top", "build", "inputs", "labels"])
def test_a_domain_that_exits_does_not_end_the_command_as_if_all_were_well(
    tmp_path: Path, part: str
) -> None:
    code = "\nsys.exit(0)" if part == "top" else "sys.exit(0)"
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "gone.py").write_text(DOMAIN.format(**GOOD | {part: code}))
    (tmp_path / "a.nom").write_text(SPEC.format(name="gone"))
    result = CliRunner().invoke(cli, ["run", str(tmp_path / "a.nom"), "--no-store"])
    assert result.exit_code == 3
    assert "it called sys.exit(0)" in result.stderr
