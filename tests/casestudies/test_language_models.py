"""The study of language models: its questions are what they say, and its specs find faults."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from casestudies.datasets import DataMissingError
from casestudies.language_models.questions import Questions, short_reviews
from casestudies.language_models.server import find_weights
from nomos import DomainError, Unreadable, api, run

STUDY = Path(__file__).parents[2] / "casestudies" / "language_models"
RESULTS = STUDY.parent / "results" / "language-models.json"
SPECS = sorted((STUDY / "specs").glob("*.nom"))


def name_larger(texts: list[str]) -> list[str]:
    """Answer sums and larger numbers rightly, whatever else is said."""
    said = []
    for text in texts:
        numbers = [int(n) for n in re.findall(r"\d+", text)]
        if " + " in text:
            right, is_other = str(numbers[0] + numbers[1]), " not " in text
            other = next(str(n) for n in numbers[2:] if str(n) != right)
            said.append(other if is_other else right)
        elif numbers:
            said.append(str(min(numbers) if "smaller" in text else max(numbers)))
        else:
            said.append("no idea")
    return said


def name_first(texts: list[str]) -> list[str]:
    """Answer with the first option."""
    return [re.findall(r"(\S+) or \S+\?", t)[-1].strip(",:") for t in texts]


@pytest.fixture(autouse=True)
def _needs_reviews() -> None:
    try:
        short_reviews()
    except DataMissingError as missing:
        pytest.skip(str(missing))


class Right(Questions):
    """Questions for a model that is right about numbers, and mute about moods."""

    def __init__(self) -> None:
        super().__init__("tests.casestudies.test_language_models:name_larger", 30)


class First(Questions):
    """Questions for a model that takes the first option."""

    def __init__(self) -> None:
        super().__init__("tests.casestudies.test_language_models:name_first", 30)


def test_questions_have_two_options_of_which_one_is_right() -> None:
    domain = Right()
    for x in domain.inputs():
        right, wrong = domain.options(x)
        assert right != wrong
        asked = domain.ask(x)
        assert f"{right} or {wrong}" in asked or f"{wrong} or {right}" in asked
    said = domain.answer.many(
        [domain.ask(x) for x in domain.inputs()[:2]], domain.inputs()[:2]
    )
    assert list(said) == ["right", "right"]
    with pytest.raises(Unreadable):
        domain.answer(domain.ask(domain.inputs()[2]), domain.inputs()[2])


@pytest.mark.parametrize("spec", SPECS, ids=lambda path: path.stem)
def test_a_model_that_is_right_passes_each_relation(spec: Path) -> None:
    text = spec.read_text().replace("import questions;", "")
    found = run(text, domain=Right, budget=24, accept_unreadable=0.8, search="random")
    assert (found.verdict, found.counts.crashed) == ("none-found", 0), found


def test_a_model_that_takes_the_first_option_is_found() -> None:
    text = (STUDY / "specs" / "order.nom").read_text().replace("import questions;", "")
    found = run(text, domain=First, budget=24, shrink=False)
    assert found.counts.violations == found.counts.evaluated > 0


def test_ten_specs_of_ten_lines_and_a_control() -> None:
    assert len(SPECS) == 10
    for spec in [*SPECS, STUDY / "control.nom", STUDY / "right.nom"]:
        assert not api.load_spec(spec).checked.diagnostics
    texts = [file.read_text() for file in STUDY.glob("*.py")]
    lines = sum(bool(line.strip()) for text in texts for line in text.splitlines())
    assert lines <= 300


def test_what_cannot_be_had_says_how_to_get_it() -> None:
    with pytest.raises(DomainError, match="there are smollm2, qwen"):
        find_weights("gpt")


def test_the_committed_control_shows_no_violation() -> None:
    for study in json.loads(RESULTS.read_text()).values():
        control = study["specs"]["control"]
        assert control["violations"] == control["crashed"] == 0
        assert {*study["specs"]} == {"control", "right", *(s.stem for s in SPECS)}
