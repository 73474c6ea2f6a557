"""A spec and its domain at run time: the source, labels by identity, values that stay."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pytest

from nomos import Domain, DomainError, Schema, batched
from nomos.domain import Flag, Integer
from nomos.domain.domain import offer_of
from nomos.domain.values import is_value
from nomos.engine.cases import RandomCases
from nomos.engine.choices import Stream
from nomos.engine.engine import Engine
from nomos.engine.evaluated import Limits
from nomos.engine.interpreter import Verdict
from nomos.engine.meaning.operators import BUILT_INS, concatenate, differ, equal
from nomos.engine.program import isolate_item
from nomos.lang.types import SHARED_WORDS
from tests.engine.evaluated_chunks import violated

SPEC = """
import d;
input x1;
input x2;
output o;
{
  o = f(x1)
}
ensures o == label(x1) && label(x2) == label(x2);
"""


def domain(given: Any, labels: Any = None, schema: Schema | None = None) -> Domain:
    class Made(Domain):
        def inputs(self) -> Any:
            return given

        def f(self, record: Any) -> Any:
            return 0

    if labels is not None:
        Made.labels = lambda self: labels  # type: ignore[attr-defined]
    Made.schema = schema
    return Made()


PLAIN = "import d;\ninput x;\noutput o;\n{\n  o = f(x)\n}\nensures o == 0;\n"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (3, "must give a sequence"),
        (iter([1]), "must give a sequence"),
        ([], "gives no inputs"),
        (np.zeros((0, 3)), "gives no inputs"),
    ],
)
def test_inputs_must_be_a_sequence_of_something(
    make: Callable[..., Any], given: Any, words: str
) -> None:
    with pytest.raises(DomainError, match=rf"Made.inputs\(\) {words}"):
        make(PLAIN, domain(given))


def test_rows_must_have_the_width_of_the_schema(make: Callable[..., Any]) -> None:
    schema = Schema(Flag("a"), Integer("b", 0, 9))
    with pytest.raises(DomainError, match="but the schema has 2 columns"):
        make(PLAIN, domain(np.zeros((5, 3)), schema=schema))
    assert make(PLAIN, domain([np.zeros(2), np.ones(2)], schema=schema)).rows


def test_there_are_as_many_labels_as_inputs(make: Callable[..., Any]) -> None:
    with pytest.raises(DomainError, match="Made has 2 labels for 3 inputs"):
        make(PLAIN, domain([1, 2, 3], [0, 1]))


def test_numbers_to_draw_from_are_pythons_whatever_held_them(
    make: Callable[..., Any], same: Callable[..., Any]
) -> None:
    for given in (
        np.array([0.1, 0.3], dtype=np.float32),
        np.array([250, 3], dtype=np.uint8),
        np.array([2**64 - 1, 5], dtype=np.uint64),
        [np.float32(0.1), 2],
        [1, 2, 2**80],
        [True, False],
        range(5, 900, 7),
        "some text",
    ):
        text = PLAIN.replace("f(x)", "x").replace("o == 0", "o * 3 != o + o")
        same(make(text, domain(given)), 200, {7: 70, 512: 200})


def test_a_label_belongs_to_the_item_and_not_to_its_value(
    make: Callable[..., Any], same: Callable[..., Any]
) -> None:
    rows = np.zeros((6, 3), dtype=np.float32)  # all alike
    items = [np.zeros(3) for _ in range(6)]
    lists = [[0] for _ in range(6)]
    for given in (rows, items, lists):
        program = make(SPEC, domain(given, np.array([0, 0, 0, 1, 1, 1])))
        tale = same(program, 300, {7: 70, 512: 300})
        passed = sum(case.verdict is Verdict.PASSED for case in tale.cases)
        assert 100 < passed < 200


def test_one_object_with_two_labels_is_refused(make: Callable[..., Any]) -> None:
    thing = (1, 2)
    with pytest.raises(DomainError, match="one object at 0 and at 2, with different"):
        make(SPEC, domain([thing, (3, 4), thing], [0, 0, 1]))
    make(SPEC, domain([thing, (3, 4), thing], [0, 1, 0]))
    with pytest.raises(DomainError, match="one object at 0 and at 2, with different"):
        make(SPEC, domain([thing, (3, 4), thing], [NAN, 0, 1]))


def test_labels_may_be_missing(make: Callable[..., Any]) -> None:
    thing = (1, 2)
    make(SPEC, domain([thing, (3, 4), thing], [NAN, NAN, NAN]))


def test_labels_may_be_anything(
    make: Callable[..., Any], same: Callable[..., Any]
) -> None:
    text = SPEC.replace("o == label(x1)", 'label(x1) == "cat" || label(x2) != "dog"')
    labels = np.array(["cat", "dog", "cow"])
    same(make(text, domain([[1], [2], [3]], labels)), 200, {7: 70, 512: 200})


class Point(NamedTuple):
    x: Any
    y: Any


@dataclass(frozen=True)
class Frozen:
    parts: Any


@dataclass
class Loose:
    parts: Any


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        (1, True),
        ("text", True),
        (None, True),
        ((1, "a", (2.0, b"b")), True),
        (Point(1, 2), True),
        (Frozen((1, 2)), True),
        (np.float32(1), True),
        ([1], False),
        ({}, False),
        ((1, [2]), False),
        (Point(1, [2]), False),
        (Frozen([1]), False),
        (Loose(1), False),
        (np.zeros(2), False),
        (object(), False),
    ],
)
def test_what_nothing_can_change_is_a_value(item: Any, expected: bool) -> None:
    assert is_value(item) is expected
    handed = isolate_item(item)
    assert (handed is item) is expected


def test_what_is_handed_out_does_not_reach_its_origin() -> None:
    array, nested = np.zeros(2), {"a": [1]}
    with pytest.raises(ValueError, match="read-only"):
        isolate_item(array)[0] = 1
    isolate_item(nested)["a"].append(2)
    assert nested == {"a": [1]} and array[0] == 0
    assert is_value(isolate_item(array))


MUTATING = {
    "an array": ("x[0] = 99\no = 0", lambda: np.zeros((4, 3)), Verdict.CRASHED),
    "a list": ("x.append(9)\no = len(x)", lambda: [[1], [1, 2]], Verdict.PASSED),
    "a dict": ("x['a'] += 1\no = x['a']", lambda: [{"a": 2}, {"a": 3}], Verdict.PASSED),
    "a deep list": (
        "x[0].append(1)\no = len(x[0])",
        lambda: [([],)] * 3,
        Verdict.PASSED,
    ),
}


@pytest.mark.parametrize(("block", "given", "verdict"), MUTATING.values(), ids=MUTATING)
def test_what_the_block_does_to_an_input_reaches_no_other_case(
    make: Callable[..., Any],
    same: Callable[..., Any],
    block: str,
    given: Callable[[], Any],
    verdict: Verdict,
) -> None:
    lines = block.replace("\n", "\n  ")
    text = PLAIN.replace("o = f(x)", lines).replace("o == 0", "o < 5")
    source = given()
    tale = same(make(text, domain(source)), 100, {1: 20, 7: 70, 512: 100})
    assert {case.verdict for case in tale.cases} == {verdict}
    for before, after in zip(given(), source, strict=True):
        assert (
            np.array_equal(before, after)
            if isinstance(before, np.ndarray)
            else before == after
        )


NAN = float("nan")


class Mutating(Domain):
    """Functions that change what they are given."""

    def __init__(self, given: Any) -> None:
        self.given = given

    def inputs(self) -> Any:
        return self.given

    def spoil(self, record: Any) -> Any:
        record[0] = 7
        return record[0]

    @batched
    def spoil_all(self, records: Any) -> Any:
        for record in records:
            record[0] = 7
        return [record[0] for record in records]

    @batched
    def predict(self, records: Any) -> Any:
        return [record[0] for record in records]


@pytest.mark.parametrize(
    "given", [np.zeros((4, 3)), [[1, 2], [3, 4]]], ids=["rows", "lists"]
)
@pytest.mark.parametrize("function", ["spoil", "spoil_all"])
def test_a_function_that_changes_its_argument_has_one_meaning(
    make: Callable[..., Any], same: Callable[..., Any], given: Any, function: str
) -> None:
    """Rows are guarded, a batch is the function's own; what Python changes, it changes."""
    text = f"""
        import d;
        input x;
        output o;
        output p;
        {{
          o = {function}(x)
          p = predict(x)
        }}
        ensures o == p;
        """
    tale = same(make(text, Mutating(given)), 60, {7: 35, 512: 60})
    verdicts = {case.verdict for case in tale.cases}
    expected = Verdict.VIOLATED
    if function == "spoil":
        rows = isinstance(given, np.ndarray)
        expected = Verdict.CRASHED if rows else Verdict.PASSED
    assert verdicts == {expected}
    assert np.array_equal(
        given, given.copy() if isinstance(given, np.ndarray) else [[1, 2], [3, 4]]
    )


def _of_the_file(domain: Any, n: int) -> int:
    answer: int = domain.ask(n)
    return answer


class Deep(Domain):
    @batched
    def ask(self, numbers: Any) -> Any:
        return numbers

    def direct(self, n: int) -> int:
        return self.ask(n)

    def inside(self, n: int) -> int:
        return self._private(n)

    def _private(self, n: int) -> int:
        return sum(self.direct(k) for k in range(n))

    def comprehended(self, n: int) -> int:
        return max(self.ask(k) for k in range(n))

    def by_name(self, n: int) -> int:
        answer: int = getattr(self, "a" + "sk")(n)
        return answer

    def elsewhere(self, n: int) -> int:
        return _of_the_file(self, n)

    def plain(self, n: int) -> int:
        return n

    largest = max
    stored = partial(max, 1)  # what it does cannot be seen

    def inputs(self) -> list[int]:
        return [1]


def test_which_functions_ask_a_batched_one_is_seen_in_their_code(
    make: Callable[..., Any],
) -> None:
    program = make(PLAIN.replace("f(x)", "plain(x)"), Deep())
    asking = {name for name in program.functions if program.asks(name)}
    seen = {"direct", "inside", "comprehended", "by_name", "elsewhere", "stored"}
    assert asking == seen
    offered = offer_of(Deep).functions
    models = {name for name, function in offered.items() if function.k}
    assert models == seen | {n for n in offered if program.find_batched(n)}
    assert offered["ask"].k == 1 and offered["plain"].k == offered["largest"].k == 0
    assert program.find_batched("ask") and program.find_batched("plain") is None
    assert not {"_private", "none"} & program.functions.keys()


@pytest.mark.parametrize("name", ["min", "max"])
@pytest.mark.parametrize(
    "values", [(NAN, 1), (1, NAN), ([1, NAN, 2],), ({2.5: 1, np.float32(NAN): 2},)]
)
def test_extremes_of_nan_are_nan_in_any_order(name: str, values: Any) -> None:
    found = BUILT_INS[name](*values)
    assert found != found


def test_extremes_without_nan_and_by_a_key_are_pythons() -> None:
    least, most = BUILT_INS["min"], BUILT_INS["max"]
    assert (least(2, 1, 3), most([2, 3, 1]), most("ab")) == (1, 3, "b")
    assert least([], default=7) == 7
    assert most([1, NAN], key=lambda value: value == 1) == 1
    with pytest.raises(TypeError):
        most(NAN, "a")


def test_equality_is_by_value_and_nan_equals_nothing() -> None:
    nan = float("nan")
    assert equal(np.array([1, 2]), np.array([1, 2])) and equal((1, 2), (1, 2))
    assert not equal(np.array([nan]), np.array([nan])) and not equal(nan, nan)
    assert not equal(np.array([1, 2]), np.array([1, 2, 3]))
    assert differ(1, 2) and not differ(2, 2.0)
    assert not differ(nan, 1) and not differ(1, np.float32(nan))


def test_only_strings_are_joined() -> None:
    assert concatenate("a", "b") == "ab"
    with pytest.raises(TypeError, match="strConcat takes strings"):
        concatenate("a", 1)


@pytest.mark.parametrize(
    "word", sorted(SHARED_WORDS | {"rate", "count", "same", "top", "forall", "exists"})
)
@pytest.mark.parametrize("is_batched", [False, True])
def test_a_domain_has_its_own_version_of_each_later_word(
    make: Callable[..., Any], word: str, is_batched: bool
) -> None:
    def answer(self: Domain, number: Any) -> Any:
        return [7 + n for n in number] if is_batched else 7 + number

    answer.__name__ = word
    members = {
        "inputs": lambda self: [1, 2],
        word: batched(answer) if is_batched else answer,
    }
    domain = type("Words", (Domain,), members)
    text = (
        f"import words;\ninput x;\nvar v := words.{word}(x);\noutput d;\n"
        f"{{\n  d = {word}(x) + words.{word}(x)\n}}\nensures d + {word}(x) == 3 * v;\n"
        "ensures v < 9;\n"
    )
    program = make(text, domain())
    assert program.spec.k == 2
    for mode in ("sequential", "coroutines", "vectorized"):
        cases = RandomCases(Stream(1, "words"), 0, 50)
        evaluated = Engine(program, mode).run(cases, Limits(50, 9))
        assert 0 < len(violated(evaluated)) < 50
        assert evaluated.calls.max() == 2
