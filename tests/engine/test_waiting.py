"""Functions that wait for their answers: many calls at once, with the results of one."""

from __future__ import annotations

import asyncio
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nomos
from nomos import Domain, ModelError, batched, concurrent
from nomos.domain.meter import Grant, Lease, Terms, under_lease
from nomos.domain.waiting import call_each
from nomos.engine.answers import call_batch
from nomos.errors import CallsFailed

SPEC = """
input x;
var y := strConcat(x, "!");
output a;
output b;
{
  a = answer(x)
  b = answer(y)
}
ensures a == b;
"""


class Counting(Domain):
    """Notes how many of its calls are in flight."""

    def __init__(self) -> None:
        self.now = self.most = self.calls = 0
        self.lock = threading.Lock()

    def inputs(self) -> list[str]:
        return [f"text {number}" for number in range(50)]

    def _begin(self) -> None:
        with self.lock:
            self.now, self.calls = self.now + 1, self.calls + 1
            self.most = max(self.most, self.now)

    def _end(self, text: str) -> int:
        with self.lock:
            self.now -= 1
        return len(text.strip("!")) if "7" not in text else len(text)


class Blocking(Counting):
    @concurrent
    def answer(self, text: str) -> int:
        self._begin()
        time.sleep(0.005)
        return self._end(text)


class Awaiting(Counting):
    async def answer(self, text: str) -> int:
        self._begin()
        await asyncio.sleep(0.005)
        return self._end(text)


class Alone(Counting):
    @batched
    def answer(self, texts: list[str]) -> list[int]:
        return [self._end(text) for text in texts]


KINDS = [Blocking, Awaiting]


def test_what_is_found_depends_neither_on_the_kind_nor_on_the_number_in_flight() -> (
    None
):
    found = []
    for kind in (Alone, *KINDS):
        for concurrency in (1, 8, 64) if kind is not Alone else (1,):
            result = nomos.run(SPEC, domain=kind, concurrency=concurrency, budget=300)
            counts = result.counts
            found.append((counts.violations, counts.unique_bugs, counts.model_calls,
                          [bug.id for bug in result.bugs]))  # fmt: skip
    assert found[0][0] > 0
    assert all(one == found[0] for one in found)


@pytest.mark.parametrize("kind", KINDS)
def test_no_more_calls_are_in_flight_than_allowed(kind: type[Counting]) -> None:
    domain = kind()
    function = domain.answer  # type: ignore[attr-defined]
    with under_lease(Lease(terms=Terms(concurrency=5))):
        answers = function.many([f"{number}" for number in range(40)])
    assert 1 < domain.most <= 5
    assert answers.tolist() == [len(f"{number}") for number in range(40)]


class Failing(Domain):
    @concurrent
    def answer(self, text: str) -> str:
        self.calls = getattr(self, "calls", 0) + 1
        if text in ("b", "d"):
            raise ValueError(f"no answer to {text}")
        return text.upper()


def test_a_call_that_fails_costs_its_own_case_and_no_other_is_asked_again() -> None:
    domain = Failing()
    texts = ["a", "b", "c", "d", "e"]
    answers, failed = call_batch(domain.answer, lambda part: [texts[part]], 5)
    assert failed.tolist() == [False, True, False, True, False]
    assert [answers[n] for n in (0, 2, 4)] == ["A", "C", "E"]
    assert domain.calls == 5
    with pytest.raises(ValueError, match="no answer to b"):
        domain.answer("b")


def test_calls_that_fail_inside_a_batched_function_are_left_out() -> None:
    asked: list[str] = []

    class Batch(Domain):
        @batched
        def answer(self, texts: list[str]) -> list[str]:
            asked.extend(texts)
            bad = {n: ValueError(t) for n, t in enumerate(texts) if t in "bd"}
            if bad:
                raise CallsFailed(dict(bad), len(texts), None)
            return [text.upper() for text in texts]

    texts = ["a", "b", "c", "d", "e"]
    answers, failed = call_batch(Batch().answer, lambda part: [texts[part]], 5)
    assert failed.tolist() == [False, True, False, True, False]
    assert [answers[n] for n in (0, 2, 4)] == ["A", "C", "E"]
    assert asked == [*texts, "e", "c", "a"]


def test_what_ends_all_begins_no_more_calls() -> None:
    begun: list[int] = []

    def answer(number: int) -> int:
        begun.append(number)
        time.sleep(0.01)
        raise ModelError("the model is gone")

    with under_lease(Lease(terms=Terms(concurrency=3))), pytest.raises(ModelError):
        call_each(answer, [(number,) for number in range(50)])
    assert len(begun) <= 6


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), GeneratorExit()])
def test_nothing_that_a_coroutine_raises_ends_the_loop(error: BaseException) -> None:
    async def answer(number: int) -> int:
        raise error

    with pytest.raises(type(error)):
        call_each(answer, [(1,)])
    assert call_each(len, [("ab",), ("c",)]) == [2, 1]


def test_a_call_that_takes_too_long_costs_its_own_case() -> None:
    async def answer(seconds: float) -> float:
        await asyncio.sleep(seconds)
        return seconds

    terms = Terms(concurrency=4, timeout_s=0.5)
    with under_lease(Lease(terms=terms)), pytest.raises(CallsFailed) as failure:
        call_each(answer, [(0.0,), (60.0,)])
    assert list(failure.value.errors) == [1]
    assert isinstance(failure.value.errors[1], TimeoutError)
    assert "took longer than 0.5 s (--call-timeout)" in str(failure.value.errors[1])

    async def fail() -> None:
        raise TimeoutError("its own")

    with under_lease(Lease(terms=terms)), pytest.raises(TimeoutError, match="its own"):
        call_each(fail, [()])


def test_draws_of_a_function_that_waits_are_those_of_its_cases() -> None:
    class Drawing(Domain):
        def inputs(self) -> list[str]:
            return ["a", "b", "c"]

        @nomos.random
        async def noisy(self, text: str, draw: np.random.Generator) -> int:
            await asyncio.sleep(0)
            return int(draw.integers(1000))

        @nomos.random
        def plain(self, text: str, draw: np.random.Generator) -> int:
            return int(draw.integers(1000))

    spec = "input x;\noutput a;\n{{\n  a = {name}(x)\n}}\nensures a < 700;"
    found = []
    for name in ("noisy", "plain"):
        for mode in ("vectorized", "coroutines", "sequential"):
            text = spec.format(name=name)
            result = nomos.run(text, domain=Drawing, mode=mode, budget=100)
            found.append([bug.choices for bug in result.bugs])
    assert found[0] and all(one == found[0] for one in found)


def test_a_coroutine_is_no_batched_function() -> None:
    with pytest.raises(TypeError, match="answers for one case"):

        class Wrong(Domain):
            @batched
            async def answer(self, texts: list[str]) -> list[str]:
                return texts


def test_an_interruption_does_not_wait_for_calls_that_hang(tmp_path: Path) -> None:
    class Hanging(Counting):
        @concurrent
        def answer(self, text: str) -> int:
            time.sleep(30)
            return 0

    began = time.monotonic()
    result: Any = nomos.run(SPEC, domain=Hanging, time=0.3, budget=50)
    assert result.reason == "the time is up"
    assert time.monotonic() - began < 15
    with under_lease(Lease(Grant())):
        assert call_each(len, [("ab",)]) == [2]
