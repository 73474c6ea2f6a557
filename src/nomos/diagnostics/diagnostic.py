"""What is wrong with a spec, as a value, and the words for each kind of mistake."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from difflib import get_close_matches
from enum import Enum

from nomos.diagnostics.source import Span


class Severity(Enum):
    """How much a diagnostic matters."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


class Code(Enum):
    """The kinds of mistakes; each has its words here, a page and at least one case.

    A member is its message, what to do about it, and a note. The message states the
    problem and shows the value; only the help says what to do.
    """

    def __init__(
        self, message: str, help: str | None = None, note: str | None = None
    ) -> None:
        self.message, self.help, self.note = message, help, note

    @property
    def slug(self) -> str:
        """What it is called in brackets, as in `error[unknown-feature]`."""
        return self.name.lower().replace("_", "-")

    NOT_UTF8 = (
        "the file is not UTF-8 text: {reason}",
        "save the file with the encoding UTF-8",
    )
    UNKNOWN_CHARACTER = (
        "the character {character!a} has no meaning here",
        "remove it, or put it in a string or a comment",
    )
    UNCLOSED_COMMENT = ("this comment is never closed", "end it with `*/`")
    UNCLOSED_STRING = (
        "this string does not end on its line",
        "end it with {quote}; write a line break inside a string as `\\n`",
    )
    INVALID_STRING = (
        "this string has an escape that cannot be read: {reason}",
        "write a backslash as `\\\\`",
    )
    INVALID_NUMBER = "`{number}` is no number: {reason}"
    SYNTAX_ERROR = "expected {expected}, found {found}"
    MISSING_SEMICOLON = ("this statement does not end with `;`", "put a `;` here")
    SINGLE_EQUALS = (
        "`=` is no operator of the language",
        "write `==` to compare, `==>` for implication",
    )
    CHAINED_COMPARISON = (
        "comparisons do not chain, but `{operator}` follows another comparison",
        "write `a < b && b < c`, or put one comparison in parentheses",
    )
    NESTED_TOO_DEEPLY = (
        "this expression is nested more than {limit} levels deep, or it is too long",
        "name parts of it with `var`",
    )
    MISPLACED_STATEMENT = (
        "`{word}` is out of place here",
        "move it {where}",
        "the sections come in this order: import, use and param and def, input, var, "
        "requires, output, the block, var, ensures",
    )
    MISSING_INPUT = ("this spec has no input", "declare at least one: `input x1;`")
    MISSING_BLOCK = (
        "this spec has no block of Python code that calls the model",
        "after the outputs, write for example `{{ d1 = predict(x1) }}`",
    )
    UNCLOSED_BLOCK = (
        "this block is never closed",
        "end the block with `}}`, and close each bracket and string inside it",
        "brackets and quotes inside the block count as Python's",
    )
    SECOND_BLOCK = (
        "a spec has one block of Python code, and this is another",
        "join the blocks, or make two specs",
    )
    PYTHON_SYNTAX = "the Python code does not compile: {reason}"
    LEAVES_BLOCK = (
        "`{word}` cannot be used at the top level of the block",
        "assign the outputs and let the block run to its end; "
        "a function defined inside the block may use it",
    )
    UNDECLARED_NAME = (
        "`{name}` is not declared",
        "declare it with `input`, `var` or `output`",
    )
    DECLARED_TWICE = (
        "`{name}` is declared twice",
        "give one of them another name",
        "first declared on line {line}",
    )
    ASSIGNED_TWICE = (
        "the block {verb} `{name}`, which has its value already as {kind}",
        "inputs and vars are values; use another name in the block",
    )
    RESERVED_NAME = (
        "`{name}` cannot be declared: it is {reason}",
        "choose another name",
    )
    OUTPUT_BEFORE_BLOCK = (
        "the output `{name}` has no value before the block has run",
        "use it in `ensures`, or in a `var` after the block",
    )
    OUTPUT_NOT_ASSIGNED = (
        "the block {does} the output `{name}`{where}",
        "assign it first, for example `{name} = 0` or `{name} = predict(x1)`",
    )
    UNUSED_OUTPUT = (
        "the output `{name}` is never used after the block",
        "mention it in an `ensures`, or make it a plain name of the block",
    )
    WRONG_TYPE = "{what} takes {wanted}, but this is {got}"
    WRONG_ARGUMENT_COUNT = "`{name}` takes {wanted}, but {given} given"
    UNKNOWN_FUNCTION = (
        "the domain has no function `{name}`",
        "add a method of that name to the domain",
        "known functions: {known}",
    )
    UNKNOWN_FEATURE = (
        "the inputs have no feature `{name}`",
        None,
        "known features: {known}",
    )
    UNKNOWN_LEVEL = (
        "this feature is never `{name}`",
        None,
        "what it can be: {known}",
    )
    LABEL_OF_MADE_UP_RECORD = (
        "`{shown}` is a made-up record and has no label",
        "ask for the label of the input itself: `label(x1)`",
        "a label belongs to the item that an `input` drew",
    )
    NO_LABELS = (
        "the domain does not say what the labels of its inputs are",
        "add a method `labels()` to it, with one label for each item of `inputs()`",
    )
    NO_ENSURES = (
        "this spec has no `ensures`, so nothing can be violated",
        "after the block, say what must hold: `ensures d1 <= d2;`",
    )
    ENSURES_WITHOUT_OUTPUT = (
        "this `ensures` mentions no output, so it cannot fail because of the model",
        "mention an output, or make it a `requires`",
    )
    DOMAIN_UNAVAILABLE = "functions and features were not checked: {reason}"
    EMPTY_RANGE = (
        "`{shown}` has no value: there is none from {low} to {high}",
        "write the smaller end first: {high}, then {low}",
    )
    OVERRIDES_BUILT_IN = (
        "`{name}` is the domain's own here, not the built-in function",
        "give the domain's function another name",
    )
    INVALID_PARAM = "the param `{name}` {reason}"
    INVALID_DEFINITION = "the definition `{name}` {reason}"
    INVALID_LIBRARY = (
        "`{path}` cannot be used: {reason}",
        "a file to `use` holds `param` and `def` only, and its path is seen from "
        "the spec's folder",
    )
    INVALID_SIZE = (
        "`{name}` cannot have the size {shown}",
        "give the number of items, at least 1 and at most 1000, or an integer param",
    )
    INVALID_INDEX = (
        "the list has no item {index}: it has {size}",
        "items are counted from 0 to {last}",
    )

    def at(
        self,
        at: Span,
        *,
        help: str | None = None,
        note: str | None = None,
        **words: object,
    ) -> Diagnostic:
        """Return this mistake at a place; `help` and `note` replace the usual ones."""
        usual_help = self.help and self.help.format(**words)
        usual_note = self.note and self.note.format(**words)
        return Diagnostic(
            code=self,
            message=self.message.format(**words),
            at=at,
            severity=Severity.WARNING if self in _WARNINGS else Severity.ERROR,
            notes=tuple(filter(None, [note or usual_note])),
            help=help or usual_help,
        )


_WARNINGS = {
    Code.UNUSED_OUTPUT,
    Code.ENSURES_WITHOUT_OUTPUT,
    Code.EMPTY_RANGE,
    Code.OVERRIDES_BUILT_IN,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnostic:
    """One mistake: what it is, where it is, and what to do about it."""

    code: Code
    message: str
    at: Span
    severity: Severity = Severity.ERROR
    notes: tuple[str, ...] = ()
    help: str | None = None


def suggest_nearest(name: str, known: Iterable[str]) -> str | None:
    """Ask whether another name was meant, if one is near."""
    matches = get_close_matches(name, known, n=1)
    return f"did you mean `{matches[0]}`?" if matches else None


def domain_unavailable(
    at: Span, name: str, reason: str, *, asked: bool = False
) -> Diagnostic:
    """Say that checks were skipped for want of the domain; `asked`: as the user wished."""
    put = f"put the domain in `{name}.py` beside the spec or in a folder above it"
    help = put if reason.startswith("there is no `") else None
    found = Code.DOMAIN_UNAVAILABLE.at(at, reason=reason, help=help)
    return replace(found, severity=Severity.INFO) if asked else found
