"""From text to syntax tree.

A spec that is right is read by the grammar in one go. One that is not is read again
statement by statement, so that all its mistakes are found and reported at once.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from lark import UnexpectedInput

from nomos.diagnostics import Code, Diagnostic, Source, Span
from nomos.lang.nodes import PlacedNode
from nomos.lang.python.block import find_block_end
from nomos.lang.reading import syntax, tree
from nomos.lang.reading.grammar import Unparsable, parse_text
from nomos.lang.reading.kept import Kept
from nomos.lang.reading.syntax_errors import explain_syntax_error

_DECLARES = re.compile(
    r"\b(?:import|input|var|output|param|def)\s+([A-Za-z_][A-Za-z0-9_]*)"
)
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_DIVISION = re.compile(r"[ \t]*//")
_FIRST_WORD = re.compile(r"\S+")
# Comments are white space here; what is left are words with what follows them on the
# line, ends, and everything else.
_REST = r"""[^\n;}"'/\#]*[^\s;}"'/\#]"""
_PIECE = re.compile(
    rf"""(?P<skip>\s+|{tree.COMMENT})
      | (?P<string>{tree.STRING})
      | (?P<word>[A-Za-z_]\w*)(?:{_REST})?
      | (?P<end>;)
      | (?P<brace>\}})
      | (?P<open_comment>/\*)
      | (?P<open_string>["'][^\n]*)
      | (?P<other>{_REST}|.)""",
    re.DOTALL | re.VERBOSE,
)
# Where a block is never closed, the spec goes on at the next line that looks like it.
_AFTER_BLOCK = re.compile(r"^[ \t]*(ensures|requires|output)\b", re.MULTILINE)


def parse_spec(source: Source, kept: Kept | None = None) -> tree.Parsed:
    """Read a spec; mistakes come back as diagnostics, never as exceptions.

    With what was `kept` of it before its last change, only what changed is read.
    """
    opening = tree.find_block(source.text)
    end = None if opening is None else find_block_end(source.text, opening)
    if opening is None:
        return _parse_library_spec(source) or _parse_with_mistakes(source, None, kept)
    if end is None:
        return _parse_with_mistakes(source, None, kept)
    block = syntax.Block(source.text[opening + 1 : end], span=Span(opening, end + 1))
    if kept is not None:
        return _parse_with_mistakes(source, block, kept)
    try:
        sections = parse_text(tree.blank_out(source.text, opening + 1, end), "spec")
    except (UnexpectedInput, Unparsable):
        return _parse_with_mistakes(source, block)
    spec = tree.build_spec(source, sections, block)
    if any(tree.depth_exceeds(node) for node in sections):
        return _parse_with_mistakes(source, block)
    return tree.Parsed(spec, ())


def _parse_library_spec(source: Source) -> tree.Parsed | None:
    """Read a file of params and definitions; None if it is no such thing."""
    statements = parse_library(source, may_use=True)
    if isinstance(statements, Diagnostic) or not statements:
        return None
    return tree.Parsed(
        tree.build_spec(source, [*statements], None), (), is_library=True
    )


def parse_library(
    library: Source, *, may_use: bool = False
) -> list[syntax.Shared] | Diagnostic:
    """Return the statements of a file that `use` names, or the first mistake in it."""
    try:
        statements: list[syntax.Shared] = parse_text(library.text, "library")
    except Unparsable as error:
        return error.diagnostic
    except UnexpectedInput as error:
        return explain_syntax_error(error, library.text, Span(0, len(library.text)))
    for statement in statements:
        if isinstance(statement, syntax.Use) and not may_use:
            words = {"found": "`use`", "expected": "`param` or `def`"}
            return Code.SYNTAX_ERROR.at(statement.span, **words)
        if tree.depth_exceeds(statement):
            return Code.NESTED_TOO_DEEPLY.at(statement.span, limit=tree.DEEPEST_NESTING)
    return statements


@dataclass(slots=True)
class _Recovery:
    """The state of one recovery: what was found, and what is wrong."""

    source: Source
    text: str  # the source with its block blanked
    diagnostics: list[Diagnostic] = field(default_factory=list)
    nodes: list[syntax.Statement] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)  # texts that could not be read

    def report(self, code: Code, start: int, end: int, **words: Any) -> None:
        self.diagnostics.append(code.at(Span(start, end), **words))


def _parse_with_mistakes(
    source: Source, block: syntax.Block | None, kept: Kept | None = None
) -> tree.Parsed:
    """Parse each statement on its own and report everything that is wrong."""
    state = _Recovery(source, source.text)
    if block is not None:
        state.text = tree.blank_out(source.text, block.span.start, block.span.end)
        _blank_further_blocks(state, block.span.end)
    else:
        _report_missing_block(state)
    chunks = list(_statement_spans(state))
    ended = _with_ends(state.text, chunks)
    before = None if kept is None else kept.take_statements()
    for chunk in chunks:
        if kept is None or before is None:
            _parse_statement(state, ended, chunk)
            continue
        text = state.text[chunk.start : chunk.end]
        node = before.find_statement(text, chunk.start)
        if node is not None:
            state.nodes.append(node)
        elif not _parse_statement(state, ended, chunk) or not text.endswith(";"):
            continue
        kept.keep_statement(text, state.nodes[-1], before)
    _check_order(state, block)
    unread = frozenset(word for text in state.unread for word in _WORD.findall(text))
    if not any(isinstance(n, syntax.Input | syntax.Pair) for n in state.nodes) | (
        "input" in unread
    ):
        state.report(Code.MISSING_INPUT, 0, min(1, len(source.text)))
    half = frozenset(n for text in state.unread for n in _DECLARES.findall(text))
    spec = tree.build_spec(source, state.nodes, block)
    state.diagnostics.sort(key=lambda diagnostic: diagnostic.at.start)
    return tree.Parsed(spec, tuple(state.diagnostics), half, unread)


def _blank_further_blocks(state: _Recovery, start: int) -> None:
    parts, done = [], 0
    while (opening := tree.find_block(state.text, start)) is not None:
        if state.text[:opening].rstrip()[-1:] in ("", ";", "}"):
            state.report(Code.SECOND_BLOCK, opening, opening + 1)
        else:
            words = {"found": "`{`", "expected": "a value"}
            help = "braces hold values behind `in`: `a in {b, c}`"
            if re.search(r"\b(if\s*\([^{};]*\)|else)\s*$", state.text[:opening]):
                help = "write `if c then a else b`"
            state.report(Code.SYNTAX_ERROR, opening, opening + 1, **words, help=help)
        end = find_block_end(state.text, opening)
        start = len(state.text) if end is None else end + 1
        parts += [state.text[done:opening], tree.blank_text(state.text[opening:start])]
        done = start
    state.text = "".join([*parts, state.text[done:]])


def _report_missing_block(state: _Recovery) -> None:
    opening = tree.find_block(state.text)
    if opening is None:
        end = len(state.text.rstrip())
        state.report(Code.MISSING_BLOCK, max(0, end - 1), end)
        return
    state.report(Code.UNCLOSED_BLOCK, opening, opening + 1)
    match = _AFTER_BLOCK.search(state.text, opening)
    end = match.start() if match else len(state.text)
    state.text = tree.blank_out(state.text, opening, end)


def _statement_spans(state: _Recovery) -> Iterator[Span]:
    """Yield the stretches that should be one statement each, their `;` included."""
    start: int | None = None
    last_end = 0
    after_stray = False
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
        if start is None and kind in ("brace", "end"):
            if not after_stray:
                _report_stray(state, match.start())
            after_stray = True
            continue
        after_stray = False
        if start is not None and kind == "word" and _starts_statement(state, match):
            yield _report_unended(state, start, last_end)
            start = None
        if start is None:
            start = match.start()
        last_end = match.end()
        if kind == "end":
            yield Span(start, last_end)
            start = None
    if start is not None:
        yield _report_unended(state, start, last_end)


def _report_unended(state: _Recovery, start: int, end: int) -> Span:
    help = None
    if _DIVISION.match(state.text, end):
        help = "put a `;` here; `//` starts a comment: write `/` to divide"
    state.report(Code.MISSING_SEMICOLON, end - 1, end, help=help)
    return Span(start, end)


def _report_stray(state: _Recovery, start: int) -> None:
    """Report a `;` or `}` that ends nothing; of several in a row, the first."""
    sign = state.text[start]
    help = "remove it"
    if sign == "}":
        help += ", or look for a `}` above that ended the block too soon"
    words = {"found": f"`{sign}`", "expected": "a statement"}
    state.report(Code.SYNTAX_ERROR, start, start + 1, **words, help=help)


def _starts_statement(state: _Recovery, match: re.Match[str]) -> bool:
    """Tell whether a keyword inside a statement really begins the next one."""
    if match["word"] not in syntax.KEYWORDS:
        return False
    line_start = state.text.rfind("\n", 0, match.start()) + 1
    return not state.text[line_start : match.start()].strip()


def _report_unclosed(state: _Recovery, match: re.Match[str], start: int | None) -> None:
    """Report what is never closed; the statement around it cannot be read."""
    at, end = match.span()
    if match.lastgroup == "open_comment":
        end = len(state.text)
        state.report(Code.UNCLOSED_COMMENT, at, at + 2)
    else:
        state.report(Code.UNCLOSED_STRING, at, at + 1, quote=state.text[at])
    state.unread.append(state.text[at if start is None else start : end])


def _with_ends(text: str, chunks: list[Span]) -> str:
    """Return the text with a `;` right behind each statement that has none.

    What stood there was white space or a comment: the next one starts on its own line.
    """
    characters = [*text, " "]
    for chunk in chunks:
        if text[chunk.end - 1] != ";":
            characters[chunk.end] = ";"
    return "".join(characters)


def _parse_statement(state: _Recovery, ended: str, chunk: Span) -> bool:
    """Read a statement; tell whether it is right."""
    text = state.text[chunk.start : chunk.end]
    whole = chunk if text.endswith(";") else Span(chunk.start, chunk.end + 1)
    try:
        node = parse_text(ended, "statement", whole)
    except Unparsable as error:
        state.diagnostics.append(error.diagnostic)
    except UnexpectedInput as error:
        state.diagnostics.append(explain_syntax_error(error, state.text, chunk))
    else:
        if not tree.depth_exceeds(node):
            state.nodes.append(node)
            return True
        at = chunk.start
        state.report(Code.NESTED_TOO_DEEPLY, at, at + 1, limit=tree.DEEPEST_NESTING)
    state.unread.append(_as_meant(text))
    return False


def _as_meant(text: str) -> str:
    """Return a statement with the keyword that its first word was meant to be."""
    word = _WORD.match(text)
    if word is None or word.group() in syntax.KEYWORDS:
        return text
    nearest = get_close_matches(word.group(), syntax.KEYWORDS, n=1)
    return nearest[0] + text[word.end() :] if nearest else text


_INPUTS = 2, "before the first `var`, `requires` and `output`"
_SHARED = 1, "before the first `input`"
# The sections in their order, and where a statement of each belongs.
_SECTIONS: dict[type[PlacedNode], tuple[int, str]] = {
    syntax.Import: (0, "to the top, before the inputs"),
    syntax.Use: _SHARED,
    syntax.Param: _SHARED,
    syntax.Def: _SHARED,
    syntax.Input: _INPUTS,
    syntax.Pair: _INPUTS,
    syntax.Repeats: (2, "right behind the inputs"),
    syntax.Var: (3, "before the first `output`, or behind the block"),
    syntax.Requires: (3, "before the first `output` and the block"),
    syntax.Allow: (3, "before the first `output` and the block"),
    syntax.Output: (4, "right before the block"),
    syntax.Block: (5, ""),
    syntax.Ensures: (7, "behind the block"),
}
_LATER_VAR = 6


def _check_order(state: _Recovery, block: syntax.Block | None) -> None:
    """Report each statement that comes after one of a later section."""
    border = len(state.text) if block is None else block.span.start
    nodes: list[syntax.Statement] = [*state.nodes, *([block] if block else [])]
    reached = 0
    for node in sorted(nodes, key=lambda node: node.span.start):
        if block is None and isinstance(node, syntax.Ensures | syntax.Var):
            continue  # without a block there is no telling
        early = node.span.start < border
        rank, where = _SECTIONS[type(node)]
        if isinstance(node, syntax.Var) and not early:
            rank = _LATER_VAR
        if rank < reached or (isinstance(node, syntax.Ensures) and early):
            found = _FIRST_WORD.match(state.text, node.span.start)
            word = "{" if found is None else found.group()
            at, end = node.span.start, node.span.start + len(word)
            state.report(Code.MISPLACED_STATEMENT, at, end, word=word, where=where)
        else:
            reached = rank
