"""Results made by hand or by a real run, and a parser that reads pages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from nomos.results.result import (
    Bug,
    Counts,
    Ensures,
    EnsuresCounts,
    Result,
    Subject,
)
from nomos.results.statistics import clopper_pearson
from nomos.results.verdict import problem_of, verdict_of
from nomos.runner.driver import Driver
from nomos.runner.jobs import Job
from nomos.runner.options import Options

SPEC = """\
# If the income rises, a granted loan stays granted.
import loans;
input x1;
var x2 := x1[income := x1.income + randInt(1, 10)];
output d1;
output d2;
{
  d1 = predict(x1)
  d2 = predict(x2)
}
ensures d1 <= d2;
"""
LINE = 11  # of the condition
_SUBJECT = Subject(
    "specs/income.nom",
    "income",
    "If the income rises, a granted loan stays granted.",
    SPEC,
    outputs=("d1", "d2"),
    ensures=(Ensures("1", "d1 <= d2", LINE),),
    k=2,
)


@dataclass(frozen=True)
class Playing:
    """A program that is still running: a domain, and the values of each bug."""

    domain: Any
    given: Mapping[str, Mapping[str, Any]]

    def values(self, bug: Bug, *, shrunk: bool = False) -> Mapping[str, Any] | None:
        return self.given.get(bug.id)


class Document(HTMLParser):
    """The elements of a page, with their attributes and texts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {}
        self.open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self.open.append(tag)
        self.texts.setdefault(tag, []).append("")

    def handle_endtag(self, tag: str) -> None:
        while self.open and self.open.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if self.open:
            self.texts[self.open[-1]][-1] += data

    def count(self, tag: str, **attributes: str) -> int:
        return sum(
            name == tag and all(found.get(k) == v for k, v in attributes.items())
            for name, found in self.elements
        )


def make_bug(number: int = 0, **facts: Any) -> Bug:
    """Make a bug whose income rises from 60 to 64, unless told otherwise."""
    record = {"income": 60, "debts": 2, "town": "Bern"}
    given: dict[str, Any] = {
        "id": f"{number:010x}",
        "case": 3 * number,
        "choices": (number,),
        "failed": "d1 <= d2",
        "failures": (0,),
        "inputs": {"x1": record, "x2": {**record, "income": 64}},
        "outputs": {"d1": 1, "d2": 0},
    }
    return Bug(**{**given, **facts})


def make_result(*bugs: Bug, **facts: Any) -> Result:
    """Make a result; counts and facts of the subject may be given by their names."""
    names = {n: facts.pop(n) for n in list(facts) if n in Counts.__dataclass_fields__}
    found = names.get("unique_bugs", len(bugs))
    violations = names.get("violations", found)
    ends = violations + names.get("crashed", 0) + names.get("flaky", 0)
    tests = names.get("tests", max(300, ends))
    counts: dict[str, Any] = {
        "tests": tests,
        "passed": tests - ends,
        "violations": violations,
        "unique_bugs": found,
        "new_bugs": sum(bug.is_new for bug in bugs),
        "confirmed": found - names.get("repeated", 0),
        "isolated_reruns": found,
        "seconds": 0.5,
    }
    total = Counts(**{**counts, **names})
    names_of_subject = set(Subject.__dataclass_fields__) - {"ensures"}
    about = {n: facts.pop(n) for n in list(facts) if n in names_of_subject}
    search = facts.get("search", "random")
    complete = facts.get("is_complete", False)
    problem = problem_of(total, facts.pop("problem", ""))
    verdict = verdict_of(total, problem=problem, is_complete=complete)
    ensures = (
        EnsuresCounts("1", "d1 <= d2", LINE, total.violations, total.unique_bugs),
    )
    rate = (
        clopper_pearson(total.violations, total.evaluated) if total.evaluated else None
    )
    given: dict[str, Any] = {
        "counts": total,
        "problem": problem,
        "verdict": verdict,
        "ensures": ensures,
        "rate": rate if search == "random" else None,
    }
    subject = replace(_SUBJECT, **about)
    return Result(subject, facts.pop("seed", 0), 300, bugs=bugs, **{**given, **facts})


# Tests are modules of their own, so what they share comes by fixtures.
@pytest.fixture(scope="session")
def bug() -> Callable[..., Bug]:
    return make_bug


@pytest.fixture(scope="session")
def result() -> Callable[..., Result]:
    return make_result


@pytest.fixture
def playing() -> Callable[..., Playing]:
    """A running program that shows the values given for each bug."""

    def play(domain: Any, *values: Mapping[str, Any]) -> Playing:
        return Playing(domain, {make_bug(n).id: each for n, each in enumerate(values)})

    return play


@pytest.fixture
def read() -> Callable[[str], Document]:
    return Document


@pytest.fixture
def run(project: Any) -> Callable[..., list[Result]]:
    """Test properties of the small project, without a store."""

    def run(*names: str, seeds: Iterable[int] = (0,), **settings: str) -> list[Result]:
        return run_specs(project.folder / "specs", names, list(seeds), **settings)

    return run


def run_specs(
    folder: Path,
    names: Iterable[str],
    seeds: list[int],
    budget: int = 300,
    **settings: str,
) -> list[Result]:
    """Run campaigns as the program does."""
    driver = Driver(folder.parent, Options(default_budget=budget))
    done = driver.run([Job(folder / f"{name}.nom", settings) for name in names], seeds)
    assert not done.failures, done.failures
    return done.results
