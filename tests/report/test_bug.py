"""One bug on the terminal and in files."""

from __future__ import annotations

import numpy as np
import pytest

from nomos.domain.show import Fields, Image, Scene, Sound, Words
from nomos.report.bug import bug_heading, bug_picture, card_text, write_files
from nomos.report.cards import card_as_recorded
from nomos.results.result import Bug, Subject
from nomos.store.rows import BugRecord

ONE = {"age": 30, "town": "Bern", "income": 1200.5}
TWO = {"age": 30, "town": "Bern", "income": 1300.0}


def show_bug(inputs, outputs, failed="", **how):
    bug = Bug("", 0, (), failed, inputs=inputs, outputs=outputs)
    return card_text(card_as_recorded(bug), **how)


def test_the_heading_says_which_bug_this_is(bug):
    subject = Subject("specs/income.nom", "income", model="nn.onnx")
    text = bug_heading(BugRecord(bug(3), subject, 7, "open", 1)).plain
    assert "income  bug 0000000003   open   `d1 <= d2` does not hold" in text
    assert "specs/income.nom  model nn.onnx  seed 7  case 9  choices [3]" in text
    batch = bug_heading(BugRecord(bug(confirmed="batch"), subject, 7, "open", 1)).plain
    assert "not in isolation" in batch and "not in isolation" not in text


def test_only_differing_features_are_shown_unless_all_are_asked_for():
    short = show_bug({"x1": ONE, "x2": TWO}, {"d1": 1}).plain
    whole = show_bug({"x1": ONE, "x2": TWO}, {"d1": 1}, everything=True).plain
    assert "* income  1200.5   1300" in short
    assert "town" not in short
    assert "(2 other features are the same)" in short
    assert "    town      Bern   Bern" in whole
    assert "other features" not in whole


def test_a_record_that_the_model_is_not_given_is_named():
    records = {"x1": ONE, "x2": {"age": 9, "town": "Aix", "income": 3.5}, "x3": TWO}
    short = show_bug(records, {"d1": 1, "d3": 0}).plain
    assert "(x2 is not given to the model)" in short and "3.5" not in short
    assert "3.5" in show_bug(records, {"d1": 1, "d3": 0}, everything=True).plain


def test_scalars_and_outputs_stand_on_their_own_lines():
    text = show_bug({"v1": 3}, {"d1": 1, "d2": 0}).plain
    assert "values   v1 = 3" in text
    assert "outputs  d1 = 1   d2 = 0" in text


def test_what_a_terminal_would_act_on_is_replaced():
    text = show_bug({"v1": "a\x1b[31mred\x00"}, {}).plain
    assert "\x1b" not in text
    assert "\x00" not in text


def test_long_values_that_differ_are_not_cut_to_the_same_text():
    same = "x" * 500
    text = show_bug({}, {"d1": same + "a", "d2": same + "b"}).plain
    first, second = text.split("d1 = ")[1].split("   d2 = ")
    assert first.endswith("a") and second.rstrip().endswith("b")
    assert len(text) < 300


def test_numbers_do_not_contradict_the_condition():
    text = show_bug({}, {"d1": 0.1 + 0.2}, failed="d1 == 0.3").plain
    assert "d1 = 0.30000000000000004" in text


def test_long_fields_stand_one_below_the_other():
    long = "word " * 20
    inputs = {"x1": {"review": long, "n": 1}, "x2": {"review": long + "more", "n": 2}}
    text = show_bug(inputs, {}, everything=True).plain
    assert "x1.review: word word" in text
    assert "{+more+}" in text
    assert "x2.n: 2" in text


def test_records_wider_than_the_terminal_stand_one_below_the_other():
    text = show_bug({"x1": ONE, "x2": TWO}, {}, width=20).plain
    assert "* x1.income: 1200.5\n  * x2.income: 1300\n" in text


@pytest.mark.parametrize("size", [12, 8])  # narrower than the last word
def test_images_stand_side_by_side_with_their_difference(size):
    one, two = np.zeros((size, size)), np.eye(size)
    text = bug_picture({"x1": one, "x2": two, "d": 3}, ("d",), None, colour=False).plain
    first, *rest = text.splitlines()
    assert first.split() == ["x1", "x2", "difference"]
    assert rest[0].rstrip().endswith("▒▒")  # half of each is black
    assert "outputs  d = 3" in text


def test_a_domain_may_show_pixels_and_is_asked_for_no_number():
    class Pictures:
        def show(self, record):
            return record.reshape(12, 12)

    values = {"x1": np.zeros(144), "x2": np.ones(144), "v": 2, "d": np.int64(3)}
    text = bug_picture(values, ("d",), Pictures(), colour=False).plain
    assert text.split()[:2] == ["x1", "x2"]
    assert "v = 2" in text
    assert "d = 3" in text


def test_sounds_are_shown_as_spectrograms():
    class Sounds:
        def show(self, record):
            return Sound(record, 8000)

    values = {"x1": np.zeros(400), "x2": np.ones(600)}
    text = bug_picture(values, (), Sounds(), colour=False).plain
    assert text.split()[:2] == ["x1", "x2"]
    assert "difference" not in text  # of other lengths


def test_a_text_shows_what_was_added_and_what_was_removed():
    same = "and the people at the desk were kind to all of us, every day"
    values = {"x1": f"a good stay {same}", "x2": f"a very good night {same}"}
    text = bug_picture(values, (), None, colour=False).plain
    assert "x1: a good stay" in text
    assert "x2: a {+very+} good[- stay-] {+night+} and" in text


class Kinds:
    """A domain that shows each of its words as something else."""

    def show(self, record):
        return {
            "sound": Sound(np.zeros(400), 8000),
            "words": Words("so\nnice"),
            "fields": Fields({"age": 3}),
            "image": Image(np.zeros((8, 8, 3))),
        }.get(record)


def test_each_kind_of_record_gets_its_files(tmp_path):
    values = {name: name for name in ("sound", "words", "fields", "image")}
    written = write_files({**values, "d": "sound"}, ("d",), Kinds(), tmp_path / "new")
    names = [path.name for path in written]
    assert names == ["sound.wav", "sound.png", "words.txt", "fields.txt", "image.png"]
    assert (tmp_path / "new" / "words.txt").read_text() == "so\nnice"
    assert (tmp_path / "new" / "fields.txt").read_text() == "age: 3\n"
    assert all(path.stat().st_size for path in written)


def test_scenes_are_one_drawing_with_their_captions(tmp_path):
    class Games(Kinds):
        def show_case(self, values, choices):
            level = np.column_stack([np.linspace(0, 9, 10)] + [np.zeros(10)] * 2)
            falling = level - np.linspace((0, 0, 0), (0, 1, 0), 10)
            ground = np.array([[0.0, 0.0], [9.0, 0.0]])
            return {
                "game s1": Scene(9, 5, (ground,), level, "landed <well>"),
                "game s2": Scene(9, 5, (ground,), falling, "crashed"),
            }

    written = write_files({"s": 1}, (), Games(), tmp_path, (4,))
    assert [path.name for path in written] == [
        "game s1.txt",
        "game s2.txt",
        "scenes.svg",
    ]
    drawing = written[-1].read_text()
    assert "landed &lt;well&gt;" in drawing and "crashed" in drawing
    assert drawing.count('class="parting"') == 2
    text = bug_picture({"s": 1}, (), Games(), colour=False).plain
    assert "game s1  landed <well>" in text
