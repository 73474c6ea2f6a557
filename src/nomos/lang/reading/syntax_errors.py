"""Put into words why the grammar refuses a statement."""

import re
from typing import cast

from lark import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from nomos.diagnostics import Code, Diagnostic, Span
from nomos.diagnostics.diagnostic import suggest_nearest
from nomos.lang.reading.grammar import LONGEST_SHOWN, invalid_number, token_span
from nomos.lang.reading.habits import find_habit, remedies
from nomos.lang.reading.syntax import KEYWORDS

_FROM_IMPORT = re.compile(r"from\s+(\w+)\s+import\b")
_COPY = "a copy with another value is `x[name := value]`"
_IS_CLOSE = "write `isclose(a, b, abs := 0.1)`"
BRACES = "values stand in braces, `in {a, b}`, and a range has dots, `in lo..hi`"
_BEFORE_VALUES = ("if", "then", "else", "in", "and", "or", "not")
_INTERVAL = re.compile(r"[^()\[\]{};]*\)")
_LISTED = re.compile(r"\bin\s*(\[)[^\[\]]*\Z")
_LOOPS = ("forall", "exists", "count", "sum", "if")
_DIVISION_ELSEWHERE = "`//` starts a comment: write `/` to divide"
# Numbers as other languages write them, and what the language has for them.
_NUMBER_LIKE = re.compile(
    r"(?<![\w.])(?:\.[0-9]\w*|[0-9]+\.(?![\w.])|[0-9][0-9.]*[A-Za-z_]\w*)"
)


def explain_syntax_error(error: UnexpectedInput, text: str, chunk: Span) -> Diagnostic:
    """Return the diagnostic for a statement that the grammar did not take."""
    if isinstance(error, UnexpectedCharacters):
        return _explain_character(text, chunk, cast("int", error.pos_in_stream))
    assert isinstance(error, UnexpectedToken)
    token = error.token
    place = token_span(token)
    # The `;` of a statement that has none stands behind the text.
    start = min(place.start, chunk.end - 1)
    at = Span(start, max(start + 1, min(place.end, chunk.end)))
    expected = set(error.accepts or error.expected)
    listed = _LISTED.search(text, chunk.start, at.start)
    # A list, as in Python
    if listed is not None and "FOR" in expected and token != "..":
        at = Span(listed.start(1), listed.end(1))
        if _INTERVAL.match(text, at.end, chunk.end):
            remedy = "write `in lo..hi`, with both ends"
            return _syntax_error_at(at, "`[`", "`{`", remedy)
        return _syntax_error_at(at, "`[`", "`{`", BRACES)
    if token.type == "COMPARE" and "AND" in expected and "COMPARE" not in expected:
        return Code.CHAINED_COMPARISON.at(at, operator=token)
    if at.start == chunk.start:
        return _explain_start(text, at)
    number = _number_before(text, chunk, at)
    if number is not None:
        return number
    habit = find_habit(text, chunk, at)
    if habit is not None:
        wanted = _describe_expected(expected)
        shown = f"`{text[habit[0].start : habit[0].end]}`"
        shown = "the end of the statement" if shown == "`;`" else shown
        return _syntax_error_at(habit[0], shown, wanted, habit[1])
    if token == ":" and "GETS" in expected:
        return _syntax_error_at(at, "`:`", "`:=`", "write `:=`")
    found = "the end of the statement" if token == ";" else f"`{token}`"
    help = _suggest_fix(text, chunk, at, token.type)
    return _syntax_error_at(at, found, _describe_expected(expected), help)


def _syntax_error_at(
    at: Span, found: str, expected: str, help: str | None
) -> Diagnostic:
    return Code.SYNTAX_ERROR.at(at, found=found, expected=expected, help=help)


def _explain_start(text: str, at: Span) -> Diagnostic:
    word = text[at.start : at.end]
    help = None if word == "print" else suggest_nearest(word, KEYWORDS)
    if keyword := remedies("statements").get(word):
        help = f"write `{keyword}`"
    python = _FROM_IMPORT.match(text, at.start)
    if python is not None:
        help = f"write `import {python[1]};`"
    expected = f"a statement ({', '.join(KEYWORDS[:-1])} or {KEYWORDS[-1]})"
    return _syntax_error_at(at, f"`{word}`", expected, help)


def _number_before(text: str, chunk: Span, at: Span) -> Diagnostic | None:
    """Report the number that the grammar stumbled over, if it did over one."""
    for match in _NUMBER_LIKE.finditer(text, chunk.start, chunk.end):
        reached = match.start() <= at.start and not text[match.end() : at.start].strip()
        if reached:
            shown, span = match.group(), Span(match.start(), match.end())
            reason = "letters and `_` have no place in it"
            if shown.startswith("."):
                reason = "there is no digit before its point"
            elif shown.endswith("."):
                reason = "there is no digit behind its point"
            return invalid_number(span, shown, reason, _suggest_number(shown))
    return None


def _suggest_number(shown: str) -> str | None:
    """Return what a number of Python's notation is in this one."""
    if len(shown) > LONGEST_SHOWN:
        return None
    for read in (lambda text: int(text, 0), float):
        try:
            return f"write `{read(shown)}`"
        except ValueError:
            continue
    return None


def _suggest_fix(text: str, chunk: Span, at: Span, kind: str) -> str | None:
    """Return what to write instead, where that is known."""
    before = text[chunk.start : at.start].rstrip()
    words = [text[at.start : at.end], re.split(r"\W", before)[-1]]
    two_signs = text[max(chunk.start, at.start - 1) : at.start + 1]
    if remedy := remedies("signs").get(two_signs):
        return remedy
    if words[1] in _LOOPS and kind == "NAME":
        return f"put `{words[1]} ...` in parentheses"
    if words == ["[", "in"]:
        return BRACES
    if "//" in before:
        return _DIVISION_ELSEWHERE
    token = words[0]
    if token == "|":
        return "write `||`; a single `|` stands in `rate(a | b)` alone"
    if token == "!":
        return "put the negation in parentheses: `(!a)`"
    if token == ":=":
        return "only `var` gives a name its value; compare with `==`"
    in_expression = not text.startswith("input", chunk.start)
    if in_expression and re.search(r"[\w\])]\s*\[$", before):
        return "read a feature with `x.name`, change it with `x[name := value]`"
    return None


def _explain_character(text: str, chunk: Span, offset: int) -> Diagnostic:
    if offset == chunk.start:
        word = re.compile(r"\w*").match(text, offset)
        if word and word.group():
            return _explain_start(text, Span(offset, word.end()))
    at = Span(offset, offset + 1)
    character = text[offset]
    if character == "=":
        return _explain_equals(text, chunk, offset)
    if character in "&|":
        double = character * 2
        help = f"write `{double}`"
        return _syntax_error_at(at, f"`{character}`", f"`{double}`", help)
    remedy = remedies("characters").get(character)
    if character == "\u00a0":
        remedy = "write a plain space"
    left = re.search(r"(\w+|[)\]])\s*$", text[chunk.start : offset])
    is_between = left is not None and left[1] not in (*KEYWORDS, *_BEFORE_VALUES)
    if character == "~" and is_between:
        remedy = _IS_CLOSE
    if character == "@" and is_between:
        remedy = "the product of two vectors is `sum(a * b)`"
    return Code.UNKNOWN_CHARACTER.at(at, character=character, help=remedy)


def _explain_equals(text: str, chunk: Span, offset: int) -> Diagnostic:
    """Report a `=` that is no comparison, or a part of a sign of another language."""
    at, before = Span(offset, offset + 1), text[chunk.start : offset]
    if before.endswith("=="):
        whole = Span(offset - 2, offset + 1)
        return _syntax_error_at(whole, "`===`", "`==`", "write `==`")
    behind = text[offset + 1 : offset + 2]
    for sign, remedy in remedies("equals").items():
        if sign in before[-2:] + "=" + behind:
            return Code.SINGLE_EQUALS.at(at, help=remedy)
    habit = find_habit(text, chunk, at)
    if habit is not None and before.endswith("<"):
        return _syntax_error_at(habit[0], "`<=`", "`<`", habit[1])
    if changed := re.search(r"\[\s*(\w+)\s*([-+*/])$", before):
        name, sign = changed.groups()
        remedy = f"write `x[{name} := x.{name} {sign} ...]`"
        at = Span(offset - 1, offset + 1)
        return _syntax_error_at(at, f"`{sign}=`", "`:=`", remedy)
    gives = r"^(var|param)\b[^=]*$|^def\b.*\)\s*$|[\[,(]\s*\w+\s*$"
    help = "write `:=` to give a value" if re.search(gives, before, re.DOTALL) else None
    call = re.search(r"(\w+)\s*\([^()\[\]]*\w\s*$", before[-200:])
    if call is not None and behind == ">":
        help = "write `forall i in xs: e`"
    elif call is not None and call[1] in ("allclose", "approx"):
        help = _IS_CLOSE
    elif call is not None and remedies("methods").get(call[1]) == _COPY:
        help = _COPY
    elif call is not None and call[1] == "same":
        help = "write `except age`"
    elif call is not None and call[1] != "isclose" and help is not None:
        help = "parameters and arguments have no names and no usual values"
    return Code.SINGLE_EQUALS.at(at, help=help)


_OPERAND = {"NAME", "NUMBER", "STRING", "LPAR"}
_WORDS = {
    "NAME": "a name", "SEMICOLON": "`;`", "RPAR": "`)`", "COMMA": "`,`", "RSQB": "`]`",
    "GETS": "`:=`", "LPAR": "`(`", "COLON": "`:`", "RBRACE": "`}`", "NUMBER": "a number",
    "STRING": "a string", "THEN": "`then`", "ELSE": "`else`", "IN": "`in`", "FOR": "`for`",
}  # fmt: skip


def _describe_expected(expected: set[str]) -> str:
    """Name what the grammar would have taken, never by a terminal's name."""
    if expected >= _OPERAND:
        return "an expression"
    words = [word for terminal, word in _WORDS.items() if terminal in expected]
    if "PLUS" in expected:
        words = ["an operator", *(w for w in words if w not in ("`(`", "`in`", "`:`"))]
    return " or ".join([", ".join(words[:-1]), words[-1]] if words[1:] else words)
