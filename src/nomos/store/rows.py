"""Violations as rows of the database."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import asdict, dataclass
from typing import Literal

from nomos.results.analysis import Shrunk
from nomos.results.identity import canonical_json
from nomos.results.reading import read
from nomos.results.result import Bug, Nearest, Subject, failures_of

Status = Literal["open", "fixed"]
CAME_BACK = 2  # violations whose `how` is below this are bugs


@dataclass(frozen=True, slots=True)
class BugRecord:
    """A bug in a store: what it is a bug of, and whether it is still open."""

    bug: Bug
    subject: Subject
    seed: int
    status: Status
    campaign: int


@dataclass(frozen=True, slots=True)
class Row:
    """A violation of a campaign as it is kept; `how` is `runner.violations.How`.

    One that did not come back is no bug, and has no name.
    """

    bug: Bug
    how: int

    @property
    def is_bug(self) -> bool:
        """Whether it came back."""
        return self.how < CAME_BACK


def encoded(campaign: int, row: Row) -> tuple[object, ...]:
    """Return a violation as the columns of the table of bugs."""
    bug = row.bug
    made = {"records": bug.records, "nearest": [asdict(one) for one in bug.nearest]}
    return (
        campaign,
        canonical_json(bug.choices),
        bug.id if row.is_bug else "",
        bug.case,
        json.dumps(dict(bug.inputs)),
        json.dumps(dict(bug.outputs)),
        bug.failed if row.is_bug else "",
        bug.seen,
        *(row.how, bug.mask, bug.gap),
        bug.is_new,
        json.dumps(made) if bug.records else "{}",
    )


def decoded(row: sqlite3.Row) -> Row:
    """Return a violation from its columns."""
    return Row(record_of(row).bug, row["how"])


def record_of(row: sqlite3.Row) -> BugRecord:
    """Return a bug, and what it is a bug of, from its columns."""
    made = json.loads(row["made"])
    bug = Bug(
        id=row["id"],
        case=int(row["number"]),
        choices=_choices(row["choices"]),
        failed=row["failed"],
        failures=failures_of(row["mask"]),
        gap=row["gap"],
        seen=int(row["seen"]),
        confirmed="batch" if row["how"] else "alone",
        is_new=bool(row["is_new"]),
        inputs=dict(json.loads(row["inputs"])),
        outputs=dict(json.loads(row["outputs"])),
        shrunk=read(Shrunk | None, json.loads(row["shrunk"] or "null")),
        records=tuple(map(tuple, made.get("records", ()))),
        nearest=read(tuple[Nearest, ...], made.get("nearest", ())),
    )
    subject = Subject(
        spec=row["spec"],
        property=row["property"],
        model=row["model"],
        settings=dict(json.loads(row["settings"])),
    )
    return BugRecord(bug, subject, int(row["seed"]), row["status"], row["campaign"])


def _choices(text: str) -> tuple[int, ...]:
    choices = tuple(json.loads(text))
    if not all(type(choice) is int for choice in choices):
        raise TypeError(f"choices are integers, not {text}")
    return choices
