"""The policy in training, tested against a spec by the usual engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from nomos import api
from nomos.device import Array
from nomos.domain.domain import Domain, members
from nomos.domain.functions import batched
from nomos.engine.cases import ListedCases
from nomos.engine.evaluated import Limits
from nomos.engine.vectorized.chunk import pad_choices
from nomos.errors import DomainError, NomosError
from nomos.results.result import Bug, Result
from nomos.runner.executors.worker import Setting, Worker
from nomos.runner.jobs import Job, Prepared
from nomos.runner.options import Options
from nomos.runner.project.naming import project_root
from nomos.runner.projects import run_prepared

_BATCH = 4096
Choices = tuple[int, ...]
Restore = Callable[[Any, Any, int], Any]


@dataclass(frozen=True, slots=True)
class PolicyTest:
    """What one test of the policy in training came to."""

    rollouts: int
    steps: int  # of all training environments together
    share: float  # of the steps that episodes from bugs were to have, until now
    guided_steps: float  # the share that they had since the last test
    tests: int
    bugs: int
    fresh_bugs: int  # of the cases that no other test tries
    new_bugs: int  # of both, not found by any test before
    known_bugs: int  # found by any test so far, and not forgotten
    cpu_s: float


@dataclass(frozen=True, slots=True)
class Tested:
    """What one test of a policy found: bugs, each with the values of its names."""

    tests: int
    bugs: Sequence[tuple[Bug, Mapping[str, Any]]]


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
        loaded = api.load_spec(spec)
        self._spec, imported = loaded.runnable()
        assert imported.domain is not None
        domain = self._with_policy(imported.domain)
        # All cases side by side: no progress is shown, and the policy is asked for many.
        self._options = Options(
            default_budget=budget, search="random", batch=max(budget, _BATCH)
        )
        loaded = replace(loaded, imported=replace(imported, domain=domain))
        worker = Worker(Setting(project_root(spec)))
        self.prepared: Prepared = worker.prepare_job(Job(spec, settings, loaded))

    def _with_policy(self, domain: type[Domain]) -> type[Domain]:
        known = dict(members(domain))
        if self.policy not in known:
            raise DomainError(
                f"{domain.__name__} has no function `{self.policy}` to ask the policy"
                " with\nhelp: name the one that takes observations and gives actions:"
                " GuidedTraining(..., policy=NAME)"
            )
        is_batched = isinstance(known[self.policy], batched)

        def policy(_: Domain, given: Any) -> Any:
            if is_batched:
                return self._ask_policy(given)
            return self._ask_policy(np.asarray(given)[None])[0]

        policy.__name__ = self.policy
        asks = batched(policy) if is_batched else policy
        return type(domain.__name__, (domain,), {self.policy: asks})

    def _ask_policy(self, observations: Any) -> Any:
        assert self._act is not None, "the policy is asked while tests run"
        self._asked += 1
        actions = np.asarray(self._act(np.asarray(observations)))
        return actions.tolist() if actions.ndim == 1 else actions

    @property
    def state_names(self) -> list[str]:
        """The inputs of the spec, and its variables: where states may be."""
        spec = self._spec
        return [*spec.inputs, *(let.name for let in spec.variables)]

    def check_starts(self, names: Sequence[str]) -> None:
        """Refuse names that the spec gives to nothing that could be a state."""
        unknown = [name for name in names if name not in self.state_names]
        if unknown:
            raise NomosError(
                f"{self.path} has no input or variable `{unknown[0]}` to start from;"
                f" it has {', '.join(self.state_names)}"
            )

    def states_in(self, values: Mapping[str, Any]) -> list[str]:
        """Return which names hold states in a bug: inputs, and what is of their types."""
        kinds = {type(values[name]) for name in self._spec.inputs if name in values}
        return [name for name in self.state_names if type(values.get(name)) in kinds]

    @property
    def domain(self) -> Domain:
        """The domain as it was built, with its settings."""
        return self.prepared.domain

    def run(self, act: Actions, *, seed: int) -> Tested:
        """Test what `act` plays; the same seed gives the same cases."""
        self._act, self._asked = act, 0
        try:
            result = run_prepared(self.prepared, seed, self._options)
            # Run alone once more: their values are wanted as they are played.
            bugs = [
                (bug, values)
                for bug in result.bugs
                if (values := self.prepared.replay(bug).values)
            ]
        finally:
            self._act = None
        self._check_result(result)
        return Tested(result.counts.tests, bugs)

    def find_occurring(self, act: Actions, cases: Mapping[str, Choices]) -> set[str]:
        """Try cases of earlier tests again, side by side; name those that violate."""
        self._act = act
        engine = self.prepared.engine
        engine.forget()
        picked = ListedCases(*pad_choices(list(cases.values())))
        # One test more than there are cases: none of them is left out.
        most = len(cases) + 1
        try:
            evaluated = engine.run(picked, Limits(most, most), repeat=False)
        finally:
            self._act = None
        names = list(cases)
        return {names[row] for row in evaluated.violations.rows.tolist()}

    def _check_result(self, result: Result) -> None:
        """Stop a training that is not tested at all, rather than guide it by nothing."""
        if result.crashes:
            raise NomosError(
                f"{self.path}: {result.counts.crashed} cases crashed while the policy"
                f" was tested\n{result.crashes[0].traceback}"
            )
        if result.problem:
            raise NomosError(f"{self.path} could not be tested: {result.problem}")
        if not self._asked:
            raise DomainError(
                f"{self.path} was tested without asking `{self.policy}` once\n"
                "help: the domain must ask its policy through that function"
            )


Actions = Callable[[Array], Any]
Layer = tuple[Array, Array] | Callable[[Array], Array]


def best_actions(model: Any) -> Actions:
    """Return what the policy does when it plays its best, not exploring.

    A game asks once a step, and often alone. The plain networks are therefore copied
    to numpy, which answers some ten times faster than `predict`.
    """
    layers = _plain_layers(model.policy)
    scaling = model.get_vec_normalize_env()

    def plain(observations: Array) -> Any:
        return model.policy.predict(observations, deterministic=True)[0]

    act = plain if layers is None else _network_actions(layers)
    if scaling is None:
        return act
    return lambda observations: act(scaling.normalize_obs(observations))


def _network_actions(layers: list[Layer]) -> Actions:
    def act_by_layers(observations: Array) -> Array:
        values = observations.astype(np.float32, copy=False)
        for layer in layers:
            if isinstance(layer, tuple):
                weight, bias = layer
                values = values @ weight + bias
            else:
                values = layer(values)
        return np.asarray(values.argmax(axis=1))

    return act_by_layers


def _plain_layers(policy: Any) -> list[Layer] | None:
    """Copy the layers from a vector to the scores of actions; None for other policies."""
    from gymnasium import spaces
    from stable_baselines3.common.policies import ActorCriticPolicy
    from torch import nn

    if type(policy) is not ActorCriticPolicy:
        return None
    seen, acts = policy.observation_space, policy.action_space
    if not isinstance(acts, spaces.Discrete) or acts.start != 0:
        return None
    if not isinstance(seen, spaces.Box) or len(seen.shape) != 1:
        return None
    if list(policy.features_extractor.parameters()):
        return None
    functions: dict[type, Callable[[Array], Array]] = {
        nn.Tanh: np.tanh,
        nn.ReLU: lambda values: np.maximum(values, np.float32(0)),
    }
    layers: list[Layer] = []
    for module in (*policy.mlp_extractor.policy_net, policy.action_net):
        if isinstance(module, nn.Linear):
            pair = (module.weight.T, module.bias)
            weight, bias = (part.detach().cpu().numpy().copy() for part in pair)
            layers.append((np.ascontiguousarray(weight), bias))
        elif type(module) in functions:
            layers.append(functions[type(module)])
        else:
            return None
    return layers
