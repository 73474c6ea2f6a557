"""The Python block: where it ends, and its statements at their places in the spec."""

from __future__ import annotations

import ast
import io
import re
import tokenize
import warnings
from collections.abc import Iterator
from dataclasses import dataclass

from nomos.diagnostics import Diagnostic, Source, Span, mistakes
from nomos.lang.syntax import Block

_OPENING = {")": "(", "]": "[", "}": "{"}
_LONE_BRACE = re.compile(r"^\}", re.MULTILINE)
_TOO_MUCH_FOR_PYTHON = (RecursionError, MemoryError, OverflowError, ValueError)


def find_block_end(text: str, start: int) -> int | None:
    """Return the offset of the `}` that closes the block opened at `start`.

    Seen from Python's tokenizer the block is one bracket, so indentation does not
    matter and braces in strings, comments and dicts are told apart by Python itself.
    Where the code inside is broken, a `}` at the start of a line is taken for the end,
    so that the rest of the spec can still be read.
    """
    line_starts = [start]
    opened: list[str] = []

    def lines() -> Iterator[str]:
        for line in io.StringIO(text[start:]):
            yield line
            line_starts.append(line_starts[-1] + len(line))

    try:
        for token in tokenize.generate_tokens(lines().__next__):
            if token.type != tokenize.OP:
                continue
            if token.string in "([{":
                opened.append(token.string)
            elif token.string in _OPENING:
                _close(opened, token.string)
                if not opened:
                    row, column = token.start
                    return line_starts[row - 1] + column
    except (tokenize.TokenError, SyntaxError):
        pass
    lone = _LONE_BRACE.search(text, start + 1)
    return lone.start() if lone else None


def _close(opened: list[str], bracket: str) -> None:
    """Close a bracket; a brace also closes what was left open inside it."""
    wanted = _OPENING[bracket]
    if wanted in opened and (bracket == "}" or opened[-1] == wanted):
        while opened.pop() != wanted:
            pass


@dataclass(frozen=True, slots=True)
class _Layout:
    """How the text handed to Python maps to the lines of the spec."""

    text: str
    line_shift: int  # spec line = Python line + line_shift
    first_line: int  # the spec's line of the opening brace
    first_column_shift: int  # what its columns were moved by

    def offset(self, source: Source, line: int, column: int) -> int:
        """Return the spec's offset of a Python line and character column."""
        spec_line = max(1, min(line + self.line_shift, len(source.line_starts)))
        if spec_line == self.first_line:
            column += self.first_column_shift
        return source.line_starts[spec_line - 1] + max(0, column)


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" \t"))]


def _layouts(source: Source, block: Block) -> Iterator[_Layout]:
    """Yield the ways to read the block as a Python suite, likeliest first."""
    brace_line, brace_column = source.locate(block.span.start)
    first, *rest = block.code.split("\n")
    code_lines = [line for line in rest if line.strip() and line.strip()[0] != "#"]
    if not first.strip() or first.strip()[0] == "#":
        wrapped = bool(code_lines) and bool(_indent(code_lines[0]))
        head = "if 1:\n" if wrapped else ""
        shift = brace_line - (2 if wrapped else 1)
        yield _Layout(head + "\n".join(["", *rest]), shift, brace_line, 0)
        return
    body = first.lstrip(" \t")
    column = brace_column + len(first) - len(body)  # of the code, counted from 0
    indents = [min(map(_indent, code_lines), key=len, default=" "), " " * column, " "]
    for indent in dict.fromkeys(i or " " for i in indents):
        text = "if 1:\n" + "\n".join([indent + body, *rest])
        yield _Layout(text, brace_line - 2, brace_line, column - len(indent))


def _parse(text: str) -> list[ast.stmt]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the user's own SyntaxWarnings
        body = ast.parse(text).body
    if text.startswith("if 1:\n") and isinstance(body[0], ast.If):
        return body[0].body
    return body


def _is_empty(code: str) -> bool:
    return all(not line.strip() or line.strip()[0] == "#" for line in code.split("\n"))


class PythonCode:
    """The block's statements, with a way from their nodes back to the spec."""

    def __init__(self, source: Source, block: Block) -> None:
        self.source = source
        self.block = block
        self.statements: list[ast.stmt] = []
        self.diagnostics: list[Diagnostic] = []
        self._layout: _Layout | None = None
        if not _is_empty(block.code):
            self._read()

    def _read(self) -> None:
        failure: tuple[_Layout, Exception] | None = None
        for layout in _layouts(self.source, self.block):
            try:
                self.statements = _parse(layout.text)
            except (SyntaxError, *_TOO_MUCH_FOR_PYTHON) as error:
                failure = failure or (layout, error)
                continue
            self._layout = layout
            for statement in self.statements:
                ast.increment_lineno(statement, layout.line_shift)
            self._report_leaving()
            if not self.diagnostics:
                self._compile(layout)
            return
        assert failure is not None
        self._report(*failure)

    def _compile(self, layout: _Layout) -> None:
        """Compile the block in the form in which it will run: a function's body."""
        module = ast.parse("def block(): pass")
        function = module.body[0]
        assert isinstance(function, ast.FunctionDef)
        function.body = self.statements
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                compile(module, "<block>", "exec")
        except SyntaxError as error:  # its line is the spec's already
            if error.lineno is not None:
                error.lineno -= layout.line_shift
            self._report(layout, error)
        except _TOO_MUCH_FOR_PYTHON as error:
            self._report(layout, error)

    def _report(self, layout: _Layout, error: Exception) -> None:
        at = Span(self.block.span.start, self.block.span.start + 1)
        if not isinstance(error, SyntaxError):
            reason = str(error) or "it is too deeply nested"
            self.diagnostics.append(mistakes.python_syntax(at, reason))
            return
        if error.lineno:
            start = layout.offset(self.source, error.lineno, (error.offset or 1) - 1)
            start = max(self.block.span.start, min(start, self.block.span.end - 1))
            at = Span(start, start + 1)
        self.diagnostics.append(mistakes.python_syntax(at, error.msg))

    def span(self, node: ast.expr | ast.stmt) -> Span:
        """Return where a node of the block stands in the spec."""
        assert self._layout is not None
        start = self._offset(node.lineno, node.col_offset)
        end = self._offset(node.end_lineno or node.lineno, node.end_col_offset or 0)
        return Span(start, max(end, start + 1))

    def _offset(self, spec_line: int, byte_column: int) -> int:
        assert self._layout is not None
        line = spec_line - self._layout.line_shift
        text = self._layout.text.split("\n")[line - 1]
        column = len(text.encode()[:byte_column].decode(errors="ignore"))
        return self._layout.offset(self.source, line, column)

    def _report_leaving(self) -> None:
        """Report what would leave the block before its end."""
        words = {ast.Return: "return", ast.Await: "await", ast.AsyncFor: "async for"}
        words |= {
            ast.Yield: "yield",
            ast.YieldFrom: "yield",
            ast.AsyncWith: "async with",
        }
        for node in walk_own_scope(self.statements):
            word = words.get(type(node))
            if word is not None:
                assert isinstance(node, ast.expr | ast.stmt)
                start = self.span(node).start
                at = Span(start, start + len(word))
                self.diagnostics.append(mistakes.leaves_block(at, word))


_OTHER_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


def walk_own_scope(nodes: list[ast.stmt] | list[ast.AST]) -> Iterator[ast.AST]:
    """Yield the nodes that run in the block itself, not inside functions defined there."""
    todo: list[ast.AST] = list(reversed(nodes))
    while todo:
        node = todo.pop()
        yield node
        if isinstance(node, _OTHER_SCOPES):
            continue
        todo.extend(reversed(list(ast.iter_child_nodes(node))))
