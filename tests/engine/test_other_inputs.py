"""The same spec on other records, and the values of cases without their verdicts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from nomos import Domain, Schema, batched
from nomos.domain import Integer
from nomos.engine.alone import Verdict
from nomos.engine.cases import ListedCases, RandomCases
from nomos.engine.choices import Stream
from nomos.engine.engine import Engine, Limits, Way

SPEC = """
import d;
input x;
var v := x.a + randInt(1, 5);
requires v <= 9;
output d1;
{
  d1 = double(x)
}
ensures d1 < 8 && label(x) != 3;
"""
ALL = Limits(2**62, 2**62)


class Numbers(Domain):
    """Numbers, and a model that doubles them."""

    schema = Schema(Integer("a", 0, 9))

    def inputs(self) -> np.ndarray:
        return np.array([[1.0], [2.0]])

    def labels(self) -> list[int]:
        return [0, 1]

    @batched
    def double(self, rows: np.ndarray) -> np.ndarray:
        return 2 * rows[:, 0]


@pytest.mark.parametrize("way", ["columns", "lanes", "rows"])
def test_other_records_and_labels_are_judged(
    make: Callable[..., Any], way: Way
) -> None:
    engine = Engine(make(SPEC, Numbers()), way)
    own = engine.with_inputs(np.array([[3.0], [4.0], [1.0]]), [0, 0, 3])
    cases = ListedCases(np.array([[0, 1], [1, 1], [2, 1]]))
    judged = own.run(cases, ALL, repeat=False)
    assert judged.verdicts.tolist() == [
        Verdict.PASSED,
        Verdict.VIOLATED,
        Verdict.VIOLATED,
    ]
    assert own.replay((1, 1)).values["d1"] == 8
    assert engine.replay((1, 1)).verdict is Verdict.PASSED  # its own rows stay
    assert (
        engine.run(ListedCases(np.array([[0, 1]])), ALL).violations.rows.tolist() == []
    )


@pytest.mark.parametrize("way", ["columns", "lanes", "rows"])
def test_a_known_draw_outside_its_range_is_a_crash_in_every_way(
    make: Callable[..., Any], way: Way
) -> None:
    engine = Engine(make(SPEC, Numbers()), way)
    judged = engine.run(ListedCases(np.array([[0, 6], [0, 5]])), ALL, repeat=False)
    assert judged.verdicts.tolist() == [Verdict.CRASHED, Verdict.PASSED]
    assert "not in 1..5" in judged.crashes[0].error


@pytest.mark.parametrize("way", ["columns", "lanes", "rows"])
def test_values_of_cases(make: Callable[..., Any], way: Way) -> None:
    engine = Engine(make(SPEC, Numbers()), way)
    cases = RandomCases(Stream(0, "numbers"), 0, 50)
    rows, places, values = engine.values(cases)
    assert set(values) == {"x", "v"}
    assert len(rows) == len(places) == len(values["v"]) == 50
    assert [engine.program.source[p][0] for p in places] == values["x"][:, 0].tolist()
    some, _, told = engine.values(cases, np.array([3, 7]), with_outputs=True)
    assert some.tolist() == [3, 7]
    assert list(told["d1"]) == [2 * values["x"][n, 0] for n in (3, 7)]
