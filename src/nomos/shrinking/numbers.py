"""Smaller and rounder numbers: what to try in place of a number."""

from __future__ import annotations

import math

_WHOLE = 40  # values; so many are all tried
_GRID = 12  # values between one that is too small and one that is not
_HALVINGS = 12
_DIGITS = 6


def nearest_to_zero(low: float, high: float) -> float:
    """Return the number of a range that is nearest to 0."""
    return min(max(0, low), high)


def numbers_to_try(
    value: float, floor: float | None, target: float, is_whole: bool
) -> list[float]:
    """Return what to try in place of a number, the nearest to the target first."""
    if not is_whole:
        return reals(value, target) if floor is None else reals_between(floor, value)
    if floor is None:
        return [float(n) for n in integers(int(value), int(target))]
    return [float(n) for n in integers_between(int(floor), int(value))]


def integers(value: int, target: int) -> list[int]:
    """Return whole numbers from a target to a value, the nearest to the target first."""
    apart = abs(value - target)
    sign = 1 if value > target else -1
    if apart <= _WHOLE:
        return [target + sign * step for step in range(apart)]
    steps = {0, 1, 2, 3, *(apart >> n for n in range(1, apart.bit_length()))}
    return [target + sign * step for step in sorted(steps)]


def integers_between(floor: int, value: int) -> list[int]:
    """Return some whole numbers between two, the nearest to the first one first."""
    apart = abs(value - floor)
    sign = 1 if value > floor else -1
    steps = {apart * n // (_GRID + 1) for n in range(1, _GRID + 1)}
    return [floor + sign * step for step in sorted(steps) if 0 < step < apart]


def reals(value: float, target: float) -> list[float]:
    """Return real numbers from a target to a value, the nearest to the target first."""
    apart = value - target
    found = {target, *(target + apart / 2**n for n in range(1, _HALVINGS))}
    return sorted(found - {value}, key=lambda number: abs(number - target))


def reals_between(floor: float, value: float) -> list[float]:
    """Return some real numbers between two, the nearest to the first one first."""
    if abs(value - floor) <= 1e-3 * abs(value):
        return []
    step = (value - floor) / (_GRID + 1)
    return [floor + n * step for n in range(1, _GRID + 1)]


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
