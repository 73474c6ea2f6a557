"""CartPole: its moments, longer poles, its pool; the fuzzer on a second game."""

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from casestudies.cartpole import cartpole
from casestudies.fuzzing import StatePool, grow, load_pool

FOLDER = Path(cartpole.__file__).parent
MODEL = FOLDER / "models" / "ppo.onnx"

needs_game = pytest.mark.skipif(
    find_spec("gymnasium") is None,
    reason="needs CartPole: pip install 'nomos-ml[lunar]'",
)


@needs_game
def test_a_restored_game_goes_on_as_the_original_did():
    from casestudies.cartpole.pole import Pole

    original, restored = Pole(), Pole()
    original.reset(seed=1)
    for action in (0, 1, 1, 0, 1):
        view, *_ = original.step(action)
    assert np.array_equal(restored.restore(original.snapshot()), view)
    for action in (1, 0, 0, 1, 1, 0):
        assert np.array_equal(original.step(action)[0], restored.step(action)[0])


@needs_game
def test_a_fresh_start_has_a_pole_of_the_usual_length():
    from gymnasium.envs.classic_control import CartPoleEnv

    from casestudies.cartpole.pole import Pole

    ours, original = Pole(), CartPoleEnv()
    ours.restore(np.array([0, 0, 0, 0, 2.0]))
    assert np.array_equal(ours.reset(seed=4)[0], original.reset(seed=4)[0])
    for action in (0, 0, 1):
        assert np.array_equal(ours.step(action)[0], original.step(action)[0])


@needs_game
def test_a_longer_pole_falls_more_slowly():
    from casestudies.cartpole.pole import Pole

    def steps_until_it_falls(length):
        game = Pole()
        game.restore(np.array([0, 0, 0.05, 0, length]))
        for step in range(500):
            if game.step(step % 2)[2]:
                return step
        raise AssertionError("it never fell")

    assert steps_until_it_falls(0.5) < steps_until_it_falls(1) < steps_until_it_falls(2)


@needs_game
def test_relax_lengthens_the_pole_and_changes_nothing_else():
    domain = cartpole.CartPole()
    rng = np.random.default_rng(0)
    for state in domain.inputs()[:100]:
        longer = domain.relax(state, rng)
        assert state.length < longer.length < 4 * state.length
        assert cartpole.replace(longer, length=state.length) == state


@needs_game
def test_the_policy_wins_from_the_middle_and_nobody_wins_at_the_edge():
    domain = cartpole.CartPole()
    assert domain.play(cartpole.PoleState(0, 0, 0.01, 0, 0.5)) == 1
    assert domain.play(cartpole.PoleState(2.3, 3.0, 0, 0, 0.5)) == 0


def test_the_pools_states_look_different_by_more_than_the_threshold():
    pool = load_pool(FOLDER / "pool.npz")
    gaps = pool.observations[:, None] - pool.observations[None]
    distances = np.sqrt((gaps**2).sum(axis=-1)) + 9 * np.eye(len(pool))
    assert len(pool) == 500
    assert distances.min() > pool.settings.threshold == 0.4


@needs_game
def test_the_pools_seed_grows_the_same_pool_again():
    from casestudies.cartpole.pole import Pole
    from casestudies.lunar.policy import load_policy, sampling

    kept = load_pool(FOLDER / "pool.npz")
    again = StatePool(settings=kept.settings, seed=kept.seed)
    grow(again, Pole(), actions=2, size=100, policy=sampling(load_policy(MODEL)))
    assert np.array_equal(again.states, kept.states[:100])
