"""Which cases come next: ranges of case numbers, or of ways to draw the inputs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from nomos.engine.engine import SMALLEST
from nomos.engine.evaluated import EvaluatedChunk
from nomos.results.result import Scope
from nomos.search.strategy import Proposal

LARGEST = 65_536  # cases of a chunk; larger ones would not spread over workers
ON_DEVICE = 2**19  # on a device they do: violations are run again in larger batches
_LONGEST_S = 0.5  # a chunk should be over by then, so that progress shows
_LONGEST_ON_DEVICE_S = 1.0
# Times as long, where only a short chunk is known: it cost mostly its calls
_AT_FIRST = 4
_TOO_LONG = 4  # times as long: what cases cost before is no longer true
# Times as long a chunk may take in which a worker waits for answers: at its end it waits
# for the last of them alone, for those that were sent again or never came.
_WAITING = 40
_STEPS = (8, 2)  # between sizes; on a device, or while waiting, larger ones pay off


@dataclass(frozen=True, slots=True)
class Range:
    """Cases to judge, in order.

    In a random search, `count` cases from number `first` on. In an exhaustive search,
    all cases of `count` ways to draw the inputs. Of these only the cases from `start`
    to `stop` are meant. `one_by_one` runs each alone and says which is under way.
    Where several ranges share the calls of the model, this one is meant to need `calls`.
    With `longest_s`, a range of which more cases are left than are over in that time, by what
    the first ones take, ends behind these. `made` are the cases that a search has made, at most `batch` of them run at once;
    with `signals`, it is told how near each came to a violation. `remembered` is what a
    campaign that is resumed here knew of answers.
    """

    first: int
    count: int
    is_listed: bool = False
    start: int = 0
    stop: int | None = None
    one_by_one: bool = False
    tests: int = 2**62  # where to stop early: nobody asks for more
    crashes: int = 2**62
    calls: int | None = None
    longest_s: float = math.inf
    made: Proposal | None = field(default=None, compare=False, repr=False)
    batch: int | None = None
    signals: bool = False
    remembered: Any = field(default=None, compare=False, repr=False)

    def around(self, row: int) -> tuple[Range, Range]:
        """Return the cases before one case, and those behind it."""
        here = self.start + row
        whole = replace(self, one_by_one=False)
        return replace(whole, stop=here), replace(whole, start=here + 1)

    def split_range(self, cases: int) -> tuple[Range, Range]:
        """Return the range up to so many of its cases, and its rest."""
        at = self.start + cases
        return replace(self, stop=at), replace(self, start=at, calls=None)

    def halves(self) -> tuple[Range, Range] | None:
        """Return two smaller ranges; None where there is but one case."""
        if self.is_listed and self.count > 1 and (self.start, self.stop) == (0, None):
            half = self.count // 2
            return (
                replace(self, count=half),
                replace(self, first=self.first + half, count=self.count - half),
            )
        stop = self.stop
        if stop is None and self.is_listed:  # who knows how many there are: try some
            middle = max(self.start + 1, 2 * self.start)
        else:
            stop = self.count if stop is None else stop
            if stop - self.start < 2:
                return None
            middle = (self.start + stop) // 2
        return replace(self, stop=middle), replace(self, start=middle)


class Plan:
    """Says which range comes next, larger as long as that is fast."""

    def __init__(
        self, *, total: int | None, batch: int | None, largest: int = LARGEST
    ) -> None:
        self.space: int | None = None  # how many cases there are, where all are tried
        self.about_space: int | None = None  # about how many, where they are not
        self.next_first = 0  # a case number, or a way to draw the inputs
        self.total = total  # ways to draw the inputs, where all cases are tried
        self.is_listed = total is not None
        self.search = "random" if total is None else "exhaustive"  # how to choose cases
        # What a verdict speaks of.
        self.scope: Scope = "sample" if total is None else "inputs"
        self.batch = batch
        self._largest = largest
        self._longest = _LONGEST_S if largest <= LARGEST else _LONGEST_ON_DEVICE_S
        self.cost: float | None = None  # seconds a case takes, the least so far
        self._is_first = False  # whether the cost is that of the first range alone
        self._waits = False  # for a service or a file: more cases wait no longer

    def can_resume(self, next_case: int) -> bool:
        """Tell whether a campaign can go on from a case; listed ones say so themselves."""
        return True

    @property
    def is_done(self) -> bool:
        """Whether there is nothing left to plan."""
        return self.total is not None and self.next_first >= self.total

    def next(
        self,
        wanted: float,
        cases_per_input: float,
        *,
        shares: bool = False,
        may_end_early: bool = False,
    ) -> Range | None:
        """Return the next range, with no more cases than are wanted; None: wait."""
        is_small = wanted <= self._largest <= LARGEST and self.total is None
        if may_end_early and is_small and self.batch is None and self.cost is None:
            self.next_first, first = self.next_first + int(wanted), self.next_first
            longest_s = self._longest * _AT_FIRST
            return Range(first, max(1, int(wanted)), longest_s=longest_s)
        # Where all are likely to be over in time, they are one range, but for what is shared.
        fits = not shares and wanted <= min(self._fit(), self._largest)
        count = max(1, int(wanted if fits else min(self._size(), wanted)))
        if self.total is not None:
            count = max(1, int(self._size() / max(1.0, cases_per_input)))
            count = min(count, self.total - self.next_first)
        planned = Range(self.next_first, count, self.is_listed)
        self.next_first += count
        return planned

    def learn(self, asked: Range, parts: Sequence[EvaluatedChunk]) -> None:
        """Take in the verdicts on a range; here they change nothing."""

    def _fit(self) -> float:
        """Return how many cases are over in time."""
        if self.batch is not None or self.cost is None:
            return self.batch or SMALLEST
        longest = self._longest * (_WAITING if self._waits else 1)
        longest *= _AT_FIRST if self._is_first else 1
        return longest / max(self.cost, 1e-9)

    def _size(self) -> int:
        """Return how many cases are over in time: one of a few sizes, for any speed."""
        fit, step = self._fit(), _STEPS[self._waits or self._largest > LARGEST]
        if self.batch is not None or self.cost is None:
            return int(fit)
        size: int = SMALLEST * step ** int(math.log(max(1.0, fit / SMALLEST), step))
        return min(self._largest, size)

    def took(self, parts: Sequence[EvaluatedChunk]) -> None:
        """Learn what a case costs: the least so far, as others may keep a machine busy."""
        seconds, cases = sum(p.seconds for p in parts), sum(map(len, parts))
        self._waits = sum(p.busy_s for p in parts) < seconds / 4
        if cases and self.cost is not None and seconds < _TOO_LONG * self._longest:
            self._is_first = False
            self.cost = min(self.cost, seconds / cases)
        elif cases:  # the first, or the model has become slow
            self._is_first = self.cost is None and not self.is_listed
            self.cost = seconds / cases
