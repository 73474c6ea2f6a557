"""What `inputs()` and `labels()` may give, and what is said of what they may not."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from nomos import Domain, DomainError, Schema
from nomos.domain import Category, Flag, Integer
from nomos.domain.reading.source import labels_of, source_of

FRAME = pd.DataFrame({"b": [7, 8, 9], "a": [1, 0, 1], "word": ["x", "y", "z"]})
SCHEMA = Schema(Flag("a"), Integer("b", 0, 9))


class Made(Domain):
    def __init__(self, given: Any, labels: Any = None) -> None:
        self.given = given
        self.told = labels

    def inputs(self) -> Any:
        return self.given() if callable(self.given) else self.given

    def labels(self) -> Any:
        return self.told() if callable(self.told) else self.told


def made(given: Any, schema: Schema | None = None, labels: Any = None) -> Made:
    own = type("Made", (Made,), {"schema": schema})
    return own(given, labels)  # type: ignore[no-any-return]


def fail() -> None:
    raise ValueError("no such file")


LINE = fail.__code__.co_firstlineno + 1
WRONG = {
    "none": (None, "gives None: does it lack a `return`?"),
    "dict": ({"a": [1]}, "gives a dict: give a list, one item for each case"),
    "generator": ((n for n in range(3)), "gives a generator: give a list of its items"),
    "set": ({1, 2}, "must give a sequence, and it gives a set: give a list"),
    "number": (7, "must give a sequence, and it gives a int"),
    "scalar": (np.array(7), "must give a sequence, and it gives a ndarray"),
    "sparse": (sparse.eye(3).tocsr(), r"sparse matrix \(csr_\w+\): give X.toarray\(\)"),
    "exit": (lambda: sys.exit(0), r"failed: .*test_source.py:\d+: it called sys.exit\(0\)"),
    "bare exit": (lambda: sys.exit(), r"it called sys.exit\(\)"),
    "raises": (fail, rf"failed: .*test_source.py:{LINE}: ValueError: no such file$"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
@pytest.mark.parametrize("method", ["inputs", "labels"])
def test_what_cannot_be_used_is_told_with_the_method(method: str, case: str) -> None:
    given, words = WRONG[case]
    domain = made(given, labels=given)
    with pytest.raises(DomainError, match=rf"^Made.{method}\(\) .*{words}"):
        source_of(domain) if method == "inputs" else labels_of(domain, 3)


def test_what_a_domain_itself_reports_is_left_as_it_is() -> None:
    def report() -> None:
        raise DomainError("fetch the data first")

    with pytest.raises(DomainError, match=r"^fetch the data first$"):
        source_of(made(report))


def test_ctrl_c_is_no_mistake_of_the_domain() -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        source_of(made(interrupt))


@pytest.mark.parametrize("frame", [FRAME, pl.DataFrame(FRAME.to_dict("list"))])
def test_a_frame_gives_the_columns_of_the_schema_by_name(frame: Any) -> None:
    rows = source_of(made(frame, SCHEMA))
    assert rows.tolist() == [[1, 7], [0, 8], [1, 9]]


def test_a_frame_that_does_not_fit_is_told_with_a_remedy() -> None:
    with pytest.raises(
        DomainError, match="no schema: name its columns in a schema, or"
    ):
        source_of(made(FRAME))
    with pytest.raises(DomainError, match="the frame has no column `c`"):
        source_of(made(FRAME, Schema(Flag("c"))))
    words = (
        "`word` holds object, and rows hold numbers: give a category as the position"
    )
    schema = Schema(Category("word", ("x", "y", "z")))
    with pytest.raises(DomainError, match=words):
        source_of(made(FRAME.astype({"word": object}), schema))
    with pytest.raises(
        DomainError, match=r"^Made.inputs\(\) holds object, but the rows"
    ):
        source_of(made(FRAME[["word"]].to_numpy(dtype=object), schema))
    with pytest.raises(DomainError, match="gives a frame: give one of its columns"):
        labels_of(made([1], labels=FRAME), 3)


@pytest.mark.parametrize(
    "column", [FRAME["b"], pl.DataFrame(FRAME.to_dict("list"))["b"]]
)
def test_a_column_of_a_frame_counts_by_place_and_not_by_index(column: Any) -> None:
    if hasattr(column, "index"):
        column = column.set_axis([2, 0, 1])
    assert source_of(made(column)).tolist() == [7, 8, 9]
    labels = labels_of(made([1], labels=column), 3)
    assert labels is not None
    assert list(labels) == [7, 8, 9]


def test_labels_in_a_column_are_plain_labels() -> None:
    labels = labels_of(made([1], labels=np.array([[1], [2], [3]])), 3)
    assert labels is not None
    assert labels[1] == 2
    assert np.ndim(labels[1]) == 0


def test_labels_in_one_hot_form_are_refused_since_no_answer_is_one() -> None:
    places = np.array([0, 2, 1])
    for told in (np.eye(3)[places], np.eye(3, dtype=bool)[places].tolist()):
        with pytest.raises(
            DomainError, match=r"a single 1 .*np\.argmax\(labels, axis=1"
        ):
            labels_of(made([1, 2, 3], labels=told), 3)
    boxes = np.array([[0, 4], [1, 5], [0, 1]])
    assert labels_of(made([1, 2, 3], labels=boxes), 3) is not None
    words = [["a", "b"], ["c"], ["d", 1]]
    assert labels_of(made([1, 2, 3], labels=words), 3) == words
