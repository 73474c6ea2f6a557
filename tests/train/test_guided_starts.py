"""Which episodes start from a bug, and from which one; needs no game."""

from collections import Counter

import numpy as np
import pytest

from nomos.train import GuidedTraining, Schedule
from nomos.train.guiding.starts import BuggyStarts, Start, StartChooser, states_of


def starts(*bugs: str) -> list[Start]:
    return [Start(bug, "s1", f"state of {bug}") for bug in bugs]


def chooser(probability: float, newest: list[Start], everything: list[Start]):
    made = StartChooser(1)
    made.update(probability, newest, everything)
    return made


def test_the_probability_grows_in_steps_and_stops_at_its_most():
    schedule = Schedule()
    rollouts = [0, 49, 50, 99, 100, 150, 199, 200, 250, 10_000]
    shares = [0, 0, 0.15, 0.15, 0.3, 0.45, 0.45, 0.6, 0.6, 0.6]
    assert [schedule.probability(count) for count in rollouts] == shares


def test_another_schedule_is_kept_to():
    schedule = Schedule(growth=0.3, every=2, most=0.5)
    assert [schedule.probability(n) for n in range(6)] == [0, 0, 0.3, 0.3, 0.5, 0.5]


def test_a_schedule_may_grow_with_each_rollout():
    assert Schedule(growth=0.25, every=1).probability(2) == 0.5


@pytest.mark.parametrize(
    "wrong", [{"growth": -0.1}, {"most": 1.1}, {"most": -0.1}, {"every": 0}]
)
def test_a_schedule_that_cannot_be_is_refused(wrong):
    with pytest.raises(ValueError, match=r"between 0 and 1|1 rollout or more"):
        Schedule(**wrong)


@pytest.mark.parametrize("share", [0.15, 0.6])
def test_episodes_start_from_bugs_at_the_set_rate(share):
    made = chooser(share, [], starts("a", "b"))
    count = sum(made.choose() is not None for _ in range(4000))
    deviation = (share * (1 - share) / 4000) ** 0.5
    assert abs(count / 4000 - share) < 4 * deviation


def test_no_episode_starts_from_a_bug_at_probability_zero_or_without_bugs():
    assert not any(chooser(0.0, starts("a"), starts("a")).choose() for _ in range(500))
    assert not any(chooser(1.0, [], []).choose() for _ in range(500))


def test_the_newest_bugs_come_first_and_each_of_them_once():
    old, new = starts(*"abcdef"), starts(*"uvwxyz")
    made = chooser(1.0, new, old + new)
    first = [made.choose() for _ in range(6)]
    assert sorted(start.bug for start in first) == list("uvwxyz")


def test_after_the_newest_all_bugs_are_drawn_alike_so_that_none_is_forgotten():
    old, new = starts(*"abc"), starts(*"xyz")
    made = chooser(1.0, new, old + new)
    for _ in new:
        made.choose()
    later = Counter(made.choose().bug for _ in range(6000))
    assert set(later) == set("abcxyz")
    assert all(800 < count < 1200 for count in later.values())


def test_a_bug_found_again_is_among_the_newest_again_but_kept_once():
    pool = BuggyStarts()
    assert pool.add(starts("a", "b")) == 2
    assert pool.add(starts("b", "c")) == 1
    assert [start.bug for start in pool.newest] == ["b", "c"]
    assert [bug for bug, _ in pool.all] == ["a", "b", "c"]
    assert len(pool) == 3


def test_a_test_without_bugs_leaves_the_older_ones_to_draw_from():
    pool = BuggyStarts()
    pool.add(starts("a"))
    assert pool.add([]) == 0
    made = chooser(1.0, pool.newest, list(pool.all.values()))
    assert made.choose().bug == "a"


def test_both_states_of_a_bug_are_starts_and_count_as_one_bug():
    pool = BuggyStarts()
    assert pool.add(states_of("a", {"s1": 1, "s2": 2, "o1": 0}, ["s1", "s2"])) == 1
    assert [start.state for start in pool.newest] == [1, 2]


def test_the_same_seed_chooses_the_same_starts():
    def chosen() -> list[str | None]:
        made = chooser(0.5, starts(*"xyz"), starts(*"abcxyz"))
        return [start and start.bug for start in (made.choose() for _ in range(50))]

    assert chosen() == chosen()


def test_choosing_draws_from_no_global_generator():
    np.random.seed(3)
    before = np.random.get_state()[1].copy()
    made = chooser(0.5, starts("a"), starts("a"))
    for _ in range(20):
        made.choose()
        made.seed()
    assert np.array_equal(before, np.random.get_state()[1])


@pytest.mark.parametrize("name", ["tests", "test_every"])
def test_a_training_that_could_never_be_tested_is_refused(name):
    with pytest.raises(ValueError, match=f"`{name}` must be 1 or more"):
        GuidedTraining("relax.nom", **{name: 0})


def test_a_negative_number_of_fresh_cases_is_refused():
    with pytest.raises(ValueError, match="`fresh` must not be negative"):
        GuidedTraining("relax.nom", fresh=-1)
