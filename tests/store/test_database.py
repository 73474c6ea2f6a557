"""The file under the store: its versions, and what the outside world does to it."""

import os
import sqlite3
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from textwrap import dedent

import pytest
from nomos.campaign.database import MIGRATIONS, migrate
from nomos.campaign.records import CampaignRecord
from nomos.campaign.store import DATABASE, Store

from nomos.errors import StoreError

CAMPAIGN = CampaignRecord(
    spec="specs/felony_inc.nom",
    property="felony_inc",
    domain="compas",
    model="models/dt.onnx",
    settings={},
    seed=42,
    budget=5000,
    search="random",
    engine="columns",
)


def printed_by(script: str, folder: Path) -> str:
    """Return what another process prints that runs a script with these names."""
    preamble = dedent(f"""\
        import os, resource, sys
        sys.path.insert(0, {str(Path(__file__).parent)!r})
        from test_database import *
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
    with pytest.raises(StoreError, match=r"has version 99, .* knows 1\nhelp: upgrade"):
        Store.open(tmp_path)


def test_an_older_store_gets_the_scripts_it_lacks(tmp_path: Path) -> None:
    with Store.open(tmp_path) as store:
        store.begin(CAMPAIGN)
    connection = sqlite3.connect(tmp_path / DATABASE, isolation_level=None)
    scripts = [
        *MIGRATIONS,
        "ALTER TABLE campaigns ADD COLUMN note TEXT; UPDATE campaigns SET note = 'old'",
        "UPDATE campaigns SET note = note || 'er'",
    ]
    migrate(connection, tmp_path / DATABASE, scripts)
    assert connection.execute("PRAGMA user_version").fetchone() == (3,)
    assert connection.execute("SELECT note FROM campaigns").fetchall() == [("older",)]
    connection.close()


def test_a_migration_that_fails_changes_nothing(tmp_path: Path) -> None:
    Store.open(tmp_path).close()
    connection = sqlite3.connect(tmp_path / DATABASE, isolation_level=None)
    scripts = [*MIGRATIONS, "CREATE TABLE extra (id)", "no SQL"]
    with pytest.raises(sqlite3.OperationalError):
        migrate(connection, tmp_path / DATABASE, scripts)
    assert connection.execute("PRAGMA user_version").fetchone() == (1,)
    assert connection.execute("PRAGMA table_info(extra)").fetchall() == []
    connection.close()


def test_a_file_that_is_no_database_is_refused_with_a_remedy(tmp_path: Path) -> None:
    (tmp_path / DATABASE).write_bytes(b"this is no database, whatever its name\n" * 99)
    with pytest.raises(StoreError, match="not a database\nhelp: move the file away"):
        Store.open(tmp_path)


def test_a_damaged_database_is_refused_with_a_remedy(tmp_path: Path) -> None:
    with Store.open(tmp_path) as store:
        for _ in range(500):
            store.begin(CAMPAIGN)
    size = (tmp_path / DATABASE).stat().st_size
    with (tmp_path / DATABASE).open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * (size - 4096))
    with (
        pytest.raises(StoreError, match="help: move the file away"),
        Store.open(tmp_path) as store,
    ):
        store.campaigns()


def test_text_that_is_no_json_is_refused_with_a_remedy(tmp_path: Path) -> None:
    with Store.open(tmp_path) as store:
        store.begin(CAMPAIGN)
    connection = sqlite3.connect(tmp_path / DATABASE)
    with connection:
        connection.execute("UPDATE campaigns SET counts = '__import__(\"os\")'")
    connection.close()
    with (
        Store.open(tmp_path) as store,
        pytest.raises(StoreError, match="help: move the file away"),
    ):
        store.campaigns()


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
                        store.begin(CAMPAIGN)
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
            id = store.begin(CAMPAIGN)
            store.checkpoint(id, {"tests": 7}, 7)
            try:
                store.checkpoint(id, {f"count_{n}": n for n in range(50_000)}, 8)
            except StoreError as error:
                print(str(error).splitlines()[-1])
        """,
        tmp_path,
    )
    assert printed.startswith("help: free some disk space")
    with Store.open(tmp_path) as store:
        (campaign,) = store.campaigns()
        assert (campaign.counts, campaign.next_case) == ({"tests": 7}, 7)


def test_a_store_that_another_process_holds_is_waited_for_and_then_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nomos.campaign.database.BUSY_TIMEOUT_S", 0.05)
    with Store.open(tmp_path) as store:
        holder = sqlite3.connect(tmp_path / DATABASE, isolation_level=None)
        holder.execute("BEGIN IMMEDIATE")
        with pytest.raises(
            StoreError, match="locked\nhelp: another process is writing"
        ):
            store.begin(CAMPAIGN)
        holder.close()
        store.begin(CAMPAIGN)


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
    monkeypatch.setattr("nomos.campaign.database.BUSY_TIMEOUT_S", 0.05)
    holder = sqlite3.connect(tmp_path / DATABASE, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreError, match="locked\nhelp: another process is writing"):
        Store.open(tmp_path)
    holder.close()
