"""The lean LunarLander: gymnasium's game to the bit, and moments that can be restored."""

from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from casestudies.fuzzing import load_pool
from casestudies.lunar import lunar
from casestudies.lunar.state import from_row

MEMORY = Path("/proc/self/statm")

pytestmark = pytest.mark.skipif(
    find_spec("gymnasium") is None or find_spec("Box2D") is None,
    reason="needs LunarLander: pip install 'nomos-ml[lunar]'",
)


@pytest.fixture(scope="module")
def states():
    pool = load_pool(Path(lunar.__file__).parent / "pool.npz")
    return [from_row(row) for row in pool.states]


def flight(game, action_seed, *, steps=1000):
    """Play random actions; give all that the game says, as comparable values."""
    rng = np.random.default_rng(action_seed)
    said = []
    for _ in range(steps):
        view, reward, ended, _, _ = game.step(int(rng.integers(4)))
        said.append((view.tobytes(), float(reward), ended))
        if ended:
            break
    return said


@pytest.mark.parametrize("by", ["chance", "heuristic"])
def test_the_game_is_gymnasiums_to_the_bit(by):
    from casestudies.lunar.box2d import lunar_lander
    from casestudies.lunar.lander import Lander

    original, lean = lunar_lander.LunarLander(), Lander()
    rng = np.random.default_rng(0)
    for episode in range(21):
        seed = None if episode % 3 == 2 else episode  # None goes on with the generator
        view, _ = original.reset(seed=seed)
        assert np.array_equal(view, lean.reset(seed=seed)[0])
        for _ in range(1000):
            action = int(rng.integers(4))
            if by == "heuristic":
                action = int(lunar_lander.heuristic(original, view))
            view, *expected, _ = original.step(action)
            lean_view, *said, _ = lean.step(action)
            assert view.tobytes() == lean_view.tobytes()
            assert expected == said
            if expected[1]:
                break


def test_restored_games_with_one_seed_and_one_play_are_equal_to_the_bit(states):
    from casestudies.lunar.lander import Lander

    fresh, used = Lander(), Lander()
    for number, state in enumerate(states[::100]):
        first = fresh.restore(state, seed=number)
        one = flight(fresh, number)
        used.reset(seed=99)
        flight(used, 7, steps=number)
        assert np.array_equal(first, used.restore(state, seed=number))
        assert one == flight(used, number)


def test_the_seed_decides_the_noise_of_the_engines(states):
    from casestudies.lunar.lander import Lander

    game = Lander()
    game.restore(states[0], seed=1)
    one = flight(game, 5)
    game.restore(states[0], seed=2)
    assert one != flight(game, 5)


def test_a_restored_state_is_the_state_that_was_taken(states):
    from casestudies.lunar.lander import Lander

    game = Lander()
    for number in range(20):
        view, _ = game.reset(seed=number)
        for action in np.random.default_rng(number).integers(4, size=30).tolist():
            view, *_ = game.step(action)
        taken = game.snapshot()
        other = Lander()
        assert np.array_equal(other.restore(taken, seed=0), view)
        assert other.snapshot() == taken
        assert ground(other) == ground(game)


def ground(game):
    return [tuple(fixture.shape.vertices) for fixture in game.moon.fixtures]


def test_a_restored_flight_stays_near_the_original():
    from casestudies.lunar.lander import Lander

    original, restored = Lander(), Lander()
    for number in range(20):
        original.reset(seed=number)
        for action in np.random.default_rng(number).integers(4, size=30).tolist():
            original.step(action)
        restored.restore(original.snapshot(), seed=0)
        noise = original.np_random.bit_generator.state
        restored.np_random.bit_generator.state = noise
        for action in (2, 1, 0, 3, 2):
            view, reward, *_ = original.step(action)
            near_view, near_reward, *_ = restored.step(action)
            assert np.allclose(view, near_view, atol=1e-4)
            assert near_reward == pytest.approx(reward, abs=0.05)


def test_a_contact_that_is_over_is_not_reported_for_ever(states):
    from casestudies.lunar.lander import Lander

    high = next(state for state in states if state.lander.y > 10)
    game = Lander()
    view = game.restore(replace(high, contacts=(True, True)), seed=0)
    assert view[6:].tolist() == [1.0, 1.0]
    view, *_ = game.step(0)
    assert view[6:].tolist() == [0.0, 0.0]


@pytest.mark.skipif(not MEMORY.exists(), reason="needs Linux's account of memory")
def test_restoring_many_times_keeps_no_memory(states):
    from casestudies.lunar.lander import Lander

    def pages_in_memory():
        return int(MEMORY.read_text().split()[1])

    game = Lander()
    for seed in range(200):
        game.restore(states[0], seed=seed)
    before = pages_in_memory()
    for seed in range(4000):
        game.restore(states[0], seed=seed)
    assert pages_in_memory() - before < 300  # of 4096 bytes


def test_what_a_wrapper_notes_about_one_step_reaches_no_other_step():
    from casestudies.lunar.lander import Lander

    game = Lander()
    game.reset(seed=0)
    game.step(0)[4]["episode"] = "noted"
    assert game.step(0)[4] == {}
