"""Relations that come up again and again, as specs to copy and change.

Each function returns a spec as text (`print(monotone("income").text)`), which can be run
as it is with `nomos.run`, or saved as a `.nom` file with an `import` on top. `when` is a
condition of the language that restricts the cases: `when="x1.age >= 18"`. `tolerance` is
by how much answers that are numbers may differ and still count as the same.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from nomos.inline import SpecText, feature_of, with_feature

__all__ = [
    "additive",
    "better_when_easier",
    "exchangeable",
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
    step: float = 10,
    falling: bool = False,
    function: str = "predict",
    when: str | None = None,
) -> SpecText:
    """A higher feature never gives a lower answer (`falling`: never a higher one)."""
    sign, word = (">=", "higher") if falling else ("<=", "lower")
    higher = f"{feature_of('x1', feature)} + {_draw(step, positive=True)}"
    return _spec(
        name=f"monotone_{_identifier(feature)}",
        about=f"A higher {feature} never gives a {word} answer.",
        opening=["input x1;", f"var x2 := {with_feature('x1', feature, higher)};"],
        when=when,
        calls=[("d1", f"{function}(x1)"), ("d2", f"{function}(x2)")],
        ensures=f"d1 {sign} d2",
    )


def fair(
    feature: str,
    *,
    function: str = "predict",
    tolerance: float = 0,
    when: str | None = None,
) -> SpecText:
    """The answer does not depend on a protected feature."""
    first, second = feature_of("x1", feature), feature_of("x2", feature)
    differ = f"{first} != {second}"
    return _spec(
        name=f"fair_{_identifier(feature)}",
        about=f"Another {feature}, with all else the same, gives the same answer.",
        opening=[
            "input x1;",
            "input x2;",
            f"var x3 := {with_feature('x1', feature, second)};",
        ],
        when=differ if when is None else f"{differ};\nrequires {when}",
        calls=[("d1", f"{function}(x1)"), ("d3", f"{function}(x3)")],
        ensures=_same("d1", "d3", tolerance),
    )


def robust(
    features: Sequence[str],
    *,
    radius: float = 1,
    function: str = "predict",
    tolerance: float = 0,
    when: str | None = None,
) -> SpecText:
    """Small changes of some features, each within a radius, do not change the answer."""
    changed = "x1"
    for feature in features:
        noisy = f"{feature_of('x1', feature)} + {_draw(radius, positive=False)}"
        changed = with_feature(changed, feature, noisy)
    return _spec(
        name="robust",
        about=f"Changes of at most {radius} in {', '.join(features)} change nothing.",
        opening=["input x1;", f"var x2 := {changed};"],
        when=when,
        calls=[("d1", f"{function}(x1)"), ("d2", f"{function}(x2)")],
        ensures=_same("d1", "d2", tolerance),
    )


def exchangeable(
    first: str,
    second: str,
    *,
    function: str = "predict",
    tolerance: float = 0,
    when: str | None = None,
) -> SpecText:
    """The order of two features does not matter: two goods, two players, two parents."""
    swapped = with_feature("x1", first, feature_of("x1", second))
    return _spec(
        name=f"exchangeable_{_identifier(first)}_{_identifier(second)}",
        about=f"{first} and {second} may change places.",
        opening=[
            "input x1;",
            f"var x2 := {with_feature(swapped, second, feature_of('x1', first))};",
        ],
        when=when,
        calls=[("d1", f"{function}(x1)"), ("d2", f"{function}(x2)")],
        ensures=_same("d1", "d2", tolerance),
    )


def invariant(
    transformation: str,
    *amounts: str,
    function: str = "predict",
    tolerance: float = 0,
    when: str | None = None,
) -> SpecText:
    """A transformation of the input does not change the answer.

    The transformation is a function of yours or of `nomos.transformations`: a shift of
    an image, another order of items, a typing error in a text. The amounts are what it
    takes beside the input, as expressions: `invariant("shifted", "randInt(-2, 2)", "0")`.
    """
    given = ", ".join(["x1", *amounts])
    return _spec(
        name=f"invariant_{transformation}",
        about=f"What is {transformation.replace('_', ' ')} gets the same answer.",
        opening=["input x1;", f"var x2 := {transformation}({given});"],
        when=when,
        calls=[("d1", f"{function}(x1)"), ("d2", f"{function}(x2)")],
        ensures=_same("d1", "d2", tolerance),
    )


def better_when_easier(
    harder: str, *amounts: str, function: str = "predict", when: str | None = None
) -> SpecText:
    """What is answered rightly when made harder is answered rightly as it is."""
    given = ", ".join(["x1", *amounts])
    return _spec(
        name=f"better_unless_{harder}",
        about=f"What is answered rightly when {harder} is so without it, too.",
        opening=["input x1;", f"var x2 := {harder}({given});", "var v1 := label(x1);"],
        when=when,
        calls=[("d1", f"{function}(x1)"), ("d2", f"{function}(x2)")],
        ensures="d2 == v1 ==> d1 == v1",
    )


def symmetric(
    function: str = "similarity", *, tolerance: float = 0, when: str | None = None
) -> SpecText:
    """The order of two arguments does not matter."""
    return _spec(
        name=f"symmetric_{function}",
        about=f"{function}(a, b) is {function}(b, a).",
        opening=["input x1;", "input x2;"],
        when=when,
        calls=[("d1", f"{function}(x1, x2)"), ("d2", f"{function}(x2, x1)")],
        ensures=_same("d1", "d2", tolerance),
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


def triangle(
    function: str = "distance", *, tolerance: float = 1e-6, when: str | None = None
) -> SpecText:
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
        ensures=f"d13 <= d12 + d23 + {_number(tolerance)}",
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
        ensures=_same("d3", "(d1 + d2)", tolerance),
    )


def _same(first: str, second: str, tolerance: float) -> str:
    if not tolerance:
        return f"{first} == {second}"
    size, bare = _number(tolerance), second.strip("()")
    return f"{first} - {second} <= {size} && {bare} - {first} <= {size}"


def _draw(size: float, *, positive: bool) -> str:
    """Return an expression that draws from 1 to a size, or from minus to plus it.

    What is drawn is whole, so sizes that are not are drawn in a thousand steps.
    """
    if float(size).is_integer():
        return f"randInt({1 if positive else -int(size)}, {int(size)})"
    return f"randInt({1 if positive else -1000}, 1000) * {_number(size / 1000)}"


def _number(value: float) -> str:
    """Write a number without an exponent, as people do."""
    return f"{value:.12f}".rstrip("0").rstrip(".")


def _identifier(feature: str) -> str:
    return re.sub(r"\W+", "_", feature).strip("_")


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
