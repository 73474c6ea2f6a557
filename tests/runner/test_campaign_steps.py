"""A campaign by itself: verdicts made by hand go in, counts and reasons come out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from nomos.engine.cases import KnownCase
from nomos.engine.evaluated import ChunkCrash, EvaluatedChunk, Violations
from nomos.engine.interpreter import Verdict
from nomos.results.result import Ensures, Recorded, Subject
from nomos.results.statistics import clopper_pearson, new_bug_chance
from nomos.runner.campaigns import health
from nomos.runner.campaigns.bugs import IsolatedRerun
from nomos.runner.campaigns.campaign import LATE, Campaign
from nomos.runner.campaigns.plans.ranges import Plan, Range
from nomos.runner.events import BugFound, Crashed, Event, Progress
from nomos.runner.executors.worker import About
from nomos.runner.stopping import TimeUp
from tests.runner.driving import options_of

VERDICTS = dict(zip("pvdcun", Verdict, strict=True))
SUBJECT = Subject("a.nom", "a", ensures=(Ensures("1", "a", 1), Ensures("2", "b", 2)))


def campaign(
    total: int | None = None,
    confirm: int | str = "all",
    accepted: float = 0.0,
    **budget: Any,
) -> Campaign:
    """Return a campaign of so many cases, each with an input of its own; None: drawn."""
    plan = Plan(total=total, batch=None)
    options = options_of(confirm=confirm, accept_flaky=accepted, **budget)
    return Campaign(About(SUBJECT, "sequential", 1, 9, {}), options, plan, 0)


def chunk(letters: str) -> EvaluatedChunk:
    """Return cases that passed, are violated, discarded or crashed; two calls each."""
    accepted = np.array([letter != "d" for letter in letters])
    rows = [row for row, letter in enumerate(letters) if letter == "v"]
    return EvaluatedChunk(
        np.array([VERDICTS[letter] for letter in letters], dtype=np.int8),
        accepted,
        2 * accepted.astype(np.int32),
        np.where(accepted, -1, np.arange(len(letters)) % 2),
        reasons=("r > 0", "r > 1"),  # for even rows, for odd ones
        violations=Violations.of(
            rows, [(row,) for row in rows], [0b01] * len(rows), [1.0] * len(rows)
        ),
        crashes=tuple(
            ChunkCrash(row, (row,), "no", "")
            for row, letter in enumerate(letters)
            if letter == "c"
        ),
    )


def come_back(cases: Sequence[KnownCase]) -> list[IsolatedRerun]:
    return [IsolatedRerun(Verdict.VIOLATED, "", "", {}, {}) for _ in cases]


def crash_alone(cases: Sequence[KnownCase]) -> list[IsolatedRerun]:
    return [IsolatedRerun(Verdict.CRASHED, "alone", "", {}, {}) for _ in cases]


def take(
    one: Campaign, *chunks: str | EvaluatedChunk, confirm: Any = come_back
) -> list[Event]:
    """Let a campaign take in a range of cases that was evaluated in chunks."""
    parts = [chunk(part) if isinstance(part, str) else part for part in chunks]
    count = sum(map(len, parts))
    asked = Range(one.next_first, count, one.plan.is_listed)
    return one.take(asked, parts, confirm)


def seen(one: Campaign) -> tuple[int, ...]:
    """Return the counts that every case falls into one of, and the cases tried."""
    counts = one.counts()
    bad = counts.discarded, counts.crashed
    return counts.tests, counts.passed, counts.violations, *bad, one.next_case


@pytest.mark.parametrize(
    ("budget", "chunks", "counts", "stop"),
    [
        ({"cases": 3}, ["pdpvpp"], (3, 2, 1, 1, 0, 4), "the budget is spent"),
        ({"cases": 3}, ["ppp"], (3, 3, 0, 0, 0, 3), "the budget is spent"),
        ({"cases": 3}, ["ppcv", "p"], (3, 2, 0, 0, 1, 3), "the budget is spent"),
        ({"cases": 3}, ["p", "p", "ppp"], (3, 3, 0, 0, 0, 3), "the budget is spent"),
        ({"cases": 3}, ["pp"], (2, 2, 0, 0, 0, 2), ""),
        # A fifth is reserved; a case runs where its calls are left twice.
        ({"calls": 10}, ["pd", "ppppp"], (3, 3, 0, 1, 0, 4), "the calls are used up"),
        ({"calls": 11}, ["ppp"], (3, 3, 0, 0, 0, 3), "the calls are used up"),
        ({"calls": 10}, ["pvp"], (2, 1, 1, 0, 0, 2), "the calls are used up"),
        ({"calls": 12}, ["ppp"], (3, 3, 0, 0, 0, 3), ""),
        ({"crashes": 2}, ["pc", "pcccp"], (4, 2, 0, 0, 2, 4), "too many cases crashed"),
        ({"crashes": 2}, ["cdp"], (2, 1, 0, 1, 1, 3), ""),
        ({"until_bug": True}, ["pvpv", "v"], (2, 1, 1, 0, 0, 2), "a bug was found"),
        ({"until_bug": True}, ["cv"], (2, 0, 1, 0, 1, 2), "a bug was found"),
    ],
)
def test_a_drawn_campaign_ends_behind_the_case_that_ends_it(
    budget: dict[str, Any], chunks: list[str], counts: tuple[int, ...], stop: str
) -> None:
    together, apart = campaign(**budget), campaign(**budget)
    take(together, *chunks)
    for part in chunks:
        take(apart, part)
        if apart.stop:
            break
    for one in (together, apart):
        assert (seen(one), one.stop) == (counts, stop)
        assert one.next_first == one.next_case
        assert one.can_resume
        total = one.counts()
        assert (total.model_calls, total.k) == (2 * total.tests, 2)
        assert total.rounded == 0
        assert one.crashes.get("no") is None or one.crashes["no"].seen == total.crashed


@pytest.mark.parametrize(
    ("budget", "chunks", "counts", "stop"),
    [
        ({"cases": 2}, ["pdp", "pv"], (4, 3, 1, 1, 0, 5), "every case was tried"),
        ({"budget": 4}, ["pdp", "pv"], (4, 3, 1, 1, 0, 5), "every case"),
        ({"budget": 3}, ["pdp", "pv"], (3, 3, 0, 1, 0, 4), "the budget"),
        ({"budget": 3}, ["ppp", "dd"], (3, 3, 0, 2, 0, 5), "every case"),
        ({"crashes": 1}, ["ppp", "cp"], (4, 3, 0, 0, 1, 4), "too many cases crashed"),
        ({}, ["ddd", "dd"], (0, 0, 0, 5, 0, 5), "every case was tried"),
    ],
)
def test_a_listed_campaign_ends_with_its_last_case_or_its_cap(
    monkeypatch: pytest.MonkeyPatch,
    budget: dict[str, Any],
    chunks: list[str],
    counts: tuple[int, ...],
    stop: str,
) -> None:
    monkeypatch.setattr(health, "LEAST_DISCARDS", 2)  # a listed one never starves
    one = campaign(total=5, **budget)
    take(one, chunks[0])
    assert (one.stop, one.next_first, one.result().is_complete) == ("", 3, False)
    assert one.can_resume
    take(one, chunks[1])
    assert seen(one) == counts
    assert one.stop.startswith(stop)
    assert one.result().is_complete == (one.stop == "every case was tried")
    assert len(one.sample.cases) == 0


def test_half_of_a_listed_range_is_nothing_to_go_on_from() -> None:
    one = campaign(total=2)
    one.take(Range(0, 2, True, stop=1), [chunk("p")], come_back)
    assert (one.stop, one.next_first, one.can_resume) == ("", 0, False)
    one.take(Range(0, 2, True, start=1), [chunk("p")], come_back)
    assert (one.stop, one.next_first, one.can_resume) == (
        "every case was tried",
        2,
        True,
    )


def test_crashes_are_told_once_for_each_kind_and_kept_for_the_first_kinds() -> None:
    one = campaign(crashes=99)
    events = take(one, "pcc", "c")
    told = [event.crash for event in events if isinstance(event, Crashed)]
    assert [(crash.case, crash.choices, crash.seen) for crash in told] == [(1, (1,), 1)]
    assert isinstance(events[-1], Progress) and events[-1].next_case == 4
    (kept,) = one.result().crashes
    assert (kept.case, kept.seen) == (1, 3)
    many = chunk("c" * 30)
    many.crashes = tuple(ChunkCrash(n, (n,), f"kind {n}", "") for n in range(30))
    take(one, many)
    assert len(one.crashes) == 20
    assert one.counts().crashed == 33


def test_what_crashes_alone_counts_as_a_crash_in_its_place() -> None:
    one = campaign(crashes=3)
    events = take(one, "vcp", confirm=crash_alone)
    assert (seen(one), one.stop) == ((3, 1, 0, 0, 2, 3), "")
    told = [event.crash for event in events if isinstance(event, Crashed)]
    assert [(crash.case, crash.error) for crash in told] == [(0, "alone"), (1, "no")]
    take(one, "vpp", confirm=crash_alone)  # the same violation once more
    assert (one.totals.crashed, one.stop) == (3, "too many cases crashed")
    assert one.next_range() is None


def test_too_many_discards_end_a_campaign_and_say_why(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(health, "LEAST_DISCARDS", 5)
    monkeypatch.setattr(health, "MOST_DISCARDS_PER_TEST", 3)
    for chunks in (["pddpdddddd"], ["pdd", "pdd", "dddd"]):
        one = campaign()
        take(one, *chunks)
        assert seen(one) == (2, 2, 0, 7, 0, 9)
        assert one.stop == "too few cases got past `requires`"
        assert "only 2 of 9 cases got past `requires`: 57%" in one.result().problem
        assert one.reasons == {"r > 0": 4, "r > 1": 3}
    fine = campaign()
    take(fine, "pdpdd")
    assert (fine.stop, fine.result().problem) == ("", "")


def test_a_campaign_of_discards_alone_says_so() -> None:
    one = campaign()
    take(one, "d")
    assert "100% of the discards are due to `r > 0`" in one.result().problem
    one = campaign()
    take(one, "ddd")
    assert "only 0 of 3 cases" in one.result().problem
    assert "67% of the discards are due to `r > 0`" in one.result().problem
    assert one.counts().k == 0
    one.problem = "the model failed"
    assert one.result().problem == "the model failed"


def test_time_that_is_up_ends_a_campaign() -> None:
    one = campaign(seconds=1000)
    take(one, "p")
    assert one.stop == ""
    one.seconds_before = 1000.0
    assert 1000 <= one.counts().seconds < 2000
    take(one, "p")
    assert (one.stop, one.is_stopped) == (LATE, False)
    one.stop = ""
    with pytest.raises(TimeUp), one.whole_step():
        raise TimeUp
    assert one.stop == LATE
    one.stop = "interrupted"
    assert one.is_stopped
    assert one.next_range() is None


def test_ranges_say_how_many_tests_and_crashes_are_left() -> None:
    one = campaign(cases=70, crashes=4)
    assert one.can_resume
    first = one.next_range(workers=1)
    assert first is not None
    assert (first.first, first.count, first.tests, first.crashes) == (0, 64, 70, 4)
    second = one.next_range(workers=1)
    assert second is not None and second.first == 64
    assert 6 <= second.count < 64
    assert one.next_range(workers=1) is None  # enough are under way
    take(one, "pc" + "p" * 62)
    third = campaign(cases=70, crashes=4)
    third.go_on(64, 64)
    third.totals.tests, third.totals.crashed = 64, 1
    rest = third.next_range(workers=1)
    assert rest is not None
    assert (rest.first, rest.tests, rest.crashes) == (64, 6, 3)
    assert rest.count < 64


def test_the_first_range_is_the_whole_campaign_and_may_end_behind_its_first_cases() -> (
    None
):
    one = campaign(cases=5000)
    whole = one.next_range()
    assert whole is not None and whole.count >= 5000 and one.next_range() is None
    one.take(whole, [chunk("p" * 64)], come_back)  # these were slow
    rest = one.next_range()
    assert rest is not None and rest.first == 64
    for parts in ({"until_bug": True}, {"time": 9.0}, {"cases": 10**6}):
        first = campaign(**parts).next_range()
        assert first is not None and first.count == 64


@pytest.mark.parametrize(("given", "tests"), [("budget", 4), ("cases", 2**62 + 1)])
def test_listed_ranges_go_one_test_beyond_the_cap(given: str, tests: int) -> None:
    one = campaign(total=2, **{given: 3})
    first, second = one.next_range(), one.next_range()
    assert first is not None and second is not None
    assert [(r.first, r.count, r.tests) for r in (first, second)] == [
        (0, 1, tests),
        (1, 1, tests),
    ]
    assert one.next_range() is None


def test_a_last_case_that_the_calls_suffice_for_is_run() -> None:
    one = campaign(calls=10)
    assert one.next_range() is not None
    take(one, "pp")
    one.go_on(2, 2)
    assert one.next_range() is not None


def test_rates_and_chances_are_those_of_a_sample_and_of_nothing_else() -> None:
    one = campaign()
    take(one, "pvvv")
    take(one, "ppvp")  # the second violation once more
    result = one.result()
    assert result.rate == clopper_pearson(4, 8)
    assert result.next_bug == new_bug_chance(8, 2, 1)
    assert [e.rate for e in result.ensures] == [result.rate, clopper_pearson(0, 8)]
    assert [(e.violations, e.unique_bugs) for e in result.ensures] == [(4, 3), (0, 0)]
    assert one.sample.cases.tolist() == list(range(8))
    whole = campaign(total=4)
    take(whole, "ppvv")
    crashed = campaign()
    take(crashed, "cc")
    for other in (whole.result(), crashed.result(), campaign().result()):
        assert (other.rate, other.next_bug) == (None, None)
        assert [e.rate for e in other.ensures] == [None, None]


def test_a_recorded_bug_that_no_batch_shows_is_a_problem() -> None:
    for letters, says in (("pp", "1 recorded bug broke"), ("pv", "")):
        one = campaign(total=2)
        one.recorded = Recorded(1, (), 1, 0)
        take(one, letters)
        result = one.result()
        assert result.verdict == "violated"
        assert result.problem.startswith(says) and bool(result.problem) == bool(says)
    sample = campaign()
    sample.recorded = Recorded(1, (), 1, 0)
    take(sample, "pp")
    assert (sample.result().verdict, sample.result().problem) == ("violated", "")


@pytest.mark.parametrize(
    ("accepted", "verdict"), [(0.0, "failed"), (0.4, "failed"), (0.5, "none-found")]
)
def test_answers_that_moved_are_counted_and_may_be_accepted(
    accepted: float, verdict: str
) -> None:
    one = campaign(total=4, accepted=accepted)
    for _ in range(2):
        part = chunk("pp")
        part.asked_again, part.nondeterministic = 2, 1
        take(one, part)
    assert one.counts().nondeterministic == 2
    assert one.result().verdict == verdict


def test_bugs_are_told_with_the_numbers_of_their_cases() -> None:
    one = campaign(cases=9)
    events = take(one, "pv", "dv") + take(one, "v")
    told = [event.bug.case for event in events if isinstance(event, BugFound)]
    assert told == [1, 4]
    assert [bug.seen for bug in one.result().bugs] == [2, 1]
