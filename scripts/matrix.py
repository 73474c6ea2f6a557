"""The wheel in an environment of its own for each extra and Python: does it hold up?

    python scripts/matrix.py                    # the core and every extra alone
    python scripts/matrix.py core onnx sklearn  # these
    python scripts/matrix.py --python 3.13 core

Each environment holds the wheel with one extra, pytest and Hypothesis; it runs the tests of
the extra (without one, tests that need nothing more), and the project that `nomos init`
writes. An extra none of whose tests was run is red: nothing is known of it.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).parents[1]
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
ADAPTERS = "tests/slow/test_adapters.py"
FOLDERS = "tests/slow/test_folder_adapters.py"
# What shows that an extra does what it is there for, with nothing beside it.
TESTS = {
    "core": [
        *("tests/lang/check", "tests/diagnostics", "tests/domain", "tests/results"),
        *("tests/engine/test_interpreter.py", "tests/runner/test_campaign.py"),
        *("tests/store/test_store.py", "tests/cli/test_run.py"),
        "tests/cli/test_trust.py",
    ],
    "onnx": ["tests/models/test_onnx.py"],
    "sklearn": ["tests/models/test_skops_trees.py", "tests/verify/test_prove.py"],
    "torch": ["tests/slow/test_torch_adapters.py", "tests/engine/test_tensors.py"],
    "keras": [ADAPTERS, "-k", "Keras"],
    "xgboost": [ADAPTERS, "-k", "Xgboost"],
    "lightgbm": [ADAPTERS, "-k", "Lightgbm"],
    "catboost": [ADAPTERS, "-k", "Catboost"],
    "huggingface": [FOLDERS, "-k", "HuggingFace"],
    "mlflow": [FOLDERS, "-k", "Mlflow"],
    "sb3": ["tests/slow/test_torch_adapters.py", "-k", "StableBaselines"],
    "ray": ["tests/slow/test_ray.py"],
    "lsp": ["tests/lsp/test_server.py"],
}


@dataclass(frozen=True, slots=True)
class Row:
    """What became of one environment."""

    python: str
    extra: str
    project: str = "-"
    tests: str = "-"
    problem: str = ""


def interpreter(version: str) -> str | None:
    """Find a Python that starts: on the path, or where pyenv and uv keep theirs."""
    homes = (".pyenv/versions/", ".local/share/uv/python/cpython-")
    kept = [
        p for home in homes for p in Path.home().glob(f"{home}{version}.*/bin/python")
    ]
    for candidate in (shutil.which(f"python{version}"), *kept):
        if (
            candidate
            and not run([str(candidate), "-c", "import venv"], ROOT).returncode
        ):
            return str(candidate)
    return None


def run(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command that sees neither this checkout's source nor its environment."""
    kept = {
        k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")
    }
    return subprocess.run(command, cwd=folder, env=kept, capture_output=True, text=True)


def tests(python: str, paths: list[str], folder: Path) -> tuple[str, str]:
    """Run tests; return their counts and, where they are not all right, what was said."""
    report = folder / "tests.xml"
    command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=short"]
    done = run([*command, f"--junit-xml={report}", *paths], ROOT)
    if not report.exists():
        return "not run", done.stdout + done.stderr
    suite = next(ElementTree.parse(report).getroot().iter("testsuite"))
    report.unlink()
    total, skipped = int(suite.get("tests", 0)), int(suite.get("skipped", 0))
    failed = int(suite.get("failures", 0)) + int(suite.get("errors", 0))
    passed = total - skipped - failed
    counts = f"{passed} passed, {skipped} skipped, {failed} failed"
    return counts, "" if passed and done.returncode == 0 else done.stdout + done.stderr


def scaffold(nomos: str, folder: Path) -> tuple[str, str]:
    """Run the project that `nomos init` writes, which has a bug to be found."""
    made = run([nomos, "init", "first"], folder)
    done = (
        run([nomos, "run", "specs"], folder / "first") if made.returncode == 0 else made
    )
    good = done.returncode == 1 and "higher_age" in done.stdout
    return ("bug found", "") if good else ("wrong", done.stdout + done.stderr)


def tried(version: str, python: str, extra: str, wheel: Path) -> Row:
    """Make an environment, use it, and remove it."""
    with tempfile.TemporaryDirectory(prefix="nomos-matrix-") as name:
        folder = Path(name)
        venv = folder / "venv"
        run([python, "-m", "venv", str(venv)], folder)
        here = str(venv / "bin" / "python")
        what = str(wheel) if extra == "core" else f"{wheel}[{extra}]"
        pip = [here, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        installed = run([*pip, what, "pytest", "hypothesis"], folder)
        if installed.returncode:
            return Row(version, extra, problem=f"pip: {installed.stderr}")
        project, wrong = scaffold(str(venv / "bin" / "nomos"), folder)
        counts, broken = tests(here, TESTS[extra], folder)
        return Row(version, extra, project, counts, wrong + broken)


def show(row: Row, state: str) -> None:
    """Print a line of the table, and before it what went wrong."""
    print(row.problem, end="", file=sys.stderr)
    cells = f"{row.python:7} {row.extra:12} {row.project:10} {row.tests:38}"
    print(cells, state, flush=True)


def built(folder: Path) -> Path:
    """Build the wheel of this checkout."""
    build = ["hatchling", "build", "-t", "wheel", "-d", str(folder)]
    done = run([sys.executable, "-m", *build], ROOT)
    found = list(folder.glob("*.whl"))
    return found[0] if found else sys.exit(done.stderr)


def main() -> int:
    """Print a table; return 1 if anything in it is red."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("extra", nargs="*", default=[*TESTS])
    parser.add_argument("--python", action="append", choices=PYTHONS)
    given = parser.parse_args()
    if unknown := set(given.extra) - {*TESTS}:
        parser.error(f"no tests are named for {', '.join(sorted(unknown))}")
    problems = []
    show(Row("Python", "extra", "project", "tests"), "")
    with tempfile.TemporaryDirectory(prefix="nomos-matrix-") as name:
        wheel = built(Path(name))
        for version in given.python or PYTHONS:
            python = interpreter(version)
            if python is None:
                print(f"{version:7} is not on this machine")
                continue
            for extra in given.extra:
                row = tried(version, python, extra, wheel)
                show(row, "red" if row.problem else "green")
                problems.append(row.problem)
    return int(any(problems) or not problems)


if __name__ == "__main__":
    sys.exit(main())
