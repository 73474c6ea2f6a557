"""Ask a random model again until its answers satisfy a spec: repair without training.

A spec says how answers relate, so it also says which of several samples to take: the first
whose answers satisfy it together. Each try asks all questions of the case anew, with samples
of its own, or another model: one at another temperature, or a dearer one. A try has an address
as every sample does, so a second run selects the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from nomos.domain.meter import CallsSpent, Grant, Lease, under_lease
from nomos.engine.cases import RandomCases
from nomos.engine.choices import CaseDraws, Kind, Stream, choice_of, mix_seed
from nomos.engine.engine import Engine
from nomos.engine.evaluated import Limits
from nomos.engine.interpreter import Verdict
from nomos.engine.samples import evaluate_samples
from nomos.errors import NomosError
from nomos.results.measured import CallCounts
from nomos.results.statistics import describe_rate
from nomos.runner.executors.worker import Setting, Worker
from nomos.runner.jobs import Job
from nomos.runner.spending import Spending

_FIRST_TRY = 1000  # the number of its samples: no control and no repeat has them
_MOST_DRAWN = 100  # cases for each that gets past `requires`
_CHUNK = 256


@dataclass(frozen=True, slots=True)
class Selected:
    """The answers that were taken, after how many tries, and whether they satisfy the spec."""

    outputs: Mapping[str, Any] = field(default_factory=dict)
    tries: int = 0
    is_satisfied: bool = False


@dataclass(frozen=True, slots=True)
class Selection:
    """In how many of some cases the first answers satisfy a spec, and the selected ones."""

    name: str  # of the property
    cases: int
    first: int
    selected: int
    tries: int  # of all cases together
    sent: str = ""  # what was sent to endpoints for it

    @property
    def text(self) -> str:
        """Both rates, and what the difference costs."""
        if not self.cases:
            return f"{self.name}: no case got past `requires`"
        return (
            f"{self.name}: the first answers satisfy it in"
            f" {describe_rate(self.first, self.cases)};\n  the selected ones in"
            f" {describe_rate(self.selected, self.cases)};"
            f" {self.tries / self.cases:.2f} tries a case"
            + f"\n  {self.sent}"
            * bool(self.sent)
        )


class Selecting:
    """Asks the models of a project, for one spec after the other, within the limits of a run."""

    def __init__(self, spending: Spending, setting: Setting) -> None:
        self._spending, self._meter = spending, spending.open_meter()
        self._worker = Worker(setting)

    @contextmanager
    def open_engines(
        self, path: Path, models: Sequence[str], settings: Mapping[str, str] | None
    ) -> Iterator[list[Engine]]:
        """Give an engine of a spec for each model; one, where none is named."""
        terms, self._meter = self._spending.terms, self._spending.open_meter()
        grant = Grant(terms.calls, "selection", self._meter.campaign)
        with under_lease(Lease(grant, terms=terms)):
            named = [{"model": model} for model in models] or [{}]
            jobs = [Job(path, {**(settings or {}), **one}) for one in named]
            try:
                yield [self._worker.prepare_job(job).engine for job in jobs]
            except CallsSpent:
                raise NomosError(f"{path}: the calls are used up") from None

    @property
    def sent_text(self) -> str:
        """What was sent for the last spec, and what it cost."""
        return CallCounts(sent=self._spending.read_spent(self._meter)).sent_text


def measure_selection(
    engines: Sequence[Engine], name: str, *, budget: int, tries: int, seed: int
) -> Selection:
    """Count how often first and selected answers satisfy a spec, over drawn cases."""
    engine, *others = _arrange_tries(engines, tries)
    stream, drawn, cases, first = Stream(seed, name), 0, 0, 0
    left: list[Any] = []
    while cases < budget and drawn < _MOST_DRAWN * budget:
        part = RandomCases(stream, drawn, min(_CHUNK, 2 * (budget - cases)))
        evaluated = engine.run(part, Limits(budget - cases, 2**62), repeat=False)
        cases += int(evaluated.accepted.sum())
        first += int((evaluated.verdicts == Verdict.PASSED).sum())
        found = evaluated.violations
        left += [found.case_of(number) for number in range(len(found))]
        drawn += max(1, len(evaluated))
        if evaluated.is_spent or evaluated.crashes:
            raise NomosError(
                f"{name}: {evaluated.crashes[0].error}"
                if evaluated.crashes
                else f"{name}: the calls are used up before {budget} cases were drawn"
            )
    asked, satisfied = cases, first
    for number, other in enumerate(others, 1):
        if not left:
            break
        asked += len(left)
        verdicts = evaluate_samples(other.with_samples(_FIRST_TRY + number), left)
        satisfied += int((verdicts == Verdict.PASSED).sum())
        pairs = zip(left, verdicts.tolist(), strict=True)
        left = [case for case, verdict in pairs if verdict != Verdict.PASSED]
    return Selection(name, cases, first, satisfied, asked)


def select_answers(
    engines: Sequence[Engine], records: Sequence[Any], *, tries: int, seed: int
) -> Selected:
    """Return the first answers about these records that satisfy the spec together."""
    engine, *_ = turns = _arrange_tries(engines, tries)
    inputs, source = len(engine.program.spec.inputs), engine.program.source
    if len(records) != inputs:
        raise NomosError(f"the spec has {inputs} inputs, and {len(records)} were given")
    rows: Any = list(records)
    if isinstance(source, np.ndarray):
        rows = np.asarray(rows, dtype=source.dtype)

    def choose(position: int, kind: Kind, low: Any, high: Any) -> int:
        if position < inputs:
            return position
        return choice_of(2 * mix_seed(seed, position), kind, low, high)

    taken = Selected()
    for number, turn in enumerate(turns):
        arm = turn.with_inputs(rows).with_samples(_FIRST_TRY + number)
        outcome = arm.interpreter.run(CaseDraws(choose))
        passed = outcome.verdict is Verdict.PASSED
        if outcome.verdict is Verdict.CRASHED:
            raise NomosError(f"{engine.program.spec.name}: {outcome.why}")
        if outcome.verdict is Verdict.DISCARDED:
            raise NomosError(f"{outcome.why}: the spec says nothing of these records")
        if passed or not number:
            said = outcome.outputs or outcome.values
            names = engine.program.spec.outputs
            outputs = {name: said[name] for name in names if name in said}
            taken = Selected(outputs, number + 1, passed)
        if passed:
            return taken
    return Selected(taken.outputs, len(turns))


def _arrange_tries(engines: Sequence[Engine], tries: int) -> list[Engine]:
    """Return what each try asks: the models in turn, the last of them again and again.

    A model that is not random would answer the same again, so it has one try.
    """
    program = engines[-1].program
    if program.random_models:
        engines = [*engines, *[engines[-1]] * tries]
    elif len(engines) == 1:
        raise NomosError(
            f"{program.spec.name}: its block calls no function that is `@random`,"
            " so the model would answer the same again\nhelp: hand on the draws,"
            " `@random @batched def predict(self, rows, draws)`, or name several models"
        )
    return list(engines[:tries])
