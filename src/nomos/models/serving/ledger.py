"""What endpoints answered and what that cost, in one SQLite file that all workers share.

The file is written before a request is sent and when its answer is there, so it holds
whatever becomes of the process:

- An answer that was received is never asked for again, after a kill neither.
- A request counts from before it is sent, with the most that it may cost. What it did cost
  replaces that when it is known; what a killed process had in flight stays counted. So the
  limits hold at the server, for all workers and over all attempts together.
- The turns of an endpoint that has a rate stand in the file, too: the rate holds for all
  processes of a project.

Answers are data: text that is shown escaped and never run.
"""

from __future__ import annotations

import math
import os
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from functools import lru_cache
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any

from nomos.database import explain_failures, open_database, transaction
from nomos.domain.meter import Lease, Phase, Terms
from nomos.errors import ServiceDown, StoreError
from nomos.models.serving.prices import Price

if TYPE_CHECKING:
    from nomos.models.serving.messages import Call

FOLDER, DATABASE = "answers", "answers.db"  # below .nomos
MOST_BYTES = 2**30  # of all answers; the oldest go first
_PRUNED = 1 / 4  # this share of them, so that it is seldom done
_SEARCH = 0.8  # of the money: the rest is for what follows a search
_LONGEST_TURN_S = 3600.0
_CHECKED = 500  # answers, after which the size is looked at
_MIGRATIONS = (
    """
    CREATE TABLE answers (
        number INTEGER PRIMARY KEY,
        key BLOB NOT NULL UNIQUE,
        endpoint TEXT NOT NULL,
        model TEXT NOT NULL,
        campaign TEXT NOT NULL,
        answer BLOB NOT NULL,
        answered REAL NOT NULL
    );
    CREATE TABLE spent (
        campaign TEXT NOT NULL,
        phase TEXT NOT NULL,
        requests INTEGER NOT NULL DEFAULT 0,
        cached INTEGER NOT NULL DEFAULT 0,
        tokens_in INTEGER NOT NULL DEFAULT 0,
        tokens_out INTEGER NOT NULL DEFAULT 0,
        cost REAL NOT NULL DEFAULT 0,
        run TEXT NOT NULL DEFAULT '',
        PRIMARY KEY (campaign, phase)
    );
    CREATE TABLE turns (endpoint TEXT PRIMARY KEY, next REAL NOT NULL)
    """,
    """
    DROP TABLE turns;
    CREATE TABLE turns (
        number INTEGER PRIMARY KEY,
        endpoint TEXT NOT NULL,
        until REAL NOT NULL
    )
    """,
    "ALTER TABLE answers ADD COLUMN lacks TEXT NOT NULL DEFAULT ''",
)


@dataclass(frozen=True, slots=True)
class Spent:
    """What requests came to: how many were sent, answered from the cache, and their cost."""

    requests: int = 0
    cached: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float = 0.0


_NAMES = [field.name for field in fields(Spent)]
_ADD = (
    f"INSERT INTO spent (campaign, run, phase, {', '.join(_NAMES)})"
    f" VALUES (?, ?, ?{', ?' * 5})"
    " ON CONFLICT DO UPDATE SET "
    + ", ".join(f"{name} = {name} + excluded.{name}" for name in _NAMES)
)


def ledger_at(path: Path | None) -> Ledger:
    """Return the ledger in a file; None: one that ends with the process."""
    return _open_ledger(path, os.getpid())


@lru_cache(maxsize=16)
def _open_ledger(path: Path | None, _process: int) -> Ledger:
    return Ledger(path)


class Ledger:
    """An open ledger; several threads and processes may use it at once."""

    def __init__(self, path: Path | None) -> None:
        self.path = path or Path(":memory:")
        self._lock = RLock()
        self._kept = 0
        with explain_failures(self.path):
            if path is not None:
                path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                ignore = path.parent / ".gitignore"
                if not ignore.exists() and not ignore.is_symlink():
                    ignore.write_text("*\n", encoding="utf-8")
            self._file = open_database(self.path, _MIGRATIONS)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            with self._lock, explain_failures(self.path), transaction(self._file):
                yield
        except StoreError as error:  # nothing may be sent that cannot be counted
            raise ServiceDown(str(error)) from None

    def _ask(self, question: str, *values: Any) -> list[Any]:
        with self._lock, explain_failures(self.path):
            return self._file.execute(question, values).fetchall()

    # Answers.

    def find_answers(
        self, keys: Sequence[bytes], campaign: str | None = None
    ) -> list[tuple[str, str] | None]:
        """Return what is known: answers, and why one counts as none; "": it is one.

        With a campaign, only those that it received.
        """
        sought = "SELECT answer, lacks FROM answers WHERE key = ?"
        sought += "" if campaign is None else " AND campaign = ?"
        more = () if campaign is None else (campaign,)
        found = [self._ask(sought, key, *more) for key in keys]
        return [_read_answer(*f[0]) if f else None for f in found]

    def keep_answer(
        self,
        key: bytes,
        endpoint: str,
        model: str,
        campaign: str,
        answer: str,
        lacks: str = "",
    ) -> None:
        """Remember an answer; when there are too many, the oldest are forgotten."""
        kept = answer.encode(*_CODEC)
        row = (key, endpoint, model, campaign, kept, lacks, time.time())
        with self._writing():
            self._file.execute(
                "INSERT OR REPLACE INTO answers (key, endpoint, model, campaign, answer,"
                " lacks, answered) VALUES (?, ?, ?, ?, ?, ?, ?)",
                row,
            )
        self._kept += 1
        if self._kept % _CHECKED == 0:
            self.prune_answers(MOST_BYTES)

    def prune_answers(self, most_bytes: int) -> None:
        """Forget the oldest answers while all of them take more than so many bytes."""
        while self.size > most_bytes:
            (count,) = self._ask("SELECT count(*) FROM answers")[0]
            if not count:
                return
            with self._writing():
                self._file.execute(
                    "DELETE FROM answers WHERE number IN"
                    " (SELECT number FROM answers ORDER BY number LIMIT ?)",
                    (max(1, int(count * _PRUNED)),),
                )

    def clear_answers(self) -> int:
        """Forget all answers and return how many there were; what was spent stays."""
        with self._writing():
            count = self._file.execute("DELETE FROM answers").rowcount
        self._ask("VACUUM")
        return count

    @property
    def size(self) -> int:
        """How many bytes the file uses."""
        pages, free, size = (
            self._ask(f"PRAGMA {name}")[0][0]
            for name in ("page_count", "freelist_count", "page_size")
        )
        return int((pages - free) * size)

    def list_answers(self) -> list[tuple[str, str, int, float, float]]:
        """Return endpoint, model, count, and the first and last time, for each model."""
        return [
            tuple(row)
            for row in self._ask(
                "SELECT endpoint, model, count(*), min(answered), max(answered)"
                " FROM answers GROUP BY endpoint, model ORDER BY endpoint, model"
            )
        ]

    # Money.

    def reserve_request(
        self, campaign: str, phase: Phase, cost: float, terms: Terms
    ) -> bool:
        """Count a request before it is sent; False where a limit does not allow it."""
        with self._writing():
            requests = sum(one.requests for one in self.spent_in(campaign).values())
            if terms.calls is not None and requests >= terms.calls:
                return False
            if cost > self.money_left(phase, terms):
                return False
            self._file.execute(_ADD, (campaign, terms.run, phase, 1, 0, 0, 0, cost))
        return True

    def money_left(self, phase: Phase, terms: Terms) -> float:
        """Return what a phase of a run may still cost."""
        if terms.max_cost is None:
            return math.inf
        (money,) = self._ask("SELECT sum(cost) FROM spent WHERE run = ?", terms.run)[0]
        share = _SEARCH if phase in ("search", "control") else 1.0
        return terms.max_cost * share - (money or 0.0)

    def add_spent(self, campaign: str, run: str, phase: Phase, spent: Spent) -> None:
        """Count what became of requests; a cost below zero gives back what was reserved."""
        values = [getattr(spent, name) for name in _NAMES]
        with self._writing():
            self._file.execute(_ADD, (campaign, run, phase, *values))

    def spent_in(self, campaign: str) -> dict[str, Spent]:
        """Return what a campaign has spent, by what for."""
        rows = self._ask(
            f"SELECT phase, {', '.join(_NAMES)} FROM spent WHERE campaign = ?", campaign
        )
        return {row["phase"]: Spent(*(row[name] for name in _NAMES)) for row in rows}

    def move_spent(self, campaign: str, other: str, run: str) -> None:
        """Count what was spent under one name for another, which may have some already.

        Then a killed run goes on: what all its campaigns cost counts for this one.
        """
        with self._writing():
            self._file.execute(
                "UPDATE spent SET run = ? WHERE run IN"
                " (SELECT run FROM spent WHERE campaign = ?)",
                (run, other),
            )
        for phase, spent in self.spent_in(campaign).items():
            self.add_spent(other, run, phase, spent)  # type: ignore[arg-type]  # one of them
        with self._writing():
            self._file.execute("DELETE FROM spent WHERE campaign = ?", (campaign,))
            self._file.execute(
                "UPDATE answers SET campaign = ? WHERE campaign = ?", (other, campaign)
            )

    # Time.

    def take_turn(
        self, endpoint: str, rate: tuple[int, float], longest_s: float
    ) -> int | None:
        """Take one of the turns of an endpoint for a request; None: all are taken.

        There are as many as requests may arrive in some seconds. Each is free again so long
        after its answer came: so however long requests travel, no more of them arrive. What
        counts is the time since the machine began, which nobody sets; turns that end in an
        hour are of before that.
        """
        (count, seconds), now = rate, time.monotonic()
        latest = now + longest_s + seconds
        with self._writing():
            gone = "DELETE FROM turns WHERE until <= ? OR until > ?"
            self._file.execute(gone, (now, latest + _LONGEST_TURN_S))
            taken = self._ask("SELECT count(*) FROM turns WHERE endpoint = ?", endpoint)
            if taken[0][0] >= count:
                return None
            return self._file.execute(
                "INSERT INTO turns (endpoint, until) VALUES (?, ?)", (endpoint, latest)
            ).lastrowid

    def end_turn(self, turn: int, seconds: float) -> None:
        """Let a turn be free in so many seconds: its request has arrived."""
        with self._writing():
            until = time.monotonic() + seconds
            query = "UPDATE turns SET until = ? WHERE number = ?"
            self._file.execute(query, (until, turn))


@dataclass(frozen=True, slots=True)
class Book:
    """Where the calls of one batch are counted and kept."""

    lease: Lease
    ledger: Ledger
    price: Price
    over: list[BaseException] = field(default_factory=list)  # what ended them all

    def reserve(self, cost: float) -> bool:
        """Count a request that is about to be sent, if the limits allow it."""
        lease = self.lease
        where = lease.campaign, lease.phase
        return self.ledger.reserve_request(*where, cost, lease.terms)

    def add(self, **spent: Any) -> None:
        """Count what became of requests."""
        lease = self.lease
        run = lease.terms.run
        self.ledger.add_spent(lease.campaign, run, lease.phase, Spent(**spent))

    def draft(self, found: Sequence[object], calls: Sequence[Call]) -> None:
        """Note what calls would cost whose replies are not known."""
        for answer, call in zip(found, calls, strict=True):
            if answer is None and self.lease.drafts is not None:
                asked, answered = call.most_tokens
                costs = [self.price.cost_of(asked // 4, some) for some in (1, answered)]
                self.lease.drafts.append((costs[0], costs[1]))


def count_affordable(lease: Lease) -> int:
    """Return how many requests more a limit of money is likely to allow; 0: nobody knows."""
    ledger = ledger_at(lease.terms.file)
    spent = total_spent(list(ledger.spent_in(lease.campaign).values()))
    if not spent.requests or not spent.cost:
        return 0
    left = ledger.money_left(lease.phase, lease.terms)
    return max(0, int(left / (spent.cost / spent.requests)))


_CODEC = ("utf-8", "surrogatepass")  # an answer may hold halves of pairs


def _read_answer(kept: object, lacks: object) -> tuple[str, str] | None:
    """Return an answer that was kept; None where somebody else wrote what is there."""
    if not isinstance(kept, bytes) or not isinstance(lacks, str):
        return None
    try:
        return kept.decode(*_CODEC), lacks
    except UnicodeDecodeError:
        return None


def total_spent(parts: Sequence[Spent]) -> Spent:
    """Add up what was spent."""
    total: Counter[str] = Counter()
    for part in parts:
        total.update({name: getattr(part, name) for name in _NAMES})
    return Spent(**total)
