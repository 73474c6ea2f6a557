"""What engines have in common: the cases that they settle, and when they must stop."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from nomos.errors import NotProvable

TIME_IS_UP = "the time is up; `--time` gives more"
_TABLES = 10  # times as long as to count


@dataclass(slots=True)
class Deadline:
    """Until when to search for a violation or a proof, and until when to count.

    Counting begins with the first violation and ends early: it is about the share. Both
    are measured in CPU seconds, so that a busy machine makes no answer vaguer; by the clock
    where a model that is not known may wait rather than calculate.
    """

    seconds: float
    counting: float
    clock: Callable[[], float] = time.process_time
    started: float = -1.0
    found_at: float | None = None

    def __post_init__(self) -> None:
        """Begin now, unless it has begun."""
        self.started = self.clock() if self.started < 0 else self.started

    def begin_counting(self) -> None:
        """Note that a violation is known."""
        self.found_at = self.clock()

    @property
    def are_up(self) -> bool:
        """Whether to stop now."""
        return self._is_past(self.counting)

    def check(self) -> None:
        """Raise NotProvable where the time is up, while tables are made.

        Once a violation is known, they are only for its share, which may cost a little.
        """
        if self._is_past(_TABLES * self.counting):
            raise NotProvable(TIME_IS_UP)

    def _is_past(self, counting: float) -> bool:
        now = self.clock()
        if self.found_at is not None and now - self.found_at > counting:
            return True
        return now - self.started > self.seconds


@dataclass(slots=True)
class Findings:
    """How many cases are known to be good and bad, a bad one by its variables, and how.

    Where `total` is None, nothing is known of the cases but the example.
    """

    total: int | None
    good: int = 0
    bad: int = 0
    example: dict[str, Any] | None = None
    method: str = ""
    contradiction: str = ""
    rounding: float = 0.0  # scores that are nearer to each other were taken for equal

    @classmethod
    def from_proof(cls, total: int, method: str) -> Findings:
        """Return that all of so many cases are good."""
        return cls(total, good=total, method=method)

    def drop_contradictions(self) -> Findings:
        """Return what is found; of counts that contradict it, or each other, nothing."""
        least = max(self.bad, int(self.example is not None))
        if self.total is None:
            return self
        if min(self.good, self.bad) >= 0 and least + self.good <= self.total:
            return self
        why = (
            f"the proof contradicts itself: {self.good} of {self.total} cases are good, "
            f"and at least {least} bad; this is a fault of Nomos"
        )
        return Findings(self.total, 0, 0, self.example, self.method, why)

    def note(self, example: dict[str, Any], limits: Deadline) -> None:
        """Keep the first violation."""
        if self.example is None:
            self.example = example
            limits.begin_counting()
