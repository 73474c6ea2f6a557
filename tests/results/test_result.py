"""Results as data: what is written comes back, field by field."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from typing import Any

import pytest

from nomos.results.analysis import (
    Analysis,
    BugGroup,
    Flakiness,
    RegionBar,
    Rule,
    RuleCondition,
    Shrunk,
    ShrunkRecord,
)
from nomos.results.excess import Repeats
from nomos.results.measured import GroupRate, RateFound
from nomos.results.result import (
    Bug,
    CallCounts,
    Certificate,
    Counts,
    Crash,
    Ensures,
    EnsuresCounts,
    Nearest,
    Outside,
    Premise,
    Proof,
    Recorded,
    Result,
    Subject,
    count_words,
    from_data,
    to_data,
)
from nomos.results.statistics import Estimate, Interval

RATE = Interval(0.1, 0.3, 0.95)
RULE = Rule(
    (RuleCondition("age", "<=", 25.0), RuleCondition("sex", "is", "f")),
    6,
    8,
    RATE,
    0.5,
    0.1,
)
# Every field has a value that is not its default: none can be forgotten unnoticed.
FULL = Result(
    subject=Subject(
        spec="specs/a b.nom",
        property="a b",
        description="Says something.",
        text="input x;\n",
        domain="Loans",
        model="m.onnx",
        settings={"size": "3"},
        outputs=("d1", "d2"),
        ensures=(Ensures("first", "d1 <= d2", 9),),
        k=2,
    ),
    seed=2**100,
    budget=77,
    search="exhaustive",
    mode="coroutines",
    counts=Counts(
        tests=20,
        passed=2,
        violations=9,
        unique_bugs=7,
        new_bugs=6,
        bug_inputs=3,
        confirmed=4,
        repeated=3,
        isolated_reruns=8,
        discarded=11,
        crashed=2,
        unreadable=3,
        flaky=4,
        rounded=1,
        nondeterministic=10,
        unchanged=11,
        model_calls=50,
        k=2,
        seconds=1.5,
        pairs=10,
        only_violated=5,
        only_control=2,
        both_violated=1,
    ),
    verdict="violated",
    reason="every case was tried",
    problem="1 case crashed",
    scope="inputs",
    is_uncontrolled=True,
    is_complete=True,
    space=400,
    rate=RATE,
    next_bug=Estimate(0.2, RATE),
    rates=(
        RateFound(
            "fair",
            "fair: rate(a) <= 0.5",
            9,
            "undecided",
            0.4,
            Interval(0.3, 0.6, 0.95),
            (GroupRate("a", 4, 10, Interval(0.3, 0.6, 0.95)),),
            "more cases are needed",
        ),
    ),
    ensures=(EnsuresCounts("first", "d1 <= d2", 9, 3, 2, RATE),),
    margins={1.0: 3, 2.5: 1},
    bugs=(
        Bug(
            id="0123456789",
            case=5,
            choices=(1, 2**64 - 1),
            failed="d1 <= d2",
            failures=(0,),
            margin=1.5,
            seen=3,
            confirmed="batch",
            is_new=False,
            inputs={"x": {"age": 20.5}},
            outputs={"d1": "high"},
            shrunk=Shrunk(
                records=(ShrunkRecord(7, {"age": 21.0}),),
                draws=(3,),
                failed="d1 <= d2",
                margin=1.0,
                inputs={"x": {"age": 21.0}},
                outputs={"d1": "high"},
                tried=12,
            ),
            repeats=Repeats(9, 8, 1, "undecided"),
        ),
    ),
    analysis=Analysis(
        groups=(
            BugGroup(
                failed="d1 <= d2",
                outputs={"d1": "high"},
                bugs=1,
                smallest="0123456789",
                nearest="0123456789",
                worst="0123456789",
                region=RULE,
                by_answer=RULE,
                feature="age",
                bars=(RegionBar("20 to 30", 2, 5),),
            ),
        ),
        grouped=1,
        sampled=50,
        tried=12,
        model_calls=40,
    ),
    crashes=(Crash(3, (4,), "ValueError: no", "Traceback…", 2),),
    recorded=Recorded(4, ("0123456789",)),
    calls=CallCounts(99, 70, {"search": 70}),
    fingerprint={"spec": "abc"},
    proof=Proof(
        verdict="violated",
        scope="around",
        text="age=3",
        cases=10,
        violating=(1, 2),
        decided=9,
        witness=Bug("9876543210", 0, (0, 4), "d1 <= d2", records=((1.0, 2.5),)),
        nearest={"x": Nearest(3, ("age",))},
        reason="the time is up",
        method="bounds",
        assumptions=("records are records",),
        compared_rows=7,
        seconds=0.5,
        rows=(Certificate(3, "violated", 10),),
        premises=(Premise(0, "d1 == 1 ==> d2 == 1", 2, None),),
        outside=Outside(9, 1, (4,), {"age": 1}),
    ),
)


def test_each_field_of_the_full_result_differs_from_its_default() -> None:
    plain = Result(Subject("", ""), 0, 0)
    for field in fields(Result):
        if field.name not in ("live", "finished"):
            assert getattr(FULL, field.name) != getattr(plain, field.name), field.name
    parts = (
        (FULL.subject, Subject("", "")),
        (FULL.counts, Counts()),
        (FULL.proof, Proof("undecided")),
    )
    for part, empty in parts:
        assert part is not None
        for field in fields(part):
            assert getattr(part, field.name) != getattr(empty, field.name), field.name


def test_a_result_comes_back_from_json_field_by_field() -> None:
    back = from_data(json.loads(json.dumps(to_data(FULL))))
    for field in fields(Result):
        assert getattr(back, field.name) == getattr(FULL, field.name), field.name


def test_a_result_without_its_optional_parts_comes_back() -> None:
    plain = Result(Subject("a.nom", "a"), 0, 10)
    assert from_data(json.loads(json.dumps(to_data(plain)))) == plain


def test_what_runs_is_not_written() -> None:
    assert "live" not in to_data(replace(FULL, live=object()))  # type: ignore[arg-type]


@pytest.mark.parametrize("missing", ["seed", "tests", "bugs", "properties", "verdict"])
def test_data_that_lacks_something_is_refused(missing: str) -> None:
    data = to_data(FULL)
    del data[missing]
    with pytest.raises((KeyError, TypeError)):
        from_data(data)


def test_judged_cases_are_those_that_an_ensures_was_decided_on() -> None:
    counts = Counts(tests=10, passed=4, violations=3, crashed=2, flaky=1)
    assert counts.evaluated == 7
    assert count_words(counts) == (
        "tests=10 passed=4 violations=3 unique_bugs=0 bug_inputs=0 discarded=0"
        " crashed=2 flaky=1"
    )


def test_new_bugs_are_those_that_are_not_known() -> None:
    new = replace(FULL.bugs[0], is_new=True, case=9)
    assert replace(FULL, bugs=(*FULL.bugs, new)).new_bugs == (new,)


TRUE = Result(
    Subject("a.nom", "a"),
    0,
    10,
    counts=Counts(tests=10, passed=10),
    verdict="none-found",
)
ALL = replace(TRUE, is_complete=True, verdict="holds")
BUG = Counts(tests=10, passed=9, violations=1, unique_bugs=1, confirmed=1)
FLAKY = Analysis(flakiness=Flakiness(10, flaky=1))
LOW = EnsuresCounts("1", "d", 1, 0, 0, Interval(0.4, 0.1, 0.95))


@pytest.mark.parametrize(
    ("claims", "of"),
    [
        (replace(TRUE, verdict="violated", counts=BUG), {"violations": 2}),
        (TRUE, {"passed": 9}),
        (TRUE, {"crashed": 1}),
        (TRUE, {"discarded": -1}),
        (TRUE, {"tests": 9, "flaky": -1}),
        (TRUE, {"unique_bugs": 1}),
        (TRUE, {"unique_bugs": 1, "repeated": 1}),
        (TRUE, {"passed": 9, "violations": 1}),
        (replace(TRUE, verdict="violated", counts=BUG), {"confirmed": 0}),
        (ALL, {"passed": 9, "flaky": 1}),
        (ALL, {"nondeterministic": 1}),
    ],
)
def test_counts_that_contradict_themselves_are_no_verdict(
    claims: Result, of: dict[str, int]
) -> None:
    assert claims.problem == ""
    false = replace(claims, counts=replace(claims.counts, **of))
    assert false.verdict == "failed" and "contradicts itself" in false.problem
    again = replace(false, seed=2)
    assert again.problem == false.problem


@pytest.mark.parametrize(
    ("claims", "part"),
    [
        (TRUE, {"verdict": "holds"}),
        (ALL, {"is_complete": False}),
        (ALL, {"analysis": FLAKY}),
        (TRUE, {"rate": Interval(0.3, 0.1, 0.95)}),
        (TRUE, {"rate": Interval(0.3, 1.1, 0.95)}),
        (TRUE, {"ensures": (LOW,)}),
    ],
)
def test_parts_that_contradict_each_other_are_no_verdict(
    claims: Result, part: dict[str, Any]
) -> None:
    false = replace(claims, **part)
    assert false.verdict == "failed" and "contradicts itself" in false.problem
