"""A small project, and an editor that has it open."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("pygls", reason="needs pygls: pip install 'nomos-ml[lsp]'")

from tests.conftest import DOMAIN, INCOME
from tests.lsp.client import Editor

COMMON = """\
# What is close enough.
param eps := 0.5;
def close(a, b) := abs(a - b) <= eps;
"""
STEADY = """\
# A little more income changes nothing.
import loans;
use "common.nom";

input x1;
var x2 := x1[income := x1.income + 1];

output d1;
output d2;
{
  d1 = predict(x1)
  d2 = predict(x2)
}
ensures steady: close(d1, d2);
"""


def write_project(folder: Path) -> None:
    (folder / "pyproject.toml").write_text("")
    model = '"""Say 1 for a loan that is granted."""\n        income = rows[:, 0]'
    domain = DOMAIN.replace("income = rows[:, 0]", model, 1)
    (folder / "loans.py").write_text(domain)
    (folder / "common.nom").write_text(COMMON)
    (folder / "steady.nom").write_text(STEADY)
    (folder / "income.nom").write_text(INCOME)


@pytest.fixture(scope="session")
def editor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Editor]:
    """An editor for tests that read; each opens a spec of its own."""
    folder = tmp_path_factory.mktemp("project")
    write_project(folder)
    with Editor(folder, "--stdio") as opened:  # as many editors start it
        yield opened


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_project(tmp_path)
    return tmp_path


@pytest.fixture
def own_editor(folder: Path) -> Iterator[Editor]:
    """An editor for a test that changes files."""
    with Editor(folder, "--import-timeout", "5") as opened:
        yield opened
