"""Models with bugs put in on purpose: as many are found as there are, and as often.

The truth is worked out here by plain loops that know nothing of Nomos.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from nomos import Domain, Schema, batched
from nomos.accepted import Mode
from nomos.diagnostics import Source
from nomos.domain import Flag, Integer, OneHot
from nomos.domain.domain import offer_of
from nomos.domain.find import Imported
from nomos.engine.engine import Engine
from nomos.engine.program import Program
from nomos.lang.checking.check import check_spec
from nomos.runner.jobs import Prepared, subject_of
from nomos.runner.options import Options
from nomos.runner.projects import run_prepared

TOWNS = ("Aix", "Bern", "Cork")
PEOPLE = 120


def people() -> list[tuple[int, int, int]]:
    """Return an income, a town and a membership for each person."""
    rng = np.random.default_rng(11)
    incomes = rng.integers(0, 40, PEOPLE).tolist()
    towns = rng.integers(0, 3, PEOPLE).tolist()
    return list(zip(incomes, towns, rng.integers(0, 2, PEOPLE).tolist(), strict=True))


def granted(income: int, town: int, member: int) -> int:
    """Grant a loan from an income of 15 on, but for two holes."""
    if 22 <= income < 25 and town == 1:
        return 0
    if income == 31 and member:
        return 0
    return int(income >= 15)


class Loans(Domain):
    schema = Schema(Integer("income", 0, 60), OneHot("town", TOWNS), Flag("member"))

    def inputs(self) -> np.ndarray:
        rows = [[i, *np.eye(3)[t], m] for i, t, m in people()]
        return np.array(rows, dtype=np.float32)

    @batched
    def predict(self, rows: Any) -> list[int]:
        return [
            granted(int(row[0]), int(row[1:4].argmax()), int(row[4])) for row in rows
        ]


Case = tuple[float, bool, bool]  # its probability, is it accepted, is it violated


@dataclass(frozen=True)
class Planted:
    """A spec, and all its cases."""

    text: str
    cases: Callable[[], Iterator[Case]]

    @property
    def bugs(self) -> int:
        return sum(accepted and violated for _, accepted, violated in self.cases())

    @property
    def accepted(self) -> int:
        return sum(accepted for _, accepted, _ in self.cases())

    @property
    def rate(self) -> float:
        """The probability that a case which gets past `requires` is violated."""
        cases = list(self.cases())
        inside = sum(p for p, accepted, _ in cases if accepted)
        return sum(p for p, a, violated in cases if a and violated) / inside


def rises() -> Iterator[Case]:
    for income, town, member in people():
        for more in range(1, 11):
            worse = granted(income, town, member) > granted(income + more, town, member)
            yield 1 / PEOPLE / 10, income + more <= 40, worse


def falls() -> Iterator[Case]:
    """Draw a smaller income; ranges differ, so cases are not equally likely."""
    for income, town, member in people():
        if income == 0:
            yield 1 / PEOPLE, False, False
        for less in range(1, income + 1):
            better = granted(income - less, town, member) > granted(
                income, town, member
            )
            yield 1 / PEOPLE / income, True, better


def moves() -> Iterator[Case]:
    """Compare with somebody else of the same town who earns more."""
    for income, town, member in people():
        for other, their_town, their_membership in people():
            fits = town == their_town and income < other
            first = granted(income, town, member)
            second = granted(other, their_town, their_membership)
            yield 1 / PEOPLE**2, fits, first > second


BLOCK = """
output d1;
output d2;
{
  d1 = predict(x1)
  d2 = predict(x2)
}
"""
PLANTED = {
    "income rises": Planted(
        f"""
import loans;
input x1;
var v := x1.income + randInt(1, 10);
var x2 := x1[income := v];
requires v <= 40;
{BLOCK}
ensures d1 <= d2;
""",
        rises,
    ),
    "income falls": Planted(
        f"""
import loans;
input x1;
var x2 := x1[income := x1.income - randInt(1, x1.income)];
{BLOCK}
ensures d2 <= d1;
""",
        falls,
    ),
    "somebody who earns more": Planted(
        f"""
import loans;
input x1;
input x2;
requires x1.town == x2.town && x1.income < x2.income;
{BLOCK}
ensures d1 == 1 ==> d2 == 1;
""",
        moves,
    ),
}


def prepared_of(text: str, domain: Domain, mode: Mode | None = None) -> Prepared:
    """Return a campaign's job whose domain is at hand."""
    checked = check_spec(Source("planted.nom", text), "planted", offer_of(type(domain)))
    assert checked.spec is not None, checked.diagnostics
    subject = subject_of(checked.spec, "planted.nom", "Loans", "", {})
    program = Program(checked.spec, domain)
    return Prepared(subject, Engine(program, mode), Imported(type(domain), {}, {}))


@pytest.mark.parametrize("planted", PLANTED.values(), ids=PLANTED)
@pytest.mark.parametrize("mode", ["vectorized", "coroutines", "sequential"])
def test_trying_every_case_finds_exactly_the_bugs_there_are(
    planted: Planted, mode: Mode
) -> None:
    prepared = prepared_of(planted.text, Loans(), mode)
    result = run_prepared(prepared, 0, Options(search="exhaustive"))
    assert planted.bugs > 20
    assert result.counts.unique_bugs == result.counts.violations == planted.bugs
    assert result.counts.tests == planted.accepted
    assert result.counts.flaky == 0
    assert result.verdict == "violated"
    assert result.is_complete


@pytest.mark.parametrize("planted", PLANTED.values(), ids=PLANTED)
def test_the_interval_covers_the_true_rate_as_often_as_it_says(
    planted: Planted,
) -> None:
    prepared = prepared_of(planted.text, Loans())
    options = Options(default_budget=400, search="random", confirm=1)
    covered = 0
    for seed in range(100):
        result = run_prepared(prepared, seed, options)
        assert result.rate is not None and result.rate.confidence == 0.95
        assert result.counts.tests == 400
        covered += result.rate.low <= planted.rate <= result.rate.high
    assert covered >= 93


def test_a_model_without_the_bugs_holds() -> None:
    class Sound(Loans):
        @batched
        def predict(self, rows: Any) -> Any:
            return (rows[:, 0] >= 15).astype(int)

    planted = PLANTED["income rises"]
    prepared = prepared_of(planted.text, Sound())
    result = run_prepared(prepared, 0, Options(search="exhaustive"))
    assert result.verdict == "holds"
    assert result.counts.violations == 0
    assert result.counts.passed == planted.accepted


def test_a_hole_of_one_income_is_found_whole_by_a_default_budget() -> None:
    text = PLANTED["income rises"].text.replace(
        "requires v <= 40;", "requires v == 31;"
    )
    result = run_prepared(prepared_of(text, Loans()), 1, Options(search="random"))
    found = {bug.choices for bug in result.bugs}
    expected = {
        (place, 31 - income)
        for place, (income, town, member) in enumerate(people())
        if 1 <= 31 - income <= 10
        and granted(income, town, member) > granted(31, town, member)
    }
    assert found == expected != set()
