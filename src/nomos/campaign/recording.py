"""Write a campaign to the store as it goes, and take up one that was killed."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, replace

from nomos.campaign.baseline import add_known, case_name
from nomos.campaign.events import Bug, BugFound, Event, Finished, Progress
from nomos.campaign.records import BugRecord, CampaignRecord
from nomos.campaign.regression import save_cases
from nomos.campaign.result import Subject, bug_data
from nomos.campaign.runner import Campaign, Resumed
from nomos.campaign.store import Store
from nomos.errors import StoreError

_CHECKPOINT_S = 1.0  # how much work a killed campaign may lose


class Recording:
    """A campaign's record; a store that fails costs the record, not the campaign."""

    def __init__(
        self,
        store: Store,
        subject: Subject,
        campaign: Campaign,
        warn: Callable[[str], None],
        *,
        accept: bool = True,
    ) -> None:
        self.store = store
        self.subject = subject
        self.campaign = campaign
        self.warn = warn
        self.accept = accept  # whether the bugs found become known ones
        self.id: int | None = None
        self.bugs: dict[str, BugRecord] = {}
        self.seen: dict[str, int] = {}  # met since the last checkpoint, and how often
        self.next_case = 0
        self.written = time.perf_counter()

    def begin(self, *, resume: bool) -> None:
        """Open the record, or take up that of the same campaign if it was killed."""
        subject, campaign = self.subject, self.campaign
        record = CampaignRecord(
            spec=subject.path,
            property=subject.spec.name,
            domain=type(subject.domain).__name__,
            model=subject.model,
            settings=dict(subject.settings),
            seed=campaign.seed,
            budget=campaign.budget.cases,
            search="random" if campaign.listed is None else "exhaustive",
            engine=campaign.engine.way,
        )
        try:
            if resume and campaign.listed is None and self._take_up(record):
                return
            self.id = self.store.begin(record)
        except StoreError as error:
            self.warn(f"this campaign is not stored: {error}")

    def _take_up(self, record: CampaignRecord) -> bool:
        """Go on where the same campaign was killed; False where there is none."""
        found = self.store.last_unfinished(
            record.spec, record.model, record.settings, record.seed, record.budget
        )
        if found is None or found.search != record.search:
            return False
        self.id, self.next_case = found.id, found.next_case
        self.bugs = {bug.id: bug for bug in self.store.bugs(campaign=found.id)}
        bugs = tuple(
            (Bug(bug.id, bug.case, bug.choices, bug.failed, {}), bug.seen)
            for bug in self.bugs.values()
        )
        self.campaign.resumed = Resumed(found.next_case, found.counts, bugs)
        return True

    def hear(self, event: Event) -> None:
        """Write what is worth keeping, now and then, and all of it at the end."""
        if self.id is None:
            return
        try:
            self._write(self.id, event)
        except StoreError as error:
            self.warn(f"the store failed, so the rest is not stored: {error}")
            self.id = None

    def _write(self, id: int, event: Event) -> None:
        match event:
            case BugFound(bug=bug):
                self.bugs[bug.id] = self._record(id, bug)
            case Progress(counts=counts, next_case=next_case, seen=seen):
                self.seen |= seen
                self.next_case = next_case
                if time.perf_counter() - self.written > _CHECKPOINT_S:
                    self._checkpoint(id, asdict(counts))
            case Finished(counts=counts, verdict=verdict, reason=reason):
                self._checkpoint(id, asdict(counts))
                if reason != "interrupted":  # such a campaign can be resumed
                    self.store.finish(id, verdict, asdict(counts))
                if self.accept and self.bugs:
                    self._accept()
            case _:
                pass

    def _accept(self) -> None:
        """Keep the bugs in the files that go into the repository."""
        folder, spec = self.store.path.parent, self.subject.spec
        save_cases(folder, list(self.bugs.values()))
        settings = self.subject.settings
        names = [case_name(spec.name, settings, b.choices) for b in self.bugs.values()]
        add_known(folder, spec.name, names)

    def _checkpoint(self, id: int, counts: dict[str, int | float]) -> None:
        touched = [
            replace(self.bugs[bug], seen=seen)
            for bug, seen in self.seen.items()
            if bug in self.bugs
        ]
        self.store.checkpoint(id, counts, self.next_case, bugs=touched)
        self.seen = {}
        self.written = time.perf_counter()

    def _record(self, id: int, bug: Bug) -> BugRecord:
        data = bug_data(bug, self.subject)
        return BugRecord(
            id=bug.id,
            campaign=id,
            spec=self.subject.path,
            property=self.subject.spec.name,
            model=self.subject.model,
            settings=dict(self.subject.settings),
            seed=self.campaign.seed,
            case=bug.case,
            choices=bug.choices,
            inputs=data["inputs"],
            outputs=data["outputs"],
            failed=bug.failed,
        )
