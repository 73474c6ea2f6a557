from __future__ import annotations

from nomos.report.bug import compare, show_bug

ONE = {"age": 30, "town": "Bern", "income": 1200.5}
TWO = {"age": 30, "town": "Bern", "income": 1300.0}


def test_only_differing_features_are_shown_unless_all_are_asked_for():
    short = show_bug({"x1": ONE, "x2": TWO}, {"d1": 1}).plain
    whole = show_bug({"x1": ONE, "x2": TWO}, {"d1": 1}, everything=True).plain
    assert "* income" in short
    assert "town" not in short
    assert "(2 other features are the same)" in short
    assert "    town" in whole
    assert "other features" not in whole


def test_records_of_another_kind_are_left_out_of_the_comparison():
    compared = compare({"x1": ONE, "x2": TWO, "other": {"a": 1}})
    assert compared is not None
    assert compared.names == ("x1", "x2")
    assert compared.changed == ("income",)


def test_scalars_and_outputs_stand_on_their_own_lines():
    text = show_bug({"v1": 3}, {"d1": 1, "d2": 0}).plain
    assert "values   v1 = 3" in text
    assert "outputs  d1 = 1   d2 = 0" in text


def test_what_a_terminal_would_act_on_is_replaced():
    text = show_bug({"v1": "a\x1b[31mred\x00"}, {}).plain
    assert "\x1b" not in text
    assert "\x00" not in text


def test_long_values_are_cut():
    text = show_bug({"v1": "x" * 500}, {}).plain
    assert "…" in text
    assert len(text) < 120
