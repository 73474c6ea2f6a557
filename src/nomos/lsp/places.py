"""Places in a spec as the protocol counts them."""

from __future__ import annotations

from typing import Any

from lsprotocol import types

from nomos.diagnostics import Source, Span


class Places:
    """Turns offsets into positions and back; `codec` counts as the client asked for."""

    def __init__(self, source: Source, codec: Any) -> None:
        self.source = source
        self.codec = codec

    def position(self, offset: int) -> types.Position:
        """Return the position of an offset."""
        line, column = self.source.locate(min(offset, len(self.source.text)))
        before = self.source.line(line)[: column - 1]
        return types.Position(line - 1, self.codec.client_num_units(before))

    def range(self, span: Span) -> types.Range:
        """Return the range of a span."""
        return types.Range(self.position(span.start), self.position(span.end))

    def offset(self, position: types.Position) -> int:
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

    def edit(self, span: Span, text: str) -> types.TextEdit:
        """Return the change of a span into a text."""
        return types.TextEdit(self.range(span), text)
