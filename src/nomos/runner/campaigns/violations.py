"""The violations of a campaign, deduplicated by their choices and counted."""

from enum import IntEnum

import numpy as np

from nomos.device import Array
from nomos.engine.evaluated import Violations
from nomos.engine.vectorized.distinct import Distinct, keys_of

MOST_TOLD_APART = 1_000_000  # unique violations; more are counted, not deduplicated
_MOST_GAPS = 10_000  # different values; more are no histogram


class How(IntEnum):
    """What became of a violation when it was run again."""

    ISOLATED = 0  # it failed again in isolation
    BATCH = 1  # it failed again, in a batch of other cases
    FLAKY = 2  # it did not fail again
    CRASHED = 3  # it ended in an error
    CHANCE = 4  # of a random model: not told from what its control does


class _Columns:
    """One entry for each different violation; grown as they come."""

    def __init__(self) -> None:
        self.seen = np.zeros(1024, dtype=np.int64)
        self.how = np.zeros(1024, dtype=np.int8)
        self.failed = np.zeros(1024, dtype=np.int64)
        self.margin = np.zeros(1024)
        self.case = np.zeros(1024, dtype=np.int64)

    def reach(self, count: int) -> None:
        """Make room for so many entries."""
        if count > len(self.seen):
            for name, column in vars(self).items():
                larger = np.zeros(max(count, 2 * len(column)), dtype=column.dtype)
                larger[: len(column)] = column
                setattr(self, name, larger)


class ViolationTable:
    """Deduplicates violations and counts how often each was met.

    Where every case comes once, `repeats` is off: each violation is a new one.
    """

    def __init__(self, input_count: int, *, repeats: bool) -> None:
        self.input_count = input_count  # how many of a case's first choices are inputs
        self.repeats = repeats
        self.count = 0  # different violations
        self._distinct = Distinct()
        self._inputs = Distinct()
        self._columns = _Columns()
        self._touched: set[int] = set()  # places met again since the last checkpoint

    def places(self, violations: Violations) -> tuple[Array, Array]:
        """Return the place of each violation, -1 for none; and which are new."""
        if self.repeats:
            keys = keys_of(violations.choices, violations.lengths)
            return self._distinct.places(keys, most=MOST_TOLD_APART)
        new = np.arange(min(len(violations), MOST_TOLD_APART - self.count))
        places = np.full(len(violations), -1, dtype=np.int64)
        places[new] = self.count + new
        return places, new

    def add(self, how: Array, found: Violations) -> None:
        """Take in new violations at the next places; none of them is counted yet."""
        places = slice(self.count, self.count + len(how))
        self.count += len(how)
        self._columns.reach(self.count)
        self._columns.how[places] = how
        self._columns.failed[places] = found.failed
        self._columns.margin[places] = found.margins
        self._columns.case[places] = found.rows
        inputs, is_bug = found.choices[:, : self.input_count], how <= How.BATCH
        inputs = inputs if is_bug.all() else inputs[is_bug]
        lengths = np.full(len(inputs), self.input_count, dtype=np.int64)
        self._inputs.places(keys_of(inputs, lengths), most=MOST_TOLD_APART)

    def count_met(self, places: Array, *, touch: bool = True) -> Array:
        """Count violations by their places; return what became of each.

        With `touch`, the next `take_touched` tells of them.
        """
        np.add.at(self._columns.seen, places, 1)
        if touch:
            self._touched.update(places.tolist())
        return np.asarray(self._columns.how[places])

    def count_seen(self, places: Array) -> list[int]:
        """Return how often violations were met."""
        times: list[int] = self._columns.seen[places].tolist()
        return times

    def recall(self, how: Array, seen: Array, found: Violations) -> None:
        """Take in all violations of a campaign that is resumed, in their order."""
        places, _ = self.places(found)
        self.add(how, found)
        self._columns.seen[places] = seen

    def take_touched(self) -> list[tuple[int, int]]:
        """Return case number and count of the violations met since it was last asked."""
        places = sorted(self._touched)
        self._touched.clear()
        cases, seen = self._columns.case[places], self._columns.seen[places]
        return list(zip(cases.tolist(), seen.tolist(), strict=True))

    @property
    def bug_inputs(self) -> int:
        """How many different inputs the bugs have."""
        return self._inputs.count

    def _bugs(self) -> Array | slice:
        """Return which places are bugs."""
        is_bug = self._columns.how[: self.count] <= How.BATCH
        return slice(self.count) if is_bug.all() else np.flatnonzero(is_bug)

    def count_seen_exactly(self, times: int) -> int:
        """Return how many bugs were met just so often."""
        return int((self._columns.seen[self._bugs()] == times).sum())

    def failing(self, number: int) -> tuple[int, int]:
        """Return violations and unique bugs of one `ensures`."""
        how = self._columns.how[: self.count]
        fails = (self._columns.failed[: self.count] >> number) & 1
        bugs, chance = fails * (how <= How.BATCH), fails * (how == How.CHANCE)
        return int(self._columns.seen[: self.count] @ (bugs + chance)), int(bugs.sum())

    def count_margins(self) -> dict[float, int] | None:
        """Count the margins of all violations; None where one has none."""
        bugs = self._bugs()
        margins, seen = self._columns.margin[bugs], self._columns.seen[bugs]
        if np.isnan(margins).any() or self.count >= MOST_TOLD_APART:
            return None
        values, where = np.unique(margins, return_inverse=True)
        if len(values) > _MOST_GAPS:
            return None
        sums = np.bincount(where, weights=seen, minlength=len(values)).astype(int)
        return dict(zip(values.tolist(), sums.tolist(), strict=True))
