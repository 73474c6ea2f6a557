"""Each construct of the language, in each way of running and in the compiled harness."""

from __future__ import annotations

import pytest

from nomos.engine.alone import Verdict

# What a truth value is made of; v is a drawn integer, x1 and xs are rows.
CONSTRUCTS = {
    "abs": "abs(v - 3) > 1",
    "min and max": "min(v, 2) + max(v, 2.5) > 3",
    "round": "round(x1.r) == 0 && round(x1.r, 1) != 0.5",
    "len": "len(xs) == 3 && len(x1.h) > v % 5",
    "isclose": "isclose(x1.r, x2.r, 0.5, 0.1) || isclose(v, 2)",
    "randReal": "randReal(-1, v) < 1.5",
    "remainder of negatives": "-v % 3 == 2 || v % -3 == -1 && -v / 2 < -1",
    "set": "v in {1, 3, 5} || x1.h in {'red', 'blue'}",
    "range": "v in 1..3 || x1.r in -0.5..0.5",
    "set of what is drawn": "randInt(0, 9) in {1, 2, v}",
    "conditional": "(if v > 3 then x1.a else predict(x1)) > 2",
    "conditional that guards": "if v == 0 then true else 12 / v > 2",
    "conditionals in a row": "(if v < 2 then 1 else if v < 4 then v else 2.5) in {1, 2.5}",
    "param": "v > n && x1.r < eps",
    "definition": "near(v, 3) || near(twice(v), 6)",
    "definition of what is drawn": "twice(randInt(0, 5)) % 2 == 0 && near(randInt(0, 9), v)",
    "item": "xs[0].a <= xs[2].a",
    "item by a drawn index": "xs[v % 3].a >= xs[randInt(0, 2)].a",
    "label of an item": "label(xs[1]) + label(xs[v % 3]) < 4",
    "forall": "forall i in xs: xs[i].a > i - 3",
    "forall pairs": "forall i < j in xs: xs[i].a <= xs[j].a + v",
    "exists": "exists i in xs: predict(xs[i]) == v",
    "count": "(count i in xs: xs[i].f == 1) >= 2",
    "sum": "(sum i < j in xs: xs[i].r * xs[j].r) > 0",
    "quantifier inside another": "forall i in xs: exists j in xs: xs[j].a > xs[i].a - v",
    "list of outputs": "forall i in xs: ds[i] + i <= 4",
    "largest of a list": "max(ds) - min(ds) < 3",
    "greatest of NaN and a number": "v > 3 || max(nan(), 0.5) <= 9",
    "greatest of a number and NaN": "v > 3 || max(0.5, nan()) <= 9",
    "greatest of an integer and NaN": "v > 3 || max(0, nan() - 1) <= 9",
    "least of NaN and a number": "v > 3 || min(nan(), 0.5) <= 9",
    "least of a number and NaN": "v > 3 || min(0.5, 1.5, nan()) <= 9",
    "NaN rounded": "v > 3 || round(nan()) <= 9 || round(nan(), 1) >= 0",
    "size of NaN": "v > 3 || abs(nan()) >= 0 || abs(-nan()) != 1",
    "missing": "missing(x1[r := missing].r) && !missing(x1.r) && !missing(x1.h)",
    "missing in arithmetic": "v > 3 || x1[r := missing].r + v <= 9",
    "missing for some": "missing((if v > 3 then x1.r else x1[r := missing].r)) && v < 6",
    "missing value": "x1[r := missing] == x1 || v > 2",
    "long chain": " || ".join(f"v == {n}" for n in range(0, 300, 3)),
}
SPEC = """
    import small;
    param n := 2;
    param eps: real := 0.25;
    def twice(a) := a + a;
    def near(a, b) := abs(a - b) <= n;
    input x1;
    input x2;
    input xs[3];
    var v := randInt(0, 7);
    requires {requires};
    output ds;
    {{
      {block}
    }}
    ensures named: {ensures};
"""
STRAIGHT = "ds = [predict(x) for x in xs]"
LOOP = "ds = []\n      for x in xs: ds.append(predict(x))"


@pytest.mark.parametrize("block", [STRAIGHT, LOOP], ids=["vectorized", "coroutines"])
@pytest.mark.parametrize("construct", CONSTRUCTS)
def test_a_construct_means_the_same_everywhere(make, same, construct, block) -> None:
    test = CONSTRUCTS[construct]
    program = make(SPEC.format(requires="true", block=block, ensures=test))
    assert (program.spec.code.straight is None) == (block is LOOP)
    verdicts = {case.verdict for case in same(program, 120, {7: 35, 120: 120}).cases}
    assert {Verdict.PASSED, Verdict.VIOLATED} <= verdicts


@pytest.mark.parametrize("construct", CONSTRUCTS)
def test_a_construct_discards_the_same_everywhere(make, same, construct) -> None:
    test = CONSTRUCTS[construct]
    if "ds" in test:
        pytest.skip("outputs have no value before the block")
    text = SPEC.format(requires=test, block=STRAIGHT, ensures="ds[0] >= 0")
    verdicts = {case.verdict for case in same(make(text), 120, {120: 120}).cases}
    assert {Verdict.PASSED, Verdict.DISCARDED} <= verdicts
