"""The same spec on other records, and the values of cases without their verdicts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from nomos import Domain, Schema, batched
from nomos.accepted import Mode
from nomos.domain import Integer
from nomos.engine.cases import ListedCases, MadeCases, MadeInputs, RandomCases
from nomos.engine.choices import Stream
from nomos.engine.engine import Engine
from nomos.engine.evaluated import Limits
from nomos.engine.interpreter import Verdict

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
UNLABELLED = SPEC.replace(" && label(x) != 3", "")
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

    @batched
    def not_five(self, rows: np.ndarray) -> np.ndarray:
        if (rows[:, 0] == 5).any():
            raise ValueError("five")
        return rows[:, 0]


@pytest.mark.parametrize("mode", ["vectorized", "coroutines", "sequential"])
def test_other_records_and_labels_are_judged(
    make: Callable[..., Any], mode: Mode
) -> None:
    engine = Engine(make(SPEC, Numbers()), mode)
    own = engine.with_inputs(np.array([[3.0], [4.0], [1.0]]), [0, 0, 3])
    cases = ListedCases(np.array([[0, 1], [1, 1], [2, 1]]))
    evaluated = own.run(cases, ALL, repeat=False)
    assert evaluated.verdicts.tolist() == [
        Verdict.PASSED,
        Verdict.VIOLATED,
        Verdict.VIOLATED,
    ]
    assert own.replay((1, 1)).values["d1"] == 8
    assert engine.replay((1, 1)).verdict is Verdict.PASSED  # its own rows stay
    assert (
        engine.run(ListedCases(np.array([[0, 1]])), ALL).violations.rows.tolist() == []
    )


@pytest.mark.parametrize("mode", ["vectorized", "coroutines", "sequential"])
def test_a_known_draw_outside_its_range_is_a_crash_in_every_way(
    make: Callable[..., Any], mode: Mode
) -> None:
    engine = Engine(make(SPEC, Numbers()), mode)
    evaluated = engine.run(ListedCases(np.array([[0, 6], [0, 5]])), ALL, repeat=False)
    assert evaluated.verdicts.tolist() == [Verdict.CRASHED, Verdict.PASSED]
    assert "not in 1..5" in evaluated.crashes[0].error


@pytest.mark.parametrize("mode", ["vectorized", "coroutines", "sequential"])
def test_values_of_cases(make: Callable[..., Any], mode: Mode) -> None:
    engine = Engine(make(SPEC, Numbers()), mode)
    cases = RandomCases(Stream(0, "numbers"), 0, 50)
    rows, (choices, lengths), values = engine.values(cases)
    assert set(values) == {"x", "v"}
    assert len(rows) == len(choices) == len(values["v"]) == 50
    assert lengths.tolist() == [2] * 50
    drawn = [engine.program.source[place][0] for place in choices[:, 0]]
    assert drawn == values["x"][:, 0].tolist()
    some, _, told = engine.values(cases, np.array([3, 7]), with_outputs=True)
    assert some.tolist() == [3, 7]
    assert list(told["d1"]) == [2 * values["x"][n, 0] for n in (3, 7)]
    none, (choices, _), told = engine.values(cases, np.array([50]))
    assert (len(none), len(choices), told) == (0, 0, {})


@pytest.mark.parametrize("mode", ["vectorized", "coroutines", "sequential"])
def test_made_records_are_judged_in_parts_and_the_data_stays(
    make: Callable[..., Any], mode: Mode
) -> None:
    engine = Engine(make(UNLABELLED, Numbers()), mode)
    rows = np.array([[1.0], [5.0], [2.0], [6.0], [3.0]])
    words = np.zeros((5, 1), dtype=np.uint64)  # v is x.a + 1
    cases = MadeCases(Stream(0, "a"), 0, MadeInputs(rows, 1, words), 0, 5)
    whole = [Verdict.PASSED, Verdict.VIOLATED] * 2 + [Verdict.PASSED]
    evaluated = engine.run_made(cases, ALL, batch=2)
    assert evaluated.verdicts.tolist() == whole
    assert evaluated.violations.rows.tolist() == [1, 3]
    assert evaluated.violations.records is not None
    assert evaluated.violations.records[:, 0, 0].tolist() == [5, 6]
    for batch in (None, 2):
        some = engine.run_made(cases, Limits(3, 2**62), batch=batch)
        assert some.verdicts.tolist() == whole[:3]
    one_by_one = engine.run_made(cases, Limits(3, 2**62), batch=2, one_by_one=True)
    assert one_by_one.verdicts.tolist() == whole[:3]
    assert engine.replay((-1, 1), ((6.0,),)).values["d1"] == 12
    assert engine.replay((1, 1)).verdict is Verdict.PASSED  # of the data
    own = engine.run(ListedCases(np.array([[0, 1], [1, 1]])), ALL)
    assert own.verdicts.tolist() == [Verdict.PASSED] * 2


@pytest.mark.parametrize("mode", ["vectorized", "coroutines", "sequential"])
def test_made_records_that_crash_end_a_run_in_parts_at_the_limit(
    make: Callable[..., Any], mode: Mode
) -> None:
    spec = UNLABELLED.replace("double", "not_five")
    engine = Engine(make(spec, Numbers()), mode)
    rows = np.array([[1.0], [5.0], [2.0], [5.0], [3.0], [5.0]])
    words = np.zeros((6, 1), dtype=np.uint64)
    cases = MadeCases(Stream(0, "a"), 0, MadeInputs(rows, 1, words), 0, 6)
    evaluated = engine.run_made(cases, Limits(2**62, 2), batch=1)
    assert evaluated.verdicts.tolist() == [Verdict.PASSED, Verdict.CRASHED] * 2
    assert [crash.row for crash in evaluated.crashes] == [1, 3]
