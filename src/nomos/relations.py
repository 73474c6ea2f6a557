"""Relations that come up again and again, as specs to copy and change.

Each function returns a spec as text (`print(monotone("income").text)`), which can be run
as it is with `nomos.run`, or saved as a `.nom` file with an `import` on top. `when` is a
condition of the language that restricts the cases: `when="x1.age >= 18"`.
"""

from __future__ import annotations

from collections.abc import Sequence

from nomos.inline import SpecText

__all__ = [
    "additive",
    "better_when_easier",
    "fair",
    "invariant",
    "monotone",
    "robust",
    "symmetric",
    "transitive",
    "triangle",
]


def monotone(
    feature: str,
    *,
    step: int = 10,
    falling: bool = False,
    function: str = "predict",
    when: str | None = None,
) -> SpecText:
    """A higher feature never gives a lower answer (`falling`: never a higher one)."""
    sign, word = (">=", "higher") if falling else ("<=", "lower")
    return _spec(
        name=f"monotone_{feature}",
        about=f"A higher {feature} never gives a {word} answer.",
        opening=[
            "input x1;",
            f"var x2 := x1[{feature} := x1.{feature} + randInt(1, {step})];",
        ],
        when=when,
        calls=[("d1", f"{function}(x1)"), ("d2", f"{function}(x2)")],
        ensures=f"d1 {sign} d2",
    )


def fair(
    feature: str, *, function: str = "predict", when: str | None = None
) -> SpecText:
    """The answer does not depend on a protected feature."""
    differ = f"x1.{feature} != x2.{feature}"
    return _spec(
        name=f"fair_{feature}",
        about=f"Another {feature}, with all else the same, gives the same answer.",
        opening=["input x1;", "input x2;", f"var x3 := x1[{feature} := x2.{feature}];"],
        when=differ if when is None else f"{differ};\nrequires {when}",
        calls=[("d1", f"{function}(x1)"), ("d3", f"{function}(x3)")],
        ensures="d1 == d3",
    )


def robust(
    features: Sequence[str],
    *,
    radius: int = 1,
    function: str = "predict",
    when: str | None = None,
) -> SpecText:
    """Small changes of some features, each within a radius, do not change the answer."""
    changed = "".join(
        f"[{f} := x1.{f} + randInt(-{radius}, {radius})]" for f in features
    )
    return _spec(
        name="robust",
        about=f"Changes of at most {radius} in {', '.join(features)} change nothing.",
        opening=["input x1;", f"var x2 := x1{changed};"],
        when=when,
        calls=[("d1", f"{function}(x1)"), ("d2", f"{function}(x2)")],
        ensures="d1 == d2",
    )


def invariant(
    transformation: str, *, function: str = "predict", when: str | None = None
) -> SpecText:
    """A transformation of the domain does not change the answer.

    The transformation is a function of yours: noise, a shift or a rotation of an image,
    another order of items, a synonym in a text.
    """
    return _spec(
        name=f"invariant_{transformation}",
        about=f"{transformation}(x) gets the same answer as x.",
        opening=["input x1;", f"var x2 := {transformation}(x1);"],
        when=when,
        calls=[("d1", f"{function}(x1)"), ("d2", f"{function}(x2)")],
        ensures="d1 == d2",
    )


def better_when_easier(
    harder: str, *, function: str = "predict", when: str | None = None
) -> SpecText:
    """What is answered rightly when made harder is answered rightly as it is."""
    return _spec(
        name=f"better_without_{harder}",
        about=f"Where {harder}(x) is answered rightly, x is, too.",
        opening=["input x1;", f"var x2 := {harder}(x1);", "var v1 := label(x1);"],
        when=when,
        calls=[("d1", f"{function}(x1)"), ("d2", f"{function}(x2)")],
        ensures="d2 == v1 ==> d1 == v1",
    )


def symmetric(function: str = "similarity", *, when: str | None = None) -> SpecText:
    """The order of two arguments does not matter."""
    return _spec(
        name=f"symmetric_{function}",
        about=f"{function}(a, b) is {function}(b, a).",
        opening=["input x1;", "input x2;"],
        when=when,
        calls=[("d1", f"{function}(x1, x2)"), ("d2", f"{function}(x2, x1)")],
        ensures="d1 == d2",
    )


def transitive(function: str = "prefers", *, when: str | None = None) -> SpecText:
    """A ranking has no circles: 3-safety."""
    return _spec(
        name=f"transitive_{function}",
        about="Who is preferred to one that is preferred to a third is preferred to it.",
        opening=["input x1;", "input x2;", "input x3;"],
        when=when,
        calls=[
            ("d12", f"{function}(x1, x2)"),
            ("d23", f"{function}(x2, x3)"),
            ("d13", f"{function}(x1, x3)"),
        ],
        ensures="d12 && d23 ==> d13",
    )


def triangle(function: str = "distance", *, when: str | None = None) -> SpecText:
    """A way round is never shorter: 3-safety."""
    return _spec(
        name=f"triangle_{function}",
        about="The way over a third is never shorter than the straight one.",
        opening=["input x1;", "input x2;", "input x3;"],
        when=when,
        calls=[
            ("d12", f"{function}(x1, x2)"),
            ("d23", f"{function}(x2, x3)"),
            ("d13", f"{function}(x1, x3)"),
        ],
        ensures="d13 <= d12 + d23 + 0.000001",
    )


def additive(
    join: str,
    *,
    function: str = "predict",
    tolerance: float = 1e-6,
    when: str | None = None,
) -> SpecText:
    """The whole is the sum of its parts: 3-safety."""
    return _spec(
        name=f"additive_{join}",
        about=f"{function}({join}(a, b)) is {function}(a) + {function}(b).",
        opening=["input x1;", "input x2;", f"var x3 := {join}(x1, x2);"],
        when=when,
        calls=[(f"d{n}", f"{function}(x{n})") for n in (1, 2, 3)],
        ensures=f"d3 - d1 - d2 <= {tolerance} && d1 + d2 - d3 <= {tolerance}",
    )


def _spec(
    *,
    name: str,
    about: str,
    opening: Sequence[str],
    when: str | None,
    calls: Sequence[tuple[str, str]],
    ensures: str,
) -> SpecText:
    lines = [f"# {about}", *opening]
    lines += [] if when is None else [f"requires {when};"]
    lines += [f"output {name};" for name, _ in calls]
    lines += ["{", *(f"  {name} = {call}" for name, call in calls), "}"]
    lines += [f"ensures {ensures};"]
    return SpecText("\n".join(lines) + "\n", name)
