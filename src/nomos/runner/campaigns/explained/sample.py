"""A bounded sample of a campaign's judged cases, the same however it is run.

Random cases are drawn independently, so the first ones will do.
"""

from __future__ import annotations

import numpy as np

from nomos.device import Array
from nomos.engine.answers import pack_array, unpack_array
from nomos.engine.interpreter import Verdict
from nomos.engine.judged import Judged
from nomos.engine.vectorized.distinct import STEP, mix_words

SIZE = 20_000


def mix_numbers(numbers: Array) -> Array:
    """Return numbers that look random, one for each number (SplitMix64's mixer)."""
    return mix_words(numbers.astype(np.uint64) * STEP)


def choose_rows(choices: Array, lengths: Array, most: int) -> Array:
    """Return some of the cases with these choices, whatever order they come in."""
    marks = mix_numbers(lengths)
    for column in choices.T:
        marks = mix_numbers(marks ^ column.astype(np.uint64))
    return np.asarray(np.sort(np.argsort(marks, kind="stable")[:most]))


class Sample:
    """Numbers of cases, and of each which `ensures` fail: none, where it passes."""

    def __init__(self, size: int = SIZE) -> None:
        self.size = size
        self.cases = np.empty(0, dtype=np.int64)
        self.failed = np.empty(0, dtype=np.int64)

    def take(self, judged: Judged, end: int, first: int) -> None:
        """Take in the first cases of a chunk, whose first one has the number `first`."""
        room = self.size - len(self.cases)
        if room < 1:
            return
        failed = np.zeros(end, dtype=np.int64)
        found = judged.violations
        here = found.rows < end
        failed[found.rows[here]] = found.failed[here]
        kept = np.flatnonzero((judged.verdicts[:end] == Verdict.PASSED) | (failed > 0))
        kept = kept[:room]
        self.cases = np.concatenate([self.cases, first + kept])
        self.failed = np.concatenate([self.failed, failed[kept]])

    def text(self) -> str:
        """Return the sample as text that a store can keep."""
        return pack_array(np.concatenate([self.cases, self.failed]).astype("<i8"))

    def restore(self, text: str) -> None:
        """Take back what `text` gave."""
        self.cases, self.failed = unpack_array(text, "<i8", (2, -1))
