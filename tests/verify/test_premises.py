"""Implications of which no case has what stands before `==>`, and how many cases have it."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from nomos.domain import Integer, Real, Schema
from nomos.results.result import Premise, Proof
from nomos.results.verdict import premise_text
from nomos.verify import ProofOptions, verify
from tests.slow.libraries import quiet
from tests.verify.test_prove import ROWS, SCHEMA
from tests.verify.triples import domain_of, spec_of

Array = np.ndarray[Any, Any]
sklearn = pytest.importorskip("sklearn")
KINDS = ("tree", "forest", "network", "linear")
SPEC = """\
import small;
input x1;
var x2 := x1[a := x1.a + 1];
requires x2.a <= 9;
output d1;
output d2;
{{
  d1 = predict(x1)
  d2 = predict(x2)
}}
{ensures}
"""


@cache
def fitted(kind: str) -> Any:
    from sklearn import ensemble, linear_model, neural_network, tree

    few: dict[str, Any] = {"random_state": 0}
    model = {
        "tree": lambda: tree.DecisionTreeClassifier(max_depth=4, **few),
        "forest": lambda: ensemble.RandomForestClassifier(3, **few),
        "network": lambda: neural_network.MLPClassifier((6,), max_iter=400, **few),
        "linear": lambda: linear_model.LogisticRegression(),
    }[kind]()
    with quiet():
        return model.fit(ROWS, (ROWS[:, 0] + 0.1 * ROWS[:, 1] > 4).astype(int))


def prove(kind: str, *ensures: str, **options: Any) -> Proof:
    model = fitted(kind)
    domain = domain_of(SCHEMA, model, ROWS, model.predict)
    text = SPEC.format(ensures="\n".join(f"ensures {one};" for one in ensures))
    return verify(spec_of(text, domain), domain, options=ProofOptions(**options))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "idle",
    [
        ("x1.a > 100 ==> d1 <= d2",),
        ("d1 == 7 ==> d2 == 1",),
        ("x1.a > 5 ==> x1.a < 3 ==> d1 <= d2",),
        ("x1.a > 100 ==> x1.a > 5", "x1.b > 10 ==> d1 == d2"),
        ("x1.a > 3 && d1 == 7 ==> d1 <= d2",),
    ],
)
def test_what_no_case_asks_is_not_proved(kind: str, idle: tuple[str, ...]) -> None:
    proof = prove(kind, *idle)
    assert proof.verdict == "undecided" and proof.is_vacuous
    assert all(one.is_vacuous for one in proof.premises)
    assert proof.reason.startswith("no case has what stands before `==>` in `")
    assert all(f"`{text}`" in proof.reason for text in idle)


@pytest.mark.parametrize("kind", KINDS)
def test_cases_with_a_premise_are_counted_as_by_trying_all(kind: str) -> None:
    first = ROWS[ROWS[:, 0] <= 8]
    answers = fitted(kind).predict(first)
    expected = {
        "x1.a > 6 ==> d1 <= d2": first[:, 0] > 6,
        "d1 == 1 ==> d2 == 1": answers == 1,
        "x1.a > 3 && d1 == 0 ==> d2 >= 0": (first[:, 0] > 3) & (answers == 0),
        "x1.a > 5 ==> x1.b == 2 ==> d2 >= d1": (first[:, 0] > 5) & (first[:, 1] == 2),
        "true ==> d2 < 5": first[:, 0] >= 0,
        "x1.a > 6 ==> d1 >= 5": first[:, 0] > 6,  # violated
        "x1.a > 100 ==> d1 <= d2": first[:, 0] > 100,  # one of several may be idle
    }
    proof = prove(kind, *expected, counting=60)
    counts = {one.text: (one.least, one.most) for one in proof.premises}
    assert counts == {text: 2 * (int(has.sum()),) for text, has in expected.items()}
    assert [one.ensures for one in proof.premises] == list(range(len(expected)))
    assert prove(kind, "d2 < 5", "x1.a > 100 ==> d1 <= d2").verdict == "holds"


@pytest.mark.parametrize("kind", ["forest", "network"])
def test_a_row_around_which_no_case_has_the_premise_counts_as_without_a_case(
    kind: str,
) -> None:
    around: dict[str, Any] = {"radius": {"a": 1}, "rows": 9}
    some = prove(kind, "x1.a > 4 ==> d1 <= d2", **around)
    assert some.verdict == "holds"
    assert {one.cases == 0 for one in some.rows} == {True, False}
    none = prove(kind, "x1.a > 100 ==> d1 <= d2", **around)
    assert (none.verdict, none.reason[:7]) == ("undecided", "no case")


def ask_of_reals(model: Any, ensures: str) -> tuple[str, list[tuple[int, int | None]]]:
    """Return the verdict, and how many cases have the premise, with a real feature."""
    rows = np.random.default_rng(0).uniform(0, 9, (200, 2))
    rows[:, 1] //= 1
    with quiet():
        model.fit(rows, (rows.sum(axis=1) > 9).astype(int))
    schema = Schema(Real("r", 0.0, 10.0), Integer("a", 0, 9))
    domain = domain_of(schema, model, rows, model.predict)
    spec = spec_of(SPEC.format(ensures=f"ensures {ensures};"), domain)
    proof = verify(spec, domain, options=ProofOptions(seconds=60, counting=0.1))
    return proof.verdict, [(one.least, one.most) for one in proof.premises]


def test_premises_about_real_features_are_met_or_not() -> None:
    from sklearn.neural_network import MLPClassifier
    from sklearn.tree import DecisionTreeClassifier

    tree = DecisionTreeClassifier(max_depth=3, random_state=0)
    assert ask_of_reals(tree, "x1.r > 8 ==> d1 <= d2") == ("holds", [(1, None)])
    assert ask_of_reals(tree, "x1.r > 100 ==> d1 <= d2") == ("undecided", [(0, 0)])
    network = MLPClassifier((8,), max_iter=50, random_state=0)
    assert ask_of_reals(network, "x1.a > 100 ==> d1 <= d2") == ("undecided", [(0, 0)])


@pytest.mark.slow
def test_parts_of_a_real_feature_are_more_than_the_whole_began_with() -> None:
    from sklearn.neural_network import MLPClassifier

    network = MLPClassifier((8,), max_iter=400, random_state=0)
    assert ask_of_reals(network, "d1 == 1 ==> d2 == 1") == ("holds", [(1, None)])


@pytest.mark.parametrize(
    ("least", "most", "says"),
    [
        (0, 0, "no case has"),
        (1, 1, "1 case has"),
        (2000, 2000, "2,000 cases have"),
        (2, 9, "at least 2 and at most 9 cases have"),
        (1, None, "some cases have"),
        (0, None, "it is not known which cases have"),
    ],
)
def test_how_many_cases_have_a_premise_is_said(
    least: int, most: int | None, says: str
) -> None:
    told = premise_text(Premise(0, "d1 > 0 ==> d2 > 0", least, most))
    assert told == f"{says} what stands before `==>` in `d1 > 0 ==> d2 > 0`"
