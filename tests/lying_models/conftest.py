"""A project for each test, copied from one that is made once."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.lying_models.worlds import make_project


@dataclass(frozen=True)
class World:
    """A project, and the id of a bug in its store."""

    folder: Path
    bug: str


@pytest.fixture(scope="session")
def _template(tmp_path_factory: pytest.TempPathFactory) -> World:
    folder = tmp_path_factory.mktemp("template") / "project"
    return World(folder, make_project(folder))


@pytest.fixture
def world(_template: World, tmp_path: Path) -> World:
    folder = tmp_path / "project"
    shutil.copytree(_template.folder, folder)
    return World(folder, _template.bug)
