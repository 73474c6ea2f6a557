"""A spec as an editor has it: its text, its tree, its mistakes, what it imports."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from lsprotocol import types

from nomos.diagnostics import Diagnostic, Source, Span
from nomos.diagnostics.diagnostic import domain_unavailable
from nomos.lang import core
from nomos.lang.checking.check import check_spec
from nomos.lang.checking.declarations import Library
from nomos.lang.reading import syntax
from nomos.lang.reading.kept import Kept
from nomos.lang.reading.parse import parse_library, parse_spec
from nomos.lang.reading.tree import Parsed, find_block
from nomos.lsp.describing import NOT_YET, Imports
from nomos.lsp.occurrences import Names, Role, find_names, roles_of
from nomos.runner.project.specs import load_libraries


class Places:
    """Turns offsets into positions and back; `codec` counts as the client asked for."""

    def __init__(self, source: Source, codec: Any) -> None:
        self.source = source
        self.codec = codec

    def position_of(self, offset: int) -> types.Position:
        """Return the position of an offset."""
        line, column = self.source.locate(min(offset, len(self.source.text)))
        before = self.source.line(line)[: column - 1]
        return types.Position(line - 1, self.codec.client_num_units(before))

    def range_of_span(self, span: Span) -> types.Range:
        """Return the range of a span."""
        return types.Range(self.position_of(span.start), self.position_of(span.end))

    def offset_of(self, position: types.Position) -> int:
        """Return the offset of a position, the nearest one if there is none."""
        number: int = position.line
        if number >= len(self.source.line_starts):
            return len(self.source.text)
        start = self.source.line_starts[number]
        line = self.source.line(number + 1)
        units = 0
        for column, char in enumerate(line):
            if units >= position.character:
                return start + column
            units += self.codec.client_num_units(char)
        return start + len(line)

    def build_edit(self, span: Span, text: str) -> types.TextEdit:
        """Return the change of a span into a text."""
        return types.TextEdit(self.range_of_span(span), text)


# The text of a file that is open, None where it is not: what is on the disk counts then.
OpenText = Callable[[Path], str | None]


@dataclass(frozen=True)
class Document:
    """One text of a spec, and all that is known of it."""

    path: Path
    source: Source
    parsed: Parsed
    libraries: Mapping[str, Library]
    imports: Imports
    diagnostics: tuple[Diagnostic, ...]
    spec: core.Spec | None

    @cached_property
    def roles(self) -> Mapping[str, Role]:
        """What each name stands for that it or a file that it uses declares."""
        brought = {
            name: Role.PARAM if isinstance(node, syntax.Param) else Role.DEFINITION
            for name, (_, _, node) in self.used.items()
        }
        return brought | roles_of(self.parsed.spec)

    @cached_property
    def names(self) -> Names:
        """Where its names stand."""
        return find_names(self.source, self.parsed.spec, self.roles)

    @cached_property
    def used(self) -> Mapping[str, tuple[str, Source, syntax.Param | syntax.Def]]:
        """The params and definitions that `use` brings: path, text and statement."""
        found: dict[str, tuple[str, Source, syntax.Param | syntax.Def]] = {}
        for path, library in self.libraries.items():
            statements = parse_library(library) if isinstance(library, Source) else []
            if not isinstance(library, Source) or isinstance(statements, Diagnostic):
                continue
            for statement in statements:
                if not isinstance(statement, syntax.Use):
                    found.setdefault(statement.name.name, (path, library, statement))
        return found

    @cached_property
    def types(self) -> Mapping[str, str]:
        """The types of the vars, where the spec is right."""
        if self.spec is None:
            return {}
        lets = (*self.spec.variables, *self.spec.later_variables)
        return {let.name: let.value.type.value for let in lets}

    @property
    def block(self) -> Span | None:
        """The stretch of the Python code, open at its end where no `}` closes it."""
        if self.parsed.spec.block is not None:
            return self.parsed.spec.block.span
        opening = find_block(self.source.text)
        return None if opening is None else Span(opening, len(self.source.text))

    def statement_of(self, name: str) -> syntax.Statement | None:
        """Return the statement of this text that declares a name."""
        statements = syntax.statements_of(self.parsed.spec)
        declared = (s for s in statements if isinstance(s, syntax.Declaration))
        return next((s for s in declared if s.name.name == name), None)


def build_document(
    path: Path,
    text: str,
    open_text: OpenText,
    imports_of: Callable[[Path, list[str]], Imports | None],
    kept: Kept | None = None,
) -> Document:
    """Read and check a text; `imports_of` says what is known of its imports by now."""
    source = Source(str(path), text)
    parsed = parse_spec(source, kept)
    libraries = _libraries_as_open(parsed.spec, path.parent, open_text)
    names = [declaration.name.name for declaration in parsed.spec.imports]
    imports = (imports_of(path, names) if names else None) or NOT_YET
    offer = imports.offer
    checked = check_spec(
        source, path.stem, offer, parsed=parsed, libraries=libraries, kept=kept
    )
    diagnostics = checked.diagnostics
    if imports.error:
        at = parsed.spec.imports[0].name.span
        diagnostics += (domain_unavailable(at, names[0], imports.error),)
    return Document(path, source, parsed, libraries, imports, diagnostics, checked.spec)


def _libraries_as_open(
    spec: syntax.Spec, folder: Path, open_text: OpenText
) -> dict[str, Library]:
    """Read the files that a spec uses, those that are open as the editor has them."""
    found = load_libraries(spec, folder)
    for name in found:
        text = open_text(folder / name)
        if text is not None:
            found[name] = Source(str(folder / name), text)
    return found
