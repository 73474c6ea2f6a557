from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nomos.report.texts import Written

numbers = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.integers(-(10**6), 10**6),
    st.sampled_from([0.1, 0.3, 0.1 + 0.2, 1 / 3, 0.333333, 1e16, 123456.7, 123456.8]),
)


def order(one: float, two: float) -> int:
    return (one > two) - (one < two)


@given(st.lists(numbers, max_size=8))
def test_numbers_compare_as_their_full_values_do(values):
    written = Written(values)
    for one, two in itertools.combinations(values, 2):
        shown = float(written.text_of(one)), float(written.text_of(two))
        assert order(*shown) == order(one, two), (one, two, shown)


def test_a_number_is_told_from_the_one_in_the_condition():
    written = Written([], [0.1 + 0.2], "d1 == 0.3")
    assert written.text_of(0.1 + 0.2) == "0.30000000000000004"
    assert Written([], [0.1 + 0.2]).text_of(0.1 + 0.2) == "0.3"


def test_a_difference_that_the_condition_is_missed_by_shows():
    high, low = 0.80000001, 0.7
    written = Written([], [high, low], "d1 - d2 <= 0.1", margin=1e-8)
    assert (written.text_of(high), written.text_of(low)) == ("0.80000001", "0.7")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (3.0, "3"),
        (-0.0, "0"),
        (1234567.0, "1234567"),
        (1234567.5, "1234568"),
        (0.1234567, "0.123457"),
        (1e-7, "1e-07"),
        (2**70, str(2**70)),
        (True, "True"),
        (None, "None"),
        ("nan", "nan"),
        ([1, [2.50000001, "<"]], "[1, [2.5, <]]"),
        ({"x": 4.274580001831055}, "{x: 4.27458}"),
    ],
    ids=str,
)
def test_numbers_are_as_short_as_they_can_be(value, text):
    assert Written([value]).text_of(value) == text


def test_only_the_numbers_that_are_alike_get_more_digits():
    written = Written([0.123456789, 0.123456788, 0.987654321])
    assert written.text_of(0.123456789) != written.text_of(0.123456788)
    assert written.text_of(0.987654321) == "0.987654"
