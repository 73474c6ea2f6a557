"""Specs that are written at random, of every construct of docs/reference/language.md.

    python -m tests.engine.random_specs [--specs 2000]

prints in how many of so many specs each form of an expression, of a statement and of a block
stands. Names in forms: `{n}` is a number, `{t}` a condition, `{p}` a vector; `{i}` an index of
`xs`, `{k}` one of `p`; `{a}`, `{b}` and `{c}` are names of indices of their own.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

NUMBERS = (
    "v", "w", "{i}", "2", "0.5", "d1", "d2", "x1.age", "x2.share", "x1.size", "xs[{i}].age", "ds[{i}]", "p[{k}]",
    "len(xs)", "len(p)", "len(ps)", "({n} + {n})", "({n} - {n})", "({n} * {n})", "{n} / 2", "{n} / {n}", "{n} % 3",
    "-({n})", "abs({n})", "round({n})", "round({n}, 1)", "min({n}, {n})", "max({n}, {n}, {n})", "sum(p)", "mean(ds)",
    "max(ds)", "min(p)", "mean([y.age for y in ys])", "norm({p})", "norm({p}, 1)", "norm({p}, inf)", "sqrt(abs({n}))",
    "sqrt({n})", "exp(-abs({n}))", "log(abs({n}) + 1)", "log({n})", "x1.age ** 2", "2 ** (v - 1)",
    "(count {a} in xs: {t})", "(count {a}, {b} in p if {a} != {b}: {t})", "(sum {a} in xs: {n})",
    "(mean {a} in xs if xs[{a}].member == 0: {n})", "(max {a} in ds: {n})", "(min {a} < {b} in xs: {n})",
    "(count {a} < {b} < {c} in p: {n} <= {n})", "(max {a}, {b}, {c} in q: p[{a}] + p[{b}] - p[{c}])",
    "(sum {a} in p if {a} in top(x1): p[{a}])", "(if {t} then {n} else {n})", "twice({n})", "(sum {a} in top(x1): {n})",
    "sum([{n} for y in xs])", "norm({p} - {p})", "sum({p})", "mean({p})", "max({p})", "max([y.age - x1.age for y in ys])", "missing_share", "r1", "e1", "f1", "a1.age", "a2.share",
    "ps[{i}][{k}]", "sum(ps[{i}])", "x1.joined - a2.joined", "x1.joined - x2.joined",
    "(x1.joined - date('2024-01-15')) % 7", "(max {a} in ps[{i}]: ps[{i}][{a}])", "x1[age := {n}].age",
    "getFeat(x1, 'age')", "getFeat(x1, 0)", "getFeat(setFeat(x1, 'share', {n}), 1)", "x1[size := 'middle'].size",
    "(sum {a}, {b} in ps: norm(ps[{a}] - ps[{b}]))", "(mean {a} in ys: ys[{a}].age)", "min({n}, inf)", "MAX_INT % 7",
    "us[{k}]", "us[0] - us[{k}]", "sum(us)", "mean(us)", "max(us)", "fs[{k}] + fs[0]", "sum(fs)", "mean(fs)", "(count {a} in fs: fs[{a}])",
    "hs[{k}]", "max(hs)", "min(hs)", "sum(hs)", "norm(hs, inf)", "len(ms)", "sum(ms)", "max(ms)", "mean(ms)", "norm(ms)",
    "(max {a} in ms: {n})", "(mean {a} in ms: ms[{a}])", "(min {a} in ms if {t}: {n})", "ms[{k}]", "exp({n} * 90)",
    "x1.age ** {n}", "(2 ** (x1.age * 2000)) % 7", "sum([sum([y.age - z.age for y in xs]) for z in ys])", "norm(us - {n})",
)  # fmt: skip
TRUTHS = (
    "{n} <= {n}", "{n} < {n}", "{n} == {n}", "{n} != {n}", "{n} > {n}", "{n} >= {n}", "{n} in {{1, {n}}}", "{n} in 0..{n}",
    "!({t})", "({t} && {t})", "({t} || {t})", "({t} ==> {t})", "({t} ==> {t} ==> {t})", "v in ds", "d1 in top(x1)",
    "{n} in {p}", "{n} in [y.age for y in xs]", "x1 in xs", "(forall {a} in xs: {t})", "(exists {a} in ds if {t}: {t})",
    "(forall {a} < {b} in xs: {t})", "(exists {a}, {b} in p: {t})", "(exists {a} < {b} < {c} in xs: {t})",
    "(!forall {a} in xs: {t})", "({t} ==> forall {a} in p if p[{a}] > 0.2: {t})", "({t} && exists {a} in top(x1): {t})",
    "({t} || if {t} then {t} else {t})", "({t} ==> if {t} then {t} else {t})", "isclose({n}, {n}, abs := 0.5)",
    "isclose({n}, {n})", "isclose({n}, {n}, rel := 0.1, abs := 0.1)", "isclose(p, q, rel := 0.3)", "isclose(x1, x2)",
    "isclose(xs[{i}], x1, abs := 4)", "missing(x1.share)", "!missing(x2.share)", "!missing(xs[{i}].share)",
    "x1.mood == 'calm'", "x1.mood != x2.mood", "x1.size >= 'middle'", "x1.size in {{'small', 'large'}}",
    "x1.size in 'small'..'middle'", "x1.size <= x2.size", "g1 <= g2", "g1 in 'fair'..'good'", "g1 in {{'fair', 'poor'}}",
    "g1 == 'poor'", "g1 < 'good'", "(forall {a} in xs: grade(xs[{a}]) >= g1)", "near({n}, {n})", "x1 == x2", "x1 != x2",
    "ys[{i}].age > {n}", "p == q", "p != q", "true", "false", "(if {t} then {t} else {t})", "strConcat(g1, g2) == 'fairgood'",
    "strConcat(x1.mood, 'er') in {{'calmer', 'wilder'}}", "r1 == r2", "a1.age == a2.age", "a1.size == a2.size", "a1 == a2",
    "a1.joined <= a2.joined", "x1.joined <= '2024-02-01'", "x1.joined + days({n}) < xs[{i}].joined",
    "x2.joined >= x1.joined + days(v)", "x1.joined < first", "x2.mood in {{'calm', 'wild'}}", "x2.mood == unseen('odd')",
    "x2.joined in '2024-01-10'..'2024-02-20'", "x1.joined - days(3) != a1.joined", "xs[{i}].joined == '2024-01-05'",
    "(forall {a} in ps: forall {b} in ps[{a}]: {n} <= {n})", "missing(a1.share)", "missing({n})",
    "(forall {a} < {b} in ps[{i}]: ps[{i}][{a}] <= {n})", "isclose(ps[{i}], p, abs := 0.1)", "is_old",
    "isclose({p}, {p}, abs := 0.3)",
    "(forall {a} < {b} in gs: gs[{a}] <= gs[{b}])", "(if {t} then g1 else g2) <= g1", "gs[{i}] in 'fair'..'good'",
    "(if {t} then g1 else g2) < (if {t} then g2 else g1)", "[y for y in gs][0] >= [y for y in gs][1]", "g1 in gs",
    "[grade(y) for y in xs][0] > 'poor'", "worse(gs[{i}], g1)", "worse(g2, g1)", "[y.size for y in xs][{i}] >= 'middle'",
    "(if {t} then x1.size else x2.size) == 'small'", "g3 <= g1", "{p} == {p}", "{p} != {p}", "fs[{k}]", "max(fs)", "us[{k}] in ms",
    "(forall {a} in fs: fs[{a}] || {t})", "(exists {a} in ms: ms[{a}] == {n})", "(forall {a} < {b} in ms: ms[{a}] < {n})",
    "isclose(hs, us, abs := 9)", "isclose(ms, top(x1))", "isclose(fs, [y.member for y in xs])", "ms == top(x1)", "{n} in ms",
    "missing(hs[{k}])", "(exists {a} in hs: missing(hs[{a}]))", "true in fs", "{n} in us", "(if fs[0] then us else hs) == us", "(forall {a} in [{n} for y in xs]: {t})",
)  # fmt: skip
VECTORS = (
    "p", "q", "(p - q)", "(2 * p)", "(p + q * 0.5)", "[y.age for y in xs]", "[{n} for y in ys]", "abs(p - 0.3)", "p ** 2",
    "2 ** p", "ds", "ps[0]", "-p", "(p / q)", "p % 0.4", "sqrt(p)", "exp(-p)", "log(q)", "(p - ds)",
    "us", "fs", "hs", "ms", "(us - 200)", "(us * us)", "(us + hs)", "-fs", "(fs + fs)", "us ** 2", "2 ** us", "(ms + 1)", "hs * 1000",
    "(us - {n})", "abs(us - 200)", "-us", "[y.share for y in ys]", "(p * inf)", "(fs * 3 - us)", "us % 7", "(us / fs)", "sqrt(hs)", "(ms - top(x1))",
)  # fmt: skip
BLOCKS = (
    (
        "ds = [score(x) for x in xs]", "d1 = score(x1)", "d2 = score(x2)", "g1 = grade(x1)", "g2 = grade(x2)",
        "p = shares(x1)", "q = shares(x2)", "r1 = score(a1)", "r2 = score(a2)", "ps = [shares(x) for x in xs]",
        "gs = [grade(x) for x in xs]", "us, fs, hs, ms = votes(x1), flags(x2), halves(x1), many(x2)",
    ),
    (
        "ds = []", "for x in xs: ds.append(score(x))", "d1, d2, g1, g2 = score(x1), score(x2), grade(x1), grade(x2)",
        "p, q = shares(x1), shares(x2)", "ps, (r1, r2) = [], map(score, (a1, a2))", "for x in xs: ps.append(shares(x))",
        "gs = list(map(grade, xs))", "us, fs, hs, ms = votes(x1), flags(x2), list(halves(x2)), many(x1)",
    ),
)  # fmt: skip
FEW_BLOCKS = (
    (
        "d1 = score(x1)", "d2 = score(x2)", "g1 = grade(x1)", "g2 = grade(x2)", "p = shares(x1)", "q = shares(x2)",
        "us = votes(x1)", "fs = flags(x2)", "hs = halves(x1)", "ms = many(x2)",
    ),
    (
        "d1, d2 = [score(x) for x in (x1, x2)]", "g1, g2 = 'fair', 'good'", "p = shares(x1)", "q = shares(x2)",
        "us, fs = [300, -2, True], (True, False, 1)", "hs, ms = list(votes(x2)), many(x1)",
    ),
    (
        "d1, p = score(x1), shares(x1)", "d2, g1, g2, q = 0, 'poor', 'fair', p", "if d1 > 0:",
        "  d2, q, g2 = score(x2), shares(x2), grade(x2)",
        "us = hs = votes(x1)", "fs = flags(x1)", "ms = many(x1)",
    ),
    (
        "d1 = judge(score(x1))", "d2 = judge(score(x2))", "g1 = g2 = 'good'", "p = q = shares(x2)",
        "us = hs = p", "fs = [g1 == 'good', d1 > 2, d2 == d1]", "ms = []",
    ),
    (
        "d1 = d2 = score(x1)", "g1 = g2 = grade(x1)", "p = shares(x1)", "q = [0.2, 0.3, 0.5]",  # asks of x1 alone
        "us = votes(x1)", "fs = flags(x1)", "hs = halves(x1)", "ms = many(x1)",
    ),
    (
        "d1 = noisy(x1)", "d2 = noisy(x2)", "g1, g2 = grade(x1), grade(x2)", "p = shares(x1)", "q = shares(x2)",
        "us = votes(x2)", "fs = flags(x1)", "hs = halves(x2)", "ms = many(x2)",
    ),
)  # fmt: skip
SPEC = """import plain;
param n := {size};
param first: date := "2024-01-25";
def twice(a) := a + a;
def near(a, b) := abs(a - b) <= n;
def worse(a, b) := a < b;
input x1;
input xs[n];
input a1, a2 where same(a1, a2{excepted});
var v := randInt(0, {high});
var w := {drawn};
var x2 := x1[{change}];
var ys := [x[{derived}] for x in xs];
var missing_share := if missing(x1.share) then 0 else x1.share;
requires {requires};
output d1;
output d2;
output g1;
output g2;
output p;
output q;
output us;
output fs;
output hs;
output ms;
output ds;
output r1;
output r2;
output ps;
output gs;
{{
  {block}
}}
var e1 := {later};
var g3 := if d1 > 0 then g1 else g2;
ensures {one};
ensures {other};
ensures fair: {fair};
"""
FEW = """import plain;
param n := {size};
param first: date := "2024-01-25";
def twice(a) := a + a;
def near(a, b) := abs(a - b) <= n;
def worse(a, b) := a < b;
input x1;
{repeats}
var v := randInt(0, {high});
requires {guard};
var w := {drawn};
requires {requires};
var x2 := x1[{change}];
var is_old := x2.age > 4;
{allow}
output d1;
output d2;
output g1;
output g2;
output p;
output q;
output us;
output fs;
output hs;
output ms;
{{
  {block}
}}
var e1 := d1 + d2;
var f1 := {later};
ensures {one};
ensures {other};
ensures fair: {fair};
"""
RATES = (
    "rate({t} | {c}) - rate({t} | !({c})) in -0.3..0.3", "rate({t}) <= 0.4", "rate({t} | {t}) >= rate({t})",
    "abs(rate({t}) - rate({t} | {t})) < 0.2", "rate({t}) > 0.5 || !(rate({t} | {t}) - 0.1 == 0)",
    "rate({t}) <= 0.6 && rate({t} | {t}) > 0.2", "rate({t}) > 0.7 ==> rate({t} | {c}) < 0.6",
    "max(rate({t}), rate({t} | {t})) <= 0.5", "min(rate({t} | {c}), rate({t} | {t}), 0.5) > 0.1",
    "(if rate({t}) > 0.4 then rate({t} | {c}) else 0.1) <= 0.3", "2 * rate({t}) - rate({t} | {c}) / 2 <= n / 4",
    "rate({t}) * rate({t} | {t}) < 0.1", "rate({t}) / (1 + rate({t} | {c})) in 0.1..0.4", "rate({t}) != 0.5",
)  # fmt: skip
REPEATED = (
    "(count r in repeats: {t}) >= {m}", "(count r in repeats if {t}: {t}) <= {m}", "forall r in repeats: {t}",
    "exists r in repeats if {t}: {t}", "(sum r in repeats: {n}) <= {m}", "(mean r in repeats: {n}) > {m}",
    "(max r in repeats: {n}) - (min r in repeats: {n}) <= {m}", "x1.age > 4 ==> forall r in repeats if {t}: {t}",
)  # fmt: skip
CHANGES = (
    "age := x1.age + 1", "size := 'large'", "mood := 'wild'", "share := missing", "member := 1 - x1.member",
    "mood := unseen('odd')", "joined := x1.joined + days(v)", "joined := '2024-02-29'", "share := w", "age := x1.age + v",
    "age := x1.age * 2][size := 'small", "share := x1.share + v", "joined := first", "member := x1.member",
)  # fmt: skip
DRAWS = (
    "0.25", "randInt(v, 3)", "randInt(1, v)", "randReal(0, 1)", "randReal(v, 1)", "randInt(1, 3) + randReal(0, v)",
    "randInt(date('2024-01-05'), x1.joined) - x1.joined", "randReal(x1.joined, '2024-02-10') - x1.joined",
    "12 / v", "len(top(x1)) + v",
)  # fmt: skip
DERIVED = ("age := x.age + v", "mood := 'calm'", "share := x1.share", "joined := x.joined - days(1)")  # fmt: skip
GUARDS = ("true", "v > 0", "x1.age in 1..8", "!missing(x1.share)", "x1.joined > first")
OUTPUTS = {
    "d1",
    "d2",
    "g1",
    "g2",
    "p",
    "q",
    "ds",
    "r1",
    "r2",
    "ps",
    "gs",
    "e1",
    "f1",
    "g3",
    *("us", "fs", "hs", "ms"),
}
NAMES = {*OUTPUTS, "xs", "ys", "a1", "a2", "missing_share", "is_old", "x2", "w"}
_STRINGS = re.compile(r"'[^']*'")


class Writer:
    """Writes expressions at random; names of indices are those in force."""

    def __init__(self, seed: int, names: set[str], counts: Counter[str]) -> None:
        self.rng, self.depth, self.counts = np.random.default_rng(seed), 0, counts
        self.missing = NAMES - names
        self.indices: list[str] = []

    def fits(self, form: str) -> bool:
        """Tell whether all names of a form are declared."""
        return self.missing.isdisjoint(re.findall(r"\w+", _STRINGS.sub("", form)))

    def of(self, kind: str) -> str:
        """Return an expression: a number, a condition or a vector."""
        forms: Any = {"n": NUMBERS, "t": TRUTHS, "p": VECTORS}[kind]
        fitting = [form for form in forms if self.fits(form)]
        if self.depth > (4 if kind == "p" else 2):
            fitting = [f for f in fitting if not re.search(r"{[ntp]}", f)]
        if not self.indices:
            fitting = [form for form in fitting if form != "{i}"]
        return self.fill(str(self.rng.choice(fitting))) if fitting else "[0.5, v]"

    def one_of(self, forms: tuple[str, ...]) -> str:
        """Return one of these forms, filled."""
        return self.fill(str(self.rng.choice([f for f in forms if self.fits(f)])))

    def fill(self, form: str) -> str:
        """Return a form with expressions in its places."""
        self.counts[form] += 1
        self.depth += 1
        own = {
            key: f"i{len(self.indices) + n}"
            for n, key in enumerate(k for k in "abc" if f"{{{k}}}" in form)
        }
        before = list(self.indices)
        self.indices += own.values()
        parts = re.split(r"({{|}}|{\w})", form)
        made = "".join(self.part(part, own) for part in parts)
        self.indices, self.depth = before, self.depth - 1
        return made

    def part(self, key: str, own: dict[str, str]) -> str:
        match key:
            case "{{" | "}}":
                return key[0]
            case "{a}" | "{b}" | "{c}":
                return own[key[1]]
            case "{i}":
                return str(self.rng.choice([*self.indices, "0", "2", "v % 3"]))
            case "{k}":
                return str(self.rng.choice(["0", "2"]))
            case "{m}":
                return str(self.rng.choice(["0", "1", "2", "v"]))
            case "{n}" | "{t}" | "{p}":
                return self.of(key[1])
        return key


def write_spec(seed: int, counts: Counter[str] | None = None) -> str:
    """Return the text of the spec of a seed; the checker need not accept it."""
    counts = Counter() if counts is None else counts
    rng = np.random.default_rng(seed)
    kind = ("whole", "few", "repeated")[int(rng.choice(3, p=(0.6, 0.25, 0.15)))]
    is_whole = kind == "whole"

    def choose(forms: Any) -> str:
        form = str(rng.choice(forms))
        counts[form] += 1
        return form

    def block_of(blocks: Any) -> str:
        lines = blocks[
            max(0, int(rng.integers(-2, len(blocks))))
        ]  # often a straight line
        counts["block: " + "; ".join(lines)] += 1
        return "\n  ".join(lines)

    inputs = {"x2", "w"} | ({"xs", "ys", "a1", "a2", "missing_share"} if is_whole else {"is_old"})  # fmt: skip
    outputs = {"d1", "d2", "g1", "g2", "p", "q", "e1", "us", "fs", "hs", "ms"}
    outputs |= {"ds", "r1", "r2", "ps", "gs", "g3"} if is_whole else {"f1"}
    early, guard = inputs - {"is_old"}, {"w"}
    late = Writer(seed + 1, inputs | outputs, counts)
    later = Writer(seed + 2, inputs | outputs - {"e1", "f1", "g3"}, counts)
    first = Writer(seed, early if is_whole else guard, counts)
    shared = {
        "size": rng.choice([2, 3, 3, 4]),
        "high": rng.integers(0, 4),
        "drawn": choose(DRAWS),
        "change": choose(CHANGES).replace("'small", "'small'"),
        "requires": first.of("t") if rng.random() < 0.25 else "true",
        "later": later.of("n"),
    }
    condition = late.of("t")
    rates = tuple(form.replace("{c}", "$") for form in RATES)
    if kind == "repeated":
        ones = late.one_of(REPEATED), late.one_of(REPEATED)
        plain = Writer(seed + 3, inputs, counts)
        condition = plain.of("t")
        fair = plain.one_of(rates)
    else:
        ones, fair = (late.of("t"), late.of("t")), late.one_of(rates)
    shared |= {"one": ones[0], "other": ones[1], "fair": fair.replace("$", condition)}
    if is_whole:
        return SPEC.format(
            block=block_of(BLOCKS),
            derived=choose(DERIVED),
            excepted=choose((", except age", ", except joined", ", except age, mood", ", except joined, member", "")),
            **shared,
        )  # fmt: skip
    allow = rng.random() < 0.15
    counts["allow unchanged;"] += allow
    repeats = choose(("repeats 3;", "repeats n;")) if kind == "repeated" else ""
    return FEW.format(
        repeats=repeats,
        guard=choose(GUARDS),
        allow="allow unchanged;" if allow else "",
        block=block_of(FEW_BLOCKS),
        **shared,
    )


def accepted_specs(
    first: int, *, size: int = 0
) -> Iterator[tuple[str, Any, Any, Counter[str]]]:
    """Yield specs that the checker accepts: text, tree, core, and forms in it."""
    from nomos.diagnostics import Source
    from nomos.domain.domain import offer_of
    from nomos.lang.checking.check import check_spec
    from nomos.lang.reading.parse import parse_spec
    from tests.engine.reference import Plain

    offer = offer_of(Plain)
    for seed in range(first, first + 10**9):
        counts: Counter[str] = Counter()
        text = write_spec(seed, counts)
        if size:
            text = re.sub(r"n := \d;", f"n := {size};", text)
        source = Source("plain.nom", text)
        parsed = parse_spec(source)
        checked = check_spec(source, "plain", offer, parsed=parsed)
        if checked.spec is not None:
            yield source.text, parsed.spec, checked.spec, counts


def main() -> None:
    """Print how often each form stands in specs that the checker accepts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--specs", type=int, default=2000)
    given = parser.parse_args()
    every: Counter[str] = Counter()
    for _, (*_, counts) in zip(range(given.specs), accepted_specs(0), strict=False):
        every.update(counts.keys())
    forms = (
        *NUMBERS,
        *TRUTHS,
        *VECTORS,
        *CHANGES,
        *DRAWS,
        *DERIVED,
        *GUARDS,
        *REPEATED,
    )
    for form in (*forms, *(form.replace("{c}", "$") for form in RATES)):
        every.setdefault(form, 0)
    for form, count in sorted(every.items(), key=lambda pair: pair[1]):
        print(f"{count:6} {form}")


if __name__ == "__main__":
    main()
