"""Questions with two options and a known answer: sums, larger numbers, moods of reviews.

A question is a row of features, so that bugs have groups and can be shrunk; `ask` writes
it in words. A seed makes the questions; the reviews are those of the hotel case study
that are short. What a model answers must name one of the two options, or its case is
unreadable.
"""

from __future__ import annotations

import re
from functools import cache
from types import SimpleNamespace

import numpy as np

from casestudies.hotel_review.data import load_reviews
from nomos import Domain, Schema, Unreadable, batched, load_model
from nomos.domain.schema import Category, Flag, Integer
from nomos.texts import TextChanges, read_label

FRAME = "Reply with one word.\nQuestion: {}\nAnswer:"
NAMES = ("John", "Mary", "Peter", "Anna", "Thomas", "Laura")
MOODS = ("positive", "negative")
MOST, SHORT, REVIEWS = 30, 90, 60  # the largest number; letters of a review; reviews
_WORD = re.compile(r"[a-z]{4,}(?![a-z])")


@cache
def short_reviews() -> list[tuple[str, str]]:
    """Return short reviews that do not say `or`, each with its mood."""
    found = load_reviews("test")
    texts = [" ".join(filter(None, map(str.strip, one))) for one in found.reviews]
    pairs = zip(texts, found.labels, strict=True)
    return [
        (text.replace('"', "'"), MOODS[label])
        for text, label in pairs
        if 15 < len(text) < SHORT and " or " not in text
    ][:REVIEWS]


class Questions(TextChanges, Domain):
    """Questions for the language model `model`; `count` of them, of a seed."""

    schema = Schema(
        Category("task", ["sum", "larger", "mood"]),
        Integer("a", 1, MOST),
        Integer("b", 1, MOST),
        Integer("off", 1, 5),  # by how much the wrong sum is wrong
        Flag("right_first"),
        Integer("name", 0, len(NAMES) - 1),
        Integer("review", 0, REVIEWS - 1),
    )

    def __init__(self, model: str, count: int = 120, seed: int = 0) -> None:
        self._model = load_model(model)
        self._count, self._seed = count, seed

    def inputs(self) -> np.ndarray:
        """Return questions, as many of each task."""
        rng = np.random.default_rng(self._seed)
        drawn = [
            np.arange(self._count) % 3,
            *rng.integers(1, MOST + 1, (2, self._count)),
            rng.integers(1, 6, self._count),
            rng.integers(0, 2, self._count),
            rng.integers(0, len(NAMES), self._count),
            rng.integers(0, REVIEWS, self._count),
        ]
        rows = np.stack(drawn, axis=1)
        rows[rows[:, 1] == rows[:, 2], 2] = MOST + 1 - rows[rows[:, 1] == rows[:, 2], 2]
        return rows

    def _read(self, x):
        """Return a row with the names of its features."""
        readers = self.schema.readers
        return SimpleNamespace(**{name: read(x[at]) for name, read, at in readers})

    def options(self, x) -> tuple[str, str]:
        """Return the right option and the wrong one."""
        x = self._read(x)
        if x.task == "sum":
            return str(x.a + x.b), str(x.a + x.b + x.off)
        if x.task == "larger":
            return str(max(x.a, x.b)), str(min(x.a, x.b))
        mood = short_reviews()[x.review][1]
        return mood, MOODS[mood == "positive"]

    def ask(self, x) -> str:
        """Write a question in words."""
        return self._write(x, "What is", "the larger number", "Is this hotel review")

    def ask_negated(self, x) -> str:
        """Write the question for the other option."""
        which = "Which of two words does not describe this hotel review:"
        return self._write(x, "Which number is not", "the smaller number", which)

    def _write(self, x, what: str, larger: str, mood: str) -> str:
        options, x = self.options(x), self._read(x)
        options = options[:: 1 if x.right_first else -1]
        asked = {
            "sum": f"{what} {x.a} + {x.b}",
            "larger": f"What is {larger}",
            "mood": mood,
        }[x.task]
        comma = "" if x.task == "mood" else ","
        question = f"{asked}{comma} {options[0]} or {options[1]}?"
        told = f' "{short_reviews()[x.review][0]}"' if x.task == "mood" else ""
        return f"{NAMES[x.name]} asks: {question}{told}"

    def with_typo(self, text: str, which: int) -> str:
        """Swap two letters inside a word that is no option."""
        words = [w for w in _WORD.finditer(text) if w[0] not in MOODS]
        word = words[which % len(words)]
        at = word.start() + 1 + which // len(words) % (len(word[0]) - 2)
        return text[:at] + text[at : at + 2][::-1] + text[at + 2 :]

    @batched
    def answer(self, asked, xs):
        """Return whether the model names the `right` option or the `wrong` one."""
        said = self._model.predict([FRAME.format(one) for one in asked])
        return [self._weigh(*pair) for pair in zip(said, xs, strict=True)]

    def _weigh(self, said: str, x):
        right, wrong = self.options(x)
        try:
            named = read_label(said, [right, wrong])
        except Unreadable as unread:
            return unread
        return "right" if named == right else "wrong"
