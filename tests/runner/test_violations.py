"""The table of different violations: what it counts, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from nomos.engine.evaluated import Violations
from nomos.runner.campaigns import violations as module
from nomos.runner.campaigns.violations import How, ViolationTable

CHOICES = [(7, 1), (7, 2), (8, 1), (9, 1)]
HOW = np.array([How.ISOLATED, How.BATCH, How.FLAKY, How.CRASHED])
FOUND = Violations.of(range(10, 14), CHOICES, [0b01, 0b11, 0b10, 0b10], [0.5, 2, 3, 4])


@pytest.fixture
def table() -> ViolationTable:
    table = ViolationTable(1, repeats=True)
    places, new = table.places(FOUND)
    assert (places.tolist(), new.tolist()) == ([0, 1, 2, 3], [0, 1, 2, 3])
    table.add(HOW, FOUND)
    return table


def test_a_violation_met_again_keeps_its_place_and_is_counted(
    table: ViolationTable,
) -> None:
    places, new = table.places(FOUND.take(np.array([1, 1, 2])))
    assert (places.tolist(), new.tolist()) == ([1, 1, 2], [])
    how = table.count_met(places)
    assert how.tolist() == [How.BATCH, How.BATCH, How.FLAKY]
    assert table.take_touched() == [(11, 2), (12, 1)]
    table.count_met(np.array([0]), touch=False)
    assert table.take_touched() == []
    assert table.count_seen(np.arange(4)) == [1, 2, 1, 0]


def test_only_what_came_back_counts_as_a_bug(table: ViolationTable) -> None:
    table.count_met(np.array([0, 1, 1, 2, 2, 3]))
    assert table.count == 4
    assert table.bug_inputs == 1  # both bugs have the input 7
    assert [table.count_seen_exactly(times) for times in (1, 2)] == [1, 1]
    assert [table.failing(number) for number in (0, 1)] == [(3, 2), (2, 1)]
    assert table.count_margins() == {0.5: 1, 2.0: 2}


def test_a_gap_that_is_no_number_leaves_no_histogram() -> None:
    table = ViolationTable(1, repeats=False)
    found = Violations.of([0, 1], CHOICES[:2], [1, 1], [1.0, np.nan])
    table.places(found)
    table.add(HOW[:2], found)
    assert table.count_margins() is None


@pytest.mark.parametrize("repeats", [True, False])
@pytest.mark.parametrize("size", [1000, 4000])
def test_the_table_grows_and_what_was_in_it_stays(repeats: bool, size: int) -> None:
    table = ViolationTable(1, repeats=repeats)
    for first in range(0, 4000, size):
        numbers = range(first, first + size)
        ones = [1] * size
        found = Violations.of(numbers, [(n,) for n in numbers], ones, [0.0] * size)
        places, new = table.places(found)
        assert places.tolist() == list(numbers) and len(new) == size
        table.add(np.zeros(size, dtype=np.int8), found)
        table.count_met(places)
    assert table.count == table.count_seen_exactly(1) == table.bug_inputs == 4000
    assert table.take_touched() == [(number, 1) for number in range(4000)]


def test_what_is_recalled_is_as_it_was(table: ViolationTable) -> None:
    table.count_met(np.array([0, 1, 1, 2]))
    seen = np.array(table.count_seen(np.arange(4)))
    again = ViolationTable(1, repeats=True)
    again.recall(HOW, seen, FOUND)
    assert again.take_touched() == []
    for one in (table, again):
        assert one.count_met(np.array([3])).tolist() == [How.CRASHED]
        assert one.count_seen(np.arange(4)) == [1, 2, 1, 1]
        assert (one.count, one.bug_inputs, one.count_margins()) == (
            4,
            1,
            {0.5: 1, 2.0: 2},
        )


def test_past_the_limit_violations_have_no_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "MOST_TOLD_APART", 3)
    for repeats in (True, False):
        table = ViolationTable(1, repeats=repeats)
        places, new = table.places(FOUND)
        assert (places.tolist(), new.tolist()) == ([0, 1, 2, -1], [0, 1, 2])
        table.add(HOW[:3], FOUND.take(new))
        assert table.count_margins() is None  # not all of them are known
        again = table.places(FOUND.take(np.array([0, 3])))[0].tolist()
        assert again == ([0, -1] if repeats else [-1, -1])
