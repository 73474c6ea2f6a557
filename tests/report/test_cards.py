from __future__ import annotations

from dataclasses import replace

import numpy as np

from nomos.domain.show import Image, Scene, Sound, Words
from nomos.report.cards import card_of, card_tables, that_matter
from nomos.report.texts import Written


class Showing:
    """A domain that shows records as it is told."""

    schema = None

    def __init__(self, show):
        self.show = show


def words(cells):
    return {name: "".join(piece.text for piece in cell) for name, cell in cells}


def test_what_was_recorded_is_shown(bug, result):
    card = card_of(result(bug()), bug())
    (table,) = card.tables
    assert table.names == ("x1", "x2")
    assert [row.field for row in table.rows] == ["income"]
    assert words(card.outputs) == {"d1": "1", "d2": "0"}
    assert card.changes == 1


def test_a_live_result_and_a_stored_one_give_the_same_card(run):
    (found,) = run("income")
    stored = found.__class__(
        **{n: getattr(found, n) for n in found.__dataclass_fields__ if n != "live"}
    )
    for each in found.bugs[:5]:
        assert card_of(found, each, draw=True) == card_of(stored, each, draw=True)


def test_the_domain_decides_how_a_record_is_shown(bug, result, playing):
    domain = Showing(lambda record: Words(f"the record {record} " * 9))
    one = bug(inputs={"x1": "a", "x2": "b"})
    card = card_of(
        result(one, live=playing(domain, {"x1": 1, "x2": 2})), one, draw=True
    )
    assert [name for name, _ in card.texts] == ["x1", "x2"]
    assert words(card.texts)["x1"].startswith("the record 1")


def test_pictures_and_sounds_are_drawn_where_the_program_runs(bug, result, playing):
    domain = Showing(lambda record: Sound(record, 8000) if record.ndim == 1 else None)
    digest = {"shape": [9, 9], "dtype": "float64", "sha256": "ab" * 32}
    one = bug(inputs={"x1": digest}, outputs={"d1": 1})
    values = {"x1": np.zeros((9, 9)), "x2": np.zeros(400), "d1": np.ones((9, 9))}
    card = card_of(result(one, live=playing(domain, values)), one, draw=True)
    assert {n: type(look) for n, look in card.drawn.items()} == {
        "x1": Image,
        "x2": Sound,
        "d1": Image,
    }
    stored = card_of(result(one), one, draw=True)
    assert words(stored.values) == {"x1": "array, 9 by 9 float64, sha256 abababababab"}


def test_scenes_come_from_the_whole_case_and_its_choices(bug, result, playing):
    class Game(Showing):
        def show_case(self, values, choices):
            path = np.zeros((3, 3))
            return {"game": Scene(9, 9, (), path, f"lost {choices}")}

    game = Game(lambda record: None)
    one = bug()
    card = card_of(result(one, live=playing(game, {"x1": object()})), one, draw=True)
    assert card.drawn["game"].caption == "lost (0,)"


def test_a_domain_that_cannot_show_a_record_costs_the_picture_only(
    bug, result, playing
):
    def broken(record):
        raise RuntimeError("no picture")

    one = bug()
    live = playing(Showing(broken), {"x1": {"a": 1}})
    card = card_of(result(one, live=live), one, draw=True)
    assert card.problem == "Showing shows no record: RuntimeError: no picture"
    assert card.tables == card_of(result(one), one).tables


def test_a_bug_that_is_gone_is_shown_as_recorded(bug, result, playing):
    one = bug()
    live = playing(Showing(lambda record: Words("x" * 99)))
    assert card_of(result(one, live=live), one, draw=True).texts == ()


def test_short_texts_stand_among_the_values(bug, result):
    one = bug(inputs={"v1": "Bern", "v2": "Cork"}, outputs={"d1": "no"})
    card = card_of(result(one), one)
    assert words(card.values) == {"v1": "Bern", "v2": "Cork"}
    assert card.texts == ()


def test_a_fairness_bug_shows_the_two_records_that_the_model_was_given(bug, result):
    applicant, donor = {"sex": "m", "age": 30}, {"sex": "f", "age": 44}
    one = bug(inputs={"x1": applicant, "x2": donor, "x3": {"sex": "f", "age": 30}})
    spec = (
        "input x1; input x2; { d1 = predict(x1)\n d3 = predict(x3) } ensures d1 == d3;"
    )
    card = card_of(result(one, text=spec), one)
    assert [table.names for table in card.tables] == [("x1", "x3")]
    assert [table.names for table in card.others] == [("x2",)]
    assert card.changes == 1


def test_numbers_that_a_condition_tells_apart_are_told_apart(bug, result):
    one = bug(failed="d1 == 0.3", inputs={}, outputs={"d1": 0.1 + 0.2})
    assert words(card_of(result(one), one).outputs) == {"d1": "0.30000000000000004"}


ONE = {"sex": "m", "age": 30, "town": "Bern", "income": 3}
DONOR = {"sex": "f", "age": 51, "town": "Aix", "income": 9}
OTHER = {**ONE, "sex": "f"}
RECORDS = {"x1": ONE, "x2": DONOR, "x3": OTHER}


def test_a_record_that_only_lends_a_value_is_set_apart():
    shown, others = card_tables(RECORDS, Written([]), outputs=2)
    assert [table.names for table in shown] == [("x1", "x3")]
    assert [row.field for row in shown[0].rows] == ["sex"]
    assert [table.names for table in others] == [("x2",)]
    assert others[0].sameness == "sex=f  age=51  town=Aix  income=9"


def test_the_records_that_the_block_names_are_shown():
    used = frozenset({"predict", "x1", "x2", "d1"})
    assert that_matter(RECORDS, used=used, outputs=2) == ["x1", "x2"]


def test_a_block_that_names_one_record_only_does_not_decide():
    assert that_matter(RECORDS, used=frozenset({"x3"}), outputs=2) == ["x1", "x3"]


def test_as_many_records_as_outputs_are_all_shown():
    assert that_matter(RECORDS, used=frozenset(), outputs=3) == ["x1", "x2", "x3"]
    four = {**RECORDS, "x4": {**ONE, "age": 31}}
    assert that_matter(four, used=frozenset(), outputs=3) == ["x1", "x3", "x4"]


def test_records_of_other_fields_have_a_table_of_their_own():
    shown, _ = card_tables({"x1": {"a": 1}, "x2": {"a": 2}, "y": {"b": 3}}, Written([]))
    assert [table.names for table in shown] == [("x1", "x2"), ("y",)]


def test_a_wide_record_keeps_its_changed_fields():
    wide = {f"f{n}": n for n in range(5000)}
    (table,), _ = card_tables({"x1": wide, "x2": wide | {"f4999": 0}}, Written([]))
    assert [row.field for row in table.rows] == ["f4999"]
    assert len(table.same) == 199 and table.left == 4800
    assert table.sameness.endswith(" and 4,800 more")


def test_long_texts_that_differ_late_still_differ():
    long = "word " * 2000
    (table,), _ = card_tables(
        {"x1": {"t": long}, "x2": {"t": long + "end"}}, Written([])
    )
    before, after = table.rows[0].cells
    assert any(piece.kind == "ins" and piece.text == "end" for piece in after)
    assert sum(len(piece.text) for piece in before) < 5000


def test_a_bug_of_a_long_list_shows_the_items_that_fail(bug, result):
    people = {f"xs[{n}]": {"age": 20 + n % 7, "sex": "f"} for n in range(200)}
    one = bug(
        inputs={"x1": {"age": 3, "sex": "m"}, **people, "i": 20, "j": 135},
        outputs={"ds": [n % 2 for n in range(200)], "d1": 1},
        failed="forall i < j in xs: xs[i].age <= xs[j].age ==> ds[i] <= ds[j] + d1",
    )
    spec = "input x1;\ninput xs[200];\n{\n  ds = [predict(x) for x in xs]\n  d1 = predict(x1)\n}\n"
    card = card_of(result(one, text=spec), one)
    (table,) = card.tables
    assert table.names == ("x1", "xs[20]", "xs[135]")
    assert words(card.outputs).items() >= {"ds[20]": "0", "ds[135]": "1"}.items()
    assert card.left_out == ("198 more items of xs",)
    constant = replace(one, failed="ds[3] <= xs[7].age", inputs=people)
    (table,) = card_of(result(constant), constant).tables
    assert table.names == ("xs[7]",)
    nobody = replace(one, failed="sum(ds) < 9", inputs=people)
    assert len(card_of(result(nobody), nobody).tables[0].names) == 2
