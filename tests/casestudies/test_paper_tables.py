"""The paper's numbers as data, and the tables built from results."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from casestudies.paper_runs import Exact, Missing, ModelReport, PropertyReport
from casestudies.paper_tables import (
    Grid,
    as_data,
    as_markdown,
    as_text,
    mean_text,
    overview,
    property_tables,
    spread,
)
from casestudies.published import (
    CASE_STUDIES,
    COMPAS,
    GERMAN_CREDIT,
    LUNAR,
    MNIST,
    CaseStudy,
    Model,
    Overview,
    Setting,
)

ROOT = Path(__file__).parents[2]
MODELS = [
    pytest.param(case, model, id=f"{case.name}-{model.kind}")
    for case in CASE_STUDIES.values()
    for model in case.models
]


@pytest.mark.parametrize(("case", "model"), MODELS)
def test_the_published_bugs_of_each_property_sum_to_the_overview(
    case: CaseStudy, model: Model
) -> None:
    assert sum(model.bugs.values()) == pytest.approx(model.overview.unique_bugs)
    assert sum(bugs > 0 for bugs in model.bugs.values()) == model.overview.violated
    assert list(model.bugs) == list(case.properties)


def test_the_overview_is_that_of_the_paper() -> None:
    lines = [
        (case.name, model.kind, len(case.properties), model.overview)
        for case in CASE_STUDIES.values()
        for model in case.models
    ]
    assert lines == [
        ("compas", "NN", 12, Overview(7, 960.0)),
        ("compas", "DT", 12, Overview(6, 294.8)),
        ("german_credit", "NN", 10, Overview(6, 295.2)),
        ("german_credit", "DT", 10, Overview(6, 286.9)),
        ("mnist", "NN", 1, Overview(1, 22.4)),
        ("speech_command", "NN", 1, Overview(1, 14.2)),
        ("hotel_review", "NN", 4, Overview(4, 3288.0)),
        ("lunar", "RL", 2, Overview(2, 3459.0)),
    ]
    assert sum(len(case.properties) for case in CASE_STUDIES.values()) == 30


def test_each_published_property_of_the_tabular_case_studies_has_a_spec() -> None:
    for case in (COMPAS, GERMAN_CREDIT):
        specs = {
            path.stem for path in (ROOT / "casestudies" / case.name).rglob("*.nom")
        }
        assert specs == set(case.properties)


def test_only_the_game_is_tried_less_than_in_the_paper_and_says_so() -> None:
    less = [c for c in CASE_STUDIES.values() if c.setting != Setting(5000, 10)]
    assert less == [LUNAR]
    assert "--budget 5000 --seeds 10" in LUNAR.note


def report(
    case: CaseStudy = MNIST, bugs: tuple[int, ...] = (20, 24), **changes: object
) -> ModelReport:
    [model] = case.models
    rows = [
        PropertyReport(
            name=name,
            title=title,
            paper=model.bugs[name],
            bugs=bugs,
            tests=10_000,
            violations=60,
        )
        for name, title in case.properties.items()
    ]
    whole = ModelReport(case, model, Setting(5000, 2), 99, 0.975, tuple(rows), 1.5)
    return replace(whole, **changes)  # type: ignore[arg-type]


def test_a_property_counts_as_violated_if_any_seed_found_a_bug() -> None:
    rows = report(LUNAR).properties
    assert report(LUNAR).violated == 2
    seldom = (replace(rows[0], bugs=(0, 1)), replace(rows[1], bugs=(0, 0)))
    assert report(LUNAR, properties=seldom).violated == 1


def test_bugs_of_all_properties_are_summed_seed_by_seed() -> None:
    rows = report(LUNAR).properties
    mixed = (replace(rows[0], bugs=(1, 5)), replace(rows[1], bugs=(10, 6)))
    assert report(LUNAR, properties=mixed).totals == (11, 11)


def test_the_overview_has_the_paper_and_ours_side_by_side() -> None:
    grid = overview([report()])
    assert grid.rows == (
        ("MNIST", "NN", "97 %", "98 %", "1", "1", "1", "22.4", "22.0 ± 2.8"),
    )


def test_a_case_study_without_labels_has_no_accuracy() -> None:
    assert overview([report(LUNAR, accuracy=None)]).rows[0][2:4] == ("-", "-")


def test_a_single_seed_has_no_deviation() -> None:
    assert mean_text([7]) == "7"
    assert mean_text([7, 7]) == "7.0 ± 0.0"


def test_a_property_shows_the_exact_count_or_that_there_is_none() -> None:
    rows = report(LUNAR).properties
    counted = replace(rows[0], exact=Exact(bugs=1234, cases=10_000, inputs=7))
    [grid] = property_tables([report(LUNAR, properties=(counted, rows[1]))])
    assert grid.header == ("Property", "RL: paper", "RL: ours", "RL: all cases")
    assert grid.rows == (
        ("Relax", "124.5", "22.0 ± 2.8", "1,234 of 10,000"),
        ("Unrelax", "3334.5", "22.0 ± 2.8", "not counted"),
    )


def test_models_of_one_case_study_share_a_table() -> None:
    first = report()
    tree = replace(first, model=replace(first.model, kind="DT"))
    [grid] = property_tables([first, tree])
    assert [cell for cell in grid.header if "paper" in cell] == [
        "NN: paper",
        "DT: paper",
    ]
    assert len(grid.rows[0]) == 7


def test_text_and_page_say_what_is_missing_and_what_failed() -> None:
    gap = Missing(GERMAN_CREDIT, "no german.data to be had")
    failing = replace(report().properties[0], problem="3 cases crashed")
    for text in (as_text, as_markdown):
        said = text([report(properties=(failing,))], [gap])
        assert "German Credit is missing: no german.data to be had" in said
        assert "MNIST NN Blur: 3 cases crashed" in said
        assert "5000 tests with each of 2 seeds" in said
        assert "99 inputs" in said


def test_the_note_of_a_case_study_is_told_once() -> None:
    said = as_text([report(LUNAR), report(LUNAR)], [])
    assert said.count("a case plays 20 games") == 1


def test_without_any_result_only_the_gaps_are_told() -> None:
    said = as_text([], [Missing(MNIST, "no images")])
    assert "MNIST is missing: no images" in said
    assert "Overview" not in said


def test_columns_of_a_text_table_stand_below_each_other() -> None:
    grid = Grid("Title", ("Name", "NN: paper"), (("a", "1.0"), ("long name", "10.5")))
    assert grid.as_text() == "\n".join(
        [
            "Title",
            "",
            "              NN",
            "Name       paper",
            "────────────────",
            "a            1.0",
            "long name   10.5",
        ]
    )


def test_a_page_table_has_names_to_the_left_and_figures_to_the_right() -> None:
    grid = Grid("Title", ("Name", "NN: paper"), (("a", "1.0"),), note="A note.")
    assert grid.as_markdown() == (
        "### Title\n\nA note.\n\n| Name | NN: paper |\n| --- | --: |\n| a | 1.0 |"
    )


def test_the_data_has_every_number_and_can_be_written_as_json() -> None:
    data = json.loads(json.dumps(as_data([report()], [Missing(LUNAR, "no game")])))
    assert data["missing"] == [{"casestudy": "lunar", "what": "no game"}]
    [model] = data["models"]
    assert model["paper"] == {"violated": 1, "unique_bugs": 22.4, "accuracy": 0.97}
    assert model["ours"]["violated"] == 1
    assert model["ours"]["unique_bugs"]["mean"] == 22
    assert model["properties"][0]["bugs"] == [20, 24]
    assert model["properties"][0]["mean"] == 22


def test_spread_gives_mean_deviation_and_range() -> None:
    result = spread([2, 4, 4, 4, 5, 5, 7, 9])
    assert result.mean == 5
    assert result.deviation == pytest.approx((32 / 7) ** 0.5)
    assert (result.minimum, result.maximum) == (2, 9)
    assert spread([3.5]).deviation is None
