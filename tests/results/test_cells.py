"""Numbers that are read back: NaN stands in a record where a value is missing, only there."""

import math

import pytest

from nomos.results.reading import Cell, decode_value
from nomos.results.result import Bug

BUG = {"id": "0123456789", "case": 3, "choices": [1, 2], "failed": "a <= b"}


def test_a_record_that_is_read_back_may_miss_values() -> None:
    bug = decode_value(Bug, {**BUG, "records": [[5.0, math.nan, 2.0]]})
    assert bug.records[0][::2] == (5.0, 2.0)
    assert math.isnan(bug.records[0][1])


@pytest.mark.parametrize("text", ["nan", "NaN", None, True, [1.0]])
def test_what_is_no_number_is_no_cell(text: object) -> None:
    with pytest.raises((TypeError, ValueError)):
        decode_value(Cell, text)


def test_no_other_number_may_be_nan() -> None:
    with pytest.raises(ValueError, match="not a number"):
        decode_value(Bug, {**BUG, "margin": math.nan})
