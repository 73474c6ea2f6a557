"""The page of two models in a real browser."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nomos.report.html.compare import comparison_html
from nomos.results.comparison import compare_results
from nomos.results.result import Result

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def compared(gallery: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a page of 10 bugs that are fixed, 20 that are kept and 30 that are new."""
    (found,) = gallery.income(tmp_path_factory.mktemp("models"), budget=2000)

    def with_bugs(first: int, last: int, model: str) -> Result:
        bugs = found.bugs[first:last]
        count, tests = len(bugs), found.counts.tests
        counts = replace(
            found.counts,
            unique_bugs=count,
            violations=count,
            confirmed=count,
            repeated=0,
            passed=tests - count,
        )
        subject = replace(found.subject, model=model)
        return replace(found, subject=subject, bugs=bugs, counts=counts)

    one = compare_results(with_bugs(0, 30, "old.onnx"), with_bugs(10, 60, "new.onnx"))
    text = comparison_html([one], lambda result, _: {"d1": result.subject.model})
    path = tmp_path_factory.mktemp("page") / "changes.html"
    path.write_text(text, encoding="utf-8")
    return path


def test_page_opens_without_a_complaint(tab: Any, compared: Path) -> None:
    tab.open(compared)
    assert tab.complaints == []
    outside = [u for u in tab.requests if not u.startswith("data:")]
    assert outside == [compared.as_uri()]
    assert tab.page.inner_text("h1") == "30 new bugs, 20 kept, 10 fixed"


def test_bugs_can_be_chosen_by_what_became_of_them(tab: Any, compared: Path) -> None:
    tab.open(compared)
    assert tab.told().startswith("60 bugs")
    for status, count in (("new", 30), ("kept", 20), ("fixed", 10)):
        tab.page.select_option("#status", status)
        tab.until_told(f"{count} of 60 bugs")
        tags = {
            node.inner_text()
            for node in tab.page.query_selector_all(".tag:not(.small)")
        }
        assert tags == {status}


def test_card_shows_what_both_models_make_of_the_case(tab: Any, compared: Path) -> None:
    tab.open(compared)
    said = [n.inner_text().split() for n in tab.page.query_selector_all(".by")[:2]]
    assert [words[0] for words in said] == ["old", "new"]
    assert [words[-1] for words in said] == ["old.onnx", "new.onnx"]


def test_page_fits_a_phone(new_tab: Any, compared: Path) -> None:
    tab = new_tab(viewport={"width": 360, "height": 740})
    tab.open(compared)
    assert tab.page.evaluate("document.documentElement.scrollWidth") <= 360
    cells = tab.page.query_selector_all(".overview tbody td:visible")
    boxes = [cell.bounding_box() for cell in cells]
    assert all(box["x"] + box["width"] <= 360 for box in boxes)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_text_stands_out_from_its_ground(
    new_tab: Any, compared: Path, scheme: str
) -> None:
    tab = new_tab(color_scheme=scheme, bypass_csp=True)  # axe is a script
    tab.open(compared)
    assert tab.weak_texts() == []
    assert tab.axe() == []
