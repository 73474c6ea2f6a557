"""Random specs mean in every execution mode what the reference page says."""

from __future__ import annotations

import importlib
import importlib.util
from collections import Counter
from itertools import islice, permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nomos import api, batched
from nomos.domain import tensors
from nomos.engine.cases import ListedCases, RandomCases
from nomos.engine.choices import Stream
from nomos.engine.engine import Engine
from nomos.engine.evaluated import Limits
from nomos.engine.interpreter import Verdict
from nomos.engine.program import Program
from nomos.engine.space import EndlessRange
from nomos.runner.campaigns.rates import CampaignRates
from tests.engine import reference as reference_module
from tests.engine.random_specs import accepted_specs
from tests.engine.reference import Campaign, Plain, Reference

ALL = Limits(2**60, 2**60)


def programs(first: int, count: int, size: int = 0, domain: Any = Plain) -> Any:
    """Yield random specs that the checker accepts, with their reference."""
    for text, tree, spec, _ in islice(accepted_specs(first, size=size), count):
        yield text, Program(spec, domain()), Reference(tree, domain())


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


def domain_of_tensors() -> type[Plain] | None:
    """Return the domain with models that work with tensors; None without torch."""
    if importlib.util.find_spec("torch") is None:
        return None
    torch = importlib.import_module("torch")

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

        @batched
        @tensors
        def votes(self, rows: Any) -> Any:
            parts = [rows[:, 0] * 28, rows[:, 2] + 1, rows[:, 4]]
            return torch.stack(parts, dim=1).to(torch.uint8)

        @batched
        @tensors
        def flags(self, rows: Any) -> Any:
            parts = [rows[:, 0] > 4, rows[:, 2] == 1, rows[:, 4] == 1]
            return torch.stack(parts, dim=1)

    return OfTensors


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    ("first", "specs", "cases"),
    [
        (0, 40, 20),
        *(
            pytest.param(first, 500, 50, marks=pytest.mark.slow)
            for first in range(0, 400_000, 100_000)
        ),
    ],
)
def test_random_specs_mean_what_the_page_says(
    first: int, specs: int, cases: int
) -> None:
    seen: set[str] = set()
    of_tensors = domain_of_tensors()
    for text, program, reference in programs(first, specs):
        stream = Stream(7, "plain")
        wanted = [
            reference.run(RandomCases(stream, number, 1).isolate_case(0))
            for number in range(cases)
        ]
        seen |= {verdict for verdict, *_ in wanted}
        straight = program.spec.code.straight is not None
        modes = "sequential", "coroutines", *(["vectorized"] if straight else [])
        engines = [Engine(program, mode) for mode in modes]
        if of_tensors is not None:
            engines.append(Engine(Program(program.spec, of_tensors())))
        for engine in engines:
            check(engine, RandomCases(stream, 0, cases), wanted, reference, text)
    assert seen >= {"passed", "violated", "discarded", "unchanged", "crashed"}


def list_first(program: Program) -> ListedCases | None:
    """Return the first cases that are listed; None where cases cannot be listed."""
    try:
        return next(Engine(program).list_cases())
    except EndlessRange:
        return None


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("specs", [5, pytest.param(100, marks=pytest.mark.slow)])
def test_listed_cases_mean_what_the_page_says(specs: int) -> None:
    listable = (  # with more than one item there are too many
        (text, program, reference, listed)
        for text, program, reference in programs(50_000, 10**6, size=1)
        if (listed := list_first(program)) is not None
    )
    for text, program, reference, listed in islice(listable, specs):
        rows = np.random.default_rng(1).permutation(listed.count)[:40]
        chosen = ListedCases(listed.known[rows], listed.lengths[rows])
        engine = Engine(program)
        wanted = [reference.run(chosen.isolate_case(n)) for n in range(chosen.count)]
        check(engine, chosen, wanted, reference, text)


class EveryDraw:
    """The draws of one case after the other: all choices there are."""

    def __init__(self) -> None:
        self.path: list[
            tuple[int, int]
        ] = []  # of each draw: what is chosen, and the last
        self.position = 0

    def integer(self, low: int, high: int) -> int:
        if self.position == len(self.path):
            self.path.append((low, high))
        self.position += 1
        return self.path[self.position - 1][0]

    def begin_next(self) -> bool:
        """Go on to the next case; False: there is none."""
        del self.path[self.position :]
        while self.path and self.path[-1][0] == self.path[-1][1]:
            self.path.pop()
        if self.path:
            self.path[-1] = self.path[-1][0] + 1, self.path[-1][1]
        self.position = 0
        return bool(self.path)


class OfAllPairs(Reference):
    """The reference, which finds pairs by comparing each row with each."""

    def draw_pair(self, drawn: Any, env: dict[str, Any]) -> None:
        excepted = {name.name for name in drawn.excepted}
        free = np.array([name in excepted for name in reference_module.FEATURES])

        def belong(one: Any, two: Any) -> bool:
            equal = (one == two) | (np.isnan(one) & np.isnan(two))
            return equal[~free].all() and not (free.any() and equal.all())

        pairs = [(a, b) for a, b in permutations(self.rows, 2) if belong(a, b)]
        one, two = pairs[self.draws.integer(0, len(pairs) - 1)]
        env[drawn.name.name], env[drawn.second.name] = one, two


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("specs", [3, pytest.param(60, marks=pytest.mark.slow)])
def test_exhaustive_campaigns_count_every_case_there_is(
    specs: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text("")
    file = Path(str(reference_module.__file__)).read_text("utf-8")
    end = "rows[13:15] = rows[0]\n"
    assert end in file
    few = f"{end}        rows = rows[[0, 13, 15, 7, 22, 6]]\n"
    (tmp_path / "plain.py").write_text(file.replace(end, few))
    seen = 0
    for text, tree, spec, _ in accepted_specs(60_000, size=1):
        if list_first(Program(spec, Plain())) is None:
            continue
        reference, draws = OfAllPairs(tree, Plain()), EveryDraw()
        reference.rows = reference.rows[[0, 13, 15, 7, 22, 6]]
        counts, told = Counter[str](), []
        while True:
            verdict, _, rates = reference.run(draws)
            counts[verdict] += 1
            told += [rates] if verdict in COUNTED else []
            if not draws.begin_next():
                break
        (tmp_path / "spec.nom").write_text(text)
        run = api.run_specs(
            "spec.nom",
            budget=10**6,
            store=False,
            search="exhaustive",
            max_crashes=10**6,
        )
        if not told:
            continue  # there is nothing to be said
        assert not run.failures, f"{run.failures[0].error}\n{text}"
        got = run[0].counts
        found = got.passed, got.violations, got.crashed, got.discarded, got.unchanged
        words = ("passed", "violated", "crashed", "discarded", "unchanged")
        assert found == tuple(counts[word] for word in words), text
        campaign = Campaign(reference, told, True)
        judged = [campaign.judge(one) for one in reference.of_campaign]
        assert [one.verdict for one in run[0].rates] == judged, text
        seen += 1
        if seen == specs:
            break


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
    stream, counts = Stream(0, "spec"), Counter[str]()

    def is_evaluated(reference: Reference) -> bool:
        cases = (RandomCases(stream, n, 1).isolate_case(0) for n in range(30))
        return any(reference.run(c)[0] not in ("discarded", "unchanged") for c in cases)

    found = next(
        one
        for one in programs(70_000 + seed, 10)
        if "requires true" in one[0] and is_evaluated(one[2])  # else it starves
    )
    (tmp_path / "spec.nom").write_text(found[0])
    run = api.run_specs(
        "spec.nom", budget=200, jobs=2, store=False, search="random", max_crashes=10**6
    )
    assert not run.failures, run.failures[0].error
    for number in range(10**5):
        verdict, *_ = found[2].run(RandomCases(stream, number, 1).isolate_case(0))
        counts[verdict] += 1
        if sum(counts[word] for word in ("passed", "violated", "crashed")) == 200:
            break
    got = run[0].counts
    words = "passed", "violated", "crashed", "discarded", "unchanged"
    assert tuple(counts[word] for word in words) == (
        *(got.passed, got.violations, got.crashed),
        *(got.discarded, got.unchanged),
    )
