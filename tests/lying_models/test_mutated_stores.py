"""Mutated stores, baselines, results and lists of known bugs, through all that reads them.

Nothing is run, no address is contacted, no file outside the project is touched, and no
command ends in a traceback. What Python does is watched by an audit hook.
"""

from __future__ import annotations

import json
import os
import random  # noqa: TID251 - seeded: the same mutations each time
import signal
import sqlite3
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

import nomos as package
from tests.lying_models.test_stores import DOMAIN, SPEC
from tests.lying_models.worlds import nomos

FEW, ALL, PARTS = 100, 10_000, 10
LONGEST_S = 60
STORE = ".nomos/nomos.db"
FILES = (STORE, ".nomos/cases/rising.known", ".nomos/cases/rising.json", "base.json")
RUN = ("run", "rising.nom", "--budget", "8", "--quiet", "--no-groups", "--no-shrink")
COMMANDS = (
    ("replay", "BUG"),
    ("replay", "BUG", "--shrunk"),
    ("show", "BUG"),
    ("show", "BUG", "-o", "shown"),
    ("bugs",),
    ("bugs", "--format", "json"),
    ("report",),
    (*RUN, "--baseline", "base.json"),
    (*RUN, "--fail-on", "new"),
    (*RUN, "--resume"),
)
READERS = {  # of each file
    STORE: (*range(7), 9, 0, 2, 6),
    FILES[1]: (8,),
    FILES[2]: (8, 9),
    FILES[3]: (7,),
}
DEEP: Any = []
for _ in range(500):
    DEEP = [DEEP]
HOSTILE: list[Any] = [
    *("pickle:loads", "evilmod:f", "x@evilmod:f", "http://127.0.0.1:9/", "outside.pkl"),
    *(
        "/etc/hostname",
        "../outside",
        "../outside/evil.nom",
        "evilmod.py",
        ".",
        "",
        "\0",
    ),
    *("\x1b[31m\u202e", "\ud800", "[red]", "{{x}}", "<script>", "x" * 5000, "é" * 99),
    *(0, 1, -1, 2**31, 2**63, -(2**63) - 1, 2**70, 10**400, 0.5, -0.0, 1e308),
    *(
        float("inf"),
        float("nan"),
        True,
        None,
        [],
        {},
        [[]],
        {"model": "evilmod:f"},
        DEEP,
    ),
    {"records": [[128] * 60]},
]
# What a hook of Python tells of, and may not happen.
RUNS = ("os.system", "os.exec", "os.posix_spawn", "os.fork", "subprocess.Popen")
REACHES = ("socket.connect", "socket.getaddrinfo", "socket.sendto", "urllib.Request")
TOUCHES = ("open", "os.remove", "os.rename", "os.mkdir", "os.rmdir", "sqlite3.connect")


class Watch:
    """Notes what is run, contacted or touched while it is on."""

    def __init__(self) -> None:
        self.root: Path | None = None
        self.seen: list[str] = []
        own = (
            sys.prefix,
            sys.base_prefix,
            sysconfig.get_path("stdlib"),
            "/dev",
            "/proc",
        )
        code = Path(package.__file__).parents[1]
        self.allowed = [*own, str(code), str(Path(__file__).parents[2])]
        self.allowed += [entry for entry in sys.path if "site-packages" in entry]

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self.root is None:
            return
        code = str(getattr(arguments[0], "co_filename", "")) if arguments else ""
        is_code = event == "exec" and code.endswith(("evil.py", "evilmod.py"))
        if event in (*RUNS, *REACHES, "pickle.find_class") or is_code:
            self.seen.append(f"{event} {arguments}"[:300])
        if event in TOUCHES:
            for path in arguments[: 2 if event == "os.rename" else 1]:
                if isinstance(path, str | bytes | os.PathLike) and self._is_outside(
                    path
                ):
                    self.seen.append(f"{event} {os.fsdecode(path)!r}"[:300])

    def _is_outside(self, path: Any) -> bool:
        text = os.path.abspath(os.fsdecode(path))  # noqa: PTH100 - a hook opens nothing
        return (
            not text.startswith((str(self.root), *self.allowed)) and text != ":memory:"
        )

    @contextmanager
    def on(self, root: Path) -> Iterator[None]:
        self.root, self.seen = root, []
        try:
            yield
        finally:
            self.root = None


@pytest.fixture(scope="module")
def watch() -> Watch:
    made = Watch()
    sys.addaudithook(made)  # it stays, and does nothing unless it is on
    return made


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Return a project with all kinds of files that Nomos reads, and a bug's id."""
    folder = tmp_path_factory.mktemp("mutated") / "project"
    folder.mkdir()
    for name, text in {
        "pyproject.toml": "",
        "guarded.py": DOMAIN,
        "notes.txt": "",
        "rising.nom": SPEC,
        "evilmod.py": "open('RAN', 'w').close()\n",
        "../evil.py": "open('RAN', 'w').close()\n" + DOMAIN,
        "../evil.nom": SPEC.replace("import guarded", "import evil"),
    }.items():
        (folder / name).write_text(text)
    done = nomos(
        "run",
        "rising.nom",
        "--quiet",
        "--budget",
        "8",
        "--json",
        "base.json",
        folder=folder,
    )
    assert done.status == 1, done
    guided = ("--search", "guided", "--calls", "60", "--quiet")
    nomos("run", "rising.nom", *guided, "--set", "port=0", folder=folder)
    return folder, nomos("bugs", folder=folder).stdout.split()[0]


def mutate_bytes(rng: random.Random, data: bytes) -> bytes:
    """Flip, cut, repeat or put in some bytes."""
    changed = bytearray(data or b"?")
    for _ in range(rng.choice((1, 1, 3, 40))):
        at = rng.randrange(len(changed))
        piece = str(rng.choice(HOSTILE)).encode("utf-8", "surrogatepass")[:99]
        match rng.randrange(5):
            case 0 | 1:
                changed[at] ^= 1 << rng.randrange(8)
            case 2:
                changed[at : at + len(piece)] = piece
            case 3:
                changed[at:at] = piece
            case _ if rng.random() < 0.1:
                del changed[at:]
            case _:
                del changed[at : at + rng.randrange(9)]
        changed = changed or bytearray(b"?")
    return bytes(changed)


def mutate_data(rng: random.Random, data: Any) -> Any:
    """Put another value somewhere into JSON, or take one away."""
    if not isinstance(data, list | dict) or not data or rng.random() < 0.08:
        return rng.choice(HOSTILE)
    key = rng.choice(list(data) if isinstance(data, dict) else range(len(data)))
    changed = data.copy()
    if rng.random() < 0.1:
        del changed[key]
    elif rng.random() < 0.1 and isinstance(changed, dict):
        changed[str(rng.choice(HOSTILE))[:99]] = changed[key]
    else:
        changed[key] = mutate_data(rng, data[key])
    return changed


def mutate_json(rng: random.Random, text: str) -> str:
    try:
        return json.dumps(mutate_data(rng, json.loads(text)))
    except (ValueError, RecursionError):
        return text


def mutate_store(rng: random.Random, path: Path) -> None:
    """Change some cells of the tables, most of them inside their JSON."""
    with closing(sqlite3.connect(path)) as database:
        for _ in range(rng.choice((1, 1, 2, 6))):
            table = rng.choice(("campaigns", "bugs", "bugs"))
            columns = [
                row[1] for row in database.execute(f"PRAGMA table_info({table})")
            ]
            column = rng.choice(columns)
            rows = database.execute(f"SELECT rowid, {column} FROM {table}").fetchall()
            if not rows:
                continue
            for place, cell in rows if rng.random() < 0.7 else [rng.choice(rows)]:
                is_json = isinstance(cell, str) and cell[:1] in ("{", "[")
                new = mutate_json(rng, cell) if is_json else rng.choice(HOSTILE)
                if (is_json and rng.random() < 0.1) or not isinstance(
                    new, str | int | float | None
                ):
                    new = rng.choice(
                        (json.dumps(rng.choice(HOSTILE)), b"\xff\0", "[" * 9999)
                    )
                sql = f"UPDATE OR IGNORE {table} SET {column} = ? WHERE rowid = ?"
                with suppress(sqlite3.Error, OverflowError, UnicodeError):
                    database.execute(sql, (new, place))  # else none can hold it
        if rng.random() < 0.3:
            database.execute("UPDATE campaigns SET finished = NULL")
        database.commit()


def mutate(rng: random.Random, folder: Path) -> str:
    """Mutate one of the files; return which."""
    name = rng.choice((STORE, STORE, STORE, *FILES[1:]))
    path = folder / name
    if name == STORE and rng.random() < 0.7:
        mutate_store(rng, path)
    elif name.endswith(".json") and rng.random() < 0.7:
        path.write_text(mutate_json(rng, path.read_text()))
    else:
        path.write_bytes(mutate_bytes(rng, path.read_bytes()))
    return name


@contextmanager
def in_time() -> Iterator[None]:
    def late(*_: object) -> None:
        raise AssertionError(f"it took more than {LONGEST_S} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(LONGEST_S)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def restore(folder: Path, whole: dict[str, bytes]) -> None:
    for name, data in whole.items():
        (folder / name).write_bytes(data)
    for ending in ("-wal", "-shm", "-journal"):
        (folder / f"{STORE}{ending}").unlink(missing_ok=True)


def run_mutations(project: tuple[Path, str], watch: Watch, seeds: range) -> list[str]:
    """Return what went wrong, with the seed of each."""
    folder, bug = project
    whole = {name: (folder / name).read_bytes() for name in FILES}
    for words in COMMANDS:  # what is imported late is imported now
        nomos(*(bug if word == "BUG" else word for word in words), folder=folder)
    outside = sorted(folder.parent.iterdir())
    wrong = []
    for seed in seeds:
        rng = random.Random(seed)
        restore(folder, whole)
        name = mutate(rng, folder)
        words = COMMANDS[rng.choice(READERS[name])]
        given = [bug if word == "BUG" else word for word in words]
        try:
            with in_time(), watch.on(folder):
                done = nomos(*given, folder=folder)
            if done.status not in (0, 1, 2, 3):
                wrong.append(f"{seed} {name} {words}: status {done.status}")
        except Exception as error:  # a traceback is what is looked for
            wrong.append(f"{seed} {name} {words}: {error!r} of {error.__cause__!r}")
        wrong += [f"{seed} {name} {words}: {event}" for event in watch.seen]
    restore(folder, whole)
    if (folder / "RAN").exists() or sorted(folder.parent.iterdir()) != outside:
        wrong.append("a file was made")
    return wrong


def test_some_mutated_files_run_nothing_and_end_in_no_traceback(
    project: tuple[Path, str], watch: Watch
) -> None:
    assert run_mutations(project, watch, range(FEW)) == []


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_mutated_files_run_nothing_and_end_in_no_traceback(
    project: tuple[Path, str], watch: Watch, part: int
) -> None:
    each = ALL // PARTS
    seeds = range(max(FEW, part * each), (part + 1) * each)
    assert run_mutations(project, watch, seeds) == []


@pytest.mark.parametrize(
    ("hole", "value", "said"),
    [
        ("module", "evilmod:f", "evilmod.py"),
        ("server", "http://127.0.0.1:9/v2/models/m", "socket."),
        ("file", "/etc/hostname", "open '/etc/hostname'"),
    ],
)
def test_a_hole_in_what_decides_is_seen(
    project: tuple[Path, str],
    watch: Watch,
    monkeypatch: pytest.MonkeyPatch,
    hole: str,
    value: str,
    said: str,
) -> None:
    folder, bug = project
    whole = {name: (folder / name).read_bytes() for name in FILES}
    with closing(sqlite3.connect(folder / STORE)) as database:
        database.execute("UPDATE campaigns SET model = ?", (value,))
        database.commit()
    try:
        with watch.on(folder):
            nomos("replay", bug, folder=folder)
        assert watch.seen == []
        monkeypatch.setattr(
            "nomos.runner.project.reopening._own_setting", lambda _, value, *__: value
        )
        with watch.on(folder):
            nomos("replay", bug, folder=folder)
        assert said in " ".join(watch.seen)
    finally:
        sys.modules.pop("evilmod", None)
        (folder / "RAN").unlink(missing_ok=True)
        restore(folder, whole)
