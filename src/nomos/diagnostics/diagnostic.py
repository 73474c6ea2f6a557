"""What is wrong with a spec, as a value, and the words for each kind of mistake."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from enum import Enum, auto
from functools import cached_property
from pathlib import Path

from nomos.diagnostics.source import Span


class Severity(Enum):
    """How much a diagnostic matters."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


class Code(Enum):
    """The kinds of mistakes; each has a page with its words, and at least one case.

    A page begins with the message, what to do about it, and a note. The message states
    the problem and shows the value; only the help says what to do. Mistakes are errors
    where their page does not say that they are warnings.
    """

    NOT_UTF8 = auto()
    UNKNOWN_CHARACTER = auto()
    UNCLOSED_COMMENT = auto()
    UNCLOSED_STRING = auto()
    INVALID_STRING = auto()
    INVALID_NUMBER = auto()
    SYNTAX_ERROR = auto()
    MISSING_SEMICOLON = auto()
    SINGLE_EQUALS = auto()
    CHAINED_COMPARISON = auto()
    NESTED_TOO_DEEPLY = auto()
    MISPLACED_STATEMENT = auto()
    MISSING_INPUT = auto()
    MISSING_BLOCK = auto()
    UNCLOSED_BLOCK = auto()
    SECOND_BLOCK = auto()
    PYTHON_SYNTAX = auto()
    LEAVES_BLOCK = auto()
    UNDECLARED_NAME = auto()
    DECLARED_TWICE = auto()
    ASSIGNED_TWICE = auto()
    RESERVED_NAME = auto()
    OUTPUT_BEFORE_BLOCK = auto()
    OUTPUT_NOT_ASSIGNED = auto()
    UNUSED_OUTPUT = auto()
    WRONG_TYPE = auto()
    WRONG_ARGUMENT_COUNT = auto()
    UNKNOWN_FUNCTION = auto()
    UNKNOWN_FEATURE = auto()
    UNKNOWN_LEVEL = auto()
    LABEL_OF_MADE_UP_RECORD = auto()
    NO_LABELS = auto()
    NO_ENSURES = auto()
    ENSURES_WITHOUT_OUTPUT = auto()
    DOMAIN_UNAVAILABLE = auto()
    EMPTY_RANGE = auto()
    OVERRIDES_BUILT_IN = auto()
    INVALID_PARAM = auto()
    INVALID_DEFINITION = auto()
    INVALID_LIBRARY = auto()
    INVALID_SIZE = auto()
    INVALID_INDEX = auto()
    INVALID_RATE = auto()
    INVALID_PAIR = auto()
    MISLEADING_CONDITION = auto()

    @property
    def slug(self) -> str:
        """What it is called in brackets, as in `error[unknown-feature]`."""
        return self.name.lower().replace("_", "-")

    @cached_property
    def _parts(self) -> tuple[Mapping[str, str], str]:
        """The words of this mistake, by what they are, and the page under them."""
        file = Path(__file__).parent / "pages" / f"{self.slug}.md"
        head, _, page = file.read_text("utf-8").partition("\n\n")
        return dict(line.split(": ", 1) for line in head.split("\n")), page

    @property
    def words(self) -> Mapping[str, str]:
        """Its `message`, and the `help`, `note` and `severity` that it usually has."""
        return self._parts[0]

    @property
    def page(self) -> str:
        """Its page, in Markdown."""
        return self._parts[1]

    def at(
        self,
        at: Span,
        *,
        help: str | None = None,
        note: str | None = None,
        **words: object,
    ) -> Diagnostic:
        """Return this mistake at a place; `help` and `note` replace the usual ones."""
        said = {what: text.format(**words) for what, text in self.words.items()}
        return Diagnostic(
            code=self,
            message=said["message"],
            at=at,
            severity=Severity(said.get("severity", "error")),
            notes=tuple(filter(None, [note or said.get("note")])),
            help=help or said.get("help"),
        )


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
    known = list(known)
    matches = [one for one in known if one.casefold() == name.casefold()]
    matches = matches or get_close_matches(name, known, n=1)
    return f"did you mean `{matches[0]}`?" if matches else None


def domain_unavailable(
    at: Span, name: str, reason: str, *, asked: bool = False
) -> Diagnostic:
    """Say that checks were skipped for want of the domain; `asked`: as the user wished."""
    put = f"put the domain in `{name}.py` beside the spec or in a folder above it"
    help = put if reason.startswith("there is no `") else None
    found = Code.DOMAIN_UNAVAILABLE.at(at, reason=reason, help=help)
    return replace(found, severity=Severity.INFO) if asked else found
