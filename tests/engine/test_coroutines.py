"""CoroutineBlock: blocks of any Python, whose questions to the model are asked together."""

import gc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from nomos import Discard, Domain, ModelError, batched, random
from nomos.engine.answers import Answers
from nomos.engine.cases import RandomCases
from nomos.engine.choices import Stream
from nomos.engine.coroutines.hub import MOST_LIVE, MOST_TURNS, Coroutine, Hub
from nomos.engine.engine import Engine
from nomos.engine.evaluated import Limits
from nomos.engine.interpreter import Verdict

MUCH = 10**9
BATCHES = {1: 15, 7: 70, 256: 300}


class Walks(Domain):
    """A walker whose steps a batched function chooses, deep inside plain methods."""

    def __init__(self, trouble: str = "") -> None:
        self.batches: list[int] = []
        self.trouble = trouble
        self.cleaned = 0

    def inputs(self) -> list[int]:
        return list(range(100))

    @batched
    def step(self, places: Any) -> Any:
        self.batches.append(len(places))
        if self.trouble == "short":
            return list(places)[1:]
        if self.trouble == "interrupt":
            raise KeyboardInterrupt
        for place in places:
            if place % 1000 == 997:
                raise ValueError(f"no step from {place}")
            if place % 1000 == 998:
                raise Discard("the edge")
        return np.asarray(places) * 3 % 7 + 1

    @batched
    def scores(self, places: Any) -> Any:
        return np.stack([np.asarray(places), np.asarray(places) * 2], axis=1)

    @batched
    def notes(self, places: Any) -> Any:
        return [{"place": int(place)} for place in places]

    @batched
    @random
    def drift(self, places: Any, generators: Any) -> Any:
        drawn = [int(g.integers(0, 5)) for g in generators]
        if self.trouble == "drift" and any(
            place == 13 and d == 0 for place, d in zip(places, drawn, strict=True)
        ):
            raise ValueError("adrift")
        return [int(p) + d for p, d in zip(places, drawn, strict=True)]

    def walk(self, place: int, steps: int) -> int:
        try:
            return self._walk(place, steps)
        finally:
            self.cleaned += 1

    def _walk(self, place: int, steps: int) -> int:
        return place if steps == 0 else self._walk(place + self.step(place), steps - 1)


def spec(block: str, ensures: str = "d >= 0", variables: str = "") -> str:
    lines = "\n".join(f"  {line}" for line in block.strip().split("\n"))
    return (
        f"import walks;\ninput x;\n{variables}output d;\n{{\n{lines}\n}}\n"
        f"ensures {ensures};\n"
    )


BLOCKS = {
    "a deep call inside plain methods": "d = walk(x, 5)\nd = walk(d, 2)",
    "a loop and a draw": """
d = 0
for i in range(randInt(0, 4)):
    d += walk(x + i, i)""",
    "exceptions that the block catches": """
try:
    d = walk(x * 37, 3)
except ValueError as error:
    d = -len(str(error))""",
    "exceptions that it does not": "d = walk(x * 37, 4)\nd = d",
    "a call in a call": "d = [step(step(x)), 0][0]",
    "a function of its own": """
def further(place, times):
    return place if times == 0 else further(place + step(place), times - 1)
d = further(x, 4)""",
    "a comprehension": "d = sum(step(x + i) for i in range(3))",
    "answers that are arrays": "s = scores(x)\ns[0] = 1\nd = s[0] + s[1]",
    "answers that it changes": """
n = notes(x)
n["place"] += 1
d = notes(x)["place"] + n["place"]""",
    "draws of a batched function": "d = [drift(x) for _ in range(2)][1]",
    "an early discard": "d = 0\nif x % 3 == 0:\n    d = walk(998, 1)",
    "an empty range": "d = 0\nif x % 3 == 0:\n    d = randInt(x, x - 1)",
    "a keyword and the import's name": "d = walks.walk(x, steps=2)",
    "no call at all": "d = x\nif x > 50:\n    d = -x",
}


@pytest.mark.parametrize("block", BLOCKS.values(), ids=BLOCKS)
def test_every_block_means_what_it_means_alone(
    block: str, make: Callable[..., Any], same: Callable[..., Any]
) -> None:
    program = make(spec(block, "d % 5 != 3"), Walks())
    same(program, 300, BATCHES)


def test_a_batch_that_fails_after_drawing_is_run_alone(
    make: Callable[..., Any], same: Callable[..., Any]
) -> None:
    block = "try:\n    d = drift(x)\nexcept:\n    d = -1"
    tale = same(make(spec(block), Walks("drift")), 300, BATCHES)
    assert any(case.verdict is Verdict.VIOLATED for case in tale.cases)


def run(program: Any, count: int = 600) -> Any:
    engine = Engine(program, "coroutines")
    cases = RandomCases(Stream(0, "spec"), 0, count)
    return engine, engine.run(cases, Limits(MUCH, MUCH))


def test_lanes_ask_together(make: Callable[..., Any]) -> None:
    domain = Walks()
    run(make(spec("d = walk(x, 5)\nd = walk(x, 5)"), domain))
    assert max(domain.batches) == MOST_LIVE
    assert sum(domain.batches) > 50 * len(domain.batches)


def test_what_the_model_said_of_an_input_is_not_asked_again(
    make: Callable[..., Any],
) -> None:
    domain = Walks()
    engine, evaluated = run(make(spec("d = [step(x), step(x)][0]"), domain), 3000)
    again = engine.answers.asked_again
    assert 4 <= again <= 30
    assert sum(domain.batches) == engine.answers.rows_sent == 200 + again
    assert evaluated.calls.max() == 2 and engine.answers.nondeterministic == 0


def test_what_a_case_asks_very_often_of_an_input_is_asked(
    make: Callable[..., Any],
) -> None:
    domain = Walks()
    block = f"d = sum([step(x) for _ in range({MOST_TURNS + 2})])"
    run(make(spec(block), domain), 600)
    asked = sum(domain.batches)
    assert 2 * 600 + 99 * MOST_TURNS < asked < 2 * 600 + 120 * MOST_TURNS


def test_a_broken_contract_ends_the_run_and_no_lane_goes_on(
    make: Callable[..., Any],
) -> None:
    domain = Walks("short")
    with pytest.raises(ModelError, match="`step` gave"):
        run(make(spec("d = walk(x, 5)\nd = d"), domain))
    assert domain.cleaned == MOST_LIVE
    assert gc.isenabled()


def test_an_interrupt_reaches_whoever_runs_the_lanes(make: Callable[..., Any]) -> None:
    domain = Walks("interrupt")
    with pytest.raises(KeyboardInterrupt):
        run(make(spec("d = walk(x, 5)\nd = d"), domain))
    assert domain.cleaned == MOST_LIVE


def test_an_abandoned_lane_asks_no_more() -> None:
    domain = Walks("short")
    told = []

    def stubborn() -> None:
        for _ in range(3):
            try:
                domain.step(1)
            except BaseException as error:
                told.append(type(error).__name__)

    with pytest.raises(ModelError):
        Hub(Answers(1)).run([Coroutine(stubborn)])
    assert told == ["GreenletExit"] * 3


def test_each_lane_has_its_result_or_its_failure() -> None:
    domain = Walks()
    cases = [(n * 997, n % 3) for n in range(20)]
    coroutines = [Coroutine(domain.walk, case) for case in cases]
    Hub(Answers(1), most_live=3).run(coroutines)
    for coroutine, case in zip(coroutines, cases, strict=True):
        if coroutine.failure is None:
            assert coroutine.result == domain.walk(*case)
        else:
            with pytest.raises(type(coroutine.failure)):
                domain.walk(*case)
    assert any(coroutine.failure for coroutine in coroutines)


def test_a_lane_asks_alone_where_the_batch_failed_for_another_reason() -> None:
    class Crowded(Domain):
        @batched
        def answer(self, numbers: Any) -> Any:
            if len(numbers) > 2:
                raise MemoryError
            return numbers

    domain = Crowded()
    coroutines = [Coroutine(domain.answer, (n,)) for n in range(400)]
    Hub(Answers(1)).run(coroutines)
    assert [coroutine.result for coroutine in coroutines] == list(range(400))


def test_an_interrupt_inside_a_lane_is_not_kept(make: Callable[..., Any]) -> None:
    with pytest.raises(KeyboardInterrupt):
        run(make(spec("d = 0\nif x > 5:\n    raise KeyboardInterrupt"), Walks()))
