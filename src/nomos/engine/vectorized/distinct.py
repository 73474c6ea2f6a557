"""Deduplicate cases by their choices, in flat arrays: millions of them in little memory.

A campaign must know which violations are the same case. A set of tuples takes hundreds of
bytes a case and a Python step each; here a case is a key of 64 bits (`keys_of`), and all
keys of a chunk are looked up in a hash table at once, with open addressing: those whose slot
another key has go on to the next slot together, a few rounds in all. A key costs 8 bytes,
its slots (4 to 16 of them) 4 bytes each; a lookup takes constant time on average.

The limits: different cases may have one key. Of a million cases, two do so with a chance of
3 in 100 million, and then count as one bug. Nothing can be taken out of a table.
"""

from collections.abc import Callable

import numpy as np

from nomos.device import Array

_SPARSE, _DENSE = 16, 4  # slots for each key: in a new table, and at the least
_REMEMBERED = 17  # bits: of so many keys it is remembered what was said
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
STEP = np.uint64(0x9E3779B97F4A7C15)


def keys_of(choices: Array, lengths: Array) -> Array:
    """Return a 64-bit key for each row of choices; equal choices have equal keys.

    Of a million different rows, two share a key with a chance of 3 in 100 million.
    """
    keys = lengths.astype(np.uint64)
    shortest = lengths.min(initial=choices.shape[1])
    for number, column in enumerate(choices.view(np.uint64).T):
        mixed = mix_words(keys ^ column)
        keys = mixed if number < shortest else np.where(lengths > number, mixed, keys)
    return keys


def mix_words(words: Array) -> Array:
    """Return words whose every bit depends on every bit (the finaliser of SplitMix64)."""
    words = words + STEP
    words ^= words >> np.uint64(30)
    words *= _FIRST
    words ^= words >> np.uint64(27)
    words *= _SECOND
    words ^= words >> np.uint64(31)
    return words


class Distinct:
    """Gives each different key a place: 0, 1, 2 and so on, in the order they come.

    A hash table that is looked up for all keys at once: a slot holds the number of a
    key, 1 for the first of all. Where it is another key's, the next slot is tried.
    """

    def __init__(self) -> None:
        self.count = 0
        self._keys = np.zeros(1, dtype=np.uint64)  # by their numbers; 0: no key
        self._slots = np.zeros(1, dtype=np.int32)

    def places(self, keys: Array, *, most: int) -> tuple[Array, Array]:
        """Return the place of each key, and the index of those that are new.

        A new key gets the next place. Beyond `most` places, new keys get -1 and are
        not kept.
        """
        keys = np.maximum(keys, np.uint64(1))
        if self.count + len(keys) > most:
            return self._first_places(keys, most)
        self._reach(self.count + len(keys))
        first = self.count + 1
        own = np.arange(first, first + len(keys), dtype=np.int32)
        self._keys[first : first + len(keys)] = keys
        slots, numbers = self._find(keys, own)
        new = np.flatnonzero(numbers == own)
        if 0 < len(new) < len(keys):  # no number is left out
            final = np.zeros_like(own)
            self._slots[slots[new]] = final[new] = own[: len(new)]
            self._keys[first : first + len(new)] = keys[new]
            later = np.flatnonzero(numbers >= first)
            numbers[later] = final[numbers[later] - first]
        self.count += len(new)
        return numbers.astype(np.int64) - 1, new

    def _first_places(self, keys: Array, most: int) -> tuple[Array, Array]:
        """Return the places and the new keys where not all may be kept."""
        unknown = np.flatnonzero(self._find(keys)[1] == 0)
        first = np.unique(keys[unknown], return_index=True)[1]
        new = unknown[np.sort(first)[: most - self.count]]
        if len(new):
            self.places(keys[new], most=most)
        return self._find(keys)[1].astype(np.int64) - 1, new

    def _find(self, keys: Array, own: Array | None = None) -> tuple[Array, Array]:
        """Return slots and numbers of keys; new ones get their `own` numbers, or 0."""
        last = len(self._slots) - 1
        slots = (keys & np.uint64(last)).view(np.int64)
        numbers = self._slots[slots]
        left = np.flatnonzero(self._keys[numbers] != keys)
        at, wanted = slots[left], keys[left]
        while len(left):
            held = self._slots[at]
            if own is not None:
                free = np.flatnonzero(held == 0)[::-1]  # the first of several gets it
                self._slots[at[free]] = own[left[free]]
                held = self._slots[at]
            slots[left], numbers[left] = at, held
            others = np.flatnonzero((held > 0) & (self._keys[held] != wanted))
            left, at, wanted = left[others], at[others] + 1 & last, wanted[others]
        return slots, numbers

    def _reach(self, count: int) -> None:
        """Make room for so many keys."""
        if count < len(self._keys) and _DENSE * count <= len(self._slots):
            return
        held = np.arange(1, self.count + 1, dtype=np.int32)
        keys = self._keys[held]
        self._keys = np.zeros(2 * count, dtype=np.uint64)
        self._keys[held] = keys
        if _DENSE * count > len(self._slots):
            self._slots = np.zeros(1 << (_SPARSE * count).bit_length(), dtype=np.int32)
            self._find(keys, held)


class Remembered:
    """What was said of the last keys, true or false: each slot has room for one key."""

    def __init__(self) -> None:
        # The last bit of a key tells what was said of it.
        self.slots = np.zeros(1 << _REMEMBERED, dtype=np.uint64)

    def recall(self, keys: Array, ask: Callable[[Array], Array]) -> Array:
        """Return what is said of each key; `ask` says it of those at some places."""
        one = np.uint64(1)
        keys = keys | one
        slots = (keys >> np.uint64(64 - _REMEMBERED)).view(np.int64)
        held = self.slots[slots]
        missing = np.flatnonzero(held | one != keys)
        if len(missing):
            at = slots[missing]
            self.slots[at] = missing
            last = self.slots[at].view(np.int64)
            lost = np.flatnonzero(last != missing)
            same = lost[keys[last[lost]] == keys[missing[lost]]]  # one asks for all
            asked = np.delete(missing, same)
            said = ask(asked)
            self.slots[slots[asked]] = keys[asked] - ~said
            held[asked], held[missing[same]] = said, self.slots[at[same]]
        return np.asarray(held & one == one)
