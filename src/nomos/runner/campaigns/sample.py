"""A bounded sample of a campaign's judged cases, chosen by their numbers alone.

It is the same for every batch size, way and number of workers. Random cases are drawn
independently, so the first ones will do; of all cases there are, some are chosen.
"""

from __future__ import annotations

import base64
import zlib
from typing import Any

import numpy as np

from nomos.engine.alone import Verdict
from nomos.engine.judged import Judged

Array = np.ndarray[Any, Any]
SIZE = 20_000
_STEPS = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB))


def mixed(numbers: Array) -> Array:
    """Return numbers that look random, one for each number (SplitMix64's mixer)."""
    words = numbers.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in _STEPS:
        words = (words ^ (words >> np.uint64(shift))) * np.uint64(factor)
    mixed: Array = words ^ (words >> np.uint64(31))
    return mixed


class Sample:
    """Numbers of cases, and of each which `ensures` fail: none, where it passes."""

    def __init__(self, *, is_listed: bool, size: int = SIZE) -> None:
        self.is_listed = is_listed
        self.size = size
        self.cases = np.empty(0, dtype=np.int64)
        self.failed = np.empty(0, dtype=np.int64)

    def take(self, judged: Judged, end: int, first: int) -> None:
        """Take in the first cases of a chunk, whose first one has the number `first`."""
        if not self.is_listed and len(self.cases) >= self.size:
            return
        failed = np.zeros(end, dtype=np.int64)
        found = judged.violations
        here = found.rows < end
        failed[found.rows[here]] = found.failed[here]
        verdicts = judged.verdicts[:end]
        kept = (verdicts == Verdict.PASSED) | (failed > 0)
        self.cases = np.concatenate([self.cases, first + np.flatnonzero(kept)])
        self.failed = np.concatenate([self.failed, failed[kept]])
        if len(self.cases) > self.size:
            ranks = mixed(self.cases) if self.is_listed else self.cases
            chosen = np.sort(np.argsort(ranks, kind="stable")[: self.size])
            self.cases, self.failed = self.cases[chosen], self.failed[chosen]

    def text(self) -> str:
        """Return the sample as text that a store can keep."""
        both = np.concatenate([self.cases, self.failed]).astype("<i8")
        return base64.b64encode(zlib.compress(both.tobytes())).decode()

    def restore(self, text: str) -> None:
        """Take back what `text` gave."""
        both = np.frombuffer(zlib.decompress(base64.b64decode(text)), dtype="<i8")
        self.cases, self.failed = both.reshape(2, -1).astype(np.int64)
