"""Guided training of real algorithms on CartPole, whose states can be restored."""

from collections import Counter
from dataclasses import astuple
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from casestudies.guiding import GuidedTraining, PolicyTest, Schedule
from casestudies.guiding.policy_tests import PolicyTests
from casestudies.guiding.starts import Start
from nomos import NomosError

pytest.importorskip("torch", reason="needs pip install 'nomos-ml[lunar-train]'")
pytest.importorskip(
    "stable_baselines3", reason="needs pip install 'nomos-ml[lunar-train]'"
)
gymnasium = pytest.importorskip(
    "gymnasium", reason="needs pip install 'nomos-ml[lunar-train]'"
)

SPEC = """\
# The pole stays up, the longer one too: a policy that has just begun fails.
import poles;
input s1;
var s2 := relax(s1);
output o1;
output o2;
{
  o1 = play(s1)
  o2 = play(s2)
}
ensures o1 + o2 == 2;
"""


def restore(game: Any, state: Any, seed: int) -> Any:
    return game.restore(np.array(astuple(state)))


def pole() -> Any:
    from casestudies.cartpole.pole import Pole

    return gymnasium.wrappers.TimeLimit(Pole(), 500)


@pytest.fixture(autouse=True)
def spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("poles.py").write_text("from casestudies.cartpole.cartpole import CartPole\n")
    Path("up.nom").write_text(SPEC)
    return tmp_path / "up.nom"


def guided(**options: Any) -> GuidedTraining:
    usual: dict[str, Any] = {"tests": 10, "fresh": 0, "test_every": 1}
    usual |= {"restore": restore}
    return GuidedTraining("up.nom", **{**usual, **options})


def of_rows() -> GuidedTraining:
    return guided(restore=lambda game, state, seed: game.restore(np.array(state)))


def ppo(env: Any, *, seed: int = 3, **options: Any) -> Any:
    import torch
    from stable_baselines3 import PPO

    torch.set_num_threads(1)
    usual = {"n_steps": 64, "batch_size": 32, "n_epochs": 2, "device": "cpu"}
    return PPO("MlpPolicy", env, seed=seed, **{**usual, **options})


def many(count: int, *, wrap: Any = None) -> Any:
    from stable_baselines3.common.env_util import make_vec_env

    return make_vec_env(pole, count, seed=5, wrapper_class=wrap)


def weights(model: Any) -> list[np.ndarray]:
    return [value.numpy().copy() for value in model.policy.state_dict().values()]


def same(one: list[np.ndarray], other: list[np.ndarray]) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


class Watched(gymnasium.Wrapper):
    """Keeps the observation that each episode began with."""

    def __init__(self, env: Any, kept: list[Any]) -> None:
        super().__init__(env)
        self.kept = kept

    def reset(self, **options: Any) -> Any:
        observation, info = self.env.reset(**options)
        self.kept.append((tuple(observation.tolist()), info.get("nomos_bug")))
        return observation, info


def test_reset_starts_from_the_recorded_states_at_the_set_rate():
    states = [(0.1 * n, 0.2, -0.03, 0.4, 0.5 + n) for n in range(5)]
    env = of_rows().wrap(pole())
    env.nomos_seed([7])
    env.nomos_update([], [Start(str(n), "s1", s) for n, s in enumerate(states)])
    env.nomos_probability(0.3)
    begun = Counter()
    for _ in range(2000):
        observation, info = env.reset()
        bug = info.get("nomos_bug")
        begun[bug] += 1
        if bug is not None:
            state = states[int(bug)]
            assert observation == pytest.approx(np.array(state[:4], dtype=np.float32))
            assert env.unwrapped.length == state[4]
        else:
            assert np.abs(observation).max() <= 0.05
            assert env.unwrapped.length == 0.5
    assert abs(1 - begun[None] / 2000 - 0.3) < 0.042  # four deviations
    assert set(begun) == {None, "0", "1", "2", "3", "4"}


def test_episode_from_a_bug_has_all_its_steps():
    env = of_rows().wrap(gymnasium.wrappers.TimeLimit(pole().unwrapped, 10))
    env.nomos_probability(1.0)
    env.nomos_update([], [Start("a", "s1", (0, 0, 0, 0, 9.0))])
    for _ in range(3):
        env.reset()
        ends = [env.step(n % 2)[3] for n in range(10)]
        assert ends == [False] * 9 + [True]


def test_the_steps_of_episodes_from_bugs_are_counted():
    env = of_rows().wrap(pole())
    env.nomos_probability(1.0)
    env.nomos_update([], [Start("a", "s1", (0, 0, 0, 0, 9.0))])
    env.reset()
    for action in (0, 1, 0):
        env.step(action)
    env.nomos_probability(0.0)
    env.reset()
    env.step(0)
    assert env.nomos_steps() == (1, 3)
    assert env.nomos_steps() == (0, 0)


def test_training_starts_from_the_bugs_that_the_tests_found():
    kept: list[Any] = []
    training = guided()
    model = ppo(Watched(training.wrap(pole()), kept))
    callback = training.callback()
    ever: list[Start] = []
    training.on_test = lambda *_: ever.extend(callback.starts.all)
    model.learn(64 * 12, callback=callback)
    known = {
        (s.bug, tuple(np.array(astuple(s.state)[:4], dtype=np.float32).tolist()))
        for s in ever
    }
    begun = [(bug, view) for view, bug in kept if bug is not None]
    assert begun
    assert set(begun) <= known
    assert len(begun) < len(kept)
    assert {start.name for start in ever} == {"s1", "s2"}


@pytest.mark.parametrize("environments", [1, 3])
def test_testing_does_not_change_the_training(environments):
    plain = ppo(many(environments))
    plain.learn(64 * environments * 6)
    training = guided(share=0.0)
    tested = ppo(many(environments, wrap=training.wrap))
    tested.learn(64 * environments * 6, callback=training.callback())
    assert len(training.history) == 7
    assert same(weights(plain), weights(tested))


def test_testing_does_not_change_a_training_that_is_not_wrapped():
    plain = ppo(pole())
    plain.learn(64 * 3)
    training = guided(share=0.0)
    tested = ppo(pole())
    tested.learn(64 * 3, callback=training.callback())
    assert same(weights(plain), weights(tested))


def test_guidance_changes_the_training_and_the_same_seed_repeats_it():
    def trained(share: float) -> list[np.ndarray]:
        training = guided(share=share)
        model = ppo(many(2, wrap=training.wrap))
        model.learn(128 * 6, callback=training.callback())
        return weights(model)

    once = trained(0.5)
    assert same(once, trained(0.5))
    assert not same(once, trained(0.0))


def test_a_test_may_use_the_global_generators():
    import random  # noqa: TID251 - what others may draw from

    import torch

    def draw(*_: Any) -> None:
        random.random()
        np.random.rand()
        torch.rand(3)

    training = guided(share=0.0, on_test=draw)
    plain = ppo(pole())
    plain.learn(64 * 3)
    tested = ppo(pole())
    tested.learn(64 * 3, callback=training.callback())
    assert same(weights(plain), weights(tested))


def test_fresh_cases_are_others_at_each_test_and_their_bugs_are_starts_too():
    training = guided(fresh=10)
    callback = training.callback()
    ppo(training.wrap(pole())).learn(64 * 4, callback=callback)
    history = training.history
    assert all(test.tests == 10 and test.fresh_bugs > 0 for test in history)
    assert [test.share for test in history] == [0, 0.5, 0.5, 0.5, 0.5]
    assert history[0].guided_steps == 0 < max(t.guided_steps for t in history) <= 1
    # The first test's cases come again; those of the fresh ones do not.
    assert history[0].new_bugs == history[0].bugs + history[0].fresh_bugs
    assert all(test.new_bugs >= test.fresh_bugs for test in history)


def test_the_last_policy_is_tested_too_and_none_twice():
    training = guided(test_every=2, share=0.0)
    ppo(pole()).learn(64 * 5, callback=training.callback())
    assert [test.rollouts for test in training.history] == [0, 2, 4, 5]
    assert [test.steps for test in training.history] == [0, 128, 256, 320]


def test_the_tests_are_of_the_policy_as_it_is_then():
    played = []

    def both(test: PolicyTest, model: Any) -> None:
        tests = PolicyTests(Path("up.nom"), {}, policy="policy", budget=10)
        act = model.policy.predict
        found = tests.run(lambda views: act(views, deterministic=True)[0], seed=0)
        weights = next(model.policy.parameters()).detach().sum().item()
        played.append((len(found.bugs), weights))

    training = guided(share=0.0, on_test=both)
    ppo(pole(), learning_rate=0.03).learn(64 * 4, callback=training.callback())
    assert len({weights for _, weights in played}) > 1  # it learned meanwhile
    assert [bugs for bugs, _ in played] == [t.bugs for t in training.history]


def test_a_policy_whose_observations_are_scaled_is_tested_with_them_scaled():
    from stable_baselines3.common.vec_env import VecNormalize

    from casestudies.guiding.policy_tests import best_actions

    model = ppo(VecNormalize(many(2)))
    model.learn(128 * 2)
    views = np.random.default_rng(0).normal(size=(200, 4)).astype(np.float32)
    scaled = model.get_vec_normalize_env().normalize_obs(views)
    wanted = model.policy.predict(scaled, deterministic=True)[0]
    assert np.array_equal(best_actions(model)(views), wanted)
    unscaled = model.policy.predict(views, deterministic=True)[0]
    assert not np.array_equal(unscaled, wanted)


def test_copied_networks_act_as_the_policy_does():
    from torch import nn

    from casestudies.guiding.policy_tests import best_actions

    views = np.random.default_rng(0).normal(size=(500, 4)).astype(np.float32)
    for activation in (nn.Tanh, nn.ReLU, nn.ELU):
        model = ppo(pole(), policy_kwargs={"activation_fn": activation})
        wanted = model.predict(views, deterministic=True)[0]
        assert np.array_equal(best_actions(model)(views), wanted)


def test_bugs_have_half_of_the_steps_though_their_episodes_are_short():
    # A pole that lies nearly flat is down within a few steps.
    training = guided(restore=lambda game, *_: game.restore((0, 0, 0.2, 1.0, 0.5)))
    model = ppo(many(4, wrap=training.wrap), learning_rate=0.0)
    model.learn(64 * 4 * 12, callback=training.callback())
    assert training.guided_steps == pytest.approx(0.5, abs=0.1)


@pytest.mark.slow
def test_no_episode_starts_from_a_bug_before_the_reward_is_reached():
    kept: list[Any] = []
    never = guided(min_reward=400.0)
    ppo(Watched(never.wrap(pole()), kept)).learn(64 * 40, callback=never.callback())
    assert {bug for _, bug in kept} == {None}
    assert {test.share for test in never.history} == {0}
    soon = guided(min_reward=5.0, tests=2)
    ppo(Watched(soon.wrap(pole()), kept)).learn(64 * 80, callback=soon.callback())
    shares = [test.share for test in soon.history]
    assert shares == sorted(shares)
    assert (shares[0], shares[-1]) == (0.0, 0.5)
    # A hundred usual episodes end first, and only usual ones count.
    assert shares.count(0.0) > 5


def test_bugs_that_no_longer_occur_are_forgotten(monkeypatch):
    from casestudies.cartpole.cartpole import HERE
    from casestudies.guiding import sb3
    from casestudies.lunar.policy import load_policy

    scores = load_policy(HERE / "models" / "ppo.onnx")

    def trained(views: np.ndarray) -> np.ndarray:
        return scores(views).argmax(axis=1)

    found: list[tuple[int, int]] = []
    training = guided(forget_after=1, tests=60)
    callback = training.callback()
    training.on_test = lambda test, _: found.append((test.bugs, test.known_bugs))
    # After the first test the policy is one that was trained.
    model = ppo(training.wrap(pole()))
    real = sb3.best_actions
    monkeypatch.setattr(
        sb3, "best_actions", lambda m: real(m) if not found else trained
    )
    model.learn(64 * 2, callback=callback)
    assert found[0][0] == found[0][1] > 0
    assert found[1][1] < found[0][1]


def test_another_algorithm_is_guided_too():
    from stable_baselines3 import DQN

    training = guided(test_every=40, schedule=Schedule(growth=0.5, every=20))
    model = DQN("MlpPolicy", training.wrap(pole()), learning_starts=50, seed=1)
    model.learn(400, callback=training.callback())
    assert [test.rollouts for test in training.history] == [0, 40, 80, 100]
    assert training.history[-1].share == 0.5


def test_environments_in_processes_of_their_own_are_guided_too():
    from stable_baselines3.common.env_util import make_vec_env
    from stable_baselines3.common.vec_env import SubprocVecEnv

    training = guided()
    env = make_vec_env(
        pole, 2, seed=5, wrapper_class=training.wrap, vec_env_cls=SubprocVecEnv
    )
    try:
        callback = training.callback()
        ppo(env).learn(128 * 3, callback=callback)
        one, other = (c.probability for c in env.get_attr("chooser"))
        assert one == other > 0
        assert len(callback.starts) > 0
    finally:
        env.close()


def test_an_environment_that_was_not_wrapped_is_said():
    training = guided()
    with pytest.raises(NomosError, match=r"env = guided\.wrap\(env\)"):
        ppo(pole()).learn(64, callback=training.callback())


def test_an_environment_whose_states_cannot_be_restored_is_said():
    with pytest.raises(NomosError, match="CartPoleEnv has no method `restore`"):
        GuidedTraining("up.nom").wrap(gymnasium.make("CartPole-v1"))


@pytest.mark.slow
def test_the_script_of_the_page_runs(capsys):
    root = Path(__file__).parents[2]
    page = (root / "docs" / "casestudies" / "lunar-training.md").read_text()
    blocks = [part.split("```")[0] for part in page.split("```python\n")[1:]]
    (script,) = (block for block in blocks if "model.learn" in block)
    script = script.replace("100_000", "4096").replace(
        '"casestudies', f'tests=20, fresh=0, spec="{root}/casestudies'
    )
    exec(script, {})
    assert capsys.readouterr().out.endswith(" bugs in 20 cases\n")
