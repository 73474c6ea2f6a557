"""Put into words why the grammar refuses a statement."""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import cast

from lark import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from nomos.diagnostics import Diagnostic, Span, mistakes
from nomos.lang.grammar import token_span
from nomos.lang.syntax import KEYWORDS

_LONGEST_SHOWN = 24  # characters of a number that a help line repeats
_PYTHON_WORDS = {"and": "&&", "or": "||", "not": "!", "implies": "==>"}
_LIST_OF_NAMES = re.compile(r"(import|input|output)\s+\w+\s*,")
# Numbers as other languages write them, and what the language has for them.
_NUMBER_LIKE = re.compile(
    r"(?<![\w.])(?:\.[0-9]\w*|[0-9]+\.(?![\w.])|[0-9][0-9.]*[A-Za-z_]\w*)"
)


def explain(error: UnexpectedInput, text: str, chunk: Span) -> Diagnostic:
    """Return the diagnostic for a statement that the grammar did not take."""
    if isinstance(error, UnexpectedCharacters):
        return _explain_character(text, chunk, cast("int", error.pos_in_stream))
    assert isinstance(error, UnexpectedToken)
    token = error.token
    place = token_span(token)
    # The `;` of a statement that has none stands behind the text.
    start = min(place.start, chunk.end - 1)
    at = Span(start, max(start + 1, min(place.end, chunk.end)))
    expected = set(error.accepts or error.expected)
    if token.type == "COMPARE" and "AND" in expected and "COMPARE" not in expected:
        return mistakes.chained_comparison(at, str(token))
    if at.start == chunk.start:
        return _explain_start(text, at)
    number = _number_before(text, chunk, at)
    if number is not None:
        return number
    found = "the end of the statement" if token == ";" else f"`{token}`"
    help = _help(text, chunk, at, token.type)
    return mistakes.syntax_error(at, found, _in_words(expected), help)


def _explain_start(text: str, at: Span) -> Diagnostic:
    word = text[at.start : at.end]
    nearest = get_close_matches(word, KEYWORDS, n=1)
    help = f"did you mean `{nearest[0]}`?" if nearest else None
    expected = "a statement (import, input, var, requires, output or ensures)"
    return mistakes.syntax_error(at, f"`{word}`", expected, help)


def _number_before(text: str, chunk: Span, at: Span) -> Diagnostic | None:
    """Report the number that the grammar stumbled over, if it did over one."""
    for match in _NUMBER_LIKE.finditer(text, chunk.start, chunk.end):
        reached = match.start() <= at.start and not text[match.end() : at.start].strip()
        if reached:
            shown, span = match.group(), Span(match.start(), match.end())
            reason = "letters and `_` have no place in it"
            if shown.startswith("."):
                reason = "there is no digit before its point"
            elif shown.endswith("."):
                reason = "there is no digit behind its point"
            return mistakes.invalid_number(span, shown, reason, _instead(shown))
    return None


def _instead(shown: str) -> str | None:
    """Return what a number of Python's notation is in this one."""
    if len(shown) > _LONGEST_SHOWN:
        return None
    for read in (lambda text: int(text, 0), float):
        try:
            return f"write `{read(shown)}`"
        except ValueError:
            continue
    return None


def _help(text: str, chunk: Span, at: Span, kind: str) -> str | None:
    before = text[chunk.start : at.start].rstrip()
    words = [text[at.start : at.end], re.split(r"\W", before)[-1]]
    python = next((word for word in words if word in _PYTHON_WORDS), None)
    if python is not None:
        return f"write `{_PYTHON_WORDS[python]}` for `{python}`"
    token = words[0]
    names = _LIST_OF_NAMES.match(text, chunk.start)
    if token == "," and names:
        return f"write one `{names[1]}` for each name"
    if token == "!":
        return "put the negation in parentheses: `(!a)`"
    if token == ":=":
        return "only `var` gives a name its value; compare with `==`"
    if before.endswith("[") or (token == "]" and kind == "RSQB"):
        return "read a feature with `x.name`, change it with `x[name := value]`"
    return None


def _explain_character(text: str, chunk: Span, offset: int) -> Diagnostic:
    if offset == chunk.start:
        word = re.compile(r"\w*").match(text, offset)
        if word and word.group():
            return _explain_start(text, Span(offset, word.end()))
    at = Span(offset, offset + 1)
    character = text[offset]
    if character == "=":
        before = text[chunk.start : offset].rstrip()
        gives = re.search(r"^var\s+\w+$|\[\s*\w+$", before) is not None
        return mistakes.single_equals(at, gives)
    if character in "&|":
        double = character * 2
        help = f"write `{double}`"
        return mistakes.syntax_error(at, f"`{character}`", f"`{double}`", help)
    if character == ":":
        return mistakes.syntax_error(at, "`:`", "`:=`", "write `:=`")
    return mistakes.unknown_character(at, character)


_OPERAND = {"NAME", "NUMBER", "STRING", "LPAR"}
_WORDS = {
    "NAME": "a name",
    "SEMICOLON": "`;`",
    "RPAR": "`)`",
    "COMMA": "`,`",
    "RSQB": "`]`",
    "GETS": "`:=`",
    "LPAR": "`(`",
}


def _in_words(expected: set[str]) -> str:
    """Name what the grammar would have taken, never by a terminal's name."""
    if expected >= _OPERAND:
        return "an expression"
    words = [word for terminal, word in _WORDS.items() if terminal in expected]
    if "PLUS" in expected:
        words = ["an operator", *(word for word in words if word != "`(`")]
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " or " + words[-1]
