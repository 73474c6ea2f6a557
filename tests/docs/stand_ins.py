"""Domains for specs of the pages that show none: what such a spec is about, made small.

By the page: the name of the domain's file, its text, and what the page leaves out ahead of
the spec.
"""

LOANS = """
import numpy as np

from nomos import Domain, Schema, batched
from nomos.domain import Integer


class People(Domain):
    schema = Schema(Integer("income", 0, 100))

    def inputs(self):
        return np.arange(60)[:, None]

    @batched
    def predict(self, rows):
        return (rows[:, 0] > 30).astype(int)
"""
GAMES = """
from nomos import Domain


class Games(Domain):
    def inputs(self):
        return list(range(200))

    def relax(self, state):
        return state + 1

    def play(self, state, seed):
        return int(seed % 200 < state)
"""
LIBRARIES = """
from nomos import Domain


class Configurations(Domain):
    def inputs(self):
        return list(range(200))

    def with_monotone_constraint(self, c):
        return 3 * c

    def lower(self, c):
        return c

    def higher(self, c):
        return c + 1

    def direction(self, c):
        return 1

    def predict(self, c, row):
        return c + row

    def fall(self, low, high, direction):
        return max(0, direction * (low - high))
"""
CENSUS = """
import numpy as np

from nomos import Domain, Schema, batched
from nomos.domain import Flag, Integer


class Census(Domain):
    schema = Schema(Integer("age", 0, 99), Flag("sex"))

    def inputs(self):
        return np.column_stack([np.arange(80), np.arange(80) % 2])

    @batched
    def predict(self, rows):
        return (rows[:, 0] > 30).astype(int)
"""
QUERIES = """
from nomos import Domain


class Queries(Domain):
    def inputs(self):
        return [f"x LIKE '{letter}%'" for letter in "abcdefgh" * 9]

    def write(self, x):
        return f"SELECT {x}"

    def runs(self, rows):
        return rows != "refused"

    def rows(self, query):
        return query

    def translate(self, query, to):
        return query.replace("'a%'", "'A%'")

    def translated_rows(self, query):
        return query
"""
QUESTIONS = """
from nomos import Domain, batched
from nomos.texts import TextChanges


class Questions(TextChanges, Domain):
    def inputs(self):
        return list(range(2, 90))

    def ask(self, x):
        return f"What is the larger number, {x} or 1?"

    @batched
    def answer(self, asked, xs):
        return [text.split()[-3] for text in asked]
"""
# What a page leaves out of its own domain, behind it.
PEOPLE = """

import numpy as np


class Court(People):
    def inputs(self):
        n = np.arange(90)
        return np.column_stack([18 + n % 60, n % 11, 90 * n, n % 2, n % 2, 1 - n % 2])

    def labels(self):
        return [0] * 90

    @batched
    def predict(self, people):
        return np.minimum(2, people[:, 1] // 4).astype(int)

    @batched
    def shares(self, people):
        return np.column_stack([people[:, 1] * 0 + share for share in (0.2, 0.3, 0.5)])

    def is_adult(self, person) -> bool:
        return bool(person[0] >= 18)
"""
SENTENCES = """
from nomos import Domain


class Sentences(Domain):
    def inputs(self):
        return list(range(90))

    def write(self, x) -> str:
        return f"sentence {x}"

    def decompose(self, text: str) -> str:
        return text + " "

    def detect(self, text: str) -> str:
        return text.strip()[-1]
"""
BOARDS = """
from nomos import Domain


class Boards(Domain):
    def inputs(self):
        return list(range(90))

    def position(self, x) -> str:
        return f"position {x}"

    def can_castle(self, position: str) -> bool:
        return position.endswith("3")

    def mirrored(self, position: str) -> str:
        return position + " "

    def score(self, position: str) -> int:
        return len(position)
"""
TABLES = """
from nomos import Domain


class Tables(Domain):
    def inputs(self):
        return list(range(90))

    def ask(self, x) -> str:
        return f"question {x}"

    def with_constant(self, q: str) -> str:
        return q + " "

    def chance(self, q: str) -> float:
        return len(q) / 20
"""
MATTER = """
from nomos import Domain


class Matter(Domain):
    def inputs(self):
        return list(range(90))

    def build(self, x) -> float:
        return 1.0 + x

    def scaled(self, a: float, factor: float) -> float:
        return a * factor

    def energy(self, a: float) -> float:
        return 1 / a
"""
LEFT_OUT = {"docs/reference/language.md": ("people.py", PEOPLE)}
STAND_INS = {
    "docs/casestudies/census.md": ("census", CENSUS, ""),
    "docs/index.md": ("stand_in", LOANS, "import stand_in;\n"),
    "docs/reference/language.md": ("stand_in", GAMES, "import stand_in;\n"),
    "docs/how-to/write-a-domain.md": (
        *("stand_in", GAMES),
        "import stand_in;\ninput state;\nvar easier := relax(state);\n"
        "output won;\noutput won_when_easier;\n",
    ),
    "docs/casestudies/language-models.md": ("questions", QUESTIONS, ""),
    "docs/casestudies/sql-translation.md": ("queries", QUERIES, ""),
    "docs/casestudies/language-identification.md": ("sentences", SENTENCES, ""),
    "docs/casestudies/chess-engines.md": ("boards", BOARDS, ""),
    "docs/casestudies/tabpfn.md": ("tables", TABLES, ""),
    "docs/casestudies/potentials.md": ("matter", MATTER, ""),
    "docs/casestudies/in-the-wild.md": ("libraries", LIBRARIES, ""),
}
