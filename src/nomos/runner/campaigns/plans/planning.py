"""Which search a campaign makes: all cases, cases at random, or cases that are made."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nomos.domain.meter import Meter
from nomos.runner.campaigns.plans.generations import Generations
from nomos.runner.campaigns.plans.ranges import LARGEST, ON_DEVICE, Plan
from nomos.runner.executors.worker import About
from nomos.runner.options import Options
from nomos.search.guided import Strategy, strategy_by_name
from nomos.search.strategy import Material


def plan_for(
    options: Options,
    about: About,
    seed: int,
    ask: Callable[..., Any],
    warn: Callable[[str], None],
) -> Plan:
    """Choose a search; `ask` lets a worker say something of the job."""
    if options.generates_inputs:
        chosen = _strategy(
            options,
            ask("material", options.search == "guided"),
            about.subject.spec,
            warn,
        )
        return Generations(chosen, options, seed=seed, name=about.subject.property)
    space = about_space = None
    if options.search == "exhaustive":
        ask("space", None)
    elif options.search == "auto":
        space = ask("space", _listable(options, about.subject.k))
        about_space = ask("estimate_space") if space is None else None
    listed = options.search == "exhaustive" or space is not None
    total = about.ways if listed else None
    largest = LARGEST if about.device == "cpu" else ON_DEVICE
    plan = Plan(total=total, batch=options.batch, largest=largest)
    plan.space, plan.about_space = space, about_space
    return plan


def _strategy(
    options: Options, material: Material, spec: str, warn: Callable[[str], None]
) -> Strategy:
    """Return how inputs are made; say so where nothing guides a guided search."""
    if options.search != "guided":
        made = "diverse" if options.search == "diverse" else "mutated"
        return strategy_by_name(made, material)
    if material.unguided:
        how = "mutated at random" if material.cuts is None else "made between cuts"
        warn(
            f"{spec}: nothing tells how near a case comes to a violation"
            f" ({material.unguided}), so inputs are {how}"
        )
    return strategy_by_name("guided", material)


def _listable(options: Options, k: int | None) -> int:
    """Return up to how many cases all are tried, where nobody says what to do."""
    if options.calls is None:
        return options.every
    calls = options.calls - Meter(options.calls).reserve
    return min(options.every, max(options.cases, calls // max(1, k or 1)))
