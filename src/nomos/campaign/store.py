"""What a project remembers: its campaigns and their bugs, in one SQLite file.

Rules: data only, numbers and JSON text, nothing pickled and nothing executed; each
method that writes is one transaction, so that a killed process leaves what it had
committed; what SQLite or the disk refuses becomes a `StoreError` with a remedy.
"""

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from datetime import UTC, datetime
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Self, TypeVar

from nomos.campaign.database import explained, open_database, transaction
from nomos.campaign.records import (
    BugRecord,
    CampaignRecord,
    Choices,
    Counts,
    Status,
    canonical_json,
)
from nomos.errors import StoreError

FOLDER = ".nomos"
DATABASE = "nomos.db"
# The database is one machine's memory; the cases beside it are for the repository.
IGNORED = f"/{DATABASE}*\n/cases/*.tmp\n"

_BUGS = (
    "SELECT bugs.id, campaign, spec, property, model, settings, seed, number AS 'case',"
    " choices, inputs, outputs, failed, seen, status"
    " FROM bugs JOIN campaigns ON campaigns.id = campaign"
)
_LATEST = "campaign = (SELECT max(campaign) FROM bugs AS met WHERE met.id = bugs.id)"
_ORDER = "ORDER BY campaign, number"
_JSON = {"settings", "counts", "choices", "inputs", "outputs"}
_Record = TypeVar("_Record")


class Store:
    """An open store. Several processes may have the same one open and write to it."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._connection = connection

    @classmethod
    def open(cls, folder: Path, *, create: bool = True) -> Self:
        """Open the store in a folder, made if needed, and bring it up to date."""
        path = folder / DATABASE
        with explained(path):
            if not create and not path.exists():
                raise StoreError(f"no store at {folder}\nhelp: `nomos run` makes one")
            folder.mkdir(parents=True, exist_ok=True)
            ignore = folder / ".gitignore"
            if not ignore.exists():
                ignore.write_text(IGNORED, encoding="utf-8")
            return cls(path, open_database(path))

    def close(self) -> None:
        """Close the file; the store cannot be used after."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def begin(self, campaign: CampaignRecord) -> int:
        """Write down a campaign that starts now; return its id."""
        row = _encoded(campaign) | {"started": _now()}
        with self._writing():
            cursor = self._connection.execute(
                "INSERT INTO campaigns VALUES (NULL, :spec, :property, :domain, :model,"
                " :settings, :seed, :budget, :search, :engine, :started, :finished,"
                " :verdict, :counts, :next_case)",
                row,
            )
        assert cursor.lastrowid is not None
        return cursor.lastrowid

    def checkpoint(
        self,
        campaign: int,
        counts: Counts,
        next_case: int,
        *,
        bugs: Iterable[BugRecord] = (),
    ) -> None:
        """Keep how far a campaign has come, and the bugs new or seen again till there.

        All or nothing, so that a campaign resumed at `next_case` counts no bug twice.
        """
        with self._writing():
            self._add(campaign, bugs)
            self._update(campaign, counts=json.dumps(dict(counts)), next_case=next_case)

    def finish(self, campaign: int, verdict: str, counts: Counts) -> None:
        """Close a campaign with its verdict."""
        with self._writing():
            self._update(
                campaign,
                counts=json.dumps(dict(counts)),
                verdict=verdict,
                finished=_now(),
            )

    def add_bugs(self, campaign: int, bugs: Iterable[BugRecord]) -> None:
        """Add bugs to a campaign; one that it has already only gets the new `seen`.

        A bug found again is open again, whatever it was marked.
        """
        with self._writing():
            self._add(campaign, bugs)

    def campaigns(self) -> list[CampaignRecord]:
        """Return all campaigns, oldest first."""
        return self._read(CampaignRecord, "SELECT * FROM campaigns ORDER BY id")

    def campaign(self, id: int) -> CampaignRecord:
        """Return one campaign."""
        query = "SELECT * FROM campaigns WHERE id = ?"
        for record in self._read(CampaignRecord, query, id):
            return record
        raise StoreError(f"{self.path}: no campaign {id}")

    def last_unfinished(
        self, spec: str, model: str, settings: Mapping[str, Any], seed: int, budget: int
    ) -> CampaignRecord | None:
        """Return the newest campaign of this kind that was begun and not finished."""
        found = self._read(
            CampaignRecord,
            "SELECT * FROM campaigns WHERE finished IS NULL AND spec = ? AND model = ?"
            " AND settings = ? AND seed = ? AND budget = ? ORDER BY id DESC LIMIT 1",
            *(spec, model, canonical_json(settings), str(seed), budget),
        )
        return found[0] if found else None

    def bugs(
        self,
        *,
        spec: str | None = None,
        model: str | None = None,
        status: Status | None = None,
        campaign: int | None = None,
    ) -> list[BugRecord]:
        """Return bugs in the order found; one that several campaigns met, as the last did."""
        asked = {"spec": spec, "model": model, "status": status, "campaign": campaign}
        asked = {column: value for column, value in asked.items() if value is not None}
        conditions = [f"{column} = ?" for column in asked]
        if campaign is None:
            conditions.append(_LATEST)
        return self._read(
            BugRecord,
            f"{_BUGS} WHERE {' AND '.join(conditions)} {_ORDER}",
            *asked.values(),
        )

    def bug_counts(self, campaign: int) -> dict[Choices, int]:
        """Return how often a campaign has met each of its bugs, by their choices."""
        query = "SELECT choices, seen FROM bugs WHERE campaign = ? ORDER BY number"
        with explained(self.path):
            rows = self._connection.execute(query, (campaign,)).fetchall()
            return {tuple(json.loads(row["choices"])): row["seen"] for row in rows}

    def bug(self, prefix: str) -> BugRecord:
        """Return the bug whose id begins so."""
        query = f"{_BUGS} WHERE substr(bugs.id, 1, ?) = ? AND {_LATEST} {_ORDER}"
        found = self._read(BugRecord, query, len(prefix), prefix.lower())
        if len({bug.id for bug in found}) == 1:
            return found[0]
        if found:
            some = ", ".join(f"{bug.id} ({bug.property})" for bug in found[:5])
            more = ", …" if len(found) > 5 else ""
            raise StoreError(
                f"`{prefix}` begins the ids of {len(found)} bugs: {some}{more}\n"
                "help: give more of the id"
            )
        nearest = get_close_matches(prefix.lower(), self._recent_ids(), n=1)
        guess = f"did you mean `{nearest[0]}`? " if nearest else ""
        raise StoreError(f"no bug `{prefix}`\nhelp: {guess}`nomos bugs` lists them all")

    def mark(self, id: str, status: Status) -> None:
        """Set the status of a bug, in every campaign that met it."""
        with self._writing():
            cursor = self._connection.execute(
                "UPDATE bugs SET status = ? WHERE id = ?", (status, id)
            )
            if not cursor.rowcount:
                raise StoreError(f"{self.path}: no bug {id}")

    def _recent_ids(self) -> list[str]:
        # As many as can be compared with a mistyped one in no time.
        query = "SELECT id FROM bugs GROUP BY id ORDER BY max(campaign) DESC LIMIT 1000"
        with explained(self.path):
            return [row["id"] for row in self._connection.execute(query)]

    def _update(self, campaign: int, **columns: object) -> None:
        assignments = ", ".join(f"{column} = ?" for column in columns)
        cursor = self._connection.execute(
            f"UPDATE campaigns SET {assignments} WHERE id = ?",
            (*columns.values(), campaign),
        )
        if not cursor.rowcount:
            raise StoreError(f"{self.path}: no campaign {campaign}")

    def _add(self, campaign: int, bugs: Iterable[BugRecord]) -> None:
        for bug in bugs:
            row = _encoded(bug) | {"campaign": campaign}
            self._connection.execute(
                "INSERT INTO bugs VALUES (:campaign, :choices, :id, :case, :inputs,"
                " :outputs, :failed, :seen, :status)"
                " ON CONFLICT (campaign, choices) DO UPDATE SET seen = excluded.seen",
                row,
            )
            self._connection.execute(
                "UPDATE bugs SET status = :status WHERE id = :id", row
            )

    def _read(
        self, record: Callable[..., _Record], query: str, *values: object
    ) -> list[_Record]:
        with explained(self.path):
            rows = self._connection.execute(query, values).fetchall()
            return [record(**_decoded(row)) for row in rows]

    @contextmanager
    def _writing(self) -> Iterator[None]:
        with explained(self.path), transaction(self._connection):
            yield


def _encoded(record: CampaignRecord | BugRecord) -> dict[str, object]:
    row = {field.name: getattr(record, field.name) for field in fields(record)}
    for column, value in row.items():
        if isinstance(value, Mapping):
            row[column] = json.dumps(dict(value))
    row["settings"] = canonical_json(record.settings)
    row["seed"] = str(record.seed)  # as text: SQLite's integers end at 2**63 - 1
    if isinstance(record, BugRecord):
        row["choices"] = canonical_json(record.choices)
    return row


def _decoded(row: sqlite3.Row) -> dict[str, Any]:
    values = dict(row)
    for column in values.keys() & _JSON:
        values[column] = json.loads(values[column])
    if "choices" in values:
        values["choices"] = tuple(values["choices"])
    values["seed"] = int(values["seed"])
    return values


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
