"""Random models: the A/A control of cases, and cases repeated with new samples.

A sample is addressed by the draw that it belongs to and a number: 0 is the case itself, 1
its control, 2 and 3 the first repeat of both, and so on. So what is repeated is independent
of what was seen before, and the same in every run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

import numpy as np

from nomos.device import Array
from nomos.domain.meter import CallsSpent, current_lease
from nomos.engine.cases import Cases, KnownCase, ListedCases
from nomos.engine.evaluated import EvaluatedChunk, Limits
from nomos.engine.interpreter import Verdict
from nomos.engine.vectorized.chunk import pad_choices
from nomos.engine.watch import WHOLE_CHUNK, watch

if TYPE_CHECKING:
    from nomos.engine.engine import Engine

_CONTROL = 1  # the number of the samples of a campaign's control
_ALL = Limits(2**62, 2**62)


class PairTest(Protocol):
    """Decides about a case by pairs of a repeat and one of its control."""

    def add_pair(self, fails: bool, control_fails: bool) -> None:
        """Take in a pair."""

    @property
    def decision(self) -> str | None:
        """What is decided; None: nothing yet."""
        ...


def evaluate_control(
    engine: Engine, cases: Cases, whole: EvaluatedChunk
) -> EvaluatedChunk:
    """Run the control of the cases that were evaluated; end where its calls do."""
    control = engine.with_samples(_CONTROL, is_control=True)
    with current_lease().during_phase("control"):
        evaluated = control.run(cases.part(0, len(whole)), _ALL, repeat=False)
    if evaluated.is_spent:
        whole = replace(whole.first(len(evaluated)), is_spent=True)
    return replace(whole, control=evaluated.verdicts)


def repeat_cases(
    engine: Engine, cases: Sequence[KnownCase], tests: Sequence[PairTest]
) -> None:
    """Repeat cases and their controls, all together, until each is decided.

    It ends earlier where the calls of the model are used up. A failure counts beside one
    that has a verdict: what crashed, or has no control, is evidence of nothing.
    """
    number, left = _CONTROL, list(range(len(cases)))
    while left := [place for place in left if tests[place].decision is None]:
        some, verdicts = [cases[place] for place in left], []
        for is_control in (False, True):
            number += 1
            arm = engine.with_samples(number, is_control=is_control)
            try:
                verdicts.append(evaluate_samples(arm, some))
            except CallsSpent:
                return
        for place, *pair in zip(left, *verdicts, strict=True):
            is_judged = max(pair) <= Verdict.VIOLATED
            fails = [is_judged and bool(one == Verdict.VIOLATED) for one in pair]
            tests[place].add_pair(*fails)


def evaluate_samples(arm: Engine, cases: Sequence[KnownCase]) -> Array:
    """Return the verdicts on cases with other samples; raises CallsSpent."""
    watch.mark(WHOLE_CHUNK)  # the time of a call counts from here
    if any(case.records for case in cases):
        found = [arm.replay(case.choices, case.records).verdict for case in cases]
        return np.array(found)
    choices = pad_choices([case.choices for case in cases])
    evaluated = arm.run(ListedCases(*choices, draws_on=True), _ALL, repeat=False)
    if evaluated.is_spent:
        raise CallsSpent
    return evaluated.verdicts
