"""Lists of many inputs, whose items are evaluated together: the verdicts are the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from nomos.engine.cases import RandomCases
from nomos.engine.choices import Stream
from nomos.engine.engine import Engine
from nomos.engine.evaluated import Limits
from nomos.engine.interpreter import Verdict
from nomos.engine.vectorized import forms, wide

SPEC = """
    import small;
    param n := 3;
    input x1;
    input xs[20];
    var v := randInt(0, 7);
    var ys := [x[f := 1 - x.f] for x in xs];
    requires {requires};
    output ds;
    output es;
    {{
      ds = [predict(x) for x in xs]
      es = [{es} for y in xs]
    }}
    ensures {ensures};
"""
# What is said of items, and whether all of it is evaluated for all of them at once.
TOGETHER = {
    "count": "(count i in xs: xs[i].f == 1 && ds[i] > v % 3) >= 4",
    "count with a condition": "(count i in xs if xs[i].f == 1: ds[i] == 2) >= 2",
    "forall": "forall i in xs: xs[i].a > v - 9 || ds[i] == 1",
    "forall with a condition": "forall i in xs if xs[i].a > 9: ds[i] < 2 + v",
    "exists": "exists i in xs: xs[i].r > 0.9 && i < 9 + v",
    "behind an implication": "v > 3 ==> forall i in xs: xs[i].a + es[i] > -5 || i == v",
    "sum": "(sum i in xs: ds[i] * 2 + i) > 250",
    "sum of reals": "(sum i in xs if xs[i].f == 1: xs[i].a * 0.1) > 4",
    "mean": "(mean i in xs: ds[i]) > 1.9",
    "least and greatest": "(max i in xs: ds[i] + v) - (min i in xs: es[i]) > 6",
    "with NaN": "(max i in xs: if i > 3 then xs[i].r else 0.5) > 0.5",
    "names": "(count i in xs: xs[i].h == 'red' || xs[i].c == xs[0].c) > 2 * v",
    "ranks": "(count i in xs: xs[i].o >= 'mid') > 12",
    "other items": "(count i in xs: ds[i] >= ds[0] && xs[i].f == x1.f) > 7",
    "labels": "(count i in xs: label(xs[i]) == ds[i]) > 4",
    "derived items": "(count i in xs: ys[i].f == 1 && xs[i].f == 0) > 9",
    "what raises": "forall i in xs: 12 / (xs[i].f + v) > 1.6 || ds[i] > 1",
    "built-ins": "(count i in xs: abs(xs[i].a) > 3 && missing(xs[i].r)) < 1",
}
APART = {
    "a function of the domain": "(count i in xs: predict(xs[i]) == v) > 3",
    "a draw": "(count i in xs: randInt(0, 3) < ds[i]) > 9",
    "another index": "(count i in xs: ds[(i + v) % 20] == ds[i]) > 3",
    "the whole list": "(count i in xs: ds[i] == max(ds)) > 4",
    "nothing in a sum": "(sum i in xs if xs[i].a > 18: ds[i]) > 1",
}
ES = {
    "of one feature": "predict(setFeat(y, 'f', 1))",
    "of an item": "predict(y) + predict(y)",
    "of another input": "predict(setFeat(y, 'a', getFeat(x1, 'a')))",
    "that raises for some": "brittle(y)",
}


@pytest.mark.parametrize("es", ES)
def test_answers_of_long_lists_are_the_same_everywhere(
    make: Any, same: Any, es: str
) -> None:
    text = SPEC.format(
        requires="true",
        es=ES[es],
        ensures="(count i in xs: es[i] == ds[i]) < 7 + 2 * v",
    )
    verdicts = {c.verdict for c in same(make(text), 60, {7: 35, 60: 60}).cases}
    assert len(verdicts) > 1 or es != "of one feature"


@pytest.mark.parametrize(
    "test", [*TOGETHER.values(), *APART.values()], ids=[*TOGETHER, *APART]
)
def test_quantifiers_over_long_lists_are_the_same_everywhere(
    make: Any, same: Any, test: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = make(SPEC.format(requires="true", es="predict(y)", ensures=test))
    verdicts = {c.verdict for c in same(program, 60, {7: 35, 60: 60}).cases}
    assert {Verdict.PASSED, Verdict.VIOLATED} <= verdicts
    one_by_one = []
    plain = forms._each_index
    monkeypatch.setattr(
        forms, "_each_index", lambda *given: one_by_one.append(1) or plain(*given)
    )
    cases = RandomCases(Stream(0, "spec"), 0, 60)
    Engine(program, "vectorized").run(cases, Limits(60, 60))
    assert bool(one_by_one) == (test in APART.values())


@pytest.mark.parametrize("name", ["forall", "forall with a condition", "names"])
def test_quantifiers_over_long_lists_discard_the_same(
    make: Any, same: Any, name: str
) -> None:
    test = TOGETHER[name].replace("ds[i]", "xs[i].o")
    text = SPEC.format(requires=test, es="predict(y)", ensures="ds[0] >= 0")
    verdicts = {case.verdict for case in same(make(text), 60, {60: 60}).cases}
    assert Verdict.DISCARDED in verdicts


def test_equal_items_of_a_case_have_answers_of_their_own() -> None:
    class Some:
        cases, size = np.arange(2), 5

    cell = wide.Cell(None, None)
    cell.places = np.array([7, 3, 7, 7, 3, 1, 2, 3, 4, 1])
    passes = wide._passes(Some(), cell, remembers=True)  # type: ignore[arg-type]  # as much as it reads
    assert [rows.tolist() for rows in passes] == [[0, 1, 5, 6, 7, 8], [2, 4, 9], [3]]
