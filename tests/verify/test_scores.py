"""Proofs about scores and probabilities: answers are those of brute force."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np
import pytest

from nomos.domain import Domain, Flag, Integer, Schema, batched
from nomos.engine.program import Program
from nomos.verify import NotProvable, ProofOptions, falsify, prove, real, verify
from nomos.verify.certificate import make_certificate
from nomos.verify.prove import Prover
from nomos.verify.question.conditions import _keep_apart, _pass_threshold
from tests.sizes import one_of
from tests.verify.triples import Triple, all_rows, brute_force, spec_of

pytest.importorskip("sklearn")
SCHEMA = Schema(Integer("a", 0, 4), Integer("b", 0, 1), Flag("c"))
ROWS = all_rows(SCHEMA, np.float32)
MODELS = (
    "forest",
    "boosting",
    "histograms",
    "logistic",
    "network",
    "three forests",
    "xgboost",
    "lightgbm",
)
OUTER = """\
import small;
input x1;
var x2 := x1[a := {value}];
output p1;
output p2;
output d1;
output d2;
{{
  p1 = {asked}(x1)
  p2 = {asked}(x2)
  d1 = predict(x1)
  d2 = predict(x2)
}}
ensures {ensures};
"""
GAP = """\
import small;
input x1;
input x2;
requires x1.a == x2.a && x1.b == x2.b;
output p1;
output p2;
{{
  p1 = {asked}(x1)
  p2 = {asked}(x2)
}}
ensures {ensures};
"""
# With {t} a number that answers come near to.
ENSURES = {
    "in order": "p1 <= p2",
    "equal": "p1 == p2",
    "a gap": "p2 - p1 <= {t} - 0.3",
    "both ways": "p2 - p1 <= {t} && p1 - p2 <= {t}",
    "a threshold": "p1 < {t} ==> p2 <= {t} + 0.2",
    "on the edge": "p1 <= {t}",
    "impossible": "p2 - p1 <= 1.5 && p1 >= -60",
    "a mean": "p1 + p2 <= 2 * {t}",
    "confident": "p1 > {t} ==> d1 == d2",
    "a label and a score": "d1 == 1 ==> p2 >= {t} - 0.1",
}
PATIENT = ProofOptions(seconds=120, counting=120)


@pytest.fixture(autouse=True)
def _engines_have_to_do_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(real, "SCHEMA_ROWS", 100)
    monkeypatch.setattr(falsify, "_GENERATIONS", 0)
    for name in ("SAMPLES", "FEWER_SAMPLES"):
        monkeypatch.setattr(prove, name, 5)


def fit(kind: str) -> Any:
    from sklearn import ensemble, linear_model, neural_network

    rng = np.random.default_rng(0)
    values = ROWS @ [1.0, -0.7, 1.5] + rng.normal(size=len(ROWS))
    labels = (values > 2).astype(int)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        match kind:
            case "forest":
                model = ensemble.RandomForestClassifier(4, max_depth=3, random_state=0)
            case "three forests":
                labels = np.searchsorted([0.5, 3.0], values)
                model = ensemble.ExtraTreesClassifier(3, max_depth=3, random_state=0)
            case "boosting":
                model = ensemble.GradientBoostingClassifier(
                    n_estimators=6, random_state=0
                )
            case "histograms":
                model = ensemble.HistGradientBoostingClassifier(
                    max_iter=6, min_samples_leaf=4, random_state=0
                )
            case "logistic":
                model = linear_model.LogisticRegression()
            case "network":
                model = neural_network.MLPClassifier((4,), max_iter=300, random_state=0)
            case "xgboost":
                model = pytest.importorskip("xgboost").XGBClassifier(
                    n_estimators=6, max_depth=3, n_jobs=1
                )
            case _:
                model = pytest.importorskip("lightgbm").LGBMClassifier(
                    n_estimators=6, min_child_samples=4, n_jobs=1, verbose=-1
                )
        return model.fit(ROWS, labels)


def ask_singly(ask: Any, rows: Any) -> Any:
    """Ask about one row after the other: with others, networks round otherwise."""
    return np.concatenate([ask(row[None]) for row in rows])


def domain_of_scores(given: Any) -> Domain:
    class Small(Domain):
        schema = SCHEMA
        verifies = {  # noqa: RUF012
            "predict": "model",
            "chance": "model.probability[1]",
            "other": "model.probability[0]",
            "score": "model.score",
        }
        model = given

        def inputs(self) -> Any:
            return ROWS

        @batched
        def predict(self, rows: Any) -> Any:
            return self.model.predict(rows)

        @batched
        def chance(self, rows: Any) -> Any:
            return ask_singly(self.model.predict_proba, rows)[:, 1]

        @batched
        def other(self, rows: Any) -> Any:
            return ask_singly(self.model.predict_proba, rows)[:, 0]

        @batched
        def score(self, rows: Any) -> Any:
            if hasattr(self.model, "decision_function"):
                return self.model.decision_function(rows)
            more = {"xgb": {"output_margin": True}, "lig": {"raw_score": True}}
            return self.model.predict(rows, **more[type(self.model).__module__[:3]])

    return Small()


_FITTED: dict[str, Any] = {}


def triple_of(kind: str, ensures: str, asked: str, value: str) -> Triple:
    _FITTED[kind] = _FITTED.get(kind) or fit(kind)
    domain = domain_of_scores(_FITTED[kind])
    said = np.sort(np.unique(getattr(domain, asked).many(ROWS)))
    t = float(said[len(said) * 2 // 3])
    text = ENSURES[ensures].format(t=repr(t))
    outer = GAP if value == "two inputs" else OUTER
    text = outer.format(value=value, asked=asked, ensures=text)
    return Triple(spec_of(text, domain), domain, text, kind)


@pytest.mark.parametrize(
    ("kind", "ensures"), one_of(7, itertools.product(MODELS, ENSURES))
)
@pytest.mark.filterwarnings("ignore")
def test_proofs_of_probabilities_and_scores_are_those_of_brute_force(
    kind: str, ensures: str
) -> None:
    has_scores = kind not in ("forest", "three forests", "network")
    functions = ("chance", "other", "score") if has_scores else ("chance", "other")
    values = ("x1.a + randInt(0, 1)", "4", "two inputs")
    for asked, value in itertools.product(functions, values):
        if value == "two inputs" and "d" in ENSURES[ensures]:
            continue
        triple = triple_of(kind, ensures, asked, value)
        cases, bad = brute_force(triple)
        proof = verify(triple.spec, triple.domain, options=PATIENT)
        if proof.is_vacuous:  # no answer is above the number, or below
            assert not bad
            continue
        assert proof.verdict == ("violated" if bad else "holds"), triple.text
        assert (proof.cases, proof.violating) == (cases, (bad, bad)), triple.text


def test_a_function_that_gives_another_number_than_it_says_is_noticed() -> None:
    domain = domain_of_scores(fit("boosting"))
    type(domain).verifies = {"chance": "model.probability[0]"}
    text = GAP.format(asked="chance", ensures="p1 - p2 <= 1")
    with pytest.raises(NotProvable, match="is not what its model says"):
        verify(spec_of(text, domain), domain)


@pytest.mark.parametrize(
    ("kind", "names", "reason"),
    [
        ("boosting", "model.chance", "its `chance` is not known"),
        ("boosting", "model.probability[2]", r"the model has no `probability\[2\]`"),
        ("three forests", "model.probability", "the model has no `probability`"),
        ("forest", "model.score", "its `score` is not known"),
        ("forest", "mine.score", "Small has no model `mine`"),
    ],
)
def test_numbers_that_a_model_does_not_have_are_refused(
    kind: str, names: str, reason: str
) -> None:
    domain = domain_of_scores(fit(kind))
    type(domain).verifies = {"chance": names}
    text = GAP.format(asked="chance", ensures="p1 - p2 <= 1")
    with pytest.raises(NotProvable, match=reason):
        verify(spec_of(text, domain), domain)


def test_certificates_are_of_labels() -> None:
    triple = triple_of("forest", "a gap", "chance", "4")
    prover, program = Prover(triple.domain), Program(triple.spec, triple.domain)
    with pytest.raises(NotProvable, match="not of scores"):
        make_certificate(prover, program, prover.verify(program, PATIENT), "", 1)


def test_edges_of_logistic_functions_are_on_the_safe_side() -> None:
    """Of many pairs of scores, none that is apart by so much is thought to be nearer."""
    rng, one = np.random.default_rng(0), np.array([[1.0], [-1.0]])
    scores = rng.normal(scale=6, size=(200_000, 2))
    low, high = (1 / (1 + np.exp(-scores))).T
    for apart in (0.0, 1e-9, 0.01, 0.3, 0.9, 0.999):
        half = _keep_apart(one, apart, True, 1e-15, True)
        there = scores[low - high > apart] @ one[:, 0]
        assert (half.weights[0, 0] * there + half.constant >= -half.slack).all()
        assert not half.is_sufficient
    for bound in (1e-9, 0.2, 0.5, 0.999):
        half = _pass_threshold(one[:1], bound, 1e-12, True)
        there = scores[low >= bound + 1e-12, 0]
        assert (there + half.constant >= -half.slack).all()
        assert (scores[low < bound - 1e-12, 0] + half.constant <= half.slack).all()
