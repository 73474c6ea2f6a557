"""Proofs against brute force: small schemas whose cases can all be run in isolation."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import astuple, replace
from functools import cache
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from nomos.verify import NotProvable, ProofOptions, falsify, prove, real, verify
from nomos.verify.engines import netsearch, regions, slope
from tests.sizes import size
from tests.verify.triples import (
    Triple,
    brute_force,
    domain_of,
    random_triple,
    rising_triple,
    spec_of,
)

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
LAYERS = ("logistic", "linear regressor", "network", "network regressor")
PATIENT = ProofOptions(seconds=120, counting=120)


@pytest.fixture(autouse=True)
def _engines_have_to_do_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sample and ask so little that bounds decide, and take ranges for small tables."""
    monkeypatch.setattr(real, "SCHEMA_ROWS", 100)
    for name in ("SAMPLES", "FEWER_SAMPLES"):
        monkeypatch.setattr(prove, name, 5)
    monkeypatch.setattr(falsify, "_GENERATIONS", 0)
    monkeypatch.setattr(netsearch, "_SMALL", 2)
    monkeypatch.setattr(regions, "_WIDE", 3)
    monkeypatch.setattr(regions, "_POLYGON", 3)


@cache
def tried(make: Callable[..., Triple], *given: object) -> tuple[Triple, int, int]:
    """Make a triple and run all its cases, once: the truth is the same for all mutants."""
    triple = make(*given)
    return triple, *brute_force(triple)


def has_premise(triple: Triple, text: str) -> bool:
    """Say whether a case has what stands before `==>` in an `ensures`, by trying all."""
    before = triple.text.partition("ensures")[0]
    text = f"{before}ensures !({text.partition(' ==> ')[0]});\n"
    return brute_force(replace(triple, spec=spec_of(text, triple.domain)))[1] > 0


def disagreement(triple: Triple, cases: int, bad: int) -> str:
    """Say how a proof and brute force differ, if they do."""
    result = verify(triple.spec, triple.domain, options=PATIENT)
    wanted = "undecided" if not cases else "violated" if bad else "holds"
    vacuous = [one.text for one in result.premises if one.most == 0]
    if cases and not bad and vacuous:
        had = [text for text in vacuous if has_premise(triple, text)]
        return f"cases have {had}" if had else ""
    if result.verdict != wanted or result.cases != cases:
        return f"{result.verdict} of {result.cases}, not {wanted} of {cases}"
    if cases and result.violating != (bad, bad):
        return f"{result.violating} violating, not {bad}"
    return ""


def check(seeds: range, kinds: tuple[str, ...]) -> None:
    for seed in seeds:
        triple, cases, bad = tried(random_triple, seed, kinds)
        try:
            wrong = disagreement(triple, cases, bad)
        except NotProvable as error:
            wrong = f"not provable: {error}"
        assert not wrong, f"seed {seed}, {triple.kind}: {wrong}\n{triple.text}"


@pytest.mark.parametrize("kind", [*TREES, *LAYERS])
def test_answers_and_counts_are_those_of_brute_force(kind: str) -> None:
    check(range(size(5, 12)), (kind,))


@pytest.mark.slow
@pytest.mark.parametrize("start", range(1000, 3000, 200))
def test_two_thousand_triples_are_answered_as_by_brute_force(start: int) -> None:
    check(range(start, start + 200), (*TREES, *LAYERS))


@pytest.fixture
def _no_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave a number that rises to the engine that looks at its steps."""
    monkeypatch.setattr(prove, "sample_violation", lambda *_: None)
    monkeypatch.setattr(slope, "_SMALL", 3)


def verdict_is_wrong(seed: int) -> bool:
    triple, cases, bad = tried(rising_triple, seed)
    result = verify(triple.spec, triple.domain, options=PATIENT)
    wanted = "undecided" if not cases else "violated" if bad else "holds"
    return (result.verdict, result.cases) != (wanted, cases)


@pytest.mark.usefixtures("_no_samples")
def test_one_copy_of_a_network_answers_as_brute_force_does() -> None:
    assert [seed for seed in range(size(8, 16)) if verdict_is_wrong(seed)] == []


@pytest.mark.slow
@pytest.mark.usefixtures("_no_samples")
def test_one_copy_of_many_networks_answers_as_brute_force_does() -> None:
    assert [seed for seed in range(16, 80) if verdict_is_wrong(seed)] == []


def certificate_is_wrong(triple: Triple, rows: int = 12) -> bool:
    """Compare proofs around rows with brute force on the records near them."""
    options = replace(PATIENT, radius={"a": 2.0, "b": 1.0}, rows=rows)
    result = verify(triple.spec, triple.domain, options=options)
    data, domain = triple.domain.inputs(), triple.domain
    for row, verdict, count in map(astuple, result.rows):
        near = data[(np.abs(data - data[row]) <= (2, 1, 0, 0)).all(axis=1)]
        own = domain_of(domain.schema, domain.model, near, domain.model.predict)
        cases, bad = brute_force(replace(triple, domain=own))
        wanted = "undecided" if not cases else "violated" if bad else "holds"
        if (verdict, count) != (wanted, cases):
            return True
    return False


@pytest.mark.usefixtures("_no_samples")
def test_proofs_around_rows_answer_as_brute_force_does() -> None:
    wrong = [
        seed for seed in range(size(4, 10)) if certificate_is_wrong(rising_triple(seed))
    ]
    assert wrong == []


def test_inputs_that_no_call_sees_are_counted_around_rows() -> None:
    triple = rising_triple(0)
    text = triple.text.replace("input x1;", "input x1;\ninput y;")
    spec = spec_of(text, triple.domain)
    assert not certificate_is_wrong(replace(triple, spec=spec, text=text), rows=2)


@pytest.mark.usefixtures("_no_samples")
@pytest.mark.parametrize(
    ("module", "old", "new"),
    [
        ("slope", "size and n not in rest", "size"),
        ("slope", "[low, high - 1]", "[low, high - 2]"),
        (
            "slope",
            "self._find_forbidden(own[:-1], own[1:])",
            "self._find_forbidden(own, own)",
        ),
        ("shapes", "left &= space.range_of(variable).has(values)", "pass"),
    ],
)
def test_a_mutant_of_proofs_around_rows_is_caught(
    monkeypatch: pytest.MonkeyPatch, module: str, old: str, new: str
) -> None:
    mutate(monkeypatch, f"engines.{module}", old, new)
    assert any(certificate_is_wrong(rising_triple(seed)) for seed in range(10))


@pytest.mark.usefixtures("_no_samples")
def test_a_slope_that_is_thought_to_rise_is_caught(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = "self._least_slopes(known) <= 2 * slack", "self._least_slopes(known) <= -1e9"
    mutate(monkeypatch, "engines.slope", *text)
    mutant = sys.modules["nomos.verify.engines.slope"].SlopeSearch
    monkeypatch.setattr(mutant, "sweep", lambda *_: None)
    assert any(verdict_is_wrong(seed) for seed in range(40))


def mutate(monkeypatch: pytest.MonkeyPatch, module: str, old: str, new: str) -> None:
    """Replace text of a module, and put what it then defines in place everywhere."""
    package = "nomos" if module.startswith("structures.") else "nomos.verify"
    original = sys.modules[f"{package}.{module}"]
    text = Path(str(original.__file__)).read_text(encoding="utf-8")
    assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in {module}"
    mutant = ModuleType(original.__name__)
    monkeypatch.setitem(
        sys.modules, original.__name__, mutant
    )  # dataclasses look there
    exec(compile(text.replace(old, new), str(original.__file__), "exec"), vars(mutant))
    numbers = {n: v for n, v in vars(original).items() if isinstance(v, int | float)}
    vars(mutant).update(numbers)  # those that the fixture has set
    own_names = [n for n in vars(mutant) if not n.startswith("__")]
    names = [n for n in own_names if n in vars(original) and n not in numbers]
    for name, loaded in list(sys.modules.items()):
        if (
            name.startswith(("nomos.verify", "nomos.structures"))
            and loaded is not mutant
        ):
            for own in names:
                if vars(loaded).get(own) is vars(original)[own]:
                    monkeypatch.setattr(loaded, own, vars(mutant)[own])


MUTANTS = {
    "bound forgets a tree": (
        "engines.ensemble",
        "most = np.maximum.reduceat(gains, starts, axis=0).sum(axis=0) + self.constants\n"
        "        rising",
        "most = np.maximum.reduceat(gains, starts, axis=0)[1:].sum(axis=0) + self.constants\n"
        "        rising",
    ),
    "the first bound of a smaller leaf": (
        "engines.ensemble",
        "constants += best.max(axis=1)",
        "constants += best.min(axis=1)",
    ),
    "the first bound sees no change": (
        "engines.ensemble",
        "if columns.isdisjoint(tree.feature[~is_leaf].tolist()):",
        "if True:",
    ),
    "bound of the wrong leaf": (
        "engines.ensemble",
        "least = np.minimum.reduceat(gains, starts, axis=0).sum(axis=0) + self.constants",
        "least = np.maximum.reduceat(gains, starts, axis=0).sum(axis=0) + self.constants",
    ),
    "ties are taken for no violation": (
        "engines.ensemble",
        "most < -self.slack",
        "most <= self.slack",
    ),
    "the last region is not asked": (
        "engines.ensemble",
        "if self.reached.cases.find_broken(self.reached.first(part.mask), 1)[0]:",
        "if False:",
    ),
    "any rise of a tree is forgotten": (
        "engines.ensemble",
        "v[:, one, 0] > v[:, two, 0]",
        "v[:, one, 0] > 1e9",
    ),
    "< for <= on the way to a leaf": (
        "engines.leaves",
        "x < bound if self.keys.model.strict else x <= bound",
        "x < bound",
    ),
    "< for <= between cells": (
        "structures.trees",
        '"right" if self.model.strict else "left"',
        '"right"',
    ),
    "a lost column of a one-hot group": (
        "structures.trees",
        "zip(places, made, strict=True)",
        "zip(places[:1], made, strict=False)",
    ),
    "a draw without its last number": (
        "question.components",
        "lengths = high - low + 1",
        "lengths = high - low",
    ),
    "a condition that is dropped": (
        "question.components",
        "self._keep_rows(np.flatnonzero(held))",
        "pass",
    ),
    "`or` for `and` in an ensures": (
        "question.formulas",
        'if (word == "&&") == wanted:',
        'if (word == "&&") != wanted:',
    ),
    "an ReLU below its lower line": (
        "engines.bounds",
        "below = np.where(bent, (high > -low).astype(float), on)",
        "below = np.where(bent, 1.5, on)",
    ),
    "an ReLU above its upper line": (
        "engines.bounds",
        "np.where(bent, -low * above, 0)",
        "np.where(bent, 0, 0)",
    ),
    "a ReLU that carries no difference": (
        "engines.bounds",
        "most = np.where(on, high, np.where(off, 0, np.maximum(high, 0)))",
        "most = np.where(on, high, 0)",
    ),
    "a range without its end": (
        "engines.shapes",
        "two = weights @ self.slope * (state[:, 1:] + self.step)",
        "two = weights @ self.slope * state[:, :1]",
    ),
    "a table without its largest value": (
        "engines.shapes",
        "np.where(left, own, -np.inf)",
        "(np.where(left, own, np.inf) * 0)",
    ),
    "a term that falls is forgotten": (
        "engines.terms",
        "return not (falls[0] if a else rises[0])",
        "return not (rises[0] if a else falls[0])",
    ),
    "columns of a term are not looked at": (
        "engines.terms",
        "falls |= (np.minimum(up, down) < 0).any(axis=1)",
        "pass",
    ),
    "a polygon without an edge": (
        "engines.shapes",
        "high = np.minimum(high, np.floor(rest / -b))",
        "pass",
    ),
    "the wrong half of a question": (
        "question.splitting",
        "return part if value else core.Not(part, span=part.span)",
        "return part",
    ),
}


# Seeds from which on to look first: those before tell nothing, today.
LIKELY = {"a term that falls is forgotten": 72, "an ReLU below its lower line": 23}


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_of_an_engine_is_caught(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    mutate(monkeypatch, *MUTANTS[name])
    layers = MUTANTS[name][0] in (
        "engines.bounds",
        "engines.shapes",
        "engines.terms",
    )
    kinds = LAYERS if layers else TREES
    likely = LIKELY.get(name, 0)
    for seed in (*range(likely, 120), *range(likely)):
        truth = tried(random_triple, seed, kinds)
        try:
            if disagreement(*truth):
                return
        except NotProvable as error:  # a refusal tells nothing
            if "is none when it is run in isolation" in str(error):
                return
        except Exception:  # nor does a mutant that does not run
            continue
    pytest.fail("no triple tells this mutant from the engine")
