"""The statements of a spec as an outline."""

from typing import assert_never

from lsprotocol import types

from nomos.diagnostics import Span
from nomos.lang.reading import syntax
from nomos.lsp.document import Document, Places

Kind = types.SymbolKind
_KINDS = {
    syntax.Import: Kind.Module,
    syntax.Param: Kind.Constant,
    syntax.Def: Kind.Function,
}  # the others are variables


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
            return (
                f"{word} {name.name}",
                _KINDS.get(type(statement), Kind.Variable),
                name.span,
            )
        case syntax.Use(path=path):
            return f"use {path.value}", Kind.File, path.span
        case syntax.Requires(condition=condition):
            return f"requires {_line_of(document, condition)}", Kind.Boolean, span
        case syntax.Ensures(condition=condition, name=name):
            label = name.name if name else _line_of(document, condition)
            return f"ensures {label}", Kind.Property, span
        case syntax.Repeats(times=times):
            return f"repeats {_line_of(document, times)}", Kind.Number, span
        case syntax.Block():
            return "the block", Kind.Method, Span(span.start, span.start + 1)
        case _:
            assert_never(statement)


def _line_of(document: Document, expr: syntax.Expr) -> str:
    return " ".join(document.source.slice(expr.span).split())
