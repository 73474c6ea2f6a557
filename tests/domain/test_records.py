"""Features of every kind of record, for one record and for a column of them."""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nomos.domain import Category, Flag, Integer, OneHot, Ordinal, Real, Schema
from nomos.domain.records import (
    get_feature,
    get_feature_many,
    items,
    numbers,
    set_feature,
    set_feature_many,
    take,
    to_column,
)
from nomos.domain.values import plain


class Point(NamedTuple):
    x: Any
    y: Any


@dataclass(frozen=True)
class Place:
    x: Any
    y: Any


@dataclass
class Spot:
    x: Any
    y: Any


RECORDS = [
    {"x": 1, "y": 2.5},
    Point(1, 2.5),
    Place(1, 2.5),
    Spot(1, 2.5),
]


@pytest.mark.parametrize("record", RECORDS, ids=lambda r: type(r).__name__)
def test_features_are_known_by_name_and_by_number(record: Any) -> None:
    assert get_feature(record, "x", None) == 1
    assert get_feature(record, 1, None) == 2.5


@pytest.mark.parametrize("record", RECORDS, ids=lambda r: type(r).__name__)
def test_setting_a_feature_makes_a_copy(record: Any) -> None:
    changed = set_feature(record, "x", 9, None)
    again = set_feature(changed, 1, "new", None)
    assert type(again) is type(record)
    assert [get_feature(again, key, None) for key in ("x", "y")] == [9, "new"]
    assert [get_feature(record, key, None) for key in ("x", "y")] == [1, 2.5]


@pytest.mark.parametrize("record", RECORDS, ids=lambda r: type(r).__name__)
def test_an_unknown_feature_is_an_error(record: Any) -> None:
    with pytest.raises((KeyError, AttributeError)):
        get_feature(record, "z", None)


@pytest.mark.parametrize("record", RECORDS[1:], ids=lambda r: type(r).__name__)
def test_no_feature_is_added_where_the_fields_are_fixed(record: Any) -> None:
    with pytest.raises(KeyError, match="there is no feature 'z'"):
        set_feature(record, "z", 1, None)


def test_a_number_that_is_a_key_of_a_dict_is_that_key() -> None:
    record = {1: "one", 0: "zero"}
    assert get_feature(record, 0, None) == "zero"
    assert set_feature(record, 0, "none", None) == {1: "one", 0: "none"}


def test_a_dict_may_get_a_new_feature() -> None:
    assert set_feature({"a": 1}, "b", 2, None) == {"a": 1, "b": 2}


@pytest.mark.parametrize("record", [[1, 2], (1, 2)])
def test_lists_and_tuples_have_features_by_number(record: Any) -> None:
    assert get_feature(record, 1, None) == 2
    changed = set_feature(record, 0, 5, None)
    assert changed == type(record)([5, 2])
    assert record == type(record)([1, 2])


def test_what_is_no_record_has_no_features() -> None:
    with pytest.raises(TypeError, match="a int has no features"):
        set_feature(3, 0, 1, None)


@pytest.mark.parametrize(
    "record",
    [
        np.array([1.5, 2], dtype=np.float32),
        {0: np.float32(1.5)},
        (np.float32(1.5), 2),
        Place(np.float32(1.5), 2),
    ],
    ids=["array", "dict", "tuple", "dataclass"],
)
def test_numbers_come_out_as_pythons_own(record: Any) -> None:
    assert type(get_feature(record, 0, None)) is float


def test_an_array_without_a_schema_has_features_by_place() -> None:
    image = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert get_feature(image, (1, 2), None) == 5
    row = get_feature(image, 1, None)
    assert row.tolist() == [3, 4, 5]
    changed = set_feature(image, (0, 0), 7, None)
    assert changed[0, 0] == 7 and image[0, 0] == 0
    assert not changed.flags.writeable


SCHEMA = Schema(
    Integer("i", -100, 100),
    Real("r", -1, 1),
    Flag("f"),
    Ordinal("o", ("low", "high")),
    Category("c", ("cat", "dog")),
    OneHot("h", ("red", "green", "blue")),
)
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "i": st.integers(-(2**70), 2**70) | st.floats(width=32) | st.booleans(),
    "r": st.floats() | st.integers(-(2**70), 2**70),
    "f": st.booleans() | st.integers(0, 1),
    "o": st.integers(0, 1),
    "c": st.sampled_from(("cat", "dog")),
    "h": st.sampled_from(("red", "green", "blue")),
}


@given(st.data(), st.sampled_from(list(VALUES)), st.sampled_from((np.float32, float)))
def test_a_column_of_rows_is_read_and_written_as_each_row_is(
    data: st.DataObject, name: str, dtype: Any
) -> None:
    values = data.draw(st.lists(VALUES[name], min_size=1, max_size=6))
    rows = np.zeros((len(values), SCHEMA.width), dtype=dtype)
    try:
        each = [
            set_feature(row, name, value, SCHEMA)
            for row, value in zip(rows, values, strict=True)
        ]
    except OverflowError:
        with pytest.raises(OverflowError):
            set_feature_many(rows, name, to_column(list(values)), SCHEMA)
        return
    many = set_feature_many(rows, name, to_column(list(values)), SCHEMA)
    assert np.array_equal(many, np.stack(each), equal_nan=True)
    read = items(get_feature_many(many, name, SCHEMA))
    for found, row in zip(read, each, strict=True):
        expected = get_feature(row, name, SCHEMA)
        assert type(found) is type(expected)
        assert found == expected or (found != found and expected != expected)


UNFIT = [
    ("<U3", "abcdef"), ("<U3", "ab\0"), ("<U3", 5), ("S2", b"abc"), ("S2", "ab"),
    ("f2", 2049), ("f4", 2**24 + 1), ("f8", 2**53 + 1), ("f2", 70000.0), ("f4", 1e300),
    ("f8", "1.5"), ("i1", 128), ("i1", -129), ("u1", -1), ("u1", 256), ("i2", 2**15),
    ("u2", 2**16), ("i4", 2**31), ("u4", 2**32), ("i8", 2**63), ("u8", 2**64),
    ("i4", 2.5), ("?", 2), ("M8[D]", np.datetime64("2020-01-01T12:00")),
    ("M8[D]", "2020-01-01"), ("m8[h]", np.timedelta64(90, "m")),
    ([("a", "i1"), ("b", "U2")], 300),
]  # fmt: skip
FIT = [
    ("<U3", "abc"), ("S2", b"ab"), ("f2", 2048), ("f4", 2**24), ("f4", 0.1),
    ("f8", 2**53), ("f4", math.inf), ("f4", math.nan), ("i1", 127), ("u8", 2**64 - 1),
    ("i8", -(2**63)), ("?", True), ("O", "abcdef"), ("M8[s]", np.datetime64("2020-01-01")),
    ([("a", "i1"), ("b", "U2")], 100),
]  # fmt: skip


@pytest.mark.parametrize(("dtype", "value"), UNFIT)
def test_a_value_that_does_not_fit_is_refused_never_changed(
    dtype: Any, value: Any
) -> None:
    record = np.zeros(2, dtype=dtype)
    with pytest.raises((OverflowError, TypeError)):
        set_feature(record, "a" if record.dtype.names else 0, value, None)
    if record.dtype.kind in "iuf":
        rows, schema = np.zeros((2, 1), dtype), Schema(Integer("n", 0, 1))
        with pytest.raises((OverflowError, TypeError)):
            set_feature(rows[0], "n", value, schema)
        with pytest.raises((OverflowError, TypeError)):
            set_feature_many(rows, "n", to_column([value, value]), schema)


def test_a_whole_feature_refuses_reals_that_its_rows_round() -> None:
    rows, features = np.zeros((2, 2), "f2"), (Integer("n", 0, 1), Real("r", 0, 1))
    schema = Schema(*features)
    for change in (
        lambda name: set_feature(rows[0], name, 2049.0, schema),
        lambda name: set_feature_many(rows, name, np.array([2049.0, 1.0]), schema),
    ):
        with pytest.raises(
            OverflowError, match=r"2049\.0 does not fit rows of float16"
        ):
            change("n")
        change("r")


@pytest.mark.parametrize(("dtype", "value"), FIT)
def test_a_value_that_fits_is_held(dtype: Any, value: Any) -> None:
    record = np.zeros(2, dtype=dtype)
    place: Any = "a" if record.dtype.names else 0
    changed = np.ravel(set_feature(record, place, value, None)[place])[0]
    assert changed == value or value != value or changed == np.float32(0.1)


def test_a_column_without_a_schema_is_read_by_number() -> None:
    rows = np.array([[1, 2], [3, 4]], dtype=np.uint8)
    assert items(get_feature_many(rows, 1, None)) == [2, 4]
    images = np.zeros((3, 2, 2))
    assert [row.tolist() for row in get_feature_many(images, 0, None)] == [[0, 0]] * 3


def test_a_column_of_other_records_is_written_one_by_one() -> None:
    points = [Point(1, 2), Point(3, 4)]
    changed = set_feature_many(points, "x", np.array([8, 9]), None)
    assert changed == [Point(8, 2), Point(9, 4)]
    assert all(type(point.x) is int for point in changed)


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1, 2], np.int64),
        ([1.0, 2.0], np.float64),
        ([True, False], np.bool_),
        ([np.zeros(2, np.float32), np.ones(2, np.float32)], np.float32),
    ],
)
def test_values_that_are_alike_become_an_array(values: list[Any], kind: Any) -> None:
    column = to_column(values)
    assert isinstance(column, np.ndarray)
    assert column.dtype == kind


@pytest.mark.parametrize(
    "values",
    [
        [],
        [1, 2.0],
        [True, 1],
        [2**70, 1],
        ["a", "b"],
        [None, None],
        [np.zeros(2), np.zeros(3)],
        [np.zeros(2), np.zeros(2, np.float32)],
        [np.array(1), np.array(2)],
        [np.float32(1), np.float32(2)],
    ],
)
def test_values_that_are_not_alike_stay_a_list(values: list[Any]) -> None:
    assert to_column(values) is values


@pytest.mark.parametrize(
    "array",
    [
        np.array([1, -2], dtype=np.int8),
        np.array([1, 2**64 - 1], dtype=np.uint64),
        np.array([0.1, np.inf], dtype=np.float16),
        np.array([True, False]),
        np.array(["a", "b"]),
        np.array([1, "b", None], dtype=object),
        np.array([1 + 2j]),
    ],
    ids=lambda a: str(a.dtype),
)
def test_an_array_becomes_a_column_of_pythons_values(array: np.ndarray) -> None:
    found = items(numbers(array))
    expected = [plain(value) for value in array.tolist()]
    assert found == expected
    assert [type(v) for v in found] == [type(v) for v in expected]


def test_taking_some_cases_keeps_the_kind_of_column() -> None:
    index = np.array([2, 0])
    assert take(["a", "b", "c"], index) == ["c", "a"]
    assert take(np.array([1, 2, 3]), index).tolist() == [3, 1]
