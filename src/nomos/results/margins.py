"""By how much violations miss what is ensured."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from nomos.results.result import Result

_MOST_BARS = 8  # of a histogram; more values than that are put together


@dataclass(frozen=True, slots=True)
class Bar:
    """How many violations have a margin from `low` to `high`, both included."""

    low: float
    high: float
    count: int


def join_margins(results: Iterable[Result]) -> Mapping[float, int] | None:
    """Count the margins of several campaigns; None where one of them has none."""
    total: Counter[float] = Counter()
    for result in results:
        if result.margins is None:
            return None
        total.update(result.margins)
    return total


def histogram(margins: Mapping[float, int]) -> list[Bar]:
    """Return the margins as bars: one for each value, or for each range if they are many."""
    if len(margins) <= _MOST_BARS:
        return [Bar(margin, margin, count) for margin, count in sorted(margins.items())]
    low, high = min(margins), max(margins)
    bars: dict[int, list[float]] = {}
    for margin in sorted(margins):
        place = min(_MOST_BARS - 1, int(_MOST_BARS * (margin - low) / (high - low)))
        bars.setdefault(place, []).append(margin)
    return [
        Bar(inside[0], inside[-1], sum(margins[margin] for margin in inside))
        for inside in bars.values()
    ]
