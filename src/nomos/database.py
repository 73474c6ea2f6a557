"""A file of SQLite: opening, migrations, transactions, what can fail."""

import errno
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from nomos.errors import StoreError

# A checkpoint takes milliseconds: who waits this long waits for a stopped process.
BUSY_TIMEOUT_S = 30.0

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
_WORLD = (OSError, sqlite3.Error, OverflowError, KeyError, TypeError, ValueError)


def open_database(path: Path, migrations: Sequence[str]) -> sqlite3.Connection:
    """Open the file, made if needed, and bring it up to the newest version.

    Whoever uses the connection in several threads sees to it that one does at a time.
    """
    connection = sqlite3.connect(
        path, timeout=BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False
    )
    try:
        connection.row_factory = sqlite3.Row
        _check_objects(connection, path)
        _log_ahead(connection)
        # Safe against a killed process; a power cut may cost the last commits.
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA foreign_keys = ON")
        migrate(connection, path, migrations)
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
