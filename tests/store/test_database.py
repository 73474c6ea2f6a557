"""The file under the store: its versions, and what the outside world does to it."""

import os
import sqlite3
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from textwrap import dedent

import numpy as np
import pytest
from click.testing import CliRunner

from nomos.cli import cli
from nomos.database import migrate, open_database
from nomos.errors import StoreError
from nomos.results.result import Result, Subject
from nomos.store.migrations import MIGRATIONS
from nomos.store.store import DATABASE, Store
from tests.store.test_store import add, make_bug

RESULT = Result(Subject("specs/felony_inc.nom", "felony_inc"), 42, 5000)
# What 0.1 made, written out: a store of that version must always open.
OLD = """
    CREATE TABLE campaigns (
        id INTEGER PRIMARY KEY, spec TEXT NOT NULL, property TEXT NOT NULL,
        domain TEXT NOT NULL, model TEXT NOT NULL, settings TEXT NOT NULL,
        seed TEXT NOT NULL, budget INTEGER NOT NULL, search TEXT NOT NULL,
        engine TEXT NOT NULL, started TEXT NOT NULL, finished TEXT, verdict TEXT,
        counts TEXT NOT NULL, next_case INTEGER NOT NULL
    );
    CREATE TABLE bugs (
        campaign INTEGER NOT NULL REFERENCES campaigns (id), choices TEXT NOT NULL,
        id TEXT NOT NULL, number INTEGER NOT NULL, inputs TEXT NOT NULL,
        outputs TEXT NOT NULL, failed TEXT NOT NULL, seen INTEGER NOT NULL,
        status TEXT NOT NULL, PRIMARY KEY (campaign, choices)
    );
    CREATE INDEX bugs_by_id ON bugs (id, campaign);
    INSERT INTO campaigns VALUES
        (1, 'specs/a.nom', 'a', 'd', 'm', '{}', '42', 5000, 'random', 'columns',
         '2026-01-01T00:00:00+00:00', '2026-01-01T00:00:01+00:00', 'violated',
         '{"tests": 5000}', 5000),
        (2, 'specs/a.nom', 'a', 'd', 'm', '{}', '43', 5000, 'random', 'columns',
         '2026-01-01T00:00:00+00:00', NULL, NULL, '{"tests": 7}', 7);
    INSERT INTO bugs VALUES
        (1, '[1,2]', 'aaaaaaaaaa', 0, '{"x": 1}', '{"d": 2}', 'd == 1', 3, 'open'),
        (1, '[1,3]', 'bbbbbbbbbb', 4, '{}', '{}', 'd == 1', 1, 'fixed'),
        (2, '[1,2]', 'aaaaaaaaaa', 6, '{"x": 1}', '{"d": 2}', 'd == 1', 2, 'open');
    PRAGMA user_version = 1;
"""


def printed_by(script: str, folder: Path) -> str:
    """Return what another process prints that runs a script with these names."""
    preamble = dedent(f"""\
        import os, resource, sys
        sys.path.insert(0, {str(Path(__file__).parents[2])!r})
        from tests.store.test_database import *
        folder = Path({str(folder)!r})
        """)
    command = [sys.executable, "-c", preamble + dedent(script)]
    return subprocess.run(
        command, check=True, stdout=subprocess.PIPE, text=True, timeout=60
    ).stdout


def test_a_store_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    Store.open(tmp_path).close()
    connection = sqlite3.connect(tmp_path / DATABASE)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(
        StoreError, match=r"has version 99, .* knows \d+\nhelp: upgrade"
    ):
        Store.open(tmp_path)


def test_an_older_store_gets_the_scripts_it_lacks(tmp_path: Path) -> None:
    with Store.open(tmp_path) as store:
        store.begin(RESULT)
    connection = sqlite3.connect(tmp_path / DATABASE, isolation_level=None)
    scripts = [
        *MIGRATIONS,
        "ALTER TABLE campaigns ADD COLUMN note TEXT; UPDATE campaigns SET note = 'old'",
        "UPDATE campaigns SET note = note || 'er'",
    ]
    migrate(connection, tmp_path / DATABASE, scripts)
    assert connection.execute("PRAGMA user_version").fetchone() == (
        len(MIGRATIONS) + 2,
    )
    assert connection.execute("SELECT note FROM campaigns").fetchall() == [("older",)]
    connection.close()


def test_a_store_of_0_1_is_brought_up_to_date(tmp_path: Path) -> None:
    old = sqlite3.connect(tmp_path / DATABASE)
    old.executescript(OLD)
    old.close()
    with Store.open(tmp_path) as store:
        listed = [(r.bug.id, r.campaign, r.status) for r in store.bugs()]
        assert listed == [("bbbbbbbbbb", 1, "fixed"), ("aaaaaaaaaa", 2, "open")]
        found = store.bug("aaaa").bug
        assert (found.choices, found.case, found.seen) == ((1, 2), 6, 2)
        assert (found.inputs, found.outputs) == ({"x": 1}, {"d": 2})
        assert (found.confirmed, found.is_new, found.failures) == (
            "isolated",
            True,
            (0,),
        )
        assert store.newest() == []  # 0.1 kept no result that could be shown
        subject = Subject("specs/a.nom", "a", model="m")
        assert store.find_unfinished(subject, 43, 5000, "random") is None
        store.mark("bbbbbbbbbb", "open")
        assert store.count_bugs(status="open") == 2
        store.begin(RESULT)
    with Store.open(tmp_path) as store:  # and a second time nothing is left to do
        assert store.count_bugs() == 2


def test_a_store_of_0_2_keeps_its_bugs_and_says_what_is_not_shown(
    tmp_path: Path,
) -> None:
    old = sqlite3.connect(tmp_path / DATABASE)
    old.executescript(OLD + ";".join(MIGRATIONS[1:3]))
    shrunk = (
        '{"records": [{"row": 1, "changes": {"age": 3}}], "draws": [], "failed": "d",'
        ' "gap": 0.5, "inputs": {}, "outputs": {}, "tried": 4}'
    )
    old.execute("UPDATE campaigns SET result = '{\"way\": \"columns\"}', state = '{}'")
    old.execute("UPDATE bugs SET gap = 0.5, shrunk = ?", (shrunk,))
    old.execute("PRAGMA user_version = 3")
    old.commit()
    old.close()
    with Store.open(tmp_path) as store:
        found = [r.bug for r in store.bugs()]
        assert [(b.margin, b.shrunk and b.shrunk.margin) for b in found] == [
            (0.5, 0.5)
        ] * 2
        assert store.newest() == [] and store.count_outdated() == 2
        subject = Subject("specs/a.nom", "a", model="m")
        assert store.find_unfinished(subject, 43, 5000, "random") is None
    done = CliRunner().invoke(cli, ["report", "--store", str(tmp_path)])
    assert "2 campaigns of an older version of Nomos not shown" in done.stderr
    assert "holds no campaign" in str(done.exception)
    done = CliRunner().invoke(cli, ["bugs", "--store", str(tmp_path)])
    assert done.stdout.count("bbbbbbbbbb") == 1


def test_a_migration_that_fails_changes_nothing(tmp_path: Path) -> None:
    Store.open(tmp_path).close()
    connection = sqlite3.connect(tmp_path / DATABASE, isolation_level=None)
    scripts = [*MIGRATIONS, "CREATE TABLE extra (id)", "no SQL"]
    with pytest.raises(sqlite3.OperationalError):
        migrate(connection, tmp_path / DATABASE, scripts)
    assert connection.execute("PRAGMA user_version").fetchone() == (len(MIGRATIONS),)
    assert connection.execute("PRAGMA table_info(extra)").fetchall() == []
    connection.close()


def test_a_store_that_another_process_brings_up_to_date_first_is_opened(
    tmp_path: Path,
) -> None:
    path = tmp_path / DATABASE
    connection = sqlite3.connect(path, isolation_level=None)

    def come_first(statement: str) -> None:
        if (
            statement == "BEGIN IMMEDIATE"
        ):  # the version was read, the lock is not taken
            open_database(path, MIGRATIONS).close()

    connection.set_trace_callback(come_first)
    migrate(connection, path, MIGRATIONS)
    assert connection.execute("SELECT count(*) FROM bugs").fetchone() == (0,)
    connection.close()


def test_who_reads_stops_nobody_from_writing(tmp_path: Path) -> None:
    reader, writer = (open_database(tmp_path / DATABASE, MIGRATIONS) for _ in range(2))
    writer.execute("PRAGMA busy_timeout = 0")
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM bugs").fetchone()
    writer.execute("CREATE TABLE extra (id)")
    writer.close()
    reader.close()


def test_a_bug_belongs_to_a_campaign(tmp_path: Path) -> None:
    connection = open_database(tmp_path / DATABASE, MIGRATIONS)
    with pytest.raises(sqlite3.IntegrityError, match="FOREIGN KEY"):
        connection.execute(
            "INSERT INTO bugs (campaign, choices, id, number, inputs, outputs, failed,"
            " seen, status) VALUES (1, '[]', 'a', 0, '{}', '{}', '', 1, 'open')"
        )
    connection.close()


def test_a_file_that_is_no_database_is_refused_with_a_remedy(tmp_path: Path) -> None:
    (tmp_path / DATABASE).write_bytes(b"this is no database, whatever its name\n" * 99)
    with pytest.raises(StoreError, match="not a database\nhelp: move the file away"):
        Store.open(tmp_path)


def test_a_damaged_database_is_refused_with_a_remedy(tmp_path: Path) -> None:
    with Store.open(tmp_path) as store:
        for _ in range(500):
            store.begin(RESULT)
    size = (tmp_path / DATABASE).stat().st_size
    with (tmp_path / DATABASE).open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * (size - 4096))
    with (
        pytest.raises(StoreError, match="help: move the file away"),
        Store.open(tmp_path) as store,
    ):
        store.newest()


def test_text_that_is_no_json_is_refused_with_a_remedy(tmp_path: Path) -> None:
    with Store.open(tmp_path) as store:
        store.begin(RESULT)
    connection = sqlite3.connect(tmp_path / DATABASE)
    with connection:
        connection.execute("UPDATE campaigns SET result = '__import__(\"os\")'")
    connection.close()
    with (
        Store.open(tmp_path) as store,
        pytest.raises(StoreError, match="help: move the file away"),
    ):
        store.newest()


def test_choices_that_are_no_integers_are_refused_with_a_remedy(tmp_path: Path) -> None:
    with Store.open(tmp_path) as store:
        add(store, store.begin(RESULT), make_bug(1, 2))
    connection = sqlite3.connect(tmp_path / DATABASE)
    with connection:
        connection.execute("UPDATE bugs SET choices = '[1.5, 2]'")
    connection.close()
    with (
        Store.open(tmp_path) as store,
        pytest.raises(
            StoreError, match=r"choices are integers, .*\nhelp: move the file"
        ),
    ):
        store.bugs()


def test_a_folder_that_cannot_be_made_is_refused_with_a_remedy(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="help: make the folder writable, or choose"):
        Store.open(tmp_path / "file" / ".nomos")


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX permissions")
def test_a_read_only_folder_is_refused_with_a_remedy() -> None:
    # Not tmp_path, into which only its owner may look.
    with tempfile.TemporaryDirectory() as folder:
        printed = printed_by(
            """
            Store.open(folder / "old").close()
            for path in (folder, folder / "old", folder / "old" / DATABASE):
                path.chmod(0o555)
            if os.geteuid() == 0:
                os.seteuid(65534)  # root may write everywhere
            for name in ("new", "old"):
                try:
                    with Store.open(folder / name) as store:
                        store.begin(RESULT)
                except StoreError as error:
                    print(str(error).splitlines()[-1])
            """,
            Path(folder),
        )
    remedy = "help: make the folder writable, or choose another with --store FOLDER\n"
    assert printed == remedy * 2


@pytest.mark.skipif(os.name != "posix", reason="needs limits on the size of files")
def test_a_full_disk_is_refused_with_a_remedy_and_keeps_what_was_committed(
    tmp_path: Path,
) -> None:
    printed = printed_by(
        """
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
        with Store.open(folder) as store:
            id = store.begin(RESULT)
            store.checkpoint(id, RESULT, {"next_case": 7})
            try:
                store.checkpoint(id, RESULT, {f"count_{n}": n for n in range(50_000)})
            except StoreError as error:
                print(str(error).splitlines()[-1])
        """,
        tmp_path,
    )
    assert printed.startswith("help: free some disk space")
    with Store.open(tmp_path) as store:
        found = store.find_unfinished(RESULT.subject, 42, 5000, "random")
        assert found is not None and found.state == {"next_case": 7}


def test_a_store_that_another_process_holds_is_waited_for_and_then_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nomos.database.BUSY_TIMEOUT_S", 0.05)
    with Store.open(tmp_path) as store:
        holder = sqlite3.connect(tmp_path / DATABASE, isolation_level=None)
        holder.execute("BEGIN IMMEDIATE")
        with pytest.raises(
            StoreError, match="locked\nhelp: another process is writing"
        ):
            store.begin(RESULT)
        holder.close()
        store.begin(RESULT)


def test_a_new_store_that_another_process_is_just_making_is_waited_for(
    tmp_path: Path,
) -> None:
    maker = sqlite3.connect(
        tmp_path / DATABASE, isolation_level=None, check_same_thread=False
    )
    maker.execute("BEGIN IMMEDIATE")
    timer = threading.Timer(0.2, maker.execute, ["COMMIT"])
    timer.start()
    Store.open(tmp_path).close()
    timer.join()
    maker.close()


def test_a_new_store_that_another_process_keeps_to_itself_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nomos.database.BUSY_TIMEOUT_S", 0.05)
    holder = sqlite3.connect(tmp_path / DATABASE, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreError, match="locked\nhelp: another process is writing"):
        Store.open(tmp_path)
    holder.close()


def calls_of(store: Store) -> Iterator[Callable[[], object]]:
    """Return every way to read or write a store."""
    subject = RESULT.subject
    yield store.newest
    yield store.bugs
    yield store.count_bugs
    yield lambda: store.bug("0")
    yield lambda: store.rows(1)
    yield lambda: store.find_unfinished(subject, 42, 5000, "random")
    yield lambda: store.begin(RESULT)
    yield lambda: store.mark(make_bug(1).id, "fixed")
    yield lambda: store.checkpoint(1, RESULT, {})


@pytest.mark.parametrize("seed", range(60))
def test_flipped_bytes_are_told_as_errors_of_the_store(
    tmp_path: Path, seed: int
) -> None:
    """Whatever is damaged, nothing but a StoreError is raised."""
    with Store.open(tmp_path) as store:
        id = store.begin(RESULT)
        add(store, id, *(make_bug(number) for number in range(30)))
    path = tmp_path / DATABASE
    rng = np.random.default_rng(seed)
    data = bytearray(path.read_bytes())
    if seed % 10 == 0:
        del data[int(rng.integers(len(data))) :]
    text = data.find(b"d1 <= d2")  # pages of text are where a flip is not noticed
    for _ in range(1 + seed % 40):
        first, last = (max(0, text - 3000), text + 3000) if seed % 3 else (0, len(data))
        place = int(rng.integers(first, min(last, len(data)))) if data else 0
        if place < len(data):
            data[place] ^= 1 << int(rng.integers(8))
    path.write_bytes(data)
    with suppress(StoreError), Store.open(tmp_path) as store:
        for call in calls_of(store):
            with suppress(StoreError):
                call()
