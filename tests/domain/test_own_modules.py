"""A project's own Python files are imported anew when they changed, and only its own."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from nomos.domain.find import load_module
from nomos.domain.own_modules import is_installed


@pytest.fixture(autouse=True)
def _own_modules(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        del sys.modules[name]


def write(path: Path, text: str) -> Path:
    """Write a file as it is within one tick of the clock: same time, maybe same size."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    os.utime(path, (1_700_000_000, 1_700_000_000))
    return path


def test_a_domain_file_is_loaded_again_when_its_text_changed(tmp_path: Path) -> None:
    path = write(tmp_path / "edited.py", "LIMIT = 5\n")
    first = load_module(path)
    assert load_module(path) is first
    write(path, "LIMIT = 6\n")
    assert load_module(path).LIMIT == 6
    write(path, "LIMIT = 5\n")
    assert load_module(path).LIMIT == 5


@pytest.mark.parametrize("line", ["import edited_h", "from edited_h import LIMIT"])
def test_so_it_is_when_a_file_changed_that_it_imports(
    tmp_path: Path, line: str
) -> None:
    path = write(tmp_path / "edited_a.py", "import edited_mid\nget = edited_mid.get\n")
    write(tmp_path / "edited_mid.py", f"{line}\ndef get(): return {_value(line)}\n")
    write(tmp_path / "edited_h.py", "LIMIT = 5\n")
    first = load_module(path)
    assert first.get() == 5
    assert load_module(path) is first
    write(tmp_path / "edited_h.py", "LIMIT = 6\n")
    assert load_module(path).get() == 6


def _value(line: str) -> str:
    return "LIMIT" if line.startswith("from") else "edited_h.LIMIT"


def test_so_it_is_when_a_file_of_a_package_changed(tmp_path: Path) -> None:
    write(tmp_path / "pyproject.toml", "")
    for package, init in (("spaced_p", None), ("full_p", "")):
        if init is not None:
            write(tmp_path / package / "__init__.py", init)
        inner = write(tmp_path / package / "inner" / "rules.py", "LIMIT = 5\n")
        text = f"from {package}.inner.rules import LIMIT\n"
        path = write(tmp_path / "study" / f"of_{package}.py", text)
        assert load_module(path).LIMIT == 5
        write(inner, "LIMIT = 6\n")
        assert load_module(path).LIMIT == 6


def test_so_it_is_when_the_program_had_imported_that_file_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "edited_n.py", "LIMIT = 5\n")
    monkeypatch.syspath_prepend(tmp_path)
    held = importlib.import_module("edited_n")
    path = write(tmp_path / "edited_b.py", "from edited_n import LIMIT\n")
    assert load_module(path).LIMIT == 5
    assert sys.modules["edited_n"] is held
    write(tmp_path / "edited_n.py", "LIMIT = 6\n")
    assert load_module(path).LIMIT == 6


def test_so_it_is_when_a_file_changed_after_a_failure(tmp_path: Path) -> None:
    path = write(tmp_path / "edited_c.py", "import edited_g\nedited_g.limit\n")
    write(tmp_path / "edited_g.py", "LIMIT = 5\n")
    with pytest.raises(Exception, match="limit"):
        load_module(path)
    write(tmp_path / "edited_g.py", "limit = 5\n")
    assert load_module(path).edited_g.limit == 5


def test_so_it_is_when_a_file_is_imported_by_a_function(tmp_path: Path) -> None:
    text = "def get():\n  from edited_l import LIMIT\n  return LIMIT\n"
    path = write(tmp_path / "edited_d.py", text)
    write(tmp_path / "edited_l.py", "LIMIT = 5\n")
    assert load_module(path).get() == 5
    write(tmp_path / "edited_l.py", "LIMIT = 6\n")
    assert load_module(path).get() == 6


def two_projects(folder: Path) -> tuple[Path, Path]:
    text = "from helpers_x import NAME\ndef get():\n  import helpers_x\n  return helpers_x.NAME\n"
    for name in ("first", "second"):
        write(folder / name / "helpers_x.py", f"NAME = {name!r}\n")
        write(folder / name / "same.py", text)
    return folder / "first" / "same.py", folder / "second" / "same.py"


def names(module: ModuleType) -> tuple[str, str]:
    return module.NAME, module.get()


def test_each_project_has_its_own_module_of_a_name(tmp_path: Path) -> None:
    first, second = two_projects(tmp_path)
    one = load_module(first)
    assert names(one) == ("first", "first")
    assert names(load_module(second)) == ("second", "second")
    assert load_module(first) is one
    assert names(one) == ("first", "first")
    write(tmp_path / "second" / "helpers_x.py", "NAME = 'changed'\n")
    assert load_module(first) is one
    assert names(load_module(second)) == ("changed", "changed")


def test_so_do_two_folders_of_one_project(tmp_path: Path) -> None:
    write(tmp_path / "pyproject.toml", "")
    first, second = two_projects(tmp_path)
    assert names(load_module(first)) == ("first", "first")
    assert names(load_module(second)) == ("second", "second")


def test_a_project_does_not_get_what_another_alone_has(tmp_path: Path) -> None:
    write(tmp_path / "one" / "only_here.py", "")
    load_module(write(tmp_path / "one" / "d.py", "import only_here\n"))
    with pytest.raises(Exception, match="only_here"):
        load_module(write(tmp_path / "two" / "d.py", "import only_here\n"))


def test_a_project_wins_over_the_folder_that_python_was_started_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = two_projects(tmp_path)
    monkeypatch.syspath_prepend(first.parent)
    held = importlib.import_module("helpers_x")
    assert held.NAME == "first"
    assert names(load_module(second)) == ("second", "second")


def test_imports_of_the_program_itself_go_by_its_own_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "program" / "mine_y.py", "NAME = 'program'\n")
    write(tmp_path / "project" / "mine_y.py", "NAME = 'project'\n")
    write(tmp_path / "project" / "only_y.py", "NAME = 'project'\n")
    monkeypatch.syspath_prepend(tmp_path / "program")
    load_module(write(tmp_path / "project" / "d.py", ""))
    assert importlib.import_module("mine_y").NAME == "program"
    assert importlib.import_module("only_y").NAME == "project"


def test_modules_of_packages_without_init_are_told_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("first", "second"):
        write(tmp_path / name / "spaced_q" / "rules.py", f"NAME = {name!r}\n")
        write(tmp_path / name / "q.py", "from spaced_q.rules import NAME\n")
    monkeypatch.syspath_prepend(tmp_path / "first")
    assert importlib.import_module("spaced_q.rules").NAME == "first"
    assert load_module(tmp_path / "second" / "q.py").NAME == "second"


def test_installed_packages_win_over_files_of_the_project(tmp_path: Path) -> None:
    write(tmp_path / "pytest.py", "raise ValueError\n")
    write(tmp_path / "colorsys.py", "raise ValueError\n")
    sys.modules.pop("colorsys", None)
    path = write(tmp_path / "uses.py", "import pytest\nimport colorsys\n")
    module = load_module(path)
    assert module.pytest is pytest
    assert is_installed(module.colorsys.__file__)


def test_domain_files_are_not_dropped_for_a_change_of_nomos(tmp_path: Path) -> None:
    path = write(tmp_path / "plain_d.py", "import nomos\n")
    first = load_module(path)
    assert first.nomos is sys.modules["nomos"]
    assert load_module(path) is first
