"""What every adapter does around its library."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC

from nomos import ModelError, load_model
from nomos.models import NoScores
from nomos.models.adapter import OutputModel
from nomos.testing.model import check_model


class Plain(OutputModel):
    """A model that answers with what a function of the rows gives."""

    def __init__(self, function: Any) -> None:
        super().__init__("plain")
        self.function = function
        self.calls: list[int] = []

    def compute_output(self, rows: Any) -> Any:
        self.calls.append(len(rows))
        return self.function(rows)


def test_empty_batch_is_answered_without_asking(rows: Any) -> None:
    model = Plain(lambda rows: rows)
    assert model.predict(rows[:0]).shape == (0,)
    assert len(model.scores(rows[:0])) == 0
    assert model.calls == []


def test_model_that_answers_too_few_rows_is_an_error(rows: Any) -> None:
    with pytest.raises(ModelError, match="plain gave 36 answers for 37 rows"):
        Plain(lambda rows: rows[:-1]).predict(rows)
    with pytest.raises(ModelError, match="gave 1 answers for 37 rows"):
        load_model(lambda rows: 3).predict(rows)


def test_answer_of_many_dimensions_has_scores_and_no_labels(rows: Any) -> None:
    model = Plain(lambda rows: np.zeros((len(rows), 2, 2)))
    assert model.scores(rows).shape == (37, 2, 2)
    with pytest.raises(ModelError, match="gives no label for each row"):
        model.predict(rows)


@pytest.mark.parametrize(
    ("dtype", "number"), [("int64", 1.5), ("int64", np.nan), ("uint8", 300)]
)
def test_a_model_of_whole_numbers_gets_no_other_ones(dtype: str, number: float) -> None:
    model = Plain(lambda rows: rows.sum(axis=1))
    model.dtype = np.dtype(dtype)
    assert model.predict(np.array([[1.0, 2.0]])).tolist() == [3]
    with pytest.raises(ValueError, match=rf"whole numbers \({dtype}\), and {number}"):
        model.predict(np.array([[1.0, 2.0], [number, 2.0]]))


def test_scores_that_are_no_numbers_give_no_label(rows: Any) -> None:
    def broken(rows: Any) -> Any:
        return np.where(rows[:, :1] > 1, np.nan, rows)

    model = Plain(broken)
    with pytest.raises(ValueError, match="plain gives scores that are no numbers"):
        model.predict(rows)
    assert len(model.predict(rows[rows[:, 0] <= 1])) > 0
    with pytest.raises(ModelError, match="no numbers"):
        Plain(lambda rows: rows * np.nan).predict(rows)


def test_rows_that_are_all_of_a_wrong_kind_are_an_error(rows: Any) -> None:
    def picky(rows: Any) -> Any:
        raise ValueError("three columns, please\nand a second line")

    with pytest.raises(ModelError) as refusal:
        Plain(picky).predict(rows)
    assert str(refusal.value) == (
        "plain cannot answer rows of shape (3,) and type float32: "
        "ValueError: three columns, please"
    )


def test_whole_numbers_that_cannot_be_answered_are_told_to_be_so(rows: Any) -> None:
    def reals(rows: Any) -> Any:
        if rows.dtype.kind != "f":
            raise TypeError("expected Float")
        return rows

    model = Plain(reals)
    model.predict(rows)  # of the same shape, but not of the same type
    with pytest.raises(ModelError, match=r"type uint8: .*; if it takes reals, give it"):
        model.predict((100 * abs(rows)).astype(np.uint8))


def test_what_is_raised_for_some_rows_is_passed_on(rows: Any) -> None:
    def touchy(rows: Any) -> Any:
        if (rows[:, 0] > 1).any():
            raise ZeroDivisionError("no answer for more than one")
        return rows

    model = Plain(touchy)
    with pytest.raises(ZeroDivisionError):
        model.predict(rows)
    assert len(model.predict(rows[rows[:, 0] <= 1])) > 0
    with pytest.raises(ZeroDivisionError):
        model.predict(rows[rows[:, 0] > 1])


def test_pixels_in_bytes_are_refused_where_reals_are_taken() -> None:
    images = np.full((5, 8, 8), 200, np.uint8)
    model = Plain(lambda rows: rows.mean(2))
    model.dtype = np.float32
    with pytest.raises(ModelError, match=r"takes float32.*\(uint8\): .* images / 255"):
        model.predict(images)
    assert len(model.predict(images / 255)) == 5
    assert len(model.predict(images.reshape(5, 64)[:, None, :] > 9)) == 5
    model = Plain(lambda rows: rows)
    model.dtype = np.float32
    assert len(model.predict(np.arange(12).reshape(4, 3))) == 4


def test_images_of_another_shape_are_refused_by_shape() -> None:
    model = Plain(lambda rows: rows.mean((2, 3)))
    model.shape = (None, 3, None, 8)
    assert len(model.predict(np.zeros((5, 3, 4, 8)))) == 5
    with pytest.raises(ModelError, match=r"takes rows of shape \(3, any, 8\)"):
        model.predict(np.zeros((5, 8, 8, 3)))


def test_one_row_that_fails_alone_is_the_row_s_affair() -> None:
    def touchy(rows: Any) -> Any:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        Plain(touchy).predict(np.zeros((1, 3)))


def test_fixed_batch_is_filled_up_and_cut_again(rows: Any) -> None:
    model = Plain(lambda rows: rows)
    model.batch = 8
    assert (model.predict(rows) == rows.argmax(axis=1)).all()
    assert model.calls == [8] * 5


@pytest.mark.parametrize(
    "estimator", [LogisticRegression(), make_pipeline(StandardScaler(), LinearSVC())]
)
def test_classifiers_of_scikit_learn_keep_the_promises(
    estimator: Any, rows: Any
) -> None:
    labels = np.array(["a", "b", "c"])[(rows[:, :2] > 0).sum(axis=1)]
    check_model(load_model(estimator.fit(rows, labels)), rows)


def test_regression_gives_numbers_and_no_scores(rows: Any) -> None:
    model = load_model(LinearRegression().fit(rows, rows.sum(axis=1)))
    check_model(model, rows)
    assert np.allclose(model.predict(rows), rows.sum(axis=1), atol=1e-4)
    with pytest.raises(NoScores, match="has no predict_proba"):
        model.scores(rows)


def test_estimator_that_was_fitted_on_a_frame_gets_frames(rows: Any) -> None:
    frame = pd.DataFrame(rows, columns=["age", "debt", "income"])
    model = load_model(LogisticRegression().fit(frame, rows[:, 0] > 0))
    check_model(model, rows)  # a warning of missing names would be an error
    assert (model.predict(rows) == model.predict(frame)).all()


def test_estimator_says_how_wide_its_rows_are(rows: Any) -> None:
    model = load_model(LogisticRegression().fit(rows, rows[:, 0] > 0))
    with pytest.raises(ModelError, match=r"takes rows of 3 numbers.*\(37, 2\)"):
        model.predict(rows[:, :2])


def test_texts_are_passed_on_as_they_are() -> None:
    texts = ["good room", "bad room", "good", "bad bad room", "a good one"]
    pipeline = make_pipeline(CountVectorizer(), LogisticRegression())
    model = load_model(pipeline.fit(texts, ["+", "-", "+", "-", "+"]))
    check_model(model, texts)
    assert model.predict(np.array(texts)).tolist() == ["+", "-", "+", "-", "+"]


def test_columns_of_words_and_numbers_reach_the_estimator_by_name() -> None:
    frame = pd.DataFrame({"town": ["Aix", "Bern"] * 10, "age": range(20)})
    prepare = make_column_transformer((OneHotEncoder(), ["town"]), remainder="drop")
    pipeline = make_pipeline(prepare, LogisticRegression())
    model = load_model(pipeline.fit(frame, frame["town"] == "Bern"))
    expected = [False, True] * 10
    assert model.predict(frame).tolist() == expected
    assert model.predict(frame.to_numpy()).tolist() == expected


def test_rows_of_different_lengths_are_refused() -> None:
    with pytest.raises(ModelError, match="takes rows of numbers"):
        Plain(lambda rows: rows).predict([[1, 2], [3]])
