"""Keys deduplicated in flat arrays, against dicts; and what is remembered of the last."""

from __future__ import annotations

import numpy as np
import pytest

from nomos.device import Array
from nomos.engine.vectorized.distinct import Distinct, Remembered, keys_of

RNG = np.random.default_rng(0)
CLASHING = RNG.integers(0, 40, 3000).astype(np.uint64) << np.uint64(40)
ANY = RNG.integers(0, 1500, 3000).astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)


@pytest.mark.parametrize("keys", [CLASHING, ANY, np.arange(3000, dtype=np.uint64) + 1])
@pytest.mark.parametrize("most", [1, 30, 600, 10_000])
def test_places_are_given_in_the_order_of_keys(keys: Array, most: int) -> None:
    distinct, known = Distinct(), dict[int, int]()
    for part in np.split(np.maximum(keys, 1), [1, 5, 5, 700, 2500]):
        new = []
        for number, key in enumerate(part.tolist()):
            if key not in known and len(known) < most:
                known[key] = len(known)
                new.append(number)
        places, found = distinct.places(part, most=most)
        assert places.tolist() == [known.get(key, -1) for key in part.tolist()]
        assert found.tolist() == new
        assert distinct.count == len(known)


def test_choices_differ_by_their_lengths_too() -> None:
    choices, lengths = np.array([[1, 2], [1, 2], [1, 0], [1, 0]]), [2, 2, 1, 2]
    keys = keys_of(choices, np.array(lengths)).tolist()
    assert keys[0] == keys[1]
    assert len(set(keys)) == 3
    wider = np.pad(choices, ((0, 0), (0, 1)))  # as beside a longer case
    assert keys_of(wider, np.array(lengths)).tolist() == keys


def test_each_key_is_asked_for_once_and_remembered() -> None:
    keys = keys_of(RNG.integers(0, 60, (500, 1)), np.ones(500, dtype=np.int64))
    asked: list[int] = []

    def ask(index: Array) -> Array:
        asked.extend(keys[index].tolist())
        return keys[index] % np.uint64(3) == 0

    remembered = Remembered()
    for _ in range(2):
        said = remembered.recall(keys, ask)
        assert said.tolist() == (keys % np.uint64(3) == 0).tolist()
    assert sorted(asked) == np.unique(keys).tolist()


def test_keys_that_share_a_slot_have_their_own_answers() -> None:
    keys = np.array([2, 4, 2, 6, 4, 2], dtype=np.uint64)  # all in the first slot
    remembered = Remembered()
    for _ in range(3):
        said = remembered.recall(keys, lambda index: keys[index] == 4)
        assert said.tolist() == [False, True, False, False, True, False]
        assert remembered.recall(keys[:1], lambda index: index > 0).tolist() == [False]
