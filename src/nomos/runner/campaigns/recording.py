"""A campaign written down while it runs, so that a killed one can go on."""

from __future__ import annotations

import math
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from nomos.engine.cases import KnownCase
from nomos.engine.evaluated import Violations
from nomos.engine.interpreter import Verdict
from nomos.errors import NomosError, StoreError
from nomos.results.reading import decode_value
from nomos.results.result import Recorded, Result, Subject
from nomos.runner.campaigns.bugs import Confirm
from nomos.runner.campaigns.campaign import Campaign
from nomos.runner.campaigns.fingerprint import changes
from nomos.runner.campaigns.plans.planning import Generations
from nomos.store.files import KnownNames, add_known, case_name, load_known, save_cases
from nomos.store.rows import Row
from nomos.store.store import Store, Unfinished

_CHECKPOINT_S = 1.0  # how much work a killed campaign may lose
_SHARE = 0.05  # of its time that a campaign may spend on checkpoints
_RETRY_S = 5.0  # how long recorded bugs are tried before the campaign begins
_MOST_RETRIED = 100
_MOST_KNOWN_KEPT = 10_000  # names of known bugs in a checkpoint
_RETRIED_AT_ONCE = 10


@dataclass(slots=True)
class Recording:
    """A campaign's record; a store that fails costs the record, not the campaign."""

    store: Store
    campaign: Campaign
    warn: Callable[[str], None]
    remembered: Callable[[], Any] = lambda: None  # what its worker knows of answers
    id: int | None = None  # of the campaign in the store
    done: Result | None = None  # of a campaign that had ended when its run was killed
    _retries: bool = False
    _due: float = field(default_factory=lambda: time.perf_counter() + _CHECKPOINT_S)

    def begin(self, *, retry: bool) -> None:
        """Open the record, or go on with that of the same campaign if it was killed.

        With `retry`, a new campaign will try the bugs of earlier ones. Raises
        NomosError where the campaign cannot go on as it began.
        """
        campaign = self.campaign
        with self._or_without("this campaign is not stored"):
            campaign.bugs.known = load_known(self._folder, campaign.subject.spec)
            if campaign.options.resume:
                if self._go_on(retry=retry):
                    self._keep_count_of_calls()
                    return
                spec = campaign.subject.spec
                self.warn(f"{spec}: there is nothing to resume, so it starts anew")
            campaign.bugs.is_stored = True
            self.id = self.store.begin(campaign.result())
            self._retries = retry
            self._keep_count_of_calls()

    def _keep_count_of_calls(self) -> None:
        """Keep the count of calls that are limited: a kill does not give them back."""
        if self.campaign.meter.limit is not None:
            self.campaign.meter.note = self._note_calls

    def _note_calls(self, calls: int) -> None:
        if self.id is not None:
            with self._or_without("the store failed, so the rest is not stored"):
                self.store.note_calls(self.id, calls)

    def retry(self, confirm: Confirm) -> None:
        """Try the open bugs that earlier campaigns recorded, where that is due.

        What became of them is written at once, for a campaign that goes on later.
        """
        if self.id is not None and self._retries:
            with self._or_without("this campaign is not stored"):
                self.campaign.recorded = recorded = self._retry(self.id, confirm)
                for bug in recorded.fixed:
                    self.store.mark(bug, "fixed")
                self._write(self.campaign.result(), finished=False)

    @property
    def _folder(self) -> Any:
        return self.store.path.parent

    @contextmanager
    def _or_without(self, said: str) -> Iterator[None]:
        """Let the campaign go on without its record where the store fails."""
        try:
            yield
        except StoreError as error:
            self.warn(f"{said}: {error}")
            self.id, self.campaign.bugs.is_stored = None, False

    def _go_on(self, *, retry: bool) -> bool:
        """Take up the same campaign where it was killed; False where there is none."""
        campaign = self.campaign
        how = campaign.seed, campaign.options.cases, campaign.plan.search
        found = self.store.find_unfinished(campaign.subject, *how)
        if found is None:
            return False
        changed = changes(found.result.fingerprint, campaign.about.fingerprint)
        if changed:
            raise NomosError(
                f"{campaign.subject.spec} cannot be resumed: since it was begun,"
                f" {' and '.join(changed)} changed\nhelp: run it anew, without --resume"
            )
        campaign.bugs.is_stored = True
        self.id = found.id
        if found.is_finished:
            self.done, campaign.stop = found.result, found.result.reason or "it ended"
            return True
        self._retries = retry and not found.state  # it had not come to them
        rows = self.store.rows(found.id)
        try:
            restore(campaign, found, rows)
        except (ArithmeticError, LookupError, TypeError, ValueError, zlib.error) as why:
            raise NomosError(
                f"{campaign.subject.spec} cannot be resumed: what is stored of it is"
                f" damaged ({type(why).__name__}: {why})\nhelp: run it anew, without --resume"
            ) from None
        return True

    def _retry(self, id: int, confirm: Confirm) -> Recorded:
        """Run recorded bugs alone; tell which are gone."""
        subject = self.campaign.subject
        which: dict[str, Any] = {"spec": subject.spec, "model": subject.model}
        which |= {"status": "open", "before": id, "limit": _MOST_RETRIED}
        records = self.store.bugs(**which)
        settings = dict(subject.settings)
        mine = [one for one in records if dict(one.subject.settings) == settings]
        # As they were found: then none of a random model needs more repeats than before.
        mine.sort(key=lambda record: (record.campaign, record.bug.case))
        began = time.perf_counter()
        known = self.campaign.bugs.known or ()
        tried, still, new, fixed = 0, 0, 0, []
        for first in range(0, len(mine), _RETRIED_AT_ONCE):
            if time.perf_counter() - began > _RETRY_S:
                break
            some = mine[first : first + _RETRIED_AT_ONCE]
            cases = [
                KnownCase(record.bug.choices, record.bug.records, rank)
                for rank, record in enumerate(some, tried + 1)
            ]
            try:
                outcomes = confirm(cases)
            except NomosError:
                break  # the campaign itself will say so
            tried += len(outcomes)
            for record, outcome in zip(some, outcomes, strict=False):
                if outcome.verdict is Verdict.VIOLATED:
                    name = case_name(subject, record.bug.choices)
                    still, new = still + 1, new + (name not in known)
                if outcome.is_gone:
                    fixed.append(record.bug.id)
            if len(outcomes) < len(some):
                break  # the calls are used up
        return Recorded(tried, tuple(fixed), still, new)

    def progress(self) -> None:
        """Write what is new, now and then."""
        is_due = time.perf_counter() > self._due
        if self.id is not None and is_due and self.campaign.can_resume:
            self._write(self.campaign.result(), finished=False)

    def finish(self, result: Result) -> None:
        """Write the rest; a campaign that was stopped from outside can be resumed."""
        if self.id is None:
            return
        stopped = self.campaign.is_stopped
        if self.done is None and not self._write_end(result, stopped=stopped):
            return
        bugs, options = self.campaign.bugs, self.campaign.options
        if options.accept and bugs.is_stored and not stopped:
            self._accept(self.id, result.subject)

    def _write_end(self, result: Result, *, stopped: bool) -> bool:
        """Write the rest; False in the middle of a range: the last checkpoint holds."""
        if stopped and not self.campaign.can_resume:
            return False
        self._write(result, finished=not stopped)
        return True

    def _write(self, result: Result, *, finished: bool) -> None:
        assert self.id is not None
        campaign, began = self.campaign, time.perf_counter()
        new, campaign.bugs.unsaved = campaign.bugs.unsaved, []
        known = None if finished else self.remembered() or campaign.remembered
        with self._or_without("the store failed, so the rest is not stored"):
            self.store.checkpoint(
                self.id,
                result,
                vars(_checkpoint_of(campaign, known)),
                new=new,
                seen=campaign.bugs.table.take_touched(),
                shrunk=[bug for bug in result.bugs if bug.shrunk is not None],
                finished=finished,
            )
        ended = time.perf_counter()
        self._due = ended + max(_CHECKPOINT_S, (ended - began) / _SHARE)

    def _accept(self, id: int, subject: Subject) -> None:
        """Keep the bugs in the files that go into the repository."""
        try:
            bugs = [row.bug for row in self.store.rows(id) if row.is_bug]
            if bugs:
                save_cases(self._folder, subject, bugs)
                names = (case_name(subject, bug.choices) for bug in bugs)
                add_known(self._folder, subject.spec, names)
        except StoreError as error:
            self.warn(f"the bugs are not kept for the repository: {error}")


@dataclass(frozen=True)
class Checkpoint:
    """What a result does not say of a campaign, and resuming needs."""

    next_case: int
    next_first: int
    reasons: Mapping[str, int]
    stop: str = ""
    problem: str = ""
    sample: str = ""
    known: str | None = None  # the names of known bugs as it began, where they are few
    reached: int = -1  # unknown of older ones: all
    uncontrolled: int = 0
    spent: int = 0
    asked_again: int = 0
    cost: float | None = None
    asked: Mapping[Any, int] = field(default_factory=dict)  # by what for
    raised: Mapping[str, int] = field(default_factory=dict)
    rates: Any = None
    remembered: Any = None  # what is known of answers
    learned: Any = None  # by a search, which reads it


def _checkpoint_of(campaign: Campaign, remembered: Any) -> Checkpoint:
    """Return where a campaign is."""
    bugs, plan = campaign.bugs, campaign.plan
    is_short = bugs.known is not None and len(bugs.known) <= _MOST_KNOWN_KEPT
    return Checkpoint(
        campaign.next_case,
        campaign.next_first,
        dict(campaign.reasons),
        # One that is over may have ended within a range, whose cases are not run again.
        stop="" if campaign.is_stopped else campaign.stop,
        problem="" if campaign.is_stopped else campaign.problem,
        sample=campaign.sample.text(),
        known=bugs.known.lines().decode() if bugs.known and is_short else None,
        reached=campaign.reached,
        uncontrolled=bugs.uncontrolled,
        spent=campaign.spent,
        asked_again=campaign.asked_again,
        cost=plan.cost,
        asked=dict(campaign.meter.asked),
        raised=dict(campaign.meter.raised),
        rates=campaign.rates.to_json(),
        remembered=remembered,
        learned=plan.state() if isinstance(plan, Generations) else None,
    )


def restore(campaign: Campaign, found: Unfinished, rows: list[Row]) -> None:
    """Bring a campaign to where a killed one had come."""
    campaign.recorded, asked = found.result.recorded, campaign.meter.asked
    # Without a state it was killed before its first checkpoint.
    empty = {"next_case": 0, "next_first": 0, "reasons": {}}
    at: Checkpoint = decode_value(Checkpoint, found.state or empty)
    asked.update(at.asked)
    asked["before a kill"] += max(0, found.asked - sum(at.asked.values()))
    if not found.state:
        return
    vars(campaign.totals).update(asdict(found.result.counts))
    campaign.seconds_before = found.result.counts.seconds
    campaign.reasons.update(at.reasons)
    if at.sample:
        campaign.sample.restore(at.sample)
    campaign.crashes.update({crash.error: crash for crash in found.result.crashes})
    campaign.bugs.uncontrolled = at.uncontrolled
    if at.known is not None:  # as it began: another seed may have found more since
        campaign.bugs.known = KnownNames(np.array(at.known.split(), dtype=bytes))
    for name in ("reached", "spent", "asked_again", "remembered"):
        setattr(campaign, name, getattr(at, name))
    campaign.rates.restore(at.rates)
    campaign.plan.cost = at.cost
    campaign.meter.raised.update(at.raised)
    campaign.go_on(at.next_case, at.next_first, at.stop)
    campaign.problem = at.problem
    if isinstance(campaign.plan, Generations):
        campaign.plan.restore(at.learned)
    _restore_bugs(campaign, rows)


def _restore_bugs(campaign: Campaign, rows: list[Row]) -> None:
    """Bring a campaign's table of violations, and its bugs, to where they were."""
    bugs = [row.bug for row in rows]
    violations = Violations.of(
        [bug.case for bug in bugs],
        [bug.choices for bug in bugs],
        [bug.mask for bug in bugs],
        [math.nan if bug.margin is None else bug.margin for bug in bugs],
    )
    campaign.bugs.table.recall(
        np.array([row.how for row in rows], dtype=np.int8),
        np.array([bug.seen for bug in bugs], dtype=np.int64),
        violations,
    )
    for place, row in enumerate(rows):
        if row.is_bug:
            campaign.bugs.keep(place, row.bug)
