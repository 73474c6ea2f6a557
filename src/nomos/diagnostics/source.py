"""A text with a name, and places in it."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property

_BYTE_ORDER_MARK = "\ufeff"


@dataclass(frozen=True, slots=True)
class Span:
    """The characters from `start` up to `end` of a source."""

    start: int
    end: int

    def to(self, other: Span) -> Span:
        """Return the span from the start of this one to the end of `other`."""
        return Span(self.start, other.end)

    def move(self, by: int) -> None:
        """Move this very place, wherever it is known, since its text has moved."""
        object.__setattr__(self, "start", self.start + by)
        object.__setattr__(self, "end", self.end + by)


@dataclass(frozen=True)
class Source:
    r"""A named text, the name being what a reader would open.

    Its lines end with `\n`, whatever ends they came with, and no byte order mark opens
    it: so that every stage, and Python's own parser, counts lines in the same way.
    """

    name: str
    text: str

    def __post_init__(self) -> None:
        text = self.text.removeprefix(_BYTE_ORDER_MARK)
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        object.__setattr__(self, "text", text)

    @cached_property
    def line_starts(self) -> tuple[int, ...]:
        """The offset at which each line starts."""
        return 0, *(match.end() for match in re.finditer("\n", self.text))

    def locate(self, offset: int) -> tuple[int, int]:
        """Return the line and column of an offset, both counted from 1."""
        line = self.line_at(offset)
        return line, offset - self.line_starts[line - 1] + 1

    def line_at(self, offset: int) -> int:
        """Return the line of an offset, counted from 1."""
        return bisect_right(self.line_starts, offset)

    def line(self, number: int) -> str:
        """Return a line, counted from 1, without its end."""
        start = self.line_starts[number - 1]
        end = self.text.find("\n", start)
        return self.text[start : end if end >= 0 else None]

    def slice(self, span: Span) -> str:
        """Return the text of a span."""
        return self.text[span.start : span.end]
