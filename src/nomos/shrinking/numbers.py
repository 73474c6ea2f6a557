"""Smaller and rounder numbers: what to try in place of a number."""

from __future__ import annotations

import math

_WHOLE = 40  # values; so many are all tried
_HALVINGS = 12


def nearest_to_zero(low: float, high: float) -> float:
    """Return the number of a range that is nearest to 0."""
    return min(max(0, low), high)


def integers(value: int, target: int) -> list[int]:
    """Return whole numbers between a target and a value, the nearest to the target first."""
    apart = abs(value - target)
    sign = 1 if value > target else -1
    if apart <= _WHOLE:
        return [target + sign * step for step in range(apart)]
    steps = {0, 1, 2, 3, *(apart >> n for n in range(1, apart.bit_length()))}
    rounder = {apart - apart % 10**n for n in range(1, len(str(apart)))}
    return [target + sign * step for step in sorted(steps | rounder) if step < apart]


def reals(value: float, target: float) -> list[float]:
    """Return real numbers between a target and a value, the nearest to the target first."""
    apart = value - target
    found = {target, *(target + apart / 2**n for n in range(1, _HALVINGS))}
    found |= {rounded for rounded in rounder(value) if _between(rounded, target, value)}
    return sorted(found - {value}, key=lambda number: abs(number - target))


def rounder(value: float) -> list[float]:
    """Return a number with ever more digits, the fewest first."""
    if not value or not math.isfinite(value):
        return []
    exponent = math.floor(math.log10(abs(value)))
    found = []
    for digits in range(6):
        unit = 10.0 ** (digits - exponent)
        for whole in (math.floor, math.ceil):
            rounded = whole(value * unit) / unit
            if rounded != value and rounded not in found:
                found.append(rounded)
    return found


def _between(number: float, one: float, two: float) -> bool:
    return min(one, two) <= number <= max(one, two)
