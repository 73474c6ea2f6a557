"""Tell cases apart by their choices, in flat arrays: millions of them in little memory."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
_RECENT = 65_536  # keys that are looked up in a dict before they are sorted in
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_STEP = np.uint64(0x9E3779B97F4A7C15)


def keys_of(choices: Array, lengths: Array) -> Array:
    """Return a 64-bit key for each row of choices; equal choices have equal keys.

    Of a million different rows, two share a key with a chance of 3 in 100 million.
    """
    keys = lengths.astype(np.uint64)
    with np.errstate(over="ignore"):
        for column in range(choices.shape[1]):
            there = lengths > column
            mixed = _mixed(keys ^ choices[:, column].astype(np.uint64))
            keys = np.where(there, mixed, keys)
    return keys


def _mixed(words: Array) -> Array:
    """Return words whose every bit depends on every bit (the finaliser of SplitMix64)."""
    words = words + _STEP
    words = (words ^ (words >> np.uint64(30))) * _FIRST
    words = (words ^ (words >> np.uint64(27))) * _SECOND
    mixed: Array = words ^ (words >> np.uint64(31))
    return mixed


class Distinct:
    """Gives each different key a place: 0, 1, 2 and so on, in the order they come."""

    def __init__(self) -> None:
        self.count = 0
        self._keys = np.empty(0, dtype=np.uint64)  # sorted
        self._places = np.empty(0, dtype=np.int64)
        self._recent: dict[int, int] = {}

    def places(self, keys: Array, *, most: int | None = None) -> Array:
        """Return the place of each key; a new key gets the next one.

        Beyond `most` places, keys that are new get -1 and are not kept.
        """
        places = np.full(len(keys), -1, dtype=np.int64)
        if len(self._keys):
            at = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
            known = self._keys[at] == keys
            places[known] = self._places[at[known]]
        missing = np.flatnonzero(places < 0)
        wanted, recent = keys[missing].tolist(), self._recent
        fresh = [key for key in dict.fromkeys(wanted) if key not in recent]
        if most is not None:
            fresh = fresh[: max(0, most - self.count)]
        recent.update(
            zip(fresh, range(self.count, self.count + len(fresh)), strict=True)
        )
        self.count += len(fresh)
        places[missing] = [recent.get(key, -1) for key in wanted]
        if len(self._recent) > _RECENT:
            self._sort_in()
        return places

    def _sort_in(self) -> None:
        keys = np.concatenate([self._keys, np.fromiter(self._recent, dtype=np.uint64)])
        recent = np.fromiter(self._recent.values(), dtype=np.int64)
        places = np.concatenate([self._places, recent])
        order = np.argsort(keys, kind="stable")
        self._keys, self._places = keys[order], places[order]
        self._recent = {}
