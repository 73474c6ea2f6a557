"""The Python block of a spec in its canonical layout."""

import ast
import io
import tokenize

from nomos.diagnostics import Source, Span
from nomos.lang.python.block import PythonCode, indentation_of, is_code
from nomos.lang.reading import syntax
from nomos.lang.writing.layout import INDENT


def format_block(source: Source, block: syntax.Block, python: PythonCode) -> str:
    """Return the block, its code indented by one step, where that changes nothing."""
    opened = "{\n" + "".join(f"{line}\n" for line in _indent_lines(python.lines)) + "}"
    again = Source(source.name, opened)
    span = Span(0, len(opened))
    reread = PythonCode(again, syntax.Block(opened[1:-1], span=span))
    if (
        dump_statements(reread.statements)
        == dump_statements(python.statements)
        is not None
    ):
        return opened
    return source.slice(block.span)  # too deep to be compared


def _indent_lines(lines: tuple[str, ...]) -> list[str]:
    """Return lines indented by one step; what stands inside a string stays as it is."""
    base = next((indentation_of(line) for line in lines if is_code(line)), None)
    inside = _begin_inside_strings(lines)
    out: list[str] = []
    for number, line in enumerate(lines):
        ended = line if number + 1 in inside else line.rstrip()
        if number in inside:
            out.append(ended)
            continue
        if base is not None and line.startswith(base):
            code = ended.removeprefix(base)
        else:  # a comment, or a line inside brackets
            code = ended.lstrip()
        if code:
            out.append(" " * INDENT + code)
        elif out and out[-1]:
            out.append("")
    return out if not out or out[-1] else out[:-1]


def _begin_inside_strings(lines: tuple[str, ...]) -> set[int]:
    """Return the lines that begin inside a string: their blanks belong to a value."""
    found: set[int] = set()
    opened: list[int] = []  # the rows on which strings with parts in braces begin
    # Inside a bracket the tokenizer does not mind the indentation.
    text = io.StringIO("(\n" + "\n".join(lines) + "\n)")
    for token in tokenize.generate_tokens(text.readline):
        kind = tokenize.tok_name[token.type]
        first, last = token.start[0], token.end[0]
        if kind in ("FSTRING_START", "TSTRING_START"):
            opened.append(first)
        elif kind in ("FSTRING_END", "TSTRING_END"):
            found |= set(range(opened.pop(), last))
        elif kind == "STRING":
            found |= set(range(first, last))
    return {row - 1 for row in found}  # rows count from 1, ours is the second


def dump_statements(statements: list[ast.stmt]) -> list[str] | None:
    """Return what statements say; None where they are too deep to be written down."""
    try:
        return [ast.dump(statement) for statement in statements]
    except RecursionError:
        return None
