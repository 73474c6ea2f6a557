"""Stores that name more than a store may: nothing of it is run, opened or contacted."""

from __future__ import annotations

import json
import os
import pickle
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.lying_models.worlds import Done, nomos

DOMAIN = """\
import urllib.request
from pathlib import Path

import numpy as np

from nomos import Domain, Schema, batched, load_model
from nomos.domain import Integer

class Own:
    def predict(self, rows):
        return -np.asarray(rows)[:, 0].astype(int)

class Guarded(Domain):
    schema = Schema(*(Integer(f"c{n}", 0, 255) for n in range(60)))

    def __init__(
        self,
        model: str = "",
        server: str = "",
        port: int = 0,
        notes: Path = Path("notes.txt"),
        trust: bool = False,
    ) -> None:
        self.model = load_model(model, trust=trust) if model else Own()
        if server or port:
            urllib.request.urlopen(server or f"http://127.0.0.1:{port}", timeout=1)
        notes.read_text()

    def inputs(self):
        return np.arange(3000).reshape(50, 60).astype(np.uint8)

    @batched
    def predict(self, rows):
        return self.model.predict(rows)
"""
SPEC = """\
# A larger first feature never has a smaller answer.
import guarded;
param most: int := 255;
param word: string := "calm";
input x1;
var x2 := x1[c0 := most];
output d1;
output d2;
{
  d1 = predict(x1)
  d2 = predict(x2)
}
ensures d1 <= d2;
"""
ALLOWED = {"most": "255", "word": "calm", "server": "", "port": "0", "trust": "false"}


class Payload:
    """Makes a file when it is unpickled."""

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return os.system, ("touch RAN",)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "pyproject.toml").write_text("")
    (folder / "guarded.py").write_text(DOMAIN)
    (folder / "notes.txt").write_text("")
    (folder / "rising.nom").write_text(SPEC)
    (folder / "evilmod.py").write_text("open('RAN', 'w').close()\n")
    (folder / "m.pkl").write_bytes(pickle.dumps(Payload()))
    quiet = ("--quiet", "--budget", "50", "--no-groups", "--no-shrink")
    assert nomos("run", "rising.nom", *quiet, folder=folder).status == 1
    return folder


def edit(folder: Path, table: str, **columns: str) -> None:
    """Write columns of the store, and of campaigns into their results, too."""
    with sqlite3.connect(folder / ".nomos" / "nomos.db") as database:
        for name, value in columns.items():
            database.execute(f"UPDATE {table} SET {name} = ?", (value,))
            if table == "campaigns":
                (text,) = database.execute("SELECT result FROM campaigns").fetchone()
                shown = json.loads(value) if value.startswith("{") else value
                changed = json.dumps(json.loads(text) | {name: shown})
                database.execute("UPDATE campaigns SET result = ?", (changed,))
    database.close()


def first_bug(folder: Path) -> str:
    return nomos("bugs", folder=folder).stdout.split()[0]


def each_command(folder: Path, *more: str) -> dict[str, Done]:
    """Run what may run a store's bugs."""
    bug = first_bug(folder)
    return {
        "replay": nomos("replay", bug, *more, folder=folder),
        "shrunk": nomos("replay", bug, "--shrunk", *more, folder=folder),
        "show": nomos("show", bug, *more, folder=folder),
        "report": nomos("report", *more, folder=folder),
    }


@pytest.fixture
def contacts(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return what was contacted or run, as this process is told by Python itself."""
    seen: list[str] = []
    watching = [True]

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        watched = (
            "os.system",
            "socket.connect",
            "socket.getaddrinfo",
            "pickle.find_class",
        )
        if watching[0] and event in (*watched, "subprocess.Popen", "os.exec"):
            seen.append(f"{event}{arguments}")

    sys.addaudithook(hook)
    yield seen
    watching[0] = False


VALUES = {
    "a module": {"model": "evilmod:f"},
    "a module of Python": {"model": "pickle:loads"},
    "weights and a factory": {"model": "rising.nom@evilmod:f"},
    "a server as the model": {"model": "http://127.0.0.1:9/v2/models/m"},
    "a server as a setting": {"server": "http://127.0.0.1:9/"},
    "a port": {"port": "9"},
    "a file outside": {"notes": "/etc/hostname"},
    "a file above": {"notes": "../project/notes.txt"},
    "trust": {"trust": "true", "model": "m.pkl"},
    "a text of the spec": {"word": "http://127.0.0.1:9/"},
    "a name that is none": {"model": "a\0b\ud800"},
    "a name without end": {"model": "x" * 100_000},
    "a setting that is none": {"nothing": "evilmod:f"},
}


@pytest.mark.parametrize("field", ["settings", "model"])
@pytest.mark.parametrize("what", VALUES)
def test_a_setting_that_only_the_store_names_is_not_used(
    project: Path, contacts: list[str], what: str, field: str
) -> None:
    named = dict(VALUES[what])
    model = named.pop("model", "") if field == "model" else ""
    model = model.replace("\ud800", "")  # no column of SQLite can hold it
    edit(project, "campaigns", model=model)
    edit(project, "campaigns", settings=json.dumps(ALLOWED | named))
    body = pickle.dumps(Payload(), protocol=0).ljust(60, b".")
    edit(project, "bugs", made=json.dumps({"records": [list(body)]}))
    if not named and not model:
        return  # nothing is planted in this field
    done = each_command(project)
    assert done["replay"].status in (2, 3), done
    assert done["shrunk"].status in (2, 3), done
    assert "shown as recorded" in done["show"].stderr, done
    assert "is shown as recorded" in done["report"].stderr, done
    assert contacts == []
    assert not (project / "RAN").exists()


def test_what_the_command_line_names_is_used(project: Path) -> None:
    edit(project, "campaigns", settings=json.dumps({**ALLOWED, "notes": "/dev/null"}))
    assert each_command(project)["replay"].status in (2, 3)
    assert each_command(project, "--set", "notes=/dev/zero")["replay"].status in (2, 3)
    trusted = each_command(project, "--set", "notes=/dev/null")
    assert trusted["replay"].status == 1, trusted
    assert "shown as recorded" not in trusted["show"].stderr + trusted["report"].stderr


def test_numbers_of_a_spec_and_what_the_project_names_are_used(project: Path) -> None:
    edit(project, "campaigns", settings=json.dumps(ALLOWED | {"most": "254"}))
    done = each_command(project)
    assert done["replay"].status == 1, done
    assert "shown as recorded" not in done["show"].stderr + done["report"].stderr


RECORDS = {
    "bytes of a pickle": [list(pickle.dumps(Payload(), protocol=0).ljust(60, b"."))]
    * 2,
    "too few columns": [[1.0] * 59],
    "rows of two lengths": [[1.0] * 60, [1.0]],
    "a number beyond the schema": [[256.0] * 60],
    "a number that is not whole": [[0.5] * 60],
    "no number": [[float("inf")] * 60],
    "words": [["evilmod:f"] * 60],
    "deep lists": [[[[1.0]]] * 60],
}


@pytest.mark.parametrize("what", RECORDS)
def test_records_that_are_not_of_the_schema_are_not_asked(
    project: Path, what: str
) -> None:
    (project / "guarded.py").write_text(
        DOMAIN.replace("return self.model", "assert False, 'asked'; return self.model")
    )
    bug = first_bug(project)
    edit(project, "bugs", made=json.dumps({"records": RECORDS[what]}))
    done = nomos("replay", bug, folder=project)
    assert done.status in (2, 3), done
    assert "asked" not in done.stdout + done.stderr


def test_code_beside_a_store_from_elsewhere_is_not_run(project: Path) -> None:
    """The project is the current one, not whatever folder a store lies in."""
    other = project.parent / "other"
    other.mkdir()
    (other / "pyproject.toml").write_text("")
    evil = "open('RAN', 'w').close()\n" + DOMAIN
    (project / "guarded.py").write_text(evil)
    bug, store = first_bug(project), str(project / ".nomos")
    assert nomos("replay", bug, "--store", store, folder=other).status == 2
    assert nomos("show", bug, "--store", store, folder=other).status == 0
    assert nomos("report", "--store", store, folder=other).status == 0
    assert not (project / "RAN").exists()
    assert not (other / "RAN").exists()


@pytest.mark.parametrize("name", ["nomos.db", "nomos.db-wal", "cases", ".gitignore"])
def test_links_in_a_store_lead_nowhere(project: Path, name: str) -> None:
    place = project / ".nomos" / name
    outside = project.parent / "outside"
    if place.is_dir():
        outside.mkdir()
        for file in place.iterdir():
            file.unlink()
        place.rmdir()
    elif place.exists() and name != ".gitignore":
        outside.write_bytes(place.read_bytes())
    place.unlink(missing_ok=True)
    place.symlink_to(outside)

    def now() -> Any:
        if outside.is_dir():
            return sorted(outside.iterdir())
        return outside.read_bytes() if outside.exists() else None

    before = now()
    nomos("run", "rising.nom", "--quiet", "--budget", "20", folder=project)
    nomos("bugs", folder=project)
    assert now() == before


def test_a_store_that_runs_statements_of_its_own_is_refused(project: Path) -> None:
    with sqlite3.connect(project / ".nomos" / "nomos.db") as database:
        database.execute(
            "CREATE TRIGGER planted AFTER UPDATE ON bugs BEGIN"
            " UPDATE campaigns SET model = 'pickle:loads'; END"
        )
    database.close()
    done = nomos("bugs", folder=project)
    assert done.status == 3
    assert "'planted', which is no table of a store" in done.stderr
