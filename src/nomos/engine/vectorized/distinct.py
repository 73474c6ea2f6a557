"""Tell cases apart by their choices, in flat arrays: millions of them in little memory."""

from __future__ import annotations

import numpy as np

from nomos.device import Array

_FEWEST = 1024  # slots; always a power of two
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
STEP = np.uint64(0x9E3779B97F4A7C15)


def keys_of(choices: Array, lengths: Array) -> Array:
    """Return a 64-bit key for each row of choices; equal choices have equal keys.

    Of a million different rows, two share a key with a chance of 3 in 100 million.
    """
    keys = lengths.astype(np.uint64)
    with np.errstate(over="ignore"):
        for column in range(choices.shape[1]):
            there = lengths > column
            mixed = mixed_words(keys ^ choices[:, column].astype(np.uint64))
            keys = np.where(there, mixed, keys)
    return keys


def mixed_words(words: Array) -> Array:
    """Return words whose every bit depends on every bit (the finaliser of SplitMix64)."""
    words = words + STEP
    words = (words ^ (words >> np.uint64(30))) * _FIRST
    words = (words ^ (words >> np.uint64(27))) * _SECOND
    mixed: Array = words ^ (words >> np.uint64(31))
    return mixed


class Distinct:
    """Gives each different key a place: 0, 1, 2 and so on, in the order they come.

    A hash table in two arrays, looked up for all keys at once: where a slot is taken by
    another key, the next one is tried.
    """

    def __init__(self) -> None:
        self.count = 0
        self._slots(_FEWEST)

    def _slots(self, size: int) -> None:
        self._keys = np.zeros(size, dtype=np.uint64)  # 0: the slot is free
        self._places = np.full(size, -1, dtype=np.int64)

    def places(self, keys: Array, *, most: int) -> tuple[Array, Array]:
        """Return the place of each key, and the index of those that are new.

        A new key gets the next place. Beyond `most` places, new keys get -1 and are
        not kept.
        """
        keys = np.maximum(keys, np.uint64(1))
        if self.count >= most:
            slots = self._find(keys, claim=False)
            known = self._keys[slots] == keys
            return np.where(known, self._places[slots], -1), np.empty(0, np.int64)
        self._grow(len(keys))
        slots = self._find(keys, claim=True)
        new = self._number(slots, most)
        return self._places[slots], new

    def _find(self, keys: Array, *, claim: bool) -> Array:
        """Return the slot of each key; without `claim`, of a new key a free one."""
        last = np.uint64(len(self._keys) - 1)
        slots = (keys & last).astype(np.int64)
        left = np.arange(len(keys))
        while len(left):
            at, wanted = slots[left], keys[left]
            held = self._keys[at]
            if claim:
                free = held == 0
                self._keys[at[free]] = wanted[free]  # of several keys, one gets it
                held = self._keys[at]
            taken = held != wanted
            if not claim:
                taken &= held != 0
            left = left[taken]
            slots[left] = (slots[left] + 1) & int(last)
        return slots

    def _number(self, slots: Array, most: int) -> Array:
        """Give the slots of new keys their places, in the order of the keys."""
        new: Array = np.flatnonzero(self._places[slots] < 0)
        backwards = new[::-1]
        self._places[slots[backwards]] = -2 - backwards  # the first one stays
        new = new[self._places[slots[new]] == -2 - new]
        self._places[slots[new]] = -1
        new = new[: most - self.count]
        self._places[slots[new]] = self.count + np.arange(len(new))
        self.count += len(new)
        return new

    def _grow(self, more: int) -> None:
        """Keep at least half of the slots free, whatever comes; grow seldom."""
        if 2 * (self.count + more) <= len(self._keys):
            return
        used = self._places >= 0
        keys, places = self._keys[used], self._places[used]
        self._slots(1 << (4 * (self.count + more)).bit_length())
        self._places[self._find(keys, claim=True)] = places
