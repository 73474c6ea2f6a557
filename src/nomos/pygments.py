"""The colours of specs wherever Pygments draws them: mkdocs, Jupyter, many web pages."""

from collections.abc import Iterator
from typing import Any, ClassVar

from pygments.lexer import ExtendedRegexLexer, LexerContext, default, include, words
from pygments.lexers.python import PythonLexer
from pygments.token import (
    Comment,
    Error,
    Keyword,
    Name,
    Number,
    Operator,
    Punctuation,
    String,
    Whitespace,
)

from nomos.lang.python.block import find_block_end
from nomos.lang.reading.syntax import KEYWORDS
from nomos.lang.types import BUILT_IN

_WORDS = ("if", "then", "else", "forall", "exists", "count", "sum")


def _block_tokens(
    _: Any, match: Any, context: LexerContext
) -> Iterator[tuple[int, Any, str]]:
    """Yield the tokens of the block, which are Python's."""
    start, text = match.start(), context.text
    end = find_block_end(text, start)
    code_end = len(text) if end is None else end
    yield start, Punctuation, "{"
    code = text[start + 1 : code_end]
    for offset, token, value in PythonLexer(
        stripnl=False, ensurenl=False
    ).get_tokens_unprocessed(code):
        yield start + 1 + offset, token, value
    if end is not None:
        yield end, Punctuation, "}"
    context.pos = code_end if end is None else end + 1


class NomosLexer(ExtendedRegexLexer):  # type: ignore[misc] # Pygments has no types
    """Reads `.nom` files; the block is read as Python."""

    name = "Nomos"
    aliases: ClassVar[list[str]] = ["nom", "nomos"]
    filenames: ClassVar[list[str]] = ["*.nom"]
    mimetypes: ClassVar[list[str]] = ["text/x-nomos"]

    tokens: ClassVar[dict[str, list[Any]]] = {
        "gaps": [
            (r"\s+", Whitespace),
            (r"#[^\n]*|//[^\n]*", Comment.Single),
            (r"/\*(?:.|\n)*?\*/", Comment.Multiline),
        ],
        # A set, not the block.
        "allowed": [include("gaps"), (r"\{", Punctuation, "#pop"), default("#pop")],
        "root": [
            include("gaps"),
            (r'"(?:\\[^\n]|[^"\\\n])*"', String.Double),
            (r"'(?:\\[^\n]|[^'\\\n])*'", String.Single),
            (r"\bin\b", Keyword, "allowed"),
            (words(KEYWORDS, suffix=r"\b"), Keyword.Declaration),
            (words(_WORDS, suffix=r"\b"), Keyword),
            (
                words(("true", "false", "null", "MAX_INT"), suffix=r"\b"),
                Keyword.Constant,
            ),
            (words(BUILT_IN, suffix=r"(?=\s*\()"), Name.Builtin),
            (r"[A-Za-z_]\w*(?=\s*\()", Name.Function),
            (r"(?<=\.)[A-Za-z_]\w*", Name.Attribute),
            (r"[A-Za-z_]\w*", Name),
            (r"[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?", Number),
            (r"==>|:=|[=!<>]=|&&|\|\||\.\.|[-+*/%<>!]", Operator),
            (r"\{", _block_tokens),
            (r"[;:,.()\[\]}]", Punctuation),
            (r".", Error),
        ],
    }
