"""The study of translated SQL: its control is clean, and its causes are those on the page."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip(
    "sqlglot", reason="pip install -r casestudies/sql_translation/requirements.txt"
)
pytest.importorskip(
    "duckdb", reason="pip install -r casestudies/sql_translation/requirements.txt"
)

from casestudies.sql_translation.queries import Queries, plain_value
from nomos import api, run_specs

STUDY = Path(__file__).parents[2] / "casestudies" / "sql_translation"
RESULTS = json.loads((STUDY.parent / "results" / "sql-translation.json").read_text())


def test_queries_run_where_they_come_from_but_for_few() -> None:
    domain = Queries("single")
    rows = [domain.rows(domain.write(x)) for x in domain.inputs()]
    assert sum(map(domain.runs, rows)) == len(rows)
    assert not domain.runs(domain.rows("SELECT nothing FROM items"))
    assert domain.rows("SELECT qty FROM items ORDER BY qty LIMIT 2") == "[null, -8]"


def test_values_of_two_engines_are_compared_as_what_they_mean() -> None:
    assert [plain_value(v) for v in (True, 2.0, 0.1 + 0.2, -0.0, None, "x")] == [
        1,
        2,
        0.3,
        0,
        None,
        "x",
    ]


def test_specs_are_right_and_the_control_holds() -> None:
    for spec in STUDY.rglob("*.nom"):
        assert not api.load_spec(spec).checked.diagnostics
    found = run_specs(
        STUDY / "control.nom", settings={"parts": "single"}, store=False, recheck=False
    )
    assert found[0].verdict == RESULTS["control"]["verdict"] == "holds"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["same_rows", "by_postgres", "round_trip"])
def test_single_parts_break_what_the_page_says(name: str) -> None:
    found = run_specs(
        STUDY / "specs" / f"{name}.nom",
        settings={"parts": "single"},
        store=False,
        recheck=False,
        confirm="all",
    )
    queries = {bug.inputs["query"] for bug in found[0].bugs}
    assert queries == {cause["query"] for cause in RESULTS[name]["causes"]}
