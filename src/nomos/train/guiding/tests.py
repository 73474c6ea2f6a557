"""The policy in training, tested against a spec by the usual engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from nomos import api
from nomos.campaign.naming import project_root
from nomos.campaign.result import Result
from nomos.campaign.runner import Budget
from nomos.campaign.session import Options, Prepared, Session
from nomos.domain.domain import Domain, members
from nomos.domain.functions import batched
from nomos.errors import DomainError, NomosError
from nomos.harness.choices import Stream
from nomos.harness.engine import RandomCases

Actions = Callable[[np.ndarray[Any, Any]], Any]
_BATCH = 4096


class CaseOfTest(NamedTuple):
    """Which case of which test it is: enough to draw the same case again."""

    seed: int
    number: int


@dataclass(frozen=True, slots=True)
class TestedBug:
    """A case that broke the spec, with the values of its inputs and variables."""

    id: str
    case: CaseOfTest
    values: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Tested:
    """What one test of a policy found."""

    tests: int
    bugs: Sequence[TestedBug]
    model_calls: int


class _PickedCases(Stream):
    """The random words of cases that do not follow each other."""

    def __init__(self, name: str, cases: Sequence[CaseOfTest]) -> None:
        self._streams = {case.seed: Stream(case.seed, name) for case in cases}
        self._cases = cases

    def words(self, position: int, first: int, count: int) -> np.ndarray[Any, Any]:
        picked = self._cases[first : first + count]
        return np.concatenate(
            [self._streams[c.seed].words(position, c.number, 1) for c in picked]
        )

    def word(self, position: int, case: int) -> int:
        return int(self.words(position, case, 1)[0])


class PolicyTests:
    """A spec whose domain asks the policy that is in training, not that of a file.

    The domain is built as always, with simulators of its own; only its function of the
    given name is another one. So nothing of the training is touched.
    """

    def __init__(
        self, spec: Path, settings: Mapping[str, str], *, policy: str, budget: int
    ) -> None:
        self.path = spec
        self.policy = policy
        self.budget = budget
        self._act: Actions | None = None
        self._asked = 0
        loaded, imported = api.load_spec(spec)
        if imported.domain is None:
            raise DomainError(f"{spec} imports no domain, so there is nothing to play")
        domain = self._with_policy(imported.domain)
        # All cases side by side: no progress is shown, and the policy is asked for many.
        options = Options(
            budget=Budget(cases=budget), search="random", batch=max(budget, _BATCH)
        )
        self._session = Session(project_root(spec), options)
        self.prepared: Prepared = self._session.prepare(
            loaded, replace(imported, domain=domain), spec, settings
        )

    def _with_policy(self, domain: type[Domain]) -> type[Domain]:
        known = dict(members(domain))
        if self.policy not in known:
            raise DomainError(
                f"{domain.__name__} has no function `{self.policy}` to ask the policy"
                " with\nhelp: name the one that takes observations and gives actions:"
                " GuidedTraining(..., policy=NAME)"
            )
        asks = self._many if isinstance(known[self.policy], batched) else self._one
        return type(domain.__name__, (domain,), {self.policy: asks()})

    def _many(self) -> batched:
        def policy(_: Domain, observations: Any) -> Any:
            return self._ask(observations)

        policy.__name__ = self.policy
        return batched(policy)

    def _one(self) -> Callable[..., Any]:
        def policy(_: Domain, observation: Any) -> Any:
            return self._ask(np.asarray(observation)[None])[0]

        return policy

    def _ask(self, observations: Any) -> Any:
        assert self._act is not None, "the policy is asked while tests run"
        self._asked += 1
        actions = np.asarray(self._act(np.asarray(observations)))
        return actions.tolist() if actions.ndim == 1 else actions

    @property
    def inputs(self) -> Sequence[str]:
        """The names of the spec's inputs."""
        return self.prepared.subject.spec.inputs

    @property
    def state_names(self) -> list[str]:
        """The inputs of the spec, and its variables: where states may be."""
        spec = self.prepared.subject.spec
        return [*spec.inputs, *(let.name for let in spec.variables)]

    def check_starts(self, names: Sequence[str]) -> None:
        """Refuse names that the spec gives to nothing that could be a state."""
        unknown = [name for name in names if name not in self.state_names]
        if unknown:
            raise NomosError(
                f"{self.path} has no input or variable `{unknown[0]}` to start from;"
                f" it has {', '.join(self.state_names)}"
            )

    @property
    def domain(self) -> Domain:
        """The domain as it was built, with its settings."""
        return self.prepared.subject.domain

    def run(self, act: Actions, *, seed: int) -> Tested:
        """Test what `act` plays; the same seed gives the same cases."""
        self._act, self._asked = act, 0
        result = Result(self.prepared.subject, seed, self.budget)
        try:
            for _ in self._session.run(self.prepared, seed, result):
                pass
        finally:
            self._act = None
        self._check(result)
        bugs = [
            TestedBug(bug.id, CaseOfTest(seed, bug.case), bug.values)
            for bug in result.bugs
        ]
        return Tested(result.counts.tests, bugs, result.counts.model_calls)

    def occurring(self, act: Actions, cases: Mapping[str, CaseOfTest]) -> set[str]:
        """Try cases of earlier tests again, side by side; name those that violate."""
        self._act = act
        engine = self.prepared.engine
        engine.forget()
        stream = _PickedCases(self.prepared.subject.spec.name, list(cases.values()))
        picked = RandomCases(stream, 0, len(cases))
        try:
            # One test more than there are cases: none of them is left out.
            judged = engine.run(picked, tests=len(cases) + 1, crashes=len(cases) + 1)
        finally:
            self._act = None
        names = list(cases)
        return {names[row] for row in judged.violations}

    def _check(self, result: Result) -> None:
        """Stop a training that is not tested at all, rather than guide it by nothing."""
        finished = result.finished
        if finished is not None and finished.reason == "interrupted":
            raise KeyboardInterrupt
        if result.crashes:
            raise NomosError(
                f"{self.path}: {result.counts.crashed} cases crashed while the policy"
                f" was tested\n{result.crashes[0].traceback}"
            )
        if finished is not None and finished.problem:
            raise NomosError(f"{self.path} could not be tested: {finished.problem}")
        if not self._asked:
            raise DomainError(
                f"{self.path} was tested without asking `{self.policy}` once\n"
                "help: the domain must ask its policy through that function"
            )


def states_in(bug: TestedBug, names: Sequence[str], inputs: Sequence[str]) -> list[str]:
    """Return which names hold states in a bug: the inputs, and what is of their types."""
    kinds = {type(bug.values[name]) for name in inputs if name in bug.values}
    return [name for name in names if type(bug.values.get(name)) in kinds]
