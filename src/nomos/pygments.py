"""The colours of specs wherever Pygments draws them: mkdocs, Jupyter, many web pages."""

from collections.abc import Iterator
from typing import Any, ClassVar

from pygments import lexer, token
from pygments.lexers.python import PythonLexer

from nomos.lang.python.block import find_block_end
from nomos.lang.reading.syntax import KEYWORDS
from nomos.lang.types import BUILT_IN

_WORDS = ("if", "then", "else", "forall", "exists", "count", "sum")


def _block_tokens(
    _: Any, match: Any, context: lexer.LexerContext
) -> Iterator[tuple[int, Any, str]]:
    """Yield the tokens of the block, which are Python's."""
    start, text = match.start(), context.text
    end = find_block_end(text, start)
    code_end = len(text) if end is None else end
    yield start, token.Punctuation, "{"
    code = text[start + 1 : code_end]
    for offset, kind, value in PythonLexer(
        stripnl=False, ensurenl=False
    ).get_tokens_unprocessed(code):
        yield start + 1 + offset, kind, value
    if end is not None:
        yield end, token.Punctuation, "}"
    context.pos = code_end if end is None else end + 1


class NomosLexer(lexer.ExtendedRegexLexer):  # type: ignore[misc] # Pygments has no types
    """Reads `.nom` files; the block is read as Python."""

    name = "Nomos"
    aliases: ClassVar[list[str]] = ["nom", "nomos"]
    filenames: ClassVar[list[str]] = ["*.nom"]
    mimetypes: ClassVar[list[str]] = ["text/x-nomos"]

    tokens: ClassVar[dict[str, list[Any]]] = {
        "gaps": [
            (r"\s+", token.Whitespace),
            (r"#[^\n]*|//[^\n]*", token.Comment.Single),
            (r"/\*(?:.|\n)*?\*/", token.Comment.Multiline),
        ],
        # A set, not the block.
        "allowed": [
            lexer.include("gaps"),
            (r"\{", token.Punctuation, "#pop"),
            lexer.default("#pop"),
        ],
        "root": [
            lexer.include("gaps"),
            (r'"(?:\\[^\n]|[^"\\\n])*"', token.String.Double),
            (r"'(?:\\[^\n]|[^'\\\n])*'", token.String.Single),
            (r"\bin\b", token.Keyword, "allowed"),
            (lexer.words(KEYWORDS, suffix=r"\b"), token.Keyword.Declaration),
            (lexer.words(_WORDS, suffix=r"\b"), token.Keyword),
            (
                lexer.words(("true", "false", "null", "MAX_INT"), suffix=r"\b"),
                token.Keyword.Constant,
            ),
            (lexer.words(BUILT_IN, suffix=r"(?=\s*\()"), token.Name.Builtin),
            (r"[A-Za-z_]\w*(?=\s*\()", token.Name.Function),
            (r"(?<=\.)[A-Za-z_]\w*", token.Name.Attribute),
            (r"[A-Za-z_]\w*", token.Name),
            (r"[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?", token.Number),
            (r"==>|:=|[=!<>]=|&&|\|\||\.\.|[-+*/%<>!]", token.Operator),
            (r"\{", _block_tokens),
            (r"[;:,.()\[\]}]", token.Punctuation),
            (r".", token.Error),
        ],
    }
