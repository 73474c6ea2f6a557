"""Ranges of cases: split until one is left, without losing or doubling any."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from nomos.engine.cases import ListedCases
from nomos.engine.choices import Stream
from nomos.engine.evaluated import no_verdicts
from nomos.runner.campaigns.plans.ranges import LARGEST, Plan, Range
from nomos.runner.executors.worker import _cases


def cases_of(asked: Range, sizes: list[int]) -> list[tuple[int, int]]:
    """List the cases of a range; `sizes` are those of each way to draw the inputs."""
    if not asked.is_listed:
        stop = asked.count if asked.stop is None else asked.stop
        return [(0, asked.first + row) for row in range(asked.start, stop)]
    ways = range(asked.first, asked.first + asked.count)
    listed = [(way, row) for way in ways for row in range(sizes[way])]
    return listed[asked.start : asked.stop]


@pytest.mark.parametrize("is_listed", [False, True])
@pytest.mark.parametrize("at_fault", [0, 1, 7, 12, 18])
def test_splitting_finds_the_case_at_fault_and_keeps_all_others(
    is_listed: bool, at_fault: int
) -> None:
    sizes = [3, 0, 5, 11]  # 19 cases in all
    whole = Range(0, 4, is_listed=True) if is_listed else Range(0, 19)
    every = cases_of(whole, sizes)
    todo, kept, crashed = [whole], [], []
    for _ in range(200):
        if not todo:
            break
        asked = todo.pop(0)
        cases = cases_of(asked, sizes)
        if every[at_fault] not in cases:
            kept += cases
        elif (halves := asked.halves()) is None:
            crashed += cases
        else:
            todo[:0] = halves
    assert crashed == [every[at_fault]]
    assert sorted([*kept, *crashed]) == every


def test_around_a_case_are_all_others() -> None:
    asked = Range(100, 10, start=2, stop=9, one_by_one=True)
    before, behind = asked.around(3)
    assert cases_of(before, []) == [(0, 102), (0, 103), (0, 104)]
    assert cases_of(behind, []) == [(0, 106), (0, 107), (0, 108)]
    assert not before.one_by_one and not behind.one_by_one


def took(plan: Plan, seconds: float, cases: int, busy: float = 1.0) -> None:
    part = replace(no_verdicts(cases), seconds=seconds, busy_s=busy * seconds)
    plan.took([part])


def test_a_range_may_last_where_a_worker_waits_for_answers() -> None:
    for busy, count in ((1.0, 64), (0.05, 8192)):
        plan = Plan(total=None, batch=None)
        took(plan, 0.5, 64, busy)
        planned = plan.next(1e9, 1.0)
        assert planned is not None and planned.count == count


def test_a_plan_follows_what_a_case_costs_and_not_how_busy_the_machine_is() -> None:
    plan = Plan(total=None, batch=None)
    first = plan.next(1e9, 1.0)
    assert first is not None
    took(plan, 0.0064, first.count)  # 0.1 ms a case: so many are over in half a second
    second = plan.next(1e9, 1.0)
    assert second is not None
    assert (second.first, second.count) == (first.count, 4096)
    took(plan, 1.0, second.count)  # the machine is busy
    assert plan.next(1e9, 1.0).count == 4096
    took(plan, 9.0, second.count)  # the model has become slow
    assert plan.next(1e9, 1.0).count == 64
    took(plan, 0.001, LARGEST)
    assert plan.next(1e9, 1.0).count == LARGEST
    assert plan.next(7, 1.0).count == 7


def test_a_plan_of_all_cases_ends_with_the_last() -> None:
    plan = Plan(total=10, batch=4)
    found = [plan.next(1e9, 1.0) for _ in range(3)]
    assert [(one.first, one.count) for one in found] == [(0, 4), (4, 4), (8, 2)]
    assert plan.is_done


def test_a_plan_says_what_it_is_and_asks_for_nothing_else() -> None:
    sample, every = (Plan(total=n, batch=4) for n in (None, 10))
    assert (sample.search, sample.scope, sample.is_listed) == (
        *("random", "sample"),
        False,
    )
    assert (every.search, every.scope, every.is_listed) == (
        *("exhaustive", "inputs"),
        True,
    )
    for plan in (sample, every):
        asked = plan.next(1e9, 1.0)
        assert asked is not None
        assert asked.is_listed is plan.is_listed
        assert not asked.one_by_one and not asked.signals
        assert plan.can_resume(7)


@pytest.mark.parametrize("start", range(9))
@pytest.mark.parametrize("stop", [None, *range(9)])
def test_a_part_of_a_range_is_the_same_however_its_cases_are_listed(
    start: int, stop: int | None
) -> None:
    every = np.arange(8)[:, None]
    chunks = [ListedCases(part) for part in (every[:3], every[3:4], every[4:])]
    engine = SimpleNamespace(list_cases=lambda first, count: iter(chunks))
    asked = Range(0, 1, True, start, stop)
    parts = _cases(SimpleNamespace(engine=engine), Stream(0, "a"), asked)  # type: ignore[arg-type]
    found = [int(part.known[row, 0]) for part in parts for row in range(part.count)]
    assert found == list(range(8))[start:stop]
