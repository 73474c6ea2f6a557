"""Inputs that are drawn together: rows that agree but for some features, by an index."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

from nomos import Domain, batched
from nomos.domain import Category, Integer, OneHot, Real, Schema
from nomos.engine.cases import RandomCases
from nomos.engine.choices import Stream
from nomos.engine.engine import Engine
from nomos.engine.evaluated import Limits
from nomos.engine.interpreter import Interpreter, Verdict
from nomos.engine.pairs import PairIndex
from nomos.errors import DomainError

ROWS = np.random.default_rng(3).integers([0, 0, 0], [3, 2, 3], (14, 3)).astype(float)
ROWS[4:7, 2] = np.nan
ROWS[8, 0] = -0.0


class Few(Domain):
    schema = Schema(
        Integer("a", 0, 2), Category("sex", ("f", "m")), Real("r", 0, 2, missing=True)
    )
    rows = ROWS

    def inputs(self) -> Any:
        return self.rows

    @batched
    def predict(self, rows: Any) -> Any:
        return (rows[:, 0] + rows[:, 1] > 1).astype(int)


SPEC = """
    import few;
    input x0;
    input x1, x2 where same(x1, x2{excepted});
    var v := randInt(0, 1);
    output d1;
    output d2;
    {{
      d1 = predict(x1)
      d2 = predict(x2)
    }}
    ensures d1 <= d2 || x0.a > v;
"""


def agree(one: Any, other: Any) -> bool:
    return one == other or (one != one and other != other)


def all_pairs(rows: Any, excepted: tuple[int, ...]) -> set[tuple[int, int]]:
    kept = [c for c in range(rows.shape[1]) if c not in excepted]
    return {
        (i, j)
        for i, one in enumerate(rows)
        for j, other in enumerate(rows)
        if i != j
        and all(agree(one[c], other[c]) for c in kept)
        and (not excepted or not all(agree(one[c], other[c]) for c in excepted))
    }


EXCEPTED = {
    "": (),
    ", except sex": (1,),
    ", except sex, a": (0, 1),
    ", except r": (2,),
    ", except r, a, sex": (0, 1, 2),
}


@pytest.mark.parametrize("excepted", EXCEPTED)
def test_the_index_has_every_pair_that_belongs_together(excepted: str) -> None:
    names = [("a", "sex", "r")[place] for place in EXCEPTED[excepted]]
    index = PairIndex(ROWS, Few.schema, names)
    first, which = index.first_rows(np.arange(index.total))
    pairs = list(
        zip(first.tolist(), index.partner_rows(first, which).tolist(), strict=True)
    )
    assert len(pairs) == len(set(pairs))
    assert set(pairs) == all_pairs(ROWS, EXCEPTED[excepted])


@pytest.mark.parametrize("excepted", EXCEPTED)
def test_pairs_are_drawn_and_judged_the_same_everywhere(
    make: Any, same: Any, excepted: str
) -> None:
    program = make(SPEC.format(excepted=excepted), Few)
    same(program, 60, {7: 35, 60: 60})
    evaluated = Engine(program).run(
        RandomCases(Stream(0, "spec"), 0, 500), Limits(900, 900)
    )
    assert not (evaluated.verdicts == Verdict.DISCARDED).any()
    drawn = {tuple(c[1:3]) for c in evaluated.violations.choices.tolist()}
    assert drawn <= all_pairs(ROWS, EXCEPTED[excepted])


def test_each_pair_is_as_likely_as_any_other(make: Any) -> None:
    program = make(
        SPEC.format(excepted=", except sex, a").replace("<= d2", "> 9 + d2"), Few
    )
    evaluated = Engine(program).run(
        RandomCases(Stream(1, "s"), 0, 9000), Limits(9999, 9999)
    )
    pairs = Counter(tuple(c[1:3]) for c in evaluated.violations.choices.tolist())
    expected = all_pairs(ROWS, (0, 1))
    assert pairs.keys() == expected
    mean = sum(pairs.values()) / len(expected)
    chi = sum((count - mean) ** 2 / mean for count in pairs.values())
    assert chi < len(expected) + 4 * (2 * len(expected)) ** 0.5


def test_all_cases_are_those_of_all_pairs(make: Any) -> None:
    engine = Engine(make(SPEC.format(excepted=", except sex"), Few))
    listed = [tuple(c) for part in engine.list_cases() for c in part.choices()]
    pairs = all_pairs(ROWS, (1,))
    assert set(listed) == {(x, *p, v) for x in range(14) for p in pairs for v in (0, 1)}
    assert len(listed) == len(set(listed)) == engine.space_within(10_000)


def test_a_case_is_replayed_as_long_as_its_rows_belong_together(make: Any) -> None:
    spec, (i, j) = SPEC.format(excepted=", except sex"), min(all_pairs(ROWS, (1,)))
    replay = Engine(make(spec, Few)).replay((0, i, j, 1))
    assert replay.verdict in (Verdict.PASSED, Verdict.VIOLATED)
    apart = Engine(make(spec, Few)).replay((0, i, i, 1))
    assert (apart.verdict, apart.why) == (Verdict.DISCARDED, "same(x1, x2, except sex)")
    gone = Engine(make(spec, Few)).replay((0, i, 99, 1))
    assert gone.verdict is Verdict.CRASHED


def test_made_rows_that_do_not_agree_are_discarded(make: Any) -> None:
    program = make(SPEC.format(excepted=", except sex"), Few)
    made = program.with_inputs(np.array([[0, 0, 1], [1, 0, 1], [1, 1, 1.0]]))
    outcomes = {
        places: Interpreter(made).run(RandomCases(Stream(0, "s"), 0, 1).isolate_case(0))
        for places in [(0, 1, 2)]
    }
    assert outcomes[0, 1, 2].verdict in (Verdict.PASSED, Verdict.VIOLATED)
    engine = Engine(program).with_inputs(made.source)
    assert engine.interpreter.program.chooser_of(1, [0]) is not None


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (np.eye(3), "no two of the 3 rows agree in all features but sex"),
        (np.zeros((1, 3)), "no two of the 1 rows agree"),
        ([[0.0, 0.0, 0.0]] * 3, "gives no array of rows"),
    ],
)
def test_where_no_pair_exists_it_is_said_before_the_first_case(
    make: Any, rows: Any, said: str
) -> None:
    other = type("Other", (Few,), {"rows": rows})
    with pytest.raises(DomainError, match=said):
        make(SPEC.format(excepted=", except sex"), other)


def test_features_of_several_columns_and_whole_numbers_are_compared() -> None:
    schema = Schema(Integer("a", 0, 9), OneHot("h", ("x", "y")))
    rows = np.array([[1, 0, 1], [1, 1, 0], [2, 0, 1], [2, 0, 1]], dtype=np.int16)
    pairs = {}
    for names in ((), ("a",), ("h",)):
        index = PairIndex(rows, schema, names)
        first, which = index.first_rows(np.arange(index.total))
        partners = index.partner_rows(first, which).tolist()
        pairs[names] = set(zip(first.tolist(), partners, strict=True))
    assert pairs == {
        (): {(2, 3), (3, 2)},
        ("a",): {(0, 2), (0, 3), (2, 0), (3, 0)},
        ("h",): {(0, 1), (1, 0)},
    }
