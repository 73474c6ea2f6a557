from __future__ import annotations

from nomos.report.numbers import Written
from nomos.report.records import tables, that_matter

ONE = {"sex": "m", "age": 30, "town": "Bern", "income": 3}
DONOR = {"sex": "f", "age": 51, "town": "Aix", "income": 9}
OTHER = {**ONE, "sex": "f"}
RECORDS = {"x1": ONE, "x2": DONOR, "x3": OTHER}


def test_a_record_that_only_lends_a_value_is_set_apart():
    shown, others = tables(RECORDS, Written([]), outputs=2)
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
    shown, _ = tables({"x1": {"a": 1}, "x2": {"a": 2}, "y": {"b": 3}}, Written([]))
    assert [table.names for table in shown] == [("x1", "x2"), ("y",)]


def test_a_wide_record_keeps_its_changed_fields():
    wide = {f"f{n}": n for n in range(5000)}
    (table,), _ = tables({"x1": wide, "x2": wide | {"f4999": 0}}, Written([]))
    assert [row.field for row in table.rows] == ["f4999"]
    assert len(table.same) == 199 and table.left == 4800
    assert table.sameness.endswith(" and 4,800 more")


def test_long_texts_that_differ_late_still_differ():
    long = "word " * 2000
    (table,), _ = tables({"x1": {"t": long}, "x2": {"t": long + "end"}}, Written([]))
    before, after = table.rows[0].cells
    assert any(piece.kind == "ins" and piece.text == "end" for piece in after)
    assert sum(len(piece.text) for piece in before) < 5000
