"""Every ready relation: it holds where it must, and finds a planted mistake."""

from __future__ import annotations

import numpy as np
import pytest

import nomos
from nomos import relations
from nomos.diagnostics import Source
from nomos.lang.check import check
from nomos.lang.format import format_spec

ROWS = np.random.default_rng(0).integers(0, 50, (40, 3)).astype(float)
FRAME_SPECS = {
    "monotone": relations.monotone("f0"),
    "falling": relations.monotone("f0", falling=True),
    "fair": relations.fair("f1"),
    "robust": relations.robust(["f0", "f2"], radius=2),
    "conditional": relations.monotone("f0", when="x1.f1 > 10"),
}
MODELS = {  # the first keeps the relation, the second breaks it
    "monotone": (lambda x: x[:, 0], lambda x: x[:, 0] % 17),
    "falling": (lambda x: -x[:, 0], lambda x: x[:, 0]),
    "fair": (lambda x: x[:, 0], lambda x: x[:, 1]),
    "robust": (lambda x: x[:, 1], lambda x: x[:, 2]),
    "conditional": (
        lambda x: np.where(x[:, 1] > 10, x[:, 0], -x[:, 0]),
        lambda x: -x[:, 0],
    ),
}


@pytest.mark.parametrize("name", FRAME_SPECS)
def test_relations_of_rows(name):
    good, bad = MODELS[name]
    spec = FRAME_SPECS[name]
    assert nomos.run(spec, inputs=ROWS, predict=good).verdict in ("holds", "none-found")
    assert nomos.run(spec, inputs=ROWS, predict=bad).verdict == "violated"


TEXTS = ["a", "bb", "ccc", "dddd", "ee"]
LENGTHS = [len(text) for text in TEXTS]


def lengths(texts):
    return [len(text) for text in texts]


def apart(a, b):
    return [abs(len(x) - len(y)) for x, y in zip(a, b, strict=True)]


@pytest.mark.parametrize(
    ("spec", "good", "bad"),
    [
        (
            relations.invariant("upper"),
            {"predict": lengths, "upper": lambda t: [x.upper() for x in t]},
            {"predict": lengths, "upper": lambda t: [x + "!" for x in t]},
        ),
        (
            relations.better_when_easier("cut"),
            {"predict": lengths, "cut": lambda t: [x[:1] for x in t]},
            {
                "predict": lambda t: [len(x) + 1 for x in t],
                "cut": lambda t: [x[1:] for x in t],
            },
        ),
        (
            relations.symmetric("similarity"),
            {"similarity": apart},
            {
                "similarity": lambda a, b: [
                    len(x) - len(y) for x, y in zip(a, b, strict=True)
                ]
            },
        ),
        (
            relations.transitive("prefers"),
            {
                "prefers": lambda a, b: [
                    len(x) > len(y) for x, y in zip(a, b, strict=True)
                ]
            },
            {
                "prefers": lambda a, b: [
                    (len(x) - len(y)) % 3 == 1 for x, y in zip(a, b, strict=True)
                ]
            },
        ),
        (
            relations.triangle("distance"),
            {"distance": apart},
            {"distance": lambda a, b: [d**2 for d in apart(a, b)]},
        ),
        (
            relations.additive("join"),
            {
                "predict": lengths,
                "join": lambda a, b: [x + y for x, y in zip(a, b, strict=True)],
            },
            {
                "predict": lengths,
                "join": lambda a, b: [x + y + " " for x, y in zip(a, b, strict=True)],
            },
        ),
    ],
    ids=lambda value: value.name if hasattr(value, "name") else "",
)
def test_relations_of_other_records(spec, good, bad):
    assert nomos.run(spec, inputs=TEXTS, labels=LENGTHS, **good).verdict == "holds"
    assert nomos.run(spec, inputs=TEXTS, labels=LENGTHS, **bad).verdict == "violated"


def test_every_relation_is_exported_and_laid_out_as_the_formatter_does():
    made = [
        relations.monotone("age"),
        relations.fair("sex", when="x1.age > 18"),
        relations.robust(["a", "b"]),
        relations.invariant("blur"),
        relations.better_when_easier("blur"),
        relations.symmetric(),
        relations.transitive(),
        relations.triangle(),
        relations.additive("join"),
    ]
    assert len(made) == len(relations.__all__)
    for spec in made:
        source = Source(f"{spec.name}.nom", spec.text)
        assert check(source, spec.name).spec is not None
        assert format_spec(source) == spec.text
