"""Static k: how many model invocations a case makes."""

from dataclasses import replace

import pytest

from nomos.diagnostics import Source
from nomos.lang.checking.check import check_spec
from nomos.lang.python.flow import safety_kind


def k(code: str, offer=None, head: str = "") -> int | None:
    body = "\n".join(f"  {line}" for line in code.split("\n"))
    text = f"{head}input x1;\ninput x2;\noutput d1;\n{{\n  d1 = 0\n{body}\n}}\nensures d1 == 1;\n"
    checked = check_spec(Source("test.nom", text), "test", offer)
    assert checked.spec is not None, checked.diagnostics
    return checked.spec.k


@pytest.mark.parametrize(
    ("code", "count"),
    [
        ("pass", 0),
        ("d1 = predict(x1)", 1),
        ("d1 = predict(x1) - predict(x2)", 2),
        ("d1 = predict(predict(x1))", 2),
        ("for _ in range(10):\n  d1 += play(x1, 1)\n  d1 += play(x2, 1)", 20),
        ("for _ in range(3):\n  for _ in [1, 2]:\n    d1 += play(x1)", 6),
        ("for _ in range(0): d1 = predict(x1)", 0),
        ("for i in x1: d1 += i", 0),
        ("for i in x1: d1 += i\nelse: d1 = predict(x1)", 1),
        ("d1 = [predict(x) for x in (x1, x2)]", 2),
        ("d1 = {y: predict(x) for x in (x1, x2) for y in range(3)}", 6),
        ("d1 = sum(predict(x) for x in [x1, x2])", 2),
        ("d1 = 0 < predict(x1) < 3", 1),
        ("d1 = [i for i in x1 if i]", 0),
        ("if d1: d1 = predict(x1)\nelse: d1 = predict(x2)", 1),
        ("if predict(x1): d1 = 2", 1),
        ("d1 = predict(x1) if d1 else predict(x2)", 1),
        ("d1 = randInt(0, 1) + len([x1]) + getFeat(x1, 1)", 0),
        ("try: d1 = predict(x1)\nfinally: d1 = 1", 1),
        ("with open('a') as f: d1 = predict(x1)", 1),
        ("match d1:\n  case 1: pass", 0),
        ("while d1: d1 -= 1", 0),
        ("def f(x): return x\nd1 = f(predict(x1))", 1),
    ],
)
def test_k_is_counted_where_it_is_plain_to_see(code: str, count: int | None) -> None:
    assert k(code) == count


@pytest.mark.parametrize(
    "code",
    [
        "for x in x1: d1 = predict(x)",
        "for _ in range(d1): d1 = predict(x1)",
        "for _ in range(3):\n  if d1: break\n  d1 = predict(x1)",
        "while d1: d1 = predict(x1)",
        "if d1: d1 = predict(x1)",
        "d1 = predict(x1) if d1 else 0",
        "d1 = d1 and predict(x1)",
        "d1 = [predict(x) for x in x1]",
        "d1 = [x for x in (x1, x2) if predict(x)]",
        "def f(x): return predict(x)\nd1 = f(x1)",
        "f = lambda x: predict(x)",
        "match d1:\n  case 1: d1 = predict(x1)",
        "match d1:\n  case 1 if predict(x1): d1 = 2",
        "d1 = any(predict(x) for x in [x1, x2])",
        "d1 = sum(predict(x) for x in [x1, x2] if x)",
        "d1 = 0 < d1 < predict(x1)",
        "try: d1 = 1\nexcept ValueError: d1 = predict(x1)",
        "class A:\n  y = predict(1)",
    ],
)
def test_elsewhere_k_depends_on_the_run(code: str) -> None:
    assert k(code) is None


def with_k(offer, **counts: int | None):
    functions = {n: replace(f, k=counts.get(n, 0)) for n, f in offer.functions.items()}
    return replace(offer, functions=functions)


def test_a_call_counts_for_what_its_function_asks(offer) -> None:
    code = "import math\nd1 = predict(x1) + compas.distance(x1, x2) + math.sqrt(2)"
    head = "import compas;\n"
    assert k(code, with_k(offer, predict=1, distance=1), head) == 2
    assert k(code, with_k(offer, predict=1), head) == 1
    assert k(code, with_k(offer, predict=1, distance=None), head) is None
    branch = "if is_adult(x1): d1 = distance(x1, x2)\nd1 = predict(x1)"
    assert k(branch, with_k(offer, predict=1), head) == 1
    assert k(branch, with_k(offer, predict=1, distance=1), head) is None


@pytest.mark.parametrize(
    ("code", "count"),
    [
        ("d1 = distance(xs, 2)", 1),  # of a list, which is one question
        ("ds = [predict(x) for x in xs]\nd1 = distance(xs, 2)", 6),
        ("for x in reversed(xs): d1 = distance(xs, x)", 5),
        ("for i in range(len(xs)): d1 = predict(xs[i])", 5),
    ],
)
def test_a_list_is_one_call_and_each_of_its_items_another(
    offer, code: str, count: int
) -> None:
    known = with_k(offer, predict=1, distance=1)
    assert k(code, known, "import compas;\ninput xs[5];\n") == count


@pytest.mark.parametrize(
    "code", ["d1 = max(map(predict, [x1, x2]))", "f = compas.predict\nd1 = f(x1)"]
)
def test_a_model_that_is_handed_on_may_be_called_any_number_of_times(
    offer, code: str
) -> None:
    assert k(code, with_k(offer, predict=1), "import compas;\n") is None
    assert k(code, with_k(offer), "import compas;\n") == 0


def test_k_in_words() -> None:
    assert [safety_kind(count) for count in (2, 20, None)] == [
        "2-safety",
        "20-safety",
        "k depends on the run",
    ]
