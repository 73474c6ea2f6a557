"""What a project remembers: its campaigns and their bugs, in one SQLite file.

Rules: data only, numbers and JSON text, nothing pickled and nothing executed; each
method that writes is one transaction, so that a killed process leaves what it had
committed; what SQLite or the disk refuses becomes a `StoreError` with a remedy.
"""

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self, TypeVar

from nomos.database import explain_failures, open_database, transaction
from nomos.diagnostics.diagnostic import suggest_nearest
from nomos.errors import StoreError
from nomos.results.bugs import canonical_json
from nomos.results.reading import decode_value, parse_json
from nomos.results.result import Bug, Result, Subject, from_data, to_data
from nomos.results.verdict import with_proof
from nomos.store.migrations import MIGRATIONS
from nomos.store.rows import (
    CAME_BACK,
    BugRecord,
    Row,
    Status,
    decode_row,
    encode_row,
    record_of,
)

FOLDER = ".nomos"
DATABASE = "nomos.db"
_BESIDE = ("-wal", "-shm", "-journal")  # files that SQLite writes beside it
# The database is one machine's memory; the cases beside it are for the repository.
IGNORED = f"/{DATABASE}*\n/cases/**/*.tmp\n"

_BUGS = (
    "SELECT bugs.id, campaign, spec, property, model, settings, seed, number,"
    " choices, inputs, outputs, failed, seen, status, how, mask, margin, is_new, shrunk, made"
    " FROM bugs JOIN campaigns ON campaigns.id = campaign"
)
_IS_BUG = f"how < {CAME_BACK}"
_Decoded = TypeVar("_Decoded", Row, BugRecord)


@dataclass(frozen=True, slots=True)
class Unfinished:
    """A campaign whose run was killed: its result so far, and its state.

    It `is_finished` where only the reports of the run are missing.
    """

    id: int
    result: Result
    state: Mapping[str, Any]
    is_finished: bool = False
    asked: int = 0  # calls of the model, where they are limited


class Store:
    """An open store. Several processes may have the same one open and write to it."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._connection = connection

    @classmethod
    def open(cls, folder: Path, *, create: bool = True) -> Self:
        """Open the store in a folder, made if needed, and bring it up to date."""
        path = folder / DATABASE
        with explain_failures(path):
            for name in (path, *(Path(f"{path}{end}") for end in _BESIDE)):
                if name.is_symlink():
                    raise StoreError(f"{name} is a link: a store is in its own folder")
            if not create and not path.exists():
                raise StoreError(f"no store at {folder}\nhelp: `nomos run` makes one")
            folder.mkdir(parents=True, exist_ok=True)
            ignore = folder / ".gitignore"
            if not ignore.exists() and not ignore.is_symlink():
                ignore.write_text(IGNORED, encoding="utf-8")
            return cls(path, open_database(path, MIGRATIONS))

    def close(self) -> None:
        """Close the file; the store cannot be used after."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Writing.

    def begin(self, result: Result) -> int:
        """Write down a campaign that starts now; return its id."""
        subject = result.subject
        with self._writing():
            cursor = self._connection.execute(
                "INSERT INTO campaigns (spec, property, domain, model, settings, seed,"
                " budget, search, mode, started, counts, next_case, result, state)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, '{}', 0, ?, '{}')",
                (
                    *(subject.spec, subject.property, subject.domain, subject.model),
                    canonical_json(subject.settings),
                    str(result.seed),  # as text: SQLite's integers end at 2**63 - 1
                    *(result.budget, result.search, result.mode, _now()),
                    _result_text(result),
                ),
            )
        assert cursor.lastrowid is not None
        return cursor.lastrowid

    def checkpoint(  # noqa: PLR0913 - keywords
        self,
        campaign: int,
        result: Result,
        state: Mapping[str, Any],
        *,
        new: Sequence[Row] = (),
        seen: Iterable[tuple[int, int]] = (),
        shrunk: Iterable[Bug] = (),
        finished: bool = False,
    ) -> None:
        """Keep how far a campaign has come: new violations, and how often each was met.

        All or nothing, so that a campaign that is resumed counts nothing twice. `seen`
        are numbers of cases and their counts; `shrunk` are bugs with shrunk cases.
        """
        with self._writing():
            self._connection.executemany(
                "INSERT INTO bugs (campaign, choices, id, number, inputs, outputs,"
                " failed, seen, status, how, mask, margin, is_new, made, latest)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'open', ?, ?, ?, ?, ?, 1)",
                (encode_row(campaign, row) for row in new),
            )
            self._connection.executemany(
                # A later campaign may have been faster to write the same bug.
                "UPDATE bugs SET latest = 0 WHERE id = :id AND latest"
                " AND campaign < (SELECT max(campaign) FROM bugs WHERE id = :id)",
                ({"id": row.bug.id} for row in new if row.is_bug),
            )
            self._connection.executemany(
                "UPDATE bugs SET seen = ? WHERE campaign = ? AND number = ?",
                ((times, campaign, case) for case, times in seen),
            )
            self._connection.executemany(
                "UPDATE bugs SET shrunk = ? WHERE campaign = ? AND number = ?",
                (
                    (json.dumps(asdict(bug)["shrunk"]), campaign, bug.case)
                    for bug in shrunk
                ),
            )
            cursor = self._connection.execute(
                "UPDATE campaigns SET result = ?, state = ?, verdict = ?,"
                " finished = CASE WHEN ? THEN ? ELSE finished END WHERE id = ?",
                (
                    *(_result_text(result), json.dumps(state), result.verdict),
                    *(finished, _now(), campaign),
                ),
            )
            if not cursor.rowcount:
                raise StoreError(f"{self.path}: no campaign {campaign}")

    def note_calls(self, campaign: int, calls: int) -> None:
        """Keep how many calls of the model a campaign has made, before it makes them."""
        with self._writing():
            query = "UPDATE campaigns SET asked = ? WHERE id = ?"
            self._connection.execute(query, (calls, campaign))

    def mark_reported(self, results: Iterable[Result]) -> None:
        """Note that the reports of campaigns are written: there is nothing to resume."""
        with self._writing():
            self._connection.executemany(
                "UPDATE campaigns SET reported = ? WHERE finished IS NOT NULL"
                " AND reported IS NULL AND spec = ? AND model = ? AND settings = ?"
                " AND seed = ?",
                (
                    (
                        *(_now(), result.subject.spec, result.subject.model),
                        canonical_json(result.subject.settings),
                        str(result.seed),
                    )
                    for result in results
                ),
            )

    def mark(self, id: str, status: Status) -> None:
        """Set the status of a bug."""
        with self._writing():
            cursor = self._connection.execute(
                "UPDATE bugs SET status = ? WHERE id = ? AND latest", (status, id)
            )
            if not cursor.rowcount:
                raise StoreError(f"{self.path}: no bug {id}")

    # Reading.

    def newest(self) -> list[Result]:
        """Return the last result of each spec, model and settings, with its bugs.

        A campaign that ended is taken before a later one that did not.
        """
        query = (
            "SELECT id, result, finished FROM campaigns"
            " WHERE result IS NOT NULL ORDER BY finished IS NOT NULL, id"
        )
        found: dict[tuple[str, str, str], tuple[int, Result]] = {}
        proved: dict[tuple[str, str, str], tuple[int, Result]] = {}
        with explain_failures(self.path):
            for row in self._connection.execute(query).fetchall():
                result = from_data(parse_json(row["result"]))
                result = replace(result, finished=row["finished"] or "")
                subject = result.subject
                key = subject.spec, subject.model, canonical_json(subject.settings)
                (proved if result.search == "proof" else found)[key] = row["id"], result
            for key, (id, result) in proved.items():
                found[key] = _join_proof(found.get(key), id, result)
            return [
                replace(result, bugs=self._bugs_of(id))
                for id, result in (found[key] for key in sorted(found))
            ]

    def count_outdated(self) -> int:
        """Return how many campaigns are of a version whose results are shown no more."""
        query = "SELECT count(*) FROM campaigns WHERE result IS NULL"
        with explain_failures(self.path):
            return int(self._connection.execute(query).fetchone()[0])

    def _bugs_of(self, campaign: int) -> tuple[Bug, ...]:
        where = f"campaign = ? AND {_IS_BUG}"
        found = self._select_violations(record_of, where, campaign, limit=10_000)
        return tuple(record.bug for record in found)

    def _select_violations(
        self,
        decode: Callable[[sqlite3.Row], _Decoded],
        where: str,
        *values: object,
        limit: int = -1,  # none
    ) -> list[_Decoded]:
        """Return violations in the order they were found."""
        query = f"{_BUGS} WHERE {where} ORDER BY campaign, number LIMIT ?"
        with explain_failures(self.path):
            rows = self._connection.execute(query, (*values, limit)).fetchall()
            return [decode(row) for row in rows]

    def find_unfinished(
        self, subject: Subject, seed: int, budget: int, search: str
    ) -> Unfinished | None:
        """Return the newest campaign of this kind whose run has not reported it."""
        with explain_failures(self.path):
            row = self._connection.execute(
                "SELECT id, result, state, finished IS NOT NULL AS ended, asked"
                " FROM campaigns"
                " WHERE reported IS NULL"
                " AND spec = ? AND model = ? AND settings = ? AND seed = ?"
                " AND budget = ? AND search = ? AND result IS NOT NULL"
                " ORDER BY id DESC LIMIT 1",
                (
                    *(subject.spec, subject.model, canonical_json(subject.settings)),
                    *(str(seed), budget, search),
                ),
            ).fetchone()
            if row is None:
                return None
            result = from_data(parse_json(row["result"]))
            state = decode_value(Mapping[str, Any], parse_json(row["state"]))
            if row["ended"]:
                result = replace(result, bugs=self._bugs_of(row["id"]))
            return Unfinished(
                row["id"], result, state, bool(row["ended"]), row["asked"]
            )

    def rows(self, campaign: int) -> list[Row]:
        """Return all violations of a campaign, in the order they were found."""
        return self._select_violations(decode_row, "campaign = ?", campaign)

    def bugs(
        self,
        *,
        spec: str | None = None,
        property: str | None = None,
        model: str | None = None,
        status: Status | None = None,
        before: int | None = None,
        limit: int = -1,
    ) -> list[BugRecord]:
        """Return bugs, each as the last campaign that met it did, in the order found."""
        where, values = _where_of(
            before, spec=spec, property=property, model=model, status=status
        )
        return self._select_violations(record_of, where, *values, limit=limit)

    def count_bugs(
        self, *, property: str | None = None, status: Status | None = None
    ) -> int:
        """Return how many bugs there are."""
        where, values = _where_of(property=property, status=status)
        join = "" if property is None else " JOIN campaigns ON campaigns.id = campaign"
        query = f"SELECT count(*) FROM bugs{join} WHERE {where}"
        with explain_failures(self.path):
            return int(self._connection.execute(query, values).fetchone()[0])

    def bug(self, prefix: str) -> BugRecord:
        """Return the bug whose id begins so."""
        low = prefix.lower()
        where = f"bugs.id >= ? AND bugs.id < ? AND latest AND {_IS_BUG}"
        found = self._select_violations(record_of, where, low, low + "g", limit=6)
        if len({record.bug.id for record in found}) == 1:
            return found[-1]
        if found:
            some = ", ".join(f"{r.bug.id} ({r.subject.property})" for r in found[:5])
            more = ", …" if len(found) > 5 else ""
            raise StoreError(
                f"`{prefix}` begins the ids of several bugs: {some}{more}\n"
                "help: give more of the id"
            )
        for result in self.newest():
            witness = result.proof.witness if result.proof is not None else None
            if witness is not None and prefix and witness.id.startswith(low):
                return BugRecord(witness, result.subject, result.seed, "open", 0)
        guess = suggest_nearest(low, self._recent_ids())
        remedy = " ".join(filter(None, [guess, "`nomos bugs` lists them all"]))
        raise StoreError(f"no bug `{prefix}`\nhelp: {remedy}")

    def _recent_ids(self) -> list[str]:
        # As many as can be compared with a mistyped one in no time.
        query = f"SELECT id FROM bugs WHERE latest AND {_IS_BUG} ORDER BY campaign DESC LIMIT 1000"
        with explain_failures(self.path):
            return [str(row["id"]) for row in self._connection.execute(query)]

    @contextmanager
    def _writing(self) -> Iterator[None]:
        with explain_failures(self.path), transaction(self._connection):
            yield


def _where_of(
    before: int | None = None, **columns: str | None
) -> tuple[str, list[object]]:
    given = {name: value for name, value in columns.items() if value is not None}
    where = [f"latest AND {_IS_BUG}", *(f"{column} = ?" for column in given)]
    values: list[object] = list(given.values())
    if before is not None:
        where.append("campaign < ?")
        values.append(before)
    return " AND ".join(where), values


def _join_proof(
    tested: tuple[int, Result] | None, id: int, proved: Result
) -> tuple[int, Result]:
    """Return a proof beside the cases that were tried of the same; else the later one."""
    if tested is None or proved.proof is None:
        return id, proved
    if tested[1].fingerprint == proved.fingerprint:
        return tested[0], with_proof(tested[1], proved.proof)
    return max(tested, (id, proved), key=lambda one: one[0])


def _result_text(result: Result) -> str:
    """Write a result without its bugs, which have a table of their own."""
    return json.dumps(to_data(replace(result, bugs=())))


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
