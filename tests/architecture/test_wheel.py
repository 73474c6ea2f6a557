"""What is installed: a wheel with everything that the program reads at run time."""

import subprocess
import sys
import zipfile
from importlib.util import find_spec
from pathlib import Path

import pytest

from nomos.diagnostics import Code

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--quiet"]
    command += ["--disable-pip-version-check", "--wheel-dir", str(folder), str(ROOT)]
    if find_spec("hatchling") is not None:  # else pip fetches it for the build
        command.append("--no-build-isolation")
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (built,) = folder.glob("*.whl")
    return zipfile.ZipFile(built)


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
    names += ("scenes.svg", "style.css", "script.js")
    assert held == {f"{folder}/{name}" for name in names}


def test_wheel_holds_the_page_of_every_code(wheel: zipfile.ZipFile) -> None:
    pages = {f"nomos/diagnostics/pages/{code.slug}.md" for code in Code}
    assert pages - set(wheel.namelist()) == set()


def test_wheel_holds_every_file_of_the_package_and_nothing_beside_it(
    wheel: zipfile.ZipFile,
) -> None:
    source = ROOT / "src"
    files = {
        path.relative_to(source).as_posix()
        for path in (source / "nomos").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    packed = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert packed == files
