"""Draws can be addressed: the same for one case and for many, and always the same."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nomos.domain.fields import generator
from nomos.engine.cases import ListedCases, RandomCases
from nomos.engine.choices import (
    CaseDraws,
    EndlessRange,
    NoSuchNumber,
    Stream,
    choice_of,
    map_to_range,
    replay_draws,
    words_to_ranges,
)
from tests.engine.odometer import Odometer

WORDS = st.integers(0, 2**64 - 1)
INT64 = st.integers(-(2**63), 2**63 - 1)


def random_case(number: int) -> CaseDraws:
    return RandomCases(Stream(3, "p"), number, 1).isolate_case(0)


def test_the_words_of_a_campaign_are_pinned() -> None:
    """Stored bugs name their case by these: they may never change."""
    stream = Stream(42, "felony_inc")
    assert stream.words(0, 0, 3).tolist() == PINNED[0]
    assert stream.words(1, 1000, 3).tolist() == PINNED[1]
    for other in (Stream(43, "felony_inc"), Stream(42, "felony_dec")):
        assert other.words(0, 0, 1).tolist() != PINNED[0][:1]


PINNED = [
    [7729989850409293119, 11851827962556320954, 4695652910466316615],
    [2874541014583377858, 11629848390479465700, 1816897680608712318],
]


@given(st.integers(0, 5), st.integers(0, 10**7), st.integers(1, 50))
def test_one_word_is_the_same_as_among_many(
    position: int, first: int, count: int
) -> None:
    stream = Stream(1, "p")
    many = stream.words(position, first, count).tolist()
    half = count // 2
    assert many[half:] == stream.words(position, first + half, count - half).tolist()
    assert many[-1:] == stream.words(position, first + count - 1, 1).tolist()


def test_positions_and_cases_do_not_overlap() -> None:
    stream = Stream(0, "p")
    words = np.concatenate([stream.words(p, 0, 5000) for p in range(4)])
    assert len(np.unique(words)) == len(words)


@pytest.mark.parametrize("size", [2, 3, 10, 97, 1000])
def test_draws_are_uniform(size: int) -> None:
    words = Stream(7, "uniform").words(0, 0, 200_000)
    low = np.zeros(len(words), dtype=np.int64)
    counts = np.bincount(words_to_ranges(words, low, low + (size - 1)), minlength=size)
    assert len(counts) == size
    stats = pytest.importorskip("scipy.stats", reason="needs scipy")
    assert stats.chisquare(counts).pvalue > 1e-3


@given(st.lists(st.tuples(WORDS, INT64, INT64), min_size=1, max_size=20))
def test_many_are_bounded_as_each_is(draws: list[tuple[int, int, int]]) -> None:
    words = np.array([word for word, _, _ in draws], dtype=np.uint64)
    low = np.array([min(a, b) for _, a, b in draws])
    high = np.array([max(a, b) for _, a, b in draws])
    expected = [map_to_range(w, min(a, b), max(a, b)) for w, a, b in draws]
    assert words_to_ranges(words, low, high).tolist() == expected
    assert all(
        min(a, b) <= e <= max(a, b)
        for e, (_, a, b) in zip(expected, draws, strict=True)
    )


@given(WORDS, st.integers(0, 2**32 + 5))
def test_ranges_about_two_to_the_32_are_bounded_as_each_is(word: int, top: int) -> None:
    many = words_to_ranges(np.array([word], np.uint64), np.array([0]), np.array([top]))
    assert many.tolist() == [map_to_range(word, 0, top)]


def test_no_words_are_no_numbers() -> None:
    nothing = np.empty(0, dtype=np.int64)
    assert words_to_ranges(nothing.astype(np.uint64), nothing, nothing).tolist() == []


@pytest.mark.parametrize("case", [random_case(3), Odometer(), replay_draws((1,))])
def test_an_empty_range_has_no_number(case: CaseDraws) -> None:
    with pytest.raises(NoSuchNumber, match=r"randInt\(3, 2\)"):
        case.integer(3, 2)
    assert case.choices == []


@pytest.mark.parametrize("bounds", [(0.0, 1), (0, "9"), (None, 1), (0, np.float64(2))])
def test_a_draw_is_from_integers(bounds: tuple[int, int]) -> None:
    with pytest.raises(TypeError, match="randInt takes integers, not"):
        random_case(0).integer(*bounds)


def test_numpys_integers_and_truths_are_integers() -> None:
    case = random_case(0)
    drawn = case.integer(np.int8(-3), np.uint64(3)), case.integer(False, True)
    assert case.choices == list(drawn)
    assert [type(choice) for choice in case.choices] == [int, int]


def test_a_range_is_of_64_bit_integers() -> None:
    case = random_case(0)
    assert -(2**63) <= case.integer(-(2**63), 2**63 - 1) < 2**63
    for low, high in ((0, 2**63), (-(2**63) - 1, 0)):
        with pytest.raises(ValueError, match="goes beyond 64-bit integers"):
            case.integer(low, high)


def test_a_case_is_drawn_again_from_its_choices() -> None:
    case = random_case(17)
    made = [case.integer(0, 9), generator(case.seed()).random(), case.integer(-5, 5)]
    again = replay_draws(tuple(case.choices))
    assert [
        again.integer(0, 9),
        generator(again.seed()).random(),
        again.integer(-5, 5),
    ] == made
    assert again.choices == case.choices


def test_a_changed_spec_is_noticed_when_a_case_is_drawn_again() -> None:
    with pytest.raises(LookupError, match="made fewer draws: the spec has changed"):
        replay_draws(()).integer(0, 1)
    with pytest.raises(LookupError, match=r"the recorded 7 is not in 0\.\.5 any more"):
        replay_draws((7,)).integer(0, 5)


@given(WORDS)
def test_a_generators_seed_is_a_choice_that_stores_can_hold(word: int) -> None:
    seed = choice_of(word, "seed", None, None)
    assert 0 <= seed < 2**63
    assert generator(seed).integers(2**60) == generator(seed).integers(2**60)


def test_the_odometer_shows_every_case_once() -> None:
    wheels, seen = Odometer(), []
    while True:
        first = wheels.integer(1, 3)
        second = wheels.integer(0, first) if first != 2 else None
        seen.append((first, second))
        if not wheels.turn():
            break
    assert seen == [(1, 0), (1, 1), (2, None), (3, 0), (3, 1), (3, 2), (3, 3)]


def test_the_odometer_has_one_case_where_nothing_is_drawn() -> None:
    assert not Odometer().turn()


def test_the_odometer_refuses_what_has_no_end() -> None:
    with pytest.raises(EndlessRange, match="a function that draws by itself"):
        Odometer().seed()


def test_a_chunk_draws_what_its_cases_draw_alone() -> None:
    stream = Stream(5, "p")
    cases = RandomCases(stream, 100, 50)
    rows, positions = np.arange(50), np.arange(50) % 3
    low, high = np.full(50, 1), np.full(50, 1000)
    values, waiting = cases.draw(rows, positions, "integer", low, high)
    assert waiting is None
    for row, position, value in zip(rows, positions, values, strict=True):
        (word,) = stream.words(int(position), 100 + int(row), 1).tolist()
        assert value == map_to_range(word, 1, 1000)
        assert cases.choice(int(row), int(position), "integer", 1, 1000) == value
    seeds, waiting = cases.draw(None, 2, "seed", None, None)
    assert waiting is None
    alone = [cases.choice(row, 2, "seed", None, None) for row in range(50)]
    assert seeds.tolist() == alone
    assert seeds.tolist() == (stream.words(2, 100, 50) >> np.uint64(1)).tolist()


def test_listed_cases_wait_for_the_choices_they_do_not_have() -> None:
    cases = ListedCases(np.array([[4], [5], [6]]))
    bounds = np.zeros(3, int), np.full(3, 9)
    values, waiting = cases.draw(None, 0, "integer", *bounds)
    assert values.tolist() == [4, 5, 6] and waiting is None
    low, high = np.array([1, 2]), np.array([3, 4])
    positions = np.array([1, 0])
    values, waiting = cases.draw(np.array([0, 2]), positions, "integer", low, high)
    assert values.tolist() == [1, 6]
    assert waiting is not None and waiting.tolist() == [True, True]  # 6 is not in 2..4
    cases = ListedCases(np.array([[4], [5], [6]]), checks=False)
    values, waiting = cases.draw(np.array([0, 2]), positions, "integer", low, high)
    assert waiting is not None and waiting.tolist() == [True, False]
    assert (cases.low[0], cases.high[0]) == (1, 3)
    seeds, waiting = cases.draw(None, 0, "seed", None, None)
    assert seeds.tolist() == [4, 5, 6] and waiting is None and not cases.endless
    _, waiting = cases.draw(np.array([1]), 1, "seed", None, None)
    assert waiting is not None and waiting.all()
    assert cases.endless == "a function that draws by itself"
    assert cases.choice(1, 0, "seed", None, None) == 5
    with pytest.raises(LookupError, match="made fewer draws"):
        cases.choice(0, 1, "seed", None, None)
