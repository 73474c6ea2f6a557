"""Reinforcement learning that starts episodes where the policy breaks a specification.

    guided = GuidedTraining("specs/relax.nom")
    model = PPO("MlpPolicy", guided.wrap(env))
    model.learn(1_000_000, callback=guided.callback())

At the start and every few rollouts the policy as it is then is tested against the spec,
by the usual engine and in the domain's own simulators. The states of the bugs found are
where some of the next episodes start. Stable-Baselines3 is used as it is; this module loads
neither it nor gymnasium before `wrap` or `callback` is called.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from casestudies.guiding.policy_tests import PolicyTest, PolicyTests, Restore
from casestudies.guiding.starts import Schedule
from nomos.errors import NomosError

if TYPE_CHECKING:
    from casestudies.guiding.sb3 import GuidedCallback, GuidedEnv


def restore(game: Any, state: Any, seed: int) -> Any:
    """Put a game into a state by its own method `restore`; return the observation."""
    return game.restore(state, seed=seed)


@dataclass
class GuidedTraining:
    """How a training is tested and guided.

    Attributes:
        spec: the file of the property; its inputs are states of the environment.
        settings: of the spec's domain, as `--set` gives them.
        policy: the domain's function that takes observations and gives actions; the
            policy in training takes its place.
        starts: the names in the spec whose values episodes start from; without it, its
            inputs and all variables of their type.
        restore: puts an unwrapped environment into a state, with a seed, and returns
            its observation; without it, the environment's own `restore`.
        tests: how many cases each test tries, always the same ones: their bugs are a
            measure of progress.
        fresh: how many cases each test tries besides, others each time: a policy that
            only ever practises the same few states learns those by heart.
        test_every: rollouts from one test to the next.
        share: which part of all steps episodes that start from a bug have.
        schedule: how that share grows from nothing; without it, it is there at once.
        min_reward: no episode starts from a bug before the mean reward of the last 100
            other episodes has reached this; without it, nothing is waited for.
        forget_after: a bug that did not occur in so many tests in a row is no start.
        seed: fixes the cases of the tests and the choice of starts.
        on_test: told of each test, with the algorithm as it is then.
        history: the tests so far.
    """

    spec: str | Path
    _: KW_ONLY
    settings: Mapping[str, str] = field(default_factory=dict)
    policy: str = "policy"
    starts: Sequence[str] | None = None
    restore: Restore = restore
    tests: int = 500
    fresh: int = 500
    test_every: int = 5
    share: float = 0.5
    schedule: Schedule | None = None
    min_reward: float | None = None
    forget_after: int = 2
    seed: int = 0
    on_test: Callable[[PolicyTest, Any], None] | None = None
    history: list[PolicyTest] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        for name in ("tests", "test_every", "forget_after"):
            if getattr(self, name) < 1:
                raise ValueError(f"`{name}` must be 1 or more")
        if self.fresh < 0:
            raise ValueError("`fresh` must not be negative")
        if not 0 <= self.share <= 1:
            raise ValueError(f"`share` must lie between 0 and 1, not {self.share}")

    def share_after(self, rollouts: int) -> float:
        """Return the share that is due after so many rollouts."""
        if self.schedule is None:
            return self.share
        return self.schedule.share_after(rollouts, self.share)

    @property
    def guided_steps(self) -> float:
        """The share of all steps so far that episodes from bugs had."""
        parts = list(pairwise(self.history))
        steps = sum(after.steps - before.steps for before, after in parts)
        from_bugs = sum(
            t.guided_steps * (t.steps - before.steps) for before, t in parts
        )
        return from_bugs / max(1, steps)

    def policy_tests(self, budget: int) -> PolicyTests:
        """Return what tests a policy against the spec, by so many cases."""
        spec = Path(self.spec)
        return PolicyTests(spec, self.settings, policy=self.policy, budget=budget)

    def wrap(self, env: Any) -> GuidedEnv:
        """Wrap one environment, so that its `reset` may start from a bug.

        Wrap the game itself, inside whatever changes observations. For many at once,
        wrap each: `make_vec_env(make, 8, wrapper_class=guided.wrap)`.
        """
        sb3 = import_sb3()
        if self.restore is restore and not hasattr(env.unwrapped, "restore"):
            raise NomosError(
                f"{type(env.unwrapped).__name__} has no method `restore`\n"
                "help: GuidedTraining(..., restore=f) with f(game, state, seed), which"
                " puts the game into the state and returns its observation"
            )
        wrapper: GuidedEnv = sb3.GuidedEnv(env, self.restore)
        return wrapper

    def callback(self) -> GuidedCallback:
        """Return what `learn` is to be given: it tests, and guides what is wrapped."""
        callback: GuidedCallback = import_sb3().GuidedCallback(self)
        return callback


def import_sb3() -> Any:
    """Import what needs gymnasium and Stable-Baselines3, or say how to get them."""
    try:
        from casestudies.guiding import sb3
    except ImportError as error:
        raise NomosError(
            "guided training needs gymnasium and Stable-Baselines3:"
            f" pip install 'nomos-ml[lunar-train]' ({error})"
        ) from error
    return sb3
