"""What people write who come from Python, pandas or SQL, and what the language has for it.

The tables are those of habits.toml, read where the first mistake asks for them.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from nomos.diagnostics import Span

_LOOPS = "forall|exists|count|sum|min|max|mean"
_FOLDS = {"all": "forall", "any": "exists", "len": "count"}


@cache
def _load_tables() -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))


@cache
def remedies(kind: str) -> Mapping[str, str]:
    """Return what to write, by what people write: `methods`, `characters` and so on."""
    rows = _load_tables()[kind].items()
    return {word: remedy for remedy, words in rows for word in words.split()}


def method_remedy(name: str) -> str:
    """Return what to write for a method of this name, which records do not have."""
    known = remedies("methods")
    return known.get(name, known["(other)"])


@cache
def _compile_patterns() -> tuple[tuple[re.Pattern[str], str], ...]:
    return tuple(
        (re.compile(pattern.replace("LOOPS", _LOOPS), re.DOTALL), help)
        for pattern, help in _load_tables()["habits"]
    )


def find_habit(text: str, chunk: Span, at: Span) -> tuple[Span, str] | None:
    """Return what was meant by what the grammar stumbled over, and where it stands."""
    statement, place = text[chunk.start : chunk.end], at.start - chunk.start
    for match, help in _matches(statement, place):
        named = match.groupdict()
        if word := named.get("fold"):
            named["fold"] = _FOLDS.get(word, word)
        for name, value in named.items():
            help = help.replace(f"{{{name}}}", value or "")
        start, end = match.span("at" if "at" in named else 0)
        return Span(chunk.start + start, chunk.start + max(end, start + 1)), help
    return None


def _matches(statement: str, place: int) -> Iterator[tuple[re.Match[str], str]]:
    for pattern, help in _compile_patterns():
        for match in pattern.finditer(statement):
            if match.start() <= place <= match.end():
                yield match, help
