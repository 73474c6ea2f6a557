"""Batched functions: one call for many cases, and what their answers must be."""

from typing import Any

import numpy as np
import pytest

from nomos import Domain, DomainError, ModelError, batched, random
from nomos.domain import total
from nomos.domain.domain import members, offer_of
from nomos.domain.functions import answers
from nomos.lang.types import Type


class Shop(Domain):
    """One of each kind of function."""

    limit = 3

    def __init__(self) -> None:
        self.asked: list[Any] = []

    @batched
    def price(self, things: Any, count: Any) -> Any:
        """Say the price."""
        self.asked.append((things, count))
        return [len(thing) * n for thing, n in zip(things, count, strict=True)]

    @batched
    @random
    def guess(self, things: Any, generators: Any) -> Any:
        return [g.integers(10**9) for g in generators]

    @batched
    @total
    def name(self, things: Any) -> Any:
        return things

    def is_open(self, hour: int = 12) -> bool:
        return hour > 8

    @random
    def toss(self, thing: Any, rng: Any) -> str:
        return "head"

    @staticmethod
    def twice(value: float) -> float:
        return 2 * value

    @classmethod
    def kind(cls, thing: Any, *more: Any) -> Any:
        return cls.__name__

    hypot = np.hypot
    largest = max

    @property
    def expensive(self) -> Any:
        raise AssertionError("nobody asked")

    def _private(self) -> None: ...


def test_one_case_is_asked_as_a_column_of_one() -> None:
    shop = Shop()
    assert shop.price("pen", 2) == 6
    ((things, count),) = shop.asked
    assert things == ["pen"]
    assert isinstance(count, np.ndarray) and count.tolist() == [2]


def test_many_cases_are_asked_at_once() -> None:
    shop = Shop()
    assert shop.price.many(["pen", "ink!"], [1, 2]).tolist() == [3, 8]
    assert len(shop.asked) == 1


def test_the_class_itself_holds_what_is_batched() -> None:
    assert isinstance(Shop.price, batched)
    assert Shop.price.__doc__ == "Say the price."
    assert Shop.price.__name__ == "price"
    assert Shop.guess.draws and not Shop.price.draws
    assert Shop.name.total and not Shop.price.total


def test_a_batched_function_needs_something_to_answer_for() -> None:
    with pytest.raises(TypeError, match="`nothing` is batched, so it must take"):

        @batched
        def nothing(self: Any) -> Any: ...


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([1, 2], [1, 2]),
        ((1, 2), [1, 2]),
        (np.array([1, 2], dtype=np.int8), [1, 2]),
        (np.array([0.5, 1], dtype=np.float32), [0.5, 1.0]),
        (np.array([True, False]), [True, False]),
        (np.array(["a", "b"]), ["a", "b"]),
        ([np.int32(1), 2.5], [1, 2.5]),
        (np.array([2**64 - 1, 0], dtype=np.uint64), [2**64 - 1, 0]),
        (np.array([1, "b"], dtype=object), [1, "b"]),
        (memoryview(b"ab"), [97, 98]),
    ],
)
def test_answers_become_a_column_of_pythons_values(given: Any, expected: Any) -> None:
    found = answers(given, 2, "f")
    found = found.tolist() if isinstance(found, np.ndarray) else found
    assert found == expected
    assert [type(v) for v in found] == [type(v) for v in expected]


def test_answers_that_are_arrays_stay_arrays() -> None:
    scores = np.zeros((2, 3), dtype=np.float32)
    kept = answers(scores, 2, "f")
    assert kept.dtype == np.float32 and kept.shape == (2, 3)
    assert not np.shares_memory(kept, scores)
    assert answers([scores[0], scores[1]], 2, "f").shape == (2, 3)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([1], "`f` gave 1 answers for 2 cases"),
        (np.zeros(3), "`f` gave 3 answers for 2 cases"),
        (7, "`f` must give one answer for each of 2 cases, but it gave 7"),
        (None, "`f` must give one answer for each of 2 cases, but it gave None"),
    ],
)
def test_the_wrong_number_of_answers_is_an_error_of_the_model(
    given: Any, words: str
) -> None:
    with pytest.raises(ModelError, match=words):
        answers(given, 2, "f")


def test_a_domain_offers_its_public_methods() -> None:
    offer = offer_of(Shop)
    assert sorted(offer.functions) == sorted(name for name, _ in members(Shop))
    known = {
        name: (f.least, f.most, f.returns, f.draws)
        for name, f in offer.functions.items()
    }
    assert known == {
        "price": (2, 2, Type.UNKNOWN, False),
        "guess": (1, 1, Type.UNKNOWN, True),
        "name": (1, 1, Type.UNKNOWN, False),
        "is_open": (0, 1, Type.BOOL, False),
        "toss": (1, 1, Type.STRING, True),
        "twice": (1, 1, Type.REAL, False),
        "kind": (1, None, Type.UNKNOWN, False),
        "hypot": (2, 3, Type.UNKNOWN, False),
        "largest": (0, None, Type.UNKNOWN, False),
    }


class Bare(Domain):
    pass


def test_a_domain_without_inputs_says_so() -> None:
    with pytest.raises(DomainError, match="Bare has no method `inputs`"):
        Bare().inputs()
    assert not offer_of(Bare).has_labels


@pytest.mark.parametrize(
    ("annotation", "kind"),
    [
        ("list[int]", Type.INT),
        (list[float], Type.REAL),
        ("Sequence[str]", Type.STRING),
        ("list[Any]", Type.UNKNOWN),
        ("np.ndarray", Type.RECORD),
        ("list[Person]", Type.RECORD),
        (None, Type.UNKNOWN),
    ],
)
def test_the_type_of_inputs_is_what_the_class_says(annotation: Any, kind: Type) -> None:
    class Made(Domain):
        def inputs(self):
            return []

    if annotation is not None:
        Made.inputs.__annotations__["return"] = annotation
    assert offer_of(Made).input_type is kind
