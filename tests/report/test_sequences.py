"""Bugs of windows, lists and vectors show what differs, by its place."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nomos
from nomos.report.sequences import compare_sequences

SPEC = """
input x1;
var x2 := change(x1);
output d1;
output d2;
{
  d1 = predict(x1)
  d2 = predict(x2)
}
ensures d1 == d2;
"""
WINDOWS = np.round(np.random.default_rng(0).normal(20, 5, (20, 100, 12)), 2)
WORDS = [[f"item{n + k}" for n in range(25)] for k in range(20)]


def raise_one(windows: Any) -> list[Any]:
    made = [np.array(window) for window in windows]
    for window in made:
        window[5, 1] += 3
    return made


def told(inputs: Any, predict: Any, change: Any) -> list[str]:
    result = nomos.run(
        SPEC, inputs=inputs, predict=predict, change=change, store=False, budget=20
    )
    return str(result).splitlines()[2:]


def test_a_window_and_a_vector_show_the_numbers_that_changed() -> None:
    lines = told(WINDOWS, lambda ws: np.array([w.mean(axis=1) for w in ws]), raise_one)
    assert lines[0].split() == ["x1", "x2"]
    assert lines[1].split()[:3] == ["*", "[5,", "1]"]
    assert lines[2].strip() == "(1199 other items are the same)"
    assert lines[4].split()[:2] == ["*", "[5]"]
    assert lines[5].strip() == "(99 other items are the same)"
    assert len(lines) == 6


def test_lists_are_lined_up_where_an_item_moved_or_left() -> None:
    def move(lists: Any) -> list[Any]:
        return [[*row[1:10], row[0], *row[10:-1]] for row in lists]

    lines = told(WORDS, lambda lists: [row[::-1] for row in lists], move)
    assert [line.split()[1] for line in lines[1:4]] == ["[0]", "[9+1]", "[24]"]
    assert lines[4].strip() == "(23 other items are the same)"
    assert not any("more characters" in line for line in lines)


@pytest.mark.parametrize(
    ("values", "rows"),
    [
        ({"a": [1.0] * 40, "b": [1.0] * 39 + [2.0]}, [("[39]", 1.0, 2.0)]),
        ({"a": list(range(30)), "b": list(range(1, 30))}, [("[0]", 0, "-")]),
        ({"a": [[1, 2]] * 20, "b": [[1, 2]] * 19 + [[1, 3]]}, [("[19, 1]", 2, 3)]),
        ({"a": [[1, 2]] * 20, "b": [[1, 2]] * 19 + [[1]]}, [("[19]", [1, 2], [1])]),
        ({"a": ["word"] * 20, "b": ["word"] * 20}, None),  # nothing differs
        ({"a": [1, 2], "b": [1, 3]}, None),  # they are read as they are
        ({"a": [1] * 30, "b": [[1]] * 30}, None),
        ({"a": [1] * 30, "b": "text" * 20}, None),
    ],
)
def test_what_differs_between_two_sequences(values: Any, rows: Any) -> None:
    found = compare_sequences(values)
    if rows is None:
        assert found == {}
        return
    pairs = zip(found["a"].items(), found["b"].values(), strict=True)
    assert [(place, a, b) for (place, a), b in pairs if a != b] == rows
