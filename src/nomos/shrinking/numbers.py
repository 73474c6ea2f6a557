"""Smaller and rounder numbers: what to try in place of a number."""

from __future__ import annotations

import math

_WHOLE = 40  # values; so many are all tried
_GRID = 12  # values between one that is too small and one that is not
_HALVINGS = 12
_DIGITS = 6


def numbers_to_try(
    value: float, floor: float | None, target: float, is_whole: bool
) -> list[float]:
    """Return what to try in place of a number, the nearest to the target first.

    Below a floor, nothing is left to try: then some numbers between it and the value.
    """
    start = target if floor is None else floor
    if is_whole:
        return _integers(int(value), int(start), start_is_new=floor is None)
    apart = value - start
    if floor is None:
        found = {start, *(start + apart / 2**n for n in range(1, _HALVINGS))}
        return sorted(found - {value}, key=lambda number: abs(number - start))
    if abs(apart) <= 1e-3 * abs(value):
        return []
    return [start + n * (apart / (_GRID + 1)) for n in range(1, _GRID + 1)]


def _integers(value: int, start: int, *, start_is_new: bool) -> list[float]:
    """Return whole numbers from a start to a value, the nearest to the start first."""
    apart, sign = abs(value - start), 1 if value > start else -1
    if not start_is_new:
        steps = {apart * n // (_GRID + 1) for n in range(1, _GRID + 1)} - {0}
    elif apart <= _WHOLE:
        steps = set(range(apart))
    else:
        steps = {0, 1, 2, 3, *(apart >> n for n in range(1, apart.bit_length()))}
    return [start + sign * step for step in sorted(steps)]


def rounder(value: float) -> list[float]:
    """Return a number with ever more digits, the fewest first."""
    if not value or not math.isfinite(value):
        return []
    exponent = math.floor(math.log10(abs(value)))
    found = []
    for digits in range(_DIGITS):
        for whole in (math.floor, math.ceil):
            unit = 10.0 ** (digits - exponent)
            rounded = round(whole(value * unit) / unit, digits - exponent)
            if rounded != value and rounded not in found:
                found.append(rounded)
    return found
