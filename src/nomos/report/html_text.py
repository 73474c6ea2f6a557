"""Text for a page: escaped, cut where it is long, with nothing in it unseen."""

from __future__ import annotations

import json
import re
from html import escape
from typing import Any

LONGEST_TEXT = 2000  # characters of a name, a sentence or a message

# What would be invisible, turn the text around it, or is no character: controls,
# marks of direction, joiners of lines, halves of pairs. The page's script has the same.
_ODD = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e"
    "\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff]"
)
_UNSAFE = re.compile("[<>&\u2028\u2029]")


def text(value: object, *, longest: int | None = LONGEST_TEXT) -> str:
    """Return a value as the text of an element."""
    whole = str(value)
    shown = whole if longest is None else whole[:longest]
    marked = _ODD.sub(
        lambda odd: f'<span class="odd">{_code(odd)}</span>', escape(shown)
    )
    left = len(whole) - len(shown)
    return f'{marked}<span class="cut"> … {left:,} more</span>' if left else marked


def breakable(value: str) -> str:
    """Return a text that may go to the next line inside a path."""
    if len(value) > LONGEST_TEXT:
        return text(value)
    return "/<wbr>".join(text(part) for part in value.split("/"))


def attribute(value: object) -> str:
    """Return a value as what stands between the quotes of an attribute."""
    return escape(_ODD.sub(_code, str(value)[:LONGEST_TEXT]), quote=True)


def _code(odd: re.Match[str]) -> str:
    return f"U+{ord(odd[0]):04X}"


def to_json(value: Any) -> str:
    """Return compact ASCII JSON that may stand inside a `<script>` element."""
    written = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return _UNSAFE.sub(lambda char: f"\\u{ord(char[0]):04x}", written)


def count(number: int, noun: str, plural: str | None = None) -> str:
    """Return a number with its noun: 1 bug, 2,000 bugs."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"
