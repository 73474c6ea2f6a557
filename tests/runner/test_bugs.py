"""Violations made by hand: which are run in isolation, what becomes of each, and what is kept."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from nomos.engine.cases import KnownCase
from nomos.engine.evaluated import Violations
from nomos.engine.interpreter import Verdict
from nomos.results.result import Ensures, Subject
from nomos.runner.campaigns import bugs as module
from nomos.runner.campaigns import violations
from nomos.runner.campaigns.bugs import Bugs, IsolatedRerun
from nomos.runner.campaigns.violations import How, ViolationTable
from nomos.store.files import KnownNames, case_name

SUBJECT = Subject("a.nom", "a", ensures=(Ensures("1", "a", 1), Ensures("2", "b", 2)))
NONE = KnownNames(np.array([], dtype=bytes))


def made(
    confirm: int | None = 3, *, until_bug: bool = False, repeats: bool = True
) -> Bugs:
    table = ViolationTable(1, repeats=repeats)
    return Bugs(SUBJECT, table, confirm=confirm, until_bug=until_bug)


def found(cases: Sequence[int], lost: Sequence[int] = ()) -> Violations:
    """Return violations of these cases; those that are lost did not fail again."""
    count = len(cases)
    margins = [math.nan if case % 2 else float(case) for case in cases]
    one = Violations.of(cases, [(case,) for case in cases], [0b10] * count, margins)
    one.reproduced = ~np.isin(cases, lost)
    return one


class Confirming:
    """Runs cases alone, and remembers which."""

    def __init__(self, verdict: Callable[[int], Verdict] | None = None) -> None:
        self.verdict = verdict or (lambda case: Verdict.VIOLATED)
        self.asked: list[int] = []

    def __call__(self, cases: Sequence[KnownCase]) -> list[IsolatedRerun]:
        numbers = [case.choices[0] for case in cases]
        self.asked += numbers
        return [
            IsolatedRerun(
                self.verdict(n), "why", "trace", {"x": n}, {"d": n}, (), n == 5
            )
            for n in numbers
        ]


def counted(bugs: Bugs) -> dict[str, int]:
    return {
        name: value
        for name in vars(bugs.totals)
        if (value := getattr(bugs.totals, name))
    }


def test_the_first_third_and_one_in_sixteen_of_the_others_run_alone() -> None:
    cases = range(0, 3000, 3)
    spread = [
        case
        for case in cases[8:]
        if ((case * 0x9E3779B97F4A7C15 % 2**64) >> 40) % 16 == 0
    ]
    assert len(spread) > 20
    for sizes in ([1000], [5, 3, 300, 692], [8, 992]):
        bugs, confirm, at = made(24), Confirming(), 0
        for size in sizes:
            some = cases[at : at + size]
            bugs.take(found(some), confirm)
            at += size
        assert confirm.asked == [*cases[:8], *spread[:16]]
        assert bugs.totals.isolated_reruns == bugs.totals.confirmed == 24
        assert bugs.totals.repeated == 1000 - 24


@pytest.mark.parametrize("confirm", [1, 2, 3])
def test_one_at_least_runs_alone_and_none_beyond_the_limit(confirm: int) -> None:
    bugs, confirming = made(confirm), Confirming()
    bugs.take(found(range(300)), confirming)
    assert confirming.asked[0] == 0
    assert len(confirming.asked) == confirm


@pytest.mark.parametrize("is_stored", [False, True])
@pytest.mark.parametrize("known", [None, NONE])
def test_each_violation_is_counted_as_what_it_is(
    is_stored: bool, known: KnownNames | None
) -> None:
    bugs = made()
    bugs.is_stored, bugs.known = is_stored, known
    cases = [100, 101, 103, 104]
    taken = bugs.take(found(cases, lost=[103]), Confirming())
    bugs.take(found([204, 205]), Confirming())
    bugs.take(found(cases, lost=[103]), Confirming())  # once more
    assert [(bug.case, bug.seen) for bug in taken.bugs] == [(100, 1)]
    assert counted(bugs) == {
        "violations": 8,
        "unique_bugs": 5,
        "new_bugs": 5,
        "confirmed": 1,
        "repeated": 4,
        "isolated_reruns": 1,
        "flaky": 2,
    }
    kept = list(bugs.finish_bugs())
    assert [(b.case, b.choices, b.seen, b.margin) for b in kept] == [
        (100, (100,), 2, 100.0),
        (101, (101,), 2, None),
        (104, (104,), 2, 104.0),
        (204, (204,), 1, 204.0),
        (205, (205,), 1, None),
    ]
    assert [b.confirmed for b in kept] == ["isolated"] + ["batch"] * 4
    assert [(b.inputs, b.outputs) for b in kept[:2]] == [
        ({"x": 100}, {"d": 100}),
        ({}, {}),
    ]
    assert {(b.failed, b.failures, b.is_new) for b in kept} == {("b", (1,), True)}
    assert len({b.id for b in kept}) == bugs.table.bug_inputs == 5
    rows = [
        (row.bug.case, row.how, row.bug.mask, row.bug.margin) for row in bugs.unsaved
    ]
    assert rows == is_stored * [
        (100, How.ISOLATED, 0b10, 100.0),
        (101, How.BATCH, 0b10, None),
        (103, How.FLAKY, 0b10, None),
        (104, How.BATCH, 0b10, 104.0),
        (204, How.BATCH, 0b10, 204.0),
        (205, How.BATCH, 0b10, None),
    ]
    met = [(100, 2), (101, 2), (103, 2), (104, 2), (204, 1), (205, 1)]
    assert bugs.table.take_touched() == is_stored * met
    stored = [row.bug.id for row in bugs.unsaved if row.is_bug]
    assert stored == is_stored * [b.id for b in kept]


def test_what_crashes_or_does_not_come_back_alone_is_no_bug() -> None:
    verdicts = {4: Verdict.CRASHED, 5: Verdict.PASSED, 6: Verdict.DISCARDED}
    bugs = made(None)
    confirm = Confirming(lambda case: verdicts.get(case, Verdict.VIOLATED))
    taken = bugs.take(found([4, 5, 6, 7]), confirm)
    (crash,) = taken.crashes
    assert (crash.row, crash.choices) == (4, (4,))
    assert (crash.error, crash.traceback) == ("why", "trace")
    assert [bug.case for bug in taken.bugs] == [7]
    assert counted(bugs) == {
        "violations": 1,
        "unique_bugs": 1,
        "new_bugs": 1,
        "confirmed": 1,
        "isolated_reruns": 4,
        "flaky": 2,
        "rounded": 1,
        "crashed": 1,
    }
    assert [bug.case for bug in bugs.finish_bugs()] == [7]


@pytest.mark.parametrize("bug", [12, 13])
def test_until_a_bug_they_run_one_after_the_other_and_no_later_one_was_met(
    bug: int,
) -> None:
    bugs = made(until_bug=True)
    confirm = Confirming(lambda n: Verdict.VIOLATED if n == bug else Verdict.PASSED)
    taken = bugs.take(found([12, 13, 14, 15]), confirm)
    assert confirm.asked == list(range(12, bug + 1))
    assert taken.stops_at == bug + 1
    assert (bugs.totals.violations, bugs.totals.unique_bugs) == (1, 1)
    assert bugs.totals.flaky == bug - 12
    assert bugs.totals.isolated_reruns == bugs.table.count == bug - 11


def test_known_bugs_are_counted_and_are_not_new() -> None:
    bugs = made()
    bugs.known = NONE.with_names([case_name(SUBJECT, (n,)) for n in (0, 2)])
    bugs.take(found([0, 1, 2, 3]), Confirming())
    assert (bugs.totals.unique_bugs, bugs.totals.new_bugs) == (4, 2)
    assert [bug.is_new for bug in bugs.finish_bugs()] == [False, True, False, True]


@pytest.mark.parametrize("is_stored", [False, True])
def test_no_more_are_kept_than_there_is_room_for(
    monkeypatch: pytest.MonkeyPatch, is_stored: bool
) -> None:
    monkeypatch.setattr(module, "MOST_BUGS_KEPT", 4)
    bugs = made()
    bugs.is_stored = is_stored
    for first in (0, 2, 10):
        bugs.take(found(range(first, first + 2)), Confirming())
    assert [bug.case for bug in bugs.finish_bugs()] == [0, 1, 2, 3]
    assert bugs.totals.unique_bugs == 6


@pytest.mark.parametrize(("repeats", "unique"), [(True, 3), (False, 5)])
def test_violations_that_are_not_told_apart_are_counted_all_the_same(
    monkeypatch: pytest.MonkeyPatch, repeats: bool, unique: int
) -> None:
    monkeypatch.setattr(violations, "MOST_TOLD_APART", 3)
    bugs = made(repeats=repeats)
    bugs.take(found(range(6), lost=[5]), Confirming())
    totals: dict[str, Any] = counted(bugs)
    assert totals == {
        "violations": 5,
        "unique_bugs": unique,
        "new_bugs": unique,
        "confirmed": 1,
        "repeated": unique - 1,
        "isolated_reruns": 1,
        "flaky": 1,
    }
    assert len(bugs.finish_bugs()) == 3


def test_nothing_found_is_nothing_kept() -> None:
    bugs = made()
    bugs.take(found([]), Confirming())
    assert counted(bugs) == {}
    assert list(bugs.finish_bugs()) == []
