"""Mistakes of the first implementation that must not return: those that show in a run."""

from collections.abc import Callable
from textwrap import indent
from typing import Any

import numpy as np
import pytest

from nomos import Domain, Schema, batched
from nomos.domain import Integer, OneHot
from nomos.engine.cases import RandomCases
from nomos.engine.choices import Stream, replay_draws
from nomos.engine.engine import Engine
from nomos.engine.evaluated import Limits
from nomos.engine.interpreter import Interpreter, Outcome, Verdict
from nomos.errors import ModelError
from tests.engine.evaluated_chunks import violated

MUCH = 10**9


class People(Domain):
    schema = Schema(
        Integer("age", 0, 99),
        OneHot("town", ("Aix", "Bern", "Cork")),
        Integer("debts", 0, 99),
    )

    def inputs(self) -> np.ndarray:
        ages = np.arange(20)
        towns = np.eye(3)[ages % 3]
        return np.column_stack([ages, towns, ages * 2]).astype(np.float32)

    @batched
    def predict(self, people: Any) -> Any:
        return people[:, 0]

    @batched
    def columns(self, people: Any) -> Any:
        return people

    @batched
    def broken(self, people: Any) -> Any:
        raise RuntimeError("no such model")


def values(make: Callable[..., Any], middle: str, choices: tuple[int, ...]) -> Any:
    """Return what the names of a spec stand for in a case."""
    text = (
        f"import people;\ninput x1;\n{middle}\noutput d;\n"
        "{\n  d = predict(x1)\n}\nensures d == -1;\n"
    )
    outcome = Interpreter(make(text, People())).run(replay_draws(choices))
    assert outcome.verdict is Verdict.VIOLATED, outcome
    return outcome.values


def truth(make: Callable[..., Any], expression: str) -> bool:
    return bool(values(make, f"var v := {expression};", (0,))["v"])


@pytest.mark.parametrize("a", ["true", "false"])
@pytest.mark.parametrize("b", ["true", "false"])
@pytest.mark.parametrize("c", ["true", "false"])
def test_implication_binds_as_it_is_written(
    make: Callable[..., Any], a: str, b: str, c: str
) -> None:
    p, q, r = a == "true", b == "true", c == "true"
    assert truth(make, f"({a} ==> {b}) && {c}") == ((not p or q) and r)
    assert truth(make, f"{c} && ({a} ==> {b})") == (r and (not p or q))
    assert truth(make, f"{a} ==> {b} ==> {c}") == (not p or (not q or r))
    assert truth(make, f"{a} && {b} ==> {c}") == (not (p and q) or r)
    assert truth(make, f"{a} || {b} && {c}") == (p or (q and r))


def test_nested_calls_keep_their_arguments(make: Callable[..., Any]) -> None:
    found = values(make, "var v := randInt(getFeat(x1, 0), 20);", (7, 15))
    assert found["v"] == 15
    text = "var v := randInt(getFeat(setFeat(x1, 0, 19), 0), 20);"
    assert values(make, text, (7, 20))["v"] == 20


def test_updates_follow_each_other(make: Callable[..., Any]) -> None:
    found = values(make, 'var y := x1[age := 1][town := "Cork"][debts := 5];', (7,))
    assert found["y"].tolist() == [1, 0, 0, 1, 5]
    assert found["x1"].tolist() == [7, 0, 1, 0, 14]


def test_a_var_may_be_another_or_stand_in_brackets(make: Callable[..., Any]) -> None:
    middle = "var a := x1.age;\nvar b := a;\nvar c := (a + 1);\nvar d2 := a -1;"
    found = values(make, middle, (7,))
    assert [found[n] for n in ("a", "b", "c", "d2")] == [7, 7, 8, 6]


def test_one_hot_features_are_set_as_a_whole_and_by_their_own_name(
    make: Callable[..., Any],
) -> None:
    for town, columns in (("Aix", [1, 0, 0]), ("Bern", [0, 1, 0]), ("Cork", [0, 0, 1])):
        found = values(make, f'var y := x1[town := "{town}"];', (7,))
        assert found["y"].tolist() == [7, *columns, 14]
    assert values(make, "var y := setFeat(x1, 2, 3);", (7,))["y"].tolist()[-1] == 3


SPEC = """\
import people;
input x1;
{middle}
output d;
{{
{block}
}}
{ensures}
"""


def spec(
    block: str = "d = predict(x1)", middle: str = "", ensures: str = "ensures d < 10;"
) -> str:
    return SPEC.format(block=indent(block, "  "), middle=middle, ensures=ensures)


def outcomes(make: Callable[..., Any], text: str, count: int = 200) -> list[Outcome]:
    alone = Interpreter(make(text, People()))
    return [
        alone.run(RandomCases(Stream(0, "p"), n, 1).isolate_case(0))
        for n in range(count)
    ]


def test_several_requires_and_ensures_are_conjunctions(
    make: Callable[..., Any], same: Callable[..., Any]
) -> None:
    text = spec(
        middle="requires x1.age > 3;\nrequires x1.age < 15;",
        ensures="ensures d != 5;\nensures d != 7;",
    )
    same(make(text, People()), 200, {7: 70, 512: 200})
    for outcome in outcomes(make, text):
        age = outcome.choices[0]
        expected = Verdict.PASSED if 3 < age < 15 else Verdict.DISCARDED
        assert outcome.verdict is (Verdict.VIOLATED if age in (5, 7) else expected)


def test_without_requires_nothing_is_discarded(make: Callable[..., Any]) -> None:
    verdicts = {outcome.verdict for outcome in outcomes(make, spec())}
    assert verdicts == {Verdict.PASSED, Verdict.VIOLATED}


def test_a_dict_in_the_block_does_not_end_it(make: Callable[..., Any]) -> None:
    block = 'names = {"a": {1: 2}}  # }\nd = predict(x1) + names["a"][1]\nd = d - 2'
    ages = {
        o.choices[0]
        for o in outcomes(make, spec(block))
        if o.verdict is Verdict.VIOLATED
    }
    assert ages == set(range(10, 20))


def test_a_block_of_one_line_is_run(make: Callable[..., Any]) -> None:
    text = spec().replace("{\n  d = predict(x1)\n}", "{ d = predict(x1) }")
    assert any(o.verdict is Verdict.VIOLATED for o in outcomes(make, text))


def test_choices_are_those_of_the_case_alone(make: Callable[..., Any]) -> None:
    """A discarded case before it leaves nothing behind."""
    text = spec(middle="var v := randInt(0, 3);\nrequires v == 2;")
    program = make(text, People())
    for mode in ("vectorized", "coroutines", "sequential"):
        cases = RandomCases(Stream(0, "p"), 0, 500)
        evaluated = Engine(program, mode).run(cases, Limits(MUCH, MUCH))
        assert violated(evaluated)
        for choices in violated(evaluated).values():
            assert len(choices) == 2 and choices[1] == 2 and choices[0] >= 10


def test_a_broken_model_spends_budget_and_ends(make: Callable[..., Any]) -> None:
    program = make(spec("d = broken(x1)"), People())
    for mode in ("vectorized", "coroutines", "sequential"):
        cases = RandomCases(Stream(0, "p"), 0, 5000)
        evaluated = Engine(program, mode).run(cases, Limits(MUCH, 50))
        assert (
            len(evaluated.crashes)
            == len(evaluated.verdicts)
            == evaluated.accepted.sum()
            == 50
        )


def test_labels_of_large_records_that_look_alike_are_their_own(
    make: Callable[..., Any],
) -> None:
    """`str` shows the same for both of these."""

    class Large(Domain):
        def inputs(self) -> Any:
            images = np.zeros((2, 100, 100))
            images[1, 50, 50] = 1
            assert str(images[0]) == str(images[1])
            return images

        def labels(self) -> Any:
            return [3, 4]

        def f(self, image: Any) -> float:
            return float(image[50, 50])

    text = "import large;\ninput x;\noutput d;\n{\n  d = f(x)\n}\nensures d + 3 == label(x);\n"
    program = make(text, Large())
    alone = Interpreter(program)
    for place in (0, 1):
        assert alone.run(replay_draws((place,))).verdict is Verdict.PASSED


def test_no_error_is_swallowed(make: Callable[..., Any]) -> None:
    for outcome in outcomes(make, spec("d = broken(x1)"), 5):
        assert outcome.verdict is Verdict.CRASHED
        assert outcome.accepted
        assert "RuntimeError: no such model" in outcome.traceback


class Strict(People):
    @batched
    def predict(self, people: Any) -> Any:
        if people.ndim != 2:
            raise ModelError("rows are wanted")
        return people[:, 0]


def test_a_record_that_cannot_be_made_in_the_block_is_told_as_such(
    make: Callable[..., Any],
) -> None:
    text = (
        "import people;\ninput x1;\noutput d;\n"
        '{\n  d = predict(setFeat(x1, "town", strConcat("Bo", "nn")))\n}\nensures d > 0;\n'
    )
    evaluated = Engine(make(text, Strict())).run(
        RandomCases(Stream(0, "p"), 0, 9), Limits(MUCH, MUCH)
    )
    assert {crash.error for crash in evaluated.crashes} == {
        "ValueError: feature `town` has no level 'Bonn'; it has 'Aix', 'Bern', 'Cork'"
    }
