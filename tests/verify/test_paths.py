"""Networks whose real features change: proofs against dense sampling, and their limits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from nomos.diagnostics.source import Source
from nomos.domain import Domain, Integer, OneHot, Real, Schema, batched
from nomos.domain.domain import offer_of
from nomos.engine.program import Program
from nomos.errors import NotProvable
from nomos.lang.checking.check import check_spec
from nomos.results.result import Proof
from nomos.verify import ProofOptions, Prover, falsify, prove, real
from nomos.verify.engines.paths import steepest
from nomos.verify.question.cases import size_of
from tests.sizes import one_of, size
from tests.verify.test_soundness import mutate

neural_network = pytest.importorskip("sklearn.neural_network")
Array = np.ndarray[Any, Any]
SPEC = """\
import small;
input x1;
{var}
output d1;
output d2;
{{
  d1 = {says}(x1)
  d2 = {says}(x2)
}}
ensures {ensures};
"""
RISES = "var x2 := x1[a := x1.a + randReal(0, 0.4)];\nrequires x2.a <= 1;"
FAR = "var x2 := x1[a := x1.a + randReal(0.2, 0.4)];\nrequires x2.a <= 1;"
OTHER = "input y;\nvar x2 := x1[a := y.a];\nrequires y.a >= x1.a;"
NEAR = (
    "var x2 := x1[a := x1.a + randReal(-0.1, 0.1)];\nrequires x2.a <= 1 && x2.a >= 0;"
)
TWO = (
    "var x2 := x1[a := x1.a + randReal(0, 0.2)][b := x1.b + randReal(0, 0.2)];\n"
    "requires x2.a <= 1 && x2.b <= 1;"
)
PAIR = "input x2;\nrequires x1.b == x2.b && x1.n == x2.n && x1.c == x2.c && x2.a >= x1.a + 0.05;"
# How inputs differ, which function is asked, what is to hold.
ASKED = (
    (RISES, "predict", "d1 <= d2"),
    (FAR, "predict", "d1 <= d2"),
    (OTHER, "predict", "d1 <= d2"),
    (PAIR, "predict", "d1 <= d2"),
    (TWO, "predict", "d1 <= d2"),
    (NEAR, "chance", "abs(d1 - d2) <= {size}"),
    (NEAR, "chance", "d1 > 0.8 ==> d2 > 0.4"),
    (FAR, "score", "d1 <= d2 + {size}"),
    (RISES, "score", "d2 - d1 <= {size} * (x2.a - x1.a)"),
    (TWO, "score", "abs(d2 - d1) <= {size}"),
)


@dataclass(frozen=True)
class Asked:
    """A small network, and what is asked of it."""

    domain: Domain
    text: str


def make_domain(network: Any, dtype: str) -> Domain:
    """Return a domain whose model has two real features, a number and a name."""
    rows = np.random.default_rng(1).random((200, 5))
    rows[:, 2] = np.rint(3 * rows[:, 2])
    rows[:, 3:] = np.eye(2)[(rows[:, 3] > 0.5).astype(int)]

    class Small(Domain):
        schema = Schema(
            Real("a", 0, 1),
            Real("b", 0, 1),
            Integer("n", 0, 3),
            OneHot("c", ["x", "y"]),
        )
        verifies = {  # noqa: RUF012
            "predict": "model", "chance": "model.probability", "score": "model.score",
        }  # fmt: skip
        model = network

        def inputs(self) -> Array:
            return rows.astype(dtype)

        @batched
        def predict(self, given: Array) -> Any:
            return self.model.predict(given)

        @batched
        def chance(self, given: Array) -> Any:
            return self.model.predict_proba(given)[:, 1]

        @batched
        def score(self, given: Array) -> Any:
            hidden: Any = given
            layers = list(zip(self.model.coefs_, self.model.intercepts_, strict=True))
            for number, (weight, bias) in enumerate(layers):
                hidden = (np.maximum(hidden, 0) if number else hidden) @ weight + bias
            return hidden[:, 0]

    return Small()


def random_network(rng: np.random.Generator, dtype: str, classes: int) -> Any:
    """Return a network with random weights; what it learned is of no interest."""
    sizes = tuple(int(n) for n in rng.integers(2, 6, rng.integers(1, 4)))
    network = neural_network.MLPClassifier(sizes, max_iter=1, random_state=0)
    labels = np.arange(30) % classes
    with pytest.warns():  # it learned too little
        network.fit(rng.random((30, 5)).astype(dtype), labels)
    tilt = rng.choice([0.0, 0.6, 1.5])
    for place, weight in enumerate(network.coefs_):
        weight[:] = rng.normal(size=weight.shape) + (tilt if place else 0)
        if not place:
            weight[0] = np.abs(weight[0]) if tilt else weight[0]
    for bias in network.intercepts_:
        bias[:] = rng.normal(size=bias.shape) * 0.7
    rows = rng.random((500, 5))
    hidden: Any = rows
    for place, (weight, bias) in enumerate(
        zip(network.coefs_, network.intercepts_, strict=True)
    ):
        hidden = (np.maximum(hidden, 0) if place else hidden) @ weight + bias
    network.intercepts_[-1] -= np.median(hidden, axis=0).astype(dtype)
    return network


def random_question(seed: int) -> Asked:
    """Return a question about a random network; the seed says all of it."""
    rng = np.random.default_rng(seed)
    var, says, ensures = ASKED[seed % len(ASKED)]
    dtype = str(rng.choice(["float32", "float64"]))
    classes = 3 if says == "predict" and rng.random() < 0.4 else 2
    network = random_network(rng, dtype, classes)
    bound = float(rng.choice([0.05, 0.3, 1.0, 4.0, 12.0]))
    text = SPEC.format(var=var, says=says, ensures=ensures.format(size=bound))
    return Asked(make_domain(network, dtype), text)


def settle(asked: Asked, seconds: float = 1.0) -> Proof:
    """Return what a proof says."""
    checked = check_spec(
        Source("small.nom", asked.text), "small", offer_of(type(asked.domain))
    )
    assert checked.spec is not None, [d.message for d in checked.diagnostics]
    program = Program(checked.spec, asked.domain)
    return Prover(asked.domain).verify(program, ProofOptions(seconds=seconds))


def is_broken(asked: Asked, count: int = 10_000, least: float = 1e-3) -> bool:
    """Tell whether drawn cases break a question, by steps that are no matter of rounding."""
    checked = check_spec(
        Source("small.nom", asked.text), "small", offer_of(type(asked.domain))
    )
    assert checked.spec is not None
    prover = Prover(asked.domain)
    cases = prover.parse_cases(Program(checked.spec, asked.domain), "")
    rng = np.random.default_rng(7)
    drawn = cases.from_schema(rng, count)
    ends = (cases.question.calls[0], cases.question.calls[-1])
    one, two = (cases.rows(call, drawn, size_of(drawn)) for call in ends)
    far = np.abs(one - two).max(axis=1) >= least
    drawn = {name: values[far] for name, values in drawn.items()}
    return bool(cases.find_broken(drawn, int(far.sum())).any())


@pytest.fixture
def _bounds_have_to_do_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw so few cases before a proof that bounds decide."""
    monkeypatch.setattr(real, "SCHEMA_ROWS", 50)
    for name in ("SAMPLES", "FEWER_SAMPLES"):
        monkeypatch.setattr(prove, name, 2)
    monkeypatch.setattr(falsify, "_GENERATIONS", 0)
    monkeypatch.setattr(steepest.Steepest, "find", lambda *_: None)
    monkeypatch.setattr(steepest.Steepest, "ask_corners", lambda *_: None)


@pytest.fixture
def _few_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(real, "SCHEMA_ROWS", 50)
    for name in ("SAMPLES", "FEWER_SAMPLES"):
        monkeypatch.setattr(prove, name, 500)


@pytest.mark.usefixtures("_few_rows")
def test_no_case_that_is_drawn_contradicts_a_proof() -> None:
    counts = {"holds": 0, "violated": 0, "undecided": 0}
    missed = 0
    for seed in range(size(20, 1000)):
        asked = random_question(seed)
        verdict = settle(asked).verdict
        counts[verdict] += 1
        assert verdict != "holds" or not is_broken(asked), f"seed {seed}\n{asked.text}"
        missed += verdict == "undecided" and is_broken(asked)
    total = sum(counts.values())
    assert counts["holds"] > 0.15 * total, counts
    assert counts["undecided"] < 0.25 * total, counts
    assert missed <= 0.01 * total  # a case breaks them, and a second did not find one


MUTANTS = {
    "a ReLU that is never on": (
        "engines.paths.pairs", "has = np.where(is_on, ~off, ~on)", "has = np.where(is_on, on, ~on)"),
    "corners of one end": (
        "engines.paths.pairs", "above = np.take_along_axis(over, at, 0)[0]",
        "above = np.minimum(np.take_along_axis(over, at, 0)[0], 0)"),
    "a point at the wrong corner": (
        "engines.paths.twins", "point = np.where(flat > 0, high, low)",
        "point = np.where(flat > 0, low, high)"),
    "a slope of the wrong sign": (
        "engines.paths.traces", "rows = [(none, -weights, -drop)]",
        "rows = [(none, weights, -drop)]"),
    "one half is forgotten": (
        "engines.paths.branching", "for sign in (1, -1):", "for sign in (1,):"),
    "bounds of layers are too narrow": (
        "engines.paths.pairs", "low, high = box.low - own, box.high + own",
        "low, high = box.low + 0.6 * (box.high - box.low), box.high + own"),
    "a band that is nowhere": (
        "engines.paths.traces", "rows += [(weights, none, -band[0])", "rows += [(weights, none, -band[0] - 3)"),
    "a fall that is too large": (
        "engines.paths.traces", "steep = drop / most", "steep = 4 * drop / most"),
    "the path ends where the lower call is": (
        "engines.paths.traces", "max(e[1] for e in ends)", "min(e[1] for e in ends) - 0.7"),
}  # fmt: skip


@pytest.mark.usefixtures("_bounds_have_to_do_the_work")
@pytest.mark.parametrize("name", one_of(3, MUTANTS, first=1))
def test_a_mutant_of_the_engine_is_caught_by_a_wrong_verdict(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    mutate(monkeypatch, *MUTANTS[name])
    for seed in range(150):
        asked = random_question(seed)
        try:
            verdict = settle(asked, 0.3).verdict
        except NotProvable:  # a refusal tells nothing
            continue
        if verdict == "holds" and is_broken(asked, 8000):
            return
    pytest.fail("no question tells this mutant from the engine")


def test_a_step_with_a_least_size_is_proved_without_assuming_anything_of_rounding() -> (
    None
):
    network = random_network(np.random.default_rng(3), "float64", 2)
    for weight in network.coefs_:
        weight[:] = np.abs(weight)
    domain = make_domain(network, "float64")
    near = settle(
        Asked(domain, SPEC.format(var=RISES, says="predict", ensures="d1 <= d2"))
    )
    far = settle(
        Asked(domain, SPEC.format(var=FAR, says="predict", ensures="d1 <= d2"))
    )
    assert near.verdict == far.verdict == "holds"
    assert "count as equal" in near.assumptions[0]
    assert not any("count as equal" in text for text in far.assumptions)


def test_a_question_without_a_case_proves_nothing() -> None:
    domain = make_domain(
        random_network(np.random.default_rng(3), "float64", 2), "float64"
    )
    empty = RISES + "\nrequires x1.a > x2.a;"
    with pytest.raises(NotProvable, match="no case that fulfils"):
        settle(
            Asked(domain, SPEC.format(var=empty, says="predict", ensures="d1 <= d2"))
        )
