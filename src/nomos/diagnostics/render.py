"""Show diagnostics: as text for people, as JSON for programs."""

from __future__ import annotations

from typing import Any

from nomos.diagnostics.diagnostic import Diagnostic, Severity
from nomos.diagnostics.source import Source

_COLOURS = {Severity.ERROR: "31", Severity.WARNING: "33", Severity.INFO: "36"}
_LONGEST_LINE = 160  # longer source lines are shown as a window around the mistake


def _paint(text: str, colour: str, enabled: bool) -> str:
    return f"\x1b[1;{colour}m{text}\x1b[0m" if enabled else text


def _window(line: str, column: int, width: int) -> tuple[str, int]:
    """Cut a very long line down to the part around the mistake."""
    if len(line) <= _LONGEST_LINE:
        return line, column
    start = max(0, min(column - 40, len(line) - _LONGEST_LINE))
    return line[start : start + max(_LONGEST_LINE, width)], column - start


def _printable(text: str) -> str:
    """Replace what a terminal would act on; tabs become one space so that carets fit."""
    return "".join(
        char if char.isprintable() else " " if char == "\t" else "�" for char in text
    )


def render(diagnostic: Diagnostic, source: Source, *, colour: bool = False) -> str:
    """Return the picture of a diagnostic: message, place, source line, notes, help."""
    line_number, column = source.locate(diagnostic.at.start)
    whole = source.line(line_number)
    length = max(
        1, min(diagnostic.at.end, diagnostic.at.start + len(whole) - column + 1)
    )
    length = max(1, length - diagnostic.at.start)
    line, shown_column = _window(whole, column - 1, length)
    length = max(1, min(length, len(line) - shown_column))
    paint = _COLOURS[diagnostic.severity]
    gutter = " " * len(str(line_number))
    carets = " " * shown_column + "^" * length
    head = _paint(
        f"{diagnostic.severity.value}[{diagnostic.code.value}]", paint, colour
    )
    parts = [
        f"{head}: {_printable(diagnostic.message)}",
        f"{gutter}--> {source.name}:{line_number}:{column}",
        f"{gutter} |",
        f"{line_number} | {_printable(line)}".rstrip(),
        f"{gutter} | {_paint(carets, paint, colour)}",
    ]
    parts += [f"{gutter} = note: {_printable(note)}" for note in diagnostic.notes]
    if diagnostic.help is not None:
        parts.append(f"{gutter} = help: {_printable(diagnostic.help)}")
    return "\n".join(parts)


def to_json(diagnostic: Diagnostic, source: Source) -> dict[str, Any]:
    """Return the same content as plain data, with the range as editors count it."""
    start_line, start_column = source.locate(diagnostic.at.start)
    end_line, end_column = source.locate(max(diagnostic.at.start, diagnostic.at.end))
    return {
        "file": source.name,
        "line": start_line,
        "column": start_column,
        "range": {  # zero-based, as the Language Server Protocol has it
            "start": {"line": start_line - 1, "character": start_column - 1},
            "end": {"line": end_line - 1, "character": end_column - 1},
        },
        "severity": diagnostic.severity.value,
        "code": diagnostic.code.value,
        "message": diagnostic.message,
        "notes": list(diagnostic.notes),
        "help": diagnostic.help,
    }
