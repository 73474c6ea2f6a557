"""Habits from elsewhere and wrong uses get the right remedy at the right place, or none."""

from __future__ import annotations

import pytest

from nomos.diagnostics import Diagnostic, Severity, Source
from nomos.lang.checking.check import check_spec
from nomos.lang.reading.parse import parse_spec
from nomos.lang.types import Offer
from nomos.lsp.requests.fixes import fixes_of
from tests.lang.habits import HABITS, LATER, OTHERS, UNSEEN, WRONG_USES

SPEC = """\
import compas;
{shared}
input x1;
input xs[3];
{input}
{var}
{requires}
output d1;
output d2;
output ds;
{output}
{{
  d1 = predict(x1)
  d2 = predict(x1)
  ds = [predict(x) for x in xs]
}}
{ensures}
ensures d1 == d2 && ds[0] == 1;
"""
SLOTS = {
    **dict.fromkeys(("param", "def", "from", "import", "const"), "shared"),
    **dict.fromkeys(("var", "let", "val"), "var"),
    **dict.fromkeys(("requires", "assume"), "requires"),
    "input": "input",
    "output": "output",
}
# A mistake mended, the next one shows.
SEVERAL = (
    "let v := d1 + 1;",
    "def f(a): return a + 1;",
    "var x2 = x1.copy();",
    "requires x1.age IN (1,2);",
    "param eps := 0.1 in [0, 1];",
    "int y = 3;",
    "requires x1.sex = 'Male' AND x1.age > 3;",
    "ensures d1 != d2 or raise;",
)
CASES = {**HABITS, **WRONG_USES, **OTHERS, **LATER, **UNSEEN}


def source_with(statement: str) -> Source:
    """Return a spec with a statement at its place."""
    parts = dict.fromkeys(
        ("shared", "input", "var", "requires", "output", "ensures"), ""
    )
    parts[SLOTS.get(statement.split()[0], "ensures")] = statement
    return Source("case.nom", SPEC.format(**parts))


def check(source: Source, offer: Offer) -> tuple[Diagnostic, ...]:
    """Return what is wrong with a spec."""
    return check_spec(source, "case", offer, parsed=parse_spec(source)).diagnostics


def count_errors(found: tuple[Diagnostic, ...]) -> int:
    return sum(one.severity is Severity.ERROR for one in found)


@pytest.mark.parametrize("statement", CASES)
def test_what_people_write_is_caught_where_it_stands_with_the_right_remedy(
    statement: str, offer: Offer
) -> None:
    at, remedy = CASES[statement]
    source = source_with(statement)
    all_found = check(source, offer)
    start = source.text.index(statement)
    found = [d for d in all_found if start <= d.at.start <= start + len(statement)]
    assert found, all_found
    assert source.slice(found[0].at) == at
    help = found[0].help
    assert remedy in (help or "") if remedy else help is None, help


def test_what_an_editor_offers_first_mends_the_mistake(offer: Offer) -> None:
    tried = 0
    for statement in CASES:
        source = source_with(statement)
        found = check(source, offer)
        start = source.text.index(statement)
        first = next(d for d in found if d.at.start >= start)
        for fix in fixes_of(first, source):
            if not fix.is_sure:
                continue
            text = source.text
            for at, new in sorted(fix.edits, key=lambda edit: -edit[0].start):
                text = text[: at.start] + new + text[at.end :]
            left = check(Source("case.nom", text), offer)
            fewer = count_errors(left) < count_errors(found) or len(left) < len(found)
            assert fewer or statement in SEVERAL, (statement, fix)
            tried += 1
    assert tried > 60
