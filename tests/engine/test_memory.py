"""Answers are asked for once, and remembered as they were."""

from typing import Any

import numpy as np
import pytest

from nomos import Discard, Domain, ModelError, batched, random
from nomos.engine import answers as memories
from nomos.engine.answers import (
    UNKNOWN,
    Answers,
    Memory,
    call_batch,
    fresh,
    write_values,
)


class Asked:
    """Answers by place, and says which rows it was asked for."""

    def __init__(self, places: np.ndarray, answer: Any, bad: Any = None) -> None:
        self.places = places
        self.answer = answer
        self.bad = bad or (lambda place: False)
        self.rows: list[list[int] | None] = []

    def __call__(self, rows: np.ndarray | None) -> tuple[Any, np.ndarray]:
        self.rows.append(None if rows is None else rows.tolist())
        places = self.places if rows is None else self.places[rows]
        failed = np.array([self.bad(place) for place in places.tolist()], dtype=bool)
        answers = [self.answer(place) for place in places.tolist()]
        return (
            np.array(answers) if type(answers[0]) in (int, float) else answers
        ), failed


def test_each_place_is_asked_for_once() -> None:
    memory = Memory(10)
    memory._doubts[:] = False
    places = np.array([3, 1, 3, 3, 7])
    ask = Asked(places, lambda place: place * 10)
    answers, failed = memory.recall(places, ask)
    assert answers.tolist() == [30, 10, 30, 30, 70]
    assert not failed.any()
    assert len(ask.rows) == 1 and len(ask.rows[0] or []) == 3
    again = Asked(np.array([7, 2]), lambda place: place * 10)
    assert memory.recall(again.places, again)[0].tolist() == [70, 20]
    assert again.rows == [[1]]
    assert memory.at(7) == 70
    assert memory.at(0) is UNKNOWN


def test_what_failed_is_not_asked_for_again() -> None:
    memory = Memory(4)
    memory._doubts[:] = False
    ask = Asked(np.array([0, 1, 1]), float, lambda place: place == 1)
    _, failed = memory.recall(ask.places, ask)
    assert failed.tolist() == [False, True, True]
    _, failed = memory.recall(ask.places, ask)
    assert failed.tolist() == [False, True, True]
    assert len(ask.rows) == 1
    assert memory.at(0) == 0.0 and memory.at(1) is UNKNOWN


def test_answers_of_other_kinds_are_remembered_beside_each_other() -> None:
    memory = Memory(4)
    first = Asked(np.array([0]), int)
    memory.recall(first.places, first)
    second = Asked(np.array([0, 1]), lambda place: "text")
    assert list(memory.recall(second.places, second)[0]) == [0, "text"]


def test_answers_that_could_be_changed_are_not_remembered() -> None:
    memory = Memory(4)
    ask = Asked(np.array([0, 0, 1]), lambda place: [place])
    answers, _ = memory.recall(ask.places, ask)
    assert answers == [[0], [0], [1]]
    assert answers[0] is not answers[1]
    assert memory.is_off
    memory.recall(ask.places, ask)
    assert ask.rows[1:] == [None, None]
    assert not memory.keep(np.array([0]), [1], np.array([False]))


def test_answers_too_large_are_not_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memories, "_MOST_BYTES", 8 * 4 * 10 - 1)
    memory = Memory(10)
    places = np.array([1, 2])
    images = np.arange(8.0).reshape(2, 4)
    found, _ = memory.recall(places, lambda rows: (images, np.zeros(2, dtype=bool)))
    assert found is images and memory.is_off


def test_whoever_gets_a_fresh_value_may_change_it() -> None:
    kept = {"a": [1]}
    fresh(kept)["a"].append(2)
    assert kept == {"a": [1]}
    assert fresh("text") == "text"


def test_columns_of_two_kinds_become_a_list() -> None:
    target = write_values(None, np.array([2, 0]), np.array([5, 6]), 3)
    assert isinstance(target, np.ndarray) and target.tolist() == [6, 0, 5]
    assert write_values(target, np.array([1]), np.array([9]), 3).tolist() == [6, 9, 5]
    assert write_values(target, np.array([1]), np.array([0.5]), 3) == [6, 0.5, 5]
    assert write_values(None, np.array([1]), ["a"], 2) == [None, "a"]


def test_a_share_of_the_places_that_are_used_again_is_asked_for_again() -> None:
    memory, places = Memory(6400), np.arange(6400)
    once = Asked(places, float)
    memory.recall(places, once)
    assert memory.asked_again == 0 and len(once.rows) == 1
    for _ in range(3):
        memory.recall(places, once)
    assert 90 <= memory.asked_again <= 110 and memory.nondeterministic == 0
    assert len(once.rows) == 2 and len(once.rows[1] or []) == memory.asked_again


def test_of_few_places_several_are_asked_for_again() -> None:
    for size in (1, 5, 30, 100, 1000):
        memory, places = Memory(size), np.tile(np.arange(size), 2)
        memory.recall(places, Asked(places, int))
        assert min(size, 6) <= memory.asked_again <= max(size // 50, 17)


def test_only_rows_that_stand_are_asked_for_again() -> None:
    memory, places = Memory(4), np.array([0, 1, 0, 1])
    ask = Asked(places, int)
    memory.recall(places, ask, np.array([False, True, False, True]))
    assert ask.rows == [[2, 3], [1]]


NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("first", "second", "moved"),
    [
        (1.0, 1.0 + 1e-7, False),
        (1.0, 1.001, True),
        (1e-9, 2e-9, False),  # the others are about 1
        (NAN, NAN, False),
        (NAN, 1.0, True),
        (INF, INF, False),
        (INF, 1.0, True),
        (INF, -INF, True),
        (1, 1, False),
        (10**6, 10**6 + 1, True),
        (True, False, True),
        ("a", "a", False),
        ("a", "b", True),
        ((1.0, NAN), (1.0 + 1e-9, NAN), False),
        ((1.0, "a"), (1.0, "b"), True),
        ((1.0,), (1.0, 2.0), True),
        (None, None, False),
        (1, "1", True),
    ],
)
def test_an_answer_that_moved_is_counted(first: Any, second: Any, moved: bool) -> None:
    memory = Memory(8)
    alike = type(first) is float
    others: Any = [1.0] * 7 if alike else [None] * 7
    no = np.zeros(8, dtype=bool)
    column = np.array([first, *others]) if alike else [first, *others]
    memory.keep(np.arange(8), column, no)
    memory.keep(np.array([0]), [second], no[:1])
    assert (memory.asked_again, memory.nondeterministic) == (1, int(moved))
    memory.keep(np.array([0]), [second], no[:1])
    assert memory.asked_again == 1


def test_vectors_move_by_more_than_their_last_bits_or_fail() -> None:
    no = np.zeros(2, dtype=bool)
    for change, moved in ((0.0, 0), (1e-7, 0), (1e-3, 1)):
        memory = Memory(2)
        rows = np.array([[1.0, 1e-9], [1.0, 2.0]])
        memory.keep(np.array([0, 1]), rows, no)
        memory.keep(np.array([0]), rows[:1] + change, no[:1])
        assert memory.nondeterministic == moved
        memory.keep(np.array([1]), rows[1:], ~no[:1])
        assert memory.nondeterministic == moved + 1


class Brittle(Domain):
    def __init__(self) -> None:
        self.calls: list[int] = []

    @batched
    def half(self, numbers: Any) -> Any:
        self.calls.append(len(numbers))
        if (numbers % 10 == 3).any():
            raise ValueError("three")
        return numbers / 2

    @batched
    def hasty(self, numbers: Any) -> Any:
        numbers += 100
        if (numbers == 103).any():
            raise ValueError("three, and a hundred")
        return numbers

    @batched
    def shy(self, numbers: Any) -> Any:
        raise Discard("no")

    @batched
    def short(self, numbers: Any) -> Any:
        return numbers[1:]

    @batched
    def words(self, numbers: Any) -> Any:
        if 0 in numbers:
            raise ValueError("zero")
        return [str(n) if n % 2 else float(n) for n in numbers]

    @batched
    @random
    def draw(self, numbers: Any, generators: Any) -> Any:
        self.calls.append(len(numbers))
        raise ValueError("after drawing")


def ask(function: Any, *columns: Any) -> tuple[Any, np.ndarray]:
    def part(chosen: slice) -> list[Any]:
        return [column[chosen].copy() for column in columns]

    return call_batch(function, part, len(columns[0]))


def test_the_rows_on_which_a_function_raises_are_found() -> None:
    domain, numbers = Brittle(), np.arange(100)
    answers, failed = ask(domain.half, numbers)
    assert np.flatnonzero(failed).tolist() == list(range(3, 100, 10))
    assert np.array_equal(answers[~failed], numbers[~failed] / 2)
    assert len(domain.calls) < 100


def test_a_function_may_change_its_columns_and_is_asked_with_new_ones() -> None:
    numbers = np.arange(10)
    answers, failed = ask(Brittle().hasty, numbers)
    assert np.flatnonzero(failed).tolist() == [3]
    assert np.array_equal(answers[~failed], numbers[~failed] + 100)


def test_a_function_that_always_raises_is_not_tried_for_ever() -> None:
    domain = Brittle()
    answers, failed = ask(domain.half, np.full(8192, 3))
    assert failed.all() and len(answers) == 8192
    assert len(domain.calls) < 500
    assert ask(domain.shy, np.arange(5))[1].all()


def test_answers_of_several_kinds_are_put_together() -> None:
    answers, failed = ask(Brittle().words, np.array([1, 2, 0, 3]))
    assert failed.tolist() == [False, False, True, False]
    assert [answers[i] for i in (0, 1, 3)] == ["1", 2.0, "3"]


def test_a_batch_that_drew_is_not_tried_again() -> None:
    domain = Brittle()
    generators = [np.random.default_rng(i) for i in range(6)]
    _, failed = ask(domain.draw, np.arange(6), generators)
    assert failed.all() and domain.calls == [6]


def test_the_wrong_number_of_answers_ends_it_all() -> None:
    with pytest.raises(ModelError, match="`short` gave 4 answers for 5 cases"):
        ask(Brittle().short, np.arange(5))


def test_each_call_has_its_own_memory() -> None:
    answers = Answers(3)
    assert answers.memory("f") is answers.memory("f")
    assert answers.memory("f") is not answers.memory(("f", 1, 2))
