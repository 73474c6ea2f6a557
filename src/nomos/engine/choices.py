"""Draws that can be addressed, and the choices that they leave.

Every draw is a function of (seed, property, case number, position of the draw in the
case), so the same cases come for any batch size, and one case can be drawn alone. What
was drawn is recorded: a case is its list of choices, and nothing else.

A generator with a state, as most libraries have it, gives case 1,000 only after the 999
before it, and other cases when one of these draws once more. Philox is a cipher of a
counter instead: its key is a hash of the seed and the property beside the position, its
counter the case, and the word at any address costs the same. So workers share nothing, columns draw a whole
chunk at once, and a replay draws one case. A draw costs a few array operations; a function
of the domain that draws by itself gets a generator whose seed is such a draw.

The limits: the position counts draws of the case, so a spec that draws earlier or more
often has other cases for the same seed; and the order of draws must not depend on the way
in which a spec is executed.
"""

import math
import struct
from collections.abc import Callable, Sequence
from functools import partial
from hashlib import blake2b
from numbers import Real
from operator import index
from typing import Any, Literal

import numpy as np

from nomos.device import Array
from nomos.errors import Discard

# A row is drawn from those that fit to others: see pairs.py.
Kind = Literal["integer", "real", "seed", "row"]
# What has more values than can be tried one by one.
ENDLESS = {"real": "randReal", "seed": "a function that draws by itself"}
_WORDS_PER_COUNTER = 4  # Philox gives four words for each value of its counter
_LARGEST = 2**63 - 1
_LOW_HALF = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)


class NoSuchNumber(Discard):
    """A draw from a to b with a > b: there is no such number, so the case is discarded."""


class EndlessRange(Exception):
    """A draw from more values than can be tried one by one."""


class Stream:
    """The random words of a campaign: one for each case and position."""

    def __init__(self, seed: int, name: str) -> None:
        digest = blake2b(f"{seed}:{name}".encode(), digest_size=8).digest()
        self._key = int.from_bytes(digest, "little")

    def words(self, position: int, first: int, count: int) -> Array:
        """Return the words at a position of `count` cases from `first` on."""
        bits = np.random.Philox(key=[self._key, position])
        skipped = first % _WORDS_PER_COUNTER
        if first >= _WORDS_PER_COUNTER:
            bits.advance(first // _WORDS_PER_COUNTER)
        return np.asarray(bits.random_raw(count + skipped)[skipped:])


def bounds(low: Any, high: Any) -> tuple[int, int]:
    """Return the bounds of a draw as integers; raises where there is no number."""
    try:
        low, high = index(low), index(high)
    except TypeError:
        raise TypeError(f"randInt takes integers, not {low!r} and {high!r}") from None
    if low > high:
        raise NoSuchNumber(f"randInt({low}, {high})")
    if low < -_LARGEST - 1 or high > _LARGEST:
        raise ValueError(f"randInt({low}, {high}) goes beyond 64-bit integers")
    return low, high


def map_to_range(word: int, low: int, high: int) -> int:
    """Map a word to low..high, both included."""
    return low + (word * (high - low + 1) >> 64)


def words_to_ranges(words: Array, low: Array, high: Array) -> Array:
    """Map words to their own ranges; the same numbers as `bounded` gives."""
    # Differences of integers wrap around as those of words do, so they are exact.
    spans = high - low
    sizes = spans.astype(np.uint64) + np.uint64(1)
    if spans.size and (int(spans.max()) >= 2**32 or int(spans.min()) < 0):
        upper = _high_word(words, sizes)
    else:
        upper = (words >> _HALF) * sizes + ((words & _LOW_HALF) * sizes >> _HALF)
        upper >>= _HALF
    return low + upper.astype(np.int64)


def _high_word(words: Array, sizes: Array) -> Array:
    """Return the upper 64 bits of the products; a size of 0 stands for 2**64."""
    a, b = words >> _HALF, words & _LOW_HALF
    c, d = sizes >> _HALF, sizes & _LOW_HALF
    middle = (b * d >> _HALF) + (a * d & _LOW_HALF) + b * c
    upper: Array = a * c + (a * d >> _HALF) + (middle >> _HALF)
    return np.where(sizes == 0, words, upper)


def real_number(value: Any) -> float:
    """Return a bound of a real draw."""
    if not isinstance(value, Real):
        raise TypeError(f"randReal takes numbers, not {value!r}")
    return float(value)


def real_bounds(low: Any, high: Any) -> tuple[float, float]:
    """Return the bounds of a real draw; raises where there is no number."""
    low, high = real_number(low), real_number(high)
    if not math.isfinite(low) or not math.isfinite(high - low):
        raise ValueError(f"randReal({low}, {high}) has no finite range")
    if low > high:
        raise NoSuchNumber(f"randReal({low}, {high})")
    return low, high


def real(word: int, low: float, high: float) -> float:
    """Map a word to the reals from low to high, both included; zero has no sign."""
    return min(low + (high - low) * ((word >> 11) * 2.0**-53), high) + 0.0


def real_many(words: Array, low: Array, high: Array) -> Array:
    """Map words to their own ranges; the same numbers as `real` gives."""
    shares = (words >> np.uint64(11)).astype(np.float64) * 2.0**-53
    return np.minimum(low + (high - low) * shares, high) + 0.0


def pattern(value: float) -> int:
    """Return the choice that records a real: its 64 bits, read as an integer."""
    (bits,) = struct.unpack("<q", struct.pack("<d", value))
    return int(bits)


def from_pattern(bits: int) -> float:
    """Return the real that a choice records."""
    (value,) = struct.unpack("<d", struct.pack("<q", bits))
    return float(value)


def mix_seed(seed: int, number: int) -> int:
    """Return another seed for each number: the address of one more sample of a draw."""
    mixed = (seed + (number * 0x9E3779B97F4A7C15)) % 2**64  # SplitMix64
    mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EB % 2**64
    return (mixed ^ mixed >> 31) >> 1


def choice_of(word: int, kind: Kind, low: Any, high: Any) -> int:
    """Return the choice that a word stands for; a seed has 63 bits."""
    if kind == "integer":
        return map_to_range(word, low, high)
    if kind == "row":  # `low` chooses, `high` is the last row there is
        return int(low(np.array([word], dtype=np.uint64))[0])
    return pattern(real(word, low, high)) if kind == "real" else word >> 1


def choices_of(words: Array, kind: Kind, low: Any, high: Any) -> Array:
    """Return the choices that words stand for; the same as `choice_of` gives."""
    if kind == "integer":
        return words_to_ranges(words, low, high)
    if kind == "real":
        return real_many(words, low, high).view(np.int64)
    if kind == "row":
        return np.asarray(low(words))
    return np.asarray((words >> np.uint64(1)).astype(np.int64))


def replay_choice(
    known: Sequence[int], position: int, kind: Kind, low: Any, high: Any
) -> int:
    """Return a recorded choice, if it can still be drawn."""
    if position >= len(known):
        raise LookupError("the recorded case made fewer draws: the spec has changed")
    value = known[position]
    kind, low = ("integer", 0) if kind == "row" else (kind, low)
    if kind == "integer" and not low <= value <= high:
        raise LookupError(f"the recorded {value} is not in {low}..{high} any more")
    if kind == "real" and not low <= (real := from_pattern(value)) <= high:
        ends = f"from {low!r} to {high!r}"
        raise LookupError(f"the recorded {real!r} is not {ends} any more")
    return value


class CaseDraws:
    """The draws of one case, recorded as they are made.

    `choose` gives the choice at a position, for a kind of draw and its bounds.
    """

    def __init__(self, choose: Callable[[int, Kind, Any, Any], int]) -> None:
        self.choices: list[int] = []
        self._choose = choose

    def integer(self, low: int, high: int) -> int:
        """Draw from low..high, both included."""
        return self._draw("integer", *bounds(low, high))

    def row(self, choose: Callable[[Array], Array], last: int) -> int:
        """Draw a row with what chooses one for a word."""
        return self._draw("row", choose, last)

    def real(self, low: float, high: float) -> float:
        """Draw a real number from low to high."""
        return from_pattern(self._draw("real", *real_bounds(low, high)))

    def seed(self) -> int:
        """Draw the seed of a function that draws by itself."""
        return self._draw("seed")

    def _draw(self, kind: Kind, low: Any = None, high: Any = None) -> int:
        choice = self._choose(len(self.choices), kind, low, high)
        self.choices.append(choice)
        return choice


def replay_draws(choices: Sequence[int]) -> CaseDraws:
    """Return the draws of a case whose choices are known."""
    return CaseDraws(partial(replay_choice, choices))
