"""One constructor per diagnostic code, so that each wording stands in one place.

Messages state the problem and show the value; only `help` says what to do.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

from nomos.diagnostics.diagnostic import Code, Diagnostic, Severity
from nomos.diagnostics.source import Span

SECTIONS = "import, input, var, requires, output, the block, var, ensures"


def _nearest(name: str, known: Iterable[str]) -> str | None:
    matches = get_close_matches(name, sorted(known), n=1)
    return f"did you mean `{matches[0]}`?" if matches else None


def _listing(names: Sequence[str], limit: int = 12) -> str:
    more = f", … ({len(names)} in all)" if len(names) > limit else ""
    return ", ".join(names[:limit]) + more


def not_utf8(at: Span, reason: str) -> Diagnostic:
    """Report a file that is no UTF-8 text."""
    return Diagnostic(
        code=Code.NOT_UTF8,
        message=f"the file is not UTF-8 text: {reason}",
        at=at,
        help="save the file with the encoding UTF-8",
    )


def unknown_character(at: Span, character: str) -> Diagnostic:
    """Report a character that no token starts with."""
    return Diagnostic(
        code=Code.UNKNOWN_CHARACTER,
        message=f"the character {character!a} has no meaning here",
        at=at,
        help="remove it, or put it in a string or a comment",
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


def missing_semicolon(at: Span) -> Diagnostic:
    """Report a statement that runs into the next one."""
    return Diagnostic(
        code=Code.MISSING_SEMICOLON,
        message="this statement does not end with `;`",
        at=at,
        help="put a `;` here",
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
    """Report an expression of absurd depth."""
    return Diagnostic(
        code=Code.NESTED_TOO_DEEPLY,
        message=f"this expression is nested more than {limit} levels deep",
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


def undeclared_name(
    at: Span,
    name: str,
    known: Iterable[str],
    *,
    later_line: int | None = None,
    help: str | None = None,
) -> Diagnostic:
    """Report a name that nothing declares, or only a later line."""
    notes: tuple[str, ...] = ()
    if later_line is not None:
        notes = (f"it is declared further down, on line {later_line}",)
        help = "move its declaration up"
    remedy = help or _nearest(name, known)
    return Diagnostic(
        code=Code.UNDECLARED_NAME,
        message=f"`{name}` is not declared",
        at=at,
        notes=notes,
        help=remedy or "declare it with `input`, `var` or `output`",
    )


def declared_twice(at: Span, name: str, line: int) -> Diagnostic:
    """Report a second declaration of a name."""
    return Diagnostic(
        code=Code.DECLARED_TWICE,
        message=f"`{name}` is declared twice",
        at=at,
        notes=(f"first declared on line {line}",),
        help="give one of them another name",
    )


def assigned_twice(at: Span, name: str, kind: str, verb: str = "assigns") -> Diagnostic:
    """Report a block that assigns an input or a var, or deletes it."""
    return Diagnostic(
        code=Code.ASSIGNED_TWICE,
        message=f"the block {verb} `{name}`, which has its value already as {kind}",
        at=at,
        help="inputs and vars are values; use another name in the block",
    )


def reserved_name(at: Span, name: str, reason: str) -> Diagnostic:
    """Report a declared name that is taken by the language or by Python."""
    return Diagnostic(
        code=Code.RESERVED_NAME,
        message=f"`{name}` cannot be declared: it is {reason}",
        at=at,
        help="choose another name",
    )


def output_before_block(at: Span, name: str) -> Diagnostic:
    """Report an output that is used where it has no value yet."""
    return Diagnostic(
        code=Code.OUTPUT_BEFORE_BLOCK,
        message=f"the output `{name}` has no value before the block has run",
        at=at,
        help="use it in `ensures`, or in a `var` after the block",
    )


def output_not_assigned(at: Span, name: str, sometimes: bool) -> Diagnostic:
    """Report an output without a value on some path through the block."""
    return Diagnostic(
        code=Code.OUTPUT_NOT_ASSIGNED,
        message=f"the block does not assign the output `{name}` on every path"
        if sometimes
        else f"the block never assigns the output `{name}`",
        at=at,
        help=f"assign it first, for example `{name} = 0` or `{name} = predict(x1)`",
    )


def unused_output(at: Span, name: str) -> Diagnostic:
    """Report an output that no `ensures` looks at."""
    return Diagnostic(
        code=Code.UNUSED_OUTPUT,
        severity=Severity.WARNING,
        message=f"the output `{name}` is never used after the block",
        at=at,
        help="mention it in an `ensures`, or make it a plain name of the block",
    )


def wrong_type(
    at: Span, what: str, wanted: str, got: str, help: str | None = None
) -> Diagnostic:
    """Report a value of a type that its place cannot take."""
    return Diagnostic(
        code=Code.WRONG_TYPE,
        message=f"{what} takes {wanted}, but this is {got}",
        at=at,
        help=help,
    )


def wrong_argument_count(at: Span, name: str, wanted: str, got: int) -> Diagnostic:
    """Report a call with too few or too many arguments."""
    return Diagnostic(
        code=Code.WRONG_ARGUMENT_COUNT,
        message=f"`{name}` takes {wanted}, but {got} {'is' if got == 1 else 'are'} given",
        at=at,
    )


def unknown_function(at: Span, name: str, known: Sequence[str]) -> Diagnostic:
    """Report a function that the domain does not have."""
    return Diagnostic(
        code=Code.UNKNOWN_FUNCTION,
        message=f"the domain has no function `{name}`",
        at=at,
        notes=(f"known functions: {_listing(known)}",),
        help=_nearest(name, known) or "add a method of that name to the domain",
    )


def unknown_feature(at: Span, name: str, known: Sequence[str]) -> Diagnostic:
    """Report a feature that the domain's schema does not have."""
    return Diagnostic(
        code=Code.UNKNOWN_FEATURE,
        message=f"the inputs have no feature `{name}`",
        at=at,
        notes=(f"known features: {_listing(known)}",),
        help=f"features are numbered from 0 to {len(known) - 1}"
        if name.lstrip("-").isdigit()
        else _nearest(name, known),
    )


def label_of_made_up_record(at: Span, shown: str) -> Diagnostic:
    """Report `label` of something that was not drawn from the source."""
    return Diagnostic(
        code=Code.LABEL_OF_MADE_UP_RECORD,
        message=f"`{shown}` is a made-up record and has no label",
        at=at,
        notes=("a label belongs to the item that an `input` drew",),
        help="ask for the label of the input itself: `label(x1)`",
    )


def no_labels(at: Span) -> Diagnostic:
    """Report `label` in a spec whose domain has no labels."""
    return Diagnostic(
        code=Code.NO_LABELS,
        message="the domain does not say what the labels of its inputs are",
        at=at,
        help="add a method `labels()` to it, with one label for each item of `inputs()`",
    )


def no_ensures(at: Span) -> Diagnostic:
    """Report a spec that demands nothing."""
    return Diagnostic(
        code=Code.NO_ENSURES,
        message="this spec has no `ensures`, so nothing can be violated",
        at=at,
        help="after the block, say what must hold: `ensures d1 <= d2;`",
    )


def ensures_without_output(at: Span) -> Diagnostic:
    """Report an `ensures` that the model cannot influence."""
    return Diagnostic(
        code=Code.ENSURES_WITHOUT_OUTPUT,
        severity=Severity.WARNING,
        message="this `ensures` mentions no output, so it cannot fail because of the model",
        at=at,
        help="mention an output, or make it a `requires`",
    )


def domain_unavailable(at: Span, name: str, reason: str) -> Diagnostic:
    """Say that checks were skipped because the domain could not be imported."""
    put = f"put the domain in `{name}.py` beside the spec or in a folder above it"
    return Diagnostic(
        code=Code.DOMAIN_UNAVAILABLE,
        severity=Severity.INFO,
        message=f"functions and features were not checked: {reason}",
        at=at,
        help=put if reason.startswith("there is no `") else None,
    )
