import pytest

from nomos.diagnostics import Source, Span


@pytest.mark.parametrize(
    ("offset", "place"),
    [(0, (1, 1)), (2, (1, 3)), (3, (1, 4)), (4, (2, 1)), (5, (3, 1)), (8, (3, 4))],
)
def test_an_offset_has_a_line_and_a_column(offset: int, place: tuple[int, int]) -> None:
    assert Source("a", "abc\n\ndef").locate(offset) == place


def test_lines_come_without_their_ends() -> None:
    source = Source("a", "abc\n\ndef")
    assert [source.line(number) for number in (1, 2, 3)] == ["abc", "", "def"]


def test_all_line_ends_become_one_and_a_byte_order_mark_goes() -> None:
    assert Source("a", "\ufeffa\r\nb\rc\n\r\n").text == "a\nb\nc\n\n"


def test_only_a_mark_at_the_start_is_a_byte_order_mark() -> None:
    assert Source("a", "a\ufeff").text == "a\ufeff"


def test_a_span_reaches_from_one_place_to_another() -> None:
    source = Source("a", "one two three")
    assert source.slice(Span(0, 3).to(Span(8, 13))) == "one two three"
