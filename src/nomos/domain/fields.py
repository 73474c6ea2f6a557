"""Draws of a batched function: a generator for each case, or a field for all of them.

Each number of a field is a function of (seed of the case, which field, element), so it
is the same alone and in any batch, on the processor and on a device. The bits are those
of numpy's Philox (4 words of 64 bits, 10 rounds) with the seed and the number of the
field as its key.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from nomos.device import Array, is_tensor

_WORDS = 4  # of 64 bits, for each value of the counter
_SHORT = 64  # words of a case, up to which cases are drawn together in numpy
_BLOCK = 2**14  # numbers that become normal ones at once: they stay in the cache
_MASK = 0xFFFFFFFF
_UNIT = 2.0**-24  # reals of 32 bits have 24 that count


def _to_signed(word: int) -> int:
    return word - 2**64 if word >= 2**63 else word


_MULTIPLIERS = (0xD2E7470EE14C6C93, 0xCA5A826395121157)
_STEPS = (_to_signed(0x9E3779B97F4A7C15), _to_signed(0xBB67AE8584CAA73B))
_FRESH = np.random.Philox(0).state


def generator(seed: int) -> np.random.Generator:
    """Return the generator that a drawing function is handed."""
    return np.random.Generator(np.random.Philox(key=seed))


class Draws(Sequence[np.random.Generator]):
    """The draws of a batched function for its cases, in their order.

    As a sequence it holds a numpy Generator for each case. `uniform`, `normal` and
    `integers` draw an array of a shape for every case, all at once: (cases, *shape).
    Each call gives other numbers. In a function of tensors they are tensors.
    """

    def __init__(self, seeds: Any, device: str | None = None) -> None:
        self._seeds: Array = np.asarray(seeds, dtype=np.int64)
        self._device = device  # of the tensors; None: arrays
        self._made = 0  # fields so far

    @classmethod
    def of(cls, given: Any, device: str | None = None) -> Draws:
        """Return the draws of seeds, of other draws, or of generators, one a case."""
        if isinstance(given, list):
            given = [
                each._seeds[0] if isinstance(each, cls) else _seed(each)
                for each in given
            ]
        return cls(given._seeds if isinstance(given, cls) else given, device)

    def __len__(self) -> int:
        return len(self._seeds)

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return Draws(self._seeds[place], self._device)
        return generator(int(self._seeds[place]))

    def uniform(
        self, shape: int | Sequence[int], low: float = 0.0, high: float = 1.0
    ) -> Any:
        """Draw reals of 32 bits from low (included) to high."""
        shape, count = _shape(shape)
        drawn = _shares(self._halves(count))[:, :count]
        if (low, high) != (0.0, 1.0):
            drawn = drawn * (high - low) + low
        return drawn.reshape(len(self), *shape)

    def integers(self, low: int, high: int, shape: int | Sequence[int]) -> Any:
        """Draw integers from low to high, both included."""
        shape, count = _shape(shape)
        size = high - low + 1
        if not 1 <= size <= 2**31:
            raise ValueError(f"there are not 1 to 2**31 integers from {low} to {high}")
        halves = self._halves(count)[:, :count]
        wide = halves.long() & _MASK if is_tensor(halves) else halves.astype(np.int64)
        drawn = (wide * size >> 32) + low
        return drawn.reshape(len(self), *shape)

    def normal(
        self, shape: int | Sequence[int], mean: float = 0.0, deviation: float = 1.0
    ) -> Any:
        """Draw reals of 32 bits from a normal distribution (within 5.8 deviations)."""
        shape, count = _shape(shape)
        half = 8 * math.ceil(count / 16)  # whole counters for either half
        if self._device is not None and (kernels := _kernels(self._device)) is not None:
            drawn = kernels.normal(self._seeds, self._next(), half, self._device)
        elif self._device is not None:
            drawn = _normal(self._halves(2 * half), half)
        else:
            drawn = self._normal_by_blocks(half)
        drawn = drawn[:, :count]
        if (mean, deviation) != (0.0, 1.0):
            drawn = drawn * deviation + mean
        return drawn.reshape(len(self), *shape)

    def _normal_by_blocks(self, half: int) -> Array:
        """Draw for some cases at a time, so that what leads to them stays in the cache."""
        drawn = np.empty((len(self), 2 * half), dtype=np.float32)
        number = self._next()
        step = max(1, _BLOCK // max(1, 2 * half))
        for first in range(0, len(self), step):
            words = _words(self._seeds[first : first + step], number, half)
            drawn[first : first + step] = _normal(_halve_words(words), half)
        return drawn

    def _next(self) -> int:
        self._made += 1
        return self._made

    def _halves(self, count: int) -> Any:
        """Return at least `count` words of 32 bits for each case."""
        counters = max(1, math.ceil(count / (2 * _WORDS)))
        number, device = self._next(), self._device
        if device is None:
            return _halve_words(_words(self._seeds, number, counters * _WORDS))
        if (kernels := _kernels(device)) is not None:
            return kernels.halves(self._seeds, number, counters, device)
        if device == "cpu":
            import torch

            words = _words(self._seeds, number, counters * _WORDS)
            return torch.from_numpy(_halve_words(words).view(np.int32))
        return _tensor_halves(self._seeds, number, counters, device)


def _seed(given: Any) -> int:
    if isinstance(given, np.random.Generator):  # a domain called its own function
        return int(given.integers(2**63 - 1))
    return int(given)


def _shape(shape: int | Sequence[int]) -> tuple[tuple[int, ...], int]:
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    return shape, math.prod(shape)


def _kernels(device: str) -> Any:
    """Return the kernels for a device, None where it has to do with plain operations."""
    if not device.startswith("cuda"):
        return None
    try:
        from nomos.domain import field_kernels
    except ImportError:  # there is no Triton
        return None
    return field_kernels


def _words(seeds: Array, number: int, count: int) -> Array:
    """Return the first words of each case's field."""
    if count <= _SHORT:
        counters = np.arange(1, math.ceil(count / _WORDS) + 1)
        words = np.stack(philox(counters[None], seeds[:, None], number), axis=-1)
        flat: Array = words.reshape(len(seeds), -1)[:, :count]
        return flat.view(np.uint64)
    words = np.empty((len(seeds), count), dtype=np.uint64)
    bits = np.random.Philox(0)
    for row, seed in enumerate(seeds.tolist()):
        key = np.array([seed, number], dtype=np.uint64)
        # Ten times as fast as a new generator for each case.
        bits.state = {
            **_FRESH,
            "state": {"counter": np.zeros(4, np.uint64), "key": key},
        }
        words[row] = bits.random_raw(count)
    return words


def _halve_words(words: Array) -> Array:
    """Return words of 64 bits as twice as many of 32, the lower half first."""
    return np.ascontiguousarray(words).astype("<u8", copy=False).view("<u4")


def _tensor_halves(seeds: Array, number: int, counters: int, device: str) -> Any:
    """Return words of 32 bits, made by plain operations of torch on any device."""
    import torch

    made = philox(
        torch.arange(1, counters + 1, device=device)[None],
        torch.from_numpy(seeds).to(device)[:, None],
        number,
    )
    halves = [half for word in made for half in (word & _MASK, word >> 32 & _MASK)]
    return torch.stack(halves, dim=-1).reshape(len(seeds), -1)


def philox(counter: Any, seed: Any, number: int) -> tuple[Any, Any, Any, Any]:
    """Return the four words of a counter, as 64-bit integers that wrap around.

    Arrays of numpy and tensors alike: only +, *, &, ^ and >> are used.
    """
    words = [counter + seed * 0, seed * 0, seed * 0, seed * 0]
    key, other = seed, _to_signed(number)
    for _ in range(10):
        low, high = _multiply_words(words[0], _MULTIPLIERS[0])
        low_2, high_2 = _multiply_words(words[2], _MULTIPLIERS[1])
        words = [high_2 ^ words[1] ^ key, low_2, high ^ words[3] ^ other, low]
        key, other = key + _STEPS[0], _to_signed((other + _STEPS[1]) & (2**64 - 1))
    return words[0], words[1], words[2], words[3]


def _multiply_words(word: Any, factor: int) -> tuple[Any, Any]:
    """Return the lower and the upper 64 bits of a product of unsigned numbers."""
    a, b = word >> 32 & _MASK, word & _MASK
    c, d = factor >> 32, factor & _MASK
    ad, bc = a * d, b * c
    middle = (b * d >> 32 & _MASK) + (ad & _MASK) + (bc & _MASK)
    upper = a * c + (ad >> 32 & _MASK) + (bc >> 32 & _MASK) + (middle >> 32)
    return word * _to_signed(factor), upper


def _shares(halves: Any) -> Any:
    """Return words of 32 bits as shares of one, of which 24 bits count."""
    if is_tensor(halves):
        return (halves >> 8 & 0xFFFFFF).float() * _UNIT
    bits = (halves >> np.uint32(8)).view(np.int32)
    return bits.astype(np.float32) * np.float32(_UNIT)


def _normal(halves: Any, half: int) -> Any:
    """Turn pairs of shares into pairs of normal numbers (Box and Muller)."""
    np_or_torch: Any = sys.modules["torch"] if is_tensor(halves) else np
    shares = _shares(halves)
    radius = np_or_torch.sqrt(np_or_torch.log(1 - shares[:, :half]) * -2)
    angle = shares[:, half : 2 * half] * (2 * math.pi)
    parts = [radius * np_or_torch.cos(angle), radius * np_or_torch.sin(angle)]
    return np_or_torch.concatenate(parts, 1)
