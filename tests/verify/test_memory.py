"""Proofs that would fill the memory are given up, or made of parts."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest

from nomos.domain import Flag, Integer, Schema
from nomos.errors import NotProvable
from nomos.models.kinds import extract_structure
from nomos.results.result import Proof
from nomos.structures.trees import TreeKeys, Trees
from nomos.verify import ProofOptions, verify
from nomos.verify.engines import leaves
from nomos.verify.question.space import whole
from tests.verify.triples import domain_of, spec_of

pytest.importorskip("sklearn")
MANY = 100_000
SPEC = """\
import small;
input x1;
var x2 := x1[a := x1.a + 1];
requires x2.a <= 100000;
output d1;
output d2;
{{
  d1 = predict(x1)
  d2 = predict(x2)
}}
ensures d1 <= d2 + {more};
"""


def prove(model: Any, flags: int, more: float = 5) -> Proof:
    rng = np.random.default_rng(0)
    flag_values = rng.integers(0, 2, (100, flags))
    rows = np.column_stack([rng.integers(0, MANY, 100), flag_values]).astype(float)
    model.fit(rows, rows[:, 0] / MANY + rows[:, 1])
    names = (Flag(f"f{n}") for n in range(flags))
    domain = domain_of(
        Schema(Integer("a", 0, MANY), *names), model, rows, model.predict
    )
    return verify(
        spec_of(SPEC.format(more=more), domain),
        domain,
        options=ProofOptions(seconds=60),
    )


def test_many_values_of_one_feature_are_not_many_rows_of_all() -> None:
    from sklearn.tree import DecisionTreeRegressor

    schema = Schema(Integer("a", 0, MANY), *(Flag(f"f{n}") for n in range(400)))
    rows = np.random.default_rng(0).integers(0, 2, (50, 401)).astype(float)
    rows[:, 0] = np.arange(50) * 1000
    tree = DecisionTreeRegressor(max_depth=3, random_state=0).fit(rows, rows[:, 0])
    model = extract_structure(tree, 401)
    assert isinstance(model, Trees)
    keys = TreeKeys(model, whole(schema), rows.dtype)
    tracemalloc.start()
    cells = keys.of("a", np.arange(MANY))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert cells.max() == len(keys.thresholds[0])
    assert peak < MANY * 401 * 8 / 4  # a quarter of all rows at once, in doubles


@pytest.mark.parametrize(
    ("limit", "says"),
    [
        ("_MOST_CELLS", "the leaves of a tree and the values"),
        ("_MOST_BYTES", "the leaves of all trees and the values"),
    ],
)
def test_leaves_that_would_fill_the_memory_are_undecided(
    limit: str, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sklearn.ensemble import RandomForestRegressor

    monkeypatch.setattr(leaves, limit, 1_000)
    with pytest.raises(NotProvable, match=says):
        prove(RandomForestRegressor(3, random_state=0), 3, more=0.7)
