"""Habits from elsewhere and wrong uses get the right remedy at the right place, or none."""

from __future__ import annotations

import pytest

from nomos.diagnostics import Source
from nomos.lang.checking.check import check_spec
from nomos.lang.reading.parse import parse_spec
from nomos.lang.types import Offer
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
CASES = {**HABITS, **WRONG_USES, **OTHERS, **LATER, **UNSEEN}


@pytest.mark.parametrize("statement", CASES)
def test_what_people_write_is_caught_where_it_stands_with_the_right_remedy(
    statement: str, offer: Offer
) -> None:
    at, remedy = CASES[statement]
    parts = dict.fromkeys(
        ("shared", "input", "var", "requires", "output", "ensures"), ""
    )
    parts[SLOTS.get(statement.split()[0], "ensures")] = statement
    source = Source("case.nom", SPEC.format(**parts))
    checked = check_spec(source, "case", offer, parsed=parse_spec(source))
    start = source.text.index(statement)
    found = [
        d for d in checked.diagnostics if start <= d.at.start <= start + len(statement)
    ]
    assert found, checked.diagnostics
    assert source.slice(found[0].at) == at
    help = found[0].help
    assert remedy in (help or "") if remedy else help is None, help
