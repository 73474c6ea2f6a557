"""The lunar case study: its surface, its domain, its policies and its pool."""

import subprocess
import sys
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from casestudies.fuzzing import FuzzSettings, StatePool, grow, load_pool
from casestudies.lunar import lunar
from casestudies.lunar.policy import load_policy, sampling
from casestudies.lunar.state import (
    CLEARANCE,
    CORNER_X,
    HEIGHT,
    LANDER_RADIUS,
    LEG_RADIUS,
    LOWEST_PAD,
    PAD,
    corner_heights,
    from_row,
    lowered_pads,
    raised_pads,
    to_row,
    with_pad,
)
from nomos import Discard, DomainError, ModelError, api, run

FOLDER = Path(lunar.__file__).parent
MODEL = FOLDER / "models" / "ppo.onnx"

needs_game = pytest.mark.skipif(
    find_spec("gymnasium") is None or find_spec("Box2D") is None,
    reason="needs LunarLander: pip install 'nomos-ml[lunar]'",
)


@pytest.fixture(scope="module")
def states():
    return [from_row(row) for row in load_pool(FOLDER / "pool.npz").states]


@pytest.fixture(scope="module")
def domain():
    return lunar.Lunar()


# The surface


def surface(state):
    return np.array(corner_heights(state.heights))


def test_a_state_written_as_a_row_comes_back_unchanged(states):
    for state in states[::50]:
        assert from_row(to_row(state)) == state


def test_a_row_of_another_length_is_refused():
    with pytest.raises(ValueError, match=r"32 numbers, not \(31,\)"):
        from_row(np.zeros(31))


def test_a_lowered_surface_is_lower_everywhere_and_nothing_else_changed(states):
    for state in states:
        low, high = lowered_pads(state)
        assert (low, high) == (LOWEST_PAD, HEIGHT / 4)
        for pad in (low, (low + high) / 2):
            lower = with_pad(state, pad)
            assert (surface(lower) < surface(state)).all()
            assert all(lower.heights[i] == pad for i in PAD)
            assert (lower.lander, lower.legs) == (state.lander, state.legs)
            assert lower.contacts == (False, False)


def test_a_raised_surface_is_higher_everywhere_but_under_the_craft(states):
    defined = [state for state in states if is_raisable(state)]
    assert len(defined) > 100
    for state in defined:
        higher = with_pad(state, raised_pads(state)[1])
        assert (surface(higher) > surface(state)).all()
        assert higher.pad <= state.lander.y - CLEARANCE + 1e-9
        assert (higher.lander, higher.legs) == (state.lander, state.legs)
        bodies = [
            (state.lander, LANDER_RADIUS),
            *((leg, LEG_RADIUS) for leg in state.legs),
        ]
        for body, radius in bodies:
            under = np.linspace(body.x - radius, body.x + radius, 50)
            heights = np.interp(under, CORNER_X, surface(higher))
            assert heights.max() <= body.y - radius + 1e-9


def is_raisable(state):
    low, high = raised_pads(state)
    return low < high


def test_a_lander_too_low_cannot_have_its_surface_raised(states):
    low = [state for state in states if state.lander.y - CLEARANCE <= state.pad]
    assert len(low) > 100
    assert not any(is_raisable(state) for state in low)


# The domain


@needs_game
def test_relax_draws_pads_between_a_third_and_all_of_the_old_height(domain, states):
    rng = np.random.default_rng(0)
    pads = [domain.relax(states[0], rng).pad for _ in range(400)]
    assert LOWEST_PAD < min(pads) < LOWEST_PAD + 0.1
    assert HEIGHT / 4 - 0.1 < max(pads) < HEIGHT / 4


@needs_game
def test_unrelax_is_discarded_where_there_is_no_room(domain, states):
    rng = np.random.default_rng(0)
    for state in states[::10]:
        if is_raisable(state):
            assert domain.unrelax(state, rng).pad > state.pad
        else:
            with pytest.raises(Discard, match="no room to raise the surface"):
                domain.unrelax(state, rng)


@needs_game
def test_the_inputs_are_the_pools_states(domain, states):
    assert domain.inputs() == states


@needs_game
def test_a_pool_of_another_game_is_refused(tmp_path):
    pool = StatePool()
    pool.add_if_new(np.zeros(5), np.zeros(4))
    pool.save(tmp_path / "poles.npz")
    for name in ("poles.npz", "nowhere.npz"):
        with pytest.raises(DomainError, match="no pool of states"):
            lunar.Lunar(pool=str(tmp_path / name)).inputs()


@needs_game
def test_a_play_can_be_repeated(domain, states):
    for number, state in enumerate(states[::200]):
        assert domain.play(state, number) == domain.play(state, number)


class Falling(lunar.Lunar):
    """A lander whose policy never fires an engine."""

    @lunar.batched
    def policy(self, observations):
        return [0] * len(observations)


def moved(state, **changes):
    """Move the whole craft, so that it stays in one piece."""
    bodies = [
        body._replace(
            x=body.x + changes.get("x", 0.0),
            vx=changes.get("vx", body.vx),
            vy=changes.get("vy", body.vy),
        )
        for body in (state.lander, *state.legs)
    ]
    return replace(state, lander=bodies[0], legs=(bodies[1], bodies[2]))


@needs_game
def test_falling_onto_the_ground_is_a_crash(states):
    assert Falling().play(moved(states[0], vy=-5.0), 0) == 0


@needs_game
def test_leaving_the_field_is_a_crash(states):
    assert Falling().play(moved(states[0], x=8.0, vx=20.0, vy=3.0), 0) == 0


@needs_game
def test_a_game_that_outlasts_the_step_limit_is_no_crash(states):
    assert Falling(step_limit=5).play(states[0], 0) == 1


@needs_game
def test_a_good_landing_is_won(domain, states):
    assert domain.play(states[0], 0) == 1


@needs_game
def test_a_simulator_is_handed_back_even_after_a_failure(states):
    class Broken(lunar.Lunar):
        @lunar.batched
        def policy(self, observations):
            raise ZeroDivisionError

    broken = Broken()
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            broken.play(states[0], 0)
    assert len(broken._idle) == 1


@needs_game
def test_the_policy_answers_a_batch_as_it_answers_each_alone(domain):
    views = load_pool(FOLDER / "pool.npz").observations.astype(np.float32)[:300]
    assert list(domain.policy.many(views)) == [domain.policy(view) for view in views]


def campaign(spec, mode):
    """Run a few cases of a property."""
    path = FOLDER / "specs" / f"{spec}.nom"
    how: dict[str, Any] = {"mode": mode, "search": "random", "seed": 1}
    how |= {"groups": False, "shrink": False, "recheck": False}
    return run(path, store=False, budget=30, **how)


@needs_game
@pytest.mark.parametrize("spec", ["relax", "unrelax"])
def test_games_side_by_side_come_to_the_bugs_of_games_one_by_one(spec):
    alone, together = campaign(spec, "sequential"), campaign(spec, "coroutines")
    assert together.bugs
    assert alone.bugs == together.bugs
    assert alone.counts.passed == together.counts.passed
    assert together.counts.k == 20


@needs_game
def test_cases_that_unrelax_has_no_room_for_are_discarded():
    counts = campaign("unrelax", "coroutines").counts
    assert counts.discarded > 0
    assert counts.tests == counts.passed + counts.violations == 30


@pytest.mark.parametrize("spec", ["relax", "unrelax"])
def test_the_specs_have_no_mistakes(spec):
    assert api.load_spec(FOLDER / "specs" / f"{spec}.nom").checked.diagnostics == ()


def test_the_domain_can_be_imported_with_numpy_alone():
    blocked = "gymnasium", "Box2D", "torch", "stable_baselines3", "onnxruntime"
    program = (
        f"import sys; sys.modules.update(dict.fromkeys({blocked}))\n"
        "from casestudies.lunar.lunar import Lunar\n"
        "try: Lunar()\n"
        "except Exception as error: print(type(error).__name__, error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=FOLDER.parent.parent,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith("DomainError LunarLander needs gymnasium with Box2D")
    assert "nomos-ml[lunar]" in done.stdout


# The policies


@needs_game
def test_the_policies_reach_the_rewards_of_their_card():
    from casestudies.lunar.train import evaluate

    rewards = {
        name: evaluate(load_policy(FOLDER / "models" / f"{name}.onnx"), seed=777).mean
        for name in ("early", "paper", "ppo")
    }
    assert rewards["ppo"] > 200
    assert rewards["early"] < rewards["paper"] < rewards["ppo"]


def test_an_sb3_policy_that_is_not_there_is_named():
    with pytest.raises(ModelError, match=r"no model file .*nowhere\.zip"):
        load_policy("nowhere.zip")


@needs_game
@pytest.mark.slow
def test_a_policy_saved_by_sb3_and_its_export_choose_the_same_actions(tmp_path):
    pytest.importorskip("stable_baselines3", reason="needs 'nomos-ml[lunar-train]'")
    pytest.importorskip("onnx", reason="needs 'nomos-ml[lunar-train]'")
    from casestudies.lunar.train import export, make_learner

    learner = make_learner(seed=3)
    learner.save(tmp_path / "policy.zip")
    export(learner.policy, tmp_path / "policy.onnx")
    views = load_pool(FOLDER / "pool.npz").observations.astype(np.float32)
    one = load_policy(tmp_path / "policy.zip")(views)
    other = load_policy(tmp_path / "policy.onnx")(views)
    assert np.array_equal(one.argmax(axis=1), other.argmax(axis=1))


# The pool


def test_the_pools_states_look_different_by_more_than_the_threshold():
    pool = load_pool(FOLDER / "pool.npz")
    assert len(pool) == 2000 and pool.settings == FuzzSettings(threshold=0.4)
    for number, view in enumerate(pool.observations):
        gaps = pool.observations[:number] - view
        assert (np.sqrt((gaps**2).sum(axis=1)) > 0.4).all()


def test_the_pools_file_is_small():
    assert (FOLDER / "pool.npz").stat().st_size < 1_000_000


@needs_game
def test_the_pools_seed_grows_the_same_pool_again():
    from casestudies.lunar.fuzz import LanderRows

    kept = load_pool(FOLDER / "pool.npz")
    again = StatePool(settings=kept.settings, seed=kept.seed)
    policy = sampling(load_policy(MODEL))
    grow(again, LanderRows(), actions=4, size=100, policy=policy)
    assert np.array_equal(again.states, kept.states[:100])
