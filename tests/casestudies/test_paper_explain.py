"""Why our numbers differ from the paper's, and the changes of the first implementation."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from casestudies import paper_explain, paper_first
from casestudies.paper_runs import Bench
from casestudies.paper_tables import Grid
from casestudies.published import COMPAS, GERMAN_CREDIT, CaseStudy
from nomos import Domain, Schema, batched
from nomos.domain import Integer


class Small(Domain):
    """Ten sizes, as in the case study of the fixture."""

    schema = Schema(Integer("size", 0, 10))

    def inputs(self) -> np.ndarray:
        return np.arange(10, dtype=np.float32)[:, None]

    @batched
    def predict(self, rows):
        return ((rows[:, 0] >= 5) & (rows[:, 0] != 7)).astype(int)


def test_influence_counts_changes_along_the_property_and_against_it(
    tmp_path: Path, small_study: CaseStudy
) -> None:
    path = Bench(folder=tmp_path).spec(small_study, "grow")
    # From 4 to 5 and from 7 to 8 the answer goes up, from 6 to 7 down.
    found = paper_explain.influence(path, Small, {})
    assert found == paper_explain.Influence(cases=9, against=1, along=2)


def test_a_spec_can_be_measured_without_one_of_its_requires(
    tmp_path: Path, small_study: CaseStudy
) -> None:
    path = Bench(folder=tmp_path).spec(small_study, "grow")
    found = paper_explain.influence(path, Small, {}, "nothing is larger")
    assert found.cases == 10


def test_what_cannot_be_measured_leaves_the_page_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "page.md"
    page.write_text("as it is")
    grid = Grid("Title", ("Name",), (("a",),))
    monkeypatch.setattr(paper_explain, "measurements", lambda cases: [grid, "no torch"])
    assert paper_explain.main([COMPAS], page) == 3
    assert page.read_text() == "as it is"
    monkeypatch.setattr(paper_explain, "measurements", lambda cases: [grid])
    assert paper_explain.main([COMPAS], page) == 0
    assert "### Title" in page.read_text()


def test_the_first_implementations_numbers_point_at_other_features() -> None:
    numbers = paper_first.COMPAS_NUMBERS
    changes = paper_first.first_changes(COMPAS)
    assert numbers[changes["is_recid_set"].column] == "days_b_screening_arrest"
    assert numbers[changes["is_v_recid_set"].column] == "is_violent_recid"
    right = paper_first.right_change("is_recid_set", changes["is_recid_set"])
    assert numbers[right.column] == "is_recid"


@pytest.mark.parametrize("case", [COMPAS, GERMAN_CREDIT], ids=lambda case: case.name)
def test_the_first_implementation_has_a_change_for_each_property(
    case: CaseStudy,
) -> None:
    assert set(paper_first.first_changes(case)) == set(case.properties)


def test_a_change_sets_one_level_of_a_group() -> None:
    change = paper_first.Change(1, up=True, end=2, rising=True, levels=3)
    rows = np.array([[9.0, 0, 1, 0, 9], [9, 0, 0, 0, 9]])
    assert change.values(rows).tolist() == [1, 2]  # none set: counts as the last
    assert change.set(rows, np.array([2, 0])).tolist() == [
        [9, 0, 0, 1, 9],
        [9, 1, 0, 0, 9],
    ]


def test_a_change_goes_up_or_down_to_its_end() -> None:
    rows = np.array([[0.0], [3], [5]])
    up = paper_first.Change(0, up=True, end=5, rising=True, most=10)
    assert [b.tolist() for b in up.bounds(rows)] == [[1, 4, 6], [5, 5, 5]]
    down = paper_first.Change(0, up=False, end=0, rising=False)
    assert [b.tolist() for b in down.bounds(rows)] == [[0, 0, 0], [-1, 2, 4]]


def test_a_flag_is_changed_only_where_it_has_the_other_value() -> None:
    rows = np.array([[0.0], [1], [7], [-1]])
    low, high = paper_first.Change(0, up=True, end=1, rising=True, most=1).bounds(rows)
    assert (low <= high).tolist() == [True, False, False, False]
    down = paper_first.Change(0, up=False, end=0, rising=False, most=1)
    low, high = down.bounds(rows)
    assert (low <= high).tolist() == [False, True, False, False]


def test_rebuilt_samples_count_distinct_rows_and_values() -> None:
    rows = np.arange(4.0)[:, None]
    change = paper_first.Change(0, up=True, end=4, rising=True)
    found = paper_first.sample(lambda rows: -rows[:, 0], rows, change)
    assert found.bugs == 4 + 3 + 2 + 1  # all there are, each once
    assert found.changes == 1.0
