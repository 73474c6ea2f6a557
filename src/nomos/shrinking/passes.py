"""Rows of a schema brought near to real ones: the fewest features of their own.

A row that is not one of the source is replaced by the nearest real row that still breaks
the property. Where none does, it becomes a real row with a few features changed.
"""

import math
import re
from collections.abc import Iterable
from itertools import combinations, islice

import numpy as np

from nomos.device import Array
from nomos.domain.records import get_feature
from nomos.domain.schema import Category, Flag, OneHot
from nomos.results.real_rows import RealRows
from nomos.shrinking.trying import (
    Candidate,
    DrawnRange,
    Tester,
    brought_near,
    fields_of,
    with_field,
)

_NEAREST = 50  # real rows that are tried as they are
_BASES = 3  # real rows that a row is brought near to
_ANCHORS = 30  # real rows for each set of features that must be kept
_SETS = 12
_CHANGED = 10.0  # how much more a feature counts that made a case violate


def nearer_rows(tester: Tester, case: Candidate, real: RealRows) -> Candidate:
    """Bring each record that is no real row near to one."""
    for number in range(len(case.records)):
        off = real.off(np.asarray(case.records[number]))
        same = np.flatnonzero(~off.any(axis=1))
        if len(same):
            case = case.with_record(number, case.records[number], int(same[0]))
        elif not tester.uses_labels:
            case = _Nearer(tester, real, number).bring_nearer(case)
    return case


class _Nearer:
    """One record of a case on its way to a real row."""

    def __init__(self, tester: Tester, real: RealRows, number: int) -> None:
        self.tester = tester
        self.real = real
        self.number = number

    def _with_row(self, case: Candidate, row: int, kept: Iterable[int]) -> Candidate:
        """Return the case with a real row that keeps some features of the record."""
        mixed = self.real.mix_rows(self._record_of(case), row, kept)
        return case.with_record(self.number, mixed, row)

    def _record_of(self, case: Candidate) -> Array:
        return np.asarray(case.records[self.number])

    def _features_off(self, case: Candidate) -> list[int]:
        """Return the features in which the record is not that of its row."""
        row = case.rows[self.number]
        off = self.real.off(self._record_of(case), self.real.rows[row : row + 1])
        return np.flatnonzero(off[0]).tolist()

    def bring_nearer(self, case: Candidate) -> Candidate:
        """Return the case with a real row, or with as few changes of one as are found."""
        near = self.real.order(self._record_of(case))[:_NEAREST].tolist()
        rows = [self._with_row(case, row, ()) for row in near]
        found = self.tester.first_violating(rows)
        if found is not None:
            return rows[found]
        best: Candidate | None = None
        for row in near[:_BASES]:
            one = self._move_towards(case, row)
            if best is None or len(self._features_off(one)) < len(
                self._features_off(best)
            ):
                best = one
            if len(self._features_off(best)) <= 1 or self.tester.left < 1:
                break
        assert best is not None
        return self._closer_numbers(self._try_anchors(best))

    def _move_towards(self, case: Candidate, row: int) -> Candidate:
        """Give a record the features of a row, one after the other, while it violates."""
        case = case.with_record(self.number, self._record_of(case), row)
        while self.tester.left > 0:
            off = self._features_off(case)
            fewer = [self._with_row(case, row, [o for o in off if o != f]) for f in off]
            works = self.tester.find_violating(fewer)
            if not works:
                return case
            together = [f for n, f in enumerate(off) if n not in works]
            tried = [self._with_row(case, row, together), *(fewer[n] for n in works)]
            found = self.tester.first_violating(tried)
            if found is None:
                return case
            case = tried[found]
        return case

    def _try_anchors(self, case: Candidate) -> Candidate:
        """Look for a real row that needs fewer of the features that matter."""
        record, kept = self._record_of(case), self._features_off(case)
        off, far = self.real.off(record), self.real.far(record)
        for size in range(len(kept)):
            for some in islice(combinations(kept, size), _SETS):
                others = [f for f in kept if f not in some]
                others += [f for f in self.tester.changed if f not in kept]
                apart = _CHANGED * far[:, others].sum(axis=1) + 0.1 * off.sum(axis=1)
                rows = np.argsort(apart, kind="stable")[:_ANCHORS].tolist()
                cases = [self._with_row(case, row, some) for row in rows]
                found = self.tester.first_violating(cases)
                if found is not None:
                    return cases[found]
        return case

    def _closer_numbers(self, case: Candidate) -> Candidate:
        """Bring the numbers that had to change nearer to those of the row."""
        for feature in self._features_off(case):
            if isinstance(self.real.schema.features[feature], Flag | Category | OneHot):
                continue
            case = self._bring_closer(case, self.real.slices[feature].start)
        return case

    def _bring_closer(self, case: Candidate, at: int) -> Candidate:
        """Bring one number of the record nearer to that of its row."""
        target = float(self.real.rows[case.rows[self.number]][at])

        def with_number(case: Candidate, number: float) -> Candidate:
            made = self._record_of(case).copy()
            made[at] = number
            return case.with_record(self.number, made)

        return brought_near(
            self.tester,
            case,
            lambda case: float(self._record_of(case)[at]),
            with_number,
            target,
            is_whole=target.is_integer()
            and float(self._record_of(case)[at]).is_integer(),
            is_new=False,
        )


_DIGITS = 6
_PASSES = 2  # over all draws: a smaller one may let another be smaller


def smaller_draws(tester: Tester, case: Candidate) -> Candidate:
    """Return a case whose draws are as small as can be found; it violates in isolation."""
    for _ in range(_PASSES):
        before = case.draws
        for position in range(len(case.draws)):
            if position < len(tester.draws):
                case = _shrink_draw(tester, case, position, tester.draws[position])
        if case.draws == before or len(case.draws) < 2:
            break
    return case


def _shrink_draw(
    tester: Tester, case: Candidate, position: int, drawn: DrawnRange
) -> Candidate:
    """Bring one draw near to 0."""
    if drawn.kind == "seed":
        return case
    return brought_near(
        tester,
        case,
        lambda case: drawn.number_of(case.draws[position]),
        lambda case, number: case.with_draw(position, drawn.choice_of(number)),
        min(max(0, drawn.low), drawn.high),
        is_whole=drawn.kind == "integer",
    )


def rounder_draws(tester: Tester, case: Candidate) -> Candidate:
    """Return a case whose real draws have as few digits as can be found."""
    for position, drawn in enumerate(tester.draws[: len(case.draws)]):
        if drawn.kind == "real":
            numbers = _rounder_numbers(drawn.number_of(case.draws[position]))
            fits = [n for n in numbers if drawn.low <= n <= drawn.high]
            case = tester.first_of(
                [case.with_draw(position, drawn.choice_of(n)) for n in fits], case
            )
    return case


def _rounder_numbers(value: float) -> list[float]:
    """Return a number with ever more digits, the fewest first."""
    if not value or not math.isfinite(value):
        return []
    exponent = math.floor(math.log10(abs(value)))
    found = []
    for digits in range(_DIGITS):
        for whole in (math.floor, math.ceil):
            unit = 10.0 ** (digits - exponent)
            rounded = round(whole(value * unit) / unit, digits - exponent)
            if rounded != value and rounded not in found:
                found.append(rounded)
    return found


_PHRASE_ENDS = re.compile(r"(?<=[.!?;:,])\s+|\n+")


def shorter_texts(tester: Tester, case: Candidate) -> Candidate:
    """Return a case with shorter texts; texts that have a label stay as they are."""
    if tester.uses_labels:
        return case
    for number, record in enumerate(case.records):
        for key in [""] if isinstance(record, str) else fields_of(record):
            text = record if key == "" else get_feature(record, key, None)
            if isinstance(text, str) and " " in text:
                case = _shorten_text(tester, case, number, key, text)
    return case


def _shorten_text(
    tester: Tester, case: Candidate, number: int, key: str, text: str
) -> Candidate:
    """Leave phrases out of one text of a case, then words."""
    for split in (_PHRASE_ENDS.split, str.split):
        pieces = [piece for piece in split(text) if piece]
        size = max(1, len(pieces) // 2)
        while len(pieces) > 1 and tester.left > 0:
            starts = range(0, len(pieces), size)
            fewer = [pieces[:at] + pieces[at + size :] for at in starts]
            fewer = [some for some in fewer if some]
            old = case.records[number]
            texts = [with_field(old, key, " ".join(some), None) for some in fewer]
            cases = [case.with_record(number, new) for new in texts]
            found = tester.first_violating(cases)
            if found is not None:
                case, pieces = cases[found], fewer[found]
                size = min(size, max(1, len(pieces) // 2))
            elif size == 1:
                break
            else:
                size //= 2
        text = " ".join(pieces)
    return case
