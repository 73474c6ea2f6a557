"""The table of claims names tests that exist."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_each_claim_names_a_test_that_exists() -> None:
    page = (ROOT / "docs" / "explanation" / "trust.md").read_text()
    table = page.partition("## Claims")[2]
    rows = [line for line in table.splitlines() if line.startswith("| ")][1:]
    assert len(rows) >= 16
    for row in rows:
        (named,) = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", row)
        assert f"def {named[1]}(" in (ROOT / named[0]).read_text(), row
