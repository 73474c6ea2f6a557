"""Changes of texts, and the ready relations that they belong to."""

from __future__ import annotations

import zlib
from pathlib import Path

import pytest

import nomos
from nomos import Domain, ModelError, batched, relations, transformations
from nomos.texts import TextChanges

QUESTION = "What is the capital of France, Paris or Rome?"


@pytest.mark.parametrize(
    ("change", "amounts", "changed"),
    [
        ("upper_case", (), QUESTION.upper()),
        ("misspelt", (4,), "Whati s the capital of France, Paris or Rome?"),
        ("politely_asked", (5,), f"Please answer this question. {QUESTION}"),
        ("rudely_asked", (1,), f"{QUESTION} I have no time."),
        ("with_aside", (7,), f"{QUESTION} My neighbour has painted the fence green."),
        ("with_complaint", (2,), f"{QUESTION} The bed was broken."),
        ("answered_in", (0,), f"{QUESTION} Answer in one word."),
        ("reworded", (0,), "Tell me what is the capital of France, Paris or Rome?"),
        ("negated", (), "What is not the capital of France, Paris or Rome?"),
        ("options_swapped", (), "What is the capital of France, Rome or Paris?"),
    ],
)
def test_a_change_of_a_text(
    change: str, amounts: tuple[int, ...], changed: str
) -> None:
    function = getattr(TextChanges, change)
    assert function(QUESTION, *amounts) == changed
    assert function([QUESTION], *([amount] for amount in amounts)) == [changed]


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (TextChanges.negated, "Is it?"),
        (TextChanges.negated, "It is not."),
        (TextChanges.options_swapped, "Paris?"),
        (lambda text: TextChanges.reworded(text, 0), "Perhaps what is new."),
        (TextChanges.in_other_group, "It rains."),
    ],
)
def test_a_text_that_a_change_does_not_apply_to_stays(change, text) -> None:
    assert change(text) == text


def test_lines_with_options_keep_their_letters() -> None:
    asked = "Which?\nA) one b\nB) two\nC) three\nAnswer."
    assert (
        TextChanges.options_swapped(asked, 1)
        == "Which?\nA) three\nB) one b\nC) two\nAnswer."
    )
    assert TextChanges.options_swapped(asked, 3) != asked  # a whole turn is one step


def test_names_and_pronouns_change_together() -> None:
    said = "John gave Mary his book. He likes her dog, she likes him. Ask her."
    other = "Mary gave David her book. She likes his dog, he likes her. Ask him."
    assert TextChanges.in_other_group(said, 0) == other


def test_synonyms_are_those_of_words_with_one_meaning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = {
        "noun": "  1 The licence\n"
        "03 06 n 02 car 0 motorcar 0 000 | a vehicle\n"
        "04 06 n 02 bank 0 depository 0 000 | money\n"
        "05 06 n 03 doctor 0 medical_man 0 physician 0 000 | heals\n",
        "verb": "06 30 v 02 bank 0 rely 0 000 | trust\n",
        "adj": "07 00 a 02 sole(a) 0 only 0 000 | one\n",
        "adv": "",
    }
    for kind, text in lines.items():
        (tmp_path / f"data.{kind}").write_text(text)
    found = {
        TextChanges.synonymous("The doctor at the bank", n, str(tmp_path))
        for n in (0, 1)
    }
    assert found == {"The medical man at the bank", "The physician at the bank"}
    assert (
        TextChanges.synonymous("a car", 0, str(tmp_path)) == "a car"
    )  # too short to be sure
    monkeypatch.setenv("WNSEARCHDIR", str(tmp_path))
    assert TextChanges.synonymous("the sole one", 0) == "the only one"
    with pytest.raises(ModelError, match="wordnet-base"):
        TextChanges.synonymous("the sole one", 0, str(tmp_path / "nowhere"))


ASKED = [
    "Is the room clean or dirty?",
    "What is larger, 3 or 5?",
    "What is the name of John and his wife?\nA) Mary\nB) Anna",
    "The staff was kind. Is this positive or negative?",
]


class Sure(TextChanges, Domain):
    """Answers by what no change touches, but `not`: that a question has no number."""

    def inputs(self) -> list[str]:
        return ASKED

    @batched
    def answer(self, some: list[str]) -> list[int]:
        return [int(any(c.isdigit() for c in t)) ^ (" not" in t) for t in some]

    def opposite(self, answer: int) -> int:
        return 1 - answer

    def translated(self, text: str) -> str:
        return f"[de] {text}"


class Fickle(Sure):
    """Answers by every letter, but those of `not`."""

    @batched
    def answer(self, some: list[str]) -> list[int]:
        return [zlib.crc32(text.replace(" not", "").encode()) for text in some]


@pytest.mark.parametrize("kind", sorted(set(relations.text_kinds()) - {"synonyms"}))
def test_a_ready_relation_holds_where_it_must_and_finds_a_model_that_breaks_it(
    kind: str,
) -> None:
    spec = relations.text_relation(kind)
    assert f"# {relations.text_kinds()[kind]}\n" in spec.text
    found = nomos.run(spec, domain=Sure, budget=40)
    assert found.verdict in ("holds", "none-found"), found
    assert found.counts.k == 2  # a change of a text is no call of the model
    assert nomos.run(spec, domain=Fickle, budget=40).verdict == "violated"


def test_relations_of_texts_have_kinds_and_conditions() -> None:
    with pytest.raises(
        ValueError, match="no relation of texts is 'mood': there are order"
    ):
        relations.text_relation("mood")
    text = relations.text_relation("typos", function="ask", when="len(x1) > 3").text
    assert "requires x2 != x1 && (len(x1) > 3);" in text
    assert "d1 = ask(x1)" in text


def test_changes_of_texts_are_transformations_too() -> None:
    assert transformations.upper_case(["a", "b"]) == ["A", "B"]
    assert transformations.misspelt(["ab", "x", ""], [0, 1, 2]) == ["ba", "x", ""]
