"""A spec's text in pieces: what each word is, and which names its block uses."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import groupby

from nomos.lang.python.block import find_block_end
from nomos.lang.reading.tree import find_block

Word = tuple[str, str]  # the kind of a piece, "" for plain text, and the piece
_KINDS = {  # by the beginning of what Pygments calls it
    "Token.Comment": "comment",
    "Token.Literal.String": "string",
    "Token.Literal.Number": "number",
    "Token.Keyword.Constant": "number",
    "Token.Keyword": "keyword",
    "Token.Operator.Word": "keyword",
}


def coloured_lines(spec: str) -> list[list[Word]]:
    """Return the lines of a spec, each as its pieces."""
    lines: list[list[Word]] = [[]]
    for kind, pieces in groupby(_words(spec), key=lambda word: word[0]):
        first, *rest = "".join(text for _, text in pieces).split("\n")
        lines[-1].append((kind, first))
        lines += [[(kind, part)] for part in rest]
    return [[word for word in line if word[1]] for line in lines]


def _words(spec: str) -> Iterator[Word]:
    # Loaded when it is needed: most runs show no spec.
    from nomos.pygments import NomosLexer

    for at, token, text in NomosLexer().get_tokens_unprocessed(spec):
        name = str(token)
        kind = next((k for begin, k in _KINDS.items() if name.startswith(begin)), "")
        if name.startswith("Token.Name") and spec.startswith("(", at + len(text)):
            kind = "call"
        yield kind, text


@lru_cache(maxsize=64)
def names_in_block(spec: str) -> frozenset[str]:
    """Return the names that the Python block of a spec uses; none where it has none."""
    from pygments.lexers.python import PythonLexer

    start = find_block(spec)
    if start is None:
        return frozenset()
    code = spec[start + 1 : find_block_end(spec, start)]
    tokens = PythonLexer().get_tokens(code)
    return frozenset(
        text for kind, text in tokens if str(kind).startswith("Token.Name")
    )
