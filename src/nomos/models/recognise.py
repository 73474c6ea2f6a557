"""Recognise the kind of a model's file or folder by what is in it; nothing is run.

Content decides where it says something: a pickle is a pickle, whatever its name. The
ending decides only between kinds that leave no mark of their own.
"""

import os
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from nomos.domain.reading.arrow import ARROW_SUFFIXES
from nomos.errors import ModelError
from nomos.models.kinds import ModelKind, all_kinds

_HEAD = 64
# A model is not much smaller packed than unpacked; a zip bomb is.
_MOST_UNPACKED, _MOST_TIMES_PACKED = 2**28, 20


@dataclass(frozen=True, slots=True)
class ModelFile:
    """What is known of a file or folder before any library sees it.

    Attributes:
        path: Where it is.
        head: Its first bytes; none of a folder.
        members: The names in a folder, or of the files in a zip archive.
        inner: The members without their first folder, which torch names after the file.
    """

    path: Path
    head: bytes = b""
    members: frozenset[str] = frozenset()
    inner: frozenset[str] = frozenset()

    @property
    def is_folder(self) -> bool:
        """Say whether it is a folder."""
        return not self.head

    @property
    def is_archive(self) -> bool:
        """Say whether it is a zip archive."""
        return self.head.startswith(b"PK")

    @property
    def ending(self) -> str:
        """Return its ending, in small letters."""
        return self.path.suffix.lower()

    @property
    def is_text(self) -> bool:
        """Say whether it begins like a text."""
        return all(byte >= 0x20 or byte in b"\t\n\r" for byte in self.head)


def recognise(path: Path) -> ModelKind:
    """Return the kind of a file or folder, or raise ModelError with the reason."""
    file, kinds = _inspect_file(path), all_kinds()
    for kind in kinds:
        if kind.is_mine(file):
            return kind
    if file.is_archive:
        raise ModelError(f"{path} is a zip archive, but of no model that can be loaded")
    for kind in kinds:
        if file.ending in kind.endings and not file.is_folder:
            what = "a text file" if file.is_text else "something else"
            raise ModelError(f"{path} is no {kind.name}: it is {what}, or damaged")
    known = ", ".join(
        f"{kind.name} ({', '.join(kind.endings)})" if kind.endings else kind.name
        for kind in kinds
        if not kind.scheme
    )
    raise ModelError(
        f"{'the folder ' * file.is_folder}{path} is no model that can be loaded; known "
        f"are: {known}, http://HOST/v2/models/NAME, openai:NAME or module:function"
    )


def extras_below(folder: Path) -> list[str]:
    """Return the extras that models and tables below a folder need; nothing is loaded."""
    found = set()
    for place, folders, files in os.walk(folder):
        folders[:] = [
            name for name in folders if not name.startswith((".", "node_mod"))
        ]
        if any(name.lower().endswith(ARROW_SUFFIXES) for name in files):
            found.add("arrow")
        for name in ("", *files):  # a folder may be a model itself
            with suppress(ModelError):
                found.add(recognise(Path(place, name)).extra)
    return sorted(found - {""})


def _inspect_file(path: Path) -> ModelFile:
    try:
        if path.is_dir():
            return ModelFile(path, members=frozenset(p.name for p in path.iterdir()))
        if not path.is_file():
            raise ModelError(f"there is no model file {path}")
        with path.open("rb") as file:
            head = file.read(_HEAD)
    except OSError as error:
        raise ModelError(f"{path} cannot be read: {error.strerror}") from error
    if not head:
        raise ModelError(f"{path} is empty")
    if not head.startswith(b"PK"):
        return ModelFile(path, head)
    with open_archive(path) as archive:
        names = {name for name in archive.namelist() if not name.endswith("/")}
    inner = {str(PurePosixPath(*PurePosixPath(name).parts[1:])) for name in names}
    return ModelFile(path, head, frozenset(names), frozenset(inner))


def open_archive(path: Path) -> zipfile.ZipFile:
    """Open a zip archive that is whole and no bomb."""
    said = f"{path} begins like a zip archive"
    cut = ModelError(f"{said}, but it is cut short or damaged")
    try:
        archive = zipfile.ZipFile(path)
    except (zipfile.BadZipFile, OSError, ValueError) as error:
        raise cut from error
    # In what is left of an archive, an archive that was a member of it may be found.
    if min((info.header_offset for info in archive.infolist()), default=0) != 0:
        archive.close()
        raise cut
    unpacked = sum(info.file_size for info in archive.infolist())
    allowed = max(_MOST_UNPACKED, _MOST_TIMES_PACKED * path.stat().st_size)
    names = archive.namelist()
    problem = None
    if unpacked > allowed:
        problem = f"would unpack to {unpacked / 2**30:.2g} GiB"
    elif len(set(names)) != len(names):
        problem = "has two members of one name"  # readers differ in which they take
    if problem is not None:
        archive.close()
        raise ModelError(f"{path} is refused: it {problem}")
    return archive


def json_objects(content: Any) -> Iterator[dict[str, Any]]:
    """Yield all objects of JSON, however deep inside they are."""
    pending = [content]
    while pending:
        part = pending.pop()
        if isinstance(part, dict):
            yield part
        children = part.values() if isinstance(part, dict) else part
        pending += [child for child in children if isinstance(child, dict | list)]


def load_members(path: Path) -> dict[str, bytes]:
    """Return all members of an archive; damage in any of them is an error."""
    try:
        with open_archive(path) as archive:
            return {name: archive.read(name) for name in archive.namelist()}
    except (zipfile.BadZipFile, OSError, RuntimeError, ValueError, EOFError) as error:
        raise ModelError(f"{path} is damaged: {error}") from error
