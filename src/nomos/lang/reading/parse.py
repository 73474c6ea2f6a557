"""From text to syntax tree.

A spec that is right is read by the grammar in one go. One that is not is read again
statement by statement (see recover.py), so that every mistake is reported at once.
"""

from __future__ import annotations

from lark import UnexpectedInput

from nomos.diagnostics import Code, Diagnostic, Source, Span
from nomos.lang.python.block import find_block_end
from nomos.lang.reading import syntax
from nomos.lang.reading.grammar import Unreadable, parse_text
from nomos.lang.reading.recover import recover
from nomos.lang.reading.syntax_errors import explain
from nomos.lang.reading.tree import (
    DEEPEST_NESTING,
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
    statements = read_library(source, may_use=True)
    if isinstance(statements, Diagnostic) or not statements:
        return None
    return Parsed(build_spec(source, [*statements], None), (), is_library=True)


def read_library(
    library: Source, *, may_use: bool = False
) -> list[syntax.Shared] | Diagnostic:
    """Return the statements of a file that `use` names, or the first mistake in it."""
    try:
        statements: list[syntax.Shared] = parse_text(library.text, "library")
    except Unreadable as error:
        return error.diagnostic
    except UnexpectedInput as error:
        return explain(error, library.text, Span(0, len(library.text)))
    for statement in statements:
        if isinstance(statement, syntax.Use) and not may_use:
            words = {"found": "`use`", "expected": "`param` or `def`"}
            return Code.SYNTAX_ERROR.at(statement.span, **words)
        if depth_exceeds(statement):
            return Code.NESTED_TOO_DEEPLY.at(statement.span, limit=DEEPEST_NESTING)
    return statements
