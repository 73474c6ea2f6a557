"""From the violations of a campaign to its bugs: each new one is run again.

The first violations of a campaign, and a fixed sample of the later ones, are run alone.
The sample depends on the numbers of cases only, so it is the same for every batch size,
way and number of workers. The others were run again in a batch of violated cases.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from nomos.engine.alone import Verdict
from nomos.engine.judged import CrashedCase, Violations
from nomos.results.identity import BugNames
from nomos.results.result import Bug, Subject
from nomos.runner.campaigns.violations import How, ViolationTable
from nomos.store.store import Row

Array = np.ndarray[Any, Any]
MOST_BUGS_KEPT = (
    10_000  # in a result; more are counted, stored and replayed by their id
)
_SPREADING = 0x9E3779B97F4A7C15  # what makes neighbouring numbers unlike
_SAMPLED = 16  # of the violations behind the first ones, one in so many is run alone


@dataclass(frozen=True, slots=True)
class RunAlone:
    """What became of a case that was run alone, with its values described."""

    verdict: Verdict
    why: str
    traceback: str
    inputs: Mapping[str, Any]
    outputs: Mapping[str, Any]
    is_rounded: bool = False  # it is violated at the run's precision, not at float32


Confirm = Callable[[Sequence[tuple[int, ...]]], list[RunAlone]]


@dataclass(slots=True)
class BugTotals:
    """What is counted of violations."""

    violations: int = 0
    unique_bugs: int = 0
    new_bugs: int = 0
    confirmed: int = 0
    repeated: int = 0
    run_alone: int = 0
    unstable: int = 0
    rounded: int = 0
    crashed: int = 0  # violations that crashed when run alone


class _Unnamed(NamedTuple):
    """A violation as it was found, before it has a name."""

    case: int
    choices: tuple[int, ...]
    mask: int  # a bit for each `ensures` that does not hold
    gap: float | None


@dataclass(slots=True)
class Taken:
    """What came of the violations of a chunk."""

    bugs: list[Bug] = field(default_factory=list)  # new ones that were run alone
    crashes: list[CrashedCase] = field(default_factory=list)
    stops_at: int | None = None  # the row behind the first bug, where that is the end


class Bugs:
    """The violations of a campaign, told apart, run again and counted."""

    def __init__(
        self,
        subject: Subject,
        table: ViolationTable,
        *,
        confirm: int | None,
        until_bug: bool,
        known: frozenset[str] = frozenset(),
    ) -> None:
        self.subject = subject
        self.table = table
        self.most_alone = confirm
        self.until_bug = until_bug
        self.known = known  # names of the cases that are known bugs
        self.totals = BugTotals()
        self.kept: list[tuple[int, Bug | _Unnamed]] = []  # with places in the table
        self.unsaved: list[Row] = []  # since the last checkpoint
        self.is_stored = False  # whether a store takes away what is unsaved
        settings = dict(subject.settings)
        self._bug_names = BugNames(subject.spec, subject.model, settings)
        self._case_names = BugNames(subject.spec, "", settings)

    def take(self, found: Violations, first: int, confirm: Confirm) -> Taken:
        """Take in violations of a chunk, whose first case has the number `first`."""
        before = self.table.count
        places = self.table.places(found)
        fresh = np.flatnonzero(places >= before)
        _, firsts = np.unique(places[fresh], return_index=True)
        new = found.take(fresh[firsts])
        taken = Taken()
        how = self._run_again(new, first, confirm, taken)
        count = len(how)
        if taken.stops_at is not None:  # later ones are as if they had not been met
            new = new.take(np.arange(count))
            kept = found.rows < taken.stops_at
            found, places = found.take(np.flatnonzero(kept)), places[kept]
        self.table.add(before + np.arange(count), new.rows + first, how, new)
        self._count(places, found)
        return taken

    def _run_again(
        self, new: Violations, first: int, confirm: Confirm, taken: Taken
    ) -> Array:
        """Decide of each new violation what it is; return that for those that count."""
        how = np.where(new.came_back, How.BATCH, How.UNSTABLE).astype(np.int8)
        alone = self._chosen(new.rows + first)
        step = 1 if self.until_bug else max(1, len(alone))
        for start in range(0, len(alone), step):
            some = alone[start : start + step]
            outcomes = confirm([new.choices_of(number) for number in some])
            self.totals.run_alone += len(some)
            self.totals.rounded += sum(outcome.is_rounded for outcome in outcomes)
            for number, outcome in zip(some, outcomes, strict=True):
                how[number] = _how(outcome)
                self._note_alone(new, number, first, outcome, taken)
            if self.until_bug and how[some[-1]] == How.ALONE:
                how = how[: some[-1] + 1]
                taken.stops_at = int(new.rows[some[-1]]) + 1
                break
        self._note_others(new, how, first, set(alone))
        return how

    def _chosen(self, cases: Array) -> list[int]:
        """Return which new violations are run alone, by their rank and case number."""
        if self.most_alone is None or self.until_bug:
            return list(range(len(cases)))
        first = max(1, self.most_alone // 3)
        left = self.most_alone - self.totals.run_alone
        ranks = max(0, min(len(cases), first - self.table.count))
        chosen = list(range(ranks))
        if len(chosen) < left:
            mixed = (
                cases[ranks:].astype(np.uint64) * np.uint64(_SPREADING)
            ) >> np.uint64(40)
            sampled = ranks + np.flatnonzero(mixed % np.uint64(_SAMPLED) == 0)
            chosen += sampled[: left - len(chosen)].tolist()
        return chosen

    def _note_alone(
        self, new: Violations, number: int, first: int, outcome: RunAlone, taken: Taken
    ) -> None:
        how = _how(outcome)
        if how is How.CRASHED:
            crash = CrashedCase(
                int(new.rows[number]),
                new.choices_of(number),
                outcome.why,
                outcome.traceback,
            )
            taken.crashes.append(crash)
        bug = self._note(new, number, first, how, outcome)
        if bug is not None and how is How.ALONE:
            taken.bugs.append(bug)

    def _note_others(
        self, new: Violations, how: Array, first: int, alone: set[int]
    ) -> None:
        """Count the violations that were run again in a batch, and keep some."""
        others = np.array([n for n in range(len(how)) if n not in alone], dtype=int)
        if self.is_stored or self.known:
            for number in others.tolist():
                self._note(new, number, first, How(how[number]), None)
            return
        bugs = others[how[others] == How.BATCH]
        self.totals.unique_bugs += len(bugs)
        self.totals.new_bugs += len(bugs)
        self.totals.repeated += len(bugs)
        # Their names wait till the end: most campaigns have many and show a few.
        some = bugs[: MOST_BUGS_KEPT - len(self.kept)]
        places = (self.table.count + some).tolist()
        self.kept += zip(places, _unnamed(new.take(some), first), strict=True)

    def _note(
        self,
        new: Violations,
        number: int,
        first: int,
        how: How,
        outcome: RunAlone | None,
    ) -> Bug | None:
        """Count a new violation, and keep it where there is room."""
        bug = None
        (found,) = _unnamed(new.take(np.array([number])), first)
        if how <= How.BATCH:
            known = self.known and self._case_names(found.choices) in self.known
            self.totals.unique_bugs += 1
            self.totals.new_bugs += not known
            self.totals.confirmed += how is How.ALONE
            self.totals.repeated += how is How.BATCH
            bug = self._bug(found, outcome, is_new=not known)
            self.keep(self.table.count + number, bug)
        if self.is_stored:
            self.unsaved.append(
                Row(
                    case=found.case,
                    choices=found.choices,
                    seen=1,
                    how=how,
                    mask=found.mask,
                    gap=found.gap,
                    bug=bug,
                )
            )
        return bug

    def _bug(
        self,
        found: _Unnamed,
        outcome: RunAlone | None,
        *,
        is_new: bool = True,
        seen: int = 1,
    ) -> Bug:
        mask = found.mask
        failures = tuple(n for n in range(mask.bit_length()) if mask >> n & 1)
        return Bug(
            id=self._bug_names(found.choices),
            case=found.case,
            choices=found.choices,
            failed=self.subject.ensures[failures[0]].text,
            failures=failures,
            gap=found.gap,
            seen=seen,
            confirmed="batch" if outcome is None else "alone",
            is_new=is_new,
            inputs={} if outcome is None else outcome.inputs,
            outputs={} if outcome is None else outcome.outputs,
        )

    def keep(self, place: int, bug: Bug) -> None:
        """Keep a bug for the result, while there is room."""
        if len(self.kept) < MOST_BUGS_KEPT:
            self.kept.append((place, bug))

    def _count(self, places: Array, found: Violations) -> None:
        """Count the violations of a chunk by what became of them."""
        totals, told = self.totals, places >= 0
        how = self.table.count_met(places[told], touch=self.is_stored)
        totals.violations += int((how <= How.BATCH).sum())
        totals.unstable += int((how == How.UNSTABLE).sum())
        totals.crashed += int((how == How.CRASHED).sum())
        if not told.all():  # too many to be told apart: those that came back count
            back = int(found.came_back[~told].sum())
            totals.violations += back
            totals.unstable += int((~told).sum()) - back
            if not self.table.repeats:
                totals.unique_bugs += back
                totals.repeated += back
                totals.new_bugs += back

    def finished(self) -> tuple[Bug, ...]:
        """Return the bugs that are kept, each with how often it was met."""
        kept = sorted(self.kept, key=lambda pair: pair[0])
        times = self.table.seen(np.array([place for place, _ in kept], dtype=int))
        return tuple(
            replace(bug, seen=seen)
            if isinstance(bug, Bug)
            else self._bug(bug, None, seen=seen)
            for (_, bug), seen in zip(kept, times, strict=True)
        )


def _unnamed(found: Violations, first: int) -> list[_Unnamed]:
    """Return violations one by one; their chunk's first case has the number `first`."""
    return [
        _Unnamed(
            case,
            tuple(choices[:length]),
            mask,
            None if math.isnan(gap) else gap,
        )
        for case, choices, length, mask, gap in zip(
            (found.rows + first).tolist(),
            found.choices.tolist(),
            found.lengths.tolist(),
            found.failed.tolist(),
            found.gaps.tolist(),
            strict=True,
        )
    ]


def _how(outcome: RunAlone) -> How:
    match outcome.verdict:
        case Verdict.VIOLATED:
            return How.ALONE
        case Verdict.CRASHED:
            return How.CRASHED
        case _:
            return How.UNSTABLE
