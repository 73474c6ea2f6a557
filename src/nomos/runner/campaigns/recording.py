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
        found = self.store.find_unfinished(
            campaign.subject,
            campaign.seed,
            campaign.options.cases,
            campaign.plan.search,
        )
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
        records = self.store.bugs(
            spec=subject.spec,
            model=subject.model,
            status="open",
            before=id,
            limit=_MOST_RETRIED,
        )
        mine = [
            r for r in records if dict(r.subject.settings) == dict(subject.settings)
        ]
        # As they were found: then none of a random model needs more repeats than before.
        mine.sort(key=lambda record: (record.campaign, record.bug.case))
        began = time.perf_counter()
        known = self.campaign.bugs.known or ()
        tried, still, new, fixed = 0, 0, 0, []
        for first in range(0, len(mine), _RETRIED_AT_ONCE):
            if time.perf_counter() - began > _RETRY_S:
                break
            some = mine[first : first + _RETRIED_AT_ONCE]
            try:
                bugs = [record.bug for record in some]
                outcomes = confirm(
                    [
                        KnownCase(bug.choices, bug.records, rank)
                        for rank, bug in enumerate(bugs, tried + 1)
                    ]
                )
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
        state = _state(campaign)
        if not finished:
            state["remembered"] = self.remembered() or campaign.remembered
        with self._or_without("the store failed, so the rest is not stored"):
            self.store.checkpoint(
                self.id,
                result,
                state,
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


_ABSENT: dict[Any, Any] = {int: 0, str: "", Mapping[str, int]: {}}
_KINDS: dict[str, Any] = {  # of a state; what is learned, its search reads
    **dict.fromkeys(
        ("next_case", "next_first", "reached", "spent", "uncontrolled"), int
    ),
    "asked_again": int,
    **dict.fromkeys(("sample", "known", "stop", "problem"), str),
    "cost": float | None,
    **dict.fromkeys(("reasons", "asked", "raised"), Mapping[str, int]),
}


def _state(campaign: Campaign) -> dict[str, Any]:
    """Return what a result does not say, and resuming needs."""
    state = {
        "next_case": campaign.next_case,
        "next_first": campaign.next_first,
        # One that is over may have ended within a range, whose cases are not run again.
        "stop": "" if campaign.is_stopped else campaign.stop,
        "problem": "" if campaign.is_stopped else campaign.problem,
        "reasons": dict(campaign.reasons),
        "sample": campaign.sample.text(),
        "reached": campaign.reached,
        "uncontrolled": campaign.bugs.uncontrolled,
        "rates": campaign.rates.to_json(),
        "spent": campaign.spent,
        "asked_again": campaign.asked_again,
        "cost": campaign.plan.cost,
        "asked": dict(campaign.meter.asked),
        "raised": dict(campaign.meter.raised),
    }
    known = campaign.bugs.known
    if known is not None and len(known) <= _MOST_KNOWN_KEPT:
        state["known"] = known.lines().decode()
    if isinstance(campaign.plan, Generations):
        state["learned"] = campaign.plan.state()
    return state


def restore(campaign: Campaign, found: Unfinished, rows: list[Row]) -> None:
    """Bring a campaign to where a killed one had come."""
    result, state, asked = found.result, found.state, campaign.meter.asked
    campaign.recorded = result.recorded
    asked.update(known := decode_value(Mapping[str, int], state.get("asked", {})))
    asked["before a kill"] += max(0, found.asked - sum(known.values()))
    if not state:
        return  # killed before its first checkpoint
    for name, kind in _KINDS.items():
        decode_value(kind, state.get(name, _ABSENT.get(kind)))
    vars(campaign.totals).update(asdict(result.counts))
    campaign.seconds_before = result.counts.seconds
    campaign.reasons.update(state["reasons"])
    if "sample" in state:
        campaign.sample.restore(state["sample"])
    campaign.crashes.update({crash.error: crash for crash in result.crashes})
    campaign.reached = state.get("reached", -1)  # unknown of older ones: all
    campaign.bugs.uncontrolled = state.get("uncontrolled", 0)
    if "known" in state:  # as it began: another seed may have found more since
        campaign.bugs.known = KnownNames(np.array(state["known"].split(), dtype=bytes))
    campaign.rates.restore(state.get("rates"))
    campaign.spent = state.get("spent", 0)
    campaign.asked_again = state.get("asked_again", 0)
    campaign.plan.cost = state.get("cost")
    campaign.remembered = state.get("remembered")
    campaign.meter.raised.update(state.get("raised", {}))
    campaign.go_on(state["next_case"], state["next_first"], state.get("stop", ""))
    campaign.problem = state.get("problem", "")
    if isinstance(campaign.plan, Generations):
        campaign.plan.restore(state["learned"])
    _restore_bugs(campaign, rows)


def _restore_bugs(campaign: Campaign, rows: list[Row]) -> None:
    """Bring a campaign's table of violations, and its bugs, to where they were."""
    bugs = [row.bug for row in rows]
    violations = Violations.of(
        range(len(rows)),
        [bug.choices for bug in bugs],
        [bug.mask for bug in bugs],
        [math.nan if bug.margin is None else bug.margin for bug in bugs],
    )
    campaign.bugs.table.recall(
        np.array([bug.case for bug in bugs], dtype=np.int64),
        np.array([row.how for row in rows], dtype=np.int8),
        np.array([bug.seen for bug in bugs], dtype=np.int64),
        violations,
    )
    for place, row in enumerate(rows):
        if row.is_bug:
            campaign.bugs.keep(place, row.bug)
