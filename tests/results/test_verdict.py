"""What a campaign may claim, as a table: when in doubt, it is not green."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from nomos.results.result import (
    Certificate,
    Counts,
    Nearest,
    Proof,
    Result,
    Subject,
    Verdict,
)
from nomos.results.verdict import (
    confirmation_text,
    nearest_text,
    problem_of,
    proof_text,
    rate_text,
    verdict_of,
    with_proof,
)

DEPENDS = (
    " violations did not fail again:"
    " the model's answers depend on the other cases of a batch, on what it was asked"
    " before, or on chance, as those of a network with dropout that is not in eval mode,"
    " or of games that share one"
    " simulator"
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
        (Counts(tests=9, passed=8, flaky=1), "", ONE, "failed"),
        (Counts(tests=9, passed=9, nondeterministic=1), "", MOVED, "failed"),
        (
            Counts(tests=9, passed=8, violations=1, confirmed=1, isolated_reruns=1),
            "",
            "",
            "violated",
        ),
        (  # nothing was run in isolation and failed again: that is no bug yet
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
            Counts(tests=200, passed=100, violations=95, confirmed=1, flaky=5),
            "",
            "",
            "violated",
        ),
        (
            Counts(tests=200, passed=100, violations=94, confirmed=1, flaky=6),
            "",
            f"6{DEPENDS}",
            "violated",
        ),
        (
            Counts(tests=200, passed=100, violations=99, repeated=99, flaky=1),
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
    assert (
        confirmation_text(Counts(unique_bugs=9, confirmed=9, isolated_reruns=9)) == ""
    )
    said = confirmation_text(
        Counts(unique_bugs=109, confirmed=9, repeated=100, isolated_reruns=10, flaky=3)
    )
    assert said == (
        "109 bugs: 9 failed again in isolation, the other 100 in a batch;"
        " 3 violations did not fail again"
    )


def test_recorded_bugs_that_only_show_alone_keep_a_verdict_from_being_clean() -> None:
    counts = Counts(tests=9, passed=9)
    problem = problem_of(counts, "", hidden=2)
    assert problem.startswith("2 recorded bugs broke the property again")
    given = {"problem": problem, "is_complete": True}
    assert verdict_of(counts, **given, recorded=2) == "violated"
    assert verdict_of(counts, problem="", is_complete=True) == "holds"


def test_what_did_not_come_back_is_told_without_batches_too() -> None:
    counts = Counts(tests=9, violations=2, confirmed=2, isolated_reruns=3, flaky=1)
    assert "1 violation did not fail again" in confirmation_text(counts)


@pytest.mark.parametrize(
    ("counts", "share", "verdict"),
    [
        (Counts(tests=1000, passed=995, flaky=5), 0.0, "failed"),  # the default
        (Counts(tests=1000, passed=995, flaky=5), 0.004, "failed"),
        (Counts(tests=1000, passed=995, flaky=5), 0.005, "none-found"),
        (Counts(tests=9, passed=9, nondeterministic=2), 0.01, "failed"),
        (Counts(tests=9, passed=9, nondeterministic=1), 0.01, "none-found"),
        (Counts(tests=9, passed=8, violations=1, repeated=1), 0.5, "failed"),
        (Counts(tests=9, passed=8, crashed=1), 0.5, "failed"),
        (
            Counts(tests=9, passed=7, violations=1, confirmed=1, flaky=1),
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
    counts = Counts(tests=50, passed=40, isolated_reruns=10, flaky=10, rounded=10)
    assert "10 of 10 run in isolation are none at float32" in problem_of(counts, "")
    assert "(10 only at a lower precision)" in confirmation_text(counts)


def test_a_share_is_accepted_of_all_that_could_have_been_judged() -> None:
    counts = Counts(tests=4, passed=1, violations=2, repeated=2, flaky=1)
    assert problem_of(counts, "", accepted=0.25) == ""
    assert problem_of(counts, "", accepted=0.24) == ONE
    assert (
        problem_of(Counts(tests=9, passed=9, nondeterministic=1), "", accepted=1.0)
        == MOVED
    )


SCHEMA = Proof("holds", cases=8, violating=(0, 0))
BROKEN = Proof("violated", cases=8, violating=(2, 2))
OPEN = Proof(
    "undecided", cases=8, violating=(0, 3), decided=5, reason="it is too large"
)


@pytest.mark.parametrize(
    ("verdict", "counts", "problem", "proof", "expected"),
    [
        ("failed", {}, "", SCHEMA, ("holds", "schema")),
        ("failed", {}, "", OPEN, ("undecided", "schema")),
        ("failed", {}, "no model", SCHEMA, ("failed", "sample")),
        ("failed", {}, "no model", BROKEN, ("violated", "schema")),
        ("none-found", {"tests": 9, "passed": 9}, "", SCHEMA, ("holds", "schema")),
        ("none-found", {"tests": 9, "passed": 9}, "", BROKEN, ("violated", "schema")),
        ("none-found", {"tests": 9, "passed": 9}, "", OPEN, ("none-found", "sample")),
        ("holds", {"tests": 9, "passed": 9}, "", SCHEMA, ("holds", "schema")),
        ("violated", {"tests": 9, "passed": 9}, "", SCHEMA, ("violated", "sample")),
        ("failed", {"tests": 9, "passed": 9}, "", SCHEMA, ("failed", "sample")),
        (
            *("none-found", {"tests": 9, "passed": 9}, ""),
            replace(SCHEMA, scope="around"),
            ("none-found", "sample"),
        ),
    ],
)
def test_a_proof_beside_a_campaign_claims_no_more_than_both_know(
    verdict: Verdict,
    counts: dict[str, int],
    problem: str,
    proof: Proof,
    expected: tuple[str, str],
) -> None:
    untested = result("random", is_complete=verdict == "holds", **counts)
    tested = replace(untested, verdict=verdict, problem=problem)
    both = with_proof(replace(tested, scope="sample"), proof)
    assert (both.verdict, both.scope) == expected
    assert both.proof is proof


ROWS = tuple(
    Certificate(number, verdict, cases=cases)
    for number, (verdict, cases) in enumerate(
        [("holds", 3), ("violated", 3), ("holds", None), ("holds", 0)]
    )
)


@pytest.mark.parametrize(
    ("proof", "says"),
    [
        (SCHEMA, "proved: 0 of 8 cases of the schema"),
        (BROKEN, "exact: 2 of 8 cases of the schema (25 %)"),
        (
            replace(BROKEN, violating=(2, 3)),
            "at least 2 and at most 3 of 8 cases of the schema",
        ),
        (
            OPEN,
            "not proved: it is too large; 62.5 % of 8 cases of the schema decided",
        ),
        (
            replace(OPEN, decided=None),
            "not proved: it is too large; 0 % of 8 cases of the schema decided",
        ),
        (replace(OPEN, violating=None), "not proved: it is too large"),
        (replace(SCHEMA, cases=None), "proved for all cases of the schema"),
        (replace(BROKEN, cases=None), "not true for all cases of the schema"),
        (replace(SCHEMA, cases=0), "proved for all cases of the schema"),
        (
            replace(SCHEMA, scope="around", text="+-1", rows=ROWS),
            "2 holds, 1 violated, 1 without a case, of 4 rows (around +-1)",
        ),
        (
            replace(SCHEMA, scope="around"),
            "proved: 0 of 8 cases around inputs",
        ),
    ],
)
def test_what_a_proof_knows_is_said(proof: Proof, says: str) -> None:
    assert proof_text(proof) == says


def test_rates_and_proofs_stand_side_by_side() -> None:
    tested: dict[str, Any] = {"tests": 51, "passed": 50, "violations": 1}
    sample = replace(result("random", **tested), proof=OPEN)
    assert rate_text([sample]).endswith("; " + proof_text(OPEN))
    assert rate_text([sample]).startswith("1 of 51: ")
    assert rate_text([replace(result("random"), proof=SCHEMA)]) == proof_text(SCHEMA)
    made = replace(result("guided", **tested), scope="generated")
    assert rate_text([made, made]) == "2 of 102 generated inputs, no share of real ones"


def test_rows_near_a_witness_are_named() -> None:
    near = {"x": Nearest(3, ()), "y": Nearest(4, ("age", "sex"))}
    said = nearest_text(replace(BROKEN, nearest=near))
    assert said == ("x is row 3 of the data; y is row 4 of the data, but for age, sex")
    assert nearest_text(BROKEN) == ""
