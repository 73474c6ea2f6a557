"""A campaign without a violation looks at some of its cases once more, and alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nomos
from nomos import Domain, batched
from nomos.results.result import Result, from_data, to_data
from nomos.runner.campaigns import clock
from nomos.runner.campaigns.explained import flakiness
from tests.runner.driving import drive, outcome

DOMAIN = '''
import numpy as np
from nomos import Discard, Domain, batched


class Game:
    """A walk that a policy makes longer or shorter; it ends after ten steps."""

    def reset(self, at):
        self.at, self.steps = at, 0

    def step(self, move):
        self.at, self.steps = self.at + move, self.steps + 1


class Walks(Domain):
    def __init__(self, game: str = "own", noise: float = 0.0, limit: int = 10):
        self.game, self.noise, self.limit = game, noise, limit
        self.shared = Game()

    def inputs(self):
        return list(range(50))

    @batched
    def policy(self, places):
        places = np.asarray(places)
        moves = np.where(places % 7 == 3, -5, 1)
        return moves + (np.random.random(len(moves)) < self.noise)

    def play(self, start):
        game = self.shared if self.game == "shared" else Game()
        game.reset(start)
        while game.steps < self.limit:
            game.step(int(self.policy(game.at)))
        return game.at

    def farther(self, place):
        return place + 7

    def rarely(self, place):
        if place > 3:
            raise Discard("too far")
        return place + 7

    def same(self, place):
        return place

    @batched
    def low_when_alone(self, places):
        places = np.asarray(places)
        return np.where((len(places) == 1) & (places == 8), -1, places)

    def place(self, place):
        return place

    def kinds(self, place):
        return [place, float("nan"), None, "a", ([1], 2), object(), np.arange(3) + place]

    def nothing(self, place):
        place + 1
'''
SPEC = """import walks;
input s1;
var s2 := {change}(s1);
allow unchanged;
output e1;
output e2;
{{
  e1 = {function}(s1)
  e2 = {function}(s2)
}}
ensures {ensures};
"""


@pytest.fixture
def walk(tmp_path: Path) -> Any:
    """Return a function that runs a campaign of walks."""

    def run(
        change: str = "farther",
        ensures: str = "e1 <= e2",
        function: str = "play",
        settings: dict[str, str] | None = None,
        **options: Any,
    ) -> Result:
        (tmp_path / "specs").mkdir(exist_ok=True)
        (tmp_path / "walks.py").write_text(DOMAIN)
        spec = tmp_path / "specs" / "walk.nom"
        text = SPEC.format(change=change, ensures=ensures, function=function)
        spec.write_text(text)
        done, _, warnings = drive([spec], settings=settings, **options)
        assert not done.failures and not warnings
        return done.results[0]

    return run


@pytest.mark.parametrize("search", ["exhaustive", "random"])
def test_games_that_share_a_simulator_are_no_green_run(walk: Any, search: str) -> None:
    sound = walk(search=search)
    assert (sound.verdict == "holds") == (search == "exhaustive")
    assert not sound.problem
    shared = walk(settings={"game": "shared"}, ensures="e1 <= e2 + 99", search=search)
    assert shared.verdict == "failed"
    assert "cases are flaky: re-run in a fresh process" in shared.problem
    alone = walk(
        settings={"game": "shared"}, ensures="e1 <= e2 + 99", mode="sequential"
    )
    assert alone.verdict == "holds"


def test_a_case_that_breaks_the_property_alone_is_no_green_run(walk: Any) -> None:
    result = walk("same", "e1 >= 0", function="low_when_alone")
    assert "1 of 50 cases are flaky" in result.problem
    assert result.verdict == "failed"


def test_only_cases_that_the_campaign_evaluated_are_checked(walk: Any) -> None:
    # Of 50 places one breaks the property; five cases with this seed do not meet it.
    few = walk("same", "e1 != 33", function="place", search="random", budget=5)
    assert (few.verdict, few.problem) == ("none-found", "")
    assert few.analysis.flakiness.cases == 5


@pytest.mark.parametrize(
    ("waits", "queues", "fewest", "most"),
    [
        (0.0, 0.02, 299, 299),  # the machine is busy with others
        (0.01, 0.0, 60, 65),  # cheap enough for a bound of 5 %
        (0.05, 0.0, 10, 25),  # an endpoint
    ],
)
def test_how_many_cases_are_checked_hangs_on_the_model_and_not_on_the_machine(
    tmp_path: Path,
    monkeypatch: Any,
    waits: float,
    queues: float,
    fewest: int,
    most: int,
) -> None:
    waited = tmp_path / "schedstat"
    monkeypatch.setattr(clock, "_WAITED", waited)
    now, queued = [0.0], [0.0]
    monkeypatch.setattr(clock.time, "perf_counter", lambda: now[0])

    class Rows(Domain):
        def inputs(self) -> Any:
            return range(1000)

        @batched
        def predict(self, rows: Any) -> Any:
            now[0] += waits + queues
            queued[0] += queues
            waited.write_text(f"0 {round(queued[0] * 1e9)} 0")
            return np.asarray(rows)

    text = "input x;\noutput d;\n{\n  d = predict(x)\n}\nensures d >= 0;\n"
    result = nomos.run(text, domain=Rows, search="random", budget=1000)
    assert fewest <= result.analysis.flakiness.cases <= most


@pytest.mark.parametrize(
    ("options", "cases", "is_every", "at_most"),
    [
        ({"most": 9}, 50, True, 0.0),
        ({"most": 0}, 50, True, 0.0),  # violated, every case
        (
            {"most": 9, "budget": 9, "search": "exhaustive"},
            9,
            False,
            1 - 0.05 ** (1 / 9),
        ),
        (
            {"most": 0, "budget": 20, "search": "exhaustive"},
            20,
            False,
            1 - 0.05 ** (1 / 20),
        ),
        (
            {"most": 9, "search": "random", "budget": 900},
            299,
            False,
            1 - 0.05 ** (1 / 299),
        ),
        (
            {"most": 0, "search": "random", "budget": 900},
            60,
            False,
            1 - 0.05 ** (1 / 60),
        ),
    ],
)
def test_the_bound_is_of_the_cases_that_were_run_again(
    walk: Any, options: Any, cases: int, is_every: bool, at_most: float
) -> None:
    most = options.pop("most")
    check = walk("farther", f"e1 <= {most}", "policy", **options).analysis.flakiness
    assert (check.cases, check.is_every_case) == (cases, is_every)
    assert check.at_most == pytest.approx(at_most)


def test_cases_that_there_was_no_time_for_are_not_every_case(
    walk: Any, monkeypatch: Any
) -> None:
    for limit in ("_CHEAP_S", "_LEAST_S", "_SHARE"):
        monkeypatch.setattr(flakiness, limit, 0.0)
    options = {"mode": "sequential"}
    for ensures in ("e1 <= 9", "e1 <= 0"):
        result = walk("farther", ensures, "policy", **options)
        check = result.analysis.flakiness
        assert result.is_complete
        assert (check.cases, check.is_every_case) == (10, False)
        assert check.at_most == pytest.approx(1 - 0.05**0.1)


def test_a_policy_of_chance_is_no_green_run(walk: Any) -> None:
    noisy = walk(settings={"noise": "0.5"}, ensures="e1 <= e2 + 99")
    assert noisy.verdict == "failed"
    assert "or on chance" in noisy.problem
    accepted = walk(
        settings={"noise": "0.001"}, ensures="e1 <= e2 + 99", accept_flaky=0.99
    )
    assert accepted.verdict == "none-found", accepted.problem


def test_outputs_of_every_kind_are_compared(walk: Any) -> None:
    result = walk(function="kinds", ensures="len(e1) == len(e2)")
    assert (result.verdict, result.problem) == ("holds", "")


def test_outputs_that_never_vary_are_told(walk: Any) -> None:
    assert walk(search="random").analysis.unvaried == ()
    silent = walk(function="nothing", ensures="e1 == e2")
    assert silent.verdict == "holds"
    assert silent.analysis.unvaried == ("e1 = None", "e2 = None")
    unchanged = walk("same", "e1 == e2")
    assert unchanged.analysis.unvaried == ("s2 = s1",)
    assert from_data(to_data(unchanged)).analysis == unchanged.analysis


def test_cases_are_looked_at_where_few_get_past_requires(walk: Any) -> None:
    rare = walk(change="rarely", ensures="e1 <= e2 + 99", settings={"game": "shared"})
    assert rare.counts.discarded > 40
    assert rare.verdict == "failed"


def test_what_is_looked_at_does_not_depend_on_workers_or_batch(walk: Any) -> None:
    want = outcome(walk("same", "e1 == e2", search="random"))
    assert outcome(walk("same", "e1 == e2", search="random", jobs=2)) == want
    assert outcome(walk("same", "e1 == e2", search="random", batch=7)) == want


@pytest.mark.parametrize("mode", ["coroutines", "sequential"])
def test_a_premise_that_no_case_has_is_told_in_every_way(walk: Any, mode: str) -> None:
    idle = walk(ensures="e1 == 9999 ==> e2 == 9999", mode=mode)
    assert idle.verdict == "failed"
    assert "none of 50 cases has what stands before `==>`" in idle.problem
    assert walk(ensures="e1 >= 0 ==> e1 <= e2", mode=mode).verdict == "holds"


LIAR = """
import os, time
import numpy as np
from nomos import Domain, Schema, batched
from nomos.domain.schema import Integer

class Liar(Domain):
    schema = Schema(Integer("a", 0, 50), Integer("b", 0, 5))
    asked = 0

    def inputs(self):
        return np.array([[a, b] for a in range(50) for b in range(6)])

    @batched
    def predict(self, rows):
        rows = np.asarray(rows)
        honest = rows[:, 0] // 10
        self.asked += len(rows)
        return BODY
"""
LIAR_SPEC = """
import liar;
input x;
var y := x[a := x.a + 1];
output d1;
output d2;
{
  d1 = predict(x)
  d2 = predict(y)
}
ensures d1 <= d2 + MORE;
"""
COIN = "honest + 9 * (np.random.default_rng().random(len(rows)) < 0.04)"
LIARS = {
    "honest": "honest",
    "chance, in one case of 50": COIN,
    "small scores": "np.random.default_rng().random(len(rows)) * 0.009",
    "large names": "500 + np.random.default_rng().integers(0, 5, len(rows))",
    "the first row of a batch": "np.where((np.arange(len(rows)) == 0) & (len(rows) > 1), 0, honest)",
    "a row by itself": "honest + (len(rows) == 1) * (rows.sum(axis=1) % 50 == 3)",
    "the mean of a batch": "honest + rows[:, 0].mean()",
    "the seed of hashes": "honest * 0 + np.array([hash(str(a)) % 5 for a in rows[:, 0]])",
    "what it was asked before": "honest + self.asked // 2000",
    "time": "honest + int(time.time() * 10) % 2",
}


def run_liar(folder: Path, body: str, more: int, **options: Any) -> Result:
    (folder / "pyproject.toml").write_text("")
    (folder / "liar.py").write_text(LIAR.replace("BODY", body))
    (folder / "specs").mkdir()
    spec = folder / "specs" / "liar.nom"
    spec.write_text(LIAR_SPEC.replace("MORE", str(more)))
    run, _, _ = drive([spec], **options)
    assert not run.failures
    return run.results[0]


@pytest.mark.parametrize("liar", LIARS)
def test_only_an_honest_model_is_clean_however_little_it_lies(
    tmp_path: Path, liar: str
) -> None:
    result = run_liar(tmp_path, LIARS[liar], 999)
    assert result.verdict == ("holds" if liar == "honest" else "failed")
    assert bool(result.problem) == (liar != "honest")
    assert result.is_exact == (liar == "honest")


@pytest.mark.parametrize("search", ["random", "exhaustive"])
def test_a_biased_coin_that_violates_is_never_exact_and_its_answers_are_said_to_differ(
    tmp_path: Path, search: str
) -> None:
    result = run_liar(tmp_path, COIN, 0, search=search, cases=300)
    assert not result.is_exact
    assert "answers depend on" in result.problem or "were different" in result.problem
