"""A spec tested with the policy in training in place of the domain's; needs no game."""

from pathlib import Path
from textwrap import dedent

import numpy as np
import pytest

from casestudies.guiding.policy_tests import PolicyTests
from nomos import DomainError, NomosError

# A walker on a line of numbers wins when it reaches 0; `policy` says where to.
DOMAIN = '''
import numpy as np
from nomos import Domain, batched


class Walk(Domain):
    """Places from -9 to 9."""

    def __init__(self, model: str = "home", farthest: int = 9) -> None:
        self.farthest = farthest

    def inputs(self):
        return [{"place": place} for place in range(-self.farthest, self.farthest + 1)]

    @batched
    def policy(self, places):
        return [-1 if place > 0 else 1 for place in places]

    def alone(self, place) -> int:
        return -1 if place > 0 else 1

    def mirrored(self, state):
        return {"place": -state["place"]}

    def play(self, state) -> int:
        return self._walk(state["place"], self.policy)

    def play_alone(self, state) -> int:
        return self._walk(state["place"], self.alone)

    def _walk(self, place, policy):
        for _ in range(9):
            if place == 0:
                return 1
            place += int(policy(place))
        return int(place == 0)
'''
SPEC = """
    # From the other side it is as far.
    import walk;
    input s1;
    var s2 := mirrored(s1);
    var far := 3;
    output o1;
    output o2;
    {
      o1 = play(s1)
      o2 = play(s2)
    }
    ensures o1 == o2;
"""


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "walk.py").write_text(DOMAIN)
    (tmp_path / "mirror.nom").write_text(dedent(SPEC))
    return tmp_path / "mirror.nom"


def policy_tests(spec: Path, *, policy: str = "policy", **settings: str) -> PolicyTests:
    return PolicyTests(spec, settings, policy=policy, budget=200)


def always_left(places: np.ndarray) -> np.ndarray:
    return np.full(len(places), -1)


def home(places: np.ndarray) -> np.ndarray:
    return np.where(places > 0, -1, 1)


def test_the_policy_given_is_played_not_the_domains_own(spec):
    tests = policy_tests(spec)
    assert len(tests.run(home, seed=0).bugs) == 0
    bugs = tests.run(always_left, seed=0).bugs
    assert {abs(values["s1"]["place"]) for _, values in bugs} == set(range(1, 10))


def test_the_same_seed_tries_the_same_cases_whatever_was_tested_before(spec):
    tests = policy_tests(spec)
    first = tests.run(always_left, seed=4)
    tests.run(home, seed=5)
    again = tests.run(always_left, seed=4)
    assert [bug.id for bug, _ in first.bugs] == [bug.id for bug, _ in again.bugs]
    assert first.tests == again.tests == 200


def test_cases_of_several_tests_are_tried_again_as_they_were(spec):
    text = spec.read_text().replace("var far := 3;", "var far := randInt(1, 9);")
    text = text.replace("ensures o1 == o2;", "ensures o1 == o2 || far < 5;")
    spec.write_text(text)
    tests = policy_tests(spec)
    results = [tests.run(always_left, seed=seed) for seed in (4, 5)]
    bugs = {bug.id: bug.choices for result in results for bug, _ in result.bugs}
    assert len(bugs) > 10
    assert tests.find_occurring(always_left, bugs) == set(bugs)
    assert tests.find_occurring(home, bugs) == set()
    assert tests.find_occurring(home, {}) == set()


def test_the_domains_settings_are_kept(spec):
    bugs = policy_tests(spec, farthest="2").run(always_left, seed=0).bugs
    assert {abs(values["s1"]["place"]) for _, values in bugs} == {1, 2}


def test_a_function_for_one_observation_can_be_the_policy_too(spec):
    text = spec.read_text().replace("play(", "play_alone(")
    spec.write_text(text)
    tests = policy_tests(spec, policy="alone")
    assert len(tests.run(home, seed=0).bugs) == 0
    assert len(tests.run(always_left, seed=0).bugs) == 18


def test_the_states_of_a_bug_are_its_inputs_and_what_is_like_them(spec):
    tests = policy_tests(spec)
    _, values = tests.run(always_left, seed=0).bugs[0]
    assert tests.state_names == ["s1", "s2", "far"]
    assert tests.states_in(values) == ["s1", "s2"]


def test_a_start_that_the_spec_does_not_name_is_said(spec):
    policy_tests(spec).check_starts(["s2"])
    with pytest.raises(NomosError, match="no input or variable `s3` to start from"):
        policy_tests(spec).check_starts(["s1", "s3"])


def test_a_function_that_the_domain_lacks_is_said(spec):
    with pytest.raises(DomainError, match="Walk has no function `act`"):
        policy_tests(spec, policy="act")


def test_a_spec_that_never_asks_the_policy_is_said(spec):
    with pytest.raises(DomainError, match="without asking `alone` once"):
        policy_tests(spec, policy="alone").run(home, seed=0)


def test_a_policy_that_fails_is_told_not_counted(spec):
    def broken(places: np.ndarray) -> np.ndarray:
        raise RuntimeError("no such action")

    with pytest.raises(NomosError, match="no such action"):
        policy_tests(spec).run(broken, seed=0)
