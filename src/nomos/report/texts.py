"""Short texts: counts, shares, and long values cut so that they stay different."""

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import groupby, pairwise, takewhile
from keyword import kwlist
from typing import Any, Literal

from nomos.lang.python.block import find_block_end
from nomos.lang.reading.tree import find_block
from nomos.results import statistics
from nomos.results.statistics import count_of as count_of
from nomos.terminal import printable

# Of shares that nothing is compared with.
percent = partial(statistics.percent, least=0)
_LONGEST_DIFF = 40_000  # words of one text times words of the other
_WORD = re.compile(r"\s*\S+|\s+$")


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a text: as it was, added, removed, or a remark on what is left out."""

    kind: Literal["", "ins", "del", "cut"]
    text: str


def number_of(written: str, noun: str) -> str:
    """Return a number that is written already with its noun: 1 bug, 1.5 ± 0.7 bugs."""
    return f"{written} {noun}{'' if written == '1' else 's'}"


def shorten_text(text: str, longest: int) -> str:
    """Return a text of at most so many characters."""
    return text if len(text) <= longest else text[: longest - 1] + "…"


def clip_text(text: str, longest: int) -> str:
    """Return a text of about so many characters, and how many more there were."""
    left = len(text) - longest
    return text if left <= 0 else f"{text[:longest]} … {left} more characters"


def common_start(texts: Sequence[str]) -> int:
    """Return how many characters texts begin with alike."""
    alike = takewhile(lambda chars: len(set(chars)) == 1, zip(*texts, strict=False))
    return sum(1 for _ in alike)


def fit_texts(texts: Sequence[str], longest: int) -> list[list[Piece]]:
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
                start = max(0, common_start(group) - longest // 3)
                starts |= dict.fromkeys(group, start)
                pending.append(group)
    return [_text_window(text, starts[text], longest) for text in texts]


def _text_window(text: str, start: int, longest: int) -> list[Piece]:
    end = start + longest
    pieces = [Piece("cut", f"… from character {start + 1:,}: ")] if start else []
    pieces.append(Piece("", text[start:end]))
    if end < len(text):
        pieces.append(Piece("cut", f" … {len(text) - end:,} more characters"))
    return pieces


def terminal_lines(texts: Sequence[str], longest: int) -> list[str]:
    """Return texts as lines of a terminal, cut; different ones stay different."""
    flat = [printable(text).replace("\n", " ") for text in texts]
    fitted = fit_texts(flat, longest)
    return ["".join(piece.text for piece in pieces) for pieces in fitted]


def word_changes(before: str, after: str) -> list[Piece]:
    """Return a text in pieces, with what was added and removed, word by word.

    Where little is shared, it is returned as it is.
    """
    old, new = _WORD.findall(before), _WORD.findall(after)
    shortest = min(len(old), len(new))
    head = next((n for n in range(shortest) if old[n] != new[n]), shortest)
    rest = shortest - head
    tail = next((n for n in range(rest) if old[-1 - n] != new[-1 - n]), rest)
    gone, come = old[head : len(old) - tail], new[head : len(new) - tail]
    middle = _middle_changes(gone, come)
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


def _middle_changes(old: list[str], new: list[str]) -> list[Step]:
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


_MOST = 17  # significant digits, with which a float is itself
_LARGEST = 1e15  # below it, the digits before the point are all written
_LITERAL = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")
Number = int | float


class Written:
    """How the numbers of one bug are written.

    Any two numbers compare as they do in full, and as they do with the numbers in the
    condition. Where the condition is missed by a margin, the rounding of all `outputs`
    together is less than half of it.
    """

    def __init__(
        self,
        values: Iterable[Any],
        outputs: Iterable[Any] = (),
        condition: str = "",
        margin: float | None = None,
        *,
        fewest: int = 6,
    ) -> None:
        self._texts: dict[float, str] = {}
        self._fewest = fewest
        related = {number for value in outputs for number in _find_numbers(value)}
        found = related | {number for one in values for number in _find_numbers(one)}
        fixed: list[Number] = [one for one in found if not isinstance(one, float)]
        fixed += [float(literal) for literal in _LITERAL.findall(condition)]
        floats = [value for value in found if isinstance(value, float)]
        self._related = [value for value in floats if value in related]
        self._margin = 0.0 if margin is None else margin
        self._write_floats(floats, fixed)

    def _write_floats(self, floats: list[float], fixed: list[Number]) -> None:
        digits = dict.fromkeys(floats, self._fewest)
        order = sorted({*floats, *fixed})
        crowded = set(floats)
        while crowded:
            for value in crowded:
                self._texts[value] = _float_text(value, digits[value])
            shown = [float(self._texts[v]) if v in digits else v for v in order]
            crowded = {
                value
                for (low, a), (high, b) in pairwise(zip(order, shown, strict=True))
                if not a < b
                for value in (low, high)
            }
            error = sum(abs(float(self._texts[v]) - v) for v in self._related)
            if 0 < self._margin <= 2 * error:
                crowded |= set(self._related)
            crowded = {v for v in crowded if digits.get(v, _MOST) < _MOST}
            for value in crowded:
                digits[value] += 1

    def text_of(self, value: Any) -> str:
        """Return described data as a text; numbers by their digits, lists in brackets."""
        if isinstance(value, float):
            return self._texts.get(value) or _float_text(value, self._fewest)
        if isinstance(value, str):
            return value
        if isinstance(value, Mapping):
            inner = (f"{name}: {self.text_of(one)}" for name, one in value.items())
            return "{" + ", ".join(inner) + "}"
        if isinstance(value, list | tuple):
            return "[" + ", ".join(self.text_of(one) for one in value) + "]"
        return str(value)


def _float_text(value: float, digits: int) -> str:
    if abs(value) < _LARGEST:
        if value.is_integer():
            return f"{value or 0.0:.0f}"  # no minus before a zero
        digits = max(digits, len(str(int(abs(value)))))
    return repr(value) if digits >= _MOST else f"{value:.{digits}g}"


def _find_numbers(value: Any) -> Iterator[Number]:
    match value:
        case int() | float() if not isinstance(value, bool):
            yield value
        case Mapping():
            for inner in value.values():
                yield from _find_numbers(inner)
        case list() | tuple():
            for inner in value:
                yield from _find_numbers(inner)
        case _:
            return


# Of Python: comments and strings, but those with names inside, and words that are no names.
_NO_NAMES = re.compile(
    r"""\#[^\n]* | (?<![fF]) (?<![fF][rR])
    (?: \"{3} .*? \"{3} | '{3} .*? '{3} | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*' )""",
    re.DOTALL | re.VERBOSE,
)
_NAME = re.compile(rf"\b(?!(?:{'|'.join(kwlist)})\b)[^\W\d]\w*")
Word = tuple[str, str]  # the kind of a piece, "" for plain text, and the piece
_KINDS = {  # by the beginning of what Pygments calls it
    "Token.Comment": "comment",
    "Token.Literal.String": "string",
    "Token.Literal.Number": "number",
    "Token.Keyword.Constant": "number",
    "Token.Keyword": "keyword",
    "Token.Operator.Word": "keyword",
}


def lines_in_colour(spec: str) -> list[list[Word]]:
    """Return the lines of a spec, each as its pieces."""
    lines: list[list[Word]] = [[]]
    for kind, pieces in groupby(_words_in_colour(spec), key=lambda word: word[0]):
        first, *rest = "".join(text for _, text in pieces).split("\n")
        lines[-1].append((kind, first))
        lines += [[(kind, part)] for part in rest]
    return [[word for word in line if word[1]] for line in lines]


def _words_in_colour(spec: str) -> Iterator[Word]:
    # Loaded when it is needed: most runs show no spec.
    from nomos.pygments import NomosLexer

    for at, token, text in NomosLexer().get_tokens_unprocessed(spec):
        name = str(token)
        kind = next((k for begin, k in _KINDS.items() if name.startswith(begin)), "")
        if name.startswith("Token.Name") and spec.startswith("(", at + len(text)):
            kind = "call"
        yield kind, text


@lru_cache(maxsize=64)
def names_in_block(spec: str) -> frozenset[str]:
    """Return the names that the Python block of a spec uses; none where it has none."""
    start = find_block(spec)
    if start is None:
        return frozenset()
    code = spec[start + 1 : find_block_end(spec, start)]
    return frozenset(_NAME.findall(_NO_NAMES.sub(" ", code)))
