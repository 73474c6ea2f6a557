"""One case by itself: verdicts, values, reasons, and tracebacks in the spec's lines."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from nomos import Discard, Domain, ModelError, batched
from nomos.engine.cases import RandomCases
from nomos.engine.choices import Stream, replay_draws
from nomos.engine.interpreter import Interpreter, Outcome, Verdict


class Numbers(Domain):
    def inputs(self) -> list[int]:
        return list(range(10))

    @batched
    def predict(self, numbers: Any) -> Any:
        return np.asarray(numbers) % 3

    @batched
    def short(self, numbers: Any) -> Any:
        return []

    def fail(self, number: int) -> int:
        raise ArithmeticError("worn out")

    def refuse(self, number: int) -> int:
        raise Discard("not this one")


def run(make: Callable[..., Any], text: str, *choices: int) -> Outcome:
    return Interpreter(make(text, Numbers)).run(replay_draws(choices))


SPEC = """\
import numbers;
input x;
var v := x + randInt(0, 5);
requires v < 9;
output d;
{
  d = predict(v)
}
ensures d == 0;
"""


def test_a_case_that_holds_has_passed(make: Callable[..., Any]) -> None:
    outcome = run(make, SPEC, 3, 0)
    assert outcome.verdict is Verdict.PASSED
    assert outcome.accepted and outcome.choices == (3, 0) and outcome.calls == 1


def test_a_violated_case_names_the_first_ensures_that_failed(
    make: Callable[..., Any],
) -> None:
    outcome = run(make, SPEC + "ensures d == 7;\n", 4, 0)
    assert outcome.verdict is Verdict.VIOLATED
    assert outcome.why == "d == 0"
    assert outcome.values == {"x": 4, "v": 4, "d": 1}
    outcome = run(make, SPEC + "ensures d == 7;\n", 3, 0)
    assert outcome.why == "d == 7"


def test_a_discarded_case_names_its_requires(make: Callable[..., Any]) -> None:
    outcome = run(make, SPEC, 9, 0)
    assert outcome.verdict is Verdict.DISCARDED
    assert outcome.why == "v < 9"
    assert not outcome.accepted and outcome.calls == 0


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("var w := randInt(x, 3) + 1;", "randInt(x, 3)"),
        ("var w := 1 +\n  randInt(x,\n    3);", "randInt(x, 3)"),
        ("var w := refuse(x);", "not this one"),
    ],
)
def test_a_discarded_case_names_its_draw_or_what_the_domain_said(
    make: Callable[..., Any], line: str, why: str
) -> None:
    outcome = run(make, SPEC.replace("requires", f"{line}\nrequires"), 8, 0)
    assert outcome.verdict is Verdict.DISCARDED
    assert outcome.why == why


def test_a_draw_of_the_block_is_named_too(make: Callable[..., Any]) -> None:
    outcome = run(make, SPEC.replace("predict(v)", "randInt(v, 2)"), 8, 0)
    assert outcome.verdict is Verdict.DISCARDED
    assert outcome.why == "randInt(v, 2)"
    assert outcome.accepted


def test_expressions_are_as_deep_as_the_checker_lets_them_be(
    make: Callable[..., Any],
) -> None:
    deep, sums = "v", " + 1" * 49
    for _ in range(45):
        deep = f"abs({deep}{sums})"
    spec = SPEC.replace("x + randInt(0, 5)", "randInt(0, 5)")
    text = spec.replace("ensures d == 0", f"ensures {deep} == {45 * 49 + 3}")
    assert run(make, text, 3, 3).verdict is Verdict.PASSED
    assert run(make, text, 3, 0).verdict is Verdict.VIOLATED


def test_an_exception_is_a_crash_whose_lines_are_the_specs(
    make: Callable[..., Any],
) -> None:
    outcome = run(make, SPEC.replace("predict(v)", "fail(v)"), 3, 1)
    assert outcome.verdict is Verdict.CRASHED
    assert outcome.why == "ArithmeticError: worn out"
    assert outcome.choices == (3, 1)
    lines = outcome.traceback.splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert 'File "spec.nom", line 7' in lines[1]
    assert lines[-1] == "ArithmeticError: worn out"


def test_a_traceback_shows_the_users_lines_only(make: Callable[..., Any]) -> None:
    outcome = run(make, SPEC.replace("predict(v)", 'setFeat([v][0], "a", 3)'), 3, 1)
    assert outcome.verdict is Verdict.CRASHED
    assert 'File "spec.nom", line 7' in outcome.traceback
    assert outcome.traceback.count("  File ") == 1


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("x + randInt", "x / 0 + randInt", 3),
        ("v < 9", "v % 0 < 9", 4),
        ("d == 0", "d / 0 == 0", 9),
    ],
)
def test_an_exception_in_any_line_is_a_crash_there(
    make: Callable[..., Any], old: str, new: str, line: int
) -> None:
    outcome = run(make, SPEC.replace(old, new), 3, 0)
    assert outcome.verdict is Verdict.CRASHED
    assert f'File "spec.nom", line {line}' in outcome.traceback
    assert outcome.why.startswith("ZeroDivisionError")
    assert outcome.accepted == (line == 9)


def test_an_exception_without_words_is_named(make: Callable[..., Any]) -> None:
    block = "{\n  d = 0\n  assert x < 0\n}"
    outcome = run(make, SPEC.replace("{\n  d = predict(v)\n}", block), 3, 0)
    assert outcome.why == "AssertionError"


def test_a_broken_contract_is_no_verdict(make: Callable[..., Any]) -> None:
    with pytest.raises(ModelError, match="`short` gave 0 answers for 1 cases"):
        run(make, SPEC.replace("predict(v)", "short(v)"), 3, 0)


def test_the_spec_may_take_the_names_of_what_runs_it(make: Callable[..., Any]) -> None:
    text = """\
        import numbers;
        input case;
        var locals := getFeat((case, case), 0);
        var bool := case;
        output equal;
        {
          equal = predict(case)
        }
        ensures equal == null || bool == -1 || equal != bool;
        """
    text = text.replace("var locals := getFeat((case, case), 0);", "var locals := 3;")
    alone = Interpreter(make(text, Numbers))
    verdicts = {
        alone.run(RandomCases(Stream(0, "p"), n, 1).isolate_case(0)).verdict
        for n in range(60)
    }
    assert verdicts == {Verdict.PASSED, Verdict.VIOLATED}


class Colliding(Domain):
    """Functions by the names of the language's operators, and of what runs a case."""

    def inputs(self) -> Any:
        return np.arange(12.0).reshape(6, 2)

    @batched
    def predict(self, rows: Any) -> Any:
        return rows[:, 0] > 5

    def never(self, *values: Any) -> Any:
        raise AssertionError("nobody meant this function")

    equal = differ = bool = truth = locals = plain = outputs = never
    accept = discard = violate = harness = Harness = functions = run_case = never

    def case(self, row: Any) -> int:
        return int(row[0])

    def block(self, row: Any) -> int:
        return int(row[1])


COLLIDING = """
    import d;
    input x1;
    input x2;
    var bool_ := predict(x1) && !predict(x2);
    output d1;
    output d2;
    {
      d2, case_ = case(x1), case(x2)
      d1 = block(x1) - case_
    }
    ensures x1 == x2 || d1 != d2 && bool_ ==> (block(x1) != block(x2) && predict(x1));
    ensures x1 != x2 || d1 == d2;
    """


@pytest.mark.parametrize("straight", [True, False])
def test_a_domain_may_have_the_names_of_the_languages_own(
    make: Callable[..., Any], same: Callable[..., Any], straight: bool
) -> None:
    text = COLLIDING if straight else COLLIDING.replace("d1 = b", "d1 = +b")
    program = make(text, Colliding())
    assert (program.spec.code.straight is not None) is straight
    tale = same(program, 60, {7: 35, 512: 60})
    assert {case.verdict for case in tale.cases} == {Verdict.PASSED, Verdict.VIOLATED}


def test_the_values_of_a_violated_case_are_plain(make: Callable[..., Any]) -> None:
    alone = Interpreter(make(COLLIDING, Colliding()))
    outcomes = [
        alone.run(RandomCases(Stream(0, "p"), n, 1).isolate_case(0)) for n in range(60)
    ]
    values = next(o.values for o in outcomes if o.verdict is Verdict.VIOLATED)
    assert list(values) == ["x1", "x2", "bool_", "d1", "d2"]
