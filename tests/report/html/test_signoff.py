from __future__ import annotations

import html
import re

import pytest

from nomos.report.html.page import html_page
from nomos.results.gate import Gate, rulings
from nomos.results.result import Proof

MARKS = {
    "spec": "aaaa",
    "model": "bbbb",
    "inputs": "cccc",
    "domain": "dddd",
    "data": "people.csv, 2,000 inputs",
    "versions": "nomos 0.3.0, python 3.11.7, sklearn 1.9.1",
}


def sign_off(*results, gate=None):
    """Return what can be read of the section."""
    page = html_page(results, (), rulings(results, gate or Gate()))
    section = re.findall(r'<section class="sign-off".*?</section>', page, re.DOTALL)[0]
    text = html.unescape(re.sub(r"<[^>]*>", " ", section))
    return re.sub(r"\s+", " ", text.replace("\N{NO-BREAK SPACE}", " "))


def test_the_section_says_what_was_asked_how_often_it_fails_and_what_the_gate_says(
    bug, result
):
    text = sign_off(result(bug(), model="loans.onnx"))
    assert "1 property was tested of loans.onnx: 1 violated." in text
    assert "The gate does not pass." in text
    assert "If the income rises, a granted loan stays granted." in text
    assert "1 of 300: 0.33 % (" in text
    assert "☐ accepted" in text and "name and role" in text


@pytest.mark.parametrize(
    ("facts", "gate", "said"),
    [
        ({}, Gate(), "The gate passes."),
        ({"crashed": 1}, Gate(), "The gate cannot decide."),
        ({}, Gate(min_cases=10_000), "300 cases were evaluated, at least 10000 are"),
        ({}, Gate(max_rate=0.001), "more cases are needed"),
    ],
    ids=["passes", "crashed", "few", "rate"],
)
def test_the_gate_says_no_more_than_was_checked(result, facts, gate, said):
    assert said in sign_off(result(**facts), gate=gate)


def test_fingerprints_versions_seeds_commands_and_the_date_are_there(result):
    made = result(fingerprint=MARKS, model="m.onnx", settings={"model": "m.onnx"})
    text = sign_off(made)
    for mark in MARKS.values():
        assert mark in text
    assert "nomos run specs/income.nom --model m.onnx --seed 0 --budget 300" in text
    assert "tested on not recorded" in text
    assert "people.csv, 2,000 inputs, fingerprint cccc" in text


def test_a_campaign_that_trusted_its_files_is_run_again_with_trust(result):
    trusted = result(fingerprint=MARKS | {"trust": "files that can run code"})
    assert "--search random --trust" in sign_off(trusted)
    assert "--trust" not in sign_off(result(fingerprint=MARKS))


def test_what_was_proved_has_its_own_column(result):
    text = sign_off(result(proof=Proof("holds", cases=9, violating=(0, 0))))
    assert "proved: 0 of 9 cases of the schema" in text
    assert text.count("0 of 300: at most") == 1


def test_a_manager_reads_no_word_of_the_machinery(bug, result):
    text = sign_off(result(bug()), result(spec="b.nom"))
    assert not re.search(r"\bk\b|cases/s|column|vectorized|coroutine", text)


def test_texts_of_specs_and_models_are_escaped_in_the_section(bug, result):
    made = result(bug(), description="<script>1</script>", model="<img src=x>")
    page = html_page([made], (), rulings([made], Gate()))
    assert "<script>1" not in page and "<img src=x>" not in page


def test_a_page_without_rulings_has_no_section_to_sign(result):
    assert 'class="sign-off"' not in html_page([result()])
