"""Every quick fix is applied to a spec with the mistake, which is gone after it."""

from __future__ import annotations

import pytest

from nomos.diagnostics import Code, Source
from nomos.lang.checking.check import check_spec
from nomos.lang.types import FeatureType, Function, Offer, Type
from nomos.lsp.requests.fixes import Fix, fixes_of

SPEC = """\
# About people.
import people;
input x1;
var x2 := x1[age := x1.age + 1];
requires x1.age > 3;
output d1;
output d2;
{
  d1 = predict(x1)
  d2 = predict(x2)
}
ensures d1 <= d2;
"""
OFFER = Offer(
    {"predict": Function("predict", 1, 1)},
    (FeatureType("age", Type.INT), FeatureType("town", Type.STRING)),
)


def mended(text: str, fix: Fix) -> str:
    for span, new in sorted(fix.edits, key=lambda edit: -edit[0].start):
        text = text[: span.start] + new + text[span.end :]
    return text


def codes(text: str) -> list[Code]:
    return [d.code for d in check_spec(Source("a.nom", text), "a", OFFER).diagnostics]


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("input x1;", "input x1"),
        ("input x1;", "imput x1;"),
        ("x1.age > 3", "x1.aeg > 3"),
        ("x1.age > 3", "getFeat(x1, 'aeg') > 3"),
        ("predict(x2)", "predit(x2)"),
        ("d1 <= d2", "d1 = d2"),
        ("var x2 :=", "var x2 ="),
        ("var x2 :=", "var x2 :"),
        ("[age :=", "[age ="),
        ("x1.age > 3", "0 < x1.age < 3"),
        ("x1.age > 3", "x1.age > 3 and true"),
        ("x1.age > 3", "not x1.age > 3"),
        ("x1.age > 3", "x1.age > 3 && True"),
        ("x1.age > 3", "x1.age <> 3"),
        ("d1 <= d2", "d1 > 0 -> d2 > 0"),
        ("d1 <= d2", "d1 > 0 & d2 > 0"),
        ("d1 <= d2", "d1 \u2264 d2"),
        ("x1.age + 1", "x1.age \u2212 1"),
        ("x1.age > 3", "x1.age in [1, 2]"),
        ("x1.age > 3", "x1.age > 0x1f"),
        ("x1.age > 3", "x1.age\u00a0> 3"),
        ("x1.age > 3", "x1.age // 2 > 1"),
        ("import people;", "from people import People;"),
        ("d1 <= d2;", "d1 <= d2 && r > 0;"),
        ("output d2;", "output d2;\noutput d3;"),
        ("import people;\n", ""),
    ],
)
def test_fix_mends(right: str, wrong: str) -> None:
    text = SPEC.replace(right, wrong, 1)
    if "r > 0" in wrong:
        text = text.replace("  d1 =", "  r = 1\n  d1 =", 1)
    if not wrong:
        text = text.replace("x1.age > 3", "people.predict(x1) > 3")
    if "d3" in wrong:
        text = text.replace("  d1 =", "  d3 = d1 = 1\n  d1 =", 1)
    found = check_spec(Source("a.nom", text), "a", OFFER).diagnostics
    assert found, text
    fixes = [fix for d in found for fix in fixes_of(d, Source("a.nom", text))]
    tried = [mended(text, fix) for fix in fixes]
    assert any(not codes(each) for each in tried), tried


def test_only_warnings_can_be_silenced() -> None:
    text = SPEC.replace("d1 <= d2", "d1 <= d3")
    source = Source("a.nom", text)
    titles = {
        d.code: [fix.title for fix in fixes_of(d, source)]
        for d in check_spec(source, "a", OFFER).diagnostics
    }
    assert titles[Code.UNUSED_OUTPUT] == ["Silence this warning here"]
    assert all("Silence" not in title for title in titles[Code.UNDECLARED_NAME])
