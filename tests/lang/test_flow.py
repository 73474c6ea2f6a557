"""Which outputs a block has surely assigned."""

import ast
from textwrap import dedent

import pytest

from nomos.lang.python.flow import always_assigned, count_repetitions


def assigned(code: str) -> frozenset[str] | None:
    return always_assigned(ast.parse(dedent(code)).body)


@pytest.mark.parametrize(
    "code",
    [
        "d = 1",
        "d: int = 1",
        "a = d = 1",
        "a, (d, *b) = 1, [2, 3]",
        "import d",
        "import a.b as d",
        "import d.a",
        "from a import d",
        "def d(): pass",
        "async def d(): pass",
        "class d: pass",
        "(d := 1)",
        "f((d := 1))",
        "a = [i for i in (d := [1])]",
        "if a: d = 1\nelse: d = 2",
        "if (d := a): pass",
        "if a: d = 1\nelse: raise ValueError",
        "a = (d := 1) if b else (d := 2)",
        "a = (d := 1) and b",
        "a = b < (d := 1) < c",
        "for _ in range(10): d = 1",
        "for _ in [1, 2]: d = 1",
        "for d in (1,): pass",
        "for _ in range(3):\n  d = 1\n  break",
        "for _ in range(3):\n  if a:\n    d = 1\n    continue\n  d = 2",
        "for _ in a: pass\nelse: d = 1",
        "for _ in a:\n  if b:\n    d = 1\n    break\nelse: d = 2",
        "while True:\n  d = 1\n  break",
        "while (d := a): pass",
        "while a: pass\nelse: d = 1",
        "with a as d: pass",
        "with a: d = 1",
        "try: d = 1\nexcept E: d = 2",
        "try: d = 1\nexcept E: raise",
        "try: pass\nexcept E: pass\nfinally: d = 1",
        "try: a = 1\nexcept E: d = 1\nelse: d = 2",
        "try: d = 1\nexcept* E: d = 2",
        "match a:\n  case 1: d = 1\n  case _: d = 2",
        "match a:\n  case [d]: pass\n  case d: pass",
        "match (d := a):\n  case 1: pass",
        "d = 1\nd += 1",
        "d = 0\nfor _ in a: d += 1",
    ],
)
def test_assigned_on_every_path(code: str) -> None:
    names = assigned(code)
    assert names is not None
    assert "d" in names


@pytest.mark.parametrize(
    "code",
    [
        "pass",
        "d",
        "d: int",
        "d += 1",
        "a.d = 1",
        "a[d] = 1",
        "if a: d = 1",
        "if a: d = 1\nelif b: d = 2",
        "for _ in a: d = 1",
        "for d in a: pass",
        "for _ in range(0): d = 1",
        "for _ in range(n): d = 1",
        "for _ in [*a]: d = 1",
        "for _ in range(3):\n  if a: break\n  d = 1",
        "for _ in range(3):\n  if a: continue\n  d = 1",
        "for _ in a:\n  if b: break\nelse: d = 2",
        "while a: d = 1",
        "while True:\n  if a: break\n  d = 1",
        "try: d = 1\nexcept E: pass",
        "try: pass\nexcept E: d = 1",
        "try: pass\nexcept E as d: pass",
        "d = 1\ntry: f()\nexcept E as d: pass",
        "d = 1\ntry:\n  del d\n  d = 2\nexcept E: pass",
        "match a:\n  case 1: d = 1",
        "match a:\n  case 1: d = 1\n  case b if c: d = 1",
        "match a:\n  case [d]: pass",
        "d = 1\ndel d",
        "d = 1\nfor _ in a: del d",
        "d = 1\nwhile a: del d",
        "a = b and (d := 1)",
        "a = (d := 1) if b else 2",
        "a = b < c < (d := 1)",
        "a = [d for d in (1, 2)]",
        "a = [(d := i) for i in b]",
        "a = lambda: (d := 1)",
        "def f(): d = 1",
        "class A: d = 1",
    ],
)
def test_not_assigned_on_some_path(code: str) -> None:
    names = assigned(code)
    assert names is not None
    assert "d" not in names


@pytest.mark.parametrize(
    "code",
    [
        "raise ValueError",
        "while True: pass",
        "if a: raise E\nelse: raise F",
        "for _ in range(3): raise E",
        "try: raise E\nfinally: f()",
        "raise E\nd = 1",
    ],
)
def test_a_block_that_never_ends_normally_owes_nothing(code: str) -> None:
    assert assigned(code) is None


@pytest.mark.parametrize(
    ("iterable", "count"),
    [
        ("range(10)", 10),
        ("range(2, 10, 3)", 3),
        ("range(3, 0, -1)", 3),
        ("range(-2)", 0),
        ("range(3, 0)", 0),
        ("[a, b]", 2),
        ("(a, b, c)", 3),
        ("range(n)", None),
        ("range(True)", 1),
        ("range(-n)", None),
        ("range()", None),
        ("range(1, 2, 3, 4)", None),
        ("range(1, 2, 0)", None),
        ("range(10 ** 20)", None),
        ("range(99999999999999999999)", None),
        ("range(stop=3)", None),
        ("[*a]", None),
        ("a", None),
        ("'abc'", None),
    ],
)
def test_how_often_a_loop_runs(iterable: str, count: int | None) -> None:
    assert count_repetitions(ast.parse(iterable, mode="eval").body, {}) == count
