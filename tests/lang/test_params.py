"""Params get their values for a run; libraries bring them and definitions."""

import ast
import pickle

import pytest

from nomos.diagnostics import Source
from nomos.errors import NomosError, SpecError
from nomos.lang import core
from nomos.lang.checking.check import check_spec
from nomos.lang.checking.params import bind_params
from nomos.lang.types import Type

TEXT = """\
param eps: real := 0.5 in 0..1;
param n := 3;
param kind := "mean" in {"mean", "max"};
param strict := false;
input xs[n];
requires kind == "mean" || strict;
output ds;
{
  ds = [predict(x) for x in xs]
  limit = {"n": n, "eps": (lambda eps: eps)(eps)}
  def inner(n): return n
}
ensures forall i in xs: ds[i] <= eps;
"""


def spec_of(text: str, libraries=None) -> core.Spec:
    checked = check_spec(Source("spec.nom", text), "spec", libraries=libraries)
    assert checked.spec is not None, checked.diagnostics
    return checked.spec


def values(spec: core.Spec) -> dict[str, object]:
    return {param.name: param.value for param in spec.params}


def constants(spec: core.Spec) -> list[object]:
    tests = [c.test for c in (*spec.requires, *spec.ensures)]
    nodes = [node for test in tests for node in core.walk(test)]
    return [node.value for node in nodes if isinstance(node, core.Constant)]


def test_params_have_the_values_that_the_spec_gives_them() -> None:
    spec = spec_of(TEXT)
    assert values(spec) == {"eps": 0.5, "n": 3, "kind": "mean", "strict": False}
    assert [param.type for param in spec.params] == [
        Type.REAL,
        Type.INT,
        Type.STRING,
        Type.BOOL,
    ]
    assert constants(spec) == ["mean", "mean", False, 0.5]
    assert spec.k == 3


def test_a_run_gives_them_others() -> None:
    spec = bind_params(spec_of(TEXT), {"eps": "0.25", "n": "2", "strict": "TRUE"})
    assert values(spec) == {"eps": 0.25, "n": 2, "kind": "mean", "strict": True}
    assert constants(spec) == ["mean", "mean", True, 0.25]
    assert (spec.k, spec.inputs) == (2, ("xs[0]", "xs[1]"))


def test_values_of_their_own_type_are_taken_as_they_are() -> None:
    spec = bind_params(spec_of(TEXT), {"eps": 1, "kind": "max", "strict": True})
    assert values(spec)["eps"] == 1.0
    assert type(values(spec)["eps"]) is float
    assert values(spec)["kind"] == "max"


def test_one_binding_adds_to_another() -> None:
    spec = bind_params(bind_params(spec_of(TEXT), {"n": 5}), {"eps": 0.1})
    assert (values(spec)["n"], values(spec)["eps"]) == (5, 0.1)
    assert bind_params(spec, {}) is spec


def test_the_block_has_the_values_where_the_name_means_the_param() -> None:
    statements = bind_params(spec_of(TEXT), {"n": 7}).code.statements
    text = "\n".join(ast.unparse(statement) for statement in statements)
    assert "limit = {'n': 7, 'eps': (lambda eps: eps)(0.5)}" in text
    assert "def inner(n):\n    return n" in text


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"eps": "2"}, "`eps` may be from 0 to 1, but '2' was given"),
        ({"eps": "much"}, "`eps` takes a real number, but 'much' was given"),
        ({"eps": "nan"}, "`eps` takes a real number, but 'nan' was given"),
        ({"n": "1.5"}, "`n` takes an integer, but '1.5' was given"),
        ({"n": True}, "`n` takes an integer, but True was given"),
        ({"kind": "min"}, "`kind` may be one of 'mean', 'max', but 'min' was given"),
        ({"strict": "1"}, "`strict` takes a truth value, but '1' was given"),
        ({"esp": "1"}, "spec has no param `esp`; did you mean `eps`?"),
        ({"q": 1}, "spec has no param `q`; its params are: eps, n, kind, strict"),
    ],
)
def test_what_cannot_be_is_an_error(given, says) -> None:
    with pytest.raises(NomosError) as error:
        bind_params(spec_of(TEXT), given)
    assert str(error.value) == says


def test_a_value_that_makes_no_sense_in_the_spec_is_a_mistake_of_the_spec() -> None:
    with pytest.raises(SpecError, match="`xs` cannot have the size `n`, which is 0"):
        bind_params(spec_of(TEXT), {"n": 0})


def test_a_spec_with_params_can_be_sent_to_another_process() -> None:
    again = pickle.loads(pickle.dumps(spec_of(TEXT)))
    assert values(bind_params(again, {"n": 4}))["n"] == 4


LIBRARY = Source(
    "common.nom", "param eps := 0.1;\ndef near(a, b) := abs(a - b) < eps;\n"
)
USER = """\
use "common.nom";
input x1;
output d1;
{ d1 = predict(x1) + eps }
ensures near(d1, %s);
"""


def test_a_library_brings_its_params_and_definitions() -> None:
    spec = spec_of(USER % "1", {"common.nom": LIBRARY})
    assert values(spec) == {"eps": 0.1}
    assert values(bind_params(spec, {"eps": 0.2})) == {"eps": 0.2}
    # Places are those of the use, not of the library.
    for node in core.walk(spec.ensures[0].test):
        assert 0 <= node.span.start <= node.span.end <= len(spec.source.text)


def test_a_mistake_in_a_definition_is_shown_where_it_is_used() -> None:
    source = Source("spec.nom", USER % '"a"')
    (found,) = check_spec(source, "spec", libraries={"common.nom": LIBRARY}).diagnostics
    assert source.slice(found.at) == 'near(d1, "a")'
    assert found.message == "`-` takes numbers, but this is a string"
    assert found.notes == ("`near` is `abs(a - b) < eps` (common.nom, line 2)",)


@pytest.mark.parametrize(
    ("library", "says"),
    [
        (Source("c", "input x1;"), "line 1: expected a statement"),
        (Source("c", 'use "d.nom";'), "line 1: expected `param` or `def`"),
        (Source("c", "param eps := ;"), "line 1: expected an expression"),
        (Source("c", 'param eps := "\\q";'), "line 1: this string has an escape"),
        ("it is not there", "it is not there"),
    ],
)
def test_a_library_that_cannot_be_used_is_a_mistake_at_its_use(library, says) -> None:
    text = USER.replace(" + eps", "").replace("near(d1, %s)", "d1 == 1")
    checked = check_spec(
        Source("spec.nom", text), "spec", libraries={"common.nom": library}
    )
    (found,) = checked.diagnostics
    assert checked.source.slice(found.at) == '"common.nom"'
    assert says in found.message


def test_definitions_of_a_library_do_not_use_each_other_in_a_circle() -> None:
    library = Source("c", "def f(a) := g(a);\n")
    text = (
        'use "c";\ndef g(a) := f(a);\ninput x;\noutput d;\n{ d = 1 }\nensures g(d);\n'
    )
    checked = check_spec(Source("s.nom", text), "s", libraries={"c": library})
    assert [d.message for d in checked.diagnostics] == [
        "the definition `f` uses `g`, which stands further down"
    ]
