"""A small project that tests can run: rows of a schema, and a model with known bugs."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Generator
from pathlib import Path
from textwrap import dedent

import numpy as np
import pytest
from hypothesis import settings

# Tests run side by side: threads of one library would wait for those of the other.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# Processes that tests start read compiled modules and the grammar's tables, whatever the shell
# says: without them, each takes half a second of CPU more.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# The same examples in every run; `make test-all` draws new ones each time, and more.
settings.register_profile("repeatable", derandomize=True, max_examples=40)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))

# What tests import and the package itself does not need.
OPTIONAL = "jsonschema|joblib|pandas|polars|scipy|sklearn|skops|torch|xmlschema|yaml"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--random-order",
        type=int,
        metavar="SEED",
        help="shuffle the test files, and the tests of each",
    )


def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    seed = config.getoption("--random-order")
    if seed is None:
        return
    rng = np.random.default_rng(seed)
    files: dict[Path, list[pytest.Item]] = {}
    for number in rng.permutation(len(items)):
        files.setdefault(items[number].path, []).append(items[number])
    items[:] = [item for tests in files.values() for item in tests]


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Skip a file that itself imports an optional package which is not there.

    Where the package imports one, that is an error: it must do without.
    """
    report = yield
    missing = re.search(rf"No module named '({OPTIONAL})", str(report.longrepr))
    if report.failed and missing and isinstance(collector, pytest.Module):
        own = rf"^(import|from) {missing[1]}\b"
        if re.search(own, collector.path.read_text(encoding="utf-8"), re.MULTILINE):
            report.outcome = "skipped"
            report.longrepr = (str(collector.path), 0, f"Skipped: needs {missing[1]}")
    return report


DOMAIN = '''
import numpy as np

from nomos import Domain, Schema, batched, random
from nomos.domain import Flag, Integer, OneHot, Real


class Loans(Domain):
    """Applicants, and a model that grants a loan (1) or refuses it (0)."""

    schema = Schema(
        Integer("income", 0, 100),
        Integer("debts", 0, 20),
        Real("share", 0, 1),
        Flag("member"),
        OneHot("town", ("Aix", "Bern", "Cork")),
    )

    def __init__(self, model: str = "bumpy", people: int = 40, fail_at: int = -1) -> None:
        rng = np.random.default_rng(7)
        rows = np.column_stack([
            rng.integers(0, 100, people),
            rng.integers(0, 20, people),
            rng.random(people),
            rng.integers(0, 2, people),
            np.eye(3)[rng.integers(0, 3, people)],
        ])
        self.rows = rows.astype(np.float32)
        self.model = model
        self.fail_at = fail_at

    def inputs(self):
        return self.rows

    def labels(self):
        return (self.rows[:, 0] > 50).astype(int)

    @batched
    def predict(self, rows):
        income = rows[:, 0]
        if (income == self.fail_at).any():
            raise ValueError("no answer for this income")
        granted = income >= 30
        if self.model == "bumpy":  # refuses incomes from 60 to 64
            granted &= ~((income >= 60) & (income < 65))
        if self.model == "nan":
            return np.where(granted, np.nan, 0.0)
        if self.model == "short":
            return granted[:-1].astype(int)
        return granted.astype(int)

    def is_rich(self, row) -> bool:
        return bool(row[0] > 80)

    @random
    def jitter(self, row, rng):
        changed = row.copy()
        changed[2] = rng.random()
        return changed
'''

INCOME = """\
# If the income rises, a granted loan stays granted.
import loans;
input x1;
var v1 := x1.income;
var v2 := v1 + randInt(1, 10);
var x2 := x1[income := v2];
requires v2 <= 100;
output d1;
output d2;
{
  d1 = predict(x1)
  d2 = predict(x2)
}
ensures d1 <= d2;
"""


class Project:
    """A folder with a domain and specs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "pyproject.toml").write_text("")
        (folder / "loans.py").write_text(DOMAIN)
        (folder / "specs").mkdir()
        self.spec("income", INCOME)

    def spec(self, name: str, text: str) -> Path:
        """Write a spec and return its path."""
        path = self.folder / "specs" / f"{name}.nom"
        path.write_text(dedent(text))
        return path


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.chdir(tmp_path)
    return Project(tmp_path)


@pytest.fixture
def exact_income_bugs() -> Callable[[str], int]:
    """Count the bugs of the spec `income` by a plain loop, without Nomos."""

    def count(model: str) -> int:
        rng = np.random.default_rng(7)
        incomes = rng.integers(0, 100, 40)

        def granted(income: int) -> bool:
            bump = model == "bumpy" and 60 <= income < 65
            return income >= 30 and not bump

        return sum(
            granted(income) and not granted(income + rise)
            for income in incomes.tolist()
            for rise in range(1, 11)
            if income + rise <= 100
        )

    return count
