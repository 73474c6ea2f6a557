"""Case studies that are run, and the command that sets our numbers beside the paper's."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from casestudies import paper
from casestudies.compas.data import FULL
from casestudies.datasets import DataMissingError, find
from casestudies.paper_runs import Bench, Exact, Missing, ModelReport
from casestudies.published import CASE_STUDIES, LUNAR, MNIST, CaseStudy, Setting
from nomos import NomosError

ROOT = Path(__file__).parents[2]


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


def test_the_controls_of_a_case_study_can_be_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small_study: CaseStudy
) -> None:
    with_control = replace(small_study, controls={"grow": "grow"})
    monkeypatch.setattr(paper, "CASE_STUDIES", {"small": with_control})
    monkeypatch.setattr(
        paper, "Bench", lambda **options: Bench(folder=tmp_path, **options)
    )
    monkeypatch.setattr(paper, "ROOT", tmp_path)
    numbers = tmp_path / "numbers.json"
    arguments = ["--seeds", "1", "--budget", "9", "--no-store", "--json", str(numbers)]
    assert paper.main(arguments) == 0
    assert json.loads(numbers.read_text())["models"][0]["controls"]
    assert paper.main([*arguments, "--no-controls"]) == 0
    assert not json.loads(numbers.read_text())["models"][0].get("controls")


def test_an_error_of_the_loader_is_a_nomos_error() -> None:
    # What `Bench` and `--explain` rely on to go on with the next case study.
    assert issubclass(DataMissingError, NomosError)
