"""What a campaign came to of its rates: frozen data, and how it is said."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from nomos.results.statistics import Interval


@dataclass(frozen=True, slots=True)
class Ensures:
    """One `ensures` of a spec: its name, its text on one line, and its line."""

    name: str
    text: str
    line: int


@dataclass(frozen=True, slots=True)
class GroupRate:
    """How many of the cases of a group count, as one `rate(a | b)` of an `ensures` asks."""

    text: str
    count: int
    cases: int
    interval: Interval | None = None  # None where all cases were tried


@dataclass(frozen=True, slots=True)
class RateFound(Ensures):
    """What a campaign came to of an `ensures` that speaks of rates.

    `value` is what is compared, and `interval` where it lies at the 95 % level; None where
    it is exact. `reason` says why it is undecided.
    """

    verdict: Literal["holds", "violated", "undecided"]
    value: float | None = None
    interval: Interval | None = None
    groups: tuple[GroupRate, ...] = ()
    reason: str = ""


def measured_text(rate: RateFound) -> str:
    """Say what a rate came to, in which groups, and whether that is enough."""
    said = "" if rate.value is None else f"{rate.value:.4g}"
    if rate.interval is not None:
        low, high = rate.interval.low, rate.interval.high
        said += f" ({low:.4g} to {high:.4g} at 95 %)"
    elif said:
        said = f"exactly {said}"
    groups = [f"{g.count} of {g.cases} `{g.text}`" for g in rate.groups]
    return "; ".join(filter(None, [rate.verdict, said, *groups]))
