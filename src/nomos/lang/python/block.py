"""The Python block: where it ends, and its statements at their places in the spec."""

import ast
import io
import re
import tokenize
import warnings
from collections.abc import Iterator
from dataclasses import dataclass

from nomos.diagnostics import Code, Diagnostic, Source, Span
from nomos.lang.checking.names import walk_own_scope
from nomos.lang.reading.syntax import Block

_OPENING = {")": "(", "]": "[", "}": "{"}
_TOO_MUCH_FOR_PYTHON = (
    RecursionError,
    MemoryError,
    OverflowError,
    ValueError,
    SystemError,  # of the tokenizer of 3.12 where a NUL stands in a line
)
_HEAD = "with 1:\n"  # an indented block is parsed as its body; it takes no `else`
_MOST_LOST = 50  # blanks that Python 3.11 looks at again and again
_MOST_LAYOUTS = 8  # ways to read a block that are tried before it is called broken

# Where Python's tokenizer gives up: its comments and strings, as far as they are closed.
_PIECE = re.compile(
    r"""\#[^\n]*
      | \"{3}(?:\\.|[^\\])*?\"{3} | '{3}(?:\\.|[^\\])*?'{3}
      | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*'
      | (?P<brace>[{}])""",
    re.DOTALL | re.VERBOSE,
)
_LONE_BRACE = re.compile(r"^\}", re.MULTILINE)


def find_block_end(text: str, start: int) -> int | None:
    """Return the offset of the `}` that closes the block opened at `start`.

    Seen from Python's tokenizer the block is one bracket, so indentation does not
    matter and Python itself knows the braces in strings, comments and dicts.
    Where the code inside is broken, braces are counted without its help, so that the
    rest of the spec can still be read.
    """
    line_starts = [start]
    opened: list[str] = []
    lost = 0  # blanks before what is no Python: each is tried for itself

    def next_lines() -> Iterator[str]:
        for line in io.StringIO(text[start:]):
            yield line
            line_starts.append(line_starts[-1] + len(line))

    try:
        for token in tokenize.generate_tokens(next_lines().__next__):
            if token.type != tokenize.OP:
                lost += token.type == tokenize.ERRORTOKEN and token.string.isspace()
                if lost > _MOST_LOST:
                    break
                continue
            if token.string in "([{":
                opened.append(token.string)
            elif token.string in _OPENING:
                _close_bracket(opened, token.string)
                if not opened:
                    row, column = token.start
                    return line_starts[row - 1] + column
    except (tokenize.TokenError, SyntaxError, *_TOO_MUCH_FOR_PYTHON):
        pass
    return _guess_block_end(text, start)


def _close_bracket(opened: list[str], bracket: str) -> None:
    """Close a bracket; a brace also closes what was left open inside it."""
    wanted = _OPENING[bracket]
    if wanted in opened and (bracket == "}" or opened[-1] == wanted):
        while opened.pop() != wanted:
            pass


def _guess_block_end(text: str, start: int) -> int | None:
    depth = 0
    for match in _PIECE.finditer(text, start):
        if match["brace"]:
            depth += 1 if match["brace"] == "{" else -1
            if depth == 0:
                return match.start()
    lone = _LONE_BRACE.search(text, start + 1)
    return lone.start() if lone else None


@dataclass(frozen=True, slots=True)
class _Layout:
    """The block as a suite of Python: its lines, and where they stand in the spec."""

    lines: tuple[str, ...]
    wrapped: bool  # the lines are indented, as the body of a statement
    first_line: int  # the spec's line of the opening brace, which is the first here
    first_shift: int  # what the columns of that line were moved by

    @property
    def text(self) -> str:
        """What Python is given to parse."""
        return (_HEAD if self.wrapped else "") + "\n".join(self.lines)

    @property
    def line_shift(self) -> int:
        """The spec's line is Python's line plus this."""
        return self.first_line - (2 if self.wrapped else 1)

    def offset_in_spec(self, source: Source, spec_line: int, column: int) -> int:
        """Return the spec's offset of a character column of one of its lines."""
        spec_line = max(1, min(spec_line, len(source.line_starts)))
        if spec_line == self.first_line:
            column += self.first_shift
        return source.line_starts[spec_line - 1] + max(0, column)


def indentation_of(line: str) -> str:
    """Return the white space that a line starts with."""
    return line[: len(line) - len(line.lstrip(" \t"))]


def is_code(line: str) -> bool:
    """Tell whether a line holds more than white space and a comment."""
    return line.strip(" \t\f")[:1] not in ("", "#")


def _possible_layouts(source: Source, block: Block) -> Iterator[_Layout]:
    """Yield the ways to read the block as a suite of Python, likeliest first."""
    brace_line, brace_column = source.locate(block.span.start)
    first, *rest = block.code.split("\n")
    code_lines = [line for line in rest if is_code(line)]
    if not is_code(first):
        wrapped = bool(code_lines) and bool(indentation_of(code_lines[0]))
        yield _Layout((first.lstrip(), *rest), wrapped, brace_line, 0)
        return
    # Code behind the brace has no indentation of its own: it is that of a later line.
    body = first.lstrip(" \t")
    column = brace_column + len(first) - len(body)  # of the code, counted from 0
    later = sorted(map(indentation_of, code_lines), key=lambda i: (len(i), i))
    later = list(dict.fromkeys(later))
    for indent in dict.fromkeys([*later[:_MOST_LAYOUTS], " " * column]):
        lines = (indent + body, *rest)
        yield _Layout(lines, bool(indent), brace_line, column - len(indent))


def _parse_layout(layout: _Layout) -> list[ast.stmt]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the user's own SyntaxWarnings
        body = ast.parse(layout.text).body
    if not layout.wrapped:
        return body
    if len(body) > 1:
        place = (None, body[1].lineno, 1, None)
        raise IndentationError("unindent does not match the block's first line", place)
    (head,) = body
    assert isinstance(head, ast.With)
    return head.body


def _shift_error_lines(error: SyntaxError, lines: int) -> None:
    """Make the lines that an error names lines of the spec."""
    if error.lineno is not None:
        error.lineno += lines
    message = re.sub(r" \(detected at line \d+\)", "", error.msg)
    error.msg = re.sub(
        r"\bon line (\d+)", lambda match: f"on line {int(match[1]) + lines}", message
    )


class PythonCode:
    """The block's statements, with a way from their nodes back to the spec."""

    def __init__(self, source: Source, block: Block) -> None:
        self.source = source
        self.block = block
        self.statements: list[ast.stmt] = []
        self.diagnostics: list[Diagnostic] = []
        self._layout: _Layout | None = None
        if any(is_code(line) for line in block.code.split("\n")):
            self._parse_block()

    @property
    def lines(self) -> tuple[str, ...]:
        """The block's lines, the first of them indented like its neighbours."""
        if self._layout is None:
            return tuple(self.block.code.split("\n"))
        return self._layout.lines

    def _parse_block(self) -> None:
        failures: list[tuple[_Layout, Exception]] = []
        for layout in _possible_layouts(self.source, self.block):
            try:
                self.statements = _parse_layout(layout)
            except (SyntaxError, *_TOO_MUCH_FOR_PYTHON) as error:
                failures.append((layout, error))
                continue
            self._layout = layout
            for statement in self.statements:
                ast.increment_lineno(statement, layout.line_shift)
            self._report_leaving()
            if not self.diagnostics:
                self._check_compiles(layout)
            return
        layout, failure = failures[0]
        if isinstance(failure, SyntaxError):
            _shift_error_lines(failure, layout.line_shift)
        self._report_python_error(layout, failure)

    def _check_compiles(self, layout: _Layout) -> None:
        """Compile the block in the form in which it will run: a function's body."""
        module = ast.parse("def block(): pass")
        function = module.body[0]
        assert isinstance(function, ast.FunctionDef)
        function.body = self.statements
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                compile(module, "<block>", "exec")
        except (SyntaxError, *_TOO_MUCH_FOR_PYTHON) as error:
            self._report_python_error(layout, error)

    def _report_python_error(self, layout: _Layout, error: Exception) -> None:
        """Report what Python says; a SyntaxError's line is one of the spec."""
        whole = self.block.span
        at = Span(whole.start, whole.start + 1)
        reason = str(error) or "it is too deeply nested"
        if isinstance(error, SyntaxError):
            reason = error.msg
            if error.lineno is not None:
                column = (error.offset or 1) - 1
                start = layout.offset_in_spec(self.source, error.lineno, column)
                start = max(whole.start, min(start, whole.end - 1))
                at = Span(start, start + 1)
        self.diagnostics.append(Code.PYTHON_SYNTAX.at(at, reason=reason))

    def span_of(self, node: ast.expr | ast.stmt) -> Span:
        """Return where a node of the block stands in the spec."""
        start = self._char_offset(node.lineno, node.col_offset)
        line, column = node.end_lineno or node.lineno, node.end_col_offset or 0
        return Span(start, max(self._char_offset(line, column), start + 1))

    def _char_offset(self, spec_line: int, byte_column: int) -> int:
        layout = self._layout
        assert layout is not None
        # Python 3.11 misplaces what stands in an f-string of several lines.
        row = max(0, min(spec_line - layout.first_line, len(layout.lines) - 1))
        before = layout.lines[row].encode()[:byte_column]
        column = len(before.decode(errors="ignore"))
        return layout.offset_in_spec(self.source, row + layout.first_line, column)

    def _report_leaving(self) -> None:
        """Report what would leave the block before its end, or reach outside it."""
        for node in walk_own_scope(self.statements):
            word = _LEAVING.get(type(node))
            if word is not None:
                assert isinstance(node, ast.expr | ast.stmt)
                start = self.span_of(node).start
                at = Span(start, start + len(word))
                help = _OF_GLOBAL if word == "global" else None
                self.diagnostics.append(Code.LEAVES_BLOCK.at(at, word=word, help=help))


_LEAVING: dict[type[ast.AST], str] = {
    ast.Return: "return", ast.Yield: "yield", ast.YieldFrom: "yield", ast.Await: "await",
    ast.AsyncFor: "async for", ast.AsyncWith: "async with", ast.Global: "global",
}  # fmt: skip
_OF_GLOBAL = "remove it: what the block assigns is its own"
