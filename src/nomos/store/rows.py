"""Violations as rows of the database."""

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from nomos.results.analysis import Shrunk
from nomos.results.bugs import canonical_json
from nomos.results.excess import Repeats
from nomos.results.reading import Cell, decode_value, parse_json
from nomos.results.result import Bug, Nearest, Subject, failures_of

Status = Literal["open", "fixed"]
CAME_BACK = 2  # violations whose `how` is below this are bugs
_MOST_BITS = 64  # of a choice


@dataclass(frozen=True, slots=True)
class _Made:
    """What is kept of inputs that a search has made, and of repeats."""

    records: tuple[tuple[Cell, ...], ...] = ()
    nearest: tuple[Nearest, ...] = ()
    repeats: Repeats | None = None


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

    One that did not fail again is no bug, and has no name.
    """

    bug: Bug
    how: int

    @property
    def is_bug(self) -> bool:
        """Whether it failed again."""
        return self.how < CAME_BACK


def encode_row(campaign: int, row: Row) -> tuple[object, ...]:
    """Return a violation as the columns of the table of bugs."""
    bug = row.bug
    made = asdict(_Made(bug.records, bug.nearest, bug.repeats))
    id, failed = (bug.id, bug.failed) if row.is_bug else ("", "")
    return (
        *(campaign, canonical_json(bug.choices), id, bug.case),
        *(json.dumps(dict(values)) for values in (bug.inputs, bug.outputs)),
        *(failed, bug.seen, row.how, bug.mask, bug.margin, bug.is_new),
        json.dumps(made) if bug.records or bug.repeats else "{}",
    )


def decode_row(row: sqlite3.Row) -> Row:
    """Return a violation from its columns."""
    return Row(record_of(row).bug, row["how"])


def record_of(row: sqlite3.Row) -> BugRecord:
    """Return a bug, and what it is a bug of, from its columns; raises ValueError, TypeError."""
    made = decode_value(_Made, parse_json(row["made"]))
    bug = Bug(
        id=_decode_text(row["id"]),
        case=int(row["number"]),
        choices=_decode_choices(row["choices"]),
        failed=_decode_text(row["failed"]),
        failures=failures_of(int(row["mask"])),
        margin=decode_value(float | None, row["margin"]),
        seen=int(row["seen"]),
        confirmed="batch" if row["how"] else "isolated",
        is_new=bool(row["is_new"]),
        inputs=decode_value(Mapping[str, Any], parse_json(row["inputs"])),
        outputs=decode_value(Mapping[str, Any], parse_json(row["outputs"])),
        shrunk=decode_value(Shrunk | None, parse_json(row["shrunk"] or "null")),
        records=made.records,
        nearest=made.nearest,
        repeats=made.repeats,
    )
    subject = Subject(
        spec=_decode_text(row["spec"]),
        property=_decode_text(row["property"]),
        model=_decode_text(row["model"]),
        settings=decode_value(Mapping[str, str], parse_json(row["settings"])),
    )
    status: Status = decode_value(Status, row["status"])
    return BugRecord(bug, subject, int(row["seed"]), status, row["campaign"])


def _decode_text(cell: object) -> str:
    text: str = decode_value(str, cell)
    return text


def _decode_choices(text: str) -> tuple[int, ...]:
    choices = parse_json(text)
    if not isinstance(choices, list) or any(type(one) is not int for one in choices):
        raise TypeError(f"choices are integers, not {text[:60]}")
    if any(one.bit_length() > _MOST_BITS for one in choices):
        raise ValueError(f"choices have at most {_MOST_BITS} bits, not {text[:60]}")
    return tuple(choices)
