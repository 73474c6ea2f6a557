"""Where names are declared and used, across the files of a project."""

import keyword
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from nomos.diagnostics import Source, Span
from nomos.domain.find import find_root
from nomos.errors import NomosError
from nomos.lang.reading import syntax
from nomos.lang.types import BUILT_IN
from nomos.lsp.describing import PythonFeature, PythonFunction
from nomos.lsp.document import Document
from nomos.lsp.occurrences import Occurrence, Role
from nomos.lsp.requests.words import EXPRESSIONS

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_MOST_FILES = 5000
_SHARED = (Role.PARAM, Role.DEFINITION)
Reader = Callable[[Path], Document | None]


@dataclass(frozen=True, slots=True)
class Place:
    """A stretch of a spec, or a line of a Python file (`source` is None), from 1."""

    path: Path
    source: Source | None
    span: Span
    line: int = 0


def find_definition(document: Document, offset: int) -> Place | None:
    """Return where the name at an offset gets its meaning."""
    path = _used_path(document, offset)
    if path is not None:
        library = document.libraries.get(path)
        if not isinstance(library, Source):
            return None
        return Place(document.path.parent / path, library, Span(0, 0))
    found = document.names.name_at(offset)
    if found is None:
        return None
    for other in document.names.same_names(found):
        if other.declares and other.role is not Role.IMPORT:
            return Place(document.path, document.source, other.span)
    if found.role in _SHARED and found.name in document.used:
        path, source, statement = document.used[found.name]
        return Place(document.path.parent / path, source, statement.name.span)
    return _in_python(document, found)


def _used_path(document: Document, offset: int) -> str | None:
    for statement in document.parsed.spec.shared:
        if isinstance(statement, syntax.Use):
            span = statement.path.span
            if span.start <= offset <= span.end:
                return statement.path.value
    return None


def _in_python(document: Document, found: Occurrence) -> Place | None:
    imports = document.imports
    if found.role is Role.IMPORT and found.name in imports.modules:
        return Place(Path(imports.modules[found.name]), None, Span(0, 0), 1)
    known: PythonFunction | PythonFeature | None = None
    if found.role is Role.FUNCTION:
        known = imports.functions.get(found.name)
    elif found.role is Role.FEATURE:
        known = imports.features.get(found.name)
    if known is None or not known.file:
        return None
    return Place(Path(known.file), None, Span(0, 0), known.line)


def find_references(document: Document, offset: int, read: Reader) -> list[Place]:
    """Return all places of the name at an offset, those in other specs too."""
    found = document.names.name_at(offset)
    if found is None:
        return []
    return _places_of(_specs_sharing_name(document, found, read), found)


def _places_of(documents: Iterable[Document], found: Occurrence) -> list[Place]:
    return [
        Place(each.path, each.source, other.span)
        for each in documents
        for other in each.names.same_names(found)
    ]


def _specs_sharing_name(
    document: Document, found: Occurrence, read: Reader
) -> Iterator[Document]:
    """Yield the specs in which a name has the same meaning."""
    home = _declaring_file(document, found)
    if home is None:
        yield document
        return
    root = find_root(home.parent) or home.parent
    for path in list(islice(root.rglob("*.nom"), _MOST_FILES)):
        each = document if path == document.path else read(path)
        if each is None:
            continue
        brought = each.used.get(found.name)
        files = [path, *([path.parent / brought[0]] if brought else [])]
        if home.resolve() in (file.resolve() for file in files):
            yield each


def _declaring_file(document: Document, found: Occurrence) -> Path | None:
    """Return the file of params and definitions that declares a name, if one does."""
    if found.role not in _SHARED:
        return None
    if found.name in document.used and document.statement_of(found.name) is None:
        return document.path.parent / document.used[found.name][0]
    return document.path if document.parsed.is_library else None


def find_rename_places(
    document: Document, offset: int, new: str, read: Reader
) -> list[Place]:
    """Return the places to write a new name at; raises NomosError where it cannot be."""
    found = check_renamable(document, offset)
    _check_new(document, new)
    concerned = list(_specs_sharing_name(document, found, read))
    for each in concerned:
        if each.parsed.diagnostics:
            said = f"{each.path.name} cannot be read"
            raise NomosError(f"{said}: mend its mistakes first")
        if found.name in each.names.unsure:
            raise NomosError(
                f"the block of {each.path.name} gives `{found.name}` another meaning in "
                "a function or a comprehension: rename it by hand"
            )
        if new in each.roles:
            raise NomosError(f"`{new}` is declared already in {each.path.name}")
        own = [o.span.start for o in each.names.same_names(found)]
        for other in each.names.all:
            is_near = other.scope == found.scope or (
                bool(own) and min(own) <= other.span.start <= max(own)
            )
            if other.name == new and (found.scope < 0 or is_near):
                raise NomosError(
                    f"`{new}` is {other.role.value} where `{found.name}` is used, too"
                )
    return _places_of(concerned, found)


def check_renamable(document: Document, offset: int) -> Occurrence:
    """Return the name at an offset if it can be renamed; raises NomosError if not."""
    found = document.names.name_at(offset)
    if found is None:
        raise NomosError("there is no name here to rename")
    if found.role in (Role.FUNCTION, Role.FEATURE, Role.IMPORT):
        raise NomosError(
            f"`{found.name}` is {found.role.value}: it gets its name in Python, so rename "
            "it there"
        )
    return found


def _check_new(document: Document, new: str) -> None:
    offered = document.imports.functions
    taken = new in BUILT_IN or new in EXPRESSIONS or new in syntax.KEYWORDS
    if not _NAME.fullmatch(new):
        raise NomosError(f"`{new}` is no name: use letters, digits and `_`")
    if taken or keyword.iskeyword(new) or new in offered:
        raise NomosError(f"`{new}` has a meaning already: choose another name")
