"""The page of two models."""

from __future__ import annotations

import re

import pytest

from nomos.report.html.compare import comparison_html
from nomos.results.comparison import compare_results


@pytest.fixture
def compared(bug, result):
    old = result(*(bug(n) for n in range(3)), model="a/old.onnx")
    new = result(*(bug(n) for n in range(1, 6)), model="a/new.onnx")
    return compare_results(old, new)


def page(one):
    text = comparison_html(
        [one], lambda result, bug: {"d1": result.subject.model, "d2": 0}
    )
    return text.replace("\N{NO-BREAK SPACE}%", " %")


def test_bugs_are_marked_as_new_kept_and_fixed(compared):
    text = page(compared)
    assert "3 new bugs, 2 kept, 1 fixed</h1>" in text
    assert re.findall(r'class="card" [^>]*data-status="(\w+)"', text) == [
        *["new"] * 3,
        *["kept"] * 2,
        "fixed",
    ]
    assert "<option>new</option><option>kept</option><option>fixed</option>" in text
    assert "</code> did not hold" in text


def test_a_bug_shows_what_both_models_make_of_it(compared):
    text = page(compared)
    assert text.count('<div class="by"><span>old</span>') == 6
    assert "<dt>d1 =</dt> <dd>a/old.onnx</dd>" in text
    assert "<dt>d1 =</dt> <dd>a/new.onnx</dd>" in text


def test_page_has_the_rates_of_both_and_their_difference(compared, bug, result):
    text = page(compared)
    assert "old.onnx → new.onnx, 1 property, seed 0" in text
    assert "+0.67 (-0.93 to +2.25, 95 %)" in text
    assert "3 of 300: 1 % (" in text and "5 of 300: 1.67 % (" in text
    exact = [
        result(*bugs, search="exhaustive", is_complete=True) for bugs in ([], [bug()])
    ]
    assert "+0.33 (exact)" in page(compare_results(*exact))


def test_marked_line_counts_the_bugs_of_the_new_model_only(bug, result):
    assert 'data-note="1 bug"' in page(compare_results(result(), result(bug())))
    assert 'class="line failed"' not in page(compare_results(result(bug()), result()))


def test_problems_of_either_model_are_told(bug, result):
    text = page(compare_results(result(crashed=3), result(bug(), problem="no data")))
    assert "Of the old model: 3 cases crashed." in text
    assert '<p class="problem">No data.</p>' in text
    assert "0 fixed, 1 without a verdict" in text


def test_rates_that_cannot_be_compared_are_not(bug, result):
    one = compare_results(result(bug(), unique_bugs=99), result(bug(), unique_bugs=99))
    assert "The rates cannot be compared" in page(one)


def test_nothing_to_compare_is_a_page_too():
    assert "Neither model could be tested" in comparison_html([], lambda *_: {})
