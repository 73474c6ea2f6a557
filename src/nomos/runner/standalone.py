"""What a compiled harness stands on: its arguments, its draws, its counts.

One case after the other, as plain as can be; the counts and bugs are those of
`nomos run` with the same seed, budget and model.
"""

from __future__ import annotations

import argparse
import builtins
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

import numpy as np

from nomos.campaign.events import Bug
from nomos.campaign.health import starvation, starves_at
from nomos.campaign.naming import model_name, project_root
from nomos.campaign.records import bug_id
from nomos.campaign.result import count_words
from nomos.campaign.tally import Tally
from nomos.diagnostics.source import Source
from nomos.domain.find import build, load_imports
from nomos.errors import DomainError, ModelError, NomosError
from nomos.harness.alone import Case, Outcome, Verdict
from nomos.harness.choices import (
    CaseDraws,
    EndlessRange,
    Odometer,
    RandomCase,
    Stream,
)
from nomos.harness.program import Program
from nomos.lang import core
from nomos.models import trusting


class _Counted(Exception):
    """A case that got past `requires` while cases are only counted."""


class _CountedCase(Case):
    def accept(self) -> None:
        raise _Counted


class Harness:
    """A campaign whose loop is written out in the compiled program."""

    def __init__(
        self,
        spec: str,
        file: str,
        *,
        imports: Sequence[str],
        inputs: Sequence[str],
        values: Sequence[str],
        listable: bool,
    ) -> None:
        path = (Path(file).parent / spec).resolve()
        self.property = path.stem
        options = _arguments(self.property)
        stub = _stub(self.property, file, tuple(inputs), tuple(values))
        try:
            with trusting() if options.trust else nullcontext():
                self.program = _program(stub, path, imports, options.settings)
        except NomosError as error:
            sys.exit(f"error: {error}")
        domain = type(self.program.domain)
        self.model = model_name(domain, options.settings, project_root(path))
        self.settings = {n: v for n, v in options.settings.items() if n != "model"}
        self.budget = options.budget
        self.options = options
        self.tally = Tally(len(inputs))
        self.stream = Stream(options.seed, self.property)
        self.number = 0
        self.problem = ""
        self.search: Literal["counting", "random", "exhaustive"] = options.search
        if options.search == "auto":
            self.search = "counting" if listable else "random"
        self._odometer = Odometer()
        self._case: Case | None = None

    def functions(self, *names: str) -> list[Any]:
        """Return what names stand for in a case."""
        known = self.program.namespace(self._current)
        return [
            known[name] if name in known else getattr(builtins, name) for name in names
        ]

    def _current(self) -> Case:
        assert self._case is not None
        return self._case

    def case(self) -> _Attempt:
        """Return the next case; what happens inside `with` is its outcome."""
        draws: CaseDraws = RandomCase(self.stream, self.number)
        if self.search != "random":
            draws = self._odometer
        kind = _CountedCase if self.search == "counting" else Case
        self._case = kind(self.program, draws)
        return _Attempt(self, self._case)

    def count(self, error: BaseException | None) -> None:
        """Count a case while it is found out how many there are."""
        self.number += 1
        more = self._odometer.turn()
        if isinstance(error, EndlessRange) or self.number > self.options.budget:
            self.search, self.number = "random", 0
        elif not more:
            self.search, self.number = "exhaustive", 0
            self._odometer = Odometer()

    def judge(self, outcome: Outcome) -> None:
        """Count a case's verdict and go on to the next."""
        tally, case = self.tally, self.number
        self.number += 1
        tally.k = max(tally.k, outcome.calls)
        match outcome.verdict:
            case Verdict.PASSED:
                tally.passed += 1
            case Verdict.VIOLATED:
                self._add_bug(case, outcome)
            case Verdict.DISCARDED:
                tally.discarded += 1
                tally.reasons[outcome.why] += 1
            case Verdict.CRASHED:
                tally.crashed += 1
                if tally.crashed == 1:
                    print(outcome.traceback, file=sys.stderr, end="")
        if outcome.accepted and outcome.verdict is not Verdict.DISCARDED:
            tally.tests += 1
            self.budget -= 1
        self._check_health()
        if self.search == "exhaustive":
            self.budget = 1 if self._odometer.turn() else 0
        if tally.crashed >= self.options.max_crashes or self.problem:
            self.budget = 0

    def _add_bug(self, case: int, outcome: Outcome) -> None:
        choices = outcome.choices
        if self.tally.is_new(choices):
            name = bug_id(self.property, self.model, self.settings, choices)
            self.tally.add_bug(Bug(name, case, choices, outcome.why, outcome.values))
            print(f"bug {name} case={case} choices={list(choices)}: {outcome.why}")

    def _check_health(self) -> None:
        tests, discarded = (
            np.array([self.tally.tests]),
            np.array([self.tally.discarded]),
        )
        if self.search == "random" and starves_at(tests, discarded) is not None:
            self.problem = starvation(
                self.tally.reasons, self.tally.tests, self.tally.discarded
            )

    def report(self) -> None:
        """Print the counts and exit as `nomos run` does."""
        counts = self.tally.counts(0, 0.0)
        print(f"{self.property} seed={self.options.seed} {count_words(counts)}")
        if self.problem:
            print(f"error: {self.problem}", file=sys.stderr)
        failed = self.problem or counts.crashed or not counts.tests
        sys.exit(3 if failed else 1 if counts.unique_bugs else 0)


class _Attempt:
    """The `with` around one case: its end is the case's outcome, whatever it is."""

    def __init__(self, harness: Harness, case: Case) -> None:
        self.harness = harness
        self.case = case

    def __enter__(self) -> Case:
        return self.case

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        if isinstance(error, ModelError):
            sys.exit(f"error: {error}")
        if error is not None and not isinstance(error, Exception):
            return False
        if self.harness.search == "counting":
            self.harness.count(error)
        else:
            self.harness.judge(self.case.outcome(error))
        return True


def _stub(
    property: str, file: str, inputs: tuple[str, ...], values: tuple[str, ...]
) -> core.Spec:
    """Return what the runtime asks of a spec; the rest is in the compiled program."""
    return core.Spec(
        name=property,
        description="",
        source=Source(file, ""),
        imports=(),
        inputs=inputs,
        variables=(),
        requires=(),
        outputs=tuple(name for name in values if name not in inputs),
        code=core.Code((), None, frozenset()),
        later_variables=(),
        ensures=(),
        k=None,
    )


def _program(
    stub: core.Spec, path: Path, imports: Sequence[str], settings: dict[str, str]
) -> Program:
    imported = load_imports(imports, path)
    if imported.domain is None:
        raise DomainError("no domain is imported, so there is nothing to draw from")
    domain = build(imported.domain, settings)
    return Program(stub, domain, imported.functions, imported.modules)


def _arguments(property: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=f"Test a model against {property}.")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--budget", type=int, default=5000)
    parser.add_argument("--model")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--max-crashes", type=int, default=100)
    searches = ["auto", "random", "exhaustive"]
    parser.add_argument("--search", choices=searches, default="auto")
    parser.add_argument("--trust", action="store_true", help="load pickles")
    options = parser.parse_args()
    options.settings = dict(pair.split("=", 1) for pair in options.set)
    if options.model is not None:
        options.settings["model"] = options.model
    return options
