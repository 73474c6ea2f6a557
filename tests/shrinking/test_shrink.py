"""Smaller cases still violate, are as small as they can be, and can be replayed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from nomos import Domain, Schema, batched, transformations
from nomos.domain import Flag, Integer, OneHot
from nomos.engine.choices import from_pattern, pattern
from nomos.engine.engine import Engine
from nomos.engine.interpreter import Verdict
from nomos.inline import _build_job
from nomos.inline import spec as inline_spec
from nomos.runner.executors.worker import Setting, Worker
from nomos.shrinking.shrink import Shrinker, replay_shrunk

ROWS = np.array(
    [[20, 5, 0, 1, 0], [30, 8, 1, 0, 1], [40, 9, 0, 1, 0], [58, 7, 1, 0, 1]],
    dtype=np.float32,
)


def engine_of(domain: type[Domain], text: str) -> Engine:
    job = _build_job(inline_spec(text), Path(), domain, {})
    return Worker(Setting(Path())).prepare_job(job).engine


class People(Domain):
    """Incomes and debts; the model refuses incomes from 60 to 64."""

    schema = Schema(
        Integer("income", 0, 100),
        Integer("debts", 0, 20),
        Flag("member"),
        OneHot("town", ("Aix", "Bern")),
    )

    def inputs(self) -> np.ndarray:
        return ROWS

    @batched
    def predict(self, rows: np.ndarray) -> np.ndarray:
        income = rows[:, 0]
        return ((income >= 30) & ~((income >= 60) & (income <= 64))).astype(int)


RISE = """
    input x1;
    var x2 := x1[income := x1.income + randInt(1, 60)];
    output d1;
    output d2;
    {
      d1 = predict(x1)
      d2 = predict(x2)
    }
    ensures d1 <= d2;
"""


def test_a_step_becomes_the_smallest_that_violates() -> None:
    engine = engine_of(People, RISE)
    shrunk = Shrinker(engine).shrink((3, 5), 0)
    assert shrunk is not None
    assert shrunk.draws == (2,)  # 58 + 2 is refused, 58 + 1 is not
    assert (shrunk.records[0].row, shrunk.features_off) == (3, 0)
    assert shrunk.inputs["x2"]["income"] == 60
    assert shrunk.outputs == {"d1": 1, "d2": 0}


def test_a_case_that_is_small_already_has_no_smaller_one() -> None:
    assert Shrinker(engine_of(People, RISE)).shrink((3, 2), 0) is None


def test_a_made_up_row_becomes_a_real_one() -> None:
    engine = engine_of(People, RISE)
    made_up = np.array([57, 13, 0, 1, 0], dtype=np.float32)
    shrunk = Shrinker(engine).shrink_records([made_up], [0], (6,), 0)
    assert shrunk is not None
    assert shrunk.features_off == 0
    assert np.array_equal(ROWS[shrunk.records[0].row][1:], ROWS[3][1:])
    assert shrunk.draws == (2,)


def test_a_row_far_from_all_keeps_only_what_it_needs() -> None:
    text = RISE.replace("ensures d1", "ensures x1.debts < 15 || d1")
    engine = engine_of(People, text)
    made_up = np.array([57, 19, 0, 1, 0], dtype=np.float32)
    shrunk = Shrinker(engine).shrink_records([made_up], [0], (6,), 0)
    assert shrunk is not None
    (record,) = shrunk.records
    assert record.row == 3
    assert record.changes == {"debts": 15}
    assert shrunk.draws == (2,)
    assert replay_shrunk(engine, shrunk).verdict is Verdict.VIOLATED


def test_the_budget_is_kept() -> None:
    shrinker = Shrinker(engine_of(People, RISE))
    made_up = np.array([57, 13, 0, 1, 0], dtype=np.float32)
    shrinker.shrink_records([made_up], [0], (6,), 0, most=10)
    assert shrinker.tried <= 10 + 5  # and the few that are run in isolation


def test_a_smaller_case_breaks_the_same_ensures() -> None:
    text = RISE + "\n    ensures x2.income != 59;"
    shrunk = Shrinker(engine_of(People, text)).shrink((3, 4), 0)
    assert shrunk is not None
    assert shrunk.draws == (2,)  # not 1, which breaks the other one alone
    assert shrunk.failed == "d1 <= d2"


def test_a_strength_becomes_small_and_round() -> None:
    text = """
    input x1;
    var s := randReal(0.0, 9.0);
    output d1;
    { d1 = predict(x1) }
    ensures s < 0.3;
    """
    engine = engine_of(People, text)
    shrunk = Shrinker(engine).shrink((0, pattern(7.3216789)), 0)
    assert shrunk is not None
    assert from_pattern(shrunk.draws[0]) == 0.3


def test_the_other_input_becomes_like_the_first() -> None:
    text = """
    input x1;
    input x2;
    output d1;
    output d2;
    {
      d1 = predict(x1)
      d2 = predict(x2)
    }
    ensures d1 == d2;
    """
    shrunk = Shrinker(engine_of(People, text)).shrink((0, 1), 0)
    assert shrunk is not None  # row 2 has the town and the membership of row 0
    assert [record.row for record in shrunk.records] == [0, 2]


def test_a_pair_keeps_together_and_comes_as_near_as_the_data_has() -> None:
    class Many(People):
        def inputs(self) -> np.ndarray:
            debts = np.repeat([5, 6], 100)[:, None] * np.ones((1, 4), dtype=np.float32)
            rows = np.column_stack([np.tile(np.arange(100), 2), debts]).astype(float)
            rows[:, 2:] = [0, 1, 0]
            return rows

    text = """
    input x1, x2 where same(x1, x2, except income);
    output d1;
    output d2;
    {
      d1 = predict(x1)
      d2 = predict(x2)
    }
    ensures d1 == d2;
    """
    engine = engine_of(Many, text)
    for other, nearest in ((98, 30), (130, None)):
        shrunk = Shrinker(engine).shrink((7, other), 0)
        assert (shrunk and shrunk.records[1].row) == nearest
        assert not shrunk or shrunk.tried < 100


class Review(NamedTuple):
    """A text and a note."""

    body: str
    note: int


LONG = "The room was large. The staff was rude, and breakfast was late. We left early."


def reviews(records: list[Any], text_of: Callable[[Any], str]) -> type[Domain]:
    class Reviews(Domain):
        """Texts; the model dislikes one word."""

        def inputs(self) -> list[Any]:
            return records

        @batched
        def predict(self, texts: list[Any]) -> list[int]:
            return [int("rude" in text_of(text)) for text in texts]

    return Reviews


@pytest.mark.parametrize("kind", ["text", "record"])
def test_a_text_is_cut_to_the_words_that_matter(kind: str) -> None:
    records: list[Any] = [LONG, "Fine."]
    domain = reviews(records, str)
    if kind == "record":
        domain = reviews([Review(text, 3) for text in records], lambda one: one.body)
    engine = engine_of(domain, "input x; output d; { d = predict(x) } ensures d == 0;")
    shrunk = Shrinker(engine).shrink((0,), 0)
    assert shrunk is not None
    assert list(shrunk.records[0].changes.values()) == ["rude,"]
    assert replay_shrunk(engine, shrunk).verdict is Verdict.VIOLATED


def test_a_text_with_a_label_stays_as_it_is() -> None:
    domain = reviews([LONG, "Fine."], str)
    domain.labels = lambda self: [0, 0]  # type: ignore[attr-defined]
    text = "input x; output d; { d = predict(x) } ensures d == label(x);"
    assert Shrinker(engine_of(domain, text)).shrink((0,), 0) is None


class Pictures(Domain):
    """Dark pictures with a bright point, which the model looks for."""

    def inputs(self) -> np.ndarray:
        pictures = np.full((3, 7, 7), 20, dtype=np.uint8)
        pictures[:, 3, 3] = 250
        return pictures

    @batched
    def predict(self, pictures: np.ndarray) -> np.ndarray:
        return (pictures[:, 3, 3] >= 100).astype(int)

    @batched
    def blur(self, pictures: np.ndarray, pixels: np.ndarray) -> Any:
        return transformations.blurred(pictures, pixels)

    @batched
    def noise(self, pictures: np.ndarray, percent: Any, which: Any) -> Any:
        return transformations.noisy(pictures, percent, which)


@pytest.mark.parametrize(
    ("change", "found", "least"),
    [
        ("blur(x, randReal(0.0, 3.0))", (0, pattern(2.7182818)), pattern(0.7)),
        ("noise(x, randInt(1, 100), randInt(0, 9999))", (0, 95, 21), 76),
    ],
)
def test_the_strength_of_a_blur_or_noise_becomes_the_least(
    change: str, found: tuple[int, ...], least: int
) -> None:
    text = f"input x; var y := {change}; output a; output b;"
    text += "{ a = predict(x)\n  b = predict(y)\n } ensures a == b;"
    engine = engine_of(Pictures, text)
    shrunk = Shrinker(engine).shrink(found, 0)
    assert shrunk is not None
    assert shrunk.draws[0] == least
    assert replay_shrunk(engine, shrunk).verdict is Verdict.VIOLATED
