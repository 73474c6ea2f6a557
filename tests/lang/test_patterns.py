"""A hundred copies of a dozen patterns become a dozen specs with `param` and `def`.

Programs that write specs write one file for each feature, bound and direction. With
params and definitions one file does for each pattern, and says the same.
"""

from collections import Counter

import pytest

from nomos.diagnostics import Severity, Source
from nomos.lang import core
from nomos.lang.checking.check import Checked, check_spec
from nomos.lang.checking.params import bind_params
from nomos.lang.types import FeatureType, Function, Offer, Type

FEATURES = ("age", "income", "debt", "years", "rooms")
OFFER = Offer(
    {"predict": Function("predict", 1, 1, batched=True, k=1)},
    tuple(FeatureType(name, Type.INT) for name in FEATURES),
)
COMMON = """\
param feature := "age" in {"age", "income", "debt", "years", "rooms"};
param eps: real := 0.01 in 0..10;
def near(a, b) := abs(a - b) <= eps;
def changed(x, by) := setFeat(x, feature, getFeat(x, feature) + by);
"""
# The pattern as a spec of its own, and as the text that was copied, with holes.
OPENING = 'import people;\nuse "common.nom";\n'
TWO = "output d1;\noutput d2;\n{\n  d1 = predict(x1)\n  d2 = predict(x2)\n}\n"
FIVE = "input xs[5];\noutput ds;\n{\n  ds = [predict(x) for x in xs]\n}\n"


def two(change: str, ensures: str, params: str = "") -> str:
    return f"{OPENING}{params}input x1;\nvar x2 := {change};\n{TWO}ensures {ensures};\n"


PATTERNS = {
    "rising": two("changed(x1, randInt(1, step))", "d1 <= d2", "param step := 10;\n"),
    "falling": two("changed(x1, -randInt(1, step))", "d1 >= d2", "param step := 10;\n"),
    "steady": two("changed(x1, randInt(1, step))", "near(d1, d2)", "param step := 1;\n"),
    "zeroed": two("setFeat(x1, feature, 0)", "near(d1, d2)"),
    "doubled": two("changed(x1, getFeat(x1, feature))", "d2 <= 2 * d1 + eps"),
    "shifted": two("changed(x1, randInt(-1, 1))", "isclose(d1, d2, 0.1, eps)"),
    "bounded": two("x1", "d1 in low..high && d2 == d1", "param low := 0;\nparam high := 2;\n"),
    "listed": two("x1", "d1 in {0, 1, top} && d2 == d1", "param top := 2;\n"),
    "capped": two("setFeat(x1, feature, most)", "d2 <= max(d1, 1)", "param most := 9;\n"),
    "ranked": OPENING + FIVE + "ensures forall i < j in xs:\n"
    "  getFeat(xs[i], feature) <= getFeat(xs[j], feature) ==> ds[i] <= ds[j];\n",
    "few": OPENING + "param most := 2;\n" + FIVE
    + "ensures (count i in xs: ds[i] > 1) <= most && getFeat(xs[0], feature) <= MAX_INT;\n",
    "average": OPENING + FIVE
    + "ensures near((sum i in xs: ds[i]) / len(xs), getFeat(xs[0], feature));\n",
}  # fmt: skip
# What a hundred files said: the pattern, and the values that were written into it.
COPIES = [
    (pattern, {"feature": feature} | extra)
    for pattern in PATTERNS
    for feature in FEATURES
    for extra in (
        [{"step": 3}, {"step": 30}]
        if "step" in PATTERNS[pattern]
        else [{"eps": 0.5}, {}][
            : 1 + (pattern in ("zeroed", "doubled", "average", "shifted", "ranked"))
        ]
    )
]


def checked(text: str, common: str = COMMON) -> Checked:
    libraries = {"common.nom": Source("common.nom", common)}
    return check_spec(Source("spec.nom", text), "spec", OFFER, libraries=libraries)


def copy_of(pattern: str, values: dict[str, object]) -> core.Spec:
    """Return the spec that a program would have written: its values in the text."""
    text, common = PATTERNS[pattern], COMMON
    for name, value in values.items():
        written = f'"{value}"' if isinstance(value, str) else str(value)
        lines = [
            f"param {name} := {written};" if line.startswith(f"param {name} ") else line
            for line in text.split("\n")
        ]
        text = "\n".join(lines)
        shared = [
            f"param {name}{': real' if name == 'eps' else ''} := {written};"
            if line.startswith((f"param {name} ", f"param {name}:"))
            else line
            for line in common.split("\n")
        ]
        common = "\n".join(shared)
    spec = checked(text, common).spec
    assert spec is not None
    return spec


def said(spec: core.Spec) -> list[object]:
    lets = [let.value for let in (*spec.variables, *spec.later_variables)]
    tests = [condition.test for condition in (*spec.requires, *spec.ensures)]
    shapes: list[object] = [core.tree_shape(expr) for expr in (*lets, *tests)]
    return [*shapes, spec.inputs, spec.outputs, spec.k]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_each_pattern_is_one_spec(pattern: str) -> None:
    found = checked(PATTERNS[pattern])
    assert [d for d in found.diagnostics if d.severity is Severity.ERROR] == []
    assert found.spec is not None
    assert found.spec.k in (2, 5)


def test_there_are_a_dozen_patterns_and_a_hundred_copies() -> None:
    assert len(PATTERNS) == 12
    assert len(COPIES) == 100
    assert set(Counter(pattern for pattern, _ in COPIES)) == set(PATTERNS)


@pytest.mark.parametrize(
    ("pattern", "values"), COPIES, ids=lambda v: v if isinstance(v, str) else ""
)
def test_a_pattern_with_its_params_says_what_the_copy_said(pattern, values) -> None:
    spec = checked(PATTERNS[pattern]).spec
    assert spec is not None
    bound = bind_params(spec, values)
    assert said(bound) == said(copy_of(pattern, values))
    assert {p.name: p.value for p in bound.params}.items() >= values.items()
