"""Each construct of the language, in each execution mode."""

from __future__ import annotations

from itertools import product

import pytest

from nomos.engine.interpreter import Verdict
from tests.sizes import one_of, size

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
    "levels of a feature": "x1.o >= 'mid' && x2[o := 'low'].o < x2.o || x1.o in {'low'}",
    "names with an order": "rank(x1) <= rank(x2) && rank(x1) in 'fair'..'good'",
    "names with an order beside others": "rank(x1) < 'good' || x1.c != 'cat' || v < 2",
    "list of names with an order": "forall i < j in xs: rank(xs[i]) <= rank(xs[j])",
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
    "forall over an answer": "forall i in p: p[i] < 2 && q[i] in 0..3",
    "forall over a computed list": "forall i in top(x1): top(x2)[i] < v",
    "forall over nothing": "(forall i in top(x1): false) || v > 2",
    "forall with a condition": "forall i in xs if xs[i].f == 1: xs[i].a > 0",
    "forall behind an implication": "v > 3 ==> forall i in p: p[i] < 2",
    "no forall": "!forall i in p: p[i] < 2",
    "if behind an implication": "v > 3 ==> if x1.f == 1 then v < 6 else v > 4",
    "all pairs": "forall i, j in p: p[i] <= p[j] + 2",
    "all triples": "exists i, j, k in p: p[i] + q[j] + p[k] > v",
    "ordered triples": "(sum i < j < k in xs: xs[i].r + xs[k].r) > 0",
    "pairs with a condition": "(count i, j in xs if i != j: ds[i] < ds[j]) > 2",
    "sum with a condition": "(sum i in xs if xs[i].a > 3: xs[i].a) > 9",
    "mean": "(mean i in p: p[i]) + (mean i in xs: xs[i].a) > 5",
    "mean with a condition": "v == 0 || (mean i in xs if xs[i].f == 1: xs[i].a) > 5",
    "greatest of items": "(max i in xs: xs[i].a) - (min i in p: p[i]) > 12",
    "greatest with a condition": "(max i in xs if xs[i].f == 1: xs[i].r) > 0",
    "mean of a computed list": "(mean i in top(x1): i + v) > 4",
    "lists in lists": "forall i in xs: exists j in p: p[j] >= ds[i] - 2",
    "in a computed list": "v in top(x1)",
    "in an answer": "1 in p || v in ds",
    "vectors": "norm(p - q) + norm(p * q, 1) + norm(-p / 2, inf) > 5.5",
    "sums of arrays are plain": "v > 3 || v == 2 && sum(p) / (v - 2) > 0 && mean(p) / (v - 2) > 0",
    "vectors of other shapes": "v % 2 == 0 && (v < 4 || norm(p - top(x1)) >= 0)",
    "lists of another length": "v < 3 || v < 5 && sum(p - [y.f for y in [x1 for x in top(x1)]]) > 0",
    "vectors and numbers": "norm(2 * p - 1 + v % 3, inf) > 3",
    "power": "v ** 2 > 20 && 2 ** -v < 1 && -v ** 2 < 0 && v ** 0.5 < 2.7",
    "vector to a power": "sum(p ** 2) + sum(q % 2) > 4",
    "root": "sqrt(v) + exp(-v) + log(v + 1) > 3",
    "root of a negative": "sqrt(v - 2) > 1",
    "root of a vector": "norm(sqrt(p), 1) > 1.2 && sum(exp(q)) > 3",
    "sizes of a vector": "sum(abs(p - q)) > 2",
    "sum and mean of a list": "sum(ds) + mean(ds) > v",
    "close vectors": "isclose(p, q, rel := 0.6) || v > 3",
    "close records": "isclose(x1, x2, abs := 15) || v > 3",
    "named tolerance": "isclose(x1.r, x2.r, abs := 0.1, rel := 0.5) || isclose(v, 2)",
    "greatest of a vector": "max(p) > 1 && min(q) == 0",
    "derived list": "(count i in ys: ys[i].f == 1 && xs[i].f == 0) == v % 3",
    "item of a derived list": "ys[1].f == xs[1].f || ys[v % 3].a > 3 || v > 5",
    "list of answers": "max([predict(y) for y in ys]) > v - 2",
    "list of what a vector holds": "max([s * 2 + v for s in p]) > 6",
    "list of a computed list": "sum([t + v for t in top(x1)]) > 6",
    "list of lists": "sum([sum([t * s for s in p]) for t in top(x1)]) > 2 || v > 4",
    "long sum": "v + " + " + ".join(["1"] * 300) + " > 303",
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
    var p := shares(x1);
    var q := shares(x2);
    var ys := [x[f := 1 - x.f] for x in xs];
    requires {requires};
    output ds;
    {{
      {block}
    }}
    ensures named: {ensures};
"""
CASES = size(60, 120)
STRAIGHT = "ds = [predict(x) for x in xs]"
LOOP = "ds = []\n      for x in xs: ds.append(predict(x))"


@pytest.mark.parametrize(
    ("construct", "block"),
    [
        *product(CONSTRUCTS, [STRAIGHT]),
        *one_of(3, product(CONSTRUCTS, [LOOP])),
    ],
)
def test_a_construct_means_the_same_everywhere(make, same, construct, block) -> None:
    test = CONSTRUCTS[construct]
    program = make(SPEC.format(requires="true", block=block, ensures=test))
    assert (program.spec.code.straight is None) == (block is LOOP)
    verdicts = {
        case.verdict for case in same(program, CASES, {7: 35, CASES: CASES}).cases
    }
    assert {Verdict.PASSED, Verdict.VIOLATED} <= verdicts


@pytest.mark.parametrize("construct", one_of(2, CONSTRUCTS))
def test_a_construct_discards_the_same_everywhere(make, same, construct) -> None:
    test = CONSTRUCTS[construct]
    if "ds" in test:
        pytest.skip("outputs have no value before the block")
    text = SPEC.format(requires=test, block=STRAIGHT, ensures="ds[0] >= 0")
    verdicts = {case.verdict for case in same(make(text), CASES, {CASES: CASES}).cases}
    assert {Verdict.PASSED, Verdict.DISCARDED} <= verdicts
