"""Literate cases: specs in Markdown, each mistake marked on its line.

A fenced block ```` ```nom ```` is one case; the heading above it is its name. A mark is
`# error: [code]` (or warning, info) at the end of the line where the diagnostic starts;
further codes on the line follow in brackets of their own. Words behind `nom` choose what
surrounds the case: `unlabelled` a domain without labels, `schemaless` one that does not
name its features, `overriding` one with a `round`, `days` and
`mean` of its own, `file` a real file, `latin-1` a real file in that encoding.
"""

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from nomos.lang.types import FeatureType, Function, Offer, Type

PIECE = re.compile(
    r"^```nom *(?P<words>[^\n]*)\n(?P<text>.*?)^```$|^#+ (?P<heading>[^\n]+)$",
    re.MULTILINE | re.DOTALL,
)
MARK = re.compile(r"# (error|warning|info): ((?:\[[a-z0-9-]+\][ ,]*)+)")


@dataclass(frozen=True)
class Case:
    file: str
    name: str
    text: str
    words: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.file}: {self.name}"

    @property
    def marks(self) -> list[tuple[int, str, str]]:
        """The line, severity and code of each expected diagnostic."""
        return sorted(
            (number, severity, code)
            for number, line in enumerate(self.text.split("\n"), 1)
            for severity, codes in MARK.findall(line)
            for code in re.findall(r"\[([a-z0-9-]+)\]", codes)
        )


def load_cases(folder: Path) -> list[Case]:
    cases = []
    for path in sorted(folder.glob("*.md")):
        heading = ""
        for piece in PIECE.finditer(path.read_text("utf-8")):
            heading = piece["heading"] or heading
            if piece["text"] is not None:
                words = tuple(piece["words"].split())
                cases.append(Case(path.stem, heading, piece["text"], words))
    assert cases, f"no cases in {folder}"
    return cases


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "case" in metafunc.fixturenames:
        folder = Path(__file__).parent / "check" / "cases"
        metafunc.parametrize("case", load_cases(folder), ids=str)


@pytest.fixture(scope="session")
def offer() -> Offer:
    """What the domain `compas` of the cases has."""
    functions = (
        Function("predict", 1, 1, batched=True),
        Function("is_adult", 1, 1, Type.BOOL),
        Function("distance", 2, 2, Type.REAL),
        Function("older", 1, 2, Type.RECORD),
        Function("most", 1, None, Type.INT),
        Function("jitter", 1, 1, Type.RECORD, draws=True),
        Function("motto", 0, 0, Type.STRING),
        *(Function(name, 1, 1, batched=True) for name in ("grade", "score")),
    )
    features = (
        FeatureType("age", Type.INT),
        FeatureType("juv_fel_count", Type.INT),
        FeatureType("priors_count", Type.INT),
        FeatureType("sex", Type.STRING, ("Female", "Male")),
        FeatureType("amount", Type.REAL),
        FeatureType("school", Type.INT, ("none", "some", "high"), is_ordered=True),
        FeatureType("left", Type.DATE, None, takes_missing=True),
        FeatureType("back", Type.DATE),
    )
    orders = {"grade": ("low", "mid", "high")}
    offered = {function.name: function for function in functions}
    return Offer(offered, features, orders=orders)
