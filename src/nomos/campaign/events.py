"""What a campaign tells while it runs; who listens is not its business."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from nomos.campaign.statistics import Estimate, Interval


@dataclass(frozen=True, slots=True)
class Bug:
    """A violation that came back when run alone, once for all its duplicates.

    `values` are the inputs, vars and outputs of the case as they are at run time.
    """

    id: str
    case: int
    choices: tuple[int, ...]
    failed: str
    values: dict[str, Any] = field(compare=False)


@dataclass(frozen=True, slots=True)
class Crash:
    """A case that ended in an exception."""

    case: int
    choices: tuple[int, ...]
    error: str
    traceback: str


@dataclass(frozen=True, slots=True)
class Counts:
    """The counts of a campaign, by the names that every result has."""

    tests: int = 0
    passed: int = 0
    violations: int = 0
    unique_bugs: int = 0
    bug_inputs: int = 0
    discarded: int = 0
    crashed: int = 0
    unstable: int = 0
    model_calls: int = 0
    k: int = 0
    seconds: float = 0.0

    @property
    def judged(self) -> int:
        """The cases that an `ensures` was decided on: what rates are taken of."""
        return self.passed + self.violations


@dataclass(frozen=True, slots=True)
class Started:
    """The campaign begins."""

    property: str
    seed: int
    budget: int
    search: str
    way: str
    space: int | None  # how many cases there are in all, where all are tried


@dataclass(frozen=True, slots=True)
class BugFound:
    """A bug, not seen before in this campaign."""

    bug: Bug


@dataclass(frozen=True, slots=True)
class Crashed:
    """A crash; only the first of each kind is told."""

    crash: Crash


@dataclass(frozen=True, slots=True)
class Progress:
    """So far; `next_case` is where a campaign that is resumed goes on.

    `seen` says how often each bug touched since the last progress has been met.
    """

    counts: Counts
    next_case: int
    seen: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Finished:
    """The campaign is over; it ends with exactly one of these."""

    counts: Counts
    verdict: str  # violated, none-found, holds or failed
    reason: str  # why it ended
    rate: Interval | None
    next_bug: Estimate | None
    problem: str = ""  # what went wrong, where it failed


Event = Started | BugFound | Crashed | Progress | Finished
