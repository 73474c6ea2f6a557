"""CSV files as people have them: any field is read, or what is wrong is told with its line."""

from __future__ import annotations

import csv
import math
from pathlib import Path

import numpy as np
import pytest

from nomos import DomainError, Schema
from nomos.domain import Category, Integer, Real
from nomos.domain.reading.cells import number
from nomos.domain.reading.csvfile import (
    feature_code,
    infer_features,
    load_columns,
    read_labels,
    read_rows,
    to_frame,
)


def write(path: Path, text: str) -> Path:
    path.write_bytes(text.encode())
    return path


def texts_of(path: Path) -> dict[str, list[str]]:
    return {name: list(cells) for name, cells in load_columns(path).items()}


def test_a_field_may_be_of_any_length(tmp_path: Path) -> None:
    before = csv.field_size_limit()
    long = "x" * 200_000
    assert load_columns(write(tmp_path / "a.csv", f"a,b\n1,{long}\n"))["b"][0] == long
    assert csv.field_size_limit() == before


def test_line_ends_inside_quotes_belong_to_the_field(tmp_path: Path) -> None:
    text = 'a,b\r\n1,"x\u2028y\x0cz"\r\n\r\n2,"p\nq"\r\n'
    columns = texts_of(write(tmp_path / "a.csv", text))
    assert columns == {"a": ["1", "2"], "b": ["x\u2028y\x0cz", "p\nq"]}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "has no rows below its head line"),
        ("a,b\n", "has no rows below its head line"),
        ("\n\n", "has no rows below its head line"),
        ("a,b,a\n1,2,3\n", "has columns of the same name: a\n.*`a.1`$"),
        ("a,b\n1,2\n\n3\n", "line 4 has 1 field, and the head line has 2$"),
        ("a,b\n1,2,3\n", "line 2 has 3 fields, and the head line has 2$"),
        ('a,b\n1,"2\n3,4\n5,6\n', "line 4: unexpected end of data$"),
        ('a,b\n1,"2"x\n', "line 2: .* expected after"),
    ],
)
def test_what_is_wrong_with_a_table_is_told_with_its_line(
    tmp_path: Path, text: str, words: str
) -> None:
    with pytest.raises(DomainError, match=rf"a\.csv:? {words}"):
        load_columns(write(tmp_path / "a.csv", text))


def test_what_is_no_text_is_told_with_a_remedy(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes("a,b\n1,2\n".encode("utf-16"))
    with pytest.raises(DomainError, match=r"a\.csv is no table of text in UTF-8"):
        load_columns(tmp_path / "a.csv")
    with pytest.raises(DomainError, match="cannot be read: Is a directory"):
        load_columns(tmp_path)
    with pytest.raises(DomainError, match="cannot be read: No such file"):
        load_columns(tmp_path / "b.csv")


def test_spellings_of_no_number_and_of_infinity_are_numbers(tmp_path: Path) -> None:
    for text in ("", "NA", "N/A", "n/a", "nan", "NaN", "NAN", "-nan", "null", "<NA>"):
        assert math.isnan(number(text) or 0), text
    for text in ("inf", "Inf", "INF", "+inf", "infinity", "Infinity", "1e400"):
        assert number(text) == math.inf, text
    assert number("-inf") == number("-Infinity") == -math.inf
    assert number("1_0") is None
    path = write(tmp_path / "a.csv", "a,b\n1,inf\n2.5,-Infinity\nnan,3\n")
    features = infer_features(load_columns(path), one_hot=False)
    assert features == [Real("a", 1, 2.5, missing=True), Integer("b", 3, 3)]
    rows = read_rows(path, Schema(*features))
    assert rows[:, 1].tolist() == [np.inf, -np.inf, 3]


def test_a_column_without_a_number_makes_a_feature_that_python_reads() -> None:
    (feature,) = infer_features({"a": ["inf", "nan", ""]}, one_hot=False)
    assert eval(feature_code(feature), {"Real": Real}) == Real("a", 0, 0)


def test_a_cell_that_does_not_fit_is_told_with_its_row_and_column(
    tmp_path: Path,
) -> None:
    path = write(tmp_path / "a.csv", "a,b\n1,x\n\nold,y\n")
    with pytest.raises(DomainError, match=r"row 2: `a` is no number: 'old'$"):
        read_rows(path, Schema(Integer("a", 0, 9)))
    with pytest.raises(DomainError, match=r"row 2: `b` has no level 'y'$"):
        read_rows(path, Schema(Category("b", ("x",))))
    path = write(tmp_path / "a.csv", f"a\n{'x' * 500}\n")
    with pytest.raises(DomainError, match=rf"'{'x' * 80}'…$"):
        read_rows(path, Schema(Integer("a", 0, 9)))


def test_decimal_commas_are_read_where_commas_part_no_columns(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("a;b;c\n1,5;2,5;x,1\n-2;;3,5\n", "utf-8")
    columns = texts_of(path)
    assert columns == {"a": ["1.5", "-2"], "b": ["2.5", ""], "c": ["x,1", "3,5"]}
    path.write_text('a,b\n"1,234",2\n', "utf-8")
    assert texts_of(path) == {"a": ["1,234"], "b": ["2"]}


def test_what_pandas_takes_for_a_gap_is_one_in_a_frame(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    path = tmp_path / "rows.csv"
    path.write_text("town,n\nAix,1\nNA,2\n,3\nNone,4\nTrue,5\n", "utf-8")
    schema = Schema(*infer_features(load_columns(path), one_hot=False))
    frame = to_frame(read_rows(path, schema), schema)
    pandas.testing.assert_frame_equal(frame, pandas.read_csv(path), check_dtype=False)


@pytest.mark.parametrize("words", [("True", "False"), ("TRUE", "FALSE"), ("true", "")])
def test_truth_values_are_what_pandas_reads(tmp_path: Path, words: list[str]) -> None:
    pandas = pytest.importorskip("pandas")
    path = tmp_path / "rows.csv"
    path.write_text("is_new,n\n" + "".join(f"{word},1\n" for word in words), "utf-8")
    schema = Schema(*infer_features(load_columns(path), one_hot=False))
    frame, read = to_frame(read_rows(path, schema), schema), pandas.read_csv(path)
    assert list(map(repr, frame["is_new"])) == list(map(repr, read["is_new"]))


def test_columns_have_the_names_that_pandas_and_the_schema_give_them(
    tmp_path: Path,
) -> None:
    path = write(tmp_path / "rows.csv", ", age,town \n0,31,Aix\n1,32,Bern\n")
    assert [*load_columns(path)] == ["Unnamed: 0", "age", "town"]
    assert [*load_columns(path, [" age"])] == ["Unnamed: 0", " age", "town"]
    for name in ("age", " age"):
        assert read_rows(path, Schema(Integer(name, 0, 99))).tolist() == [[31], [32]]
        assert read_labels(path, name).tolist() == [31, 32]
    path = write(tmp_path / "twins.csv", "age, age\n1,2\n")
    assert [*load_columns(path)] == ["age", " age"]


def test_a_table_in_another_encoding_is_refused_with_what_mends_it(
    tmp_path: Path,
) -> None:
    pandas = pytest.importorskip("pandas")
    path = tmp_path / "rows.csv"
    path.write_bytes("Ort,n\nKöln,1\n".encode("latin-1"))
    with pytest.raises(DomainError, match="encoding='latin-1'"):
        load_columns(path)
    pandas.read_csv(path, encoding="latin-1").to_csv(path, index=False)
    assert texts_of(path)["Ort"] == ["Köln"]


def test_blanks_in_a_cell_are_a_part_of_it(tmp_path: Path) -> None:
    path = tmp_path / "plans.csv"
    path.write_text("plan,age\npro , 3\npro,4 \n pro,5\n")
    columns = load_columns(path)
    assert list(columns["plan"]) == ["pro ", "pro", " pro"]
    plan, age = infer_features(columns, one_hot=False)
    assert plan.levels == (" pro", "pro", "pro ")
    rows = read_rows(path, Schema(plan, age))
    assert rows.tolist() == [[2, 3], [1, 4], [0, 5]]


@pytest.mark.parametrize("cell", ["16777217", "9007199254740993", "1e39"])
def test_a_number_that_rows_would_change_is_refused(tmp_path: Path, cell: str) -> None:
    path = tmp_path / "numbers.csv"
    path.write_text(f"n\n1\n{cell}\n")
    with pytest.raises(DomainError, match="does not fit"):
        read_rows(path, Schema(Real("n", 0, 1)))


def test_a_date_keeps_its_time() -> None:
    assert number("1970-01-02T12:00") == 1.5
    assert number("1970-01-02 and later") is None
