"""What is wrong with a spec, as a value."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from nomos.diagnostics.source import Span


class Severity(Enum):
    """How much a diagnostic matters."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


class Code(Enum):
    """The kinds of mistakes; each has one constructor, one page and at least one case."""

    NOT_UTF8 = "not-utf8"
    UNKNOWN_CHARACTER = "unknown-character"
    UNCLOSED_COMMENT = "unclosed-comment"
    UNCLOSED_STRING = "unclosed-string"
    INVALID_STRING = "invalid-string"
    INVALID_NUMBER = "invalid-number"
    SYNTAX_ERROR = "syntax-error"
    MISSING_SEMICOLON = "missing-semicolon"
    SINGLE_EQUALS = "single-equals"
    CHAINED_COMPARISON = "chained-comparison"
    NESTED_TOO_DEEPLY = "nested-too-deeply"
    MISPLACED_STATEMENT = "misplaced-statement"
    MISSING_INPUT = "missing-input"
    MISSING_BLOCK = "missing-block"
    UNCLOSED_BLOCK = "unclosed-block"
    SECOND_BLOCK = "second-block"
    PYTHON_SYNTAX = "python-syntax"
    LEAVES_BLOCK = "leaves-block"
    UNDECLARED_NAME = "undeclared-name"
    DECLARED_TWICE = "declared-twice"
    ASSIGNED_TWICE = "assigned-twice"
    RESERVED_NAME = "reserved-name"
    OUTPUT_BEFORE_BLOCK = "output-before-block"
    OUTPUT_NOT_ASSIGNED = "output-not-assigned"
    UNUSED_OUTPUT = "unused-output"
    WRONG_TYPE = "wrong-type"
    WRONG_ARGUMENT_COUNT = "wrong-argument-count"
    UNKNOWN_FUNCTION = "unknown-function"
    UNKNOWN_FEATURE = "unknown-feature"
    LABEL_OF_MADE_UP_RECORD = "label-of-made-up-record"
    NO_LABELS = "no-labels"
    NO_ENSURES = "no-ensures"
    ENSURES_WITHOUT_OUTPUT = "ensures-without-output"
    DOMAIN_UNAVAILABLE = "domain-unavailable"
    EMPTY_RANGE = "empty-range"
    OVERRIDES_BUILT_IN = "overrides-built-in"
    INVALID_PARAM = "invalid-param"
    INVALID_DEFINITION = "invalid-definition"
    INVALID_LIBRARY = "invalid-library"
    INVALID_SIZE = "invalid-size"
    INVALID_INDEX = "invalid-index"


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnostic:
    """One mistake: what it is, where it is, and what to do about it."""

    code: Code
    message: str
    at: Span
    severity: Severity = Severity.ERROR
    notes: tuple[str, ...] = ()
    help: str | None = None
