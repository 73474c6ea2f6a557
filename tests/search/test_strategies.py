"""Strategies propose, learn, and go on from what they had learned."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from nomos.domain import Domain, Integer, OneHot, Real, Schema, batched
from nomos.engine.evaluated import no_verdicts
from nomos.engine.interpreter import Verdict
from nomos.engine.program import Program, blank_spec
from nomos.models.adapter import OutputModel
from nomos.runner.campaigns.plans.planning import Generations
from nomos.runner.options import Options
from nomos.search.diverse import Diverse
from nomos.search.guided import Boundaries, Genetic, Guided, strategy_by_name
from nomos.search.making import Making
from nomos.search.strategy import (
    Feedback,
    Material,
    Mutated,
    Proposal,
    generation_rng,
    join_proposals,
)

Array = np.ndarray[Any, Any]


def material(**more: Any) -> Material:
    rng = np.random.default_rng(0)
    return Material(
        low=np.zeros(3),
        high=np.array([9.0, 1.0, 1000.0]),
        whole=np.array([True, False, True]),
        data=rng.integers(0, 2, (20, 3)).astype(float),
        inputs=1,
        **more,
    )


def told(cases: Proposal) -> Feedback:
    """Tell that cases are near where the last number is large, and violated at its end."""
    near = cases.values[:, 2]
    violated = near > 990
    return Feedback(~violated, violated, near, near)


def test_a_genetic_search_climbs_and_lets_violations_go() -> None:
    known = material()
    search = Genetic(known, "margin", Mutated(known))
    for number in range(30):
        cases = search.propose_cases(generation_rng(0, "a", number), 100)
        search.learn(cases, told(cases))
    assert search.kept is not None
    assert search.near.min() > 900
    assert search.kept.values[:, 2].max() <= 990


def test_generations_of_a_guided_search_grow_with_the_campaign_and_through_a_resume() -> (
    None
):
    search, sizes = Guided(material()), []
    for number in range(130):
        if number == 90:
            state = json.loads(json.dumps(search.state()))
            search = Guided(material())
            search.restore(state)
        cases = search.propose(generation_rng(0, "a", number))
        sizes.append(len(cases))
        search.learn(cases, told(cases))
    assert sizes[:80] == [100] * 80
    assert sizes == sorted(sizes) and sizes[-1] == (sum(sizes[:-1]) - 6000) // 20 > 500


def test_of_equally_near_cases_those_near_the_data_are_kept() -> None:
    known = material()
    search = Genetic(known, "margin", Mutated(known))
    for number in range(20):
        cases = search.propose_cases(generation_rng(0, "a", number), 100)
        same = np.zeros(len(cases))
        search.learn(cases, Feedback(same == 0, same > 0, same, same))
    assert search._count_changes(search.kept).max() <= 1  # type: ignore[arg-type]  # there are some


@pytest.mark.parametrize("name", ["guided", "diverse"])
def test_a_search_goes_on_from_its_state(name: str) -> None:
    known = material(cuts=(np.zeros(1), np.zeros(1), np.array([0.0, 500.0])))
    search, other = strategy_by_name(name, known), strategy_by_name(name, known)
    for number in range(5):
        cases = search.propose(generation_rng(0, "a", number))
        search.learn(cases, told(cases))
    other.restore(json.loads(json.dumps(search.state())))
    first, second = (s.propose(generation_rng(0, "a", 5)) for s in (search, other))
    assert np.array_equal(first.values, second.values)
    assert np.array_equal(first.words, second.words)
    assert np.array_equal(first.origins, second.origins)


def test_each_stretch_between_cuts_is_as_likely() -> None:
    cuts = np.array([0.0, 500.0, 501.0, 502.0])
    known = material(cuts=(np.zeros(1), np.array([0.0, 0.25]), cuts))
    values = Boundaries(known).propose_cases(generation_rng(0, "a", 0), 4000).values
    moved = values[values[:, 2] > 1]  # data have 0 and 1 there
    places = np.searchsorted(cuts, moved[:, 2], side="right") - 1
    shares = np.bincount(places, minlength=4) / len(places)
    assert np.abs(shares - 0.25).max() < 0.05
    assert (moved[:, 2] <= 1000).all()
    assert (np.rint(moved[:, 2]) == moved[:, 2]).all()


@pytest.mark.parametrize(
    ("cuts", "unguided", "expected"),
    [
        (None, "", Guided),
        (None, "no scores", Mutated),
        ((np.zeros(1),) * 3, "no scores", Guided),
    ],
)
def test_what_a_search_can_be_guided_by(
    cuts: Any, unguided: str, expected: type
) -> None:
    assert (
        type(strategy_by_name("guided", material(cuts=cuts, unguided=unguided)))
        is expected
    )


class Trees(Domain):
    schema = Schema(Integer("a", 0, 100), Real("b", 0, 1), OneHot("c", ("x", "y")))
    verifies = {"predict": "model"}  # noqa: RUF012 - it is read and never changed

    def __init__(self) -> None:
        from sklearn.tree import DecisionTreeClassifier

        rng = np.random.default_rng(0)
        rows = np.column_stack(
            [
                rng.integers(0, 101, 300),
                rng.random(300),
                np.eye(2)[rng.integers(0, 2, 300)],
            ]
        )
        wanted = (rows[:, 0] >= 40) & (rows[:, 1] > 0.5)
        self.rows = rows
        self.model = DecisionTreeClassifier().fit(rows, wanted)

    def inputs(self) -> Array:
        return self.rows

    @batched
    def predict(self, rows: Array) -> Array:
        return np.asarray(self.model.predict(rows))


def test_the_cuts_of_trees_are_read_from_the_model() -> None:
    program = Program(blank_spec(inputs=("x",)), Trees())
    cuts = Making(program).build_material().cuts
    assert cuts is not None
    whole, real, names = cuts
    assert whole.tolist() == [0.0, 40.0]
    assert len(real) == 2
    assert abs(real[1] - 0.5) < 0.05
    assert names.tolist() == [0.0]  # the trees do not look at it


class Net(OutputModel):
    """A model that counts the rows that it is asked for."""

    def __init__(self) -> None:
        super().__init__("net")
        self.asked = 0

    def compute_output(self, rows: Any) -> Array:
        self.asked += len(rows)
        return np.column_stack([rows.sum(axis=1), -rows.sum(axis=1)])


def test_scores_that_come_with_labels_cost_no_rows() -> None:
    rows = np.arange(12.0).reshape(4, 3)
    model = Net()
    model.predict(rows)
    model.scores(rows)
    assert model.asked == 8
    model.keep_scores()
    model.predict(rows + 1)
    kept = model.scores(rows + 1)
    assert model.asked == 12
    assert np.array_equal(kept, Net().scores(rows + 1))
    model.scores(rows)
    assert model.asked == 16


def test_diverse_search_learns_from_what_is_new_alone() -> None:
    search = Diverse(material())
    cases = search.propose(generation_rng(0, "a", 0))
    wrong = np.ones(len(cases), dtype=bool)
    search.learn(cases, Feedback(~wrong, wrong, wrong, wrong))
    assert search.found is not None
    values = search.found.values
    assert 0 < len(values) == len(np.unique(values, axis=0)) < len(cases)
    search.propose(generation_rng(0, "a", 1))
    hits, tries = search.hits, search.tries
    search.learn(cases, Feedback(~wrong, wrong, wrong, wrong))
    assert np.array_equal(search.found.values, values)
    assert np.array_equal(search.hits, hits)
    assert search.tries.sum() > tries.sum()


def test_the_last_generation_has_no_more_cases_than_are_wanted() -> None:
    search = Diverse(material())
    plan = Generations(search, Options(search="diverse"), seed=0, name="a")
    counts = []
    for wanted in (1e9, 1e9, 300.5, 10):
        asked = plan.next(wanted, 1.0)
        assert asked is not None
        evaluated = no_verdicts(asked.count)
        evaluated.verdicts[:] = Verdict.VIOLATED
        plan.learn(asked, [evaluated])
        counts.append(asked.count)
        search.found = search.propose(generation_rng(1, "a", len(counts)))
        search.found = join_proposals([search.found] * 2)
    assert counts == [250, 500, 301, 250]


def test_values_that_may_be_missing_are_left_out_by_every_search() -> None:
    ends = np.zeros(2), np.full(2, 9.0), np.ones(2, bool)
    gaps = np.array([True, False])
    material = Material(*ends, data=np.ones((5, 2)), inputs=1, missing=gaps)
    for name in ("uniform", "mutated", "diverse", "guided"):
        proposed = strategy_by_name(name, material).propose(np.random.default_rng(0))
        left_out = np.isnan(proposed.values).mean(axis=0)
        assert 0 < left_out[0] < 0.3, name
        assert left_out[1] == 0
