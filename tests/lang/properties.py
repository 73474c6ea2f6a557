"""Forty properties of ten fields, as people of these fields would write them.

For each field: a small domain with models that are right or wrong in a natural way, and
specs with the verdict that they must reach.
"""

from __future__ import annotations

CREDIT = """
import numpy as np

from nomos import Domain, Schema, batched
from nomos.domain import Category, Integer, Ordinal


class Credit(Domain):
    schema = Schema(
        Integer("income", 0, 100),
        Integer("debts", 0, 20),
        Ordinal("housing", ("none", "rents", "owns")),
        Category("sex", ("female", "male")),
    )
    classes = {"grade": Ordinal("C", "B", "A")}

    def inputs(self):
        return np.random.default_rng(1).integers([0, 0, 0, 0], [101, 21, 3, 2], (600, 4)) * 1.0

    @batched
    def score(self, rows):
        return rows @ [1.0, -2.0, 9.0, 4.0]

    @batched
    def approve(self, rows):
        return (self.score.many(rows) > 40).astype(int)

    @batched
    def grade(self, rows):
        return np.array(["C", "B", "A"])[np.digitize(self.score.many(rows), [30, 60])]
"""
MEDICINE = """
import numpy as np

from nomos import Domain, Schema, batched
from nomos.domain import Flag, Integer, Real


class Patients(Domain):
    schema = Schema(
        Integer("age", 18, 90), Real("pressure", 80, 200, missing=True), Flag("smokes"), Flag("drug")
    )

    def inputs(self):
        rng = np.random.default_rng(2)
        rows = np.column_stack(
            [rng.integers(18, 91, 300), rng.uniform(80, 200, 300), *rng.integers(0, 2, (2, 300))]
        )
        rows[::9, 1] = np.nan
        return rows

    def labels(self):
        return [int(a + 20 * s > 70) for a, _, s, _ in self.inputs()]

    @batched
    def risks(self, rows):
        ill = 1 / (1 + np.exp((70 - rows[:, 0] - 20 * rows[:, 2]) / 9))
        return np.column_stack([1 - ill, ill])

    @batched
    def dose(self, rows):
        return np.where(np.isnan(rows[:, 1]), 0.0, rows[:, 1] / 40) * (1 + rows[:, 3])
"""
VISION = """
import numpy as np

from nomos import Domain, batched
from nomos.domain import random


class Digits(Domain):
    def inputs(self) -> list[np.ndarray]:
        return list(np.random.default_rng(3).integers(0, 256, (120, 6, 6)).astype(np.uint8))

    @batched
    def classify(self, images):
        return (np.asarray(images).reshape(len(images), -1).mean(axis=1) > 127).astype(int)

    @batched
    def boxes(self, images):
        light = np.asarray(images).reshape(len(images), -1)
        return np.column_stack([light.min(axis=1), light.max(axis=1)]) / 255.0

    def flip(self, image):
        return image[:, ::-1].copy()

    def brighten(self, image, by):
        return np.clip(image.astype(int) + by, 0, 255).astype(np.uint8)

    def invert(self, image):
        return 255 - image
"""
RANKING = """
import numpy as np

from nomos import Domain, Schema, batched
from nomos.domain import Category, Integer, Real


class Documents(Domain):
    schema = Schema(Real("match", 0, 1), Integer("clicks", 0, 500), Category("topic", ("news", "sport")))

    def inputs(self):
        rng = np.random.default_rng(4)
        return np.column_stack([rng.random(400), rng.integers(0, 501, 400), rng.integers(0, 2, 400)])

    @batched
    def relevance(self, rows):
        return rows[:, 0] + rows[:, 1] / 500

    def rank(self, documents) -> list:
        scores = [self.relevance(document) for document in documents]
        return sorted(range(len(scores)), key=lambda place: -scores[place])
"""
SHOPS = """
import numpy as np

from nomos import Domain, Schema, batched
from nomos.domain import Category, Integer


class Users(Domain):
    schema = Schema(Integer("age", 10, 80), Integer("bought", 0, 50), Category("country", ("ch", "de", "fr")))

    def inputs(self):
        return np.random.default_rng(5).integers([10, 0, 0], [81, 51, 3], (500, 3)) * 1.0

    def recommend(self, user) -> list:
        first = int(user[0] + user[1]) % 7
        return [(first + step) % 7 for step in range(3)]

    def affinities(self, user) -> list:
        return [((user[0] + item * user[1]) % 11) / 10 for item in range(7)]

    @batched
    def spends(self, users):
        return 2.0 * users[:, 1] + (users[:, 0] < 18) * 5
"""
FORECASTS = """
import numpy as np

from nomos import Domain


class Series(Domain):
    def inputs(self) -> list:
        rng = np.random.default_rng(6)
        return [rng.uniform(0, 50, 12).round(2).tolist() for _ in range(150)]

    def forecast(self, past) -> list:
        level = sum(past[-4:]) / 4
        trend = (past[-1] - past[-4]) / 3
        return [max(0.0, level + trend * step) for step in (1, 2, 3)]

    def bands(self, past) -> list:
        return [(point - 2.0 - step, point + 2.0 + step) for step, point in enumerate(self.forecast(past))]

    def scaled(self, past, by) -> list:
        return [value * by for value in past]

    def shifted(self, past, by) -> list:
        return [value + by for value in past]
"""
TEXTS = """
from nomos import Domain

REVIEWS = ["a good stay", "a bad stay", "bad food but good rooms", "not good", "clean and quiet", "loud"]
WORDS = {"good": 2, "clean": 1, "quiet": 1, "bad": -2, "loud": -1}


class Reviews(Domain):
    def inputs(self) -> list[str]:
        return [f"{a} {b}" for a in REVIEWS for b in REVIEWS]

    def points(self, text) -> float:
        return sum(WORDS.get(word, 0) for word in text.split()) * 1.0

    def sentiment(self, text) -> str:
        points = self.points(text)
        return "positive" if points > 0 else "negative" if points < 0 else "neutral"

    def upper(self, text) -> str:
        return text.upper()

    def tokens(self, text) -> list:
        return text.split()

    def attention(self, text) -> list:
        sizes = [len(word) for word in text.split()]
        return [size / sum(sizes) for size in sizes]
"""
CONTROL = """
import numpy as np

from nomos import Domain, Schema, batched
from nomos.domain import Real


class Carts(Domain):
    schema = Schema(Real("angle", -1, 1), Real("speed", -3, 3), Real("place", -2, 2))

    def inputs(self):
        return np.random.default_rng(8).uniform([-1, -3, -2], [1, 3, 2], (400, 3))

    @batched
    def force(self, states):
        return np.clip(8 * states[:, 0] + 2 * states[:, 1], -10, 10)

    @batched
    def joints(self, states):
        return np.column_stack([np.tanh(states[:, 0]), np.tanh(states[:, 1]), 0.1 * states[:, 2]])

    @batched
    def step(self, states):
        forces = self.force.many(states)
        return states + 0.05 * np.column_stack([states[:, 1], 9 * states[:, 0] - forces, states[:, 2] * 0])
"""
PHYSICS = """
import numpy as np

from nomos import Domain, Schema, batched
from nomos.domain import Real


class Gas(Domain):
    schema = Schema(Real("moles", 1, 5), Real("kelvin", 200, 600), Real("litres", 1, 50))

    def inputs(self):
        return np.random.default_rng(9).uniform([1, 200, 1], [5, 600, 50], (400, 3))

    @batched
    def pressure(self, states):
        return 8.314 * states[:, 0] * states[:, 1] / states[:, 2]

    @batched
    def momenta(self, states):
        return np.column_stack([states[:, 0], -states[:, 0], states[:, 1] * 0])

    @batched
    def composition(self, states):
        return np.column_stack([states[:, 0], states[:, 2], states[:, 1]]) / states.sum(axis=1, keepdims=True)
"""
PRICING = """
import numpy as np

from nomos import Domain, Schema, batched
from nomos.domain import Category, Integer, Ordinal


class Policies(Domain):
    schema = Schema(
        Integer("age", 18, 90),
        Integer("claims", 0, 5),
        Ordinal("cover", ("basic", "plus", "full")),
        Category("region", ("north", "south")),
    )

    def inputs(self):
        return np.random.default_rng(10).integers([18, 0, 0, 0], [91, 6, 3, 2], (500, 4)) * 1.0

    @batched
    def premium(self, rows):
        young = np.where(rows[:, 0] < 25, 1.4, 1.0)
        return np.round((200 + 60 * rows[:, 1] + 80 * rows[:, 2]) * young + 15 * rows[:, 3], 2)

    @batched
    def instalments(self, rows):
        return np.repeat(self.premium.many(rows)[:, None] / 4, 4, axis=1)
"""


def spec(domain: str, text: str) -> str:
    """Return a spec that imports a field's domain."""
    about, _, rest = text.strip("\n").partition("\n")
    return f"{about}\nimport {domain};\n\n{rest}\n"


ONE = "input x1;\n{middle}\noutput d1;\noutput d2;\n{{\n  d1 = {f}(x1)\n  d2 = {f}(x2)\n}}\n{ensures}"


def two(about: str, function: str, middle: str, ensures: str) -> str:
    """Return a spec that compares what a function says of an input and of a copy."""
    return f"# {about}\n" + ONE.format(middle=middle, f=function, ensures=ensures)


def single(about: str, outputs: str, ensures: str, more: str = "") -> str:
    """Return a spec about the answers for one input."""
    lines = [line.strip() for line in outputs.split(";")]
    names = [f"output {line.split(' = ')[0]};" for line in lines]
    block = "\n".join(f"  {line}" for line in lines)
    return (
        f"# {about}\ninput x1;\n{more}\n"
        + "\n".join(names)
        + f"\n{{\n{block}\n}}\n{ensures}"
    )


FIELDS: dict[str, tuple[str, dict[str, tuple[str, str]]]] = {
    "credit": (
        CREDIT,
        {
            "income": (
                two("Who earns more is approved as well.", "approve",
                    "var x2 := x1[income := x1.income + randInt(1, 10)];\nrequires x2.income <= 100;",
                    "ensures d1 <= d2;"),
                "none-found",
            ),
            "grades": (
                two("A better home never lowers the grade, and moves it by a step at most.", "grade",
                    'var better := min(x1.housing + 1, 2);\nvar x2 := x1[housing := better];',
                    'ensures d1 <= d2;\nensures d1 == "C" ==> d2 in "C".."B";'),
                "none-found",
            ),
            "twins": (
                "# People who differ in sex alone are decided alike.\n"
                "input x1, x2 where same(x1, x2, except sex, income);\n\n"
                "output d1;\noutput d2;\n{\n  d1 = score(x1)\n  d2 = score(x2)\n}\nensures x1.income == x2.income ==> d1 == d2;",
                "violated",
            ),
            "parity": (
                single("Men are approved more often than women by at most ten points.", "d1 = approve(x1)",
                       'ensures fair: rate(d1 == 1 | x1.sex == "male") - rate(d1 == 1 | x1.sex == "female") in -0.1..0.1;'),
                "none-found or undecided",
            ),
        },
    ),
    "patients": (
        MEDICINE,
        {
            "shares": (
                single("Risks are a distribution.", "p = risks(x1)",
                       "ensures forall i in p: p[i] in 0..1;\nensures isclose(sum(p), 1, abs := 0.000001);"),
                "none-found",
            ),
            "smoking": (
                two("Smoking never lowers the risk.", "risks", "var x2 := x1[smokes := 1];",
                    "ensures d1[1] <= d2[1] + 0.000001;\nensures norm(d1 - d2, inf) <= 0.6;"),
                "none-found",
            ),
            "gaps": (
                single("A missing pressure asks for a doctor, not for a dose of nothing.", "d1 = dose(x1)",
                       "ensures missing(x1.pressure) ==> d1 > 0;"),
                "violated",
            ),
            "calibration": (
                single("Of those at high risk, most are ill.", "p = risks(x1)",
                       "ensures rate(y == 1 | p[1] > 0.6) >= 0.7;", "var y := label(x1);"),
                "none-found",
            ),
        },
    ),
    "digits": (
        VISION,
        {
            "flip": (two("A mirrored picture is of the same class.", "classify", "var x2 := flip(x1);", "ensures d1 == d2;"), "none-found"),
            "light": (two("A brighter picture is not classed darker.", "classify", "var x2 := brighten(x1, randInt(1, 20));", "ensures d1 <= d2;"), "none-found"),
            "boxes": (
                single("A box begins before it ends, inside the picture.", "b = boxes(x1)",
                       "ensures forall i < j in b: b[i] <= b[j];\nensures forall i in b: b[i] in 0..1;"),
                "none-found",
            ),
            "inverted": (two("The negative of a picture is of the same class.", "classify", "var x2 := invert(x1);", "ensures d1 == d2;"), "violated"),
        },
    ),
    "documents": (
        RANKING,
        {
            "order": (
                "# The ranking is a permutation with falling relevance.\ninput xs[6];\n\noutput r;\noutput s;\n{\n"
                "  r = rank(xs)\n  s = [relevance(x) for x in xs]\n}\n"
                "ensures forall i < j in r: s[r[i]] >= s[r[j]];\nensures forall i in xs: i in r;",
                "none-found",
            ),
            "clicks": (
                "# More clicks never push a document down.\ninput xs[5];\nvar ys := [x[clicks := min(x.clicks + 50, 500)] for x in xs];\n\n"
                "output s;\noutput t;\n{\n  s = [relevance(x) for x in xs]\n  t = [relevance(y) for y in ys]\n}\n"
                "ensures forall i in xs: t[i] >= s[i];\nensures (mean i in xs: t[i] - s[i]) <= 0.2;",
                "none-found",
            ),
            "topics": (
                '# Among the first three of eight there is one of each topic that is there.\ninput xs[8];\n\noutput r;\n{\n  r = rank(xs)\n}\n'
                'var news := count i in xs: xs[i].topic == "news";\nensures news in 1..7 ==> exists i in r if i < 3: xs[r[i]].topic == "news";',
                "violated",
            ),
            "ties": (
                two("A document that matches as well and is clicked as often scores the same, whatever its topic.", "relevance",
                    'var x2 := x1[topic := if x1.topic == "news" then "sport" else "news"];', "ensures isclose(d1, d2);"),
                "none-found",
            ),
        },
    ),
    "users": (
        SHOPS,
        {
            "different": (
                single("Three different articles are recommended.", "top = recommend(x1)",
                       "ensures len(top) == 3;\nensures forall i < j in top: top[i] != top[j];"),
                "none-found",
            ),
            "liked": (
                single("What is recommended is liked at least as much as what is not.", "top = recommend(x1); a = affinities(x1)",
                       "ensures forall i in a if !(i in top): a[i] <= (min j in top: a[top[j]]);"),
                "violated",
            ),
            "country": (
                two("The country does not change what is recommended.", "recommend", 'var x2 := x1[country := "fr"];', "ensures d1 == d2;"),
                "none-found",
            ),
            "spending": (
                two("Who has bought more is expected to spend more.", "spends", "var x2 := x1[bought := x1.bought + 1];",
                    "ensures d2 - d1 in 1..3;"),
                "none-found",
            ),
        },
    ),
    "series": (
        FORECASTS,
        {
            "positive": (single("Demand is never negative.", "f = forecast(x1)", "ensures forall i in f: f[i] >= 0;\nensures len(f) == 3;"), "none-found"),
            "bands": (
                single("Each point lies in its band, and bands do not shrink.", "f = forecast(x1); b = bands(x1)",
                       "ensures forall i in f: f[i] in b[i][0]..b[i][1];\nensures forall i < j in b: b[i][1] - b[i][0] <= b[j][1] - b[j][0] + 0.000001;"),
                "none-found",
            ),
            "units": (
                two("Other units scale the forecast.", "forecast", "var x2 := scaled(x1, 10);", "ensures isclose(d1 * 10, d2, rel := 0.000001, abs := 0.000001);"),
                "none-found",
            ),
            "shift": (
                two("A level that is 5 higher is forecast 5 higher.", "forecast", "var x2 := shifted(x1, 5);", "ensures norm(d2 - d1 - 5, inf) <= 0.000001;"),
                "violated",
            ),
        },
    ),
    "reviews": (
        TEXTS,
        {
            "case": (two("Capital letters do not turn the sentiment.", "sentiment", "var x2 := upper(x1);", "ensures d1 == d2;"), "violated"),
            "praise": (
                two("Praise does not make a review worse.", "points", 'var x2 := strConcat(x1, " good");', "ensures d2 > d1;"),
                "holds",
            ),
            "attention": (
                single("Attention is a distribution over the words.", "a = attention(x1); w = tokens(x1)",
                       "ensures len(a) == len(w);\nensures isclose(sum(a), 1, abs := 0.001) && (forall i in a: a[i] > 0);"),
                "holds",
            ),
            "sides": (
                single("Points and sentiment say the same.", "s = sentiment(x1); p = points(x1)",
                       'ensures s in {"positive", "negative", "neutral"};\nensures (s == "positive" ==> p > 0) && (s == "negative" ==> p < 0);'),
                "holds",
            ),
        },
    ),
    "carts": (
        CONTROL,
        {
            "limits": (single("The force stays within what the motor can do.", "f = force(x1)", "ensures abs(f) <= 10;"), "none-found"),
            "mirror": (
                two("The mirrored state gets the opposite force.", "force",
                    "var x2 := x1[angle := -x1.angle][speed := -x1.speed];", "ensures isclose(d1, -d2, abs := 0.000001);"),
                "none-found",
            ),
            "joints": (
                two("A small change of the angle moves no joint far.", "joints", "var x2 := x1[angle := x1.angle * 0.99];",
                    "ensures norm(d1 - d2, 2) <= 0.02;\nensures forall i in d1: d1[i] in -1..1;"),
                "none-found",
            ),
            "falls": (
                single("One step never turns the pole further away from upright.", "s = step(x1)", "ensures abs(s[0]) <= abs(x1.angle);"),
                "violated",
            ),
        },
    ),
    "gas": (
        PHYSICS,
        {
            "boyle": (
                two("Twice the volume is half the pressure.", "pressure", "var x2 := x1[litres := x1.litres * 2];",
                    "ensures isclose(d1, 2 * d2, rel := 0.000001);"),
                "none-found",
            ),
            "momentum": (single("Momenta add up to nothing.", "m = momenta(x1)", "ensures isclose(sum(m), 0, abs := 0.000001);\nensures norm(m) >= sqrt(2) * x1.moles - 0.000001;"), "none-found"),
            "warmer": (
                two("Heat raises the pressure by its share.", "pressure", "var x2 := x1[kelvin := x1.kelvin + 10];",
                    "ensures d2 / d1 > 1;\nensures log(d2) - log(d1) <= 0.05 + exp(-5);"),
                "none-found",
            ),
            "parts": (
                two("The composition does not depend on how much there is.", "composition", "var x2 := x1[moles := x1.moles * 1.5];",
                    "ensures isclose(d1, d2, abs := 0.0001);"),
                "violated",
            ),
        },
    ),
    "policies": (
        PRICING,
        {
            "cover": (
                two("More cover is never cheaper.", "premium", 'var x2 := x1[cover := "full"];', 'ensures x1.cover < "full" ==> d1 < d2;\nensures x1.cover == "full" ==> d1 == d2;'),
                "none-found",
            ),
            "instalments": (
                single("Four instalments are the premium, and none is larger than another.", "p = premium(x1); q = instalments(x1)",
                       "ensures isclose(sum(q), p, abs := 0.01);\nensures max(q) - min(q) <= 0.01;"),
                "none-found",
            ),
            "birthday": (
                two("A birthday does not change the premium by more than a tenth.", "premium", "var x2 := x1[age := min(x1.age + 1, 90)];",
                    "ensures abs(d2 - d1) <= 0.1 * d1;"),
                "violated",
            ),
            "regions": (
                "# A book of policies in the south costs a little more on average.\ninput xs[20];\nvar ys := [x[region := \"south\"] for x in xs];\n\n"
                "output p;\noutput q;\n{\n  p = [premium(x) for x in xs]\n  q = [premium(y) for y in ys]\n}\n"
                "ensures (mean i in xs: q[i] - p[i]) in 0..15;\nensures (sum i in xs: q[i]) >= sum(p);",
                "none-found",
            ),
        },
    ),
}  # fmt: skip
