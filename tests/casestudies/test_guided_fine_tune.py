"""A trained policy of CartPole fine-tuned from its bugs, by call and by command."""

import importlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from casestudies.guiding.fine_tune import (
    FineTuned,
    Judgement,
    TuningBudget,
    fine_tune,
    play_games,
)
from casestudies.guiding.training import GuidedTraining
from nomos import DomainError

needs_sb3 = pytest.mark.usefixtures("sb3")
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
DOMAIN = """\
from dataclasses import astuple
from typing import Any

from gymnasium.wrappers import TimeLimit

from casestudies.cartpole.cartpole import CartPole
from casestudies.cartpole.pole import Pole


class Restored(Pole):
    def restore(self, state, *, seed=0) -> Any:
        return super().restore(astuple(state), seed=seed)


class Poles(CartPole):
    def training_environment(self) -> Any:
        return TimeLimit(Restored(), 500)
"""
# Whatever is lost: the last policy is kept.
SMALL = TuningBudget(steps=256, tests=2, cases=10, games=3, environments=2, lose=1000.0)
QUICK = replace(SMALL, algorithm={"n_steps": 64, "batch_size": 32})


def evaluated(bugs: int, reward: float) -> Judgement:
    return Judgement(cases=1000, bugs=bugs, chance=2, reward=reward, error=1.0)


def tuned(before: Judgement, after: Judgement) -> FineTuned:
    return FineTuned(
        model=None,
        before=before,
        after=after,
        history=(),
        kept=4096,
        guided_steps=0.5,
        held_out=False,
        lose=10.0,
    )


@pytest.mark.parametrize(
    ("bugs", "reward", "verdict"),
    [
        (60, 200.0, "safer"),
        (60, 191.0, "safer"),
        (60, 189.0, "reward lost"),
        (90, 200.0, "fewer bugs, maybe by chance"),
        (100, 200.0, "no fewer bugs"),
    ],
)
def test_the_verdict_claims_no_more_than_the_figures_do(bugs, reward, verdict):
    assert tuned(evaluated(100, 200.0), evaluated(bugs, reward)).verdict == verdict


def test_what_is_told_names_the_inputs_and_what_chance_does():
    told = str(tuned(evaluated(100, 200.0), evaluated(60, 195.0)))
    assert "before: 100 bugs in 1000 cases, 2 by chance alone; reward 200.0" in told
    assert "after:  60 bugs" in told
    assert "on the same inputs, other cases" in told


@pytest.fixture
def sb3() -> None:
    why = "needs pip install 'nomos-ml[lunar-train]'"
    for name in ("torch", "stable_baselines3", "gymnasium"):
        pytest.importorskip(name, reason=why)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("pyproject.toml").touch()
    Path("poles.py").write_text(DOMAIN)
    Path("up.nom").write_text(SPEC)
    return tmp_path


def policy(algorithm: str = "PPO", **options: Any) -> Any:
    import stable_baselines3
    import torch
    from gymnasium.wrappers import TimeLimit

    from casestudies.cartpole.pole import Pole

    torch.set_num_threads(1)
    kind = getattr(stable_baselines3, algorithm)
    return kind("MlpPolicy", TimeLimit(Pole(), 500), seed=1, device="cpu", **options)


@needs_sb3
@pytest.mark.parametrize("algorithm", ["PPO", "A2C", "DQN"])
def test_a_policy_is_fine_tuned_and_judged_before_and_after(project, algorithm):
    model = policy(algorithm)
    before = [value.clone() for value in model.policy.state_dict().values()]
    guided = GuidedTraining("up.nom", tests=5, fresh=5)
    budget = QUICK if algorithm == "PPO" else SMALL
    result = fine_tune(model, guided, budget=budget, control="up.nom")
    assert result.before.bugs == result.before.chance > 0
    assert result.before.reward > 0
    assert not result.held_out
    assert result.history[0].steps == 0
    assert result.history[-1].steps >= 256
    assert result.guided_steps > 0
    after = result.model.policy.state_dict().values()
    assert any(not (a == b).all() for a, b in zip(before, after, strict=True))
    left = model.policy.state_dict().values()
    assert all((a == b).all() for a, b in zip(before, left, strict=True))
    assert guided.history == []


@needs_sb3
def test_the_last_policy_that_keeps_the_reward_is_kept(project, monkeypatch):
    module = importlib.import_module("casestudies.guiding.fine_tune")

    rewards = iter([100.0, 96.0, 94.0, 80.0])
    weights: list[list[float]] = []

    def play(act: Any, games: Any, *, seed: int) -> list[float]:
        return [next(rewards)] if seed == module._WATCHING_SEED else [100.0]

    def on_test(_: Any, model: Any) -> None:
        weights.append(model.policy.action_net.bias.tolist())

    monkeypatch.setattr(module, "play_games", play)
    budget = replace(QUICK, steps=384, tests=3, lose=10.0)
    guided = GuidedTraining("up.nom", tests=2, fresh=0, on_test=on_test)
    result = fine_tune(policy(learning_rate=0.01), guided, budget=budget)
    assert result.kept == 128
    assert result.model.policy.action_net.bias.tolist() == weights[1]
    assert weights[1] not in (weights[0], weights[2])


@needs_sb3
def test_the_policy_is_judged_on_the_inputs_that_are_held_out(project):
    from casestudies.cartpole.guided import HELD_OUT

    guided = GuidedTraining("up.nom", tests=2, fresh=0)
    result = fine_tune(policy(), guided, budget=QUICK, held_out={"pool": HELD_OUT})
    assert result.held_out
    assert "inputs that no training saw" in str(result)
    with pytest.raises(DomainError, match=r"missing\.npz"):
        fine_tune(policy(), guided, budget=QUICK, held_out={"pool": "missing.npz"})


@pytest.mark.slow
@needs_sb3
def test_no_step_of_a_trained_dqn_is_played_at_random(project):
    model = policy("DQN")
    result = fine_tune(model, "up.nom", budget=SMALL)
    assert result.model.exploration_rate == model.exploration_final_eps
    assert result.model.learning_starts == model.batch_size


@needs_sb3
def test_a_domain_without_a_game_is_told(project):
    Path("poles.py").write_text(DOMAIN.replace("training_environment", "other"))
    with pytest.raises(DomainError, match="Poles has no game to train in"):
        fine_tune(policy(), "up.nom", budget=SMALL)


@needs_sb3
def test_the_reward_is_that_of_games_from_their_own_starts(project):
    import numpy as np
    from gymnasium.wrappers import TimeLimit

    from casestudies.cartpole.pole import Pole

    rewards = play_games(
        lambda views: np.zeros(len(views), dtype=int),
        [TimeLimit(Pole(), 7), TimeLimit(Pole(), 500), TimeLimit(Pole(), 500)],
        seed=3,
    )
    assert rewards[0] == 7
    assert all(8 <= reward <= 11 for reward in rewards[1:])
