"""Answers are compared with what they can be: no string with a number, no other name."""

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import pytest

from nomos import Domain, batched
from nomos.engine.choices import replay_draws
from nomos.engine.interpreter import Interpreter, Outcome, Verdict
from nomos.errors import NomosError

SPEC = """
    input x1;
    output d1;
    output d2;
    {{
      d1 = decide(x1)
      d2 = decide(x1 + 1)
    }}
    ensures {};
"""


class Model:
    """What `load_model` gives, as far as it matters here."""

    classes = np.array(["approved", "refused"])


class Decided(Domain):
    """Numbers, and a model that answers with names."""

    def inputs(self) -> Any:
        return list(range(20))

    @batched
    def decide(self, numbers: Any) -> Any:
        return np.where(np.asarray(numbers) % 3 == 0, "refused", "approved")


class Wide(Decided):
    """A model that answers with numbers for each class."""

    @batched
    def decide(self, numbers: Any) -> Any:
        return np.ones((len(numbers), 2)) / 2


class Named(Decided):
    """The same, with the model that stands behind it."""

    verifies: ClassVar[Any] = {"decide": "model"}

    def __init__(self) -> None:
        self.model = Model()


def alone(program: Any) -> list[Outcome]:
    return [Interpreter(program).run(replay_draws((place,))) for place in range(5)]


@pytest.mark.parametrize(
    "ensures", ["d1 == 1 ==> d2 == 1", "d1 != 1", "1 == d1 || true", "d1 in {0, 1}"]
)
def test_a_string_that_is_compared_with_a_number_is_a_crash_in_every_way(
    make: Callable[..., Any], same: Callable[..., Any], ensures: str
) -> None:
    program = make(SPEC.format(ensures), Decided())
    outcomes = alone(program)
    assert {outcome.verdict for outcome in outcomes} == {Verdict.CRASHED}
    assert "no string is compared with a number" in outcomes[0].why
    same(program, 40, batches={7: 30, 30: 30})


@pytest.mark.parametrize("ensures", ['d1 == "approved" ==> d2 == "x"', 'd1 != "x"'])
def test_a_string_that_is_compared_with_several_numbers_is_a_crash_in_every_way(
    make: Callable[..., Any], same: Callable[..., Any], ensures: str
) -> None:
    program = make(SPEC.format(ensures), Wide())
    assert "no string is compared with numbers: " in alone(program)[0].why
    same(program, 40, batches={7: 30, 30: 30})


def test_a_missing_value_equals_no_string_and_is_no_crash(
    make: Callable[..., Any],
) -> None:
    program = make(SPEC.format('d1 != "x"'), Decided())
    program.functions["decide"] = lambda number: float("nan")
    assert {outcome.verdict for outcome in alone(program)} == {Verdict.VIOLATED}


@pytest.mark.parametrize(
    "ensures",
    [
        'd1 == "aproved" ==> d2 == "approved"',
        'd1 != "aproved"',
        '"aproved" == d1',
        "d1 == 1 ==> d2 == 1",
    ],
)
def test_a_name_that_the_model_never_answers_is_refused(
    make: Callable[..., Any], ensures: str
) -> None:
    make(SPEC.format(ensures), Decided())  # nobody says what it answers
    with pytest.raises(NomosError, match=r"never answers .* 'approved', 'refused'"):
        make(SPEC.format(ensures), Named())
    make(SPEC.format('d1 == "approved" ==> d2 != "refused"'), Named())


@pytest.mark.parametrize("ensures", ["d1 <= d2", "d2 > d1", 'd1 < "refused"'])
def test_an_order_of_names_is_refused(make: Callable[..., Any], ensures: str) -> None:
    make(SPEC.format(ensures), Decided())  # nobody says what it answers
    with pytest.raises(NomosError, match=r"by the alphabet: .* 'approved', 'refused'"):
        make(SPEC.format(ensures), Named())
