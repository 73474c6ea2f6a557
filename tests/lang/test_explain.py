"""What people type elsewhere gets a remedy."""

import pytest

from nomos.diagnostics import Source
from nomos.lang.checking.check import check_spec

ENSURES = [
    ("d1 ^ 2 == 1", "write `**`"),
    ("d1 <> 1", "write `!=`"),
    ("d1 -> true", "write `==>`"),
    ("d1++ == 2", "write `x + 1`"),
    ("d1 ? 1 : 2", "write `if c then a else b`"),
    ("1 if d1 else 2", "write `if c then a else b`"),
    ("1 + if d1 then 1 else 2", "put `if ...` in parentheses"),
    ("d1 in [1, 2]", "`in {a, b}`"),
    ("d1 not in {1}", "write `!(a in {b, c})`"),
    ("d1 == “clerk”", "straight quotes"),
    ("d1 == \u2018clerk\u2019", "straight quotes"),
    ("d1 \u2264 2", "write `<=`"),
    ("d1 \u2265 2", "write `>=`"),
    ("d1 \u2260 2", "write `!=`"),
    ("d1 \u2212 2 == 1", "write `-`"),
    ('42 < "x" && d1 == 1', "a number is written without quotes"),
]
STATEMENTS = [
    ("from k import K;", "write `import k;`"),
    ("var v := d1 // 2;", "`//` starts a comment: write `/` to divide"),
    ("var v: 3;", "write `:=`"),
]


def helps(text: str) -> list[str]:
    found = check_spec(Source("spec.nom", text), "spec").diagnostics
    return [diagnostic.help or "" for diagnostic in found]


@pytest.mark.parametrize(("ensures", "remedy"), ENSURES)
def test_an_expression_gets_its_remedy(ensures: str, remedy: str) -> None:
    text = "input x1;\ninput xs[3];\noutput d1;\n{ d1 = predict(x1) }\nensures %s;\n"
    assert any(remedy in help for help in helps(text % ensures))


@pytest.mark.parametrize(("statement", "remedy"), STATEMENTS)
def test_a_statement_gets_its_remedy(statement: str, remedy: str) -> None:
    text = "input x1;\n%s\noutput d1;\n{ d1 = predict(x1) }\nensures d1 == 1;\n"
    assert any(remedy in help for help in helps(text % statement))


def test_each_of_very_many_mistakes_is_reported_once() -> None:
    broken = "".join(f"requires x1. > {n};\nrequires x1.a > {n}\n" for n in range(500))
    text = f"input x1;\n{broken}output d1;\n{{ d1 = predict(x1) }}\nensures d1 == 1;\n"
    found = check_spec(Source("spec.nom", text), "spec").diagnostics
    assert [d.code.slug for d in found] == ["syntax-error", "missing-semicolon"] * 500
