"""Mistakes in how a spec is written: its characters, statements and sections."""

from __future__ import annotations

from nomos.diagnostics.diagnostic import Code, Diagnostic
from nomos.diagnostics.source import Span

SECTIONS = (
    "import, use and param and def, input, var, requires, output, the block, var, "
    "ensures"
)


def not_utf8(at: Span, reason: str) -> Diagnostic:
    """Report a file that is no UTF-8 text."""
    return Diagnostic(
        code=Code.NOT_UTF8,
        message=f"the file is not UTF-8 text: {reason}",
        at=at,
        help="save the file with the encoding UTF-8",
    )


def unknown_character(at: Span, character: str, help: str | None = None) -> Diagnostic:
    """Report a character that no token starts with."""
    return Diagnostic(
        code=Code.UNKNOWN_CHARACTER,
        message=f"the character {character!a} has no meaning here",
        at=at,
        help=help or "remove it, or put it in a string or a comment",
    )


def unclosed_comment(at: Span) -> Diagnostic:
    """Report a `/*` without `*/`."""
    return Diagnostic(
        code=Code.UNCLOSED_COMMENT,
        message="this comment is never closed",
        at=at,
        help="end it with `*/`",
    )


def unclosed_string(at: Span, quote: str) -> Diagnostic:
    """Report a string that does not end on its line."""
    return Diagnostic(
        code=Code.UNCLOSED_STRING,
        message="this string does not end on its line",
        at=at,
        help=f"end it with {quote}; write a line break inside a string as `\\n`",
    )


def invalid_string(at: Span, reason: str) -> Diagnostic:
    """Report a string with an escape that means nothing."""
    return Diagnostic(
        code=Code.INVALID_STRING,
        message=f"this string has an escape that cannot be read: {reason}",
        at=at,
        help="write a backslash as `\\\\`",
    )


def invalid_number(
    at: Span, text: str, reason: str, help: str | None = None
) -> Diagnostic:
    """Report a number that cannot be represented, or is written as elsewhere."""
    shown = text if len(text) <= 24 else text[:21] + "..."
    return Diagnostic(
        code=Code.INVALID_NUMBER,
        message=f"`{shown}` is no number: {reason}",
        at=at,
        help=help,
    )


def syntax_error(at: Span, found: str, expected: str, help: str | None) -> Diagnostic:
    """Report something unexpected, in words."""
    return Diagnostic(
        code=Code.SYNTAX_ERROR,
        message=f"expected {expected}, found {found}",
        at=at,
        help=help,
    )


def missing_semicolon(at: Span, help: str | None = None) -> Diagnostic:
    """Report a statement that runs into the next one."""
    return Diagnostic(
        code=Code.MISSING_SEMICOLON,
        message="this statement does not end with `;`",
        at=at,
        help=help or "put a `;` here",
    )


def single_equals(at: Span, in_declaration: bool) -> Diagnostic:
    """Report `=` where `:=` or `==` is meant."""
    return Diagnostic(
        code=Code.SINGLE_EQUALS,
        message="`=` is no operator of the language",
        at=at,
        help="write `:=` to give a value"
        if in_declaration
        else "write `==` to compare, `==>` for implication",
    )


def chained_comparison(at: Span, operator: str) -> Diagnostic:
    """Report `a < b < c`."""
    return Diagnostic(
        code=Code.CHAINED_COMPARISON,
        message=f"comparisons do not chain, but `{operator}` follows another comparison",
        at=at,
        help="write `a < b && b < c`, or put one comparison in parentheses",
    )


def nested_too_deeply(at: Span, limit: int) -> Diagnostic:
    """Report an expression of absurd depth, or an absurdly long sum."""
    return Diagnostic(
        code=Code.NESTED_TOO_DEEPLY,
        message=f"this expression is nested more than {limit} levels deep, "
        "or it is too long",
        at=at,
        help="name parts of it with `var`",
    )


def misplaced_statement(at: Span, kind: str, where: str) -> Diagnostic:
    """Report a statement outside its section."""
    return Diagnostic(
        code=Code.MISPLACED_STATEMENT,
        message=f"`{kind}` is out of place here",
        at=at,
        notes=(f"the sections come in this order: {SECTIONS}",),
        help=f"move it {where}",
    )


def missing_input(at: Span) -> Diagnostic:
    """Report a spec without inputs."""
    return Diagnostic(
        code=Code.MISSING_INPUT,
        message="this spec has no input",
        at=at,
        help="declare at least one: `input x1;`",
    )


def missing_block(at: Span) -> Diagnostic:
    """Report a spec without a block."""
    return Diagnostic(
        code=Code.MISSING_BLOCK,
        message="this spec has no block of Python code that calls the model",
        at=at,
        help="after the outputs, write for example `{ d1 = predict(x1) }`",
    )


def unclosed_block(at: Span) -> Diagnostic:
    """Report a `{` whose `}` is missing."""
    return Diagnostic(
        code=Code.UNCLOSED_BLOCK,
        message="this block is never closed",
        at=at,
        notes=("brackets and quotes inside the block count as Python's",),
        help="end the block with `}`, and close each bracket and string inside it",
    )


def second_block(at: Span) -> Diagnostic:
    """Report more than one block."""
    return Diagnostic(
        code=Code.SECOND_BLOCK,
        message="a spec has one block of Python code, and this is another",
        at=at,
        help="join the blocks, or make two specs",
    )


def python_syntax(at: Span, reason: str) -> Diagnostic:
    """Report Python that does not compile."""
    return Diagnostic(
        code=Code.PYTHON_SYNTAX,
        message=f"the Python code does not compile: {reason}",
        at=at,
    )


def leaves_block(at: Span, word: str) -> Diagnostic:
    """Report `return`, `yield`, `await` or `global` at the block's top level."""
    return Diagnostic(
        code=Code.LEAVES_BLOCK,
        message=f"`{word}` cannot be used at the top level of the block",
        at=at,
        help="remove it: what the block assigns is its own"
        if word == "global"
        else "assign the outputs and let the block run to its end; "
        "a function defined inside the block may use it",
    )
