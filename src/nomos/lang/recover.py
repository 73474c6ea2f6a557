"""Read a broken spec statement by statement, so that all its mistakes are found."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from difflib import get_close_matches

from lark import Token, UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from nomos.diagnostics import Diagnostic, Source, Span, mistakes
from nomos.lang import syntax
from nomos.lang.block import find_block_end
from nomos.lang.tree import (
    DEEPEST_NESTING,
    Parsed,
    Unreadable,
    blank,
    build_spec,
    depth_exceeds,
    find_block,
    parse_text,
    token_span,
)

KEYWORDS = ("import", "input", "var", "requires", "output", "ensures")
_DECLARES = re.compile(r"(import|input|var|output)\s+([A-Za-z_][A-Za-z0-9_]*)")
# Comments are white space here; what is left are words, ends, and everything else.
_PIECE = re.compile(
    r"""(?P<skip>\s+|\#[^\n]*|//[^\n]*|/\*.*?\*/)
      | (?P<string>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')
      | (?P<word>[A-Za-z_]\w*)
      | (?P<end>;)
      | (?P<block>\{)
      | (?P<open_comment>/\*)
      | (?P<open_string>["'][^\n]*)
      | (?P<other>.)""",
    re.DOTALL | re.VERBOSE,
)
_PYTHON_WORDS = {"and": "&&", "or": "||", "not": "!", "True": "true"}
_PYTHON_WORDS |= {"False": "false", "None": "null", "implies": "==>"}


@dataclass(slots=True)
class _Recovery:
    """The state of one recovery: what was found, and what is wrong."""

    source: Source
    text: str  # the source with its block blanked
    diagnostics: list[Diagnostic] = field(default_factory=list)
    nodes: list[syntax.Statement] = field(default_factory=list)
    half_declared: set[str] = field(default_factory=set)


def recover(source: Source, block: syntax.Block | None) -> Parsed:
    """Parse each statement on its own and report everything that is wrong."""
    state = _Recovery(source, source.text)
    if block is not None:
        inside = block.span.start, block.span.end
        state.text = blank(source.text, *inside)
        _blank_further_blocks(state, block.span.end)
    else:
        _report_missing_block(state)
    for chunk in _chunks(state):
        _parse_statement(state, chunk)
    _check_order(state, block)
    if not any(isinstance(node, syntax.Input) for node in state.nodes) and not (
        _mentions(state.text, "input")
    ):
        at = Span(0, min(1, len(source.text)))
        state.diagnostics.append(mistakes.missing_input(at))
    spec = build_spec(source, state.nodes, block)
    state.diagnostics.sort(key=lambda diagnostic: diagnostic.at.start)
    return Parsed(spec, tuple(state.diagnostics), frozenset(state.half_declared))


def _mentions(text: str, keyword: str) -> bool:
    return any(
        match.lastgroup == "word" and match.group() == keyword
        for match in _PIECE.finditer(text)
    )


def _blank_further_blocks(state: _Recovery, start: int) -> None:
    while (opening := find_block(state.text, start)) is not None:
        state.diagnostics.append(mistakes.second_block(Span(opening, opening + 1)))
        end = find_block_end(state.text, opening)
        start = len(state.text) if end is None else end + 1
        state.text = blank(state.text, opening, start)


def _report_missing_block(state: _Recovery) -> None:
    opening = find_block(state.text)
    if opening is None:
        end = len(state.text.rstrip())
        at = Span(max(0, end - 1), max(1, end))
        state.diagnostics.append(mistakes.missing_block(at))
        return
    state.diagnostics.append(mistakes.unclosed_block(Span(opening, opening + 1)))
    # Take up again where a line looks like the property's end.
    later = re.compile(r"^[ \t]*(ensures|requires|output)\b", re.MULTILINE)
    match = later.search(state.text, opening)
    end = match.start() if match else len(state.text)
    state.text = blank(state.text, opening, end)


def _chunks(state: _Recovery) -> Iterator[Span]:
    """Yield the stretches that should be one statement each, their `;` included."""
    start: int | None = None
    last_end = 0
    for match in _PIECE.finditer(state.text):
        kind = match.lastgroup
        if kind == "skip":
            continue
        if kind in ("open_comment", "open_string"):
            _report_unclosed(state, match, start)
            start = None
            if kind == "open_comment":
                return
            continue
        if start is not None and kind == "word" and _starts_statement(state, match):
            at = Span(last_end - 1, last_end)
            state.diagnostics.append(mistakes.missing_semicolon(at))
            yield Span(start, last_end)
            start = None
        if start is None:
            start = match.start()
        last_end = match.end()
        if kind == "end":
            yield Span(start, last_end)
            start = None
    if start is not None:
        state.diagnostics.append(
            mistakes.missing_semicolon(Span(last_end - 1, last_end))
        )
        yield Span(start, last_end)


def _starts_statement(state: _Recovery, match: re.Match[str]) -> bool:
    """Tell whether a keyword inside a statement really begins the next one."""
    if match.group() not in KEYWORDS:
        return False
    line_start = state.text.rfind("\n", 0, match.start()) + 1
    return not state.text[line_start : match.start()].strip()


def _report_unclosed(state: _Recovery, match: re.Match[str], start: int | None) -> None:
    """Report what is never closed; the statement around it cannot be read."""
    if start is not None:
        _declare_half(state, state.text[start : match.start()])
    at = Span(match.start(), match.start() + 1)
    if match.lastgroup == "open_comment":
        state.diagnostics.append(
            mistakes.unclosed_comment(Span(at.start, at.start + 2))
        )
    else:
        state.diagnostics.append(mistakes.unclosed_string(at, match.group()[0]))


def _parse_statement(state: _Recovery, chunk: Span) -> None:
    text = state.text[chunk.start : chunk.end]
    ended = text if text.endswith(";") else text + " ;"
    try:
        node = parse_text(" " * chunk.start + ended, "statement")
    except Unreadable as error:
        state.diagnostics.append(error.diagnostic)
    except UnexpectedInput as error:
        diagnostic = _explain(state, chunk, error)
        if diagnostic is not None:
            state.diagnostics.append(diagnostic)
    else:
        if not depth_exceeds(node):
            state.nodes.append(node)
            return
        at = Span(chunk.start, chunk.start + 1)
        state.diagnostics.append(mistakes.nested_too_deeply(at, DEEPEST_NESTING))
    _declare_half(state, text)


def _declare_half(state: _Recovery, text: str) -> None:
    declares = _DECLARES.match(text)
    if declares:
        state.half_declared.add(declares.group(2))


def _explain(
    state: _Recovery, chunk: Span, error: UnexpectedInput
) -> Diagnostic | None:
    """Put a failure of the grammar into words."""
    text = state.text
    if isinstance(error, UnexpectedCharacters):
        return _explain_character(text, chunk, error)
    if not isinstance(error, UnexpectedToken):
        return mistakes.missing_semicolon(Span(chunk.end - 1, chunk.end))
    token: Token = error.token
    at = token_span(token) if token.type != "$END" else Span(chunk.end - 1, chunk.end)
    at = Span(min(at.start, chunk.end - 1), min(at.end, chunk.end))
    at = Span(at.start, max(at.end, at.start + 1))
    expected = set(error.accepts or error.expected)
    if (
        token.type == "COMPARE"
        and "COMPARE" not in expected
        and "SEMICOLON" in expected
    ):
        return mistakes.chained_comparison(at, str(token))
    if at.start == chunk.start:
        return _explain_start(at, text)
    help = _help(str(token), text, at)
    found = "the end of the statement" if str(token) in (";", "") else f"`{token}`"
    return mistakes.syntax_error(at, found, _in_words(expected), help)


def _explain_start(at: Span, text: str) -> Diagnostic:
    word = text[at.start : at.end]
    nearest = get_close_matches(word, KEYWORDS, n=1)
    help = f"did you mean `{nearest[0]}`?" if nearest else None
    expected = "a statement (import, input, var, requires, output or ensures)"
    return mistakes.syntax_error(at, f"`{word}`", expected, help)


def _help(token: str, text: str, at: Span) -> str | None:
    if token in _PYTHON_WORDS:
        return f"write `{_PYTHON_WORDS[token]}` for `{token}`"
    if token == "!" and text[at.start - 1 : at.start] != "!":
        return "put the negation in parentheses: `(!a)`"
    if token == ":=":
        return "only `var` gives a name its value; compare with `==`"
    return None


def _explain_character(
    text: str, chunk: Span, error: UnexpectedCharacters
) -> Diagnostic | None:
    offset = min(error.pos_in_stream, len(text) - 1)
    at = Span(offset, offset + 1)
    character = text[offset]
    if character in "\"'":
        return None  # the unclosed string is reported already
    if character == "=":
        before = text[chunk.start : offset]
        return mistakes.single_equals(
            at, re.fullmatch(r"var\s+\w+\s*", before) is not None
        )
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
    "__ANON_0": "`:=`",
    "LPAR": "`(`",
}


def _in_words(expected: set[str]) -> str:
    """Name what the grammar would have taken, never by a terminal's name."""
    if expected >= _OPERAND:
        return "an expression"
    words = [word for terminal, word in _WORDS.items() if terminal in expected]
    if "PLUS" in expected:
        words = ["an operator", *(word for word in words if word != "`(`")]
    if not words:
        return "something else"
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " or " + words[-1]


_WHERE = {
    syntax.Import: "to the top, before the inputs",
    syntax.Input: "before the first `var`, `requires` and `output`",
    syntax.Var: "before the first `requires` and `output`, or behind the block",
    syntax.Requires: "before the first `output` and the block",
    syntax.Output: "right before the block",
    syntax.Ensures: "behind the block",
}
_RANK: dict[type[syntax.Node], int] = {
    syntax.Import: 0,
    syntax.Input: 1,
    syntax.Var: 2,
    syntax.Requires: 3,
    syntax.Output: 4,
    syntax.Block: 5,
    syntax.Ensures: 7,
}


def _check_order(state: _Recovery, block: syntax.Block | None) -> None:
    """Report each statement that comes after one of a later section."""
    border = len(state.text) if block is None else block.span.start
    reached = 0
    nodes = sorted(
        [*state.nodes, *([block] if block else [])], key=lambda n: n.span.start
    )
    for node in nodes:
        rank = _RANK[type(node)]
        if isinstance(node, syntax.Var) and node.span.start > border:
            rank = 6
        early = isinstance(node, syntax.Ensures) and node.span.start < border
        if block is None and isinstance(node, syntax.Ensures | syntax.Var):
            continue  # without a block there is no telling
        if rank < reached or early:
            word = state.text[node.span.start :].split(None, 1)[0]
            at = Span(node.span.start, node.span.start + len(word))
            where = _WHERE[type(node)]
            state.diagnostics.append(mistakes.misplaced_statement(at, word, where))
        else:
            reached = rank
