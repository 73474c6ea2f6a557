"""What engines have in common: the cases that they settle, and when they must stop."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class Deadline:
    """Until when to search for a violation or a proof, and until when to count.

    Counting begins with the first violation and ends early: it is about the share. It is
    measured in CPU seconds, so that a busy machine does not make the share vaguer.
    """

    seconds: float
    counting: float
    started: float = field(default_factory=time.monotonic)
    found_at: float | None = None

    def begin_counting(self) -> None:
        """Note that a violation is known."""
        self.found_at = time.process_time()

    @property
    def are_up(self) -> bool:
        """Whether to stop now."""
        counted = 0.0 if self.found_at is None else time.process_time() - self.found_at
        return counted > self.counting or time.monotonic() - self.started > self.seconds


@dataclass(slots=True)
class Findings:
    """How many cases are known to be good and bad, a bad one by its variables, and how."""

    total: int
    good: int = 0
    bad: int = 0
    example: dict[str, Any] | None = None
    method: str = ""
    contradiction: str = ""

    @classmethod
    def from_proof(cls, total: int, method: str) -> Findings:
        """Return that all of so many cases are good."""
        return cls(total, good=total, method=method)

    def drop_contradictions(self) -> Findings:
        """Return what is found; of counts that contradict it, or each other, nothing."""
        least = max(self.bad, int(self.example is not None))
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
