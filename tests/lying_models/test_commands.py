"""Every command in every broken world: no traceback, and never 0 for what was not done."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from tests.lying_models.conftest import World
from tests.lying_models.worlds import (
    COSTS_ITS_CASE,
    DOMAINS,
    FAULTS,
    MODELS,
    SPEC,
    WRONG,
    Fault,
    command,
    nomos,
    write_domain,
)
from tests.sizes import one_of

# What a command may answer where a domain or a model is at fault. `show` and `report`
# show what was recorded where the case cannot be run again; they judge nothing.
COMMANDS: dict[str, tuple[list[str], set[int]]] = {
    "replay": (["replay", "BUG"], {0, 1, 3}),
    "show": (["show", "BUG"], {0}),
    "show -o": (["show", "BUG", "-o", "shown"], {0}),
    "bugs": (["bugs"], {0}),
    "bugs as json": (["bugs", "--format", "json"], {0}),
    "report": (["report", "-o", "page.html"], {0}),
    "compare": (
        ["compare", "specs", "--model", "a", "--model", "b", "--json", "c.json"],
        {0, 1, 3},
    ),
    "check": (["check", "specs"], {0, 1, 2, 3}),
    "fmt": (["fmt", "--check", "specs"], {0}),
}


def run_all(world: World, fault: Fault | None) -> dict[str, int]:
    """Run every command; return its exit status, which must be one it may have."""
    statuses = {}
    for name, (arguments, allowed) in COMMANDS.items():
        given = [world.bug if word == "BUG" else word for word in arguments]
        done = command(fault, given, world.folder)
        assert done.status in allowed, (name, done)
        statuses[name] = done.status
    return statuses


@pytest.mark.parametrize(
    "name", one_of(3, [n for n, f in MODELS.items() if not f.deadly])
)
def test_commands_with_a_lying_model(world: World, name: str) -> None:
    fault = MODELS[name]
    write_domain(world.folder, fault)
    statuses = run_all(world, fault)
    assert statuses["check"] == 0
    # Old and new are one model: nothing is new, and what is not evaluated is not green.
    if fault.statuses == {3} and fault.alone is None:
        assert statuses["compare"] == 3
        # Else the bug's own case is answered well, or its spec asks for something else.
        if (
            WRONG not in fault.code
            and "asked %" not in fault.code
            and not fault.ensures
        ):
            assert statuses["replay"] in (1, 3)


@pytest.mark.parametrize("name", [n for n, f in DOMAINS.items() if not f.deadly])
def test_commands_with_a_broken_domain(world: World, name: str) -> None:
    write_domain(world.folder, DOMAINS[name])
    statuses = run_all(world, DOMAINS[name])
    assert statuses["compare"] == 3
    assert statuses["replay"] == 3 or DOMAINS[name].ensures


@pytest.mark.slow
@pytest.mark.parametrize("name", [n for n, f in FAULTS.items() if f.deadly])
def test_commands_with_a_deadly_fault(world: World, name: str) -> None:
    write_domain(world.folder, FAULTS[name])
    if name in COSTS_ITS_CASE:
        arguments = ["compare", "specs", "--model", "a", "--model", "b", "--isolate"]
        arguments += ["--call-timeout", "1", "--max-crashes", "2"]
        assert command(FAULTS[name], arguments, world.folder).status == 3
        return
    for word in ("replay", "show", "report", "check", "compare"):
        arguments, _ = COMMANDS[word]
        given = [world.bug if part == "BUG" else part for part in arguments]
        done = command(FAULTS[name], given, world.folder)
        if word in ("replay", "compare"):
            assert done.status == 3, done
        assert done.stdout + done.stderr, f"{word} said nothing"


# Stores that are data from anywhere.

EVIL = """\
from pathlib import Path
Path({witness!r}).write_text("it ran")
import numpy as np
from nomos import Domain, batched

class Evil(Domain):
    def __init__(self, model: str = "x") -> None:
        pass
    def inputs(self):
        return np.arange(30)
    def labels(self):
        return np.arange(30)
    def plus(self, number, more):
        return number + more
    @batched
    def answer(self, numbers):
        return -np.asarray(numbers)
"""


def plant(folder: Path, witness: Path) -> None:
    """Write a spec whose domain leaves a trace when it is imported."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "evil.py").write_text(EVIL.format(witness=str(witness)))
    (folder / "evil.nom").write_text(SPEC.replace("import steps", "import evil"))


def rename(world: World, column: str, value: str) -> None:
    """Make the store name another spec or model."""
    path = world.folder / ".nomos" / "nomos.db"
    with sqlite3.connect(path) as database:
        database.execute(f"UPDATE campaigns SET {column} = ?", (value,))
        (text,) = database.execute("SELECT result FROM campaigns").fetchone()
        changed = json.dumps(json.loads(text) | {column: value})
        database.execute("UPDATE campaigns SET result = ?", (changed,))
    database.close()


@pytest.mark.parametrize(
    "where", ["absolute", "above", "above by a detour", "inside the store", "linked"]
)
def test_a_spec_that_only_the_store_names_is_not_run(world: World, where: str) -> None:
    witness = world.folder.parent / "witness"
    outside, inside = world.folder.parent / "outside", world.folder / ".nomos" / "in"
    plant(outside, witness)
    plant(inside, witness)
    spec = {
        "absolute": str(outside / "evil.nom"),
        "above": "../outside/evil.nom",
        "above by a detour": "specs/../../outside/evil.nom",
        "inside the store": ".nomos/in/evil.nom",
        "linked": "specs/linked/evil.nom",
    }[where]
    (world.folder / "specs" / "linked").symlink_to(outside)
    rename(world, "spec", spec)
    assert nomos("replay", world.bug, folder=world.folder).status in (2, 3)
    shown = nomos("show", world.bug, folder=world.folder)
    assert "shown as recorded" in shown.stderr
    nomos("report", "-o", "page.html", folder=world.folder)
    assert not witness.exists()


@pytest.mark.parametrize("model", ["evil_module:make", "evil.pkl", "../evil.pkl"])
def test_a_model_that_only_the_store_names_is_not_loaded(
    world: World, model: str
) -> None:
    witness = world.folder.parent / "witness"
    code = f"from pathlib import Path\nPath({str(witness)!r}).write_text('it ran')\n"
    (world.folder / "evil_module.py").write_text(code)
    (world.folder.parent / "evil.pkl").write_bytes(b"cos\nsystem\n(S'true'\ntR.")
    domain = (world.folder / "steps.py").read_text()
    domain = domain.replace(
        "self.model = model",
        "self.model = model if model == 'sound' else load_model(model)",
    ).replace("import Domain, batched", "import Domain, batched, load_model")
    (world.folder / "steps.py").write_text(domain)
    rename(world, "model", model)
    done = nomos("replay", world.bug, folder=world.folder)
    assert done.status in (2, 3)
    assert f"the model {model} is no file of this project" in done.stderr
    assert "shown as recorded" in nomos("show", world.bug, folder=world.folder).stderr
    nomos("report", "-o", "page.html", folder=world.folder)
    assert not witness.exists()


def flip(path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    data = bytearray(path.read_bytes())
    for place in rng.integers(0, len(data), 40).tolist():
        data[place] ^= 1 << int(rng.integers(8))
    path.write_bytes(data)


def _newer(path: Path) -> None:
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA user_version = 99")
    database.close()


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


STORES: dict[str, Callable[[Path], object]] = {
    **{f"has flipped bytes {n}": lambda path, n=n: flip(path, n) for n in range(8)},
    "is cut": lambda path: os.truncate(path, path.stat().st_size // 2),
    "is cut in its head": lambda path: os.truncate(path, 50),
    "is empty": lambda path: path.write_bytes(b""),
    "is no database": lambda path: path.write_bytes(b"no database\n" * 999),
    "is newer": _newer,
    "is a folder": _folder,
    "has strange text": lambda path: _set(path, "choices = 'no json'"),
    "has strange values": lambda path: _set(path, "inputs = '[1]', mask = 'x'"),
    "has bugs without a case": lambda path: _set(path, "choices = '[]'"),
    "has cases that cannot be drawn": lambda path: _set(path, "choices = '[99, 99]'"),
    "has choices beyond all numbers": lambda path: _set(
        path, f"choices = '[{10**30}]'"
    ),
}


def _set(path: Path, what: str) -> None:
    with sqlite3.connect(path) as database:
        database.execute(
            f"UPDATE bugs SET {what} WHERE number = (SELECT max(number) FROM bugs)"
        )
    database.close()


@pytest.mark.parametrize("name", STORES)
def test_commands_with_a_broken_store(world: World, name: str) -> None:
    STORES[name](world.folder / ".nomos" / "nomos.db")
    for word in ("replay", "show", "bugs", "report"):
        arguments, _ = COMMANDS[word]
        given = [world.bug if part == "BUG" else part for part in arguments]
        done = nomos(*given, folder=world.folder)
        assert done.status in (0, 1, 3), done
        assert done.stdout + done.stderr
    # A campaign does not need its store: it goes without.
    done = nomos("run", "specs", "--json", "out.json", folder=world.folder)
    assert done.status == 0, done
    (run,) = json.loads((world.folder / "out.json").read_text())["runs"]
    assert run["verdict"] == "holds"


@contextmanager
def locked(path: Path) -> Iterator[None]:
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        holder.close()


def test_commands_with_a_store_that_another_process_holds(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nomos.database.BUSY_TIMEOUT_S", 0.05)
    with locked(world.folder / ".nomos" / "nomos.db"):
        assert nomos("bugs", folder=world.folder).status == 0
        done = nomos("run", "specs", folder=world.folder)
    assert done.status == 0
    assert "another process is writing" in done.stdout + done.stderr


@pytest.mark.parametrize("ending", [".known", ".json"])
def test_files_of_cases_that_are_broken_never_hide_a_bug(
    world: World, ending: str
) -> None:
    write_domain(world.folder, MODELS["has holes"])
    path = world.folder / ".nomos" / "cases" / "specs" / f"steps{ending}"
    flip(path, 1)
    path.write_bytes(path.read_bytes() + b"\xff\n")
    done = nomos("run", "specs", "--fail-on", "new", folder=world.folder)
    assert done.status in ((1, 3) if ending == ".known" else (0, 1, 3)), done


def test_a_store_of_another_project_can_be_read_where_it_is(
    world: World, tmp_path: Path
) -> None:
    shutil.copytree(world.folder / ".nomos", tmp_path / "elsewhere" / ".nomos")
    arguments = ["--store", str(tmp_path / "elsewhere" / ".nomos")]
    empty = tmp_path / "empty"
    empty.mkdir()
    assert nomos("bugs", *arguments, folder=empty).status == 0
    assert nomos("show", world.bug, *arguments, folder=empty).status == 0
    assert nomos("replay", world.bug, *arguments, folder=empty).status in (2, 3)


# Files that cannot be written.


@pytest.mark.parametrize(
    "option", ["--json", "--junit", "--sarif", "--html", "--events"]
)
@pytest.mark.parametrize("where", ["full", "specs", "nowhere/out", "pyproject.toml/x"])
def test_a_report_that_cannot_be_written_is_never_green(
    world: World, option: str, where: str
) -> None:
    (world.folder / "full").symlink_to("/dev/full")  # a disk without room
    before = set(world.folder.rglob("*"))
    done = nomos("run", "specs", option, where, "--no-store", folder=world.folder)
    assert done.status in (2, 3), done
    assert done.stderr
    left = {
        p for p in set(world.folder.rglob("*")) - before if "__pycache__" not in str(p)
    }
    assert left == set()


@pytest.mark.parametrize(
    "arguments",
    [
        ["report", "-o", "full"],
        ["report", "-o", "nowhere/page.html"],
        ["show", "BUG", "-o", "pyproject.toml/shown"],
        ["compare", "specs", "--model", "a", "--model", "b", "--json", "full"],
    ],
)
def test_other_files_that_cannot_be_written_are_never_green(
    world: World, arguments: list[str]
) -> None:
    (world.folder / "full").symlink_to("/dev/full")
    write_domain(world.folder, MODELS["has holes"])
    given = [world.bug if word == "BUG" else word for word in arguments]
    done = nomos(*given, folder=world.folder)
    assert done.status in (2, 3), done
    assert (world.folder / "full").is_symlink()
