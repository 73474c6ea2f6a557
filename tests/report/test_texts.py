from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nomos.report.texts import (
    count_of,
    fit_texts,
    percent,
    terminal_lines,
    word_changes,
)


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0, "0 %"),
        (1, "100 %"),
        (0.9999, "99.99 %"),
        (0.995, "99.5 %"),
        (0.0456, "4.6 %"),
        (0.1, "10 %"),
        (1e-7, "0.00001 %"),
    ],
)
def test_a_share_never_has_an_exponent(share, text):
    assert percent(share) == text


def test_numbers_are_grouped_and_nouns_agree():
    assert [count_of(n, "bug") for n in (0, 1, 2000)] == [
        "0 bugs",
        "1 bug",
        "2,000 bugs",
    ]
    assert count_of(2, "property", "properties") == "2 properties"


@given(st.lists(st.text("ab", max_size=40), max_size=5), st.integers(4, 12))
def test_texts_that_differ_are_never_cut_to_the_same(texts, longest):
    shown = terminal_lines(texts, longest)
    assert len(set(shown)) == len(set(texts))


def test_a_long_text_is_cut_around_its_change():
    same = "x" * 1_000_000
    one, two = terminal_lines([same + "ENDE", same + "END"], 60)
    assert one.endswith("ENDE") and two.endswith("END")
    assert one.startswith("… from character 999,98")
    assert len(one) < 100


def test_a_text_alone_says_how_much_is_left_out():
    (pieces,) = fit_texts(["y" * 50], 40)
    assert [piece.text for piece in pieces] == ["y" * 40, " … 10 more characters"]


def test_a_change_is_marked_word_by_word():
    pieces = word_changes("a good stay", "a very good night")
    assert [(piece.kind, piece.text) for piece in pieces] == [
        ("", "a"),
        ("", " "),
        ("ins", "very"),
        ("", " good"),
        ("del", " stay"),
        ("", " "),
        ("ins", "night"),
    ]


def test_texts_that_share_little_are_not_marked():
    (piece,) = word_changes("one two three four", "five six seven")
    assert (piece.kind, piece.text) == ("", "five six seven")


def test_very_long_changes_are_marked_as_a_whole():
    before, after = ("word " * 700 + end * 300 for end in ("a b ", "c d "))
    kinds = [piece.kind for piece in word_changes(before, after) if piece.kind]
    assert kinds == ["del", "ins"]


@given(st.text("a b", max_size=30), st.text("a b", max_size=30))
def test_what_is_kept_and_added_is_the_text(before, after):
    pieces = word_changes(before, after)
    assert "".join(p.text for p in pieces if p.kind != "del") == after
