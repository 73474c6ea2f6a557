"""The call meter: every row that a model is asked about passes it, whoever asks.

A campaign has one `Meter`, held by the driver. Whatever asks the model runs as a task, in
this process or in a worker, under a `Lease`: the driver's meter grants it so many calls,
the lease counts them where the model is asked, refuses what goes beyond, and its count
goes back with the answer. What is granted and not yet accounted for counts as asked, so
the sum never passes the limit, however many workers there are and whichever of them dies.

A model is asked in few places: a batched function (`BoundBatched.many`), a plain function
that stands for the model, an adapter of `load_model`, and what asks for scores. Each says
so with `asking`, before it asks. Calls inside of one that was paid for are paid for too;
one that asks its model more often than for the rows it was given pays for the rest.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from threading import RLock
from typing import Literal, NamedTuple

from nomos.accepted import CacheMode
from nomos.device import Array, during
from nomos.errors import Discard, Stop, Unreadable

Phase = Literal["set-up", "known bugs", "search", "control", "confirmation",
                "flakiness check", "grouping", "shrinking", "proof", "display",
                "selection", "before a kill"]  # fmt: skip
_counting = RLock()  # calls that run side by side are counted one by one
_RESERVED = 5  # one call in so many is kept for what comes after the search
_MOST_NOTED = 20  # kinds of exceptions; more of them only repeat
_RERUN = 10  # and one in so many may go into isolated re-runs, as many into known bugs
# When phases of a campaign end, as shares of its time; what comes later has the rest.
_ENDS: dict[Phase, float] = {
    "known bugs": 0.1,
    "search": 0.8,
    "confirmation": 0.9,
    "flakiness check": 0.95,
    "grouping": 0.98,
    "shrinking": 1.0,
}
_AFTER: tuple[Phase, ...] = ("flakiness check", "grouping", "shrinking")
_LEAST_S = 2.0  # for these together, of a campaign whose time is over


def describe_error(error: BaseException) -> str:
    """Return the kind of an error and what it says, which a user's class may fail in.

    A discard is no failure of a model, nor is an answer that cannot be read: "".
    """
    if isinstance(error, Discard | Unreadable):
        return ""
    try:
        said = str(error)
    except Exception:
        said = "its text cannot be had"
    return f"{type(error).__name__}: {said}".strip().removesuffix(":")


class CallsSpent(Stop):
    """A call of the model that the limit does not allow; the model was not asked."""


@dataclass(frozen=True, slots=True)
class Terms:
    """How a run asks models that are slow or paid, in each of its workers.

    Attributes:
        concurrency: How many calls are in flight at most.
        timeout_s: How long one call may take; None: as the model says.
        rate: The most calls, and in how many seconds.
        cache: Whether answers on disk are read and kept, or asked for anew and kept.
        file: The file of answers and of what was spent, which all workers share.
        calls: The most requests of a campaign, those that are sent again included.
        max_cost: The most that the requests of a campaign may cost.
        prices: By model, what a million tokens, or a request, cost.
        run: The run whose money is spent, that of all its campaigns together.
    """

    concurrency: int = 8
    timeout_s: float | None = None
    rate: tuple[int, float] | None = None
    cache: CacheMode = "off"
    file: Path | None = None
    calls: int | None = None
    max_cost: float | None = None
    prices: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    run: str = ""


_NO_ENDS: Mapping[Phase, float] = {}  # a plain one: workers get it by pickle


class Grant(NamedTuple):
    """What a task may ask: so many calls (None: any number), what for, for which campaign.

    `ends` says by the clock when each phase is to end; one that is not named has no end.
    """

    calls: int | None = None
    phase: Phase = "search"
    campaign: str = ""
    ends: Mapping[Phase, float] = _NO_ENDS


class Lease:
    """The calls that one task may make, and those that it made, by what for."""

    __slots__ = (
        "asked", "beat", "campaign", "drafts", "ends", "failure", "granted", "phase",
        "raised", "report", "terms",
    )  # fmt: skip

    def __init__(
        self,
        grant: Grant = Grant(),  # noqa: B008 - nothing can change it
        report: Callable[[int], None] | None = None,
        terms: Terms | None = None,
        beat: Callable[[], None] = lambda: None,
    ) -> None:
        self.granted, self.phase, self.campaign, self.ends = grant
        self.asked: Counter[Phase] = Counter()
        self.raised: Counter[str] = Counter()  # by the first of the model, as they are
        self.failure = ""  # the last exception of a batched function
        self.report = report  # says the count where it outlives this process
        self.terms = terms or Terms()
        # What requests would cost, at least and at most; None: they are sent.
        self.drafts: list[tuple[float, float]] | None = None
        self.beat = beat  # says that calls which have a time-out of their own go on

    @property
    def calls_left(self) -> int | None:
        """How many calls it may still make; None: no limit."""
        return None if self.granted is None else self.granted - self.asked.total()

    @property
    def seconds_left(self) -> float:
        """How long its phase may go on; infinite, if nothing limits it."""
        return self.ends.get(self.phase, math.inf) - time.time()

    def charge(self, rows: int) -> None:
        """Count rows that a model is about to be asked about, or refuse them."""
        if self.phase in _AFTER and self.seconds_left <= 0:
            raise CallsSpent("the time is up")
        with _counting:
            left = self.calls_left
            if left is not None and rows > left:
                raise CallsSpent("the calls are used up")
            self.asked[self.phase] += rows
            if self.report is not None:
                self.report(self.asked.total())

    def note_exception(self, said: str) -> None:
        """Note what the model raised, though it answered when it was asked again."""
        if said and (said in self.raised or len(self.raised) < _MOST_NOTED):
            self.raised[said] += 1

    @contextmanager
    def during_phase(self, phase: Phase) -> Iterator[None]:
        """Count what is asked inside for another phase."""
        before, self.phase = self.phase, phase
        try:
            yield
        finally:
            self.phase = before


class _Prepaid:
    """Rows that were counted already: what asks for them inside pays for more only."""

    __slots__ = ("left", "outer")

    def __init__(self, outer: Lease | _Prepaid, rows: int) -> None:
        self.outer = outer
        self.left = rows

    def charge(self, rows: int) -> None:
        with _counting:
            more = rows - self.left
            self.left = max(0, -more)
            if more > 0:
                self.outer.charge(more)


_lease: ContextVar[Lease | None] = ContextVar("lease", default=None)
_charged: ContextVar[Lease | _Prepaid | None] = ContextVar("charged", default=None)


@contextmanager
def under_lease(lease: Lease) -> Iterator[Lease]:
    """Count on a lease what is asked inside."""
    with during(_lease, lease), during(_charged, lease):
        yield lease


def current_lease() -> Lease:
    """Return the lease under which this code runs; one without a limit, if under none."""
    return _lease.get() or Lease()


def asking(rows: int) -> AbstractContextManager[None]:
    """Pay for rows that a model is asked about inside; raises CallsSpent if it may not."""
    charged = _charged.get()
    if charged is None or not rows:
        return nullcontext()
    charged.charge(rows)
    return during(_charged, _Prepaid(charged, rows))


class Meter:
    """All calls of a campaign: what was asked for what, what is granted, and the limit.

    Its time is shared out likewise: `seconds`, on a `clock` that says how many are over.

    A share is reserved for what comes after the search: trying again what it found or did
    not find. The search stops where the rest of its own share is less than a case may
    need, which is counted as if each case ran by itself: so it stops at the same case for
    every batch, execution mode and number of workers. The leases hold in any case.
    """

    def __init__(
        self, limit: int | None = None, campaign: str = "", keeps: object = None
    ) -> None:
        self.limit = limit
        self.keeps = keeps  # what ends with the last campaign
        self.campaign = campaign  # under which endpoints keep what they cost
        self.asked: Counter[Phase] = Counter()
        self.raised: Counter[str] = Counter()  # exceptions of the model
        self.held = 0  # granted to tasks that are under way
        self.seconds: float | None = None
        self.clock: Callable[[], float] = lambda: 0.0
        self._least_end = 0.0
        self._rerun = 0  # asked by tasks that may use the reserve
        self.note: Callable[[int], None] | None = None  # keeps a count through a kill

    @property
    def why_spent(self) -> str:
        """Why a search ends that has no calls left."""
        return "the money is used up" if self.limit is None else "the calls are used up"

    def find_ends(self) -> Mapping[Phase, float]:
        """Return when phases end, by the clock of the machine."""
        if self.seconds is None:
            return {}
        now = time.time()
        left = self.seconds
        ends = {p: now - self.clock() + share * left for p, share in _ENDS.items()}
        return ends | {p: max(ends[p], self._least_end) for p in _AFTER}

    def end_search(self) -> float | None:
        """Note that only the phases after a search follow; return how long they may take."""
        if self.seconds is None:
            return None
        self._least_end = time.time() + _LEAST_S
        return max(_LEAST_S, self.seconds - self.clock())

    @property
    def reserve(self) -> int:
        """How many calls the search leaves to others."""
        return 0 if self.limit is None else max(1, self.limit // _RESERVED)

    def most_rerun(self, calls: int) -> int | None:
        """Return how many cases, of so many calls each, are re-run in isolation at most."""
        if self.limit is None:
            return None
        return max(1, self.limit // _RERUN // max(1, calls))

    def is_short(self, spent: Array, calls: Array) -> Array:
        """Tell where a search that has spent so many calls must stop.

        `calls` is what a case asks; one that is violated is run a second time.
        """
        assert self.limit is not None
        short: Array = self.limit - self.reserve - spent < 2 * calls
        return short

    def free(self, *, from_reserve: bool) -> int | None:
        """Return how many calls can be granted now; None: no limit."""
        if self.limit is None:
            return None
        kept = 0 if from_reserve else max(0, self.reserve - self._rerun)
        return max(0, self.limit - self.asked.total() - self.held - kept)

    def grant(self, most: int | None, *, from_reserve: bool) -> int | None:
        """Set calls aside for a task, at most so many (None: all); return how many."""
        free = self.free(from_reserve=from_reserve)
        if free is None:
            return None
        granted = free if most is None else min(most, free)
        self.held += granted
        return granted

    @contextmanager
    def lease_rest(self, phase: Phase, terms: Terms | None = None) -> Iterator[None]:
        """Count what is asked inside, by no worker, as far as there are calls left."""
        granted = self.grant(None, from_reserve=True)
        lease = Lease(Grant(granted, phase, self.campaign), terms=terms)
        try:
            with under_lease(lease):
                yield
        finally:
            self.settle(granted, lease.asked, from_reserve=True)

    def note_calls(self, under_way: int) -> None:
        """Note all that was asked, and what is asked by tasks that are under way."""
        if self.note is not None:
            self.note(self.asked.total() + under_way)

    def settle(
        self, granted: int | None, asked: Mapping[Phase, int], *, from_reserve: bool
    ) -> None:
        """Take back what a task was granted, and count what it asked."""
        self.held -= granted or 0
        self.asked.update(asked)
        self._rerun += sum(asked.values()) if from_reserve else 0
