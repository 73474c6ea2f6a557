"""The conformance suite finds each broken promise, and says which it is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from nomos import ModelError
from nomos.models import NoScores
from nomos.testing.model import check_model


class Good:
    """A model that keeps every promise; the broken ones below change one thing."""

    def predict(self, rows: Any) -> Any:
        return self.scores(rows).argmax(axis=1)

    def scores(self, rows: Any) -> Any:
        rows = np.asarray(rows)
        if rows.shape[1:] != (3,):
            raise ModelError("three numbers, please")
        return np.column_stack([rows[:, 0], -rows[:, 0], rows[:, 1] - 1])


class Short(Good):
    def predict(self, rows: Any) -> Any:
        return super().predict(rows)[:-1]


class Moody(Good):
    def __init__(self) -> None:
        self.calls = 0

    def predict(self, rows: Any) -> Any:
        self.calls += 1
        return (super().predict(rows) + self.calls) % 3


class Sociable(Good):
    def predict(self, rows: Any) -> Any:
        return super().predict(rows) + (len(rows) == 1)


class Sequential(Good):
    def predict(self, rows: Any) -> Any:
        return np.arange(len(rows)) % 3 if len(rows) > 1 else super().predict(rows)


class Endless(Good):
    def scores(self, rows: Any) -> Any:
        return super().scores(rows) + np.array([0, 0, np.nan])


class Reversed(Good):
    def predict(self, rows: Any) -> Any:
        return 2 - super().predict(rows)


class Misnamed(Good):
    classes = np.array([0, 2, 1])


class Narrow(Good):
    classes = np.array([0, 1])


class Greedy(Good):
    def predict(self, rows: Any) -> Any:
        answer = super().predict(rows)
        rows[:, 0] = 0
        return answer


class Rounding(Good):
    def predict(self, rows: Any) -> Any:
        return super().predict(rows) * (rows.dtype == np.float32)


class Needy(Good):
    def predict(self, rows: Any) -> Any:
        return super().predict(rows) if rows[0] is not None else None


class Rude(Good):
    def scores(self, rows: Any) -> Any:
        if np.shape(rows)[1] != 3:
            raise ValueError("three numbers, please")
        return super().scores(rows)


BROKEN = {
    Short: "one label for each row: it gave 36 labels for 37 rows",
    Moody: "same labels when asked again: 37 of 37 answers differ",
    Sociable: "same label alone as among others: 37 of 37 answers differ",
    Sequential: "same labels in any order",
    Endless: "scores are finite and have a column for each class: 37 of them",
    Reversed: "highest score is that of the label: columns 0 and 1 go with 2 and 1",
    Misnamed: "highest score is that of the label: ",
    Narrow: r"scores are finite and .*: their shape is \(37, 3\) for 2 classes",
    Greedy: "asking does not change the rows: 37 values are not what they were",
    Rounding: "takes rows of numbers in any layout: float64: ",
    Needy: "an empty batch gets an empty answer: IndexError",
    Rude: r"rows that it does not take end in a model error: .*\(6,\) end in ValueError",
}


def test_good_model_passes(rows: Any) -> None:
    check_model(Good(), rows)


@pytest.mark.parametrize("broken", BROKEN, ids=lambda model: model.__name__)
def test_broken_promise_is_named(broken: type, rows: Any) -> None:
    with pytest.raises(AssertionError, match=BROKEN[broken]):
        check_model(broken(), rows)


def test_model_without_scores_passes(rows: Any) -> None:
    class Silent(Good):
        def predict(self, rows: Any) -> Any:
            return Good().predict(rows)

        def scores(self, rows: Any) -> Any:
            raise NoScores("none")

    check_model(Silent(), rows)


def test_numbers_may_differ_in_their_last_digits(rows: Any) -> None:
    class Shaky:
        def predict(self, rows: Any) -> Any:
            return np.asarray(rows, dtype=np.float64).sum(axis=1) + 1e-7 * len(rows)

    check_model(Shaky(), rows)


def test_texts_are_rows_too() -> None:
    class Reader:
        def predict(self, texts: Any) -> Any:
            return [len(text) for text in texts]

    check_model(Reader(), ["a", "bcd", ""])


def test_all_broken_promises_are_told_at_once(rows: Any) -> None:
    class Hopeless:
        def predict(self, rows: Any) -> Any:
            raise OSError("no power")

    with pytest.raises(AssertionError) as told:
        check_model(Hopeless(), rows)
    assert str(told.value).count("OSError: no power") >= 6


def test_one_row_is_too_few(rows: Any) -> None:
    with pytest.raises(AssertionError, match="two rows at least"):
        check_model(Good(), rows[:1])
