"""Rows of a schema brought near to real ones: the fewest features of their own.

A row that is not one of the source is replaced by the nearest real row that still breaks
the property. Where none does, it becomes a real row with a few features changed.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations, islice

import numpy as np

from nomos.device import Array
from nomos.domain.schema import Category, Flag, OneHot
from nomos.results.real_rows import RealRows
from nomos.shrinking.trying import OwnCase, Tester, brought_near

_NEAREST = 50  # real rows that are tried as they are
_BASES = 3  # real rows that a row is brought near to
_ANCHORS = 30  # real rows for each set of features that must be kept
_SETS = 12
_CHANGED = 10.0  # how much more a feature counts that made a case violate


def nearer_rows(tester: Tester, case: OwnCase, real: RealRows) -> OwnCase:
    """Bring each record that is no real row near to one."""
    for number in range(len(case.records)):
        off = real.off(np.asarray(case.records[number]))
        same = np.flatnonzero(~off.any(axis=1))
        if len(same):
            case = case.with_record(number, case.records[number], int(same[0]))
        elif not tester.uses_labels:
            case = _Nearer(tester, real, number).nearer(case)
    return case


class _Nearer:
    """One record of a case on its way to a real row."""

    def __init__(self, tester: Tester, real: RealRows, number: int) -> None:
        self.tester = tester
        self.real = real
        self.number = number

    def _with(self, case: OwnCase, row: int, kept: Iterable[int]) -> OwnCase:
        """Return the case with a real row that keeps some features of the record."""
        mixed = self.real.mixed(self._record(case), row, kept)
        return case.with_record(self.number, mixed, row)

    def _record(self, case: OwnCase) -> Array:
        return np.asarray(case.records[self.number])

    def _off(self, case: OwnCase) -> list[int]:
        """Return the features in which the record is not that of its row."""
        row = case.rows[self.number]
        off = self.real.off(self._record(case), self.real.rows[row : row + 1])
        return np.flatnonzero(off[0]).tolist()

    def nearer(self, case: OwnCase) -> OwnCase:
        """Return the case with a real row, or with as few changes of one as are found."""
        near = self.real.order(self._record(case))[:_NEAREST].tolist()
        rows = [self._with(case, row, ()) for row in near]
        found = self.tester.first(rows)
        if found is not None:
            return rows[found]
        best: OwnCase | None = None
        for row in near[:_BASES]:
            one = self._towards(case, row)
            if best is None or len(self._off(one)) < len(self._off(best)):
                best = one
            if len(self._off(best)) <= 1 or self.tester.left < 1:
                break
        assert best is not None
        return self._closer_numbers(self._anchored(best))

    def _towards(self, case: OwnCase, row: int) -> OwnCase:
        """Give a record the features of a row, one after the other, while it violates."""
        case = case.with_record(self.number, self._record(case), row)
        while self.tester.left > 0:
            off = self._off(case)
            fewer = [self._with(case, row, [o for o in off if o != f]) for f in off]
            works = self.tester.violating(fewer)
            if not works:
                return case
            together = [f for n, f in enumerate(off) if n not in works]
            tried = [self._with(case, row, together), *(fewer[n] for n in works)]
            found = self.tester.first(tried)
            if found is None:
                return case
            case = tried[found]
        return case

    def _anchored(self, case: OwnCase) -> OwnCase:
        """Look for a real row that needs fewer of the features that matter."""
        record, kept = self._record(case), self._off(case)
        off, far = self.real.off(record), self.real.far(record)
        for size in range(len(kept)):
            for some in islice(combinations(kept, size), _SETS):
                others = [f for f in kept if f not in some]
                others += [f for f in self.tester.changed if f not in kept]
                apart = _CHANGED * far[:, others].sum(axis=1) + 0.1 * off.sum(axis=1)
                rows = np.argsort(apart, kind="stable")[:_ANCHORS].tolist()
                cases = [self._with(case, row, some) for row in rows]
                found = self.tester.first(cases)
                if found is not None:
                    return cases[found]
        return case

    def _closer_numbers(self, case: OwnCase) -> OwnCase:
        """Bring the numbers that had to change nearer to those of the row."""
        for feature in self._off(case):
            kind = self.real.schema.features[feature]
            if isinstance(kind, Flag | Category | OneHot):
                continue
            case = self._closer(case, self.real.slices[feature].start)
        return case

    def _closer(self, case: OwnCase, at: int) -> OwnCase:
        """Bring one number of the record nearer to that of its row."""
        target = float(self.real.rows[case.rows[self.number]][at])

        def put(case: OwnCase, number: float) -> OwnCase:
            made = self._record(case).copy()
            made[at] = number
            return case.with_record(self.number, made)

        return brought_near(
            self.tester,
            case,
            lambda case: float(self._record(case)[at]),
            put,
            target,
            is_whole=target.is_integer() and float(self._record(case)[at]).is_integer(),
            is_new=False,
        )
