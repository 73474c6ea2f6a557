"""Every ready relation: it holds where it must, and finds a planted mistake."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import nomos
from nomos import relations, transformations
from nomos.diagnostics import Source
from nomos.lang.checking.check import check_spec
from nomos.lang.writing.format import format_spec

ROWS = np.random.default_rng(0).integers(0, 50, (40, 3)).astype(float)
FRAME_SPECS = {
    "monotone": relations.monotone("f0"),
    "falling": relations.monotone("f0", falling=True),
    "fair": relations.fair("f1"),
    "robust": relations.robust(["f0", "f2"], radius=2),
    "conditional": relations.monotone("f0", when="x1.f1 > 10"),
    "in small steps": relations.monotone("f0", step=0.5),
    "within a small radius": relations.robust(["f0"], radius=0.25, tolerance=0.25),
    "exchangeable": relations.exchangeable("f0", "f1"),
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
    "in small steps": (lambda x: x[:, 0], lambda x: -x[:, 0]),
    "within a small radius": (lambda x: x[:, 0], lambda x: 2 * x[:, 0]),
    "exchangeable": (lambda x: x[:, 0] + x[:, 1], lambda x: x[:, 0] - x[:, 1]),
}


@pytest.mark.parametrize("name", FRAME_SPECS)
def test_relations_of_rows(name):
    good, bad = MODELS[name]
    spec = FRAME_SPECS[name]
    rows = ROWS + 0.25 if "small" in name else ROWS  # integers take no small steps
    assert nomos.run(spec, inputs=rows, predict=good).verdict in ("holds", "none-found")
    assert nomos.run(spec, inputs=rows, predict=bad).verdict == "violated"


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
            {"predict": lengths, "cut": lambda t: [x.upper() for x in t]},
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


def test_features_may_have_any_name():
    frame = pd.DataFrame({"mean radius (mm)": [3.0, 5.0], 'he said "hi"': [1, 2]})
    for spec in (
        relations.monotone("mean radius (mm)"),
        relations.fair('he said "hi"'),
        relations.robust(["mean radius (mm)", 'he said "hi"']),
        relations.exchangeable("mean radius (mm)", 'he said "hi"'),
    ):
        result = nomos.run(spec, inputs=frame, predict=lambda f: f.iloc[:, 0] * 0)
        assert result.verdict == "holds"


@pytest.mark.parametrize(
    "spec",
    [
        relations.monotone("a", when="x1.b > 1"),
        relations.fair("a", when="x1.b > 1"),
        relations.robust(["a"], when="x1.b > 1"),
        relations.exchangeable("a", "b", when="x1.b > 1"),
        relations.invariant("blur", when="x1.b > 1"),
        relations.better_when_easier("blur", when="x1.b > 1"),
        relations.symmetric(when="x1.b > 1"),
        relations.transitive(when="x1.b > 1"),
        relations.triangle(when="x1.b > 1"),
        relations.additive("join", when="x1.b > 1"),
    ],
    ids=lambda spec: spec.name,
)
def test_every_relation_can_be_conditional(spec):
    assert "requires x1.b > 1;\n" in spec.text


SHADES = np.random.default_rng(3).random((6, 8, 8))
BYTES = (SHADES * 255).astype(np.uint8)
SMALL = "randInt(-2, 2)"
CHANGES = [  # of images: the spec, what they keep, what they do not
    ("shifted", (SMALL, SMALL), lambda i: i.shape[0], lambda i: i[0, 0] > 0.5),
    ("mirrored", (), lambda i: round(i.sum(), 6), lambda i: i[0, 0] > i[0, -1]),
    ("turned", ("randInt(1, 3)",), lambda i: i.max(), lambda i: i[0, 0]),
    ("brighter", ("randInt(1, 20)",), lambda i: i.argmin() >= 0, lambda i: i.mean()),
    ("noisy", ("5", "randInt(0, 99)"), lambda i: i.shape[1], lambda i: i.mean()),
]


@pytest.mark.parametrize(("name", "amounts", "keeps", "breaks"), CHANGES)
@pytest.mark.parametrize("images", [SHADES, BYTES], ids=["shades", "bytes"])
def test_changes_of_images(name, amounts, keeps, breaks, images):
    before = images.copy()
    spec = relations.invariant(name, *amounts)
    change = {name: getattr(transformations, name)}
    for answer, verdicts in ((keeps, ("holds", "none-found")), (breaks, ("violated",))):
        result = nomos.run(
            spec,
            inputs=list(images),
            predict=lambda images, answer=answer: [answer(image) for image in images],
            budget=300,
            **change,
        )
        assert result.verdict in verdicts, str(result)
        assert result.counts.crashed == 0
    assert (images == before).all()


@pytest.mark.parametrize(
    ("name", "amounts", "keeps", "breaks"),
    [
        ("upper_case", (), len, str.islower),
        ("lower_case", (), len, str.isupper),
        ("spaced_out", (), lambda t: len(t.split()), len),
        ("misspelt", ("randInt(0, 99)",), len, lambda t: t[:4]),
        ("reordered", ("randInt(0, 99)",), sorted, lambda t: t[0]),
    ],
)
def test_changes_of_texts_and_of_the_order_of_items(name, amounts, keeps, breaks):
    inputs = ["A room", "small but fine", "BAD"]
    if name == "reordered":
        inputs = [[1, 2, 3], [5, 4, 3, 2], [7, 8]]
    spec = relations.invariant(name, *amounts)
    change = {name: getattr(transformations, name)}
    for answer, verdict in ((keeps, "holds"), (breaks, "violated")):
        result = nomos.run(
            spec,
            inputs=inputs,
            predict=lambda texts, answer=answer: [answer(text) for text in texts],
            **change,
        )
        assert result.verdict == verdict, str(result)


def test_texts_too_short_to_change_are_left_as_they_are():
    assert transformations.misspelt(["", "a"], [3, 4]) == ["", "a"]
    assert transformations.reordered([(), ("a",)], [1, 2]) == [(), ("a",)]


def test_a_missing_value_is_compared_with_the_value_that_it_should_behave_like():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(
        {"age": [20, 30, None, 50] * 9, "town": ["A", None, "B", "A"] * 9}
    )

    def predict(rows):
        return (rows["age"].fillna(35) > 33).astype(int) + 2 * rows["town"].isna()

    def violations(feature, value):
        spec = relations.like_missing(feature, value)
        counts = nomos.run(spec, inputs=frame, predict=predict, store=False).counts
        assert not counts.crashed
        return counts.violations if counts.evaluated else None

    assert violations("age", 35) == 0
    assert violations("age", 31) > 0
    assert violations("town", "A") > 0
    assert violations("town", "") is None  # a missing text is "": nothing changes


def test_every_relation_is_exported_and_laid_out_as_the_formatter_does():
    made = [
        relations.monotone("age"),
        relations.fair("sex", when="x1.age > 18"),
        relations.robust(["a", "b"]),
        relations.exchangeable("a", "b", tolerance=0.5),
        relations.invariant("blur", "randInt(1, 3)", tolerance=1e-3),
        relations.better_when_easier("blur"),
        relations.symmetric(),
        relations.transitive(),
        relations.triangle(),
        relations.additive("join"),
        relations.like_missing("age", 40, when="x1.age > 18"),
        *map(relations.text_relation, relations.text_kinds()),
    ]
    assert len(made) == len(relations.__all__) - 2 + len(relations.text_kinds())
    for spec in made:
        source = Source(f"{spec.name}.nom", spec.text)
        assert check_spec(source, spec.name).spec is not None
        assert format_spec(source) == spec.text


def test_many_features_are_counted_and_not_named():
    text = relations.robust([f"p{n}" for n in range(64)]).text
    assert text.startswith("# Changes of at most 1 in 64 features change nothing.")
