"""All the cases there are: listed level by level, the same as turning an odometer."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from nomos import Discard, Domain, Schema, batched, random
from nomos.accepted import Mode
from nomos.domain import Integer
from nomos.engine import space as spaces
from nomos.engine.choices import EndlessRange
from nomos.engine.engine import Engine
from nomos.engine.evaluated import Limits
from nomos.engine.interpreter import Interpreter, Verdict
from nomos.engine.space import estimate_space, list_cases
from tests.engine.odometer import Odometer

MUCH = 10**9


class Few(Domain):
    schema = Schema(Integer("a", 0, 4))

    def inputs(self) -> np.ndarray:
        return np.arange(5, dtype=np.float32)[:, None]

    @batched
    def predict(self, rows: Any) -> Any:
        return rows[:, 0] * 3 % 4

    def picky(self, n: int) -> int:
        if n == 3:
            raise Discard("three")
        if n == 5:
            raise ValueError("five")
        return n

    @random
    def draw(self, n: int, rng: Any) -> int:
        return int(rng.integers(n))


class Slow(Few):
    asked = 0

    @batched
    def slow(self, items: Any, draws: Any) -> Any:
        self.asked += len(draws)
        return draws


def spec(middle: str, block: str = "d = predict(x)", after: str = "") -> str:
    block = block.replace("\n", "\n  ")
    return (
        f"import few;\ninput x;\n{middle}\noutput d;\n{{\n  {block}\n}}\n{after}\n"
        "ensures d < 3;\n"
    )


MIDDLES = {
    "nothing drawn": "",
    "a draw": "var v := randInt(1, 3);",
    "a range that depends on the input": "var v := x.a - randInt(1, x.a);",
    "a draw that depends on a draw": "var v := randInt(0, 2);\nvar w := randInt(v, 3);",
    "a draw in some cases only": "var v := x.a > 2 && randInt(0, 2) == 1;\nvar w := randInt(0, 1);",
    "two inputs": "var v := 0;",
    "a draw behind a discard": (
        "var v := picky(x.a + randInt(0, 2));\nrequires v != 2;\nvar w := randInt(0, 1);"
    ),
    "a draw in a branch": "var v := if x.a > 2 then randInt(0, 1) else randInt(2, 4);",
    "discards and crashes": "var v := picky(x.a + randInt(0, 2));\nrequires v != 2;",
}


@pytest.mark.parametrize("middle", MIDDLES.values(), ids=MIDDLES)
@pytest.mark.parametrize("mode", ["vectorized", "coroutines", "sequential"])
def test_every_case_is_tried_once_with_its_own_verdict(
    make: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
    middle: str,
    mode: Mode,
) -> None:
    text = spec(middle)
    if middle == MIDDLES["two inputs"]:
        text = text.replace("input x;", "input x;\ninput y;")
    program = make(text, Few())
    alone, wheels, expected = Interpreter(program), Odometer(), {}
    while True:
        outcome = alone.run(wheels)
        expected[outcome.choices] = outcome.verdict
        if not wheels.turn():
            break
    for chunk in (3, 8192):
        monkeypatch.setattr(spaces, "_CHUNK", chunk)
        found = {}
        for known in list_cases(program):
            evaluated = Engine(program, mode).run(known, Limits(MUCH, MUCH))
            for choices, verdict in zip(
                known.choices(), evaluated.verdicts.tolist(), strict=True
            ):
                assert tuple(choices) not in found
                found[tuple(choices)] = Verdict(verdict)
        assert list(found.items()) == list(expected.items())


def test_a_space_is_listed_where_it_is_small_enough(make: Callable[..., Any]) -> None:
    program = make(spec("var v := randInt(1, 3);"), Few())
    assert Engine(program).space_within(15) == 15
    assert Engine(program).space_within(14) is None
    assert Engine(program).space_within(4) is None


def test_functions_behind_the_last_draw_are_not_called(
    make: Callable[..., Any],
) -> None:
    """They may be slow, or paid: cases are listed without them."""
    domain = Slow()
    program = make(spec("var v := slow(x.a, randInt(0, 9));"), domain)
    assert estimate_space(program) == 50
    assert sum(part.count for part in list_cases(program)) == 50
    assert domain.asked == 0


def test_a_space_of_very_many_draws_is_not_counted(make: Callable[..., Any]) -> None:
    draws = "\n".join(f"var v{n} := randInt(0, 9);" for n in range(40))
    assert estimate_space(make(spec(draws), Few())) is None
    assert estimate_space(make(spec("var v := randInt(1, 3);"), Few())) == 15


@pytest.mark.parametrize("inputs", [9, 40, 1000])
def test_a_space_of_any_size_is_listed_from_any_place(
    make: Callable[..., Any], inputs: int
) -> None:
    rows = np.zeros((1000, 1), dtype=np.float32)
    text = spec("").replace("input x;", f"input x;\ninput xs[{inputs - 1}];")
    engine = Engine(make(text, Few()).with_inputs(rows))
    assert engine.space_within(10**6) is estimate_space(engine.program) is None
    last = 1000**inputs - 1
    (cases,) = engine.list_cases(last - 1000, 1002)
    assert cases.choices()[0] == [999] * (inputs - 2) + [998, 999]
    assert cases.choices()[-1] == [999] * inputs
    assert cases.count == 1001


ENDLESS = {
    "a long range": (spec("var v := randInt(0, MAX_INT);"), "randInt over more than"),
    "a range beyond numpy's integers": (
        spec("var v := randInt(-9223372036854775807, 9223372036854775807);"),
        "randInt over more than",
    ),
    "a function that draws": (spec("var v := draw(3);"), "draws by itself"),
    "a draw in the block": (
        spec("", "d = randInt(0, 1)"),
        "inside the block, or after",
    ),
    "a draw in a function of the block": (
        spec("", "pick = few.randInt\nd = pick(0, 2)"),
        "inside the block, or after",
    ),
    "a drawing function in the block": (
        spec("", "d = draw(3)\nd = d"),
        "inside the block, or after",
    ),
    "a later var": (
        spec("", after="var w := randInt(0, 1) + d;"),
        "inside the block, or after",
    ),
}


@pytest.mark.parametrize(("text", "words"), ENDLESS.values(), ids=ENDLESS)
def test_what_cannot_be_listed_is_said(
    make: Callable[..., Any], text: str, words: str
) -> None:
    program = make(text, Few())
    with pytest.raises(EndlessRange, match=words):
        list(list_cases(program))
    assert Engine(program).space_within(10**6) is None


def test_a_draw_in_ensures_cannot_be_listed(make: Callable[..., Any]) -> None:
    text = spec("").replace("d < 3", "d < draw(3)")
    with pytest.raises(EndlessRange):
        list(list_cases(make(text, Few())))
