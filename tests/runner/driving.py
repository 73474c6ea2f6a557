"""How tests drive campaigns, and what those of the project of numbers come to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

from nomos.results.analysis import Analysis
from nomos.results.result import Result
from nomos.runner.driver import Driver
from nomos.runner.events import Event
from nomos.runner.jobs import Job, Run
from nomos.runner.options import Options
from nomos.store.store import Store

_NAMES = {"cases": "default_budget", "seconds": "time", "crashes": "max_crashes"}


def options_of(**given: Any) -> Options:
    """Return options; without a budget, 5000 cases are all that `auto` may list."""
    named = {_NAMES.get(name, name): value for name, value in given.items()}
    return Options(**{"default_budget": 5000, **named})


def drive(
    paths: Sequence[Path],
    *,
    root: Path | None = None,
    seeds: Sequence[int] = (0,),
    settings: dict[str, str] | None = None,
    store: Store | None = None,
    **options: Any,
) -> tuple[Run, list[Event], list[str]]:
    """Run a campaign for each spec and seed; return the run, its events and warnings."""
    events: list[Event] = []
    warnings: list[str] = []
    driver = Driver(
        root or paths[0].parent.parent,
        options_of(**options),
        store=store,
        handlers=[events.append],
        warn=warnings.append,
    )
    run = driver.run([Job(path, settings or {}) for path in paths], seeds)
    return run, events, warnings


def run(path: Path, *, seed: int = 0, **options: Any) -> tuple[Result, list[Event]]:
    """Run one campaign; return its result and its events."""
    done, events, _ = drive([path], seeds=[seed], **options)
    for failure in done.failures:
        raise failure.error
    (result,) = done.results
    return result, events


def counts(result: Result, *without: str) -> dict[str, Any]:
    """Return the counts without the time it took and what was remembered meanwhile."""
    dropped = {"seconds", *without}
    return {n: v for n, v in asdict(result.counts).items() if n not in dropped}


def outcome(result: Result) -> dict[str, Any]:
    """Return everything that a campaign found, without the time and calls it took.

    How many cases the flakiness check runs again depends on the time and calls there are.
    """
    took = ("live", "calls")
    data = {
        f.name: getattr(result, f.name) for f in fields(Result) if f.name not in took
    }
    data["crashes"] = [(c.case, c.choices, c.error, c.seen) for c in result.crashes]
    return data | {"counts": counts(result), "analysis": without_check(result)}


def without_check(result: Result) -> Analysis | None:
    """Return the analysis without how much the flakiness check ran again."""
    if result.analysis is None:
        return None
    took: dict[str, Any] = {"flakiness": None, "sampled": 0, "model_calls": 0}
    return replace(result.analysis, **took)


def answer(number: int) -> int:
    """Return what the model says, by hand."""
    return -1 if number % 17 == 3 else number // 10


def truth(count: int = 30, at: tuple[int, ...] = ()) -> Counter[str]:
    """Count the cases of `steps.nom` by a plain loop, without Nomos."""
    counted: Counter[str] = Counter()
    for x in range(count):
        for y in range(x, x + 10):
            if y % 5 == 0:
                counted["discarded"] += 1
            elif x in at or y in at:
                counted["crashed"] += 1
            else:
                wrong = answer(x) > answer(y)
                counted["violations" if wrong else "passed"] += 1
    return counted
