"""The study of language detectors: its sentences are what they say, its control is clean."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path

import pytest

from casestudies.language_identification.sentences import (
    DETECTORS,
    LANGUAGES,
    PARTS,
    Sentences,
)
from nomos import DomainError, api, run_specs

STUDY = Path(__file__).parents[2] / "casestudies" / "language_identification"
RESULTS = json.loads(
    (STUDY.parent / "results" / "language-identification.json").read_text("utf-8")
)["detectors"]
SPECS = sorted((STUDY / "specs").glob("*.nom"))


class Said(Sentences):
    """Sentences without a detector."""

    def __init__(self) -> None:
        self._detect = lambda text: "en" if " the " in text.lower() else None


def test_all_sentences_differ_and_have_the_parts_of_their_language() -> None:
    domain = Said()
    rows = domain.inputs()
    texts = [domain.write(x) for x in rows]
    assert len(set(texts)) == len(texts) == len(LANGUAGES) * 8 * 6 * 5 * 5
    assert domain.write(rows[0]) == "Anna čte knihu."
    assert all(unicodedata.is_normalized("NFC", text) for text in texts)
    for parts in PARTS.values():
        assert [len(parts[part]) for part in ("deeds", "places", "times")] == [6, 4, 4]


def test_ten_specs_of_ten_lines_and_a_control() -> None:
    assert len(SPECS) == 10
    for spec in STUDY.rglob("*.nom"):
        assert not api.load_spec(spec).checked.diagnostics
    texts = [file.read_text("utf-8") for file in STUDY.glob("*.py")]
    assert sum(bool(line.strip()) for t in texts for line in t.splitlines()) <= 300


@pytest.mark.parametrize("name", ["py3langid", "pycld2", "langdetect"])
def test_a_detector_is_asked_twice_by_the_control(name: str) -> None:
    pytest.importorskip(
        name,
        reason="pip install -r casestudies/language_identification/requirements.txt",
    )
    found = run_specs(
        STUDY / "control.nom",
        settings={"detector": name},
        budget=20,
        search="random",
        accept_unreadable=0.95,
        store=False,
        recheck=False,
    )[0]
    assert found.counts.violations == found.counts.crashed == 0
    assert found.calls.by_phase["search"] == 40  # nothing is remembered


def test_what_is_not_installed_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(DETECTORS, "missing", lambda: __import__("no_such_detector"))
    with pytest.raises(DomainError, match=r"pip install -r casestudies"):
        Sentences("missing")
    with pytest.raises(DomainError, match="no detector 'cld9'"):
        Sentences("cld9")


def test_the_committed_controls_show_no_violation_but_without_a_seed() -> None:
    unseeded = RESULTS.pop("langdetect-unseeded")
    assert unseeded["control"]["violations"] + unseeded["control"]["flaky"] > 0
    for found in RESULTS.values():
        assert found["control"]["violations"] == found["control"]["flaky"] == 0
        assert {*found} == {"control", "right", *(spec.stem for spec in SPECS)}
        assert not any(one["crashed"] for one in found.values())
