"""The shape of the source: imports point down, files stay short, names say something."""

import ast
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "nomos"
MODULES = sorted(SOURCE.rglob("*.py"))
VAGUE = {"base", "common", "core_utils", "helper", "helpers", "misc", "stuff"}
VAGUE |= {"shared", "tools", "util", "utils"}
PROGRAMS = ("src", "tests", "casestudies", "benchmarks", "scripts")


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def test_imports_point_down_only() -> None:
    linter = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run(
        [linter, "--no-cache"],
        cwd=ROOT,
        env={"PYTHONPATH": "src", "PATH": "", "PYTHONUTF8": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_no_file_has_a_name_that_says_nothing() -> None:
    files = [file for top in PROGRAMS for file in (ROOT / top).rglob("*.py")]
    folders = {file.parent for file in files}
    assert [name(path) for path in [*files, *folders] if path.stem in VAGUE] == []


def packages() -> list[Path]:
    """Return the packages that offer names of other modules as their own."""
    return [path for path in MODULES if path.name == "__init__.py" and offered(path)]


def offered(path: Path) -> set[str]:
    """Return the public names of Nomos that a module imports."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        and (node.module or "").partition(".")[0] == "nomos"
        # An import inside a function is for its own use.
        and node.col_offset <= 4
        for alias in node.names
        if not (alias.asname or alias.name).startswith("_")
    }


def listed(path: Path) -> list[str] | None:
    """Return what a module's `__all__` lists, None where it has none."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            names: list[str] = ast.literal_eval(node.value)
            return names
    return None


def test_top_package_lists_all_that_it_offers() -> None:
    public = offered(SOURCE / "__init__.py") | {"__version__"}
    assert listed(SOURCE / "__init__.py") == sorted(public)


def test_every_listed_name_can_be_had() -> None:
    import nomos

    assert [name for name in nomos.__all__ if not hasattr(nomos, name)] == []


@pytest.mark.parametrize("package", packages(), ids=name)
def test_package_that_offers_names_lists_them(package: Path) -> None:
    names = listed(package)
    if names is None:  # it uses the names itself and offers none of them
        text = package.read_text(encoding="utf-8")
        assert any(line.startswith(("def ", "class ")) for line in text.splitlines())
        return
    assert offered(package) - set(names) == set()


def test_architecture_page_names_every_folder_and_dependency() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    parts = [
        path
        for path in SOURCE.iterdir()
        if path.is_dir() and (path / "__init__.py").exists()
    ]
    unnamed = [path.name for path in parts if f"`{path.name}/`" not in text]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    needed = [line.partition(">")[0] for line in project["dependencies"]]
    needed += list(project["optional-dependencies"])
    unnamed += [package for package in needed if f"`{package}`" not in text]
    assert unnamed == []


def test_architecture_page_is_one_page() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 80
