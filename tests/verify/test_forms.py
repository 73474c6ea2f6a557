"""Definitions, lists, quantifiers and `if` in proofs: answers are those of brute force."""

from __future__ import annotations

import numpy as np
import pytest

from nomos.domain import Integer, OneHot, Ordinal, Schema
from nomos.verify import NotProvable, ProofOptions, real, verify
from tests.verify.triples import Triple, all_rows, brute_force, domain_of, spec_of

pytest.importorskip("sklearn")
pytestmark = pytest.mark.filterwarnings("ignore")  # networks are trained but a little
SCHEMA = Schema(Integer("a", 0, 4), Integer("b", 0, 1), OneHot("c", ("x", "y")))
ROWS = all_rows(SCHEMA, np.float32)
PATIENT = ProofOptions(seconds=120, counting=120)
FORMS = {
    "a definition": """\
import small;
def raised(x, by) := x[a := x.a + by];
def ordered(one, two) := one <= two;
input x1;
var x2 := raised(x1, randInt(1, 2));
requires x2.a <= 4;
output d1;
output d2;
{
  d1 = predict(x1)
  d2 = predict(x2)
}
ensures ordered(d1, d2);
""",
    "a condition that chooses a value": """\
import small;
input x1;
var x2 := x1[a := if x1.b == 1 then x1.a + 1 else 4];
requires x2.a <= 4;
output d1;
output d2;
{
  d1 = predict(x1)
  d2 = predict(x2)
}
ensures if x1.c == "x" then d1 <= d2 else d2 <= d1;
""",
    "a condition that chooses a record": """\
import small;
input x1;
var x2 := if x1.a > 2 then x1[a := 0] else x1[c := "y"];
output d1;
output d2;
{
  d1 = predict(x1)
  d2 = predict(x2)
}
ensures d1 == d2;
""",
    "a list and quantifiers": """\
import small;
input xs[2];
output d1;
output d2;
{
  d1 = predict(xs[0])
  d2 = predict(xs[1])
}
ensures (forall i in xs: xs[i].a == 1) ==> d1 <= d2;
ensures (count i in xs: xs[i].b == 1) == 2 ==> d1 == d2;
ensures (sum i in xs: xs[i].a) <= 7 || (exists i < j in xs: xs[i].a < xs[j].a) || d1 >= d2;
""",
    "a largest item, and what is near": """\
import small;
input xs[3];
requires max(xs[0].a, 2) <= min(xs[1].a + 1, xs[2].a, 4) && abs(xs[0].a - xs[1].a) <= 2;
output ds;
{
  ds = [predict(x) for x in xs]
}
ensures (max i in xs: ds[i]) - (min i in xs: ds[i]) <= 1 + abs(xs[1].a - xs[2].a);
ensures isclose(ds[0], ds[1], rel := 0.5, abs := 0.75) || xs[2].b == 1;
""",
    "built-in functions": """\
import small;
input x1;
var x2 := x1[a := min(x1.a + randInt(1, 3), 4)];
requires !missing(x1.a) && !missing(x1.c) && round(sqrt(x1.a)) >= 1;
output d1;
output d2;
{
  d1 = predict(x1)
  d2 = predict(x2)
}
ensures abs(d1 - d2) <= (if x1.b == 1 then 0.5 else exp(0));
ensures abs(d1 - 1) * 2 - max(d2, 0.25, d1 - 1) <= 1.5 && min(d1, d2) != max(d1, d2);
""",
}


def models() -> dict[str, object]:
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.neural_network import MLPRegressor

    values = ROWS @ [1.0, -0.7, 0.5, 0.3] + np.random.default_rng(1).normal(size=20)
    labels = np.searchsorted(np.quantile(values, [0.4, 0.7]), values)
    return {
        "forest": RandomForestClassifier(3, max_depth=3, random_state=0).fit(
            ROWS, labels
        ),
        "logistic": LogisticRegression().fit(ROWS, labels),
        "network": MLPRegressor(
            hidden_layer_sizes=(4,), max_iter=20, random_state=0
        ).fit(ROWS, values),
    }


@pytest.mark.parametrize("kind", ["forest", "logistic", "network"])
@pytest.mark.parametrize("form", FORMS)
def test_forms_are_proved_as_brute_force_answers(
    form: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(real, "SCHEMA_ROWS", 100)
    model: object = models()[kind]
    domain = domain_of(SCHEMA, model, ROWS, model.predict)  # type: ignore[attr-defined]  # an estimator
    triple = Triple(spec_of(FORMS[form], domain), domain, FORMS[form], kind)
    cases, bad = brute_force(triple)
    proof = verify(triple.spec, domain, options=PATIENT)
    assert (proof.cases, proof.violating) == (cases, (bad, bad))
    assert proof.verdict == ("violated" if bad else "holds")


NAMES_IN_ORDER = """\
import small;
input x1;
var x2 := x1[b := 1][o := if x1.o < "mid" then "mid" else "high"];
requires x1.o != "high";
output d1;
output d2;
{
  d1 = predict(x1)
  d2 = predict(x2)
}
ensures d1 <= d2 && d1 in "good".."poor";
"""


@pytest.mark.parametrize("kind", ["forest", "logistic"])
def test_names_with_an_order_are_proved_as_brute_force_answers(kind: str) -> None:
    # An order that the alphabet does not have.
    order = Ordinal("good", "bad", "poor")
    schema = Schema(Integer("b", 0, 1), Ordinal("o", ("low", "mid", "high")))
    rows = all_rows(schema, np.float32)
    names = np.array(order.levels)[[0, 2, 1, 1, 2, 0]]
    model: object = models()[kind].__class__().fit(rows, names)  # type: ignore[attr-defined]  # an estimator
    domain = domain_of(schema, model, rows, model.predict)  # type: ignore[attr-defined]  # an estimator
    type(domain).classes = {"predict": order}
    text = NAMES_IN_ORDER
    triple = Triple(spec_of(text, domain), domain, text, kind)
    cases, bad = brute_force(triple)
    proof = verify(triple.spec, domain, options=PATIENT)
    assert (proof.cases, proof.violating) == (cases, (bad, bad))


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("predict(xs[1])", "predict(xs[int(d1)])", "more than assignments"),
        ("xs[i].b == 1", "log(xs[i].b) == 0", "`log` fails"),
        ("d1 >= d2;", "(max i in xs if xs[i].a > 1: xs[i].a) > 3;", "differ by case"),
    ],
)
def test_forms_that_differ_by_case_are_refused_with_their_place(
    old: str, new: str, reason: str
) -> None:
    model = models()["forest"]
    domain = domain_of(SCHEMA, model, ROWS, model.predict)  # type: ignore[attr-defined]  # an estimator
    text = FORMS["a list and quantifiers"].replace(old, new)
    spec = spec_of(text, domain)
    with pytest.raises(NotProvable, match=reason) as caught:
        verify(spec, domain)
    assert "small.nom:" in caught.value.picture(spec.source)


def test_a_function_of_the_domain_is_not_taken_for_a_built_in_one() -> None:
    model = models()["logistic"]
    domain = domain_of(SCHEMA, model, ROWS, model.predict)  # type: ignore[attr-defined]  # an estimator
    type(domain).abs = lambda self, number: -number  # type: ignore[attr-defined]  # of its own
    text = FORMS["a definition"].replace("ordered(d1, d2)", "abs(d1 - d2) <= 0")
    with pytest.raises(NotProvable, match="`abs` is not declared to be a model"):
        verify(spec_of(text, domain), domain)


def test_a_calculation_that_is_no_sum_says_what_is() -> None:
    model = models()["network"]
    domain = domain_of(SCHEMA, model, ROWS, model.predict)  # type: ignore[attr-defined]  # an estimator
    text = FORMS["a definition"].replace("ordered(d1, d2)", "d1 * d2 > -99")
    with pytest.raises(NotProvable, match="no sum: a proof knows"):
        verify(spec_of(text, domain), domain)
