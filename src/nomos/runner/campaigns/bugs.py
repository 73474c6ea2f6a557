"""From the violations of a campaign to its bugs: each new one is run again.

The first violations of a campaign, and a fixed sample of the later ones, are run in isolation.
The sample depends on the numbers of cases only, so it is the same for every batch size,
way and number of workers. The others were run again in a batch of violated cases.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import numpy as np

from nomos.device import Array
from nomos.domain.meter import CallsSpent, Meter
from nomos.engine.cases import KnownCase
from nomos.engine.engine import Engine
from nomos.engine.evaluated import (
    ChunkCrash,
    EvaluatedChunk,
    Violations,
    join_violations,
    no_violations,
)
from nomos.engine.interpreter import NOT_EVALUATED, Verdict
from nomos.engine.samples import repeat_cases
from nomos.results.bugs import BugList, BugNames
from nomos.results.excess import MOST_REPEATS, CaseTest, Repeats
from nomos.results.result import Bug, Counts, Nearest, Subject, failures_of
from nomos.runner.campaigns.violations import How, ViolationTable
from nomos.store.files import KnownNames
from nomos.store.rows import Row

# In a result; more are counted, stored and replayed by their id
MOST_BUGS_KEPT = 10_000
_SPREADING = 0x9E3779B97F4A7C15  # what makes neighbouring numbers unlike
# Of the violations behind the first ones, one in so many is run in isolation
_SAMPLED = 16


@dataclass(frozen=True, slots=True)
class IsolatedRerun:
    """What became of a case that was run in isolation, with its values described."""

    verdict: Verdict
    why: str
    traceback: str
    inputs: Mapping[str, Any]
    outputs: Mapping[str, Any]
    nearest: tuple[Nearest, ...] = ()  # to the records, where they were made
    is_rounded: bool = False  # it is violated at the run's precision, not at float32
    repeats: Repeats | None = None  # of a random model: these decide

    @property
    def is_gone(self) -> bool:
        """Whether it is no bug any more; a crash, or what cannot be drawn, says nothing."""
        if self.repeats is not None:
            return self.repeats.decision == "no bug"
        return self.verdict in (Verdict.PASSED, *NOT_EVALUATED)


def tell_from_chance(
    engine: Engine,
    cases: Sequence[KnownCase],
    rerun: Callable[[KnownCase], IsolatedRerun],
) -> list[IsolatedRerun]:
    """Repeat cases of a random model: which of them fail more often than their controls."""
    tests = [CaseTest(case.rank) for case in cases]
    repeat_cases(engine, cases, tests)
    outcomes = []
    for case, test in zip(cases, tests, strict=True):
        repeats = test.report()
        verdict = Verdict.VIOLATED if repeats.decision == "bug" else Verdict.PASSED
        outcome = IsolatedRerun(verdict, "", "", {}, {}, repeats=repeats)
        if repeats.decision == "bug":
            with suppress(CallsSpent):  # its values are shown, and decide nothing
                outcome = replace(rerun(case), verdict=verdict, repeats=repeats)
        outcomes.append(outcome)
    return outcomes


Confirm = Callable[[Sequence[KnownCase]], list[IsolatedRerun]]


@dataclass(slots=True)
class Taken:
    """What came of the violations of a chunk."""

    bugs: list[Bug] = field(default_factory=list)  # new ones that were run in isolation
    crashes: list[ChunkCrash] = field(default_factory=list)
    stops_at: int | None = None  # the case behind the first bug, where that is the end


def no_totals() -> Any:
    """Return counts that can be added to, by the names of `Counts`."""
    return SimpleNamespace(**asdict(Counts()))


class Bugs:
    """The violations of a campaign, deduplicated, re-run and counted."""

    def __init__(
        self,
        subject: Subject,
        table: ViolationTable,
        *,
        confirm: int | None,
        until_bug: bool,
        totals: Any = None,
        has_control: bool = False,
    ) -> None:
        self.subject = subject
        self.table = table
        self.most_isolated = confirm
        self.most_rerun: int | None = None  # as far as the calls of the model go
        self.until_bug = until_bug
        self.known: KnownNames | None = None  # names of the cases that are known bugs
        self.totals = totals or no_totals()
        # Whether a random model is tested against chance
        self.has_control = has_control
        self.uncontrolled = 0  # violations of cases that ask about one input only
        self._kept: dict[int, Bug] = {}  # by their places in the table
        self._unnamed: list[tuple[Array, Violations]] = []  # with their places
        self._left = MOST_BUGS_KEPT  # how many more are kept
        self.unsaved: list[Row] = []  # since the last checkpoint
        self.is_stored = False  # whether a store takes away what is unsaved
        settings = dict(subject.settings)
        self._bug_names = BugNames(subject.spec, subject.model, settings)
        self._case_names = BugNames(subject.spec, "", settings)

    def limit_reruns(self, meter: Meter, calls: int) -> None:
        """Limit how many cases of so many calls are run again, as the meter says."""
        runs = 2 * MOST_REPEATS if self.has_control else 1
        self.most_rerun = meter.most_rerun(runs * calls)

    def count_pairs(self, evaluated: EvaluatedChunk, end: int) -> None:
        """Count the first cases that have a verdict, and so has their control."""
        if evaluated.control is None:
            return
        totals = self.totals
        ours, theirs = evaluated.verdicts[:end], evaluated.control[:end]
        has_none = (ours == Verdict.VIOLATED) & (theirs == Verdict.UNCHANGED)
        self.uncontrolled += int(has_none.sum())
        pairs = (ours <= Verdict.VIOLATED) & (theirs <= Verdict.VIOLATED)
        ours, theirs = (one[pairs] == Verdict.VIOLATED for one in (ours, theirs))
        totals.pairs += len(ours)
        totals.only_violated += int((ours & ~theirs).sum())
        totals.only_control += int((theirs & ~ours).sum())
        totals.both_violated += int((ours & theirs).sum())

    def describe_missing_control(self) -> str:
        """Say that the control of violated cases would be the case itself; "" if of none."""
        if not self.uncontrolled:
            return ""
        return (
            f"{self.uncontrolled} of {self.totals.violations} violated cases ask a random model"
            " about one input only, so they have no A/A control: leave such cases out"
            " (`requires`), or say `repeats 10;` in the spec"
        )

    def take(self, found: Violations, confirm: Confirm) -> Taken:
        """Take in violations of a chunk, whose rows are numbers of cases."""
        places, fresh = self.table.places(found)
        new = found if len(fresh) == len(found) else found.take(fresh)
        taken = Taken()
        how = self._run_again(new, confirm, taken)
        if taken.stops_at is not None:  # later ones are as if they had not been met
            new = new.take(slice(len(how)))
            kept = found.rows < taken.stops_at
            found, places = found.take(np.flatnonzero(kept)), places[kept]
        self.table.add(how, new)
        self._count(places, found)
        return taken

    def _run_again(self, new: Violations, confirm: Confirm, taken: Taken) -> Array:
        """Decide of each new violation what it is; return that for those that count."""
        how = np.where(new.reproduced, How.BATCH, How.FLAKY).astype(np.int8)
        if self.has_control:
            how[:] = How.CHANCE
        alone = self._choose_bugs_to_rerun(new.rows)
        step = 1 if self.until_bug else max(1, len(alone))
        outcomes: list[IsolatedRerun] = []
        for start in range(0, len(alone), step):
            some = alone[start : start + step]
            ranks = enumerate(some, self.totals.isolated_reruns + start + 1)
            ran = confirm([new.case_of(n)._replace(rank=rank) for rank, n in ranks])
            outcomes += ran
            if len(ran) < len(some):
                break
            if self.until_bug and _how(outcomes[-1]) is How.ISOLATED:
                how = how[: some[-1] + 1]
                taken.stops_at = int(new.rows[some[-1]]) + 1
                break
        # Not before all were run: a signal meanwhile must not leave half of them noted.
        alone = alone[: len(outcomes)]
        self.totals.isolated_reruns += len(alone)
        for number, outcome in zip(alone, outcomes, strict=True):
            how[number] = _how(outcome)
            self.totals.rounded += outcome.is_rounded
            self._note_isolated(new, number, outcome, taken)
        self._note_others(new, how, alone)
        return how

    def _choose_bugs_to_rerun(self, cases: Array) -> list[int]:
        """Return which new violations are run in isolation, by their rank and case number."""
        limits = [n for n in (self.most_isolated, self.most_rerun) if n is not None]
        if self.until_bug or not limits:
            left = len(cases)
            if self.most_rerun is not None:
                left = min(left, self.most_rerun - self.totals.isolated_reruns)
            return list(range(left))
        most_isolated = min(limits)
        first = max(1, most_isolated // 3)
        left = most_isolated - self.totals.isolated_reruns
        ranks = max(0, min(len(cases), first - self.table.count))
        chosen = list(range(ranks))
        if len(chosen) < left:
            mixed = cases[ranks:].astype(np.uint64) * np.uint64(_SPREADING)
            mixed = mixed >> np.uint64(40)
            sampled = ranks + np.flatnonzero(mixed % np.uint64(_SAMPLED) == 0)
            chosen += sampled[: left - len(chosen)].tolist()
        return chosen

    def _note_isolated(
        self, new: Violations, number: int, outcome: IsolatedRerun, taken: Taken
    ) -> None:
        how = _how(outcome)
        if how is How.CRASHED:
            case = int(new.rows[number]), new.choices_of(number)
            taken.crashes.append(ChunkCrash(*case, outcome.why, outcome.traceback))
        bug = self._note(new, number, how, outcome)
        if how is How.ISOLATED:
            taken.bugs.append(bug)

    def _note_others(self, new: Violations, how: Array, alone: list[int]) -> None:
        """Count the violations that were run again in a batch, and keep some."""
        others = np.delete(np.arange(len(how)), alone)
        if self.is_stored or self.known:
            for number in others.tolist():
                self._note(new, number, How(how[number]), None)
            return
        bugs = others[how[others] == How.BATCH]
        self.totals.unique_bugs += len(bugs)
        self.totals.new_bugs += len(bugs)
        self.totals.repeated += len(bugs)
        # Their names wait till the end: most campaigns have many and show a few.
        some = bugs[: self._left]
        if len(some):
            self._left -= len(some)
            self._unnamed.append((self.table.count + some, new.take(some)))

    def _note(
        self, new: Violations, number: int, how: How, outcome: IsolatedRerun | None
    ) -> Bug:
        """Count a new violation, and keep it where there is room."""
        bug = self._bug(new, number, outcome)
        if how <= How.BATCH:
            if self.known and self._case_names(bug.choices) in self.known:
                bug = replace(bug, is_new=False)
            self.totals.unique_bugs += 1
            self.totals.new_bugs += bug.is_new
            self.totals.confirmed += how is How.ISOLATED
            self.totals.repeated += how is How.BATCH
            self.keep(self.table.count + number, bug)
        if self.is_stored:
            self.unsaved.append(Row(bug, how))
        return bug

    def _bug(
        self,
        found: Violations,
        number: int,
        outcome: IsolatedRerun | None = None,
        seen: int = 1,
    ) -> Bug:
        """Return one violation, with its values where it was run in isolation."""
        choices, records, _ = found.case_of(number)
        failures = failures_of(int(found.failed[number]))
        margin = float(found.margins[number])
        bug = Bug(
            id=self._bug_names(choices),
            case=int(found.rows[number]),
            choices=choices,
            failed=self.subject.ensures[failures[0]].text,
            failures=failures,
            margin=None if math.isnan(margin) else margin,
            seen=seen,
            confirmed="batch",
            records=records,
        )
        if outcome is None:
            return bug
        known = ("inputs", "outputs", "nearest", "repeats")
        values = {name: getattr(outcome, name) for name in known}
        return replace(bug, confirmed="isolated", **values)

    def keep(self, place: int, bug: Bug) -> None:
        """Keep a bug for the result, while there is room."""
        if self._left > 0:
            self._left -= 1
            self._kept[place] = bug

    def _count(self, places: Array, found: Violations) -> None:
        """Count the violations of a chunk by what became of them."""
        totals, is_unique = self.totals, places >= 0
        how = self.table.count_met(places[is_unique], touch=self.is_stored)
        totals.violations += int(((how <= How.BATCH) | (how == How.CHANCE)).sum())
        totals.flaky += int((how == How.FLAKY).sum())
        totals.crashed += int((how == How.CRASHED).sum())
        # Too many to deduplicate: those that failed again count
        if not is_unique.all():
            back = int(found.reproduced[~is_unique].sum())
            totals.violations += back
            totals.flaky += int((~is_unique).sum()) - back
            if not self.table.repeats:
                totals.unique_bugs += back
                totals.repeated += back
                totals.new_bugs += back

    def finish_bugs(self) -> Sequence[Bug]:
        """Return the bugs that are kept, each with how often it was met."""
        named = np.array(list(self._kept), dtype=np.int64)
        places = np.concatenate([named, *(places for places, _ in self._unnamed)])
        order = np.argsort(places)
        seen = self.table.count_seen(places[order])
        bugs = list(self._kept.values())
        unnamed = [found for _, found in self._unnamed]
        found = join_violations(unnamed or [no_violations()])

        def bug(number: int) -> Bug:
            at, times = int(order[number]), seen[number]
            if at < len(bugs):
                return replace(bugs[at], seen=times)
            return self._bug(found, at - len(bugs), seen=times)

        alone = np.flatnonzero(order < len(bugs)).tolist()
        return BugList(len(order), bug, alone)


def _how(outcome: IsolatedRerun) -> How:
    if outcome.repeats is not None:
        return How.ISOLATED if outcome.repeats.decision == "bug" else How.CHANCE
    known = {Verdict.VIOLATED: How.ISOLATED, Verdict.CRASHED: How.CRASHED}
    return known.get(outcome.verdict, How.FLAKY)
