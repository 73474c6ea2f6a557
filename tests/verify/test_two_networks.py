"""Two networks that should answer alike: one compressed, or of another depth."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

from nomos.domain import Domain, Real, Schema, batched
from nomos.errors import NotProvable
from nomos.structures.joined import join_networks
from nomos.structures.model import as_they_are
from nomos.structures.sklearn import estimator_structure
from nomos.verify import prove, real
from tests.sizes import size
from tests.verify.test_paths import Asked, is_broken, settle

neural_network = pytest.importorskip("sklearn.neural_network")
SPEC = """\
import small;
input x1;
output d1;
output d2;
{{
  d1 = {old}(x1)
  d2 = {new}(x1)
}}
ensures {ensures};
"""
Array = np.ndarray[Any, Any]


@pytest.fixture(autouse=True)
def _few_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(real, "SCHEMA_ROWS", 50)
    monkeypatch.setattr(prove, "SAMPLES", 200)


def random_network(rng: np.random.Generator, *sizes: int) -> Any:
    network = neural_network.MLPClassifier(sizes, max_iter=1, random_state=0)
    with pytest.warns():  # it learned too little
        network.fit(rng.random((30, 3)), np.arange(30) % 2)
    for weight in (*network.coefs_, *network.intercepts_):
        weight[:] = rng.normal(size=weight.shape)
    return network


def make_domain(old: Any, new: Any) -> Domain:
    class Small(Domain):
        schema = Schema(Real("a", 0, 1), Real("b", 0, 1), Real("c", 0, 1))
        verifies = {  # noqa: RUF012
            "before": "old.probability", "after": "new.probability",
            "said": "old", "says": "new",
        }  # fmt: skip

        def inputs(self) -> Array:
            return np.random.default_rng(1).random((100, 3))

        @batched
        def before(self, given: Array) -> Any:
            return old.predict_proba(given)[:, 1]

        @batched
        def after(self, given: Array) -> Any:
            return new.predict_proba(given)[:, 1]

        @batched
        def said(self, given: Array) -> Any:
            return old.predict(given)

        @batched
        def says(self, given: Array) -> Any:
            return new.predict(given)

    domain = Small()
    domain.old, domain.new = old, new  # type: ignore[attr-defined]
    return domain


def test_no_case_contradicts_a_proof_that_two_networks_are_alike() -> None:
    counts = {"holds": 0, "violated": 0, "undecided": 0}
    for seed in range(size(12, 200)):
        rng = np.random.default_rng(seed)
        old = random_network(rng, *rng.integers(2, 5, rng.integers(1, 3)))
        new = copy.deepcopy(old)
        for weight in new.coefs_:
            weight += rng.choice([0.001, 0.05]) * rng.normal(size=weight.shape)
        text = SPEC.format(
            old="before",
            new="after",
            ensures=f"abs(d1 - d2) <= {rng.choice([0.01, 0.05, 0.3])}",
        )
        asked = Asked(make_domain(old, new), text)
        verdict = settle(asked, 1.0).verdict
        counts[verdict] += 1
        assert verdict != "holds" or not is_broken(asked, least=0.0), f"seed {seed}"
    assert counts["holds"] > 2 and counts["violated"] > 1, counts


def test_networks_of_different_depth_are_joined_as_they_are() -> None:
    rng = np.random.default_rng(0)
    networks = random_network(rng, 4), random_network(rng, 3, 5, 2)
    parts = {
        name: estimator_structure(network, as_they_are(3))
        for name, network in zip("ab", networks, strict=True)
    }
    joined, rows = join_networks(parts), rng.random((50, 3))
    apart = np.concatenate([part.scores(rows) for part in parts.values()], axis=1)
    assert np.allclose(joined.scores(rows), apart)
    assert joined.find_output("b:score").weights.tolist() == [0, 1]  # type: ignore[union-attr]


def test_labels_of_two_networks_are_refused() -> None:
    network = random_network(np.random.default_rng(0), 3)
    text = SPEC.format(old="said", new="says", ensures="d1 == d2")
    with pytest.raises(NotProvable, match="compare their scores"):
        settle(Asked(make_domain(network, network), text))
