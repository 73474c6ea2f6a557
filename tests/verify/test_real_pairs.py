"""Two real features that are compared: answers are those of all values that matter."""

from __future__ import annotations

import numpy as np
import pytest

from nomos.domain import Flag, Real, Schema
from nomos.verify import NotProvable, ProofOptions, falsify, prove, verify
from tests.sizes import size
from tests.verify.triples import domain_of, spec_of

tree = pytest.importorskip("sklearn.tree")
SCHEMA = Schema(Real("a", 0, 1), Flag("c"))
SPEC = """\
import small;
input x1;
input x2;
requires x1.c == x2.c && ({guard});
allow unchanged;
output d1;
output d2;
{{
  d1 = predict(x1)
  d2 = predict(x2)
}}
ensures d1 {sign} d2;
"""
GUARDS = {
    "x1.a < x2.a": np.less,
    "x1.a <= x2.a": np.less_equal,
    "x1.a != x2.a": np.not_equal,
    "x1.a == x2.a": np.equal,
    "!(x1.a < x2.a)": np.greater_equal,
    "x1.a > x2.a || x1.a == x2.a": np.greater_equal,
    "x1.a <= x2.a && x2.a <= x1.a && x1.a < x2.a": lambda a, b: (a < b) & (b <= a),
}


@pytest.fixture(autouse=True)
def _engines_have_to_do_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(falsify, "_GENERATIONS", 0)
    for name in ("SAMPLES", "FEWER_SAMPLES"):
        monkeypatch.setattr(prove, name, 1)


@pytest.mark.parametrize("guard", GUARDS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_two_reals_that_are_compared_are_decided_cell_by_cell(
    guard: str, dtype: str
) -> None:
    for seed in range(size(3, 12)):
        rng = np.random.default_rng(seed)
        a = rng.choice([0, 1, *rng.random(3)], 40).astype(np.float32)
        # Neighbours, so that some cells hold a single number.
        a[::3] = np.nextafter(a[::3], np.float32(rng.integers(0, 2)))
        rows = np.column_stack([a, rng.integers(0, 2, 40)]).astype(dtype)
        labels = (rng.permutation(40) if seed % 2 else np.argsort(np.argsort(a))) // 10
        model = tree.DecisionTreeRegressor(max_depth=4, random_state=0).fit(
            rows, labels
        )
        domain = domain_of(SCHEMA, model, rows, model.predict)
        at = model.tree_.threshold[model.tree_.feature == 0].astype(dtype)
        near = [at, *(np.nextafter(at, at.dtype.type(end)) for end in (-9, 9))]
        # The tree sees float32: the neighbours of a threshold there, too.
        seen = np.concatenate([at.astype(np.float32), np.array([0, 1], np.float32)])
        near += [np.nextafter(seen, np.float32(end)) for end in (-9, 9)]
        values = np.unique(np.concatenate([seen, *near]).astype(dtype))
        values = values[(values >= 0) & (values <= 1)]
        one, other = map(np.ravel, np.meshgrid(values, values))
        fits = GUARDS[guard](one, other)
        for sign, is_so in (("<=", np.less_equal), ("==", np.equal)):
            said = [
                [model.predict(np.column_stack([v[fits], np.full(fits.sum(), c)]))
                 if fits.any() else np.zeros(0) for v in (one, other)]
                for c in (0, 1)
            ]  # fmt: skip
            good = all(is_so(*pair).all() for pair in said)
            wanted = "undecided" if not fits.any() else "holds" if good else "violated"
            spec = spec_of(SPEC.format(guard=guard, sign=sign), domain)
            proof = verify(spec, domain, options=ProofOptions(seconds=60))
            assert proof.verdict == wanted, (seed, sign)


def test_a_real_pair_with_more_than_comparisons_is_refused() -> None:
    rows = np.random.default_rng(0).random((50, 2)).round(2)
    model = tree.DecisionTreeRegressor(max_depth=3).fit(rows, rows[:, 0])
    domain = domain_of(SCHEMA, model, rows, model.predict)
    spec = spec_of(SPEC.format(guard="x1.a < x2.a + 0.1", sign="<="), domain)
    with pytest.raises(NotProvable, match="are real and depend on each other"):
        verify(spec, domain, options=ProofOptions(within="a=0..0.001"))
