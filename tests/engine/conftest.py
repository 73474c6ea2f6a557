"""What the tests of the harness share: a small domain, and the three modes compared."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from textwrap import dedent
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from nomos import Discard, Domain, Schema, batched, random
from nomos.accepted import Mode
from nomos.diagnostics import Source
from nomos.domain import Category, Flag, Integer, OneHot, Ordinal, Real
from nomos.domain.domain import offer_of
from nomos.engine.cases import RandomCases
from nomos.engine.choices import CaseDraws, Stream
from nomos.engine.engine import Engine
from nomos.engine.evaluated import Limits, is_test
from nomos.engine.interpreter import Interpreter, Outcome, Verdict
from nomos.engine.program import Program
from nomos.lang.checking.check import check_spec

MUCH = 10**9


class Small(Domain):
    """Few rows with every kind of feature and every kind of trouble in them."""

    classes = {"rank": Ordinal("poor", "fair", "good")}  # noqa: RUF012

    schema = Schema(
        Integer("a", -5, 20),
        Integer("vast", 0, 2**62),
        Real("r", -1, 1, missing=True),
        Flag("f"),
        OneHot("h", ("red", "green", "blue")),
        Ordinal("o", ("low", "mid", "high")),
        Category("c", ("cat", "dog")),
    )

    def inputs(self):
        rng = np.random.default_rng(5)
        count = 30
        rows = np.column_stack(
            [
                rng.integers(-5, 20, count),
                np.resize([0, 1, 2**24, 2**53, 2**60, 2**62], count),
                rng.uniform(-1, 1, count),
                rng.integers(0, 2, count),
                np.eye(3)[rng.integers(0, 3, count)],
                rng.integers(0, 3, count),
                rng.integers(0, 2, count),
            ]
        )
        rows[3, 2], rows[4, 2], rows[5, 2] = np.nan, np.inf, -0.0
        rows[6, 0], rows[7, 0] = 2.5, np.nan  # an Integer that the data contradicts
        return rows.astype(np.float32)

    def labels(self):
        return [i % 4 for i in range(30)]

    @batched
    def predict(self, rows):
        """Answer in one buffer, each time the same."""
        if not hasattr(self, "_buffer"):
            self._buffer = np.zeros(9000, dtype=np.int32)
        self._buffer[: len(rows)] = np.nan_to_num(rows[:, 0]) * 7 % 5
        return self._buffer[: len(rows)]

    @batched
    def score(self, rows):
        """Answer as networks do, with shape (n, 1)."""
        return rows[:, 2:3] * np.float32(0.1)

    @batched
    def brittle(self, rows):
        if (rows[:, 0] % 4 == 3).any():
            raise ValueError("3 modulo 4")
        return rows[:, 0] > 3

    @batched
    def grade(self, rows, extra):
        return [
            "high" if a + b > 9 else "low"
            for a, b in zip(rows[:, 0].tolist(), list(extra), strict=True)
        ]

    @batched
    def rank(self, rows):
        """Answer with names, in an order that the alphabet does not have."""
        names = np.array(["fair", "good", "poor"])
        return names[np.nan_to_num(rows[:, 0]).astype(int) % 3]

    @batched
    def shares(self, rows):
        return rows[:, 4:7] * np.array([1, 2, 3], dtype=np.float32)

    def top(self, row):
        """Return a list that is empty for some."""
        return list(range(int(row[3]) * 3))

    @batched
    def shy(self, numbers):
        for number in numbers:
            if number % 5 == 0:
                raise Discard("a multiple of five")
        return [number * 2 for number in numbers]

    @batched
    @random
    def noisy(self, numbers, generators):
        draws = [g.integers(0, 4) for g in generators]
        for number, draw in zip(numbers, draws, strict=True):
            if number == 4 and draw == 0:
                raise RuntimeError("four and none")
        return [number + draw for number, draw in zip(numbers, draws, strict=True)]

    @random
    def roll(self, number, rng) -> int:
        return int(rng.integers(0, 6))

    @random
    def jitter(self, row, rng):
        changed = row.copy()
        changed[2] = rng.uniform(-1, 1)
        return changed

    def deep(self, row):
        return self.predict(row) * 10 + self.predict(row)

    def double(self, value):
        return value * 2

    def wide(self, value):
        return np.float32(value)

    def is_even(self, number) -> bool:
        return number % 2 == 0

    def fussy(self, number) -> int:
        if number % 3 == 0:
            raise Discard("a multiple of three")
        if number % 7 == 0:
            raise LookupError("a multiple of seven")
        return number

    def mixed(self, number):
        return [number, float(number), str(number), None][int(number) % 4]

    def one(self) -> int:
        return 1

    def nan(self) -> float:
        return float("nan")

    def huge(self):
        return 2**63

    def case(self, number):
        return number + 1

    def equal(self, first, second) -> int:
        return 3

    def differ(self, number) -> int:
        return -number

    def bool(self, row):
        """Answer with a number of numpy, which is narrow."""
        return row[0]


class Whole(Small):
    """The same with rows of small integers."""

    def inputs(self):
        rows = np.nan_to_num(super().inputs(), posinf=0)
        rows[:, 1] %= 1000
        return rows.astype(np.int16)


@dataclass(frozen=True)
class Feedback:
    """What is known of a case afterwards."""

    verdict: Verdict
    spent: bool  # the case got past `requires`
    calls: int  # of the model, by its block
    choices: tuple[int, ...] | None = None  # of a violated or crashed case
    why: str = ""  # of a crash


@dataclass(frozen=True)
class Tale:
    """What became of the first cases of a campaign."""

    cases: list[Feedback]
    discards: Counter[str]


def program_of(
    text: str, domain: Domain | type[Domain] = Small, name: str = "spec"
) -> Program:
    """Check a spec against a domain and make it ready to run."""
    domain = domain() if isinstance(domain, type) else domain
    checked = check_spec(Source("spec.nom", dedent(text)), name, offer_of(type(domain)))
    problems = [f"{d.message} ({d.help})" for d in checked.diagnostics]
    assert checked.spec is not None, f"{problems}\n{text}"
    modules = {name: ModuleType(name) for name in checked.spec.imports}
    return Program(checked.spec, domain, modules=modules)


def in_isolation(program: Program, count: int, seed: int = 0) -> Tale:
    """Run cases one by one: the plain meaning of a spec."""
    alone, stream = Interpreter(program), Stream(seed, program.spec.name)
    cases, discards = [], Counter()
    for number in range(count):
        outcome = alone.run(RandomCases(stream, number, 1).isolate_case(0))
        spent = is_test(outcome)
        choices, why = None, ""
        if outcome.verdict in (Verdict.VIOLATED, Verdict.CRASHED):
            choices = outcome.choices
        if outcome.verdict is Verdict.CRASHED:
            why = outcome.why
        if outcome.verdict is Verdict.DISCARDED:
            discards[outcome.why] += 1
        cases.append(Feedback(outcome.verdict, spent, outcome.calls, choices, why))
    return Tale(cases, discards)


class CountedAlone:
    """Runs cases alone, and counts them."""

    def __init__(self, program: Program) -> None:
        self.inner = Interpreter(program)
        self.cases = 0

    def run(self, draws: CaseDraws) -> Outcome:
        self.cases += 1
        return self.inner.run(draws)


def told(
    program: Program,
    mode: Mode,
    count: int,
    batch: int,
    seed: int = 0,
    most_alone: float | None = None,
) -> Tale:
    """Run cases in chunks; at most so many for each of them may have to run in isolation."""
    engine, stream = Engine(program, mode), Stream(seed, program.spec.name)
    alone = engine.interpreter = CountedAlone(program)  # type: ignore[assignment]  # alike
    cases: list[Feedback] = []
    discards: Counter[str] = Counter()
    for first in range(0, count, batch):
        size = min(batch, count - first)
        evaluated = engine.run(RandomCases(stream, first, size), Limits(MUCH, MUCH))
        assert len(evaluated) == size
        found = evaluated.violations
        assert found.reproduced.all()  # in a batch of its own, each is violated again
        reasons = [evaluated.reasons[why] for why in evaluated.why.tolist() if why >= 0]
        discards += Counter(reasons)
        violated = {r: found.choices_of(n) for n, r in enumerate(found.rows.tolist())}
        crashed = {crash.row: crash for crash in evaluated.crashes}
        for row, verdict in enumerate(evaluated.verdicts.tolist()):
            choices, why = violated.get(row), ""
            if row in crashed:
                choices, why = crashed[row].choices, crashed[row].error
            spent = bool(evaluated.accepted[row])
            calls = int(evaluated.calls[row])
            cases.append(Feedback(Verdict(verdict), spent, calls, choices, why))
    if most_alone is not None and mode != "sequential":
        assert alone.cases <= most_alone * count, (mode, alone.cases, count)
    return Tale(cases, discards)


def assert_same(
    program: Program,
    count: int,
    batches: dict[int, int],
    alone: float | None = None,
    share: Callable[[Tale], float | None] = lambda tale: None,
) -> Tale:
    """Compare all modes with running in isolation; `batches` says how many cases for each.

    `alone` is the share of cases that columns and coroutines may hand over; `share` says it
    of what the cases came to.
    """
    with warnings.catch_warnings():
        # What numpy warns of, it does to every way alike; verdicts do not depend on it.
        warnings.simplefilter("ignore", RuntimeWarning)
        expected = in_isolation(program, count)
        alone = share(expected) if alone is None else alone
        straight = program.spec.code.straight is not None
        modes: list[Mode] = ["vectorized", "coroutines"] if straight else ["coroutines"]
        runs = [(mode, *batch) for mode in modes for batch in batches.items()]
        for mode, batch, cases in [*runs, ("sequential", 7, 35)]:
            found = told(program, mode, cases, batch, most_alone=alone)
            for number, case in enumerate(found.cases):
                assert case == expected.cases[number], (mode, batch, number)
            if cases == count:
                assert found.discards == expected.discards, (mode, batch)
    return expected


@pytest.fixture
def make() -> Callable[..., Program]:
    return program_of


@pytest.fixture
def small() -> type[Domain]:
    return Small


@pytest.fixture
def whole() -> type[Domain]:
    return Whole


@pytest.fixture
def same() -> Callable[..., Any]:
    return assert_same
