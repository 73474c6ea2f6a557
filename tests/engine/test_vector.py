"""Operators on columns give what Python's operators give on each row, or say so."""

import operator
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from nomos.domain.records import to_column
from nomos.engine.meaning.operators import differ, equal
from nomos.engine.vectorized import vector

NEAR = [0, 1, -1, 2**53, 2**62, 2**63 - 1, 2**63, -(2**63), -(2**63) - 1]
INTEGERS = st.sampled_from(NEAR).flatmap(lambda n: st.integers(n - 3, n + 3))
FLOATS = st.floats(width=64) | st.sampled_from([0.0, -0.0, 1e308, 5e-324, 2.0**53])
NUMBERS = [INTEGERS, FLOATS, st.booleans()]
PYTHON = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "%": operator.mod,
    "==": equal,
    "!=": differ,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def pairs(rows: int = 5) -> st.SearchStrategy[tuple[Any, Any, list[tuple[Any, Any]]]]:
    """Two columns, or a column and a scalar, and what they are row by row."""

    @st.composite
    def draw_pairs(draw: Any) -> Any:
        kinds = draw(st.sampled_from(NUMBERS)), draw(st.sampled_from(NUMBERS))
        sides, columns = [], []
        for kind in kinds:
            if draw(st.integers(0, 3)):
                values = draw(st.lists(kind, min_size=rows, max_size=rows))
                columns.append(to_column(list(values)))
            else:
                value = draw(kind)
                values = [value] * rows
                columns.append(value)
            sides.append(values)
        return *columns, list(zip(*sides, strict=True))

    return draw_pairs()


def same(found: Any, expected: Any) -> bool:
    if isinstance(expected, float) and isinstance(found, float):
        return found == expected or (found != found and expected != expected)
    return type(found) is type(expected) and bool(found == expected)


@given(st.sampled_from("+-*/%"), pairs())
def test_arithmetic_is_pythons(sign: str, given_: Any) -> None:
    left, right, rows = given_
    calculated = vector.arithmetic(sign, left, right)
    assume(calculated is not None)
    result, bad = calculated
    values = np.broadcast_to(result, 5).tolist()
    marked = [False] * 5 if bad is None else np.broadcast_to(bad, 5).tolist()
    for (a, b), found, raises in zip(rows, values, marked, strict=True):
        try:
            expected = PYTHON[sign](a, b)
        except ZeroDivisionError:
            assert raises
            continue
        assert not raises
        assert same(found, expected), (a, sign, b, found, expected)


@given(st.sampled_from(["==", "!=", "<", "<=", ">", ">="]), pairs())
def test_comparisons_are_pythons_and_none_holds_with_nan(
    sign: str, given_: Any
) -> None:
    left, right, rows = given_
    result = vector.compare(sign, left, right)
    assume(result is not None)
    for (a, b), found in zip(rows, np.broadcast_to(result, 5).tolist(), strict=True):
        assert found == PYTHON[sign](a, b), (a, sign, b)
        if a != a or b != b:
            assert not found


@given(st.sampled_from(NUMBERS).flatmap(lambda k: st.lists(k, min_size=3, max_size=3)))
def test_signs_and_truths_are_pythons(values: list[Any]) -> None:
    column = to_column(list(values))
    negated = vector.change_sign(column, operator.neg)
    if negated is not None:
        assert all(same(f, -v) for f, v in zip(negated.tolist(), values, strict=True))
    truth = vector.truth(column)
    if truth is not None:
        assert truth.tolist() == [bool(value) for value in values]


@pytest.mark.parametrize("sign", "+-*/%")
def test_columns_of_ordinary_numbers_are_not_done_row_by_row(sign: str) -> None:
    column = np.arange(1, 5)
    assert vector.arithmetic(sign, column, 3) is not None
    assert vector.arithmetic(sign, column, 0.5) is not None
    assert vector.arithmetic(sign, True, column > 2) is not None


@pytest.mark.parametrize(
    "value",
    [
        "a",
        None,
        2**63,
        ["a", "b"],
        np.zeros((2, 2), dtype=str),
        np.zeros(2, np.float32),
    ],
    ids=str,
)
def test_what_numpy_would_reckon_otherwise_is_left_to_python(value: Any) -> None:
    column = np.array([1, 2])
    assert vector.arithmetic("+", column, value) is None
    assert vector.arithmetic("+", value, column) is None
    assert vector.compare("<", column, value) is None
    assert vector.change_sign(value, operator.neg) is None
    assert vector.truth(value) is None


def test_sums_that_numpy_would_wrap_are_left_to_python() -> None:
    large = np.array([2**62, 1])
    assert vector.arithmetic("+", large, large) is None
    assert vector.arithmetic("*", large, 2) is None
    assert vector.arithmetic("+", large, 0.5) is None
    assert vector.arithmetic("/", large, 2) is None
    assert vector.compare("<", large, 0.5) is None
    assert vector.change_sign(np.array([-(2**63)]), operator.neg) is None
    nothing = np.empty(0, dtype=np.int64)
    assert vector.arithmetic("+", nothing, nothing) is not None


@pytest.mark.parametrize("sign", ["==", "!=", "<", "<=", ">", ">="])
def test_names_of_levels_are_compared_as_strings(sign: str) -> None:
    names = np.array(["red", "green"], dtype=object)
    result = vector.compare(sign, names, "red")
    assert result is not None and result.dtype == bool
    assert result.tolist() == [PYTHON[sign](name, "red") for name in names.tolist()]
    other = np.array(["red", "red"], dtype=object)
    result = vector.compare(sign, other, names)
    assert result is not None
    assert result.tolist() == [PYTHON[sign]("red", name) for name in names.tolist()]
    assert vector.compare(sign, names, 3) is None
    assert vector.compare(sign, names, np.array([1, 2])) is None


def test_records_are_compared_element_by_element() -> None:
    left = np.array([[1.0, 2.0], [1.0, np.nan]])
    right = np.array([[1.0, 2.0], [1.0, np.nan]])
    same = vector.compare_arrays("==", left, right)
    other = vector.compare_arrays("!=", left, right)
    assert same is not None and same.tolist() == [True, False]
    assert other is not None and other.tolist() == [False, True]
    assert vector.compare_arrays("<", left, right) is None
    assert vector.compare_arrays("==", left, left[:, :1]) is None
    assert vector.compare_arrays("==", left, [1, 2]) is None
    assert vector.compare_arrays("==", left[0], left[0]) is None
