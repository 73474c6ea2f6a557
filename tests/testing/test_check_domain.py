"""`check_domain`: a good domain passes, and each broken promise is named."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from nomos import Discard, Domain, Schema, batched, random
from nomos.domain import Flag, Integer
from nomos.testing import check_domain

ROWS = np.array([[n, n % 2] for n in range(40)], dtype=np.float32)


class Good(Domain):
    schema = Schema(Integer("n", 0, 39), Flag("odd"))

    def __init__(self, shift: int = 0) -> None:
        self.shift = shift

    def inputs(self) -> np.ndarray:
        return ROWS.copy()

    def labels(self) -> list[int]:
        return [0] * 40

    @batched
    def predict(self, rows: Any) -> Any:
        return rows[:, 0] * 2 + self.shift

    @random
    def jitter(self, row: Any, rng: Any) -> Any:
        return row + rng.random()

    @batched
    @random
    def noise(self, rows: Any, rngs: Any) -> Any:
        return [row[0] + rng.random() for row, rng in zip(rows, rngs, strict=True)]

    def small(self, row: Any) -> bool:
        if row[0] > 30:
            raise Discard("too large")
        return bool(row[0] < 10)

    def of_a_word(self, word: str) -> str:
        return word.upper()  # takes no record; it is left alone


def test_a_domain_that_keeps_its_promises_passes():
    check_domain(Good)
    check_domain(Good, shift=3)
    check_domain(Good(), sample=3)


class Batchy(Good):
    @batched
    def predict(self, rows: Any) -> Any:
        return rows[:, 0] - rows[:, 0].mean()


class Moody(Good):
    asked = 0

    @batched
    def predict(self, rows: Any) -> Any:
        self.asked += 1
        return rows[:, 0] + self.asked


class Vandal(Good):
    def inputs(self) -> list[Any]:
        return [{"n": n} for n in range(5)]

    schema = None

    def labels(self) -> list[int]:
        return [0] * 5

    def predict(self, row: Any) -> int:  # type: ignore[override]
        row["n"] += 1
        return 0

    noise = small = jitter = None  # type: ignore[assignment]


class Liar(Good):
    schema = Schema(Integer("n", 0, 10), Flag("odd"))


class Unlabelled(Good):
    def labels(self) -> list[int]:
        return [0]


class Short(Good):
    @batched
    def predict(self, rows: Any) -> Any:
        return rows[:1, 0]


class Empty(Good):
    def inputs(self) -> np.ndarray:
        return ROWS[:0]


class Fickle(Good):
    @random
    def jitter(self, row: Any, rng: Any) -> Any:
        return row + np.random.default_rng().random()


@pytest.mark.parametrize(
    ("domain", "says"),
    [
        (Batchy, "predict for many at once answers"),
        (Moody, "predict asked twice, answers"),
        (Vandal, "predict changes its argument in place"),
        (Liar, "schema: `n` ranges over 0 to 39, outside 0 to 10"),
        (Unlabelled, "labels"),
        (Short, "predict raises ModelError: `predict` gave 1 answers"),
        (Empty, "inputs() is empty"),
        (Fickle, "jitter asked twice, answers"),
    ],
)
def test_a_broken_promise_is_named(domain: type[Domain], says: str):
    with pytest.raises(AssertionError) as caught:
        check_domain(domain)
    assert says in str(caught.value)
    assert domain.__name__ in str(caught.value)
