"""Short texts: counts, shares, and long values cut so that they stay told apart."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Literal

_LONGEST_DIFF = 40_000  # words of one text times words of the other
_WORD = re.compile(r"\s*\S+|\s+$")


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a text: as it was, added, removed, or a remark on what is left out."""

    kind: Literal["", "ins", "del", "cut"]
    text: str


def count(number: int, noun: str, plural: str | None = None) -> str:
    """Return a number with its noun: 1 bug, 2,000 bugs."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def percent(share: float) -> str:
    """Return a share in per cent; two digits say how far it is from none and from all."""
    value = 100 * share
    nearest = min(value, 100 - value)
    if nearest <= 0:
        return "0 %" if value <= 0 else "100 %"
    decimals = max(0, 1 - math.floor(math.log10(nearest)))
    written = f"{value:.{decimals}f}"
    return (written.rstrip("0").rstrip(".") if "." in written else written) + " %"


def brief(text: str, longest: int) -> str:
    """Return a text of at most so many characters."""
    return text if len(text) <= longest else text[: longest - 1] + "…"


def clipped(text: str, longest: int) -> str:
    """Return a text of about so many characters, and how many more there were."""
    left = len(text) - longest
    return text if left <= 0 else f"{text[:longest]} … {left} more characters"


def printable(text: str) -> str:
    """Replace what a terminal would act on."""
    return "".join(char if char.isprintable() or char == "\n" else "�" for char in text)


def shared_start(texts: Sequence[str]) -> int:
    """Return how many characters texts begin with alike."""
    alike = takewhile(lambda chars: len(set(chars)) == 1, zip(*texts, strict=False))
    return sum(1 for _ in alike)


def cut(texts: Sequence[str], longest: int) -> list[list[Piece]]:
    """Return texts of at most so many characters; different ones stay different.

    Texts that begin alike are cut around the place where they differ.
    """
    if all(len(text) <= longest for text in texts):
        return [[Piece("", text)] for text in texts]
    starts = dict.fromkeys(texts, 0)
    pending = [list(starts)]
    while pending:
        groups: dict[str, list[str]] = {}
        for text in pending.pop():
            window = text[starts[text] : starts[text] + longest]
            groups.setdefault(window, []).append(text)
        for group in groups.values():
            if len(group) > 1:
                start = max(0, shared_start(group) - longest // 3)
                starts |= dict.fromkeys(group, start)
                pending.append(group)
    return [_window(text, starts[text], longest) for text in texts]


def _window(text: str, start: int, longest: int) -> list[Piece]:
    end = start + longest
    pieces = [Piece("cut", f"… from character {start + 1:,}: ")] if start else []
    pieces.append(Piece("", text[start:end]))
    if end < len(text):
        pieces.append(Piece("cut", f" … {len(text) - end:,} more characters"))
    return pieces


def shortened(texts: Sequence[str], longest: int) -> list[str]:
    """Return texts as lines of a terminal, cut; different ones stay different."""
    flat = [printable(text).replace("\n", " ") for text in texts]
    return ["".join(piece.text for piece in pieces) for pieces in cut(flat, longest)]


def change(before: str, after: str) -> list[Piece]:
    """Return a text in pieces, with what was added and removed, word by word.

    Where little is shared, it is returned as it is.
    """
    old, new = _WORD.findall(before), _WORD.findall(after)
    shortest = min(len(old), len(new))
    head = next((n for n in range(shortest) if old[n] != new[n]), shortest)
    rest = shortest - head
    tail = next((n for n in range(rest) if old[-1 - n] != new[-1 - n]), rest)
    gone, come = old[head : len(old) - tail], new[head : len(new) - tail]
    middle = _middle(gone, come)
    kept = head + tail + sum(len(words) for kind, words in middle if not kind)
    if 3 * kept < max(len(old), len(new)):
        return [Piece("", after)]
    pieces = [Piece("", "".join(new[:head]))]
    for kind, words in middle:
        text = "".join(words)
        space = text[: len(text) - len(text.lstrip())] if kind == "ins" else ""
        pieces += [Piece("", space), Piece(kind, text[len(space) :])]
    pieces.append(Piece("", "".join(new[len(new) - tail :])))
    return [piece for piece in pieces if piece.text]


Step = tuple[Literal["", "ins", "del"], list[str]]


def _middle(old: list[str], new: list[str]) -> list[Step]:
    """Return the words between what is shared at both ends, as kept or changed."""
    if len(old) * len(new) > _LONGEST_DIFF:
        return [("del", old), ("ins", new)]
    steps: list[Step] = []
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    for kind, a, b, c, d in matcher.get_opcodes():
        if kind == "equal":
            steps.append(("", new[c:d]))
        else:
            steps += [("del", old[a:b]), ("ins", new[c:d])]
    return [step for step in steps if step[1]]
