"""A spec's text in pieces: what each word is, and which names its block uses."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterator
from functools import lru_cache

from nomos.lang.python.block import find_block_end
from nomos.lang.reading.syntax import KEYWORDS

Word = tuple[str, str]  # the kind of a piece, "" for plain text, and the piece
_STATEMENTS = frozenset({*KEYWORDS, "if", "then", "else", "in", "forall", "exists"})
_CONSTANTS = frozenset({"true", "false", "null", "MAX_INT", "True", "False", "None"})
_NUMBER = r"(?P<number>\b[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)"
_WORD = r"(?P<word>[^\W0-9]\w*)"
_SPEC = re.compile(
    r"(?P<comment>\#[^\n]*|//[^\n]*|/\*.*?(?:\*/|\Z))"
    r"""|(?P<string>"(?:\\[^\n]|[^"\\\n])*"|'(?:\\[^\n]|[^'\\\n])*')"""
    rf"|{_NUMBER}|{_WORD}|(?P<block>\{{)",
    re.DOTALL,
)
_PYTHON = re.compile(
    r"(?P<comment>\#[^\n]*)"
    r"|(?P<string>\"{3}(?:\\.|[^\\])*?\"{3}|'{3}(?:\\.|[^\\])*?'{3}"
    r"""|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')"""
    rf"|{_NUMBER}|{_WORD}",
    re.DOTALL,
)


def coloured_lines(spec: str) -> list[list[Word]]:
    """Return the lines of a spec, each as its pieces."""
    lines: list[list[Word]] = [[]]
    for kind, piece in _pieces(spec):
        first, *rest = piece.split("\n")
        lines[-1].append((kind, first))
        lines += [[(kind, part)] for part in rest]
    return [[word for word in line if word[1]] for line in lines]


@lru_cache(maxsize=64)
def names_in_block(spec: str) -> frozenset[str]:
    """Return the names that the Python block of a spec uses; none where it has none."""
    for match in _SPEC.finditer(spec):
        if match["block"] is not None:
            code = spec[match.start() : find_block_end(spec, match.start())]
            return frozenset(m["word"] for m in _PYTHON.finditer(code) if m["word"])
    return frozenset()


def _pieces(spec: str) -> Iterator[Word]:
    """Yield the spec's text in pieces, each with the class of its colour."""
    at = 0
    for match in _SPEC.finditer(spec):
        if match.start() < at:
            continue  # inside the block, which Python's rules have cut up
        yield "", spec[at : match.start()]
        at = match.end()
        if match["block"] is None:
            yield _kind(match, _STATEMENTS), match[0]
            continue
        end = find_block_end(spec, match.start())
        at = len(spec) if end is None else end
        yield from _python(spec[match.start() : at])
    yield "", spec[at:]


def _python(code: str) -> Iterator[Word]:
    at = 0
    for match in _PYTHON.finditer(code):
        yield "", code[at : match.start()]
        yield _kind(match, frozenset(keyword.kwlist)), match[0]
        at = match.end()
    yield "", code[at:]


def _kind(match: re.Match[str], keywords: frozenset[str]) -> str:
    word = match["word"]
    if word is None:
        return match.lastgroup or ""
    if word in _CONSTANTS:
        return "number"
    if word in keywords:
        return "keyword"
    return "call" if match.string[match.end() : match.end() + 1] == "(" else ""
