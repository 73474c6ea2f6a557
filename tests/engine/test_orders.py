"""Names are compared by their order wherever they come from, never by the alphabet."""

from __future__ import annotations

import pytest

import nomos
from tests.engine.reference import Plain

SPEC = """
def worse(a, b) := a < b;
def first(a) := a[0];
input x1;
input xs[3];
REPEATS
var x2 := x1[age := x1.age + 1];
output g1;
output g2;
output gs;
{
  BLOCK
}
var h1 := g1;
var hs := [g for g in gs];
var k1 := if x1.age > 3 then g1 else g2;
var k2 := if x1.age > 3 then g2 else g1;
ensures E;
"""
BLOCKS = (
    "g1 = grade(x1)\n  g2 = grade(x2)\n  gs = [grade(x) for x in xs]",
    "gs = list(map(grade, xs))\n  g1, g2 = grade(x1), grade(x2)",
)
PAIRS = [
    ("g1", "g2"),
    ("gs[0]", "gs[1]"),
    ("h1", "gs[2]"),
    ("hs[0]", "hs[1]"),
    ("k1", "k2"),
    ("if x1.age > 3 then g1 else g2", "if x1.age > 2 then g2 else g1"),
    ("[g for g in gs][0]", "[g for g in gs][1]"),
    ("first(gs)", "first([grade(x) for x in xs])"),
    ("'fair'", "[grade(x) for x in xs][0]"),
]


@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("repeats", ["", "repeats 2;"])
@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_names_of_answers_are_compared_by_their_order(
    block: str, repeats: str, one: str, other: str
) -> None:
    by_name = f"({one}) == 'poor' && ({other}) != 'poor' || ({one}) == 'fair' && ({other}) == 'good'"
    found = set()
    for test in (f"({one}) < ({other})", f"worse({one}, {other})", by_name):
        ensures = f"forall r in repeats: {test}" if repeats else test
        text = SPEC.replace("REPEATS", repeats).replace("BLOCK", block)
        text = text.replace("E;", f"{ensures};")
        counts = nomos.run(text, domain=Plain, budget=100, search="random").counts
        found.add((counts.violations, counts.crashed))
    assert len(found) == 1


def test_vars_behind_a_block_stand_in_each_repeat() -> None:
    text = SPEC.replace("REPEATS", "repeats 2;").replace("BLOCK", BLOCKS[0])
    test = "forall r in repeats: (if g1 in {g2, k2} then h1 else g1) == g1"
    counts = nomos.run(text.replace("E;", f"{test};"), domain=Plain, budget=100).counts
    assert (counts.violations, counts.crashed) == (0, 0)
