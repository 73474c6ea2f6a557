"""Remedies as changes of the text: what an editor offers to do about a mistake."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from nomos.diagnostics import Code, Diagnostic, Severity, Source, Span
from nomos.lang.reading.syntax_errors import BRACES
from nomos.lang.reading.tree import find_block

_MEANT = re.compile(r"did you mean `([^`]+)`\?")
_WORD_FOR = re.compile(r"write `([^`]+)` for `(\w+)`")
_WRITE = re.compile(r"write (?:straight quotes: )?`([^`]+)`(?: for implication)?")
_EQUALS = re.compile(r"write `(==|:=)`")
# A remedy with words to be filled in, which are for people alone
_TEMPLATE = re.compile(
    r"\b(?:a|b|c|e|f|i|x|xs|x2|lo|hi|v|name)\b|\.\.\.|^(?:except|date)\b"
)
_STRING = re.compile(r"\"[^\"]*\"|'[^']*'")
_FOLDED = re.compile(r"\b(?:count|sum|min|max|mean)\s+\w[^;]*:[^;]*\Z")
_MAKE_OUTPUT = re.compile(r"make it an output: `(output \w+;)`")
_IMPORT_IT = re.compile(r"import it: `(import \w+;)`")
_FROM_IMPORT = re.compile(r"from\s+\w+\s+import\b[^;\n]*;?")
_SIGNS = ("<>", "->")  # of other languages, with one sign that is ours
_COMPARISON = re.compile(r"[=!<>]=|[<>]")
_CONNECTIVE = re.compile(r"&&|\|\||==>|[;:{}!]|\b(?:if|then|else|requires|ensures)\b")


@dataclass(frozen=True, slots=True)
class Fix:
    """A change of the text, and what it is called; `is_sure`: it is the one to take."""

    title: str
    edits: tuple[tuple[Span, str], ...]
    is_sure: bool = True


def fixes_of(diagnostic: Diagnostic, source: Source) -> list[Fix]:
    """Return the changes that would mend a mistake, the likeliest first."""
    found = list(_find_fixes(diagnostic, source))
    if diagnostic.severity is Severity.WARNING:
        found.append(_silence_warning(diagnostic, source))
    return found


def _find_fixes(diagnostic: Diagnostic, source: Source) -> Iterator[Fix]:
    at, help = diagnostic.at, diagnostic.help or ""
    match diagnostic.code:
        case Code.MISSING_SEMICOLON:
            if "write `/`" in help:
                yield _division_fix(source.text.index("//", at.end))
            yield Fix("Put a `;` here", ((Span(at.end, at.end), ";"),))
        case Code.SINGLE_EQUALS:
            if found := _EQUALS.match(help):
                is_given = source.text[at.start - 1] == ":"
                at = Span(at.start - is_given, at.end)
                yield Fix(f"Write `{found[1]}`", ((at, found[1]),))
        case Code.CHAINED_COMPARISON:
            yield from _unchain_comparison(source, at)
        case _:
            yield from _from_help(source, at, help)


def _from_help(source: Source, at: Span, help: str) -> Iterator[Fix]:
    """Yield what a help line says to write, as a change."""
    text = source.text
    if found := _MEANT.search(help):
        quoted = source.slice(at)[:1] in ("'", '"')
        meant = Span(at.start + 1, at.end - 1) if quoted else at
        yield Fix(f"Write `{found[1]}`", ((meant, found[1]),))
    elif found := _MAKE_OUTPUT.search(help):
        opening = find_block(text)
        place = len(text) if opening is None else opening
        yield Fix(f"Add `{found[1]}`", ((Span(place, place), f"{found[1]}\n"),))
    elif found := _IMPORT_IT.search(help):
        start = _first_statement(text)
        yield Fix(f"Add `{found[1]}`", ((Span(start, start), f"{found[1]}\n"),))
    elif found := _WORD_FOR.search(help):
        for word in list(re.finditer(rf"\b{found[2]}\b", text[: at.end]))[-1:]:
            yield Fix(f"Write `{found[1]}`", ((Span(*word.span()), found[1]),))
    elif help == "write a plain space":
        yield Fix("Write a plain space", ((at, " "),))
    elif "`//` starts a comment" in help:
        yield _division_fix(text.rindex("//", 0, at.end))
    elif help == BRACES:
        closing = text.find("]", at.start)
        if closing >= 0:
            edits = ((at, "{"), (Span(closing, closing + 1), "}"))
            yield Fix("Write the values in braces", edits)
    elif found := _WRITE.fullmatch(help):
        yield from _replace_sign(source, at, found[1])


def _replace_sign(source: Source, at: Span, sign: str) -> Iterator[Fix]:
    text = source.text
    if python := _FROM_IMPORT.match(text, at.start):
        yield Fix(f"Write `{sign}`", ((Span(at.start, python.end()), sign),))
        return
    for start in (at.start - 1, at.start):
        if text[max(0, start) : start + 2] in _SIGNS:
            at = Span(start, start + 2)
    if not _TEMPLATE.search(_STRING.sub("", sign)):
        yield Fix(f"Write `{sign}`", ((at, sign),))


def _division_fix(start: int) -> Fix:
    return Fix("Write `/` to divide", ((Span(start, start + 2), "/"),))


def _unchain_comparison(source: Source, at: Span) -> Iterator[Fix]:
    """Yield `a < b && b < c` for `a < b < c`, where `b` is plain to see."""
    before = source.text[: at.start]
    signs = list(_COMPARISON.finditer(before))
    if not signs or _FOLDED.search(before):
        return
    middle = before[signs[-1].end() :].strip()
    balanced = all(middle.count(a) == middle.count(b) for a, b in ("()", "[]", "{}"))
    if middle and balanced and not _CONNECTIVE.search(middle):
        place = Span(at.start, at.start)
        yield Fix(f"Write `&& {middle}`", ((place, f"&& {middle} "),))


def _first_statement(text: str) -> int:
    """Return where the first line starts that is no comment."""
    start = 0
    for line in text.splitlines(keepends=True):
        if line.strip() and not line.lstrip().startswith(("#", "//")):
            break
        start += len(line)
    return start


def _silence_warning(diagnostic: Diagnostic, source: Source) -> Fix:
    line, _ = source.locate(diagnostic.at.start)
    end = source.line_starts[line - 1] + len(source.line(line))
    remark = f"  # nomos: ignore[{diagnostic.code.slug}]"
    return Fix("Silence this warning here", ((Span(end, end), remark),), is_sure=False)
