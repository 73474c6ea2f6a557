"""Which search a campaign makes: all cases, cases at random, or cases that are made.

Those that a search makes come one generation after the other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from nomos.domain.meter import Meter
from nomos.engine.evaluated import EvaluatedChunk
from nomos.engine.interpreter import Verdict
from nomos.runner.campaigns.plans.ranges import LARGEST, ON_DEVICE, Plan, Range
from nomos.runner.executors.worker import About
from nomos.runner.options import Options
from nomos.search.guided import Strategy, strategy_by_name
from nomos.search.strategy import Feedback, Material, generation_rng


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


class Generations(Plan):
    """Says which generation comes next; where the search learns, one at a time."""

    def __init__(
        self, strategy: Strategy, options: Options, *, seed: int, name: str
    ) -> None:
        super().__init__(total=None, batch=options.batch)
        self.strategy = strategy
        self._learns = strategy.learns != "nothing"
        self.search = options.search if self._learns else "generated"
        self.scope = "generated"
        self._seed, self._name = seed, name
        self._awaits_verdicts = False
        self._parts: list[EvaluatedChunk] = []  # of the generation that is merged

    def can_resume(self, next_case: int) -> bool:
        """Tell whether a case is the first of its generation."""
        if self._learns:
            return next_case == self.next_first
        return next_case % self.strategy.size == 0

    def next(
        self,
        wanted: float,
        cases_per_input: float,
        *,
        shares: bool = False,
        may_end_early: bool = False,
    ) -> Range | None:
        """Return the next generation; None while it waits for the one before."""
        if self._awaits_verdicts:
            return None
        number = self.next_first // self.strategy.size
        cases = self.strategy.propose(generation_rng(self._seed, self._name, number))
        if self._learns and wanted < len(cases):  # the last one is not run in vain
            cases = cases.take(np.s_[: max(self.strategy.size, math.ceil(wanted))])
        planned = Range(
            self.next_first,
            len(cases),
            made=cases,
            batch=self.batch,
            signals=self.strategy.learns == "margins",
        )
        self.next_first += len(cases)
        self._awaits_verdicts = self._learns
        return planned

    def learn(self, asked: Range, parts: Sequence[EvaluatedChunk]) -> None:
        """Learn from a generation, when all of it is there."""
        if not self._learns or asked.made is None:
            return
        self._parts += parts
        if sum(map(len, self._parts)) == asked.count:
            self.strategy.learn(asked.made, _gather_feedback(self._parts))
            self._parts, self._awaits_verdicts = [], False

    def state(self) -> Any:
        """Return what was learned, as data that JSON can hold."""
        return self.strategy.state()

    def restore(self, state: Any) -> None:
        """Go on from what a search had learned."""
        self.strategy.restore(state)


def _gather_feedback(parts: Sequence[EvaluatedChunk]) -> Feedback:
    verdicts = np.concatenate([part.verdicts for part in parts])
    signals = [
        np.full((2, len(part)), np.nan) if part.signals is None else part.signals
        for part in parts
    ]
    margin, trend = np.concatenate(signals, axis=1)
    passed, violated = verdicts == Verdict.PASSED, verdicts == Verdict.VIOLATED
    return Feedback(passed, violated, margin, trend)
