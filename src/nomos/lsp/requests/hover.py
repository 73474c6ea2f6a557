"""What an editor tells about the name under the pointer."""

from nomos.diagnostics import Source, Span
from nomos.lang.reading import syntax
from nomos.lang.writing.format import format_expr
from nomos.lsp.describing import NOT_YET
from nomos.lsp.document import Document
from nomos.lsp.occurrences import Occurrence, Role
from nomos.lsp.requests.completion import word_at
from nomos.lsp.requests.words import BUILT_IN, EXPRESSIONS, KEYWORDS


def hover_at(document: Document, offset: int) -> tuple[Span, str] | None:
    """Return what is known of the name or word at an offset, as Markdown."""
    found = document.names.name_at(offset)
    if found is not None:
        text = _of_name(document, found)
        return None if text is None else (found.span, text)
    block = document.block
    if block is not None and block.start < offset < block.end:
        return None  # Python's own words
    span = word_at(document.source.text, offset)
    word = document.source.slice(span)
    about = KEYWORDS.get(word) or EXPRESSIONS.get(word)
    comments = [comment.span for comment in document.parsed.spec.comments]
    inside = any(span.start <= offset <= span.end for span in comments)
    return None if about is None or inside else (span, f"`{word}`: {about}")


def _of_name(document: Document, found: Occurrence) -> str | None:
    match found.role:
        case Role.FUNCTION:
            return _of_function(document, found.name)
        case Role.FEATURE:
            feature = document.imports.features.get(found.name)
            return f"`{found.name}`: a feature, {feature.range}" if feature else None
        case Role.IMPORT:
            return _of_import(document, found.name)
        case Role.PARAMETER | Role.INDEX | Role.PROPERTY:
            return f"`{found.name}`: {found.role.value}"
        case _:
            return _of_declared(document, found)


def _of_function(document: Document, name: str) -> str | None:
    imports = document.imports
    function = imports.functions.get(name)
    if function is not None:
        assert imports.offer is not None  # it tells of the functions
        is_model = imports.offer.functions[name].batched
        kind = "A model, or another function for many cases at once." * is_model
        parts = [f"```python\n{function.signature}\n```", function.doc, kind]
        return "\n\n".join(part for part in parts if part)
    if name in BUILT_IN:
        signature, about = BUILT_IN[name]
        return f"```python\n{signature}\n```\n\n{about}"
    return None


def _of_import(document: Document, name: str) -> str | None:
    imports = document.imports
    if imports is NOT_YET:
        return f"`{name}`: the domain, which is being imported"
    if imports.error:
        return f"`{name}`: the domain could not be imported: {imports.error}"
    file = imports.modules.get(name, "")
    return "\n\n".join(part for part in (f"`{name}`: {file}", imports.about) if part)


def _of_declared(document: Document, found: Occurrence) -> str:
    source, statement = _statement_of(document, found.name)
    head = f"`{found.name}`: {found.role.value}"
    match statement:
        case syntax.Var(value=value):
            type_ = document.types.get(found.name)
            head += f", {type_}" if type_ else ""
            return f"{head}\n\n```nom\n{found.name} := {format_expr(value)}\n```"
        case syntax.Param() | syntax.Def():
            return f"{head}\n\n```nom\n{source.slice(statement.span)}\n```"
        case syntax.Input(size=None):
            return f"{head}, drawn from the domain's inputs"
        case syntax.Input():
            return f"{head}: a list, each item drawn from the domain's inputs"
        case _:
            return head


def _statement_of(
    document: Document, name: str
) -> tuple[Source, syntax.Statement | None]:
    own = document.statement_of(name)
    if own is None and name in document.used:
        _, source, statement = document.used[name]
        return source, statement
    return document.source, own
