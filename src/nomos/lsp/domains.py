"""What the domains of open specs offer, learned from processes that import them."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nomos.domain.find import find_file, find_root
from nomos.errors import DomainError
from nomos.lang.types import FeatureType, Function, Offer, Type

_LONGEST_ANSWER = 64 * 2**20  # bytes
_AT_ONCE = 2  # processes that import at the same time
Stamp = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class PythonFunction:
    """A function of a domain as its Python file has it; `line` counts from 1."""

    name: str
    parameters: tuple[str, ...]
    doc: str
    file: str
    line: int

    @property
    def signature(self) -> str:
        """How a spec calls it."""
        return f"{self.name}({', '.join(self.parameters)})"


@dataclass(frozen=True, slots=True)
class PythonFeature:
    """A feature of a domain's records; `range` says its values, in words."""

    name: str
    range: str
    levels: tuple[str, ...]
    file: str
    line: int


@dataclass(frozen=True, slots=True)
class Imports:
    """What the imports of a spec are; `error` says why nothing is known of them."""

    offer: Offer | None = None
    functions: Mapping[str, PythonFunction] = field(default_factory=dict)
    features: Mapping[str, PythonFeature] = field(default_factory=dict)
    modules: Mapping[str, str] = field(default_factory=dict)
    about: str = ""
    error: str = ""
    files: tuple[str, ...] = ()


def read_answer(data: Mapping[str, Any]) -> Imports:
    """Return what a process answered."""
    files = tuple(data["files"])
    if "error" in data:
        return Imports(error=data["error"], files=files)
    functions = [
        PythonFunction(**{**item, "parameters": tuple(item["parameters"])})
        for item in data["functions"]
    ]
    features = [
        PythonFeature(**{**item, "levels": tuple(item["levels"])})
        for item in data["features"]
    ]
    return Imports(
        _read_offer(data["offer"]),
        {function.name: function for function in functions},
        {feature.name: feature for feature in features},
        data["modules"],
        data["about"],
        files=files,
    )


def _read_offer(data: Mapping[str, Any]) -> Offer:
    functions = [
        Function(**{**item, "returns": Type[item["returns"]]})
        for item in data["functions"]
    ]
    features = data["features"]
    return Offer(
        {function.name: function for function in functions},
        None
        if features is None
        else tuple(FeatureType(name, Type[type_]) for name, type_ in features),
        Type[data["input_type"]],
        data["has_labels"],
    )


@dataclass(slots=True)
class _Entry:
    imports: Imports | None = None
    stamp: Stamp = ()
    task: asyncio.Task[None] | None = None


class Domains:
    """The imports of specs, by folder and names; `learned` is called after each change."""

    def __init__(self, timeout_s: float, learned: Callable[[], None]) -> None:
        self.timeout_s = timeout_s
        self.learned = learned
        self._entries: dict[tuple[Path, tuple[str, ...]], _Entry] = {}
        self._turns = asyncio.Semaphore(_AT_ONCE)

    def get(self, spec: Path, names: Sequence[str]) -> Imports | None:
        """Return what is known now; what is not, or not any more, is being learned."""
        key = spec.parent, tuple(names)
        entry = self._entries.setdefault(key, _Entry())
        if entry.task is None and entry.stamp != _stamp(key, entry.imports):
            entry.task = asyncio.create_task(self._learn(key, entry))
        return entry.imports

    def look_again(self) -> None:
        """Learn anew what has changed on the disk."""
        for folder, names in list(self._entries):
            self.get(folder / "spec.nom", names)

    async def _learn(self, key: tuple[Path, tuple[str, ...]], entry: _Entry) -> None:
        before = _stamp(key, entry.imports)
        async with self._turns:
            entry.imports = await import_apart(*key, self.timeout_s)
        # A file that changed meanwhile has another stamp, and so is looked at again.
        after = _stamp(key, entry.imports)
        entry.stamp = after if before[0] == after[0] else ()
        entry.task = None
        self.learned()


def _stamp(key: tuple[Path, tuple[str, ...]], imports: Imports | None) -> Stamp:
    """Return what changes when the files of some imports do."""
    folder, names = key
    found: list[Path | None] = []
    for name in names:
        try:
            found.append(find_file(name, folder / "spec.nom"))
        except DomainError:
            found.append(None)
    own = [path for path in found if path is not None]
    known = [] if imports is None else [Path(file) for file in imports.files]
    if imports is not None and imports.error:  # a file that is missing may be made
        known += [folder for folder in (folder, find_root(folder)) if folder]
    return tuple((path, _changed(path)) for path in own), *map(_changed, known)


def _changed(path: Path) -> tuple[int, int]:
    try:
        found = path.stat()
    except OSError:
        return 0, 0
    return found.st_mtime_ns, found.st_size


async def import_apart(folder: Path, names: Sequence[str], timeout_s: float) -> Imports:
    """Import in a process of its own, which is ended after its answer or its time."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "nomos.lsp.describing"),
        *(str(folder / "spec.nom"), *names),
        stdin=asyncio.subprocess.PIPE,  # never written to: it ends when we do
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        limit=_LONGEST_ANSWER,
        cwd=find_root(folder) or folder,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        start_new_session=True,
    )
    assert process.stdout is not None
    files = _files_of(folder, names)
    try:
        line = await asyncio.wait_for(process.stdout.readline(), timeout_s)
        return read_answer(json.loads(line))
    except TimeoutError:
        reason = f"importing it took more than {timeout_s:g} s and was stopped"
        return Imports(error=reason, files=files)
    except (ValueError, KeyError, TypeError):  # it died, or spoke for itself
        reason = "importing it ended the process that imports it"
        return Imports(error=reason, files=files)
    finally:
        await _end(process)


def _files_of(folder: Path, names: Sequence[str]) -> tuple[str, ...]:
    files = []
    for name in names:
        with contextlib.suppress(DomainError):
            files.append(str(find_file(name, folder / "spec.nom")))
    return tuple(files)


async def _end(process: asyncio.subprocess.Process) -> None:
    """End a process and those that it began."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, 9)
        else:
            process.kill()
    await process.wait()
