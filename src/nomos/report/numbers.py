"""Numbers with as few digits as tell what the full values tell.

A report that rounds must not contradict itself: `d1 == 0.3` does not hold, d1 = 0.3.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any

_MOST = 17  # significant digits, with which a float is itself
_LARGEST = 1e15  # below it, the digits before the point are all written
_LITERAL = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")
Number = int | float


class Written:
    """How the numbers of one bug are written.

    Any two numbers compare as they do in full, and as they do with the numbers in the
    condition. Where the condition is missed by a gap, the rounding of all `outputs`
    together is less than half of it.
    """

    def __init__(
        self,
        values: Iterable[Any],
        outputs: Iterable[Any] = (),
        condition: str = "",
        gap: float | None = None,
        *,
        fewest: int = 6,
    ) -> None:
        self._texts: dict[float, str] = {}
        self._fewest = fewest
        related = {number for value in outputs for number in _numbers(value)}
        found = {number for value in values for number in _numbers(value)} | related
        fixed: list[Number] = [
            number for number in found if not isinstance(number, float)
        ]
        fixed += [float(literal) for literal in _LITERAL.findall(condition)]
        floats = [value for value in found if isinstance(value, float)]
        self._related = [value for value in floats if value in related]
        self._gap = 0.0 if gap is None else gap
        self._write(floats, fixed)

    def _write(self, floats: list[float], fixed: list[Number]) -> None:
        digits = dict.fromkeys(floats, self._fewest)
        order = sorted({*floats, *fixed})
        crowded = set(floats)
        while crowded:
            for value in crowded:
                self._texts[value] = _text(value, digits[value])
            shown = [float(self._texts[v]) if v in digits else v for v in order]
            crowded = {
                value
                for (low, a), (high, b) in pairwise(zip(order, shown, strict=True))
                if not a < b
                for value in (low, high)
            }
            error = sum(abs(float(self._texts[v]) - v) for v in self._related)
            if 0 < self._gap <= 2 * error:
                crowded |= set(self._related)
            crowded = {v for v in crowded if digits.get(v, _MOST) < _MOST}
            for value in crowded:
                digits[value] += 1

    def text(self, value: Any) -> str:
        """Return described data as a text; numbers by their digits, lists in brackets."""
        if isinstance(value, float):
            return self._texts.get(value) or _text(value, self._fewest)
        if isinstance(value, str):
            return value
        if isinstance(value, Mapping):
            inner = (f"{name}: {self.text(one)}" for name, one in value.items())
            return "{" + ", ".join(inner) + "}"
        if isinstance(value, list | tuple):
            return "[" + ", ".join(self.text(one) for one in value) + "]"
        return str(value)


def _text(value: float, digits: int) -> str:
    if abs(value) < _LARGEST:
        if value.is_integer():
            return f"{value or 0.0:.0f}"  # no minus before a zero
        digits = max(digits, len(str(int(abs(value)))))
    return repr(value) if digits >= _MOST else f"{value:.{digits}g}"


def _numbers(value: Any) -> Iterator[Number]:
    match value:
        case int() | float() if not isinstance(value, bool):
            yield value
        case Mapping():
            for inner in value.values():
                yield from _numbers(inner)
        case list() | tuple():
            for inner in value:
                yield from _numbers(inner)
        case _:
            return
