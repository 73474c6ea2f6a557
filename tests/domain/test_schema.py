"""Schemas: the kinds of features, and what in the data contradicts them."""

from typing import Any

import numpy as np
import pytest

from nomos.domain import (
    Category,
    Feature,
    Flag,
    Integer,
    OneHot,
    Ordinal,
    Real,
    Schema,
)
from nomos.lang.types import Type

SCHEMA = Schema(
    Integer("age", 18, 96),
    OneHot("sex", ("Female", "Male")),
    Real("amount", 0, 1),
    Ordinal("history", ("worst", "fair", "best")),
    Category("purpose", ("car", "home")),
    Flag("member"),
)
ROW = np.array([[30, 0, 1, 0.5, 2, 0, 1]], dtype=np.float32)


def test_columns_follow_each_other_and_groups_take_one_for_each_level() -> None:
    assert SCHEMA.width == 7
    assert SCHEMA.columns == (
        "age",
        "sex=Female",
        "sex=Male",
        "amount",
        "history",
        "purpose",
        "member",
    )
    assert SCHEMA.place("amount") == SCHEMA.place(2)
    assert SCHEMA.place("amount")[1] == slice(3, 4)


def test_a_spec_sees_numbers_positions_and_names() -> None:
    seen = [f.decode_value(ROW[0, SCHEMA.place(f.name)[1]]) for f in SCHEMA.features]
    assert seen == [30, "Male", 0.5, 2, "car", 1]
    assert [type(value) for value in seen] == [int, str, float, int, str, int]
    assert [t.type for t in SCHEMA.types] == [
        Type.INT,
        Type.STRING,
        Type.REAL,
        Type.INT,
        Type.STRING,
        Type.INT,
    ]


@pytest.mark.parametrize("key", ["agee", 6, -1, None, 1.5, [1]])
def test_an_unknown_feature_is_named(key: Any) -> None:
    with pytest.raises(KeyError, match="there is no feature"):
        SCHEMA.place(key)


def test_two_features_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="features named twice: a, b"):
        Schema(Flag("a"), Flag("b"), Flag("c"), Flag("b"), Flag("a"))


@pytest.mark.parametrize(
    ("feature", "value"),
    [(Integer("n", 0, 1), "3"), (Real("n", 0, 1), None), (Flag("n"), "yes")],
)
def test_a_number_cannot_be_set_to_something_else(feature: Feature, value: Any) -> None:
    with pytest.raises(TypeError, match=f"feature `n` takes a number, not {value!r}"):
        feature.write(value)


@pytest.mark.parametrize("kind", [Category, OneHot])
@pytest.mark.parametrize("value", ["bike", 0, None, ["car"]])
def test_an_unknown_level_is_refused_with_those_there_are(
    kind: Any, value: Any
) -> None:
    feature = kind("purpose", ("car", "home"))
    with pytest.raises(ValueError, match=r"has no level .*; it has .car., .home."):
        feature.write(value)
    with pytest.raises(ValueError, match="has no level"):
        feature.write_many([value])


def test_a_group_is_set_as_a_whole() -> None:
    group = OneHot("sex", ("Female", "Male"))
    assert group.write("Male").tolist() == [0, 1]
    assert group.write_many(["Male", "Female"]).tolist() == [[0, 1], [1, 0]]


def test_true_data_has_no_problems() -> None:
    assert SCHEMA.problems(ROW) == []


@pytest.mark.parametrize(
    ("column", "value", "problem"),
    [
        (0, 17, "`age` ranges over 17 to 17, outside 18 to 96"),
        (0, 30.5, "`age` holds numbers that are not whole"),
        (0, np.nan, "`age` holds values that are not finite"),
        (1, 1, "`sex` has rows in which not exactly one level is set"),
        (2, 0.5, "`sex` has rows in which not exactly one level is set"),
        (3, 1.5, "`amount` ranges over 1.5 to 1.5, outside 0 to 1"),
        (3, np.inf, "`amount` holds values that are not finite"),
        (4, 3, "`history` holds other values than 0 to 2"),
        (5, -1, "`purpose` holds other values than 0 to 1"),
        (6, 2, "`member` holds other values than 0 and 1"),
    ],
)
def test_data_that_contradicts_the_schema_is_told(
    column: int, value: float, problem: str
) -> None:
    rows = ROW.copy()
    rows[0, column] = value
    assert problem in SCHEMA.problems(rows)


@pytest.mark.parametrize("shape", [(3, 6), (7,), (3, 7, 1)])
def test_rows_of_another_width_are_told(shape: tuple[int, ...]) -> None:
    (problem,) = SCHEMA.problems(np.zeros(shape))
    assert "the schema has 7 columns" in problem


def test_no_rows_have_no_problems() -> None:
    assert SCHEMA.problems(np.zeros((0, 7))) == []


def test_whole_numbers_too_large_for_numpy_stay_exact() -> None:
    feature = Integer("n", 0, 10)
    columns = np.array([[1e30], [3.0]])
    assert feature.decode_values(columns) == [int(1e30), 3]
    assert feature.decode_values(columns[1:]).tolist() == [3]


def test_a_feature_alone_holds_any_finite_number() -> None:
    assert list(Feature("n").problems(np.array([[np.nan]]))) == [
        "`n` holds values that are not finite"
    ]
    assert list(Feature("n").problems(np.array([[1.0]]))) == []
