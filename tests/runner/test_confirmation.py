"""Violations are run again: the same ones for every batch, and none counts by itself."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from nomos.results.gate import Gate, rulings
from nomos.results.result import Counts
from nomos.runner.campaigns.bugs import IsolatedRerun
from nomos.runner.events import BugFound, Crashed
from tests.runner.driving import drive, run

# The model answers as it likes unless it is asked for one number alone.
UNLIKE = {
    "depends on the batch": "0 if len(numbers) > 1 else 9",
    "crashes alone": "0 if len(numbers) > 1 else int('no number')",
}


def rewritten(steps: Path, answer: str) -> Path:
    """Let the model answer this for every number."""
    domain = steps.parent.parent / "steps.py"
    text = domain.read_text()
    start = text.index("        numbers = np.asarray(numbers)")
    body = f"        return np.full(len(numbers), {answer})\n"
    domain.write_text(text[:start] + body)
    steps.write_text(steps.read_text().replace("a <= b", "a == 9 && b == 9"))
    return steps


@pytest.fixture
def many(steps: Path) -> Path:
    """Return a spec that every case breaks."""
    steps.write_text(steps.read_text().replace("a <= b", "a > b + 1000"))
    return steps


def alone(path: Path, **options: object) -> list[int]:
    """Return the numbers of the cases that were run in isolation."""
    result, _ = run(path, **options)
    assert result.counts.isolated_reruns == result.counts.confirmed
    return [bug.case for bug in result.bugs if bug.confirmed == "isolated"]


def test_the_first_third_and_a_sample_of_the_others_run_alone(many: Path) -> None:
    options = {"search": "exhaustive", "confirm": 24}
    cases = alone(many, **options)
    result, _ = run(many, **options)
    all_cases = [bug.case for bug in result.bugs]
    assert len(all_cases) == 240
    assert cases[:8] == all_cases[:8]
    sampled = cases[8:]
    assert 5 <= len(sampled) <= 16
    assert max(sampled) > all_cases[120]  # not only the next ones
    assert result.counts.repeated == 240 - len(cases)
    for batch, jobs in ((1, 1), (7, 1), (512, 1), (50, 2)):
        assert alone(many, **options, batch=batch, jobs=jobs) == cases, (batch, jobs)


def test_few_that_run_alone_are_the_first_and_never_more_than_asked(many: Path) -> None:
    assert alone(many, search="exhaustive", confirm=1) == [
        run(many, search="exhaustive")[0].bugs[0].case
    ]
    for confirm in (2, 3, 5, 10):
        assert len(alone(many, search="exhaustive", confirm=confirm)) <= confirm


def test_confirm_all_runs_each_alone_and_gives_all_their_values(many: Path) -> None:
    result, events = run(many, search="exhaustive", confirm="all")
    assert result.counts.isolated_reruns == result.counts.confirmed == 240
    assert result.counts.repeated == 0
    assert all(bug.inputs and bug.outputs for bug in result.bugs)
    assert sum(isinstance(event, BugFound) for event in events) == 240


def test_bugs_from_a_batch_have_no_values_and_are_not_told(many: Path) -> None:
    result, events = run(many, search="exhaustive", confirm=3)
    told = [event.bug.case for event in events if isinstance(event, BugFound)]
    assert told == [bug.case for bug in result.bugs if bug.confirmed == "isolated"]
    for bug in result.bugs:
        assert bool(bug.inputs) == bool(bug.outputs) == (bug.confirmed == "isolated")


def test_nothing_that_comes_back_is_no_verdict_but_a_failure(steps: Path) -> None:
    path = rewritten(steps, UNLIKE["depends on the batch"])
    result, _ = run(path, search="exhaustive", batch=300)
    assert result.verdict == "failed"
    assert result.counts.unique_bugs == result.counts.repeated
    assert result.counts.confirmed == 0
    assert result.counts.flaky > 0
    assert "depend on the other cases of a batch" in result.problem
    every, _ = run(path, search="exhaustive", batch=300, confirm="all")
    assert every.counts.flaky == 240
    assert every.bugs == ()
    assert every.verdict == "failed"


def test_a_share_that_is_accepted_is_no_more_than_that(steps: Path) -> None:
    path = rewritten(steps, UNLIKE["depends on the batch"])
    options = {"search": "exhaustive", "batch": 300, "confirm": "all"}
    result, _ = run(path, **options, accept_flaky=0.99)
    assert result.counts.flaky == 240  # all of them
    assert result.verdict == "failed"
    assert rulings([result], Gate(accept_flaky=0.99))[0].status == 3


@pytest.mark.parametrize(("accepted", "status"), [(0.0, 3), (0.01, 3), (0.1, 0)])
def test_only_what_is_accepted_passes_beside_known_bugs(
    many: Path, accepted: float, status: int
) -> None:
    result, _ = run(many, search="exhaustive")
    counts = Counts(
        tests=20, passed=18, violations=1, unique_bugs=1, confirmed=1, flaky=1
    )
    known = replace(result, counts=counts)
    gate = Gate(fail_on="new", accept_flaky=accepted)
    assert rulings([known], gate)[0].status == status


def test_what_crashes_alone_has_crashed_and_shows_its_traceback(steps: Path) -> None:
    path = rewritten(steps, UNLIKE["crashes alone"])
    options = {"search": "exhaustive", "batch": 300, "confirm": "all"}
    result, events = run(path, **options, crashes=1000)
    assert result.counts.crashed == 240
    assert result.counts.flaky == result.counts.violations == 0
    (crash,) = result.crashes
    assert (
        crash.error == "ValueError: invalid literal for int() with base 10: 'no number'"
    )
    assert "int('no number')" in crash.traceback
    assert crash.seen == 240
    assert [event.crash.seen for event in events if isinstance(event, Crashed)] == [1]
    assert (result.verdict, result.problem) == ("failed", "240 cases crashed")
    few, _ = run(path, **options, crashes=5)
    assert few.reason == "too many cases crashed"


def test_until_bug_goes_past_violations_that_do_not_come_back(steps: Path) -> None:
    found = [
        run(
            steps,
            search="exhaustive",
            settings={"fault": "crowd"},
            until_bug=True,
            batch=batch,
        )[0]
        for batch in (20, 300)
    ]
    for result in found:
        assert result.reason == "a bug was found"
        assert len(result.bugs) == result.counts.confirmed == 1
        assert result.counts.flaky > 0
    assert found[0].bugs == found[1].bugs
    assert found[0].counts.tests == found[1].counts.tests


def test_more_bugs_than_a_result_keeps_are_counted_all(many: Path, monkeypatch) -> None:
    monkeypatch.setattr("nomos.runner.campaigns.bugs.MOST_BUGS_KEPT", 10)
    result, _ = run(many, search="exhaustive", confirm=3)
    assert len(result.bugs) == 10
    assert result.counts.unique_bugs == result.counts.new_bugs == 240


def test_more_violations_than_can_be_told_apart_are_counted_all(
    many: Path, monkeypatch
) -> None:
    monkeypatch.setattr("nomos.runner.campaigns.violations.MOST_TOLD_APART", 50)
    monkeypatch.setattr("nomos.runner.campaigns.campaign.MOST_TOLD_APART", 50)
    every, _ = run(many, search="exhaustive")
    assert every.counts.violations == every.counts.unique_bugs == 240
    assert (
        every.counts.new_bugs == every.counts.confirmed + every.counts.repeated == 240
    )
    sample, _ = run(many, search="random", cases=2000)
    assert sample.counts.violations == 2000
    assert sample.counts.unique_bugs == 50  # the others may be duplicates
    assert sample.next_bug is None
    assert sample.margins is None


def test_known_bugs_are_not_new(many: Path, tmp_path: Path) -> None:
    from nomos.store.store import Store

    def stored(**options: object) -> tuple[int, int, int]:
        with Store.open(tmp_path / "store") as store:
            done, _, _ = drive([many], store=store, search="random", **options)
        counts = done.results[0].counts
        return counts.unique_bugs, counts.new_bugs, len(done.results[0].new_bugs)

    unique, new, listed = stored(cases=40, accept=False)
    assert unique == new == listed > 10  # nothing was accepted yet
    assert stored(cases=40)[1] == unique
    assert stored(cases=40) == (unique, 0, 0)
    more, new, listed = stored(cases=80)
    assert (new, listed) == (more - unique, more - unique)


def test_run_alone_is_asked_of_cases_in_order_and_once(many: Path) -> None:
    from nomos.engine.evaluated import Violations
    from nomos.engine.interpreter import Verdict
    from nomos.results.result import Ensures, Subject
    from nomos.runner.campaigns.bugs import Bugs
    from nomos.runner.campaigns.violations import ViolationTable

    asked: list[tuple[int, ...]] = []

    def confirm(cases):
        asked.extend(case.choices for case in cases)
        return [IsolatedRerun(Verdict.VIOLATED, "", "", {}, {}) for _ in cases]

    subject = Subject("a.nom", "a", ensures=(Ensures("1", "d", 1),))
    bugs = Bugs(subject, ViolationTable(1, repeats=True), confirm=None, until_bug=False)
    for first in (100, 200):
        rows = [first, first + 2, first + 5, first + 6]
        found = Violations.of(rows, [(4,), (7,), (4,), (1,)], [1] * 4, [np.nan] * 4)
        bugs.take(found, confirm)
    assert asked == [(4,), (7,), (1,)]
    assert [(b.case, b.seen) for b in bugs.finish_bugs()] == [
        (100, 4),
        (102, 2),
        (106, 2),
    ]
    assert bugs.totals.violations == 8
    assert bugs.totals.unique_bugs == 3
