"""Cases that a search makes: one generation after the other."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from nomos.engine.interpreter import Verdict
from nomos.engine.judged import Judged
from nomos.runner.campaigns.plans.ranges import Plan, Range
from nomos.runner.options import Options
from nomos.search.guided import Strategy
from nomos.search.strategy import Told, generation_rng


class Generations(Plan):
    """Says which generation comes next; where the search learns, one at a time."""

    def __init__(
        self,
        strategy: Strategy,
        options: Options,
        *,
        seed: int,
        name: str,
    ) -> None:
        super().__init__(total=None, batch=options.batch)
        self.strategy = strategy
        self._learns = strategy.learns != "nothing"
        self.search = options.search if self._learns else "generated"
        self.scope = "generated"
        self._seed, self._name = seed, name
        self._awaits_verdicts = False
        self._parts: list[Judged] = []  # of the generation that is merged

    def can_resume(self, next_case: int) -> bool:
        """Tell whether a case is the first of its generation."""
        if self._learns:
            return next_case == self.next_first
        return next_case % self.strategy.size == 0

    def next(
        self, wanted: float, cases_per_input: float, *, shares: bool = False
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

    def learn(self, asked: Range, parts: Sequence[Judged]) -> None:
        """Learn from a generation, when all of it is there."""
        if not self._learns or asked.made is None:
            return
        self._parts += parts
        if sum(map(len, self._parts)) == asked.count:
            self.strategy.learn(asked.made, _tell_of(self._parts))
            self._parts, self._awaits_verdicts = [], False

    def state(self) -> Any:
        """Return what was learned, as data that JSON can hold."""
        return self.strategy.state()

    def restore(self, state: Any) -> None:
        """Go on from what a search had learned."""
        self.strategy.restore(state)


def _tell_of(parts: Sequence[Judged]) -> Told:
    verdicts = np.concatenate([part.verdicts for part in parts])
    signals = [
        np.full((2, len(part)), np.nan) if part.signals is None else part.signals
        for part in parts
    ]
    margin, trend = np.concatenate(signals, axis=1)
    passed, violated = verdicts == Verdict.PASSED, verdicts == Verdict.VIOLATED
    return Told(passed, violated, margin, trend)
