"""From text to syntax tree.

A spec that is right is read by the grammar in one go. One that is not is read again
statement by statement (see recover.py), so that every mistake is reported at once.
"""

from __future__ import annotations

from lark import UnexpectedInput

from nomos.diagnostics import Source, Span
from nomos.lang.python.block import find_block_end
from nomos.lang.reading import syntax
from nomos.lang.reading.grammar import Unreadable, parse_text
from nomos.lang.reading.recover import recover
from nomos.lang.reading.tree import (
    Parsed,
    build_spec,
    depth_exceeds,
    find_block,
    without,
)


def parse(source: Source) -> Parsed:
    """Read a spec; mistakes come back as diagnostics, never as exceptions."""
    opening = find_block(source.text)
    end = None if opening is None else find_block_end(source.text, opening)
    if opening is None:
        return _read_library(source) or recover(source, None)
    if end is None:
        return recover(source, None)
    span = Span(opening, end + 1)
    block = syntax.Block(source.text[opening + 1 : end], span=span)
    try:
        sections = parse_text(without(source.text, opening + 1, end), "spec")
    except (UnexpectedInput, Unreadable):
        return recover(source, block)
    spec = build_spec(source, sections, block)
    if any(depth_exceeds(node) for node in sections):
        return recover(source, block)
    return Parsed(spec, ())


def _read_library(source: Source) -> Parsed | None:
    """Read a file of params and definitions; None if it is no such thing."""
    try:
        statements = parse_text(source.text, "library")
    except (UnexpectedInput, Unreadable):
        return None
    if not statements or any(depth_exceeds(node) for node in statements):
        return None
    return Parsed(build_spec(source, statements, None), (), is_library=True)
