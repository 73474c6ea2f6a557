"""Domains for specs of the pages that show none: what such a spec is about, made small.

By the page: the name of the domain's file, its text, and what the page leaves out ahead of
the spec.
"""

LOANS = """
from nomos import Domain, Schema, batched
from nomos.domain import Integer


class People(Domain):
    schema = Schema(Integer("income", 0, 100))

    def inputs(self):
        return [[income] for income in range(60)]

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
STAND_INS = {
    "docs/index.md": ("stand_in", LOANS, "import stand_in;\n"),
    "docs/reference/language.md": ("stand_in", GAMES, "import stand_in;\n"),
    "docs/how-to/write-a-domain.md": (
        *("stand_in", GAMES),
        "import stand_in;\ninput state;\nvar easier := relax(state);\n"
        "output won;\noutput won_when_easier;\n",
    ),
    "docs/casestudies/in-the-wild.md": ("libraries", LIBRARIES, ""),
}
