from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nomos.engine.evaluated import EvaluatedChunk, Violations
from nomos.engine.interpreter import Verdict
from nomos.errors import Stop
from nomos.results.result import Bug, Counts, Ensures, Subject
from nomos.runner.campaigns.campaign import Campaign
from nomos.runner.campaigns.plans.ranges import Plan, Range
from nomos.runner.campaigns.recording import restore
from nomos.runner.events import BugFound, Finished, Started
from nomos.runner.executors.worker import About
from nomos.runner.options import Options
from nomos.store.rows import Row
from nomos.store.store import Store, Unfinished
from tests.runner.driving import counts, run

FEW = {"cases": 3, "search": "random"}


@pytest.fixture
def income(project) -> Path:
    return project.folder / "specs" / "income.nom"


def test_a_campaign_begins_and_ends_with_one_event_each(income):
    _, events = run(income)
    assert [type(e) for e in events].count(Started) == 1
    assert isinstance(events[0], Started)
    assert [type(e) for e in events].count(Finished) == 1
    assert isinstance(events[-1], Finished)


def test_each_case_is_counted_once_and_bugs_by_their_inputs_too(income):
    result, _ = run(income, cases=5000, search="random")
    counted = result.counts
    assert counted.passed + counted.violations == 5000
    assert counted.violations > counted.unique_bugs == len(result.bugs)
    assert counted.bug_inputs == len({bug.choices[0] for bug in result.bugs})
    assert 1 < counted.bug_inputs < counted.unique_bugs


def test_the_budget_counts_cases_past_requires_exactly(income):
    result, _ = run(income, cases=137, search="random")
    assert result.counts.tests == 137
    assert result.counts.passed + result.counts.violations == 137
    assert result.counts.discarded > 0


def test_results_do_not_depend_on_batch_or_way(income):
    want, _ = run(income, cases=300, search="random")
    modes = [
        (batch, mode)
        for mode in ("vectorized", "coroutines")
        for batch in (1, 7, 512, 8192)
    ]
    for batch, mode in [*modes, (7, "sequential")]:  # one by one in batches of any size
        got, _ = run(income, cases=300, search="random", batch=batch, mode=mode)
        assert counts(got) == counts(want), (batch, mode)
        assert got.bugs == want.bugs, (batch, mode)


def test_the_same_seed_gives_the_same_bugs_and_another_seed_other_cases(income):
    first, _ = run(income, cases=50, search="random", seed=3)
    again, _ = run(income, cases=50, search="random", seed=3)
    other, _ = run(income, cases=50, search="random", seed=4)
    assert first.bugs == again.bugs
    assert [b.case for b in first.bugs] != [b.case for b in other.bugs]


def test_a_space_within_the_budget_is_tried_whole(income, exact_income_bugs):
    result, events = run(income, cases=5000)
    assert result.search == "exhaustive"
    assert events[0].space == result.counts.tests + result.counts.discarded == 400
    assert result.counts.unique_bugs == exact_income_bugs("bumpy") > 0
    assert result.verdict == "violated"


def test_a_property_that_no_case_breaks_holds_when_all_were_tried(income):
    result, _ = run(income, settings={"model": "smooth"})
    assert result.verdict == "holds"
    assert result.reason == "every case was tried"


def test_a_sample_without_violations_is_no_proof(income):
    result, _ = run(income, settings={"model": "smooth"}, search="random", cases=200)
    assert result.verdict == "none-found"
    assert result.rate.low == 0
    assert 0 < result.rate.high < 0.03


def test_exhaustive_search_can_be_asked_for_beyond_the_budget(
    income, exact_income_bugs
):
    result, _ = run(income, cases=10, search="exhaustive")
    assert result.counts.unique_bugs == exact_income_bugs("bumpy")


@pytest.mark.parametrize("batch", [1, 4, None])
@pytest.mark.parametrize("cases", [239, 240, 241])  # of 240 that get past `requires`
def test_a_budget_of_just_all_cases_is_told_from_one_that_is_short(steps, cases, batch):
    options = {"search": "exhaustive", "budget": cases, "batch": batch}
    result, _ = run(steps, **options)
    assert result.counts.tests == min(cases, 240)
    assert result.counts.model_calls == 2 * result.counts.tests
    assert result.is_complete == (cases >= 240)
    assert result.reason == (
        "every case was tried" if cases >= 240 else "the budget is spent"
    )


def test_listed_cases_have_the_same_numbers_in_batches_of_any_size(steps):
    draws = "import steps;\ninput x1;\nvar v := x1 < 22 && randInt(0, x1) > 9;\n"
    steps.write_text(
        f"{draws}var w := randInt(0, 1);\noutput d;\n"
        "{\n  d = answer(x1)\n}\nensures d >= 0 && (d < 2 || v || w == 1);\n"
    )
    first, _ = run(steps, search="exhaustive", batch=1)
    assert first.counts.unique_bugs > 9
    for options in ({"batch": 7}, {"batch": 64}, {"jobs": 2}, {"mode": "sequential"}):
        other, _ = run(steps, search="exhaustive", **options)
        assert [b.case for b in other.bugs] == [b.case for b in first.bugs]
        assert [b.choices for b in other.bugs] == [b.choices for b in first.bugs]


def test_a_space_of_just_the_budget_is_tried_whole(steps):
    assert [run(steps, cases=cases)[0].search for cases in (299, 300)] == [
        "random",
        "exhaustive",
    ]


def test_until_bug_stops_at_the_first_violating_case_whatever_the_batch(income):
    small, _ = run(income, search="random", until_bug=True, batch=3)
    large, _ = run(income, search="random", until_bug=True, batch=4096)
    assert counts(small) == counts(large)
    assert large.counts.unique_bugs == 1
    assert large.reason == "a bug was found"


def test_a_budget_of_time_or_calls_ends_the_campaign(income):
    result, _ = run(income, search="random", cases=10**9, seconds=0.2)
    assert result.reason == "the time is up"
    result, _ = run(
        income, search="random", cases=10**9, calls=500, mode="coroutines", batch=8
    )
    assert result.reason == "the calls are used up"
    assert 350 < result.counts.model_calls <= 400  # of the share of the search
    assert result.calls.limit == 500
    assert 0 < result.calls.asked <= 500


def test_a_model_that_raises_for_some_rows_crashes_these_cases_only(income):
    result, _ = run(income, settings={"fail_at": "62"}, search="random", cases=2000)
    assert result.counts.crashed > 0
    assert result.counts.violations > 0
    assert result.crashes[0].error == "ValueError: no answer for this income"
    assert 'income.nom", line 11' in result.crashes[0].traceback or (
        'income.nom", line 12' in result.crashes[0].traceback
    )


def test_crashes_are_limited(income):
    result, _ = run(income, settings={"fail_at": "62"}, search="random", crashes=3)
    assert result.counts.crashed == 3
    assert result.reason == "too many cases crashed"


def test_a_campaign_of_crashes_alone_has_failed(project):
    path = project.spec(
        "broken",
        """\
        import loans;
        input x1;
        output d;
        { d = predict(x1) / 0 }
        ensures d == 1;
        """,
    )
    result, _ = run(path)
    assert result.verdict == "failed"
    assert result.counts.crashed == 40
    assert "crashed" in result.problem


def test_comparisons_with_nan_do_not_hold(income):
    result, _ = run(income, settings={"model": "nan"})
    assert result.counts.violations > 0
    assert result.counts.crashed == 0


def test_a_model_with_too_few_answers_fails_the_campaign_with_its_name(income):
    result, _ = run(income, settings={"model": "short"}, search="random")
    assert result.verdict == "failed"
    assert "`predict` gave" in result.problem


@pytest.mark.parametrize("search", ["auto", "random"])
def test_a_precondition_that_never_holds_is_named(project, search):
    path = project.spec(
        "never",
        """\
        import loans;
        input x1;
        var r := randInt(0, 1000);
        requires r > 2000;
        output d;
        { d = predict(x1) }
        ensures d == 1;
        """,
    )
    result, _ = run(path, search=search)
    assert result.verdict == "failed"
    assert "`r > 2000`" in result.problem


def test_starving_ends_at_the_same_case_for_every_batch(project):
    path = project.spec(
        "rare",
        """\
        import loans;
        input x1;
        var r := randInt(0, MAX_INT);
        requires r % 5000 == 7;
        output d;
        { d = predict(x1) }
        ensures d >= 0;
        """,
    )
    small, _ = run(path, batch=1000)
    large, _ = run(path, batch=8192)
    assert small.verdict == large.verdict == "none-found" or small.problem
    assert counts(small) == counts(large)


def test_an_impossible_range_is_named_as_the_reason(project):
    path = project.spec(
        "empty",
        """\
        import loans;
        input x1;
        var r := randInt(5, 1);
        output d;
        { d = predict(x1) }
        ensures d == r;
        """,
    )
    result, _ = run(path)
    assert "randInt(5, 1)" in result.problem


def test_every_bug_is_told_once(income):
    _, events = run(income, cases=2000, search="random")
    told = [event.bug.choices for event in events if isinstance(event, BugFound)]
    assert len(told) == len(set(told)) > 0


def test_a_recorded_bug_that_is_still_there_is_a_violation(project, income):
    with Store.open(project.folder / ".nomos") as store:
        run(income, store=store)
    seeds = [s for s in range(9) if not run(income, seed=s, **FEW)[0].counts.violations]
    with Store.open(project.folder / ".nomos") as store:
        again, _ = run(income, seed=seeds[0], store=store, **FEW)
    assert again.counts.violations == 0
    assert again.recorded.still > 0
    assert again.verdict == "violated"


def test_a_store_has_how_often_each_bug_was_met(project, income):
    with Store.open(project.folder / ".nomos") as store:
        result, _ = run(income, store=store, cases=3000, search="random", batch=100)
        (kept,) = store.newest()
    assert max(bug.seen for bug in result.bugs) > 2
    assert [(b.case, b.seen) for b in kept.bugs] == [
        (b.case, b.seen) for b in result.bugs
    ]


def test_until_bug_counts_nothing_behind_the_bug(project):
    path = project.spec(
        "never_right",
        """\
        import loans;
        input x1;
        output d;
        { d = predict(x1) }
        ensures d == 7;
        """,
    )
    result, _ = run(path, search="random", until_bug=True, batch=64)
    assert result.counts.tests == result.counts.violations == 1


def test_a_resumed_campaign_counts_crashes_and_discards_once():
    subject = Subject("a.nom", "a", ensures=(Ensures("1", "d == 1", 1),))
    plan = Plan(total=None, batch=None)
    campaign = Campaign(About(subject, "vectorized", 1, 9, {}), Options(), plan, 0)
    result = replace(campaign.result(), counts=Counts(tests=9, crashed=3))
    state = {"next_case": 9, "next_first": 9, "reasons": {"v < 3": 2}}
    crashed = Row(Bug("", 4, (4,), "", failures=(0,), seen=2), how=3)
    restore(campaign, Unfinished(1, result, state), [crashed])
    assert campaign.counts().crashed == 3
    assert campaign.reasons == {"v < 3": 2}


@pytest.mark.parametrize("place", [0, 1])
def test_a_signal_in_the_middle_of_a_range_leaves_no_half_of_it_to_go_on_from(place):
    subject = Subject("a.nom", "a", ensures=(Ensures("1", "d == 1", 1),))
    plan = Plan(total=9, batch=None)
    campaign = Campaign(About(subject, "vectorized", 1, 9, {}), Options(), plan, 0)
    ones = np.ones(1, dtype=np.int32)
    parts = [
        EvaluatedChunk(ones * Verdict.PASSED, ones > 0, ones, -ones) for _ in range(2)
    ]
    parts[place].verdicts[:] = Verdict.VIOLATED
    parts[place].violations = Violations.of([0], [(place,)], [1], [1.0])

    def confirm(cases):
        raise Stop

    with pytest.raises(Stop):
        campaign.take(Range(0, 2, True), parts, confirm)
    assert campaign.counts().tests == place
    assert campaign.can_resume == (place == 0)


@pytest.mark.parametrize("mode", ["vectorized", "coroutines"])
@pytest.mark.parametrize("batch", [1, 64])
def test_an_exception_that_does_not_come_again_is_shown(
    steps: Path, mode: str, batch: int
) -> None:
    once = {"fault": "raise once", "at": "23"}
    options: dict[str, Any] = {"search": "random", "cases": 400}
    result, _ = run(
        steps, settings=once, batch=batch, mode=mode, recheck=False, **options
    )
    assert result.problem.startswith("the model raised ValueError: invalid literal")
    assert "1 calls raised so" in result.problem
    assert result.crashes[-1].seen == 1
