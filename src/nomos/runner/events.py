"""What a run tells while it goes on; who listens is not its business."""

from collections.abc import Callable
from dataclasses import dataclass

from nomos.results.result import Bug, Counts, Crash, Result, Subject


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened in the campaign of a subject with a seed."""

    subject: Subject
    seed: int


@dataclass(frozen=True, slots=True)
class Started(Event):
    """A campaign begins."""

    budget: int
    search: str
    mode: str
    space: int | None  # how many cases there are in all, where all are tried
    about_space: int | None = None  # about how many there are, where not all are


@dataclass(frozen=True, slots=True)
class BugFound(Event):
    """A bug, not seen before in this campaign; only those that are run in isolation are told."""

    bug: Bug


@dataclass(frozen=True, slots=True)
class Crashed(Event):
    """A crash; only the first of each kind is told."""

    crash: Crash


@dataclass(frozen=True, slots=True)
class Progress(Event):
    """So far."""

    counts: Counts
    next_case: int


@dataclass(frozen=True, slots=True)
class Finished(Event):
    """The campaign is over; each ends with exactly one of these."""

    result: Result


Handler = Callable[[Event], None]
