"""Which search a campaign makes: all cases, cases at random, or cases that are made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from nomos.runner.campaigns.generations import Generations
from nomos.runner.campaigns.ranges import LARGEST, ON_DEVICE, Plan
from nomos.runner.executors.worker import About
from nomos.runner.options import Budget, Options
from nomos.search.guided import Strategy, strategy
from nomos.search.strategy import Material


@dataclass(frozen=True, slots=True)
class Planned:
    """A plan, how many cases there are where all are tried, and about how many else."""

    plan: Plan
    space: int | None = None
    about_space: int | None = None


def planned_for(
    options: Options,
    about: About,
    seed: int,
    ask: Callable[..., Any],
    warn: Callable[[str], None],
) -> Planned:
    """Choose a search; `ask` lets a worker say something of the job."""
    if options.makes_inputs:
        chosen = _strategy(
            options,
            ask("material", options.search == "guided"),
            about.subject.spec,
            warn,
        )
        return Planned(generations(options, about, seed, chosen))
    space = about_space = None
    if options.search == "exhaustive":
        ask("space", None)
    elif options.search == "auto":
        space = ask("space", _listable(options.budget, about.subject.k))
        about_space = ask("estimated_space") if space is None else None
    listed = options.search == "exhaustive" or space is not None
    total = about.ways if listed else None
    largest = LARGEST if about.device == "cpu" else ON_DEVICE
    plan = Plan(next_first=0, total=total, batch=options.batch, largest=largest)
    return Planned(plan, space, about_space)


def generations(
    options: Options, about: About, seed: int, chosen: Strategy
) -> Generations:
    """Return the plan of a search that makes its inputs."""
    name = about.subject.property
    return Generations(
        chosen, options.search, seed=seed, name=name, batch=options.batch
    )


def _strategy(
    options: Options, material: Material, spec: str, warn: Callable[[str], None]
) -> Strategy:
    """Return how inputs are made; say so where nothing guides a guided search."""
    if options.search != "guided":
        made = "collecting" if options.search == "collecting" else "mutated"
        return strategy(made, material)
    if material.unguided:
        how = "mutated at random" if material.cuts is None else "made between cuts"
        warn(
            f"{spec}: nothing tells how near a case comes to a violation"
            f" ({material.unguided}), so inputs are {how}"
        )
    return strategy("guided", material)


def _listable(budget: Budget, k: int | None) -> int:
    """Return up to how many cases all are tried, where nobody says what to do."""
    if budget.every is None:
        return budget.cases
    if budget.calls is None:
        return budget.every
    return min(budget.every, max(budget.cases, budget.calls // max(1, k or 1)))
