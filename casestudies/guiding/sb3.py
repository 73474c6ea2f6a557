"""What Stable-Baselines3 is given: an environment that starts from bugs, a callback."""

from __future__ import annotations

import random  # noqa: TID251 - its state is kept safe here; nothing is drawn from it
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np
import torch
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv

from casestudies.guiding.policy_tests import (
    Actions,
    PolicyTest,
    PolicyTests,
    Restore,
    Tested,
    best_actions,
)
from casestudies.guiding.starts import BuggyStarts, Dose, Start, StartChooser
from nomos.errors import NomosError

if TYPE_CHECKING:
    from casestudies.guiding.training import GuidedTraining

_EPISODES = 100  # whose mean reward is compared with `min_reward`


@dataclass(slots=True)
class Ended:
    """The lengths of episodes that are over, and the rewards of the usual ones."""

    usual: list[int] = field(default_factory=list)
    from_bugs: list[int] = field(default_factory=list)
    rewards: list[float] = field(default_factory=list)


class GuidedEnv(gymnasium.Wrapper[Any, Any, Any, Any]):
    """An environment whose episodes may start from the state of a bug.

    Which ones do is decided by a generator of its own: as long as none does, the
    environment inside draws what it would draw without the wrapper.
    """

    def __init__(self, env: Any, restore: Restore) -> None:
        super().__init__(env)
        self._restore = restore
        self.chooser = StartChooser(0)
        self._from_bug = False
        self._steps = [0, 0]  # of episodes from the game's own starts, and from bugs
        self._length, self._reward = 0, 0.0  # of this episode so far
        self._ended = Ended()

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start an episode; `info["nomos_bug"]` names the bug that it starts from."""
        # Also where a bug follows: wrappers inside count the steps of an episode.
        observation, info = self.env.reset(seed=seed, options=options)
        # A wrapper outside may have ended the last episode, by its limit of steps.
        self._end_episode()
        start = self.chooser.choose_start()
        self._from_bug = start is not None
        if start is None:
            return observation, info
        game = self.env.unwrapped
        observation = self._restore(game, start.state, self.chooser.draw_seed())
        return observation, {**info, "nomos_bug": start.bug}

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Play one action, and count it."""
        self._steps[self._from_bug] += 1
        self._length += 1
        observation, reward, terminated, truncated, info = self.env.step(action)
        self._reward += float(reward)
        if terminated or truncated:
            self._end_episode()
        return observation, reward, terminated, truncated, info

    def _end_episode(self) -> None:
        if self._length:
            if self._from_bug:
                self._ended.from_bugs.append(self._length)
            else:
                self._ended.usual.append(self._length)
                self._ended.rewards.append(self._reward)
        self._length, self._reward = 0, 0.0

    def nomos_steps(self) -> tuple[int, int]:
        """Return the steps since last asked: of usual episodes, and of those from bugs."""
        usual, from_bugs = self._steps
        self._steps = [0, 0]
        return usual, from_bugs

    def nomos_seed(self, seed: Sequence[int]) -> None:
        """Begin with another generator; called by the callback, from any process."""
        self.chooser = type(self.chooser)(seed)

    def nomos_ended(self) -> Ended:
        """Return the episodes that ended since last asked."""
        ended, self._ended = self._ended, Ended()
        return ended

    def nomos_update(
        self, newest: Sequence[Start], everything: Sequence[Start]
    ) -> None:
        """Take over what a test found; called by the callback, from any process."""
        self.chooser.take_starts(newest, everything)

    def nomos_probability(self, probability: float) -> None:
        """Change how likely episodes start from bugs."""
        self.chooser.probability = probability


class GuidedCallback(BaseCallback):
    """Tests the policy every few rollouts and tells the environments of the bugs."""

    def __init__(self, guided: GuidedTraining) -> None:
        super().__init__()
        self.guided = guided
        self.rollouts = 0
        self.starts = BuggyStarts(guided.forget_after)
        self._dose = Dose()
        self._share = self._probability = 0.0
        self._gate = guided.min_reward is None
        self._rewards: deque[float] = deque(maxlen=_EPISODES)
        self._tested_at = -1  # which number of rollouts the last test came after
        self._tests: PolicyTests | None = None
        self._fresh: PolicyTests | None = None
        self._rng = np.random.default_rng([guided.seed, 0])

    @property
    def can_guide(self) -> bool:
        """Whether any episode will start from a bug."""
        return self.guided.share > 0

    def _on_training_start(self) -> None:
        if self._tests is not None:
            return  # `learn` goes on with what it learned before
        guided = self.guided
        env = self.training_env
        if self.can_guide and not all(env.env_is_wrapped(GuidedEnv)):
            raise NomosError(
                "the training environments are not all wrapped, so no episode of theirs"
                " can start from a bug\nhelp: env = guided.wrap(env)"
            )
        self._tests = guided.policy_tests(guided.tests)
        self._tests.check_starts(guided.starts or ())
        if self.can_guide:
            if guided.fresh:
                self._fresh = guided.policy_tests(guided.fresh)
            for i in range(env.num_envs):
                env.env_method("nomos_seed", [guided.seed, 1 + i], indices=[i])

    def _on_rollout_start(self) -> None:
        due = self.rollouts % self.guided.test_every == 0
        if due and self._tested_at != self.rollouts:
            self._test_policy()
        if self.can_guide:
            self._set_share()

    def _set_share(self) -> None:
        """Let the environments start from bugs as often as it takes."""
        for ended in self.training_env.env_method("nomos_ended"):
            self._dose.add_lengths(ended.usual, ended.from_bugs)
            self._rewards.extend(ended.rewards)
        self._gate = self._gate or self._plays_well()
        self._share = self.guided.share_after(self.rollouts) if self._gate else 0.0
        probability = self._dose.probability_of(self._share)
        if probability != self._probability:
            self.training_env.env_method("nomos_probability", probability)
            self._probability = probability

    def _plays_well(self) -> bool:
        if len(self._rewards) < _EPISODES or self.guided.min_reward is None:
            return False
        return sum(self._rewards) / _EPISODES >= self.guided.min_reward

    def _on_rollout_end(self) -> None:
        self.rollouts += 1

    def _on_step(self) -> bool:
        return True

    def _on_training_end(self) -> None:
        if self._tested_at != self.rollouts:
            self._test_policy()

    def _test_policy(self) -> None:
        guided, began = self.guided, time.process_time()
        with keep_generators(self.model.policy):
            act = best_actions(self.model)
            result, fresh = self._run_tests(act)
            new = self._take_in([result, *fresh], act)
            told = PolicyTest(
                rollouts=self.rollouts,
                steps=self.num_timesteps,
                share=self._share,
                guided_steps=self._share_of_guided_steps(),
                tests=result.tests,
                bugs=len(result.bugs),
                fresh_bugs=sum(len(one.bugs) for one in fresh),
                new_bugs=new,
                known_bugs=len(self.starts),
                cpu_s=time.process_time() - began,
            )
            guided.history.append(told)
            self._tested_at = self.rollouts
            for name in ("bugs", "fresh_bugs", "known_bugs", "guided_steps"):
                self.logger.record(f"nomos/{name}", getattr(told, name))
            if guided.on_test is not None:
                guided.on_test(told, self.model)

    def _share_of_guided_steps(self) -> float:
        if not self.can_guide:
            return 0.0
        counts = self.training_env.env_method("nomos_steps")
        usual, from_bugs = (sum(part) for part in zip(*counts, strict=True))
        return float(from_bugs / max(1, usual + from_bugs))

    def _run_tests(self, act: Actions) -> tuple[Tested, list[Tested]]:
        """Try the cases that are always the same, and those of this test alone."""
        assert self._tests is not None
        seed = self.guided.seed
        result = self._tests.run(act, seed=seed)
        if self._fresh is None:
            return result, []
        # Another seed for each test and each training, and never that of the others.
        other = np.random.SeedSequence([seed, 1 + self.rollouts]).generate_state(1)
        return result, [self._fresh.run(act, seed=int(other[0]))]

    def _take_in(self, results: Sequence[Tested], act: Actions) -> int:
        """Keep the states of bugs that occur; say how many bugs are new."""
        assert self._tests is not None
        tests, names, new = self._tests, self.guided.starts, 0
        self.starts.begin_test()
        for result in results:
            for bug, values in result.bugs:
                held = names or tests.states_in(values)
                states = [Start(bug.id, name, values[name]) for name in held]
                new += self.starts.add_bug(bug.id, bug.choices, states)
        if self.can_guide:
            again = self.starts.not_found()
            self.starts.forget_missed(again, tests.find_occurring(act, again))
            self._share_starts()
        return new

    def _share_starts(self) -> None:
        """Share the newest starts out among the environments; all know all others."""
        env, found = self.training_env, self.starts.newest
        order = [found[i] for i in self._rng.permutation(len(found))]
        for i in range(env.num_envs):
            told = (order[i :: env.num_envs], self.starts.all)
            env.env_method("nomos_update", *told, indices=[i])


def build_environments(makers: Sequence[Callable[[], Any]]) -> Any:
    """Return environments side by side, which tell the rewards of their episodes."""
    return DummyVecEnv([lambda make=make: Monitor(make()) for make in makers])


@contextmanager
def keep_generators(policy: Any) -> Iterator[None]:
    """Give the global generators and the policy's mode back as they were."""
    python, numpy, mode = random.getstate(), np.random.get_state(), policy.training
    try:
        with torch.random.fork_rng(devices=[]):
            yield
    finally:
        random.setstate(python)
        np.random.set_state(numpy)
        policy.set_training_mode(mode)
