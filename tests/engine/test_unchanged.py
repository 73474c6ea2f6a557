"""Cases in which the model gets equal inputs only are no evidence: counted apart."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nomos
from nomos import Domain, batched
from nomos.engine.vectorized.unchanged import are_equal, find_equal

pd = pytest.importorskip("pandas")
SPEC = """
input x1;
var v := x1.age + randInt(0, 2);
var x2 := x1[age := v];
output d1;
output d2;
{
  BLOCK
}
ensures d1 < d2;
"""
STRAIGHT = "d1 = predict(x1)\n  d2 = predict(x2)"
BLOCKS = {
    "vectorized": STRAIGHT,
    "put off": STRAIGHT.replace("predict", "sure"),
    "one by one": STRAIGHT.replace("predict", "plain"),
    "list": "d1, d2 = [predict(x) for x in (x1, x2)]",
    "branches": "d1 = predict(x1)\n  if d1 > 5:\n    predict(x1)\n  d2 = predict(x2)",
    "handed on": "d1, d2 = map(predict, (x1, x2))",
    "nested": "d1 = twice(predict(x1))\n  d2 = twice(predict(x2))",
    "evaluated later": "a, b = predict(x1), predict(x2)\n  d1, d2 = twice(a), twice(b)",
}


class Table(Domain):
    """Rows with ages, half of them missing."""

    schema = nomos.Schema(
        nomos.domain.Real("age", 0, 99, missing=True), nomos.domain.Integer("n", 0, 99)
    )

    def inputs(self) -> Any:
        ages = [np.nan if n % 2 else n for n in range(40)]
        return np.column_stack([ages, np.arange(40)])

    @batched
    def predict(self, rows: Any) -> Any:
        return np.nan_to_num(rows[:, 0])

    @batched
    @nomos.domain.total
    def sure(self, rows: Any) -> Any:
        return np.nan_to_num(rows[:, 0])

    @batched
    def twice(self, ages: Any) -> Any:
        return np.asarray(ages) * 2

    def plain(self, row: Any) -> float:
        return float(self.predict(row))


@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("mode", ["vectorized", "coroutines", "sequential"])
def test_unchanged_cases_are_counted_apart_in_every_mode(block: str, mode: Any) -> None:
    if mode == "vectorized" and not BLOCKS[block].startswith("d1 = "):
        pytest.skip("the block is no straight line")
    if (mode, block) == ("vectorized", "branches"):
        pytest.skip("the block is no straight line")
    text = SPEC.replace("BLOCK", BLOCKS[block])
    result = nomos.run(text, domain=Table, budget=10**6, search="exhaustive", mode=mode)
    counts = result.counts
    # 20 rows with an age, of which a third of the draws change nothing; 20 rows without.
    assert (counts.tests, counts.unchanged, counts.discarded) == (40, 20 + 60, 0)
    assert counts.violations == counts.crashed == 0
    assert result.verdict == "holds"
    assert result.analysis.flakiness.cases > 9


class Alike(Table):
    """Rows of which all but two are equal."""

    def inputs(self) -> Any:
        return np.array([[4.0, 5.0]] * 38 + [[3.0, 5.0], [4.0, 6.0]])


@pytest.mark.parametrize(
    "block",
    [
        "ds = [predict(x) for x in xs]",
        "ds = [predict(y) for y in ys]",
        "ds = [predict(setFeat(x, 'n', 5)) for x in xs]",
        "ds = [predict(x) for x in xs]\n          es = [predict(y) for y in ys]",
        "ds = [predict(x) for x in xs]\n          d = predict(x1)",
        "d = predict(x1)\n          ds = [predict(x) for x in xs]",
        "ds = [twice(predict(x)) for x in xs]",
    ],
)
def test_unchanged_cases_of_long_lists_are_the_same_in_every_mode(block: str) -> None:
    text = f"""
        input x1;
        input xs[20];
        var ys := [x[age := 4] for x in xs];
        output ds;
        {{
          {block}
        }}
        ensures sum(ds) >= 0;
    """
    modes: tuple[Any, ...] = ("vectorized", "coroutines", "sequential")
    found = {
        (result.counts.tests, result.counts.unchanged, result.counts.violations)
        for mode in modes
        for result in [
            nomos.run(text, domain=Alike, budget=100, search="random", mode=mode)
        ]
    }
    ((tests, unchanged, _),) = found
    assert tests == 100 and unchanged > 50


@pytest.mark.parametrize("block", ["vectorized", "list", "nested"])
def test_compared_cases_are_still_asked_together(block: str) -> None:
    sizes: list[int] = []

    class Sized(Table):
        @batched
        def predict(self, rows: Any) -> Any:
            sizes.append(len(rows))
            return np.nan_to_num(rows[:, 0])

    text = SPEC.replace("BLOCK", BLOCKS[block])
    result = nomos.run(text, domain=Sized, budget=200, mode="coroutines")
    assert result.verdict == "holds" and max(sizes) > 20


def test_unchanged_cases_spend_no_budget_and_are_shown() -> None:
    text = SPEC.replace("BLOCK", STRAIGHT)
    result = nomos.run(text, domain=Table, budget=300, search="random")
    assert result.counts.tests == 300
    assert result.counts.unchanged > 300
    words = f"{result.counts.unchanged} cases more changed nothing"
    assert words in str(result) or words in result._repr_html_()


@pytest.mark.parametrize(
    ("old", "new", "tests", "unchanged"),
    [
        ("output d1;", "allow unchanged;\noutput d1;", 120, 0),
        ("var x2 := x1[age := v];", "var x2 := x1;", 120, 0),  # asked twice on purpose
        ("d2 = predict(x2)", "d2 = predict(x1)", 120, 0),
        ("d2 = predict(x2)", "d2 = predict(x1[0:1])", 120, 0),
        ("d2 = predict(x2)", "d2 = twice(predict(x1)) + 1", 120, 0),
        ("d2 = predict(x2)", "d2 = twice(predict(x2)) + 1", 40, 80),
        ("randInt(0, 2)", "randInt(1, 3)", 60, 60),
        ("randInt(0, 2)", "randInt(0, 0)", 0, 40),
    ],
)
def test_what_counts_as_unchanged(
    old: str, new: str, tests: int, unchanged: int
) -> None:
    text = SPEC.replace("BLOCK", STRAIGHT).replace(old, new)
    counts = nomos.run(text, domain=Table, search="exhaustive", budget=10**6).counts
    assert (counts.tests, counts.unchanged) == (tests, unchanged)


def test_where_nothing_ever_changes_there_is_no_verdict_and_a_remedy() -> None:
    text = SPEC.replace("BLOCK", STRAIGHT).replace("randInt(0, 2)", "0")
    result = nomos.run(text, domain=Table, budget=100)
    assert result.verdict == "failed"
    assert "nothing changes" in result.problem
    assert "`allow unchanged;`" in result.problem


EQUAL = [
    ([1.0, np.nan], [1.0, np.nan], True),
    ([1.0, 2.0], [1.0, np.nan], False),
    (0.0, -0.0, True),
    ("a", "b", False),
    ("1", 1, False),
    ({"a": np.nan}, {"a": np.nan}, True),
    ({"a": 1}, {"b": 1}, False),
    ((1, "x"), (1, "x"), True),
]


@pytest.mark.parametrize(("one", "other", "equal"), EQUAL)
def test_equal_inputs_alone_and_in_columns(one: Any, other: Any, equal: bool) -> None:
    assert are_equal(one, other) is equal
    assert find_equal([one, "x"], [other, "y"], 2).tolist() == [equal, False]
    if isinstance(one, list):
        a, b = np.array([one, [9, 9]]), np.array([other, [9, 8]])
        assert find_equal(a, b, 2).tolist() == [equal, False]


GUARDED = """
input x1;
requires x1.n > 0;
var share := 12 / x1.n;
requires share < 12 && x1.age > 0;
var x2 := x1[age := x1.age + randInt(1, 2)];
output d1;
output d2;
{
  BLOCK
}
ensures d1 < d2 && share < 12;
"""


@pytest.mark.parametrize("block", ["vectorized", "list"])
@pytest.mark.parametrize("search", ["random", "exhaustive"])
def test_vars_behind_a_requires_are_evaluated_for_cases_that_satisfy_it(
    block: str, search: str
) -> None:
    found = set()
    for mode in ("coroutines", "sequential"):
        text = GUARDED.replace("BLOCK", BLOCKS[block])
        result = nomos.run(text, domain=Table, budget=200, search=search, mode=mode)
        counts = result.counts
        found.add((counts.tests, counts.discarded, counts.violations))
        assert not counts.crashed
    assert len(found) == 1
    if search == "exhaustive":  # of the rows without an age, none draws
        assert found == {(38, 21, 0)}
