"""Random specs mean in every execution mode what the reference page says."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nomos import api, batched
from nomos.diagnostics import Source
from nomos.domain import tensors
from nomos.domain.domain import offer_of
from nomos.engine.cases import ListedCases, RandomCases
from nomos.engine.choices import Stream
from nomos.engine.engine import Engine
from nomos.engine.evaluated import Limits
from nomos.engine.interpreter import Verdict
from nomos.engine.program import Program
from nomos.lang.checking.check import check_spec
from nomos.lang.reading.parse import parse_spec
from nomos.runner.campaigns.rates import CampaignRates
from tests.engine import reference as reference_module
from tests.engine.reference import Campaign, Plain, Reference

ALL = Limits(2**60, 2**60)
NUMBERS = (
    "v", "{i}", "2", "0.5", "d1", "x1.age", "x1.share", "x1.size", "xs[{i}].age", "ds[{i}]", "p[{k}]",
    "len(xs)", "len(p)", "({n} + {n})", "({n} - {n})", "({n} * {n})", "{n} / 2", "{n} % 3", "-({n})",
    "abs({n})", "round({n})", "min({n}, {n})", "max({n}, {n}, {n})", "sum(p)", "mean(ds)", "max(ds)",
    "norm({p})", "norm({p}, 1)", "norm({p}, inf)", "sqrt(abs({n}))", "exp(-abs({n}))", "x1.age ** 2",
    "(count {a} in xs: {t})", "(count {a}, {b} in p if {a} != {b}: {t})", "(sum {a} in xs: {n})",
    "(mean {a} in xs if xs[{a}].member == 0: {n})", "(max {a} in ds: {n})", "(min {a} < {b} in xs: {n})",
    "(if {t} then {n} else {n})", "twice({n})", "(sum {a} in top(x1): {n})", "sum([{n} for y in xs])",
    "missing_share", "r1", "a1.age", "a2.share", "ps[{i}][{k}]", "sum(ps[{i}])", "x1.joined - a2.joined",
    "(x1.joined - date('2024-01-15')) % 7", "(max {a} in ps[{i}]: ps[{i}][{a}])",
    "(sum {a}, {b} in ps: norm(ps[{a}] - ps[{b}]))", "(mean {a} in ys: ys[{a}].age)",
)  # fmt: skip
TRUTHS = (
    "{n} <= {n}", "{n} < {n}", "{n} == {n}", "{n} != {n}", "{n} in {{1, {n}}}", "{n} in 0..{n}",
    "!({t})", "({t} && {t})", "({t} || {t})", "({t} ==> {t})", "v in ds", "d1 in top(x1)", "{n} in p",
    "(forall {a} in xs: {t})", "(exists {a} in ds if {t}: {t})", "(forall {a} < {b} in xs: {t})",
    "(exists {a}, {b} in p: {t})", "isclose({n}, {n}, abs := 0.5)", "isclose(p, q, rel := 0.3)",
    "missing(x1.share)", "!missing(xs[{i}].share)", "x1.mood == 'calm'", "x1.mood != x2.mood",
    "x1.size >= 'middle'", "x1.size in {{'small', 'large'}}", "x1.size in 'small'..'middle'",
    "g1 <= g2", "g1 in 'fair'..'good'", "g1 == 'poor'", "g1 < 'good'", "(forall {a} in xs: grade(xs[{a}]) >= g1)",
    "near({n}, {n})", "x1 == x2", "ys[{i}].age > {n}", "p == q", "true", "(if {t} then {t} else {t})",
    "r1 == r2", "a1.age == a2.age", "a1.size == a2.size", "a1 == a2", "a1.joined <= a2.joined",
    "x1.joined <= '2024-02-01'", "x1.joined + days({n}) < xs[{i}].joined", "x2.mood in {{'calm', 'wild'}}",
    "x2.joined in '2024-01-10'..'2024-02-20'", "x1.joined - days(3) != a1.joined", "xs[{i}].joined == '2024-01-05'",
    "(forall {a} in ps: forall {b} in ps[{a}]: {n} <= {n})", "missing(a1.share)", "missing({n})",
    "(forall {a} < {b} in ps[{i}]: ps[{i}][{a}] <= {n})", "isclose(ps[{i}], p, abs := 0.1)",
)  # fmt: skip
VECTORS = (
    "p",
    "q",
    "(p - q)",
    "(2 * p)",
    "(p + q * 0.5)",
    "[y.age for y in xs]",
    "abs(p - 0.3)",
    "p ** 2",
    "ds",
)
BLOCKS = (
    (
        "ds = [score(x) for x in xs]",
        "d1 = score(x1)",
        "g1 = grade(x1)",
        "g2 = grade(x2)",
        "p = shares(x1)",
        "q = shares(x2)",
        "r1, r2 = score(a1), score(a2)",
        "ps = [shares(x) for x in xs]",
    ),
    (
        "ds = []",
        "for x in xs: ds.append(score(x))",
        "d1, g1, g2 = score(x1), grade(x1), grade(x2)",
        "p, q = shares(x1), shares(x2)",
        "ps, (r1, r2) = [], map(score, (a1, a2))",
        "for x in xs: ps.append(shares(x))",
    ),
)
SPEC = """import plain;
param n := 3;
def twice(a) := a + a;
def near(a, b) := abs(a - b) <= n;
input x1;
input xs[n];
input a1, a2 where same(a1, a2, except {excepted});
var v := randInt(0, {high});
var x2 := x1[{change}];
var ys := [x[age := x.age + v] for x in xs];
var missing_share := if missing(x1.share) then 0 else x1.share;
requires {requires};
output d1;
output g1;
output g2;
output p;
output q;
output ds;
output r1;
output r2;
output ps;
{{
  {block}
}}
ensures {one};
ensures {other};
ensures fair: {fair};
"""
RATES = (
    "rate({t} | {c}) - rate({t} | !({c})) in -0.3..0.3",
    "rate({t}) <= 0.4",
    "rate({t} | {t}) >= rate({t})",
    "abs(rate({t}) - rate({t} | {t})) < 0.2",
    "rate({t}) > 0.5 || !(rate({t} | {t}) - 0.1 == 0)",
)


class Writer:
    """Writes expressions at random; names of indices are those in force."""

    def __init__(self, seed: int, outputs: bool) -> None:
        self.rng, self.outputs, self.depth = np.random.default_rng(seed), outputs, 0
        self.indices: list[str] = []

    def of(self, kind: str) -> str:
        forms: Any = {"n": NUMBERS, "t": TRUTHS, "p": VECTORS}[kind]
        simple = [f for f in forms if not any(w in f for w in ("{n}", "{t}", "{p}"))]
        for _ in range(99):
            form = self.rng.choice(simple if self.depth > 2 else forms)
            names = (
                form.replace("'", " ")
                .replace("[", " ")
                .replace("(", " ")
                .replace(")", " ")
                .replace(",", " ")
                .split()
            )
            made = (
                "d1",
                "ds",
                "g1",
                "g2",
                "p",
                "q",
                "p:",
                "ds:",
                "ds]",
                "r1",
                "r2",
                "ps",
                "ps:",
            )
            if not self.outputs and any(
                n in made or n.startswith(("p[", "ds[", "ps[")) for n in names
            ):
                continue
            if "{i}" in form and not self.indices and form == "{i}":
                continue
            return self.fill(form)
        return "v" if kind == "n" else "true" if kind == "t" else "[y.age for y in xs]"

    def fill(self, form: str) -> str:
        self.depth += 1
        own = [
            f"i{len(self.indices) + n}"
            for n in range(("{a}" in form) + ("{b}" in form))
        ]
        before = list(self.indices)
        self.indices += own
        result, rest = "", form
        while rest:
            start = rest.find("{")
            if start < 0:
                result, rest = result + rest, ""
            elif rest[start : start + 2] == "{{":
                result, rest = result + rest[:start] + "{", rest[start + 2 :]
            else:
                key, tail = (
                    rest[start + 1 : rest.index("}", start)],
                    rest[rest.index("}", start) + 1 :],
                )
                result, rest = result + rest[:start] + self.part(key, own), tail
        self.indices, self.depth = before, self.depth - 1
        return result.replace("}}", "}")

    def part(self, key: str, own: list[str]) -> str:
        if key in "ab":
            return own["ab".index(key)]
        if key == "i":
            return self.rng.choice([*self.indices, "0", "2", "v % 3"])
        if key == "k":
            return self.rng.choice(["0", "2"])
        return self.of(key)


def write_spec(seed: int) -> str:
    rng = np.random.default_rng(seed)
    changes = (
        "age := x1.age + 1",
        "size := 'large'",
        "mood := 'wild'",
        "share := missing",
        "member := 1 - x1.member",
        "mood := unseen('odd')",
        "joined := x1.joined + days(v)",
        "joined := '2024-02-29'",
    )
    early, late = Writer(seed, False), Writer(seed + 1, True)
    condition = late.of("t").replace("{", "{{").replace("}", "}}")
    return SPEC.format(
        high=rng.integers(0, 4),
        change=rng.choice(changes),
        requires=early.of("t") if rng.random() < 0.4 else "true",
        block="\n  ".join(BLOCKS[rng.integers(2)]),
        one=late.of("t"),
        other=late.of("t"),
        fair=late.fill(str(rng.choice(RATES)).replace("{c}", condition)),
        excepted=rng.choice(["age", "joined", "age, mood", "joined, member"]),
    )


class Few(Plain):
    """So few rows that all cases can be listed."""

    def inputs(self) -> Any:
        return super().inputs()[[0, 1, 15, 16, 6, 21]]


def programs(first: int, count: int, size: int = 3, domain: Any = Plain) -> Any:
    """Yield random specs that the checker accepts, with their reference."""
    seed = first
    while count:
        text, seed = write_spec(seed).replace("n := 3;", f"n := {size};"), seed + 1
        source = Source("plain.nom", text)
        parsed = parse_spec(source)
        checked = check_spec(source, "plain", offer_of(Plain), parsed=parsed)
        if checked.spec is not None:
            count -= 1
            yield (
                text,
                Program(checked.spec, domain()),
                Reference(parsed.spec, domain()),
            )


def outcomes(evaluated: Any, rates: int) -> list[tuple[str, tuple[int, ...], Any]]:
    """Return what became of each case, which `ensures` fail, and what is told of rates."""
    failures = zip(
        evaluated.violations.rows.tolist(),
        evaluated.violations.failed.tolist(),
        strict=True,
    )
    failed = dict(failures)
    found = []
    for row, number in enumerate(evaluated.verdicts.tolist()):
        verdict, bits = Verdict(number).name.lower(), int(evaluated.rate_bits[row])
        told = [
            (bool(bits >> 2 * n & 1), bool(bits >> 2 * n & 2)) for n in range(rates)
        ]
        ensures = tuple(n for n in range(2) if failed.get(row, 0) >> n & 1)
        found.append((verdict, ensures, told if verdict in COUNTED else []))
    return found


def check(
    engine: Engine, cases: Any, wanted: Any, reference: Reference, text: str
) -> None:
    """Check what became of cases, and what a campaign of them says of its rates."""
    found = outcomes(engine.run(cases, ALL), len(reference.rates))
    assert found == wanted, f"{engine}\n{text}"
    told = [rates for verdict, _, rates in found if verdict in COUNTED]
    for is_exact in (False, True):
        counts = CampaignRates(
            engine.program.spec.campaign_ensures, engine.program.spec.rates
        )
        bits = [
            sum((a + 2 * b) << 2 * n for n, (a, b) in enumerate(one)) for one in told
        ]
        counts.add(np.array(bits, dtype=np.int64))
        campaign = Campaign(reference, told, is_exact)
        for ensures, got in zip(
            reference.of_campaign, counts.evaluate(is_exact=is_exact), strict=True
        ):
            assert campaign.judge(ensures) == got.verdict, f"exact: {is_exact}\n{text}"


COUNTED = ("passed", "violated")


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    ("specs", "cases"),
    [(40, 20), pytest.param(2000, 50, marks=pytest.mark.slow)],
)
def test_random_specs_mean_what_the_page_says(specs: int, cases: int) -> None:
    seen: set[str] = set()
    for text, program, reference in programs(0, specs):
        stream = Stream(7, "plain")
        wanted = [
            reference.run(RandomCases(stream, number, 1).isolate_case(0))
            for number in range(cases)
        ]
        seen |= {verdict for verdict, *_ in wanted}
        straight = program.spec.code.straight is not None
        for mode in ("sequential", "coroutines", *(["vectorized"] if straight else [])):
            engine = Engine(program, mode)
            check(engine, RandomCases(stream, 0, cases), wanted, reference, text)
    assert seen >= {"passed", "violated", "discarded"}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("specs", [5, pytest.param(100, marks=pytest.mark.slow)])
def test_listed_cases_mean_what_the_page_says(specs: int) -> None:
    for text, program, reference in programs(
        50_000, specs, size=1
    ):  # else there are too many to list
        listed = next(Engine(program).list_cases())
        rows = np.random.default_rng(1).permutation(listed.count)[:40]
        chosen = ListedCases(listed.known[rows], listed.lengths[rows])
        engine = Engine(program)
        wanted = [reference.run(chosen.isolate_case(n)) for n in range(chosen.count)]
        check(engine, chosen, wanted, reference, text)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("specs", [5, pytest.param(300, marks=pytest.mark.slow)])
def test_models_of_tensors_mean_what_the_page_says(specs: int) -> None:
    torch = pytest.importorskip("torch")

    class OfTensors(Plain):
        @batched
        @tensors
        def score(self, rows: Any) -> Any:
            return (rows[:, 0] + rows[:, 2]).long() % 3

        @batched
        @tensors
        def shares(self, rows: Any) -> Any:
            parts = torch.stack([rows[:, 0], rows[:, 2], rows[:, 4]], dim=1) + 1
            return parts / parts.sum(dim=1, keepdim=True)

    for text, program, reference in programs(90_000, specs):
        own = Program(program.spec, OfTensors())
        stream = Stream(7, "plain")
        wanted = [
            reference.run(RandomCases(stream, number, 1).isolate_case(0))
            for number in range(20)
        ]
        check(Engine(own), RandomCases(stream, 0, 20), wanted, reference, text)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("seed", range(0, 60, 10))
def test_two_workers_count_what_the_page_says(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text("")
    domain = Path(str(reference_module.__file__)).read_text("utf-8")
    (tmp_path / "plain.py").write_text(domain)
    found = next(
        one
        for one in programs(70_000 + seed, 10)
        if "requires true" in one[0]  # so that no campaign starves
    )
    (tmp_path / "spec.nom").write_text(found[0])
    run = api.run_specs(
        "spec.nom", budget=200, jobs=2, store=False, search="random", max_crashes=10**6
    )
    assert not run.failures, run.failures[0].error
    stream, counts = Stream(0, "spec"), Counter[str]()
    for number in range(200):
        verdict, *_ = found[2].run(RandomCases(stream, number, 1).isolate_case(0))
        counts[verdict] += 1
    got = run[0].counts
    assert (got.passed, got.violations, got.crashed) == tuple(
        counts[word] for word in ("passed", "violated", "crashed")
    )
