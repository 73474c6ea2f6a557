"""Bugs are grouped by what fails, by outputs and by region."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from nomos.groups.grouping import Sampled, can_group_by_outputs, group_bugs, key_of
from nomos.results.result import Bug


def bug(number: int, age: float, d2: int, margin: float = 1.0, step: int = 1) -> Bug:
    inputs = {"x1": {"age": age}, "x2": {"age": age + step}}
    outputs = {"d1": 3, "d2": d2}
    return Bug(
        f"bug{number}",
        number,
        (number,),
        "d1 <= d2",
        (0,),
        margin,
        inputs=inputs,
        outputs=outputs,
    )


def sampled(ages: np.ndarray, fails: np.ndarray, d2: int) -> Sampled:
    key = key_of(1, {"d1": 3, "d2": d2})
    keys = [key if fail else None for fail in fails.tolist()]
    held_out = np.random.default_rng(3).random(len(ages)) < 0.5
    return Sampled({"age": ages}, keys, held_out, {}, np.empty(0, dtype=bool))


AGES = np.random.default_rng(1).integers(18, 90, 3000).astype(float)


def test_groups_by_outputs_and_region_with_their_representatives() -> None:
    bugs = [
        bug(1, 20, 1, step=5),
        bug(2, 21, 1, margin=2.0, step=3),
        bug(3, 24, 1),
        bug(4, 70, 1),
        bug(5, 22, 0, margin=3.0),
    ]
    described = {"age": np.array([20.0, 21.0, 24.0, 70.0, 22.0])}
    groups = group_bugs(bugs, described, sampled(AGES, AGES <= 25, 1))
    young, other, elsewhere = groups
    assert young.region is not None
    assert young.region.text == "age <= 25"
    assert (young.bugs, young.smallest, young.nearest, young.worst) == (
        3,
        "bug3",
        "bug3",
        "bug2",
    )
    assert sum(bar.cases for bar in young.bars) == 3000
    assert sum(bar.violations for bar in young.bars) == int((AGES <= 25).sum())
    assert young.feature == "age"
    assert {(other.bugs, other.region), (elsewhere.bugs, elsewhere.region)} == {
        (1, None)
    }
    assert {other.outputs["d2"], elsewhere.outputs["d2"]} == {0, 1}


def test_cases_with_a_missing_value_have_a_bar_of_their_own() -> None:
    ages = np.where(np.arange(3000) % 5 == 0, np.nan, AGES)
    (group,) = group_bugs(
        [bug(1, 20, 1)], {"age": np.array([20.0])}, sampled(ages, ages <= 25, 1)
    )
    *_, last = group.bars
    assert (last.label, last.violations, last.cases) == ("missing", 0, 600)
    assert sum(bar.cases for bar in group.bars) == 3000
    few = np.where(np.isnan(ages), np.nan, ages // 45)
    (group,) = group_bugs(
        [bug(1, 0, 1)], {"age": np.array([0.0])}, sampled(few, few == 0, 1)
    )
    assert [bar.label for bar in group.bars] == ["0", "1", "missing"]


def test_a_group_may_be_told_by_the_models_answer() -> None:
    rng = np.random.default_rng(2)
    confidence = rng.random(3000).round(2)
    plain = sampled(AGES, confidence <= 0.1, 1)
    answers = {"confidence of d1": confidence}
    told = Sampled(plain.raw, plain.keys, plain.held_out, answers, np.ones(3000, bool))
    (group,) = group_bugs([bug(1, 20, 1)], {"age": np.array([20.0])}, told)
    assert group.region is None
    assert group.by_answer is not None
    assert group.by_answer.text == "confidence of d1 <= 0.1"


def test_outputs_of_many_values_do_not_tell_groups_apart() -> None:
    bugs = [bug(number, 20 + number, number) for number in range(20)]
    nothing = Sampled({}, [], np.empty(0, bool), {}, np.empty(0, bool))
    (group,) = group_bugs(bugs, {}, nothing)
    assert (group.bugs, group.outputs, group.region) == (20, {}, None)


def test_real_outputs_tell_bugs_apart_only_where_they_share_them() -> None:
    bugs = [bug(number, 20 + number, 0) for number in range(4)]
    own = [replace(b, outputs={"d2": 0.5 + b.case}) for b in bugs]
    assert not can_group_by_outputs(own) and can_group_by_outputs(bugs)
    shared = [replace(b, outputs={"d2": 0.5 + b.case % 2}) for b in bugs]
    assert can_group_by_outputs(shared)
    whole = [replace(b, outputs={"d2": float(b.case)}) for b in bugs]
    assert can_group_by_outputs(whole)  # classes as a library wrote them
