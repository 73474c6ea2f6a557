"""When two answers are the same: one table for every caller."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from nomos.domain.same_answers import (
    find_changed_answers,
    is_same_answer,
    measure_spread,
)

RNG = np.random.default_rng(0)
NAN, INF = float("nan"), float("inf")
ROUNDED = 1 + 3e-7 * RNG.uniform(-1, 1, 400)  # as sums of 32-bit numbers come out
SOME = RNG.normal(0, 1, 400)
# Answers, the same asked a second time, and whether they count as the same.
COLUMNS: dict[str, tuple[Any, Any, bool]] = {
    "random class ids": (
        RNG.integers(500, 505, 400),
        RNG.integers(500, 505, 400),
        False,
    ),
    "random class ids as reals": (
        *(RNG.integers(500, 505, 400).astype(float) for _ in "12"),
        False,
    ),
    "many class ids as reals": (
        np.arange(20_000.0),
        np.arange(20_000.0) + (np.arange(20_000) == 7),
        False,
    ),
    "random scores below 0.01": (*(RNG.random(400) / 100 for _ in "12"), False),
    "random scores on a large offset": (*(500 + RNG.random(400) for _ in "12"), False),
    "rounded reals": (SOME, SOME * ROUNDED, True),
    "rounded reals on a large offset": (500 + SOME, (500 + SOME) * ROUNDED, True),
    "rounded scores below 0.01": (SOME / 100, SOME / 100 * ROUNDED, True),
    "rounded shares of rare classes": (
        np.exp(30 * SOME - 60),
        np.exp(30 * SOME - 60) * ROUNDED,
        True,
    ),
    "reals beside an outlier": (
        np.append(SOME, 1e9),
        np.append(SOME + 0.01, 1e9),
        False,
    ),
    "random scores beside many outliers": (
        *(np.append(RNG.random(400), np.geomspace(1e6, 1e12, 180)) for _ in "12"),
        False,
    ),
    "rare random scores beside outliers": (
        *(
            np.concatenate([np.zeros(900), RNG.random(80), np.full(20, 1e9)])
            for _ in "12"
        ),
        False,
    ),
    "rounded reals beside many outliers": (
        np.append(SOME, np.geomspace(1e6, 1e12, 180)),
        np.append(SOME * ROUNDED, np.geomspace(1e6, 1e12, 180)),
        True,
    ),
    "a real near zero that is the rest of large ones": (
        np.append(SOME, 0.0),
        np.append(SOME, 3e-6),
        True,
    ),
    "one real that never varies": (np.full(9, 0.1), np.full(9, 0.1 + 1e-8), True),
    "vectors with a random column": (
        np.stack([SOME * 1e6, RNG.random(400)], axis=1),
        np.stack([SOME * 1e6, RNG.random(400)], axis=1),
        False,
    ),
    "tuples of a rounded real and a name": (
        [(x, "a") for x in SOME.tolist()],
        [(x, "a") for x in (SOME * ROUNDED).tolist()],
        True,
    ),
    "tuples of a real and another name": (
        [(x, "a") for x in SOME.tolist()],
        [(x, "b") for x in SOME.tolist()],
        False,
    ),
    "names": (["a", "b"], ["a", "c"], False),
    "truth values": (np.array([True, False]), np.array([True, True]), False),
    "large integers": ([10**30, 1], [10**30 + 1, 1], False),
    "NaN and infinities": ([NAN, INF, -INF], [NAN, INF, -INF], True),
    "NaN and a number": (np.array([NAN, 1.5]), np.array([2.5, 1.5]), False),
    "infinities of two signs": (np.array([INF, 1.5]), np.array([-INF, 1.5]), False),
    "lists of two lengths": ([[1.5], [2.5]], [[1.5, 1.5], [2.5]], False),
    "maps": ([{"a": 1.5}], [{"a": 1.6}], False),
    "objects that cannot be compared": ([object()], [object()], True),
    "objects of two kinds": ([object()], [None], False),
    "a number and a name": ([1], ["1"], False),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_answers_are_the_same_but_for_rounding(name: str) -> None:
    first, second, same = COLUMNS[name]
    assert not find_changed_answers(first, first).any()
    assert find_changed_answers(first, second).any() != same
    assert find_changed_answers(second, first).any() != same


def test_without_a_spread_reals_must_be_equal() -> None:
    assert is_same_answer(0.1, 0.1) and is_same_answer(NAN, NAN)
    assert not is_same_answer(0.1, 0.1 + 1e-16)
    assert not is_same_answer(np.array([0.1]), np.array([0.1 + 1e-16]))


def test_lists_of_many_lengths_are_not_what_is_no_list() -> None:
    ragged = (np.ones((3, 2)), np.ones(4))
    assert not is_same_answer(3, ragged) and not is_same_answer(ragged, np.ones(3))
    assert is_same_answer(ragged, (np.ones((3, 2)), np.ones(4)))


def test_nothing_has_no_spread() -> None:
    assert measure_spread([]) == 0.0 == measure_spread(np.empty(0))
    assert measure_spread(np.full((3, 2), NAN)).tolist() == [0.0, 0.0]
