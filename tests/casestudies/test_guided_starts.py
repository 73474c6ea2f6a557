"""Which episodes start from a bug, and from which one; needs no game."""

from collections import Counter

import numpy as np
import pytest

from casestudies.guiding import GuidedTraining, PolicyTest, Schedule
from casestudies.guiding.starts import BuggyStarts, Dose, Start, StartChooser


def starts(*bugs: str) -> list[Start]:
    return [Start(bug, "s1", f"state of {bug}") for bug in bugs]


def chooser(share: float, newest: list[Start], everything: list[Start]):
    made = StartChooser(1)
    made.probability = share
    made.take_starts(newest, everything)
    return made


def found(pool: BuggyStarts, *bugs: str) -> int:
    """Let a test find these bugs; return how many of them are new."""
    pool.begin_test()
    return sum(pool.add_bug(bug, (1, 2), starts(bug)) for bug in bugs)


def known(pool: BuggyStarts) -> list[str]:
    return [start.bug for start in pool.all]


def dosed(share: float, phases: list[tuple[int, int]]) -> list[float]:
    """Return the share of the steps that bugs had, for each pair of mean lengths."""
    made, dose, rng = (
        chooser(0.0, [], starts("a", "b")),
        Dose(),
        np.random.default_rng(0),
    )
    shares = []
    for lengths in phases:
        steps = [0, 0]
        for _ in range(6000):
            made.probability = dose.probability_of(share)
            from_bug = made.choose_start() is not None
            length = int(rng.integers(1, 2 * lengths[from_bug]))
            dose.add_lengths(*([], [length]) if from_bug else ([length], []))
            steps[from_bug] += length
        shares.append(steps[True] / sum(steps))
    return shares


def test_the_share_grows_in_parts_and_stops_at_its_most():
    training = GuidedTraining("relax.nom", share=0.6, schedule=Schedule())
    rollouts = [0, 49, 50, 99, 100, 150, 199, 200, 250, 10_000]
    shares = [0, 0, 0.15, 0.15, 0.3, 0.45, 0.45, 0.6, 0.6, 0.6]
    assert [training.share_after(count) for count in rollouts] == shares


def test_without_a_schedule_the_share_is_there_at_once():
    assert GuidedTraining("relax.nom", share=0.4).share_after(0) == 0.4


@pytest.mark.parametrize("wrong", [{"growth": -0.1}, {"growth": 0}, {"every": 0}])
def test_a_schedule_that_cannot_be_is_refused(wrong):
    with pytest.raises(ValueError, match=r"more than 0|1 rollout or more"):
        Schedule(**wrong)


@pytest.mark.parametrize("share", [0.15, 0.5, 0.9])
@pytest.mark.parametrize("lengths", [(300, 20), (50, 50), (20, 300)])
def test_bugs_have_their_share_of_the_steps_however_long_their_episodes_are(
    share, lengths
):
    assert dosed(share, [lengths]) == [pytest.approx(share, abs=0.05)]


def test_the_share_follows_lengths_that_change():
    wanted = pytest.approx(0.5, abs=0.05)
    assert dosed(0.5, [(300, 20), (60, 90)]) == [wanted, wanted]


def test_no_episode_starts_from_a_bug_at_probability_zero_or_without_bugs():
    assert not any(
        chooser(0.0, starts("a"), starts("a")).choose_start() for _ in range(500)
    )
    assert not any(chooser(1.0, [], []).choose_start() for _ in range(500))


def test_the_newest_bugs_come_first_and_each_of_them_once():
    old, new = starts(*"abcdef"), starts(*"uvwxyz")
    made = chooser(1.0, new, old + new)
    first = [made.choose_start() for _ in range(6)]
    assert sorted(start.bug for start in first) == list("uvwxyz")


def test_after_the_newest_all_known_bugs_are_drawn_alike():
    old, new = starts(*"abc"), starts(*"xyz")
    made = chooser(1.0, new, old + new)
    for _ in new:
        made.choose_start()
    later = Counter(made.choose_start().bug for _ in range(6000))
    assert set(later) == set("abcxyz")
    assert all(800 < count < 1200 for count in later.values())


def test_a_bug_found_again_is_among_the_newest_again_but_kept_once():
    pool = BuggyStarts(2)
    assert found(pool, "a", "b") == 2
    assert found(pool, "b", "c") == 1
    assert [start.bug for start in pool.newest] == ["b", "c"]
    assert known(pool) == ["a", "b", "c"]
    assert len(pool) == 3
    assert set(pool.not_found()) == {"a"}


def test_a_bug_that_does_not_occur_for_two_tests_in_a_row_is_forgotten():
    pool = BuggyStarts(2)
    found(pool, "a", "b")
    for occurred, left in ([], ["a", "b"]), (["b"], ["b"]), ([], ["b"]), ([], []):
        found(pool)
        again = pool.not_found()
        pool.forget_missed(again, occurred)
        assert known(pool) == left


def test_a_forgotten_bug_that_is_found_again_is_known_again_but_not_new():
    pool = BuggyStarts(1)
    found(pool, "a")
    pool.begin_test()
    pool.forget_missed(["a"], [])
    assert known(pool) == []
    assert found(pool, "a") == 0
    assert known(pool) == ["a"]


def test_both_states_of_a_bug_are_starts_and_count_as_one_bug():
    pool = BuggyStarts(2)
    pool.begin_test()
    pool.add_bug("a", (1, 2), [Start("a", "s1", 1), Start("a", "s2", 2)])
    assert [start.state for start in pool.newest] == [1, 2]
    assert len(pool) == 1


def test_the_same_seed_chooses_the_same_starts():
    def chosen() -> list[str | None]:
        made = chooser(0.5, starts(*"xyz"), starts(*"abcxyz"))
        return [
            start and start.bug for start in (made.choose_start() for _ in range(50))
        ]

    assert chosen() == chosen()


def test_choosing_draws_from_no_global_generator():
    np.random.seed(3)
    before = np.random.get_state()[1].copy()
    made = chooser(0.5, starts("a"), starts("a"))
    for _ in range(20):
        made.choose_start()
        made.draw_seed()
    assert np.array_equal(before, np.random.get_state()[1])


@pytest.mark.parametrize("name", ["tests", "test_every", "forget_after"])
def test_a_training_that_could_never_be_tested_is_refused(name):
    with pytest.raises(ValueError, match=f"`{name}` must be 1 or more"):
        GuidedTraining("relax.nom", **{name: 0})


def test_a_negative_number_of_fresh_cases_is_refused():
    with pytest.raises(ValueError, match="`fresh` must not be negative"):
        GuidedTraining("relax.nom", fresh=-1)


@pytest.mark.parametrize("share", [-0.1, 1.1])
def test_a_share_that_is_none_is_refused(share):
    with pytest.raises(ValueError, match="`share` must lie between 0 and 1"):
        GuidedTraining("relax.nom", share=share)


def test_the_share_of_all_steps_weighs_each_part_by_its_steps():
    training = GuidedTraining("relax.nom")
    assert training.guided_steps == 0
    for steps, share in (1000, 0.0), (2000, 0.2), (5000, 0.6):
        figures = dict.fromkeys(PolicyTest.__slots__, 0)
        training.history.append(
            PolicyTest(**figures | {"steps": steps, "guided_steps": share})
        )
    assert training.guided_steps == pytest.approx(0.5)
