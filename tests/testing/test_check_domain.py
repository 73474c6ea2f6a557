"""`check_domain` finds what a domain does not keep, and names the function and the case."""

from typing import Any, NamedTuple

import numpy as np
import pytest

from nomos import Domain, Schema, batched, random
from nomos.domain import Flag, Integer
from nomos.testing import check_domain

ROWS = np.array([[i, i % 2] for i in range(80)], dtype=np.float32)


class Loans(Domain):
    """A domain with nothing wrong, of every kind of function."""

    schema = Schema(Integer("income", 0, 100), Flag("member"))

    def __init__(self, people: int = 80, bias: float = 0.0) -> None:
        self.rows = ROWS[:people].copy()
        self.bias = bias
        self.idle: list[list[float]] = []

    def inputs(self) -> Any:
        return self.rows

    def labels(self) -> Any:
        return self.rows[:, 1]

    @batched
    def predict(self, people: Any) -> Any:
        people -= self.bias  # the columns are its own
        return people[:, 0] > 30

    @batched
    def scores(self, people: Any) -> Any:
        return people / (np.float32(3) + len(people) * np.float32(1e-9))

    @batched
    def brittle(self, people: Any) -> Any:
        if (people[:, 0] == 7).any():
            raise ValueError("seven")
        return people[:, 0]

    @random
    def jitter(self, person: Any, rng: Any) -> Any:
        return person + rng.random()

    @batched
    @random
    def noisy(self, people: Any, generators: Any) -> Any:
        return [
            float(p[0]) + g.random() for p, g in zip(people, generators, strict=True)
        ]

    def is_rich(self, person: Any) -> bool:
        return bool(person[0] > 50)

    def walk(self, person: Any) -> float:
        game = self.idle.pop() if self.idle else [0.0]
        game[0] = 0.0
        for _ in range(3):
            game[0] += float(self.scores(person)[0])
        self.idle.append(game)
        return game[0]

    def between(self, person: Any, low: int, high: int) -> bool:
        return bool(low < person[0] < high)


def test_a_sound_domain_passes() -> None:
    check_domain(Loans)
    check_domain(Loans, people=10, bias=1.5)
    check_domain(Loans(people=3))
    check_domain(Loans, calls={"between": [(ROWS[3], 1, 5), (ROWS[9], 1, 5)]})


def told(domain: Any, **options: Any) -> list[str]:
    """Return what `check_domain` says, problem by problem."""
    try:
        check_domain(domain, **options)
    except AssertionError as error:
        opening, *found = str(error).split("\n- ")
        assert opening.endswith(" breaks its promises:")
        return found
    return []


def problems(**overrides: Any) -> list[str]:
    return told(type("Broken", (Loans,), overrides))


def one_problem(**overrides: Any) -> str:
    (problem,) = problems(**overrides)
    return problem


def test_all_problems_are_told_at_once_with_the_domain_named() -> None:
    class Broken(Loans):
        def labels(self) -> Any:
            return self.rows[:, 0] + np.random.default_rng().random()

        def is_rich(self, person: Any) -> Any:
            return np.random.default_rng().random()

    with pytest.raises(AssertionError, match=r"^Broken breaks its promises:") as caught:
        check_domain(Broken)
    assert "labels() gives input 0 another label when asked again" in str(caught.value)
    assert "`is_rich` says" in str(caught.value)


def test_a_model_that_looks_at_the_whole_batch_is_found() -> None:
    problem = one_problem(
        predict=batched(lambda self, people: people[:, 0] > people[:, 0].mean())
    )
    assert problem.startswith(
        "`predict` says False alone and True in a batch of 50, for"
    )
    assert "predict({'income': " in problem


def test_answers_in_another_order_are_found() -> None:
    problem = one_problem(predict=named(batched(lambda self, people: people[::-1, 0])))
    assert "`predict` says 0.0 alone and 79.0 in a batch of 50" in problem


def named(function: Any, name: str = "predict") -> Any:
    function.__set_name__(Loans, name)
    return function


def test_the_wrong_number_of_answers_is_found() -> None:
    problem = one_problem(predict=batched(lambda self, people: [1]))
    assert problem == (
        "`predict` breaks its contract: `predict` gave 1 answers for 50 cases"
    )


def test_an_exception_that_depends_on_the_batch_does_no_harm() -> None:
    def crowded(self: Any, people: Any) -> Any:
        if len(people) > 8:
            raise MemoryError
        return people[:, 0]

    assert problems(predict=batched(crowded)) == []


def test_answers_that_change_with_time_are_found() -> None:
    count = iter(range(10**6))
    problem = one_problem(is_rich=lambda self, person: next(count))
    assert "`is_rich` says 0 the first time and" in problem


def test_numbers_that_differ_in_their_last_bits_are_the_same() -> None:
    def rough(self: Any, people: Any) -> Any:
        return people[:, 0] * np.float32(1 + len(people) * 1e-8)

    assert problems(predict=batched(rough)) == []


def test_a_function_that_writes_into_a_row_is_found() -> None:
    def greedy(self: Any, person: Any) -> Any:
        person[0] += 1
        return person

    problem = one_problem(is_rich=greedy)
    assert problem.startswith("`is_rich` changes its argument in place: ValueError")
    assert "is_rich({'income': 0, 'member': 0})" in problem


class Basket(NamedTuple):
    things: list[str]


class Shop(Domain):
    def __init__(self, greedy: bool = False) -> None:
        self.greedy = greedy

    def inputs(self) -> Any:
        return [Basket(["pen"]), Basket(["ink", "pen"])]

    def count(self, basket: Any) -> int:
        if self.greedy:
            basket.things.append("gum")
        return len(basket.things)

    @batched
    def price(self, baskets: Any) -> Any:
        if self.greedy:
            for basket in baskets:
                basket.things.clear()
        return [len(basket.things) for basket in baskets]


def test_a_function_that_changes_a_record_is_found() -> None:
    check_domain(Shop)
    found = told(Shop, greedy=True)
    assert any(p.startswith("`count` changes its argument in place") for p in found)
    # A batch is the function's own, which it may change.
    assert not any(p.startswith("`price`") for p in found)
    assert "became {'things': ['pen', 'gum']}" in "".join(found)


def test_a_game_that_all_cases_share_is_found() -> None:
    """Each plays alone as it should; side by side they disturb each other."""

    def walk(self: Any, person: Any) -> Any:
        self.game = 0.0
        for _ in range(3):
            score = float(self.scores(person)[0])
            self.game += score
        return self.game

    problem = one_problem(walk=walk)
    assert problem.startswith("`walk` says ")
    assert " alone and " in problem and "with others, for walk(" in problem


def test_a_drawing_function_that_ignores_its_generator_is_found() -> None:
    own = np.random.default_rng(0)
    problem = one_problem(jitter=random(lambda self, person, rng: own.random()))
    assert "`jitter` says" in problem and "the first time and" in problem


def test_a_batch_that_shares_one_generator_is_found() -> None:
    @batched
    @random
    def noisy(self: Any, people: Any, generators: Any) -> Any:
        return generators[0].random(len(people))

    problem = one_problem(noisy=named(noisy, "noisy"))
    assert "`noisy` says" in problem and "in a batch of 50" in problem


def test_data_that_contradicts_the_schema_is_found() -> None:
    assert one_problem(schema=Schema(Integer("income", 0, 50), Flag("member"))) == (
        "the schema is not true of the data: `income` ranges over 0 to 79, outside 0 to 50"
    )


def test_too_few_labels_are_found() -> None:
    assert (
        one_problem(labels=lambda self: [1, 2]) == "Broken has 2 labels for 80 inputs"
    )


class Empty(Domain):
    def inputs(self) -> Any:
        return []


class Bare(Domain):
    pass


def test_a_domain_without_inputs_is_found() -> None:
    assert told(Empty) == ["Empty.inputs() gives no inputs"]
    assert told(Bare) == ["Bare has no method `inputs`"]


def test_a_function_that_takes_no_record_is_left_alone() -> None:
    assert problems(loud=lambda self, word: word.upper(), none=lambda self: 1) == []


def test_a_smaller_sample_is_tried_on_fewer_inputs() -> None:
    seen = []

    class Seen(Loans):
        def is_rich(self, person: Any) -> bool:
            seen.append(float(person[0]))
            return True

    check_domain(Seen, sample=3)
    assert sorted(set(seen)) == [0, 39, 79]


def test_inputs_that_change_are_found() -> None:
    rng = np.random.default_rng(0)
    found = problems(inputs=lambda self: ROWS[rng.permutation(80)])
    assert found[0] == "inputs() gives another input 0 when asked again"
    sizes = iter((80, 60, 50))
    found = problems(inputs=lambda self: ROWS[: next(sizes)], labels=None)
    assert found[0] == "inputs() gives another number of inputs when asked again"


def test_a_function_of_several_arguments_is_tried_where_calls_are_given() -> None:
    calls = {"between": [(ROWS[3], 1, 5)], "beyond": [(1,)]}
    tries = []

    class Counting(Loans):
        def between(self, person: Any, low: int, high: int) -> bool:
            tries.append((low, high))
            return super().between(person, low, high)

    assert told(Counting, calls=calls) == ["there is no function `beyond`"]
    assert set(tries) == {(1, 5)}


class Never:
    def __eq__(self, other: object) -> bool:
        raise TypeError

    __hash__ = None  # type: ignore[assignment]


class Odd(Domain):
    """Answers that cannot be compared, and others that are not numbers."""

    def inputs(self) -> Any:
        return ["a", "bb"]

    def incomparable(self, text: str) -> Any:
        return Never()

    def nothing(self, text: str) -> Any:
        return [None, float("nan"), {"a": (1, 2.5)}]

    def grows(self, text: str) -> Any:
        self.size = getattr(self, "size", 0) + 1
        return [0] * self.size

    def ragged(self, text: str) -> Any:
        self.side = getattr(self, "side", 0) + 1
        return np.zeros(self.side)


def test_answers_of_any_kind_are_compared() -> None:
    found = told(Odd)
    assert [problem.split("`")[1] for problem in found] == ["grows", "ragged"]
