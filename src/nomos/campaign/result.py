"""What a campaign came to: its events gathered, and their JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from nomos.campaign.baseline import case_name
from nomos.campaign.control import Found, beside, gaps_of, histogram
from nomos.campaign.describe import describe
from nomos.campaign.events import (
    Bug,
    BugFound,
    Counts,
    Crash,
    Crashed,
    Event,
    Finished,
    Progress,
    Started,
)
from nomos.domain.domain import Domain
from nomos.lang import core

MOST_BUGS_KEPT = 10_000  # with their values; more are counted, and replayed by their id


@dataclass(frozen=True, slots=True)
class Subject:
    """What is tested: a property, and the model that must have it."""

    spec: core.Spec
    path: str
    domain: Domain
    model: str
    settings: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Recorded:
    """What became of the bugs that earlier campaigns had found."""

    tried: int = 0
    fixed: tuple[str, ...] = ()


@dataclass(slots=True, repr=False)
class Result:
    """One campaign's outcome; complete once it has `finished`."""

    subject: Subject
    seed: int
    budget: int
    search: str = "random"
    way: str = ""
    counts: Counts = field(default_factory=Counts)
    bugs: list[Bug] = field(default_factory=list)
    crashes: list[Crash] = field(default_factory=list)
    recorded: Recorded = field(default_factory=Recorded)
    known: frozenset[str] = frozenset()  # the names of the cases known to be bugs
    seen: dict[str, int] = field(default_factory=dict)  # how often each bug was met
    finished: Finished | None = None
    control: Result | None = None  # where only chance can differ, run beside it

    def hear(self, event: Event) -> None:
        """Take in an event."""
        match event:
            case Started(search=search, way=way):
                self.search, self.way = search, way
            case BugFound(bug=bug):
                if len(self.bugs) < MOST_BUGS_KEPT:
                    self.bugs.append(bug)
            case Crashed(crash=crash):
                self.crashes.append(crash)
            case Progress(counts=counts, seen=seen):
                self.counts = counts
                self.seen |= seen
            case Finished(counts=counts):
                self.counts, self.finished = counts, event

    @property
    def new_bugs(self) -> list[Bug]:
        """The bugs that nobody knew of."""
        name, settings = self.subject.spec.name, self.subject.settings
        return [
            bug
            for bug in self.bugs
            if case_name(name, settings, bug.choices) not in self.known
        ]

    @property
    def verdict(self) -> str:
        """violated, none-found, holds or failed."""
        return "failed" if self.finished is None else self.finished.verdict

    @property
    def found(self) -> Found:
        """Violations and by how much they miss: what a control is compared with."""
        counts, gaps = self.counts, None
        if counts.unique_bugs <= len(self.bugs):  # or some are counted, but not kept
            gaps = gaps_of(self.subject.spec, self.bugs, self.seen)
        return Found(counts.passed + counts.violations, counts.violations, gaps)

    def __repr__(self) -> str:
        name, model = self.subject.spec.name, self.subject.model
        of = f" of {model}" if model else ""
        return f"<{name}{of}: {self.verdict}; {count_words(self.counts)}>"


def count_words(counts: Counts) -> str:
    """Return the counts of verdicts and bugs as one line, by their names."""
    names = ("tests", "passed", "violations", "unique_bugs", "bug_inputs", "discarded")
    shown = {name: getattr(counts, name) for name in (*names, "crashed", "unstable")}
    return " ".join(f"{name}={count}" for name, count in shown.items())


def bug_data(bug: Bug, subject: Subject) -> dict[str, Any]:
    """Return a bug as plain data."""
    spec = subject.spec
    schema = subject.domain.schema
    values = {name: describe(value, schema) for name, value in bug.values.items()}
    return {
        "id": bug.id,
        "case": bug.case,
        "choices": list(bug.choices),
        "inputs": {n: v for n, v in values.items() if n not in spec.outputs},
        "outputs": {n: v for n, v in values.items() if n in spec.outputs},
        "failed": bug.failed,
        "shrunk": None,
    }


def result_data(result: Result) -> dict[str, Any]:
    """Return a result as plain data, in the form that `--json` writes."""
    subject, finished = result.subject, result.finished
    rate = None if finished is None or finished.rate is None else asdict(finished.rate)
    next_bug = None if finished is None else finished.next_bug
    return {
        "spec": subject.path,
        "property": subject.spec.name,
        "description": subject.spec.description,
        "domain": type(subject.domain).__name__,
        "model": subject.model,
        "settings": dict(subject.settings),
        "seed": result.seed,
        "budget": result.budget,
        "search": result.search,
        "engine": result.way,
        **asdict(result.counts),
        "verdict": result.verdict,
        "reason": "" if finished is None else finished.reason,
        "problem": "" if finished is None else finished.problem,
        "rate": rate,
        "next_bug": None if next_bug is None else asdict(next_bug),
        "recorded": {
            "tried": result.recorded.tried,
            "fixed": list(result.recorded.fixed),
        },
        "gaps": _gap_data(result.found),
        "control": None if result.control is None else _control_data(result),
        "crashes": [asdict(crash) for crash in result.crashes],
        "bugs": [bug_data(bug, subject) for bug in result.bugs],
    }


def _gap_data(found: Found) -> list[dict[str, float]] | None:
    if found.gaps is None:
        return None
    return [asdict(bar) for bar in histogram(found.gaps)]


def _control_data(result: Result) -> dict[str, Any]:
    assert result.control is not None
    found = result.control.found
    return {
        "spec": result.control.subject.path,
        "property": result.control.subject.spec.name,
        "verdict": result.control.verdict,
        "tests": found.tests,
        "violations": found.violations,
        "gaps": _gap_data(found),
        "beside": [asdict(row) for row in beside(result.found, found)],
    }
