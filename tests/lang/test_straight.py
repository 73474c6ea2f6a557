"""Blocks that can be run for many cases at once: straight lines of calls."""

import pytest

from nomos.diagnostics import Source
from nomos.lang import core
from nomos.lang.checking.check import check_spec


def lets(code: str, offer) -> tuple[core.Let, ...] | None:
    body = "\n".join(f"  {line}" for line in code.split("\n"))
    text = "import compas;\ninput x1;\ninput x2;\nvar v1 := 1;\noutput d1;\n"
    text += f"{{\n{body}\n}}\nensures d1 == 1;\n"
    checked = check_spec(Source("test.nom", text), "test", offer)
    assert checked.spec is not None, checked.diagnostics
    return checked.spec.code.straight


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("d1 = predict(x1)", ["d1"]),
        ("d1 = compas.predict(x1)", ["d1"]),
        ("d1, d2 = predict(x1), predict(x2)", ["d1", "d2"]),
        ("a = v1 + 1\nd1 = -a * 2 / 3 % 4 - predict(older(x1, 2))", ["a", "d1"]),
        ("d1 = randInt(0, MAX_INT)", ["d1"]),
        ("d1 = getFeat(x1, 'age')\nd1 = d1 + 1", ["d1", "d1"]),
        ("d1 = label(x1)\npass", ["d1"]),
        ("d1 = None\nd2 = True", ["d1", "d2"]),
        ("a = 1\nd1, b = a, 2", ["a", "d1", "b"]),
    ],
)
def test_straight_lines_are_lets(code: str, names: list[str], offer) -> None:
    found = lets(code, offer)
    assert found is not None
    assert [let.name for let in found] == names


@pytest.mark.parametrize(
    "code",
    [
        "d1 = 0\nd1 += predict(x1)",
        "for _ in range(2): d1 = predict(x1)",
        "if v1: d1 = 1\nelse: d1 = 2",
        "d1 = [predict(x1)]",
        "d1 = predict(person=x1)",
        "d1 = predict(*[x1])",
        "d1 = len([x1])",
        "d1 = x1.age",
        "d1 = v1 ** 2",
        "d1 = v1 < 2",
        "d1 = 1j",
        "d1 = d2 = predict(x1)",
        "d1, d2 = predict(x1)",
        "d1, a[0] = 1, 2".replace("a[0]", "x1[0]"),
        "d1, d2 = 1, 2\nd1, d2 = d2, d1",
        "d1 = a = 1\n(b := 2)",
        "predict = 1\nd1 = predict",
        "d1 = (lambda: 1)()",
        "import math\nd1 = math.sqrt(2)",
        "f = predict\nd1 = f(x1)",
        "def older(x): return x\nd1 = older(x1)",
    ],
)
def test_everything_else_runs_as_python(code: str, offer) -> None:
    found = lets(code, offer)
    if code.startswith("predict = 1"):
        assert found is not None  # a plain name of the block
    else:
        assert found is None


def test_calls_of_a_straight_line_are_resolved_as_in_an_expression(offer) -> None:
    found = lets("r = randInt(1, 2)\nj = jitter(x1)\nd1 = setFeat(x1, 'age', r)", offer)
    assert found is not None
    first, second, third = (let.value for let in found)
    assert isinstance(first, core.RandInt)
    assert isinstance(second, core.Call)
    assert second.draws
    assert isinstance(third, core.SetFeature)


def test_the_places_of_a_straight_line_are_places_of_the_spec(offer) -> None:
    found = lets("d1 = predict(x1)", offer)
    assert found is not None
    text = "import compas;\ninput x1;\ninput x2;\nvar v1 := 1;\noutput d1;\n{\n  d1 = "
    assert found[0].value.span.start == len(text)
