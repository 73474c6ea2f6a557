"""How many cases are run at once: as memory, calls and time allow, and as pays off."""

import math

from nomos.device import free_cache
from nomos.domain.meter import current_lease

# Large records, such as sounds, are run in smaller parts than a chunk of rows.
_MOST_BYTES = 2**25
_FEWEST = 64
_TRIED = 4  # cases, before it is known what one costs
_FIRST_BYTES = 2**29  # of the records of a part on a device; it grows while that pays
_COPIES = 16  # of a record: changed ones, draws, and what a network makes of it
_FASTER = 1.01  # what a larger part must win to be worth its memory
_TRIES = 3  # of a size: the first part of a size pays for memory and plans


class PartSize:
    """The size of the next part, learnt from how long parts take."""

    def __init__(self, record_bytes: int, free: int | None) -> None:
        """Start where `free` bytes are left on a device; None: on the processor."""
        size = max(1, record_bytes)
        self._learns = free is not None
        self.count = max(_FEWEST, _MOST_BYTES // size)
        self._most = self.count
        if free is not None:
            self._most = max(1, free // (size * _COPIES))
            first = min(max(_FEWEST, _FIRST_BYTES // size), self._most)
            self.count = 1 << first.bit_length() - 1  # what ranges are cut into evenly
        self._best = 0.0  # rows a second, of the last size that paid off
        self._rates: list[float] = []  # of this size
        self._rows = 0  # of the last part
        self._calls = 1  # of the model, that a case needs at most, as far as is known
        self._speed = 0.0  # cases a second, of the last part

    def learn_cost(self, calls: int, cases: int, seconds: float) -> None:
        """Learn how many calls a case makes, and how fast cases are."""
        self._calls = max(self._calls, calls)
        self._speed = cases / max(seconds, 1e-9)

    def expect_seconds(self, cases: int) -> float:
        """Return how long so many cases will take, by what the last ones took."""
        return cases / max(self._speed, 1e-9)

    def affordable(self, most: int, violations: int | None) -> int:
        """Return for how many cases the calls and the time suffice, at most so many.

        So many `violations` are still to be run again, and these cases may be violated
        too; None: none of them is run again.
        """
        lease = current_lease()
        left, seconds = lease.calls_left, lease.seconds_left
        if seconds <= 0:
            return 0
        if seconds < math.inf:
            fit = seconds * self._speed
            # What is violated is run twice; something is run, or nothing is learnt.
            fit = fit if violations is None else (fit - violations) / 2
            most = max(int(min(most, fit)), 0 if violations else 1)
        if lease.terms.max_cost is not None:
            from nomos.models.serving.ledger import count_affordable

            # Half of it: what a part that is too large has asked is of no use to it. What is
            # known costs nothing, so a few are tried when the money is used up.
            # Before the first part is over, nobody knows how many calls a case makes.
            fit = count_affordable(lease) // (2 * self._calls) if self._speed else 0
            most = min(most, max(_TRIED, fit))
        if left is None:
            return most
        if violations is None:
            return min(most, left // self._calls)
        left = max(0, left - violations * self._calls)
        return min(most, left // (2 * self._calls))

    def took(self, rows: int, seconds: float) -> None:
        """Learn from a whole part: twice as many next time, as long as that is faster.

        `rows` are those that batched functions were asked for. While answers are still
        new, parts ask for ever fewer of them, and nothing is learnt.
        """
        same, self._rows = rows == self._rows, rows
        if not self._learns or not same or seconds <= 0:
            return
        self._rates.append(rows / seconds)
        if len(self._rates) < _TRIES:
            return
        best, self._rates = max(self._rates), []
        self._learns = best > self._best * _FASTER and self.count * 2 <= self._most
        if best <= self._best * _FASTER:
            self.count //= 2
        self._best = best
        if self._learns:
            self.count *= 2

    def halve(self) -> None:
        """Take half as many from now on: the memory did not suffice."""
        self.count = self._most = max(1, self.count // 2)
        free_cache()
