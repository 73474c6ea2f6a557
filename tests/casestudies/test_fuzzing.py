"""The state fuzzer, on a walk in the plane that needs nothing but numpy."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from casestudies.fuzzing import FuzzSettings, StatePool, grow, load_pool, open_pool

STEPS = ((1, 0), (-1, 0), (0, 1), (0, -1))


class Walk:
    """A walk with gusts of wind; it ends when it leaves the field."""

    def __init__(self, *, edge=3.0):
        self.edge = edge
        self.place = np.zeros(2)
        self.wind = np.random.default_rng()
        self.actions_taken = []

    def reset(self, *, seed):
        return self.restore(np.zeros(2), seed=seed), {}

    def restore(self, state, *, seed):
        self.place = state.copy()
        self.wind = np.random.default_rng(seed)
        return self.place.astype(np.float32)

    def snapshot(self):
        return self.place.copy()

    def step(self, action):
        self.actions_taken.append(action)
        self.place = self.place + 0.1 * np.array(STEPS[action])
        self.place += 0.01 * self.wind.normal(size=2)
        ended = bool(np.abs(self.place).max() > self.edge)
        return self.place.astype(np.float32), 0.0, ended, False, {}


def grown(size, *, seed=0, progress=None, threshold=0.3, patience=5000):
    settings = FuzzSettings(threshold=threshold, patience=patience)
    pool = StatePool(settings=settings, seed=seed)
    return grow(pool, Walk(), actions=4, size=size, progress=progress)


def same(one, other):
    return (
        np.array_equal(one.states, other.states)
        and np.array_equal(one.observations, other.observations)
        and one.trial_count == other.trial_count
        and one.rng.bit_generator.state == other.rng.bit_generator.state
    )


def test_every_two_states_look_different_by_more_than_the_threshold():
    pool = grown(100)
    gaps = pool.observations[:, None] - pool.observations[None]
    distances = np.sqrt((gaps**2).sum(axis=-1))
    assert len(pool) == 100
    assert distances[~np.eye(100, dtype=bool)].min() > 0.3


def test_one_seed_gives_one_pool():
    assert same(grown(60, seed=5), grown(60, seed=5))
    assert not same(grown(60, seed=5), grown(60, seed=6))


def test_the_state_kept_is_the_one_observed():
    pool = grown(50)
    assert np.array_equal(pool.states.astype(np.float32), pool.observations)


def test_a_pool_saved_and_grown_on_is_the_pool_that_was_never_saved(tmp_path):
    path = tmp_path / "pool.npz"
    grown(40, seed=3).save(path)
    resumed = grow(load_pool(path), Walk(), actions=4, size=90)
    assert same(resumed, grown(90, seed=3))


def test_a_pool_saved_by_its_progress_callback_can_be_grown_on(tmp_path):
    path = tmp_path / "pool.npz"
    kept = []

    def stop_early(pool):
        kept.append(len(pool))
        pool.save(path)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        grown(150, seed=3, progress=stop_early)
    assert 0 < kept[0] < 150
    resumed = grow(load_pool(path), Walk(), actions=4, size=150)
    assert same(resumed, grown(150, seed=3))


def test_what_is_new_agrees_with_measuring_every_distance():
    rng = np.random.default_rng(1)
    pool = StatePool(settings=FuzzSettings(threshold=0.5))
    kept = []
    for view in rng.normal(size=(600, 3)):
        is_new = all(np.sqrt(((view - other) ** 2).sum()) > 0.5 for other in kept)
        assert pool.add_if_new(view, view) == is_new
        if is_new:
            kept.append(view)
    assert np.array_equal(pool.states, kept)


def test_rounding_far_from_the_origin_does_not_decide_what_is_new():
    rng = np.random.default_rng(1)
    pool = StatePool(settings=FuzzSettings(threshold=0.5))
    kept = []
    for steps in rng.integers(-3, 4, size=(400, 3)):  # many are 0.5 apart, or nearly
        view = 12345.678 + 0.5 * steps
        is_new = all(((view - other) ** 2).sum() > 0.25 for other in kept)
        assert pool.add_if_new(view, view) == is_new
        if is_new:
            kept.append(view)


def test_a_state_exactly_at_the_threshold_is_not_new():
    pool = StatePool(settings=FuzzSettings(threshold=0.5))
    assert pool.add_if_new(np.zeros(2), np.array([1000.0, 0.0]))
    assert not pool.add_if_new(np.ones(2), np.array([1000.5, 0.0]))
    assert pool.add_if_new(np.ones(2), np.array([1000.5 + 1e-9, 0.0]))


def test_states_of_ended_games_are_not_kept():
    pool = grown(300, threshold=0.2, patience=3000)
    assert np.abs(pool.states).max() <= 3.0
    assert np.abs(pool.states).max() > 2.5


def test_growing_gives_up_when_nothing_new_is_found():
    pool = StatePool(settings=FuzzSettings(threshold=0.3, patience=200))
    grow(pool, Walk(edge=0.5), actions=4, size=1000)
    assert 1 < len(pool) < 20
    assert pool.fruitless_count == 200


def test_the_policy_plays_its_share_of_the_trials():
    pool = StatePool(
        settings=FuzzSettings(
            threshold=50, policy_share=0.2, most_actions=4, patience=4000
        )
    )
    walk = Walk()
    asked = []

    def always_right(observation, rng):
        asked.append(observation)
        return 0

    grow(pool, walk, actions=4, size=2, policy=always_right)
    assert 0.17 < len(asked) / len(walk.actions_taken) < 0.23


@pytest.mark.parametrize(("share", "starts"), [(0.0, {"reset"}), (1.0, {"restore"})])
def test_trials_start_where_the_pool_share_says(share, starts):
    seen = []

    class Noted(Walk):
        def reset(self, *, seed):
            seen.append("reset")
            return Walk.restore(self, np.zeros(2), seed=seed), {}

        def restore(self, state, *, seed):
            seen.append("restore")
            return super().restore(state, seed=seed)

    settings = FuzzSettings(threshold=50, pool_share=share, patience=100)
    grow(StatePool(settings=settings), Noted(), actions=4, size=2)
    assert set(seen[1:]) == starts  # the first start is always a fresh one


def test_a_trial_takes_none_to_the_most_actions():
    taken = []

    class Counted(Walk):
        def restore(self, state, *, seed):
            taken.append(0)
            return super().restore(state, seed=seed)

        def step(self, action):
            taken[-1] += 1
            return super().step(action)

    settings = FuzzSettings(threshold=50, most_actions=3, patience=200)
    grow(StatePool(settings=settings), Counted(), actions=4, size=2)
    assert set(taken) == {0, 1, 2, 3}


def test_progress_is_told_every_thousand_trials_and_at_the_end():
    told = []
    grown(2, threshold=50, patience=2500, progress=lambda p: told.append(p.trial_count))
    assert told == [1000, 2000, 2500]


def test_progress_never_goes_back():
    sizes = []
    grown(150, progress=lambda pool: sizes.append(len(pool)))
    assert all(before <= after for before, after in pairwise(sizes))
    assert sizes[-1] == 150


def test_asking_for_no_states_gives_an_empty_pool_that_can_be_saved(tmp_path):
    pool = grown(0)
    assert len(pool) == 0
    pool.save(tmp_path / "pool.npz")
    assert same(
        grow(load_pool(tmp_path / "pool.npz"), Walk(), actions=4, size=5),
        grown(5, threshold=0.3),
    )


def test_a_saved_pool_keeps_its_settings_and_its_origin(tmp_path):
    path = tmp_path / "pool.npz"
    settings = FuzzSettings(threshold=0.7, pool_share=0.5, most_actions=3)
    StatePool(settings=settings, seed=9, origin="a walk").save(path)
    loaded = load_pool(path)
    assert (loaded.settings, loaded.seed, loaded.origin) == (settings, 9, "a walk")
    assert list(tmp_path.iterdir()) == [path]


def test_opening_goes_on_with_the_file_or_starts_anew(tmp_path):
    path = tmp_path / "pool.npz"
    making = {"settings": FuzzSettings(threshold=0.3), "seed": 2, "origin": "a walk"}
    for size in (20, 50):
        pool = open_pool(path, **making)
        grow(pool, Walk(), actions=4, size=size).save(path)
    assert same(open_pool(path, **making), grown(50, seed=2))


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("settings", FuzzSettings(threshold=0.9)),
        ("seed", 3),
        ("origin", "another walk"),
    ],
)
def test_opening_refuses_a_pool_that_was_made_otherwise(tmp_path, name, other):
    path = tmp_path / "pool.npz"
    making = {"settings": FuzzSettings(), "seed": 2, "origin": "a walk"}
    open_pool(path, **making).save(path)
    with pytest.raises(ValueError, match=f"was made with {name}"):
        open_pool(path, **{**making, name: other})


def test_a_pool_file_holds_arrays_alone(tmp_path):
    path = tmp_path / "pool.npz"
    grown(5).save(path)
    with np.load(path, allow_pickle=False) as file:
        assert {name: file[name].dtype.kind for name in file.files} == {
            "states": "f",
            "observations": "f",
            "about": "U",
        }


def test_a_file_that_is_no_pool_is_named(tmp_path):
    path = tmp_path / "other.npz"
    np.savez(path, rows=np.zeros(3))
    with pytest.raises(ValueError, match=r"other\.npz is not a pool of states"):
        load_pool(path)


@pytest.mark.parametrize("content", [b"", b"nonsense", b"PK\x03\x04 cut short"])
def test_a_broken_file_is_named(tmp_path, content):
    path = tmp_path / "broken.npz"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"broken\.npz is not a pool of states"):
        load_pool(path)


def test_a_single_array_is_no_pool(tmp_path):
    path = tmp_path / "rows.npy"
    np.save(path, np.zeros(3))
    with pytest.raises(ValueError, match=r"rows\.npy is not a pool of states"):
        load_pool(path)


def test_a_pool_of_another_format_is_refused(tmp_path):
    path = tmp_path / "newer.npz"
    np.savez(path, states=[], observations=[], about=np.array('{"format": 99}'))
    with pytest.raises(ValueError, match="format 99, not 1"):
        load_pool(path)


@pytest.mark.parametrize(
    "wrong",
    [
        {"threshold": -0.1},
        {"most_actions": -1},
        {"pool_share": 1.5},
        {"policy_share": -0.5},
    ],
)
def test_settings_out_of_range_are_refused(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        FuzzSettings(**wrong)


def test_an_observation_that_is_not_finite_is_an_error():
    with pytest.raises(ValueError, match="not finite"):
        StatePool().add_if_new(np.zeros(2), np.array([0.0, np.nan]))


def test_the_program_grows_a_pool_and_goes_on_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("gymnasium")
    from casestudies import fuzzing

    spec = Path(fuzzing.__file__).parent / "cartpole" / "specs" / "relax.nom"
    for size in (20, 30):
        asked = ["fuzzing", str(spec), "--states", str(size), "-o", f"{tmp_path}/p.npz"]
        monkeypatch.setattr("sys.argv", asked)
        fuzzing.main()
        assert len(load_pool(tmp_path / "p.npz")) == size
    assert f"trials: {size} states" in capsys.readouterr().out
