"""The statements of a spec as an outline, and its words as coloured tokens."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import assert_never

from lsprotocol import types

from nomos.diagnostics import Span
from nomos.lang.reading import syntax
from nomos.lang.reading.tree import COMMENT, STRING, blank_out
from nomos.lang.writing.format import format_expr
from nomos.lsp.document import Document, Places
from nomos.lsp.occurrences import Role
from nomos.lsp.requests.words import EXPRESSIONS, KEYWORDS

Kind = types.SymbolKind
_KINDS = {
    syntax.Import: Kind.Module,
    syntax.Param: Kind.Constant,
    syntax.Def: Kind.Function,
    syntax.Input: Kind.Variable,
    syntax.Var: Kind.Variable,
    syntax.Output: Kind.Variable,
}
TOKEN_TYPES = (
    "keyword",
    "variable",
    "parameter",
    "function",
    "property",
    "number",
    "string",
    "comment",
    "operator",
    "namespace",
)
TOKEN_MODIFIERS = ("declaration", "readonly")
_TYPE_OF = {
    Role.IMPORT: "namespace",
    Role.INPUT: "variable",
    Role.VAR: "variable",
    Role.OUTPUT: "variable",
    Role.PARAM: "variable",
    Role.DEFINITION: "function",
    Role.PARAMETER: "parameter",
    Role.INDEX: "parameter",
    Role.PROPERTY: "property",
    Role.FUNCTION: "function",
    Role.FEATURE: "property",
}
_TOKEN = re.compile(
    rf"""(?P<comment>{COMMENT}) | (?P<string>{STRING})
      | (?P<number>[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)
      | (?P<word>[A-Za-z_]\w*)
      | (?P<operator>==>|:=|[=!<>]=|&&|\|\||\.\.|[-+*/%<>!])""",
    re.DOTALL | re.VERBOSE,
)


def document_symbols(document: Document, places: Places) -> list[types.DocumentSymbol]:
    """Return the outline of a spec."""
    found = []
    for statement in syntax.statements_of(document.parsed.spec):
        name, kind, at = _title_of(document, statement)
        found.append(
            types.DocumentSymbol(
                name=name,
                kind=kind,
                range=places.range_of_span(statement.span),
                selection_range=places.range_of_span(at),
            )
        )
    return sorted(found, key=lambda s: (s.range.start.line, s.range.start.character))


def _title_of(
    document: Document, statement: syntax.Statement
) -> tuple[str, types.SymbolKind, Span]:
    span = statement.span
    match statement:
        case syntax.Declaration(name=name):
            word = document.source.slice(span).split(maxsplit=1)[0]
            return f"{word} {name.name}", _KINDS[type(statement)], name.span
        case syntax.Use(path=path):
            return f"use {path.value}", Kind.File, path.span
        case syntax.Requires(condition=condition):
            return f"requires {format_expr(condition)}", Kind.Boolean, span
        case syntax.Ensures(condition=condition, name=name):
            told = format_expr(condition) if name is None else name.name
            return f"ensures {told}", Kind.Property, span
        case syntax.Repeats(times=times):
            return f"repeats {format_expr(times)}", Kind.Number, span
        case syntax.Block():
            return "the block", Kind.Method, Span(span.start, span.start + 1)
        case _:
            assert_never(statement)


def semantic_tokens(document: Document, places: Places) -> list[int]:
    """Return the tokens of a spec in the protocol's form: each relative to the last."""
    data: list[int] = []
    line = character = 0
    for span, type_, modifiers in sorted(
        _token_spans(document), key=lambda p: p[0].start
    ):
        for part in _spans_by_line(document, span):
            at = places.range_of_span(part)
            start = at.start
            same = start.line == line
            data += [
                start.line - line,
                start.character - (character if same else 0),
                at.end.character - start.character,
                TOKEN_TYPES.index(type_),
                modifiers,
            ]
            line, character = start.line, start.character
    return data


def _token_spans(document: Document) -> Iterator[tuple[Span, str, int]]:
    named = {found.span.start: found for found in document.names.all}
    for found in named.values():
        modifiers = int(found.declares) | (2 if found.role is not Role.OUTPUT else 0)
        yield found.span, _TYPE_OF[found.role], modifiers
    text, block = document.source.text, document.block
    if block is not None:
        text = blank_out(text, block.start + 1, block.end - 1)
    for match in _TOKEN.finditer(text):
        span = Span(match.start(), match.end())
        kind = match.lastgroup or ""
        if kind == "string" and span.start + 1 in named:
            continue  # a feature, which is a token already
        if kind == "word":
            if span.start in named or match.group() not in KEYWORDS | EXPRESSIONS:
                continue
            kind = "keyword"
        yield span, kind, 0


def _spans_by_line(document: Document, span: Span) -> Iterator[Span]:
    """Yield the parts of a span line by line: a token may not go over several."""
    start = span.start
    for part in document.source.slice(span).split("\n"):
        if part:
            yield Span(start, start + len(part))
        start += len(part) + 1
