"""Violations as rows of the database."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import asdict, dataclass
from typing import Literal

from nomos.results.analysis import shrunk_from_data
from nomos.results.identity import canonical_json
from nomos.results.result import Bug, Subject, nearest_from_data

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
    """A violation of a campaign as it is kept; `how` is `runner.violations.How`."""

    case: int
    choices: tuple[int, ...]
    seen: int
    how: int
    mask: int  # a bit for each `ensures` that does not hold
    gap: float | None
    bug: Bug | None  # None where it did not come back


def encoded(campaign: int, row: Row) -> tuple[object, ...]:
    """Return a violation as the columns of the table of bugs."""
    bug = row.bug
    return (
        campaign,
        canonical_json(row.choices),
        "" if bug is None else bug.id,
        row.case,
        "{}" if bug is None else json.dumps(dict(bug.inputs)),
        "{}" if bug is None else json.dumps(dict(bug.outputs)),
        "" if bug is None else bug.failed,
        row.seen,
        *(row.how, row.mask, row.gap),
        bug is None or bug.is_new,
        "{}" if bug is None or not bug.records else _made(bug),
    )


def shrunk_text(bug: Bug) -> str:
    """Return a bug's smaller case as JSON."""
    assert bug.shrunk is not None
    return json.dumps(asdict(bug.shrunk))


def _made(bug: Bug) -> str:
    nearest = [asdict(one) for one in bug.nearest]
    return json.dumps({"records": bug.records, "nearest": nearest})


def decoded(row: sqlite3.Row) -> Row:
    """Return a violation from its columns."""
    record = record_of(row)
    bug, how = record.bug, row["how"]
    is_bug = how < CAME_BACK
    return Row(
        bug.case,
        bug.choices,
        bug.seen,
        how,
        row["mask"],
        bug.gap,
        bug if is_bug else None,
    )


def record_of(row: sqlite3.Row) -> BugRecord:
    """Return a bug, and what it is a bug of, from its columns."""
    mask = int(row["mask"])
    made = json.loads(row["made"])
    bug = Bug(
        id=row["id"],
        case=int(row["number"]),
        choices=_choices(row["choices"]),
        failed=row["failed"],
        failures=tuple(n for n in range(mask.bit_length()) if mask >> n & 1),
        gap=row["gap"],
        seen=int(row["seen"]),
        confirmed="batch" if row["how"] else "alone",
        is_new=bool(row["is_new"]),
        inputs=dict(json.loads(row["inputs"])),
        outputs=dict(json.loads(row["outputs"])),
        shrunk=shrunk_from_data(json.loads(row["shrunk"] or "null")),
        records=tuple(map(tuple, made.get("records", ()))),
        nearest=tuple(map(nearest_from_data, made.get("nearest", ()))),
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
