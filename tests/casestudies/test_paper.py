"""The paper's numbers as data, the tables built from results, and the command."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from nomos.campaign.session import Options, Session

from casestudies import paper, paper_explain, paper_first
from casestudies.compas.data import FULL
from casestudies.datasets import DataMissingError, find
from casestudies.paper_runs import (
    Bench,
    Exact,
    Missing,
    ModelReport,
    PropertyReport,
    prepare,
)
from casestudies.paper_tables import (
    Grid,
    as_data,
    as_markdown,
    as_text,
    mean_text,
    overview,
    property_tables,
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
from nomos.errors import NomosError

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


def test_a_part_of_a_page_is_replaced_and_the_rest_is_kept(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Head\n")
    paper.write_part(page, "tables", "old")
    with page.open("a") as end:
        end.write("\nTail\n")
    paper.write_part(page, "tables", "new")
    text = page.read_text()
    assert text.startswith("# Head\n") and text.endswith("\nTail\n")
    assert "new" in text and "old" not in text
    assert text.count("generated") == 1


def test_a_case_study_that_is_not_there_does_not_stop_the_others(
    tmp_path: Path,
) -> None:
    [told] = Bench(folder=tmp_path).run(MNIST, Setting(1, 1))
    assert isinstance(told, Missing)
    assert "there is no" in told.what and "get the whole repository" in told.what


def test_a_missing_model_file_is_told_in_the_words_of_the_loader(
    tmp_path: Path, small_study: CaseStudy
) -> None:
    gone = replace(small_study.models[0], file="gone.onnx")
    case = replace(small_study, models=(gone,))
    [told] = Bench(folder=tmp_path).run(case, Setting(1, 1))
    assert isinstance(told, Missing)
    assert "gone.onnx" in told.what


DOMAIN = """
import numpy as np
from nomos import Domain, Schema, batched, load_model
from nomos.domain import Integer


class Small(Domain):
    schema = Schema(Integer("size", 0, 9))

    def __init__(self, model: str = "") -> None:
        self.model = load_model(model) if model else None

    def inputs(self):
        return np.arange(10, dtype=np.float32)[:, None]

    def labels(self):
        return np.arange(10) >= 5

    @batched
    def predict(self, rows):
        return ((rows[:, 0] >= 5) & (rows[:, 0] != 7)).astype(int)
"""
SPEC = """
import small;
input x1;
var x2 := x1[size := x1.size + 1];
requires x1.size < 9;  # nothing is larger
output d1;
output d2;
{
  d1 = predict(x1)
  d2 = predict(x2)
}
ensures d1 <= d2;
"""


@pytest.fixture
def small_study(tmp_path: Path) -> CaseStudy:
    """Write a case study of ten rows, of which one step is a bug."""
    folder = tmp_path / "small"
    (folder / "specs").mkdir(parents=True)
    (folder / "small.py").write_text(DOMAIN)
    (folder / "specs" / "grow.nom").write_text(SPEC)
    model = Model("NN", None, 0.9, Overview(1, 1.0), {"grow": 1.0})
    return CaseStudy("small", "Small", {"grow": "Grow"}, (model,))


def test_a_case_study_is_sampled_and_counted(
    tmp_path: Path, small_study: CaseStudy
) -> None:
    bench = Bench(folder=tmp_path)
    [found] = bench.run(small_study, Setting(budget=200, seeds=3))
    assert isinstance(found, ModelReport)
    [row] = found.properties
    assert row.bugs == (1, 1, 1)
    assert row.tests == 600
    assert row.exact == Exact(bugs=1, cases=9, inputs=1)
    assert row.example == bench.results[0].bugs[0].id
    assert found.accuracy == 0.9
    assert found.violated == 1


def test_influence_counts_changes_along_the_property_and_against_it(
    tmp_path: Path, small_study: CaseStudy
) -> None:
    path = Bench(folder=tmp_path).spec(small_study, "grow")
    program = prepare(Session(tmp_path, Options()), path, {}).engine.program
    # From 4 to 5 and from 7 to 8 the answer goes up, from 6 to 7 down.
    assert paper_explain.influence(program) == paper_explain.Influence(9, 1, 2)


def test_a_spec_can_be_measured_without_one_of_its_requires(
    tmp_path: Path, small_study: CaseStudy
) -> None:
    path = Bench(folder=tmp_path).spec(small_study, "grow")
    spec, _ = paper_explain.without(path, "nothing is larger")
    assert spec.requires == ()
    assert len(spec.ensures) == 1


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


@pytest.mark.slow
def test_the_page_has_the_numbers_that_the_committed_models_give(
    tmp_path: Path,
) -> None:
    try:
        find(FULL)  # the page is about this table
    except DataMissingError as missing:
        pytest.skip(str(missing))
    page = ROOT / "docs" / "casestudies" / "tabular.md"
    copy = tmp_path / "tabular.md"
    copy.write_text(page.read_text(encoding="utf-8"), encoding="utf-8")
    arguments = ["compas", "german_credit", "--no-store", "--markdown", str(copy)]
    assert paper.main(arguments) == 0
    assert copy.read_text(encoding="utf-8") == page.read_text(encoding="utf-8")


def test_a_model_brings_its_own_settings() -> None:
    [model] = CASE_STUDIES["hotel_review"].models
    settings = Bench().settings(CASE_STUDIES["hotel_review"], model)
    assert settings["encoding"] == "joined"
    assert settings["model"].endswith("hotel_review/models/joined.onnx")


def test_more_cases_than_the_limit_are_not_counted(
    tmp_path: Path, small_study: CaseStudy
) -> None:
    for bench, case in (
        (Bench(folder=tmp_path, exact=5), small_study),
        (Bench(folder=tmp_path), replace(small_study, exact=5)),
    ):
        [found] = bench.run(case, Setting(budget=10, seeds=1))
        assert isinstance(found, ModelReport)
        assert found.properties[0].exact is None


def test_an_unknown_case_study_is_refused_with_the_known_ones(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as stop:
        paper.main(["compass"])
    assert stop.value.code == 2
    assert (
        "'compass'; there are: compas, german_credit, mnist" in capsys.readouterr().err
    )


def test_a_setting_of_the_command_line_goes_before_the_case_studys_own() -> None:
    assert paper.setting_of(LUNAR, paper.parse([])) == LUNAR.setting
    given = paper.parse(["--budget", "7", "--seeds", "2"])
    assert paper.setting_of(LUNAR, given) == Setting(7, 2)


def test_the_command_prints_tables_and_writes_the_files(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    small_study: CaseStudy,
) -> None:
    monkeypatch.setattr(paper, "CASE_STUDIES", {"small": small_study})
    monkeypatch.setattr(
        paper, "Bench", lambda **options: Bench(folder=tmp_path, **options)
    )
    monkeypatch.setattr(paper, "ROOT", tmp_path)
    numbers, page = tmp_path / "numbers.json", tmp_path / "page.md"
    report_page = tmp_path / "new" / "report.html"
    arguments = ["--seeds", "2", "--json", str(numbers), "--markdown", str(page)]
    assert paper.main([*arguments, "--html", str(report_page)]) == 0
    assert "grow" in report_page.read_text()
    said = capsys.readouterr().out
    assert "Small: unique bugs per property" in said
    assert "1 of 9" in said
    assert (
        f"nomos show {json.loads(numbers.read_text())['models'][0]['properties'][0]['example']}"
        in said
    )
    assert "### Overview" in page.read_text()
    assert (tmp_path / ".nomos").is_dir()


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


def test_an_error_of_the_loader_is_a_nomos_error() -> None:
    # What `Bench` and `--explain` rely on to go on with the next case study.
    assert issubclass(DataMissingError, NomosError)
