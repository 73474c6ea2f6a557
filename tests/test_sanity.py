"""A spec notices faults that matter to it, and says what it would let pass."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from nomos import Domain, Schema, batched, relations
from nomos.domain import Integer
from nomos.errors import NomosError
from nomos.inline import _build_job
from nomos.inline import spec as inline_spec
from nomos.runner.executors.worker import Setting, Worker
from nomos.runner.jobs import Prepared
from nomos.runner.options import Options
from nomos.sanity import Answered, SanityCheck, check_sanity, hash_records


class Loans(Domain):
    """People; loans are granted from an income of 30 on."""

    schema = Schema(Integer("income", 0, 100), Integer("age", 18, 90))

    def inputs(self) -> np.ndarray:
        rng = np.random.default_rng(1)
        rows = [rng.integers(0, 80, 300), rng.integers(18, 90, 300)]
        return np.column_stack(rows).astype(np.float32)

    @batched
    def predict(self, rows: np.ndarray) -> np.ndarray:
        return (rows[:, 0] >= 30).astype(int)

    @batched
    def pair(self, rows: np.ndarray) -> list[list[int]]:
        return [[1, 2] for _ in rows]


RISE = relations.monotone("income", step=20).text


def prepared(text: str) -> Prepared:
    job = _build_job(inline_spec(text, name="rise"), Path(), Loans, {})
    return Worker(Setting(Path())).prepare_job(job)


def checked(text: str) -> SanityCheck:
    return check_sanity(
        prepared(text), 0, Options(default_budget=2000, search="random")
    )


def test_a_spec_notices_what_breaks_it_and_lets_constants_pass() -> None:
    found = checked(RISE)
    noticed = {fault.fault: fault.is_noticed for fault in found.faults}
    assert found.violations == 0
    assert noticed == {
        "noise of 10 %": True,
        "noise of 1 %": True,
        "noise of 0.1 %": noticed["noise of 0.1 %"],  # that is one person in a thousand
        "reversed": True,
        "a dip in what is changed": True,
        "reversed for a subgroup": True,
        "always 0": False,
        "always 1": False,
    }
    assert found.remarks == ["a model passes that always answers 0 or 1"]
    lines = list(found.lines)
    assert lines[0] == "rise: 0 of 2,000 violated as it is"
    assert lines[4].split("  ")[1:3] == ["reversed", lines[4].split("  ")[2]]


def test_a_wrong_direction_is_asked_about() -> None:
    found = checked(RISE.replace("d1 <= d2", "d2 <= d1"))
    assert any("is the direction right?" in remark for remark in found.remarks)


def test_a_spec_that_demands_nothing_notices_nothing() -> None:
    found = checked(RISE.replace("d1 <= d2", "d1 == d1"))
    assert found.remarks[0].startswith("notices none of these faults")


def test_a_rate_over_the_campaign_notices_faults_too() -> None:
    test = "ensures some: rate(d1 == 1) in 0.4..0.8;"
    text = f"input x1;\noutput d1;\n{{\n  d1 = predict(x1)\n}}\n{test}\n"
    found = {fault.fault: fault.is_noticed for fault in checked(text).faults}
    assert found["always 0"] and found["always 1"]
    assert not found["noise of 0.1 %"]


def test_the_model_of_the_job_stays_as_it_is() -> None:
    job = prepared(RISE)
    check_sanity(job, 0, Options(default_budget=100, search="random"))
    predict = job.engine.program.find_batched("predict")
    assert predict is not None
    rows = np.array([[20, 30], [40, 30]], dtype=np.float32)
    assert np.asarray(predict.many(rows)).tolist() == [0, 1]


def test_answers_that_are_no_labels_are_refused() -> None:
    text = "input x; output d; { d = pair(x) } ensures len(d) == 2;"
    with pytest.raises(NomosError, match="neither labels nor numbers"):
        checked(text)


def test_numbers_are_reversed_within_their_range() -> None:
    numbers = Answered(tuple(range(100)))
    assert (
        numbers.opposite_answer(10),
        numbers.other_answer(10),
        numbers.other_answer(90),
    ) == (89, 99, 0)
    labels = Answered(("high", "low"))
    assert (labels.opposite_answer("high"), labels.other_answer("low")) == (
        "low",
        "high",
    )
    assert labels.opposite_answer("never seen") == "never seen"


def test_marks_depend_on_the_record_alone() -> None:
    rows = np.arange(6.0).reshape(3, 2)
    assert hash_records([rows])[1] == hash_records([rows[1:]])[0]
    assert len(set(hash_records([["a", "b"], [1, 2]]).tolist())) == 2
