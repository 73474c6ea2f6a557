"""What the domains of open specs offer, learned from processes that import them."""

import asyncio
import contextlib
import json
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from nomos.domain.find import find_root
from nomos.lsp.describing import Imports, files_of
from nomos.results.reading import decode_value
from nomos.runner import posix

_LONGEST_ANSWER = 64 * 2**20  # bytes
_AT_ONCE = 2  # processes that import at the same time
Stamp = tuple[object, ...]


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
        if entry.task is None and entry.stamp != _stamp_of(key, entry.imports):
            entry.task = asyncio.create_task(self._learn_imports(key, entry))
        return entry.imports

    def look_again(self) -> None:
        """Learn anew what has changed on the disk."""
        for folder, names in list(self._entries):
            self.get(folder / "spec.nom", names)

    async def _learn_imports(
        self, key: tuple[Path, tuple[str, ...]], entry: _Entry
    ) -> None:
        before = _stamp_of(key, entry.imports)
        async with self._turns:
            entry.imports = await import_apart(*key, self.timeout_s)
        # A file that changed meanwhile has another stamp, and so is imported again.
        after = _stamp_of(key, entry.imports)
        entry.stamp = after if before[0] == after[0] else ()
        entry.task = None
        self.learned()


def _stamp_of(key: tuple[Path, tuple[str, ...]], imports: Imports | None) -> Stamp:
    """Return what changes when the files of some imports do."""
    folder, names = key
    own = files_of(names, folder / "spec.nom")
    known = [] if imports is None else [Path(file) for file in imports.files]
    if imports is not None and imports.error:  # a file that is missing may be made
        known += [folder for folder in (folder, find_root(folder)) if folder]
    return tuple((path, file_stamp(path)) for path in own), *map(file_stamp, known)


def file_stamp(path: Path) -> tuple[int, int]:
    """Return what changes when a file does."""
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
    files = [str(file) for file in files_of(names, folder / "spec.nom")]
    try:
        line = await asyncio.wait_for(process.stdout.readline(), timeout_s)
        answer: Imports = decode_value(Imports, {**json.loads(line)})
        return answer
    except TimeoutError:
        reason = f"importing it took more than {timeout_s:g} s and was stopped"
        return Imports(error=reason, files=files)
    except (ValueError, KeyError, TypeError):  # it died, or spoke for itself
        reason = "importing it ended the process that imports it"
        return Imports(error=reason, files=files)
    finally:
        await _end_process(process)


async def _end_process(process: asyncio.subprocess.Process) -> None:
    """End a process and those that it began."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        posix.kill_group(process)
    await process.wait()
