"""The SQLite file under the store: opening, migrations, transactions, what can fail."""

import errno
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from nomos.errors import StoreError

# A checkpoint takes milliseconds: who waits this long waits for a stopped process.
BUSY_TIMEOUT_S = 30.0

# One script per version, never edited once released; without `;` inside a statement.
MIGRATIONS: tuple[str, ...] = (
    """
    CREATE TABLE campaigns (
        id INTEGER PRIMARY KEY,
        spec TEXT NOT NULL,
        property TEXT NOT NULL,
        domain TEXT NOT NULL,
        model TEXT NOT NULL,
        settings TEXT NOT NULL,
        seed TEXT NOT NULL,
        budget INTEGER NOT NULL,
        search TEXT NOT NULL,
        engine TEXT NOT NULL,
        started TEXT NOT NULL,
        finished TEXT,
        verdict TEXT,
        counts TEXT NOT NULL,
        next_case INTEGER NOT NULL
    );
    CREATE TABLE bugs (
        campaign INTEGER NOT NULL REFERENCES campaigns (id),
        choices TEXT NOT NULL,
        id TEXT NOT NULL,
        number INTEGER NOT NULL,
        inputs TEXT NOT NULL,
        outputs TEXT NOT NULL,
        failed TEXT NOT NULL,
        seen INTEGER NOT NULL,
        status TEXT NOT NULL,
        PRIMARY KEY (campaign, choices)
    );
    CREATE INDEX bugs_by_id ON bugs (id, campaign)
    """,
    # 0.2: a campaign keeps its whole result and all that resuming needs, and so do the
    # violations that were not reproduced (`how` is runner.violations.How).
    """
    ALTER TABLE campaigns ADD COLUMN result TEXT;
    ALTER TABLE campaigns ADD COLUMN state TEXT;
    ALTER TABLE bugs ADD COLUMN how INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE bugs ADD COLUMN mask INTEGER NOT NULL DEFAULT 1;
    ALTER TABLE bugs ADD COLUMN gap REAL;
    ALTER TABLE bugs ADD COLUMN is_new INTEGER NOT NULL DEFAULT 1;
    ALTER TABLE bugs ADD COLUMN latest INTEGER NOT NULL DEFAULT 1;
    UPDATE bugs SET latest = 0
        WHERE campaign < (SELECT max(campaign) FROM bugs AS met WHERE met.id = bugs.id);
    CREATE UNIQUE INDEX bugs_by_case ON bugs (campaign, number);
    CREATE INDEX latest_bugs ON bugs (campaign, number) WHERE latest AND how < 2;
    CREATE INDEX campaigns_by_spec ON campaigns (spec, model)
    """,
    # A smaller case that breaks the property too, as JSON; NULL where none was found.
    "ALTER TABLE bugs ADD COLUMN shrunk TEXT",
    # 0.3: a bug whose inputs a search has made holds its records, and how far they are
    # from the data.
    """
    ALTER TABLE bugs ADD COLUMN made TEXT NOT NULL DEFAULT '{}'
    """,
    # When the run of a campaign that ended had written its reports: before, it can be
    # resumed.
    """
    ALTER TABLE campaigns ADD COLUMN reported TEXT;
    UPDATE campaigns SET reported = finished
    """,
    "ALTER TABLE campaigns RENAME COLUMN engine TO mode",
    # 0.3 has the field's names. A shrunk case or a result that holds "gap" twice has a
    # feature of that name, which is not to be renamed: it is dropped.
    """
    ALTER TABLE bugs RENAME COLUMN gap TO margin;
    UPDATE bugs SET shrunk = CASE
        WHEN length(shrunk) - length(replace(shrunk, '"gap":', '')) = 6
        THEN replace(shrunk, '"gap":', '"margin":') END;
    UPDATE campaigns SET result = CASE
        WHEN length(result) - length(replace(result, '"gap":', '')) <= 6
        THEN replace(replace(replace(replace(replace(replace(replace(result,
            '"gap":', '"margin":'), '"gaps":', '"margins":'), '"settled":', '"decided":'),
            '"is_idle":', '"is_vacuous":'), '"most_real":', '"nearest":'),
            '"verdict": "open"', '"verdict": "undecided"'),
            '"confirmed": "alone"', '"confirmed": "isolation"') END;
    UPDATE campaigns SET verdict = 'undecided' WHERE verdict = 'open'
    """,
)

_MOVE = "move the file away; the next run makes a new one, and cases/ stays as it is"
_FREE = "free some disk space and run again; what was committed is kept"
_FOLDER = "make the folder writable, or choose another with --store FOLDER"
_WAIT = "another process is writing: wait for it to end"
_VALUE = "choose a smaller number, or a name that is valid Unicode"
_REMEDIES = {
    sqlite3.SQLITE_BUSY: _WAIT,
    sqlite3.SQLITE_LOCKED: _WAIT,
    sqlite3.SQLITE_FULL: _FREE,
    sqlite3.SQLITE_IOERR: _FREE,
    sqlite3.SQLITE_READONLY: _FOLDER,
    sqlite3.SQLITE_CANTOPEN: _FOLDER,
    sqlite3.SQLITE_PERM: _FOLDER,
}


# What a damaged file, a full disk or a value that does not fit raise when they are met.
_WORLD = (
    OSError,
    sqlite3.Error,
    OverflowError,
    KeyError,
    TypeError,
    ValueError,
)


def open_database(path: Path) -> sqlite3.Connection:
    """Open the file, made if needed, and bring it up to the newest version."""
    connection = sqlite3.connect(path, timeout=BUSY_TIMEOUT_S, isolation_level=None)
    try:
        connection.row_factory = sqlite3.Row
        _check_objects(connection, path)
        _log_ahead(connection)
        # Safe against a killed process; a power cut may cost the last commits.
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA foreign_keys = ON")
        migrate(connection, path, MIGRATIONS)
    except BaseException:
        connection.close()
        raise
    return connection


def _check_objects(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse a database in which reading or writing would do more than that."""
    connection.execute("PRAGMA trusted_schema = OFF")
    query = "SELECT name FROM sqlite_schema WHERE type NOT IN ('table', 'index')"
    found = connection.execute(query + " OR sql LIKE '%VIRTUAL%' LIMIT 1").fetchone()
    if found is not None:
        raise StoreError(f"{path} holds {found[0]!r}, which is no table of a store")


def _log_ahead(connection: sqlite3.Connection) -> None:
    """Let readers and a writer work at once, through a write-ahead log.

    SQLite refuses the switch at once, whatever the timeout, while another process
    writes to a file that has not switched yet: both are opening a new store.
    """
    deadline = time.monotonic() + BUSY_TIMEOUT_S
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            busy = error.sqlite_errorcode == sqlite3.SQLITE_BUSY
            if not busy or time.monotonic() > deadline:
                raise
        time.sleep(0.01)


def migrate(
    connection: sqlite3.Connection, path: Path, migrations: Sequence[str]
) -> None:
    """Run the scripts that the file has not had yet, all or none of them."""
    if _version(connection) == len(migrations):
        return  # without the lock that a transaction takes
    with transaction(connection):
        version = _version(connection)
        if version > len(migrations):
            raise StoreError(
                f"{path} has version {version}, this Nomos knows {len(migrations)}\n"
                "help: upgrade Nomos, or choose another store with --store FOLDER"
            )
        for script in migrations[version:]:
            for statement in script.split(";"):
                connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {len(migrations)}")


def _version(connection: sqlite3.Connection) -> int:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    return int(version)


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Write all of what is inside, or nothing."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        # It fails only where SQLite has rolled back by itself, on a full disk.
        with suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise


@contextmanager
def explain_failures(path: Path) -> Iterator[None]:
    """Turn what SQLite or the disk refuses into a `StoreError` with a remedy."""
    try:
        yield
    except (StoreError, sqlite3.ProgrammingError, sqlite3.IntegrityError):
        raise  # said already, or our mistakes, not the world's
    except _WORLD as error:
        raise StoreError(f"{path}: {error}\nhelp: {_remedy(error)}") from error


def _remedy(error: Exception) -> str:
    if isinstance(error, OSError):
        return _FREE if error.errno in (errno.ENOSPC, errno.EDQUOT) else _FOLDER
    if isinstance(error, UnicodeEncodeError | OverflowError):
        return _VALUE  # of ours; anything else that is wrong came out of the file
    # The low byte is the kind of an extended code. No code: the text is no JSON.
    return _REMEDIES.get(getattr(error, "sqlite_errorcode", 0) & 0xFF, _MOVE)
