"""Relations that come up again and again, as specs to copy and change.

Each function returns a spec as text (`print(monotone("income").text)`), which can be run
as it is with `nomos.run`, or saved as a `.nom` file with an `import` added. `when` is a
condition of the language that restricts the cases: `when="x1.age >= 18"`. `tolerance` is
by how much answers that are numbers may differ and still count as the same; in the spec
it is a param.
"""

import re
from collections.abc import Mapping, Sequence

from nomos.domain.reading.csvfile import quote_text
from nomos.inline import SpecText, feature_of, with_feature
from nomos.texts.changing import load_wording

_NO_WORD = re.compile(r"\W+")

__all__ = [
    "additive", "better_when_easier", "exchangeable", "fair", "invariant",
    "like_missing", "monotone", "robust", "symmetric", "text_kinds", "text_relation",
    "transitive", "triangle",
]  # fmt: skip


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
    least = 1 if float(step).is_integer() else 0
    higher = f"{feature_of('x1', feature)} + {_draw_expression(least, step)}"
    title = _build_title(
        "monotone", feature, f"A higher {feature} never gives a {word} answer."
    )
    change = with_feature("x1", feature, higher)
    return _spec_of_change(title, change, function, when, ensures=f"d1 {sign} d2")


def fair(
    feature: str,
    *,
    function: str = "predict",
    tolerance: float = 0,
    when: str | None = None,
) -> SpecText:
    """The answer does not depend on a protected feature."""
    second = feature_of("x2", feature)
    differ = f"{feature_of('x1', feature)} != {second}"
    about = f"Another {feature}, with all else the same, gives the same answer."
    opening = [*_declare_inputs(2), f"var x3 := {with_feature('x1', feature, second)};"]
    calls = {"d1": f"{function}(x1)", "d3": f"{function}(x3)"}
    same, where = _same_answer("d1", "d3", tolerance), f"{differ};\nrequires {when}"
    title = _build_title("fair", feature, about)
    return _build_spec_text(
        title, opening, calls, same, where if when else differ, tolerance
    )


def like_missing(
    feature: str,
    value: str | float,
    *,
    function: str = "predict",
    tolerance: float = 0,
    when: str | None = None,
) -> SpecText:
    """A missing value behaves like the given one, such as the median of the data."""
    shown = quote_text(value) if isinstance(value, str) else _format_number(value)
    about = f"A missing {feature} gives the answer of {feature} = {shown}."
    opening = [
        *_declare_inputs(1),
        f"var x2 := {with_feature('x1', feature, 'missing')};",
        f"var x3 := {with_feature('x1', feature, shown)};",
    ]
    calls = {"d2": f"{function}(x2)", "d3": f"{function}(x3)"}
    title = _build_title("like_missing", feature, about)
    same = _same_answer("d2", "d3", tolerance)
    return _build_spec_text(title, opening, calls, same, when, tolerance)


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
        noisy = f"{feature_of('x1', feature)} + {_draw_expression(-radius, radius)}"
        changed = with_feature(changed, feature, noisy)
    named = ", ".join(features) if len(features) < 9 else f"{len(features)} features"
    about = f"Changes of at most {radius} in {named} change nothing."
    return _spec_of_change(("robust", about), changed, function, when, tolerance)


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
    change = with_feature(swapped, second, feature_of("x1", first))
    about = f"{first} and {second} may change places."
    title = _build_title("exchangeable", f"{first}_{second}", about)
    return _spec_of_change(title, change, function, when, tolerance)


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
    about = f"What is {transformation.replace('_', ' ')} gets the same answer."
    change = f"{transformation}({', '.join(['x1', *amounts])})"
    title = _build_title("invariant", transformation, about)
    return _spec_of_change(title, change, function, when, tolerance)


def better_when_easier(
    harder: str, *amounts: str, function: str = "predict", when: str | None = None
) -> SpecText:
    """What is answered rightly when made harder is answered rightly as it is."""
    about = f"What is answered rightly when {harder} is so without it, too."
    change = f"{harder}({', '.join(['x1', *amounts])})"
    ensures = "d2 == label(x1) ==> d1 == label(x1)"
    title = _build_title("better_unless", harder, about)
    return _spec_of_change(title, change, function, when, ensures=ensures)


def text_kinds() -> dict[str, str]:
    """Return the kinds of `text_relation`, each with what it says."""
    return {kind: about for kind, (about, *_) in load_wording()["relations"].items()}


def text_relation(
    kind: str, *, function: str = "answer", when: str | None = None
) -> SpecText:
    """A change of a text that must not change the answer, or must in a known way.

    The kinds are those of `text_kinds()`: `order`, `capitals`, `typos` and so on. The change
    is a function of `nomos.texts.TextChanges` or of yours; texts that it leaves as they are do not count.
    """
    known = load_wording()["relations"]
    if kind not in known:
        listed = ", ".join(known)
        raise ValueError(f"no relation of texts is {kind!r}: there are {listed}")
    about, change, *ensures = known[kind]
    changed = "x2 != x1" if when is None else f"x2 != x1 && ({when})"
    title = _build_title("text", kind, about)
    return _spec_of_change(
        title, change, function, changed, ensures=next(iter(ensures), "")
    )


def symmetric(
    function: str = "similarity", *, tolerance: float = 0, when: str | None = None
) -> SpecText:
    """The order of two arguments does not matter."""
    about = f"{function}(a, b) is {function}(b, a)."
    title = _build_title("symmetric", function, about)
    calls = {"d1": f"{function}(x1, x2)", "d2": f"{function}(x2, x1)"}
    same = _same_answer("d1", "d2", tolerance)
    return _build_spec_text(title, _declare_inputs(2), calls, same, when, tolerance)


def transitive(function: str = "prefers", *, when: str | None = None) -> SpecText:
    """A ranking has no circles: 3-safety."""
    about = "Who is preferred to one that is preferred to a third is preferred to it."
    title, calls = _build_title("transitive", function, about), _all_pairs(function)
    return _build_spec_text(
        title, _declare_inputs(3), calls, "d12 && d23 ==> d13", when
    )


def triangle(
    function: str = "distance", *, tolerance: float = 1e-6, when: str | None = None
) -> SpecText:
    """A way round is never shorter: 3-safety."""
    about = "The way over a third is never shorter than the straight one."
    title, calls = _build_title("triangle", function, about), _all_pairs(function)
    ensures = f"d13 <= d12 + d23{' + tolerance' if tolerance else ''}"
    return _build_spec_text(title, _declare_inputs(3), calls, ensures, when, tolerance)


def additive(
    join: str,
    *,
    function: str = "predict",
    tolerance: float = 1e-6,
    when: str | None = None,
) -> SpecText:
    """The whole is the sum of its parts: 3-safety."""
    about = f"{function}({join}(a, b)) is {function}(a) + {function}(b)."
    opening = [*_declare_inputs(2), f"var x3 := {join}(x1, x2);"]
    calls = {f"d{n}": f"{function}(x{n})" for n in (1, 2, 3)}
    same = _same_answer("d3", "(d1 + d2)" if tolerance else "d1 + d2", tolerance)
    return _build_spec_text(
        _build_title("additive", join, about), opening, calls, same, when, tolerance
    )


def _same_answer(first: str, second: str, tolerance: float) -> str:
    if not tolerance:
        return f"{first} == {second}"
    return f"abs({first} - {second}) <= tolerance"


def _draw_expression(low: float, high: float) -> str:
    """Return an expression that draws a number: a whole one between whole ones."""
    whole = float(low).is_integer() and float(high).is_integer()
    return f"{'randInt' if whole else 'randReal'}({_format_number(low)}, {_format_number(high)})"


def _format_number(value: float) -> str:
    """Write a number without an exponent, as people do."""
    return f"{value:.12f}".rstrip("0").rstrip(".")


def _build_title(kind: str, of: str, about: str) -> tuple[str, str]:
    """Return a spec's name and its description."""
    return f"{kind}_{_NO_WORD.sub('_', of).strip('_')}", about


def _declare_inputs(count: int) -> list[str]:
    return [f"input x{n};" for n in range(1, count + 1)]


def _all_pairs(function: str) -> dict[str, str]:
    return {f"d{a}{b}": f"{function}(x{a}, x{b})" for a, b in ((1, 2), (2, 3), (1, 3))}


def _spec_of_change(
    title: tuple[str, str],
    change: str,
    function: str,
    when: str | None,
    tolerance: float = 0,
    ensures: str = "",
) -> SpecText:
    """Return a spec that relates the answers to an input and to a changed copy.

    Where it does not say how, they are the same.
    """
    ensures = ensures or _same_answer("d1", "d2", tolerance)
    opening = ["input x1;", f"var x2 := {change};"]
    calls = {f"d{n}": f"{function}(x{n})" for n in (1, 2)}
    return _build_spec_text(title, opening, calls, ensures, when, tolerance)


def _build_spec_text(
    title: tuple[str, str],
    opening: Sequence[str],
    calls: Mapping[str, str],
    ensures: str,
    when: str | None,
    tolerance: float = 0,
) -> SpecText:
    name, about = title
    lines = [f"# {about}"]
    tolerated = f"param tolerance: real := {_format_number(tolerance)};"
    lines += [tolerated] if tolerance else []
    lines += opening
    lines += [] if when is None else [f"requires {when};"]
    lines += [f"output {output};" for output in calls]
    lines += ["{", *(f"  {output} = {call}" for output, call in calls.items()), "}"]
    return SpecText("\n".join([*lines, f"ensures {ensures};"]) + "\n", name)
