"""Rates over a campaign from a spec to what every reader of results is told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from nomos.report.formats.junit import junit_document
from nomos.report.formats.sarif import sarif_document
from nomos.report.summary import failure_text
from nomos.report.view import view_property
from nomos.results.gate import Gate, rulings
from nomos.results.result import Result, from_data, to_data
from tests.runner.driving import drive
from tests.runner.test_resuming import run_stored

FAIR = """\
import steps;
input x;
output a;
{
  a = answer(x)
}
ensures fair: rate(a == 1 | x % 2 == 0) - rate(a == 1 | x % 2 == 1) in -LIMIT..LIMIT;
"""


def spec(steps: Path, limit: str, more: str = "") -> Path:
    path = steps.with_stem("fair")
    path.write_text(FAIR.replace("LIMIT", limit) + more)
    return path


def campaign(path: Path, **options: Any) -> Result:
    run, _, _ = drive([path], **{"search": "random", "cases": 2000, **options})
    assert not run.failures, run.failures[0].error
    return run.results[0]


def statuses(result: Result, **gate: Any) -> list[int]:
    return [ruling.status for ruling in rulings([result], Gate(**gate))]


def test_every_mode_and_two_workers_count_the_same(steps: Path) -> None:
    path = spec(steps, "0.05", "ensures a >= 0;\n")
    results = [
        campaign(path, mode=mode, jobs=jobs, batch=batch)
        for mode, jobs, batch in (
            ("vectorized", 1, None),
            ("coroutines", 1, 70),
            ("sequential", 1, None),
            ("vectorized", 2, 150),
        )
    ]
    assert len({result.rates for result in results}) == 1
    (found,) = results[0].rates
    assert sum(group.cases for group in found.groups) == 2000
    assert {r.counts.violations for r in results} == {results[0].counts.violations}


@pytest.mark.parametrize(
    ("limit", "cases", "verdict", "status"),
    [
        ("0.5", 2000, "none-found", 0),
        ("0.06", 300, "undecided", 3),
        ("0.0001", 30_000, "violated", 1),
    ],
)
def test_verdict_gate_junit_sarif_and_text_say_the_same(
    steps: Path, limit: str, cases: int, verdict: str, status: int
) -> None:
    settings = {"count": "27"}
    result = campaign(spec(steps, limit), cases=cases, settings=settings)
    assert result.verdict == verdict
    assert statuses(result) == statuses(result, fail_on="new") == [status]
    assert statuses(result, fail_on="fair") == [status]
    assert statuses(result, max_rate=0.5) == [status]
    junit = ElementTree.fromstring(junit_document(rulings([result], Gate())))
    outcomes = {child.tag for case in junit.iter("testcase") for child in case}
    assert outcomes == {0: set(), 1: {"failure"}, 3: {"error"}}[status]
    sarif = json.dumps(sarif_document(rulings([result], Gate())))
    assert ("violated; " in sarif) == (status == 1)
    assert from_data(json.loads(json.dumps(to_data(result)))).rates == result.rates
    said = failure_text(result)
    assert f"`{result.rates[0].text}`" in said
    assert ("are needed (--budget)" in said) == (status == 3)
    assert " at 95 %)" in view_property([result]).rate


def test_all_cases_make_it_exact(steps: Path) -> None:
    settings = {"count": "27"}
    holds = campaign(spec(steps, "0.1"), search="exhaustive", settings=settings)
    assert (holds.verdict, holds.rates[0].interval) == ("holds", None)
    broken = campaign(spec(steps, "0.02"), search="exhaustive", settings=settings)
    assert (broken.verdict, statuses(broken)) == ("violated", [1])
    some = campaign(
        spec(steps, "0.1"), search="exhaustive", settings=settings, budget=20
    )
    assert (some.verdict, statuses(some)) == ("undecided", [3])


def test_crashed_cases_leave_no_verdict(steps: Path) -> None:
    settings = {"fault": "raise", "at": "7"}
    result = campaign(spec(steps, "0.9"), settings=settings, batch=30)
    assert (result.verdict, statuses(result)) == ("failed", [3])


def test_a_killed_campaign_goes_on_with_its_counts(
    steps: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nomos.runner.campaigns.recording._CHECKPOINT_S", 0.0)
    monkeypatch.setattr("nomos.runner.campaigns.recording._SHARE", 1e9)
    path = spec(steps, "0.5")
    options = {"search": "random", "cases": 900, "batch": 50}
    whole = run_stored(path, tmp_path / "whole", **options)
    assert run_stored(path, tmp_path / "killed", die_at=7, **options) is None
    done = run_stored(path, tmp_path / "killed", resume=True, **options)
    assert whole is not None
    assert done is not None
    assert done.results[0].rates == whole.results[0].rates
    assert done.results[0].counts.tests == 900
