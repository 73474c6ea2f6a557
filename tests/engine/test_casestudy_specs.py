"""The specs of the case studies: every way agrees, with small domains in their place."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from nomos import Discard, Domain, batched, random
from nomos.diagnostics import Source
from nomos.domain.domain import offer_of
from nomos.domain.find import load_imports
from nomos.domain.schema import Category, Flag, Integer, OneHot, Ordinal, Schema
from nomos.engine.interpreter import Verdict
from nomos.engine.program import Program
from nomos.lang.checking.check import check_spec
from nomos.lang.reading.parse import parse_spec

ROOT = Path(__file__).parents[2]
# Those of `libraries` train models, language models are asked over a network, and SQL and
# others need packages or programs: these domains have tests of their own.
OTHERS = (
    "libraries",
    "language_models",
    "sql_translation",
    "language_identification",
    "chess_engines",
    "tabpfn",
    "potentials",
)
SPECS = sorted(
    path
    for path in ROOT.glob("casestudies/*/specs/*.nom")
    if path.parts[-3] not in OTHERS
)
ROWS = 200


def rows_of(schema: Schema, rng: np.random.Generator) -> np.ndarray:
    """Make up rows that a schema allows, small counts above all as in real data."""
    columns: list[np.ndarray] = []
    for feature in schema.features:
        match feature:
            case Integer(low=low, high=high):
                values = rng.geometric(0.4, ROWS) - 1 + low
                columns.append(np.minimum(values, high)[:, None])
            case Flag():
                columns.append(rng.integers(0, 2, (ROWS, 1)))
            case Ordinal(levels=levels) | Category(levels=levels):
                columns.append(rng.integers(0, len(levels), (ROWS, 1)))
            case OneHot(levels=levels):
                columns.append(np.eye(len(levels))[rng.integers(0, len(levels), ROWS)])
            case _:
                columns.append(rng.uniform(0, 1, (ROWS, 1)))
    return np.concatenate(columns, axis=1).astype(np.float32)


def tabular(schema: Schema) -> Domain:
    """Rows of a schema and a model that is not monotone in anything."""
    rng = np.random.default_rng(3)
    rows, weights = rows_of(schema, rng), rng.integers(1, 50, schema.width)

    class Tabular(Domain):
        def inputs(self) -> np.ndarray:
            return rows

        def labels(self) -> np.ndarray:
            return self.predict.many(rows)

        @batched
        def predict(self, people: np.ndarray) -> np.ndarray:
            return (people @ weights.astype(np.float32)).astype(np.int64) % 3

    Tabular.schema = schema
    return Tabular()


class Images(Domain):
    """Images of any size, or sounds: arrays, a model, and ways to spoil them."""

    def inputs(self) -> np.ndarray:
        rng = np.random.default_rng(4)
        return rng.uniform(0, 1, (ROWS, 6, 6)).astype(np.float32)

    def labels(self) -> np.ndarray:
        return np.arange(ROWS) % 3

    @batched
    def predict(self, images: np.ndarray) -> np.ndarray:
        return (images[:, 0, 0] * 8).astype(np.uint8) % 3

    @batched
    def blur(self, images: np.ndarray) -> np.ndarray:
        return (images + np.roll(images, 1, axis=2)) / np.float32(2)

    @random
    def wNoise(self, image: Any, rng: Any) -> Any:  # noqa: N802 - a name of the paper
        return image + rng.normal(0, 0.1, image.shape).astype(np.float32)

    @random
    def sNoise(self, image: Any, rng: Any) -> Any:  # noqa: N802 - as above
        return image + rng.normal(0, 0.1, image.shape).astype(np.float32)

    def word(self, number: int) -> str:
        return str(number)


class Review(NamedTuple):
    positive: str
    negative: str


class Reviews(Domain):
    def inputs(self) -> list[Review]:
        return [Review("good " * (i % 7), "bad " * (i % 5)) for i in range(ROWS)]

    def labels(self) -> list[int]:
        return [i % 2 for i in range(ROWS)]

    @batched
    def predict(self, reviews: list[Review]) -> list[int]:
        return [(len(r.positive) * 3 + len(r.negative)) % 11 % 2 for r in reviews]

    def strConcat(self, first: str, second: str) -> str:  # noqa: N802 - built in
        return f"{first} {second}".strip()


class Games(Domain):
    """A walk that a policy wins or loses; the policy is asked at every step."""

    def inputs(self) -> list[tuple[int, int]]:
        return [(i % 10, i % 7) for i in range(ROWS)]

    @random
    def relax(self, state: tuple[int, int], rng: np.random.Generator) -> Any:
        return state[0], state[1] + int(rng.integers(0, 3))

    @random
    def unrelax(self, state: tuple[int, int], rng: np.random.Generator) -> Any:
        if state[1] == 0:
            raise Discard("no room")
        return state[0], int(rng.integers(0, state[1]))

    def raisable(self, state: tuple[int, int]) -> bool:
        return state[1] > 0

    @batched
    def policy(self, places: np.ndarray) -> np.ndarray:
        return np.where(places % 3 == 0, 2, -1)

    def play(self, state: tuple[int, int], seed: int = 0) -> int:
        place = state[0] + seed % 5
        for _ in range(state[1]):
            place += self.policy(place)
        return int(place > 5)


STAND_INS: dict[str, Callable[[], Domain]] = {
    "mnist": Images,
    "speech_command": Images,
    "hotel_review": Reviews,
    "lunar": Games,
    "cartpole": Games,
}


@pytest.fixture(autouse=True)
def _import_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path, str(ROOT)])


@pytest.mark.parametrize("path", SPECS, ids=lambda p: f"{p.parts[-3]}/{p.stem}")
def test_every_spec_of_the_case_studies_has_one_meaning(
    path: Path, same: Callable[..., Any]
) -> None:
    source = Source(path.name, path.read_text("utf-8"))
    imports = [i.name.name for i in parse_spec(source).spec.imports]
    imported = load_imports(imports, path)
    assert imported.domain is not None
    schema = imported.domain.schema
    domain = STAND_INS[imports[0]]() if schema is None else tabular(schema)
    offered = offer_of(type(domain))
    for name, function in imported.offer.functions.items():
        known = offered.functions.get(name, function)
        assert (known.least, known.draws) <= (function.least, function.draws), name
    checked = check_spec(source, path.stem, offered)
    assert checked.spec is not None, [d.message for d in checked.diagnostics]
    program = Program(checked.spec, domain, {}, imported.modules)
    large = {8192: 8192 + 100} if path.stem in ("felony_inc", "blur") else {}
    count = max(large.values(), default=300)
    tale = same(program, count, {1: 20, 7: 70, 256: 300} | large)
    verdicts = {case.verdict for case in tale.cases}
    assert verdicts & {Verdict.PASSED, Verdict.VIOLATED}
    assert Verdict.CRASHED not in verdicts


def test_all_case_studies_are_here() -> None:
    assert {path.parts[-3] for path in SPECS} >= {"compas", "german_credit", "lunar"}
