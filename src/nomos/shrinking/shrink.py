"""Shrink a bug: draws, rows, texts, and rounder numbers; confirmed alone.

The order of the passes is that of what a reader must follow. First the draws go towards 0
(a smaller step is a clearer violation), then records towards real rows, so that few features
are unusual, then further records towards the first, so that they differ in few features.
Moving records may allow for smaller draws, so these are tried again. Texts lose
phrases and then words, and at last numbers get fewer digits: rounding is cheap to lose,
so it must not stand in the way of the passes before it.

Each pass is greedy: it takes a candidate that still fails the same `ensures` and starts
again from there. Candidates are tried in batches, and the one that is taken is confirmed
alone. A bug costs at most `most` cases (`MOST_TRIED`); when they are spent, the smallest
case so far is the result.

The limits: the result is minimal for these passes at best, not the smallest case there is.
Where a draw must grow for a record to become real, the pass over rows also starts from the
first draws, and no other combination is tried.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from nomos.engine.engine import Engine
from nomos.engine.interpreter import Outcome
from nomos.errors import NomosError
from nomos.results.analysis import Shrunk
from nomos.results.describe import describe_values
from nomos.results.real_rows import RealRows
from nomos.shrinking.passes import (
    nearer_rows,
    rounder_draws,
    shorter_texts,
    smaller_draws,
)
from nomos.shrinking.trying import Candidate, Tester, on_records, rebuild_case

MOST_TRIED = 500  # cases for one bug
_NEAREST_PARTNERS = 20


class Shrinker:
    """Makes bugs of one program smaller."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.program = engine.program
        self.tried = 0
        self.calls = 0
        self._real: RealRows | None = None
        if self.program.rows is not None and self.program.schema is not None:
            self._real = RealRows(self.program.source, self.program.schema)

    def shrink(
        self, choices: tuple[int, ...], failed: int, most: int = MOST_TRIED
    ) -> Shrunk | None:
        """Return a smaller case than that of these choices; None where none was found.

        `failed` is the number of the `ensures` that must still fail.
        """
        inputs = len(self.program.spec.inputs)
        places = choices[:inputs]
        records = tuple(self.program.item(place) for place in places)
        return self.shrink_records(records, places, choices[inputs:], failed, most)

    def shrink_records(
        self,
        records: Sequence[Any],
        rows: Sequence[int],
        draws: tuple[int, ...],
        failed: int,
        most: int = MOST_TRIED,
    ) -> Shrunk | None:
        """Return a smaller case than one whose records need not be those of the source."""
        tester = Tester(self.engine, failed, most)
        case = Candidate(tuple(records), tuple(rows), draws)
        found = None
        if tester.confirm_case(case) is not None:
            found = self._build_result(tester, case, self._shrink_case(tester, case))
        self.tried += tester.tried
        self.calls += tester.calls
        return found

    def _shrink_case(self, tester: Tester, case: Candidate) -> Candidate:
        """Return the smallest case that is found."""
        first, case = case, smaller_draws(tester, case)
        if self._real is not None:
            moved = nearer_rows(tester, case, self._real)
            if _count_features_off(tester, moved) and case.draws != first.draws:
                # A smaller step may need a row that is farther from real ones.
                other = nearer_rows(tester, first, self._real)
                moved = min(
                    (moved, other), key=lambda one: _count_features_off(tester, one)
                )
            moved = self._align_records(tester, moved, self._real)
            # The case that was last run in isolation may be another one: its ranges hold now.
            if tester.confirm_case(moved) is not None:
                case = smaller_draws(tester, moved)
        case = shorter_texts(tester, case)
        return rounder_draws(tester, case)

    def _align_records(
        self, tester: Tester, case: Candidate, real: RealRows
    ) -> Candidate:
        """Replace further records by real rows that are more like the first one.

        Of many rows the nearest are tried, and some among the others; then those between
        the last of these that was too near, and the first that was not.
        """
        for number in range(1, len(case.records)):
            rows = self._rows_nearer_to_first(case, number, real)
            step = len(rows) // _NEAREST_PARTNERS or 1
            near = range(min(len(rows), _NEAREST_PARTNERS))
            places = sorted({*near, *range(0, len(rows), step)})
            while places:
                some = [rows[place] for place in places]
                cases = [case.with_record(number, real.rows[row], row) for row in some]
                found = tester.first_violating(cases)
                if found is None:
                    break
                case, after = cases[found], places[found - 1] + 1 if found else 0
                places = list(range(after, places[found]))[:_NEAREST_PARTNERS]
        return case

    def _rows_nearer_to_first(
        self, case: Candidate, number: int, real: RealRows
    ) -> list[int]:
        """Return the rows that are nearer to the first record, the nearest first.

        Of inputs that belong together, these are the partners of the first of them.
        """
        pair = self.program.pairs.get(number - 1)
        base = 0 if pair is None else number - 1
        first, row = np.asarray(case.records[base]), case.rows[number]
        off, far = real.off(first).sum(axis=1), real.far(first).mean(axis=1)
        mine = real.off(first, case.records[number][None]).sum()
        is_nearer = (off < mine) | ((off == mine) & (far < far[row]))
        if pair is not None:
            which = np.arange(pair.partners[case.rows[base]])
            partners = pair.partner_rows(np.full_like(which, case.rows[base]), which)
            is_nearer &= np.isin(np.arange(len(off)), partners)
        rows: list[int] = [n for n in real.order(first).tolist() if is_nearer[n]]
        return rows

    def _build_result(
        self, tester: Tester, before: Candidate, case: Candidate
    ) -> Shrunk | None:
        """Return the case as data, if it is another one and can be replayed from it."""
        records = tester.describe_records(case)
        again = rebuild_case(self.program, records, case.draws)
        pairs = zip(before.records, case.records, strict=True)
        if all(a is b for a, b in pairs) and before.draws == case.draws:
            return None
        outcome = tester.confirm_case(again)
        if outcome is None:
            return None
        spec, schema = self.program.spec, self.program.schema
        inputs, outputs = describe_values(outcome.values, spec.outputs, schema)
        return Shrunk(
            records=records,
            draws=case.draws,
            failed=outcome.why,
            margin=None if math.isnan(outcome.margin) else outcome.margin,
            inputs=inputs,
            outputs=outputs,
            tried=tester.tried,
        )


def replay_shrunk(engine: Engine, shrunk: Shrunk) -> Outcome:
    """Run a shrunk case alone."""
    try:
        case = rebuild_case(engine.program, shrunk.records, shrunk.draws)
    except (LookupError, TypeError, ValueError, OverflowError) as error:
        why = f"{type(error).__name__}: {error}"
        raise NomosError(f"the shrunk case cannot be made any more: {why}") from None
    choices = (*range(len(case.records)), *shrunk.draws)
    return on_records(engine, [case]).replay(choices)


def _count_features_off(tester: Tester, case: Candidate) -> int:
    """Return how many features are not those of the rows that records are compared with."""
    return sum(len(record.changes) for record in tester.describe_records(case))
