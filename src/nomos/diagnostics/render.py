"""Show diagnostics: as text for people, as JSON for programs."""

import unicodedata
from collections.abc import Iterable
from typing import Any

from nomos.diagnostics.diagnostic import Diagnostic, Severity
from nomos.diagnostics.source import Source

_COLOURS = {Severity.ERROR: "31", Severity.WARNING: "33", Severity.INFO: "36"}
_LONGEST_LINE = 160  # longer source lines are shown as a window around the mistake
_BEFORE_MISTAKE = 40  # characters of such a line that are shown before the mistake


def _paint_text(text: str, colour: str, enabled: bool) -> str:
    return f"\x1b[1;{colour}m{text}\x1b[0m" if enabled else text


def _window_around(line: str, column: int) -> tuple[str, int]:
    """Cut a very long line down to the part around a column, counted from 0."""
    if len(line) <= _LONGEST_LINE:
        return line, column
    start = max(0, min(column - _BEFORE_MISTAKE, len(line) - _LONGEST_LINE))
    return line[start : start + _LONGEST_LINE], column - start


def _printable_line(text: str) -> str:
    """Replace what a terminal would act on; tabs become one space so that carets fit."""
    return "".join(
        char if char.isprintable() else " " if char == "\t" else "�" for char in text
    )


def _count_cells(text: str) -> int:
    """Return how many cells of a terminal a printable text takes."""
    wide = sum(unicodedata.east_asian_width(char) in "WF" for char in text)
    marks = sum(unicodedata.combining(char) != 0 for char in text)
    return len(text) + wide - marks


def render_all(diagnostics: Iterable[Diagnostic], source: Source) -> str:
    """Return the pictures of diagnostics, with an empty line between them."""
    return "\n\n".join(render_diagnostic(one, source) for one in diagnostics)


def render_diagnostic(
    diagnostic: Diagnostic, source: Source, *, colour: bool = False
) -> str:
    """Return the picture of a diagnostic: message, place, source line, notes, help."""
    at = diagnostic.at
    line_number, column = source.locate(at.start)
    line, start = _window_around(source.line(line_number), column - 1)
    line = _printable_line(line)
    marked = line[start : start + max(1, at.end - at.start)]  # on its first line only
    carets = " " * _count_cells(line[:start]) + "^" * max(1, _count_cells(marked))
    paint = _COLOURS[diagnostic.severity]
    what = f"{diagnostic.severity.value}[{diagnostic.code.slug}]"
    head = _paint_text(what, paint, colour)
    gutter = " " * len(str(line_number))
    parts = [
        f"{head}: {_printable_line(diagnostic.message)}",
        f"{gutter}--> {_printable_line(source.name)}:{line_number}:{column}",
        f"{gutter} |",
        f"{line_number} | {line}".rstrip(),
        f"{gutter} | {_paint_text(carets, paint, colour)}",
    ]
    parts += [f"{gutter} = note: {_printable_line(note)}" for note in diagnostic.notes]
    if diagnostic.help is not None:
        parts.append(f"{gutter} = help: {_printable_line(diagnostic.help)}")
    return "\n".join(parts)


def to_json(diagnostic: Diagnostic, source: Source) -> dict[str, Any]:
    """Return the same content as plain data.

    `line` and `column` count from 1, in characters; `range` is what the Language Server
    Protocol has: from 0, in UTF-16 units.
    """
    line, column = source.locate(diagnostic.at.start)
    return {
        "file": source.name,
        "line": line,
        "column": column,
        "range": {
            "start": _lsp_position(source, diagnostic.at.start),
            "end": _lsp_position(source, max(diagnostic.at.start, diagnostic.at.end)),
        },
        "severity": diagnostic.severity.value,
        "code": diagnostic.code.slug,
        "message": diagnostic.message,
        "notes": list(diagnostic.notes),
        "help": diagnostic.help,
    }


def _lsp_position(source: Source, offset: int) -> dict[str, int]:
    line, column = source.locate(offset)
    before = source.line(line)[: column - 1]
    units = len(before.encode("utf-16-le", "surrogatepass")) // 2
    return {"line": line - 1, "character": units}
