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
from nomos.engine.interpreter import Verdict
from nomos.engine.judged import Limits
from nomos.engine.program import Program
from nomos.lang.checking.check import check_spec
from nomos.lang.reading.parse import parse_spec
from tests.engine import reference as reference_module
from tests.engine.reference import Plain, Reference

ALL = Limits(2**60, 2**60)
NUMBERS = (
    "v", "{i}", "2", "0.5", "d1", "x1.age", "x1.share", "x1.size", "xs[{i}].age", "ds[{i}]", "p[{k}]",
    "len(xs)", "len(p)", "({n} + {n})", "({n} - {n})", "({n} * {n})", "{n} / 2", "{n} % 3", "-({n})",
    "abs({n})", "round({n})", "min({n}, {n})", "max({n}, {n}, {n})", "sum(p)", "mean(ds)", "max(ds)",
    "norm({p})", "norm({p}, 1)", "norm({p}, inf)", "sqrt(abs({n}))", "exp(-abs({n}))", "x1.age ** 2",
    "(count {a} in xs: {t})", "(count {a}, {b} in p if {a} != {b}: {t})", "(sum {a} in xs: {n})",
    "(mean {a} in xs if xs[{a}].member == 0: {n})", "(max {a} in ds: {n})", "(min {a} < {b} in xs: {n})",
    "(if {t} then {n} else {n})", "twice({n})", "(sum {a} in top(x1): {n})", "sum([{n} for y in xs])",
    "missing_share",
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
        "ds = [rate(x) for x in xs]",
        "d1 = rate(x1)",
        "g1 = grade(x1)",
        "g2 = grade(x2)",
        "p = shares(x1)",
        "q = shares(x2)",
    ),
    (
        "ds = []",
        "for x in xs: ds.append(rate(x))",
        "d1, g1, g2 = rate(x1), grade(x1), grade(x2)",
        "p, q = shares(x1), shares(x2)",
    ),
)
SPEC = """import plain;
param n := 3;
def twice(a) := a + a;
def near(a, b) := abs(a - b) <= n;
input x1;
input xs[n];
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
{{
  {block}
}}
ensures {one};
ensures {other};
"""


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
            made = ("d1", "ds", "g1", "g2", "p", "q", "p:", "ds:", "ds]")
            if not self.outputs and any(
                n in made or n.startswith(("p[", "ds[")) for n in names
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
    )
    early, late = Writer(seed, False), Writer(seed + 1, True)
    return SPEC.format(
        high=rng.integers(0, 4),
        change=rng.choice(changes),
        requires=early.of("t") if rng.random() < 0.4 else "true",
        block="\n  ".join(BLOCKS[rng.integers(2)]),
        one=late.of("t"),
        other=late.of("t"),
    )


def programs(first: int, count: int) -> Any:
    """Yield random specs that the checker accepts, with their reference."""
    seed = first
    while count:
        text, seed = write_spec(seed), seed + 1
        source = Source("plain.nom", text)
        parsed = parse_spec(source)
        checked = check_spec(source, "plain", offer_of(Plain), parsed=parsed)
        if checked.spec is not None:
            count -= 1
            yield text, Program(checked.spec, Plain()), Reference(parsed.spec)


def outcomes(judged: Any) -> list[tuple[str, tuple[int, ...]]]:
    failed = dict(
        zip(
            judged.violations.rows.tolist(),
            judged.violations.failed.tolist(),
            strict=True,
        )
    )
    return [
        (
            Verdict(v).name.lower(),
            tuple(n for n in range(2) if failed.get(row, 0) >> n & 1),
        )
        for row, v in enumerate(judged.verdicts.tolist())
    ]


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
        seen |= {verdict for verdict, _ in wanted}
        straight = program.spec.code.straight is not None
        for mode in ("sequential", "coroutines", *(["vectorized"] if straight else [])):
            engine = Engine(program, mode)
            judged = engine.run(RandomCases(stream, 0, cases), ALL)
            assert outcomes(judged) == wanted, f"{mode}\n{text}"
    assert seen >= {"passed", "violated", "discarded"}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("specs", [5, pytest.param(100, marks=pytest.mark.slow)])
def test_listed_cases_mean_what_the_page_says(specs: int) -> None:
    for text, program, reference in programs(50_000, specs):
        listed = next(Engine(program).list_cases())
        rows = np.random.default_rng(1).permutation(listed.count)[:40]
        chosen = ListedCases(listed.known[rows], listed.lengths[rows])
        engine = Engine(program)
        judged = engine.run(chosen, ALL)
        wanted = [reference.run(chosen.isolate_case(n)) for n in range(chosen.count)]
        assert outcomes(judged) == wanted, text


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("specs", [5, pytest.param(300, marks=pytest.mark.slow)])
def test_models_of_tensors_mean_what_the_page_says(specs: int) -> None:
    torch = pytest.importorskip("torch")

    class OfTensors(Plain):
        @batched
        @tensors
        def rate(self, rows: Any) -> Any:
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
        judged = Engine(own).run(RandomCases(stream, 0, 20), ALL)
        assert outcomes(judged) == wanted, text


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
        verdict, _ = found[2].run(RandomCases(stream, number, 1).isolate_case(0))
        counts[verdict] += 1
    got = run[0].counts
    assert (got.passed, got.violations, got.crashed) == tuple(
        counts[word] for word in ("passed", "violated", "crashed")
    )
