"""Any spec: running in isolation, in columns and in coroutines gives the same for every case."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from nomos.engine.interpreter import Verdict

INTEGERS = (0, 1, 2, 3, 7, 10, 2**53 - 1, 2**53, 2**53 + 1, 2**63 - 1, 2**63)
REALS = ("0.5", "0.1", "1e308", "2.0", "9007199254740993.0")
STRINGS = ('"red"', '"cat"', '""', '"low"')
LEVELS = {".h": '"red"', ".c": '"cat"'}
Draw = Callable[[st.SearchStrategy[Any]], Any]


@dataclass
class Names:
    """The names of a spec under way, by their type."""

    integers: list[str] = field(default_factory=list)
    reals: list[str] = field(default_factory=list)
    truths: list[str] = field(default_factory=list)
    strings: list[str] = field(default_factory=list)
    records: list[str] = field(default_factory=lambda: ["x1", "x2", "xs[0]"])
    indices: list[str] = field(default_factory=list)  # of the `forall` around
    lists: list[str] = field(default_factory=list)  # outputs that are lists
    levels: dict[str, str] = field(default_factory=dict)  # of strings that are features


class Writer:
    """Writes expressions of each type at random."""

    def __init__(self, draw: Draw, names: Names) -> None:
        self.draw = draw
        self.names = names
        self.label = True

    def pick(self, *options: Any) -> Any:
        return self.draw(st.sampled_from(options))

    def integer(self, depth: int) -> str:
        if depth == 0 or self.draw(st.integers(0, 4)) == 0:
            leaf = self.pick(*INTEGERS, "MAX_INT", *self.names.integers * 3)
            return str(leaf)
        i, d = self.integer, depth - 1
        if self.draw(st.integers(0, 2)) == 0:
            return self.new_integer(d)
        made = self.pick(
            lambda: f"({i(d)} {self.pick('+', '-', '*', '%')} {i(d)})",
            lambda: f"-({i(d)})",
            lambda: f"{self.record(d)}.{self.pick('a', 'vast', 'f', 'o')}",
            lambda: f"getFeat({self.record(d)}, {self.pick(0, 1, 3, 5)})",
            lambda: f"randInt({self.pick(0, 1, 3)}, {self.pick(2, 5, 100)})",
            lambda: f"randInt({i(d)}, {i(d)})",
            lambda: f"{self.pick('fussy', 'double', 'mixed', 'shy')}({i(d)})",
            lambda: f"{self.pick('roll', 'noisy', 'case', 'differ')}({i(d)})",
            lambda: f"equal({i(d)}, {self.record(d)})",
            lambda: f"{self.pick('predict', 'deep', 'bool')}({self.record(d)})",
            lambda: self.pick("one()", "huge()"),
            lambda: f"label({self.pick('x1', 'x2')})",
        )
        text: str = made()
        return text

    def new_integer(self, d: int) -> str:
        i = self.integer
        made = self.pick(
            lambda: f"abs({i(d)})",
            lambda: f"{self.pick('min', 'max')}({i(d)}, {i(d)})",
            lambda: f"{self.pick('min', 'max')}({i(d)}, {i(d)}, {i(d)})",
            lambda: f"round({self.real(d)})",
            lambda: f"round({i(d)}, {self.pick(0, 1, -1)})",
            lambda: f"len({self.pick('xs', self.string(d), self.record(d))})",
            lambda: f"(if {self.truth(d)} then {i(d)} else {i(d)})",
            lambda: f"label(xs[{self.index(d)}])",
            lambda: f"({self.quantified('count', self.truth, d)})",
            lambda: f"({self.quantified('sum', i, d)})",
            lambda: f"twice({i(d)})",
            lambda: "n",
            lambda: self.listed(d),
        )
        text: str = made()
        return text

    def new_real(self, d: int) -> str:
        r = self.real
        made = self.pick(
            lambda: f"abs({r(d)})",
            lambda: f"{self.pick('min', 'max')}({r(d)}, {r(d)})",
            lambda: f"round({r(d)}, {self.pick(0, 1, 2)})",
            lambda: f"randReal({self.pick('0', '-1.5', '3')}, {self.pick('0.5', '4')})",
            lambda: f"randReal({r(d)}, {r(d)})",
            lambda: f"(if {self.truth(d)} then {r(d)} else {self.integer(d)})",
            lambda: f"({self.quantified('sum', r, d)})",
            lambda: "eps",
        )
        text: str = made()
        return text

    def new_truth(self, d: int) -> str:
        i, r, t = self.integer, self.real, self.truth
        made = self.pick(
            lambda: f"({i(d)} in {{{i(d)}, {i(d)}, 2}})",
            lambda: "({} in {{{}, {}}})".format(*self.alike(3, d)),
            lambda: f"({self.pick(i, r)(d)} in ({r(d)} - 0)..{i(d)})",
            lambda: f"isclose({r(d)}, {r(d)})",
            lambda: (
                f"isclose({r(d)}, {i(d)}, {self.pick('0.5', 0)}, {self.pick(1, r(d))})"
            ),
            lambda: f"({self.quantified('forall', t, d)})",
            lambda: f"({self.quantified('exists', t, d)})",
            lambda: f"near({r(d)}, {i(d)})",
            lambda: f"rising(xs, {i(d)})",
            lambda: f"(if {t(d)} then {t(d)} else {t(d)})",
            lambda: " && ".join(t(d) for _ in range(5)).join("()"),
        )
        text: str = made()
        return text

    def index(self, depth: int) -> str:
        """Write an index of `xs`: mostly one that it has."""
        return str(self.pick(0, 1, 2, *self.names.indices * 4, "randInt(0, 3)"))

    def listed(self, depth: int) -> str:
        if not self.names.lists:
            return self.integer(depth)
        name = self.pick(*self.names.lists)
        return str(self.pick(f"{name}[{self.index(depth)}]", f"max({name})"))

    def quantified(self, word: str, body: Callable[[int], str], depth: int) -> str:
        names = self.pick(("i",), ("i", "j"))
        names = tuple(f"{name}{len(self.names.indices)}" for name in names)
        outer = list(self.names.indices), list(self.names.records)
        self.names.indices += names
        self.names.integers += names
        self.names.records += [f"xs[{name}]" for name in names]
        text = f"{word} {' < '.join(names)} in xs: {body(depth)}"
        self.names.indices, self.names.records = outer
        for name in names:
            self.names.integers.remove(name)
        return text

    def real(self, depth: int) -> str:
        if depth == 0 or self.draw(st.integers(0, 4)) == 0:
            return str(self.pick(*REALS, *self.names.reals * 2))
        i, r, d = self.integer, self.real, depth - 1
        if self.draw(st.integers(0, 2)) == 0:
            return self.new_real(d)
        made = self.pick(
            lambda: f"({i(d)} / {i(d)})",
            lambda: f"({r(d)} {self.pick('+', '-', '*', '/', '%')} {r(d)})",
            lambda: f"({r(d)} {self.pick('+', '-', '*', '/', '%')} {i(d)})",
            lambda: f"-({r(d)})",
            lambda: f"{self.record(d)}.r",
            lambda: f"score({self.record(d)})",
            lambda: f"wide({r(d)})",
            lambda: "nan()",
        )
        text: str = made()
        return text

    def truth(self, depth: int) -> str:
        if depth == 0:
            return str(self.pick("true", "false", *self.names.truths))
        compare = self.pick("==", "!=", "<", "<=", ">", ">=")
        equal = self.pick("==", "!=")
        logic = self.pick("&&", "||", "==>")
        d = depth - 1
        if self.draw(st.integers(0, 2)) == 0:
            return self.new_truth(d)
        made = self.pick(
            lambda: f"({self.integer(d)} {compare} {self.integer(d)})",
            lambda: f"({self.real(d)} {compare} {self.integer(d)})",
            lambda: f"({self.real(d)} {compare} {self.real(d)})",
            lambda: self.compared(compare, d),
            lambda: f"({self.record(d)} {equal} {self.record(d)})",
            lambda: f"({self.truth(d)} {equal} {self.truth(d)})",
            lambda: f"(shares({self.record(d)}) {equal} shares({self.record(d)}))",
            lambda: f"({self.truth(d)} {logic} {self.truth(d)})",
            lambda: f"({self.truth(d)} {logic} {self.truth(d)})",
            lambda: f"(!{self.truth(d)})",
            lambda: f"is_even({self.integer(d)})",
            lambda: f"brittle({self.record(d)})",
            lambda: f"(mixed({self.integer(d)}) == null)",
        )
        text: str = made()
        return text

    def string(self, depth: int) -> str:
        if depth == 0:
            return str(self.pick(*STRINGS, *self.names.strings * 2))
        d = depth - 1
        made = self.pick(
            lambda: f"{self.record(d)}.{self.pick('h', 'c')}",
            lambda: f"strConcat({self.string(d)}, {self.string(d)})",
            lambda: f"grade({self.record(d)}, {self.integer(d)})",
        )
        text: str = made()
        return text

    def alike(self, count: int, depth: int, first: str = "") -> list[str]:
        """Write strings to compare: what a feature is compared with is a level of it."""
        made = [first or self.string(depth)]
        made += [self.string(depth) for _ in range(count - 1)]
        known = LEVELS | self.names.levels
        levels = [known[k] for m in made for k in (m, m[-2:]) if k in known]
        return [levels[0] if levels and m in STRINGS else m for m in made]

    def compared(self, sign: str, depth: int) -> str:
        """Compare two strings; the levels of these features have no order."""
        made = self.alike(2, depth)
        known = LEVELS | self.names.levels
        is_level = any(k in known for m in made for k in (m, m[-2:]))
        return f"({made[0]} {'==' if is_level else sign} {made[1]})"

    def record(self, depth: int) -> str:
        if depth == 0 or self.draw(st.booleans()):
            return str(self.pick(*self.names.records))
        r, d = self.record, depth - 1
        made = self.pick(
            lambda: f"{r(d)}[a := {self.integer(d)}]",
            lambda: f"setFeat({r(d)}, {self.pick(0, 1)}, {self.integer(d)})",
            lambda: f"{r(d)}[r := {self.real(d)}]",
            lambda: f"{r(d)}[f := {self.truth(d)}]",
            lambda: "{}[h := {}]".format(r(d), self.alike(2, d, first=".h")[1]),
            lambda: f"{r(d)}[o := {self.pick(0, 1, 2)}]",
            lambda: f"jitter({r(d)})",
        )
        text: str = made()
        return text

    def variable(self, name: str) -> str:
        kind = self.pick(
            "integers", "integers", "reals", "truths", "strings", "records"
        )
        writer = getattr(self, {"truths": "truth"}.get(kind, kind[:-1]))
        value = writer(3)
        text = f"var {name} := {value};"
        if value[-2:] in LEVELS or value in self.names.levels:
            self.names.levels[name] = (LEVELS | self.names.levels)[
                value if value in self.names.levels else value[-2:]
            ]
        getattr(self.names, kind).append(name)
        return text

    def python(self, depth: int) -> str:
        """Write an expression of the block: calls and arithmetic."""
        if depth == 0:
            return str(
                self.pick(*INTEGERS[:6], *self.names.integers, *self.names.reals)
            )
        p, d, record = self.python, depth - 1, self.pick(*self.names.records)
        made = self.pick(
            lambda: f"({p(d)} {self.pick('+', '-', '*', '/', '%')} {p(d)})",
            lambda: f"{self.pick('predict', 'score', 'brittle', 'deep')}({record})",
            lambda: f"{self.pick('bool', 'predict')}({record}) * case({p(d)})",
            lambda: (
                f"predict(setFeat({record}, 'a', {p(d)} + 0))"
            ),  # no real by its name
            lambda: f"small.predict({record})",
            lambda: f"{self.pick('double', 'fussy', 'shy', 'noisy', 'roll')}({p(d)})",
            lambda: f"getFeat({record}, {self.pick(0, 1, 2)!r})",
            lambda: "label(x1)",
            lambda: f"randInt(0, {self.pick(1, 4, 'MAX_INT')})",
            lambda: f"grade({record}, 3)",
            lambda: f"-{p(d)}",
            lambda: f"{self.pick('abs', 'round')}({p(d)})",
            lambda: f"{self.pick('min', 'max')}({p(d)}, {p(d)})",
            lambda: f"len({self.pick('xs', record)})",
            lambda: f"isclose({p(d)}, {p(d)}, {self.pick('eps', 'n', 0.5)})",
            lambda: f"randReal({self.pick(0, 'eps')}, {self.pick(2, 'n')})",
        )
        text: str = made()
        return text

    def straight(self) -> list[str]:
        lines = [f"t = {self.python(2)}", f"d1 = {self.python(2)}"]
        outer = list(self.names.records)
        self.names.records += ["x"] * 6
        lines.append(f"ds = [{self.python(2)} for x in xs]")
        self.names.records = outer
        self.names.integers += ["t", "d1"]
        lines.append(f"d2 = {self.pick(self.python(2), 'predict(x2)', 't')}")
        if self.draw(st.booleans()):
            lines.append(f"d1 = d2 + {self.python(1)}")
        self.names.integers.remove("t")
        self.names.integers.remove("d1")
        return lines

    def looping(self) -> list[str]:
        p = self.python
        lines = [
            "total, seen = 0, {}",
            f"for i in range({self.pick(1, 3)}):",
            f"  if {p(1)} == i or randInt(0, 1):",
            f"    total += {p(2)}",
            "  else:",
            f"    seen[i] = {p(1)}",
        ]
        caught = self.pick("ValueError", "LookupError", "ArithmeticError", "Exception")
        lines += [
            "try:",
            f"  d1 = {self.pick('brittle(x2)', p(2))}",
            f"except {caught}:",
            "  d1 = -1",
        ]
        lines.append(
            self.pick(
                "ds = [predict(x) for x in xs]",
                "ds = [predict(x) for x in xs if x[0] > 3]",
                "ds = [score(xs[i]) + i * eps for i in range(n)]",
                "ds = shares(x1)",
            )
        )
        lines.append(
            self.pick(
                "d2 = total",
                "d2 = [predict(x) for x in (x1, x2)][0]",
                "d2 = shares(x1)[1]",
                "d2 = sum(shares(x1) * shares(x2))",
                "d2 = (lambda q: predict(q) + total)(x2)",
                "d2 = score(x1) if brittle(x1) else len(seen)",
                "d2 = x1[0] * 2",
                "d2 = int(predict(x1) == predict(x1)) + equal(0, x1)",
                "bool_ = bool(x1); d2 = differ(bool_) + case(0)",
            )
        )
        return lines


@st.composite
def specs(draw: Draw) -> str:
    names = Names()
    writer = Writer(draw, names)
    lines = [
        "import small;",
        f"param n: int := 3 in 1..{draw(st.integers(3, 5))};",
        "param eps: real := 0.25;",
        "def twice(a) := a + a;",
        "def near(a, b) := abs(a - b) <= eps * n;",
        "def rising(q, least) := forall i < j in q: near(q[i].a + i, q[j].a) ==> twice(q[j].a) >= least;",
        "input x1;",
        "input xs[n];",
        "input x2;",
    ]
    lines += [writer.variable(f"v{n}") for n in range(draw(st.integers(0, 3)))]
    lines += [
        f"requires {writer.truth(3)};"
        for _ in range(draw(st.sampled_from((0, 0, 1, 2))))
    ]
    lines += ["output d1;", "output d2;", "output ds;", "{"]
    block = writer.straight() if draw(st.booleans()) else writer.looping()
    lines += [f"  {line}" for line in block]
    lines.append("}")
    names.integers += ["d1", "d2"] * 3
    names.lists.append("ds")
    lines += [writer.variable(f"w{n}") for n in range(draw(st.integers(0, 1)))]
    lines += [f"ensures {writer.truth(3)};" for _ in range(draw(st.integers(1, 2)))]
    return "\n".join(lines)


BATCHES = {1: 8, 7: 35, 128: 140}  # other specs tell more than more cases of one
QUIET = settings(
    deadline=None,
    suppress_health_check=[
        HealthCheck.function_scoped_fixture,
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
    ],
)


# What can go wrong in a chunk without a trace in the verdicts: draws that cannot be had
# again, and numbers beyond 64 bits.
HARD = ("noisy", "huge()", "vast", str(2**63), str(2**63 - 1), "MAX_INT", "1e308")


def most_alone(text: str) -> Callable[[Any], float | None]:
    """Where no case crashes or is discarded, none may need to run in isolation."""

    def share(tale: Any) -> float | None:
        ended = {Verdict.PASSED, Verdict.VIOLATED}
        quiet = all(case.verdict in ended for case in tale.cases)
        return 0 if quiet and not any(word in text for word in HARD) else None

    return share


@given(text=specs())
@settings(QUIET, max_examples=15)
def test_generated_specs_have_the_same_verdicts_in_every_way_and_batch(
    make: Callable[..., Any], same: Callable[..., Any], text: str
) -> None:
    same(make(text), 140, BATCHES, share=most_alone(text))


@given(text=specs())
@settings(QUIET, max_examples=15)
def test_rows_of_small_integers_have_them_too(
    make: Callable[..., Any], same: Callable[..., Any], whole: Any, text: str
) -> None:
    same(make(text, whole), 100, {7: 35, 100: 100}, share=most_alone(text))


@pytest.mark.slow
@given(text=specs())
@settings(
    QUIET, max_examples=1000, phases=(Phase.explicit, Phase.reuse, Phase.generate)
)
def test_many_more_generated_specs_have_them_too(
    make: Callable[..., Any], same: Callable[..., Any], text: str
) -> None:
    same(make(text), 140, BATCHES, share=most_alone(text))


BROKEN = "import small; input x1; input x2; output d1; { d1 = predict(x1) } ensures d1 == 9; "
RAISE = (
    "ensures isclose(label(x1) / 0, getFeat(jitter(x1), 0), 0.5, 1);",
    "ensures label(x1) / 0 < randReal(0, 1);",
    "ensures label(x1) / 0 < randInt(0, 1);",
)
DISCARD = (
    "ensures randReal(x1.a, 9) < 3;",
    "ensures randReal(x1.r * 0, x2.a * 0) < 3;",
    "ensures shy(x1.a) < randInt(0, 1);",
)


@pytest.mark.parametrize("later", DISCARD)
def test_an_ensures_that_discards_leaves_the_violation_before_it(
    make: Callable[..., Any], same: Callable[..., Any], later: str
) -> None:
    tale = same(make(BROKEN + later), 140, BATCHES)
    crashed = [case for case in tale.cases if case.verdict is Verdict.CRASHED]
    assert all("no finite range" in case.why for case in crashed)
    others = {case.verdict for case in tale.cases} - {Verdict.CRASHED}
    assert others == {Verdict.VIOLATED}


@pytest.mark.parametrize("later", RAISE)
def test_an_ensures_that_raises_is_a_crash_also_where_another_one_fails(
    make: Callable[..., Any], same: Callable[..., Any], later: str
) -> None:
    tale = same(make(BROKEN + later), 140, BATCHES)
    assert {case.verdict for case in tale.cases} == {Verdict.CRASHED}
    assert {case.why for case in tale.cases} == {"ZeroDivisionError: division by zero"}


def test_a_usual_spec_is_never_run_alone(
    make: Callable[..., Any], same: Callable[..., Any]
) -> None:
    text = """
        import small;
        input x1;
        input x2;
        var y := x1[r := randInt(0, 9) / 10];
        requires x1.f == x2.f;
        output d1;
        output d2;
        {
          d1 = predict(x1) + score(y)
          d2 = deep(x2) + case(d1)
        }
        ensures d1 <= d2 && predict(x1) <= 3;
        """
    tale = same(make(text), 140, BATCHES, alone=0)
    assert {case.verdict for case in tale.cases} > {Verdict.PASSED, Verdict.VIOLATED}
