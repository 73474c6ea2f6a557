"""Proofs against brute force: small schemas whose cases can all be run alone."""

from __future__ import annotations

import pytest

from nomos.verify import NotProvable, Options, prove, real, verify
from tests.verify.triples import Triple, brute_force, random_triple

pytest.importorskip("sklearn")
TREES = (
    "tree",
    "tree regressor",
    "forest",
    "forest regressor",
    "boosting",
    "boosting regressor",
    "histograms",
    "pipeline",
)
KINDS = (*TREES, "logistic", "linear regressor", "network", "network regressor")
PATIENT = Options(seconds=120, counting=120)


@pytest.fixture(autouse=True)
def _few_rows_to_compare(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(real, "SCHEMA_ROWS", 100)
    monkeypatch.setattr(prove, "_SAMPLES", 20)


def disagreement(triple: Triple) -> str:
    """Say how a proof and brute force differ, if they do."""
    cases, bad = brute_force(triple)
    result = verify(triple.spec, triple.domain, options=PATIENT)
    wanted = "open" if not cases else "violated" if bad else "holds"
    if result.verdict != wanted or result.cases != cases:
        return f"{result.verdict} of {result.cases}, not {wanted} of {cases}"
    if cases and result.violating != (bad, bad):
        return f"{result.violating} violating, not {bad}"
    return ""


def check(seeds: range, kinds: tuple[str, ...]) -> None:
    for seed in seeds:
        triple = random_triple(seed, kinds)
        try:
            wrong = disagreement(triple)
        except NotProvable as error:
            wrong = f"not provable: {error}"
        assert not wrong, f"seed {seed}, {triple.kind}: {wrong}\n{triple.text}"


@pytest.mark.parametrize("kind", KINDS)
def test_answers_and_counts_are_those_of_brute_force(kind: str) -> None:
    check(range(25), (kind,))
