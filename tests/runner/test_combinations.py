"""Options combined at random: the same counts where they must be, a clear refusal elsewhere.

An option either says what is asked (the search, the budget, the seed) or how it is worked
out (the execution mode, the workers, the store). Runs that ask for the same must find the
same, however it is worked out.
"""

from __future__ import annotations

import signal
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nomos
from nomos.errors import NomosError
from nomos.results.result import Result
from nomos.runner.events import Event, Progress

# What a run remarks upon (rows outside the schema, an interruption) is not what is compared.
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

DOMAIN = '''
import numpy as np

from nomos import Domain, Schema, batched, concurrent, random
from nomos.domain import Category, Integer, Real


class Shop(Domain):
    """Orders of customers, some with gaps, and a rule with a hole in it."""

    schema = Schema(
        Integer("orders", 0, 30),
        Real("spent", 0, 100, missing=True),
        Category("plan", ("free", "pro", "team")),
    )
    classes = {name: (0, 1) for name in ("many", "one", "waiting", "threaded", "coin")}

    def __init__(self, faults: bool = False) -> None:
        self.faults = faults

    def inputs(self):
        rng = np.random.default_rng(3)
        rows = np.column_stack(
            [rng.integers(0, 31, 60), rng.integers(0, 400, 60) / 4, rng.integers(0, 3, 60)]
        )
        rows[::7, 1] = np.nan
        return rows

    def _rule(self, rows):
        if self.faults and (rows[:, 0] == 17).any():
            raise ValueError("17 orders")
        high = np.nan_to_num(rows[:, 1]) + 2 * rows[:, 0] > 70
        hole = (rows[:, 0] % 7 == 3) | (rows[:, 2] == 1) & (rows[:, 0] > 20)
        return (high & ~hole).astype(int)

    @batched
    def many(self, rows):
        return self._rule(np.asarray(rows))

    def one(self, row):
        return int(self._rule(row[None])[0])

    async def waiting(self, row):
        return self.one(row)

    @concurrent
    def threaded(self, row):
        return self.one(row)

    @random
    def coin(self, row, rng):
        return int(rng.random() < (0.1 + 0.8 * self.one(row)))
'''
SPECS = {
    "drawn": "var y := x[orders := min(x.orders + randInt(1, 9), 30)];",
    "listed": "requires x.orders < 30;\nvar y := x[orders := x.orders + 1];",
    "real": 'var y := x[spent := x.spent + randReal(0, 20)][plan := "pro"];',
}
CLAIM = "ensures a <= b;"
FUNCTIONS = ("many", "one", "waiting", "threaded", "coin")
ASKED: dict[str, tuple[Any, ...]] = {
    "search": ("auto", "random", "random", "exhaustive", "guided", "diverse"),
    "inputs": (None,) * 6 + ("data", "generated"),
    "budget": (None, 40, 150, 400),
    "confirm": (None, None, "all", 1, 3),
    "groups": (True, True, False),
    "shrink": (True, True, False),
    "until_bug": (False, False, False, True),
    "repeats": (None, None, None, None, 3),
    "require": (None,) * 15 + (2,),
    "verify": (False, False, True),
    "seeds": ((0,), (1,), (2, 3)),
    "max_crashes": (1000,),
}
WORKED_OUT: dict[str, tuple[Any, ...]] = {
    "mode": (None, None, "vectorized", "coroutines", "sequential"),
    "jobs": (1, 1, 2),
    "batch": (None, None, 1, 7, 64),
    "isolate": (False, False, True),
    "concurrency": (8, 1, 3),
    "cache": ("read", "off", "refresh"),
    "device": ("cpu",),
    "store": (True, True, True, False),
    "resume": (False, False, True),
    "call_timeout_s": (None, None, 30.0),
    "rate": (None, None, (100_000, 1.0)),
}
PLAIN = {name: values[0] for name, values in WORKED_OUT.items()} | {"store": False}


def draw(rng: np.random.Generator, values: tuple[Any, ...]) -> Any:
    return values[rng.integers(len(values))]


def found(results: Any) -> list[dict[str, Any]]:
    """Return what campaigns found, without what depends on time, and on who had asked."""
    for failure in results.failures:
        raise failure.error
    return [facts(result) for result in results]


def facts(result: Result) -> dict[str, Any]:
    counts = {n: v for n, v in asdict(result.counts).items() if n in COUNTED}
    bugs = [
        (bug.id, bug.case, bug.failures, bug.seen, bug.confirmed, str(bug.inputs))
        for bug in result.bugs
    ]
    analysis = result.analysis
    groups = [] if analysis is None else [str(group) for group in analysis.groups]
    crashes = [(crash.case, crash.error) for crash in result.crashes]
    return {
        "verdict": result.verdict,
        "counts": counts,
        "bugs": bugs,
        "groups": groups,
        "crashes": crashes,
    }


COUNTED = {
    *("tests", "passed", "violations", "unique_bugs", "discarded", "unchanged"),
    *("crashed", "flaky", "unreadable", "complete"),
}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "shop.py").write_text(DOMAIN)
    for name, change in SPECS.items():
        for function in FUNCTIONS:
            block = f"{{\n  a = {function}(x)\n  b = {function}(y)\n}}"
            text = f"import shop;\ninput x;\n{change}\noutput a;\noutput b;\n{block}\n{CLAIM}\n"
            (tmp_path / f"{name}_{function}.nom").write_text(text)
    return tmp_path


def interrupt(events: list[Event]) -> Any:
    """Return a listener that interrupts the run once, as Ctrl-C does."""

    def listen(event: Event) -> None:
        if isinstance(event, Progress) and not events:
            events.append(event)
            signal.raise_signal(signal.SIGINT)

    return listen


def run(spec: str, folder: Path, **options: Any) -> Any:
    """Run a spec; with `resume`, after a run that is interrupted where it can be."""
    store = folder if options.pop("store") else False
    if options.pop("resume"):
        if store is False:
            nomos.run_specs(spec, store=False, resume=True, **options)  # is refused
        with suppress(KeyboardInterrupt):
            nomos.run_specs(spec, store=store, handlers=[interrupt([])], **options)
        return nomos.run_specs(spec, store=store, resume=True, **options)
    return nomos.run_specs(spec, store=store, **options)


def explain(error: NomosError, options: dict[str, Any]) -> None:
    """Check that a refusal names an option that was given."""
    text = str(error).replace("-", "_")
    names = [f"`{name}`" for name in options] + ["exhaustively"]
    assert any(name in text for name in names), error


def compare(seed: int, folder: Path) -> str:
    """Run one combination and the plain run that asks for the same; say how it ended."""
    rng = np.random.default_rng(seed)
    spec = f"{draw(rng, tuple(SPECS))}_{draw(rng, FUNCTIONS)}.nom"
    settings = {"faults": "true"} if rng.random() < 0.2 else {}
    asked = {name: draw(rng, values) for name, values in ASKED.items()}
    asked["settings"] = settings
    how = {name: draw(rng, values) for name, values in WORKED_OUT.items()}
    try:
        plain = found(run(spec, folder, **asked, **PLAIN))
    except NomosError as error:
        explain(error, asked)
        with pytest.raises(NomosError):
            found(run(spec, folder, **asked, **how))
        return "refused"
    try:
        other = found(run(spec, folder, **asked, **how))
    except NomosError as error:
        explain(error, how)
        return "refused"
    assert plain == other, (seed, spec, asked, how)
    return "same"


# 350: bugs of generated inputs with gaps, which are read from the store.
@pytest.mark.parametrize("seed", [1, 2, 3, 350])
def test_a_combination_finds_what_the_plain_run_finds(
    project: Path, tmp_path: Path, seed: int
) -> None:
    compare(seed, tmp_path / "store")


@pytest.mark.slow
@pytest.mark.parametrize("start", range(100, 600, 50))
def test_five_hundred_combinations_find_what_plain_runs_find(
    project: Path, tmp_path: Path, start: int
) -> None:
    ended = [
        compare(seed, tmp_path / f"store{seed}") for seed in range(start, start + 50)
    ]
    assert ended.count("same") > 30
