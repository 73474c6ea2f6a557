"""What is installed: packages with everything that the program reads at run time."""

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from nomos.diagnostics import Code

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder with the wheel and the sdist."""
    pytest.importorskip("hatchling", reason="needs hatchling")
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "--directory", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def wheel(dist: Path) -> zipfile.ZipFile:
    (built,) = dist.glob("*.whl")
    return zipfile.ZipFile(built)


@pytest.fixture(scope="module")
def package() -> set[str]:
    """Give every file of the package, below `src`."""
    return {
        path.relative_to(ROOT / "src").as_posix()
        for path in (ROOT / "src/nomos").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def test_wheel_has_the_name_that_pip_installs(wheel: zipfile.ZipFile) -> None:
    assert Path(str(wheel.filename)).name.startswith("nomos_ml-")


def test_wheel_holds_the_grammar_and_the_mark_of_types(wheel: zipfile.ZipFile) -> None:
    assert {"nomos/lang/reading/grammar.lark", "nomos/py.typed"} <= set(
        wheel.namelist()
    )


def test_wheel_holds_what_report_pages_are_made_of(wheel: zipfile.ZipFile) -> None:
    folder = "nomos/report/html/templates"
    held = {name for name in wheel.namelist() if name.startswith(f"{folder}/")}
    names = ("page.html", "property.html", "card.html", "notebook.html")
    names += ("signoff.html", "scenes.svg", "style.css", "script.js")
    assert held == {f"{folder}/{name}" for name in names}


def test_wheel_holds_the_page_of_every_code(wheel: zipfile.ZipFile) -> None:
    pages = {f"nomos/diagnostics/pages/{code.slug}.md" for code in Code}
    assert pages - set(wheel.namelist()) == set()


def test_wheel_holds_every_file_of_the_package_and_nothing_beside_it(
    wheel: zipfile.ZipFile, package: set[str]
) -> None:
    packed = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert packed == package


def test_sdist_holds_what_the_wheel_is_built_from_and_nothing_beside_it(
    dist: Path, package: set[str]
) -> None:
    (built,) = dist.glob("*.tar.gz")
    with tarfile.open(built) as archive:
        packed = {name.partition("/")[2] for name in archive.getnames()}
    beside = {"PKG-INFO", "pyproject.toml", ".gitignore"}  # hatchling adds these
    beside |= {"README.md", "LICENSE", "CHANGELOG.md"}
    assert packed == {f"src/{name}" for name in package} | beside
