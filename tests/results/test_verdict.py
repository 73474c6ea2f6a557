"""What a campaign may claim, as a table: when in doubt, it is not green."""

from __future__ import annotations

import pytest

from nomos.results.result import Counts, Result, Subject
from nomos.results.verdict import (
    confirmation_text,
    problem_of,
    rate_text,
    verdict_of,
)

DEPENDS = (
    " violations did not come back when run again:"
    " the model's answers depend on the other cases of a batch"
)
ONE = f"1{DEPENDS.replace('violations', 'violation')}"
MOVED = (
    "the model was asked for some answers twice, and 1 of them were different:"
    " its answers cannot be relied on"
)


@pytest.mark.parametrize("is_complete", [False, True])
@pytest.mark.parametrize(
    ("counts", "given", "problem", "verdict"),
    [
        (Counts(tests=9, passed=9), "", "", None),  # None: the clean verdict
        (Counts(), "", "no case was run", "failed"),
        (Counts(discarded=5), "", "no case was run", "failed"),
        (Counts(discarded=5), "starved", "starved", "failed"),
        (Counts(tests=9, passed=9), "starved", "starved", "failed"),
        (Counts(tests=9, passed=8, crashed=1), "", "1 case crashed", "failed"),
        (Counts(crashed=2), "", "2 cases crashed", "failed"),
        (
            Counts(tests=9, passed=7, crashed=2),
            "the model failed",
            "the model failed; 2 cases crashed",
            "failed",
        ),
        (Counts(tests=9, passed=8, unstable=1), "", ONE, "failed"),
        (Counts(tests=9, passed=9, moved=1), "", MOVED, "failed"),
        (
            Counts(tests=9, passed=8, violations=1, confirmed=1, run_alone=1),
            "",
            "",
            "violated",
        ),
        (  # nothing was run alone and came back: that is no bug yet
            Counts(tests=9, passed=8, violations=1, repeated=1),
            "",
            "",
            "failed",
        ),
        (
            Counts(tests=9, passed=7, violations=1, confirmed=1, crashed=1),
            "",
            "1 case crashed",
            "violated",
        ),
        (  # 5 of 100: not yet loud
            Counts(tests=200, passed=100, violations=95, confirmed=1, unstable=5),
            "",
            "",
            "violated",
        ),
        (
            Counts(tests=200, passed=100, violations=94, confirmed=1, unstable=6),
            "",
            f"6{DEPENDS}",
            "violated",
        ),
        (
            Counts(tests=200, passed=100, violations=99, repeated=99, unstable=1),
            "",
            ONE,
            "failed",
        ),
    ],
)
def test_problems_and_verdicts(
    counts: Counts, given: str, problem: str, verdict: str | None, is_complete: bool
) -> None:
    assert problem_of(counts, given) == problem
    clean = "holds" if is_complete else "none-found"
    claimed = verdict_of(counts, problem=problem, is_complete=is_complete)
    assert claimed == (verdict or clean)


def result(search: str, *, is_complete: bool = False, **counts: int) -> Result:
    return Result(
        Subject("a.nom", "a"),
        0,
        5000,
        search=search,
        is_complete=is_complete,
        counts=Counts(**counts),
    )


def test_rates_of_samples_have_an_interval_and_those_of_all_cases_have_none() -> None:
    sample = result("random", passed=50, violations=1)
    assert rate_text([sample]).startswith("1 of 51: 1.96 % (")
    assert rate_text([sample, sample]).startswith("2 of 102: 1.96 % (")
    every = result("exhaustive", is_complete=True, passed=50, violations=1)
    assert rate_text([every]) == "exact: 1 of 51"
    some = result("exhaustive", passed=50, violations=1)
    assert rate_text([some]) == "1 of 51 tried, not all"
    assert rate_text([result("random", crashed=3)]) == "no cases"


def test_how_bugs_were_confirmed_is_said_where_not_all_ran_alone() -> None:
    assert confirmation_text(Counts(unique_bugs=9, confirmed=9, run_alone=9)) == ""
    said = confirmation_text(
        Counts(unique_bugs=109, confirmed=9, repeated=100, run_alone=10, unstable=3)
    )
    assert said == (
        "109 bugs: of 10 run alone 9 came back (55.5 % to 99.7 % at 95 %); 100 more"
        " came back in a batch of other cases; 3 violations did not come back"
    )


def test_recorded_bugs_that_only_show_alone_keep_a_verdict_from_being_clean() -> None:
    counts = Counts(tests=9, passed=9)
    problem = problem_of(counts, "", hidden=2)
    assert problem.startswith("2 recorded bugs broke the property again")
    given = {"problem": problem, "is_complete": True}
    assert verdict_of(counts, **given, recorded=2) == "violated"
    assert verdict_of(counts, problem="", is_complete=True) == "holds"


def test_what_did_not_come_back_is_told_without_batches_too() -> None:
    counts = Counts(tests=9, violations=2, confirmed=2, run_alone=3, unstable=1)
    assert "1 violation did not come back" in confirmation_text(counts)


@pytest.mark.parametrize(
    ("counts", "share", "verdict"),
    [
        (Counts(tests=1000, passed=995, unstable=5), 0.0, "failed"),  # the default
        (Counts(tests=1000, passed=995, unstable=5), 0.004, "failed"),
        (Counts(tests=1000, passed=995, unstable=5), 0.005, "none-found"),
        (Counts(tests=9, passed=9, moved=2), 0.01, "failed"),
        (Counts(tests=9, passed=9, moved=1), 0.01, "none-found"),
        (Counts(tests=9, passed=8, violations=1, repeated=1), 0.5, "failed"),
        (Counts(tests=9, passed=8, crashed=1), 0.5, "failed"),
        (
            Counts(tests=9, passed=7, violations=1, confirmed=1, unstable=1),
            0.5,
            "violated",
        ),
    ],
)
def test_answers_that_move_are_accepted_up_to_a_share(counts, share, verdict) -> None:
    problem = problem_of(counts, "", accepted=share, asked_again=100)
    made = verdict_of(counts, problem=problem, is_complete=True, accepted=share)
    assert made == verdict  # "holds" is said of none of them
    assert not (verdict == "none-found" and problem)


def test_bugs_of_a_lower_precision_alone_are_told() -> None:
    counts = Counts(tests=50, passed=40, run_alone=10, unstable=10, rounded=10)
    assert "10 of 10 run alone are none at float32" in problem_of(counts, "")
    assert "10 of those run alone only at a lower precision" in confirmation_text(
        counts
    )
