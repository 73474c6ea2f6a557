"""The forms of the language beyond arithmetic and comparison, case by case."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from nomos import Domain, batched
from nomos.engine.cases import ListedCases, RandomCases
from nomos.engine.choices import EndlessRange, Stream, replay_draws
from nomos.engine.engine import Engine
from nomos.engine.evaluated import Limits
from nomos.engine.interpreter import Interpreter, Verdict
from nomos.engine.space import list_cases
from nomos.lang.checking.params import bind_params

BATCHES = {7: 35, 128: 140}


class Numbers(Domain):
    """The numbers from 0 to 9, and functions that say how often they are asked."""

    def __init__(self) -> None:
        self.asked = 0

    def inputs(self):
        return list(range(10))

    def labels(self):
        return [n % 3 for n in range(10)]

    @batched
    def predict(self, numbers):
        self.asked += len(numbers)
        return np.asarray(numbers) * 2

    @batched
    def plus(self, numbers, others):
        return np.asarray(numbers) + np.asarray(others)


def outcome(program, number: int = 0):
    return Interpreter(program).run(
        RandomCases(Stream(0, "spec"), number, 1).isolate_case(0)
    )


def spec(ensures: str, *, opening: str = "", block: str = "d1 = predict(x1)") -> str:
    return f"""
        {opening}
        input x1;
        input xs[4];
        output d1;
        {{
          {block}
        }}
        ensures {ensures};
    """


def test_a_forall_that_fails_says_where_first(make) -> None:
    program = make(spec("forall i < j in xs: i + j < 4 || d1 == -1"), Numbers)
    told = outcome(program)
    assert told.verdict is Verdict.VIOLATED
    assert (told.values["i"], told.values["j"]) == (1, 3)
    assert told.why == "forall i < j in xs: i + j < 4 || d1 == -1"


def test_foralls_inside_each_other_all_say_where(make) -> None:
    text = spec("forall i in xs: forall j in xs: i * j < 6 || d1 == -1")
    told = outcome(make(text, Numbers))
    assert (told.values["i"], told.values["j"]) == (2, 3)


def test_another_ensures_that_fails_has_no_indices(make) -> None:
    text = spec("forall i in xs: d1 != -1;\nensures d1 == -1")
    assert set(outcome(make(text, Numbers)).values) == {
        *(f"xs[{n}]" for n in range(4)),
        "x1",
        "d1",
    }


def test_the_items_of_a_list_are_inputs_of_their_own(make) -> None:
    program = make(spec("d1 == -1"), Numbers)
    assert program.spec.inputs == ("x1", "xs[0]", "xs[1]", "xs[2]", "xs[3]")
    told = outcome(program)
    drawn = tuple(told.values[name] for name in program.spec.inputs)
    assert drawn == told.choices


@pytest.mark.parametrize("index", ["4", "randInt(-1, 0) * 5 - 1"])
def test_an_index_that_a_list_does_not_have_is_a_crash(make, same, index) -> None:
    block = "d1 = [predict(x) for x in xs]"
    text = spec(f"d1[{index}] >= 0", block=block)
    tale = same(make(text, Numbers), 140, BATCHES)
    # Where all items are equal, nothing changes, and no `ensures` is evaluated.
    found = {case.verdict for case in tale.cases} - {Verdict.UNCHANGED}
    assert found == {Verdict.CRASHED}


def test_lists_straight_from_a_comprehension_stay_in_columns(make, same) -> None:
    block = "d1 = [predict(x) + x1 for x in xs]"
    text = spec("forall i < j in xs: xs[i] <= xs[j] ==> d1[i] <= d1[j]", block=block)
    program = make(text, Numbers)
    assert program.spec.code.straight is not None
    assert program.spec.k == 4
    assert Engine(program).mode == "vectorized"
    found = {case.verdict for case in same(program, 140, BATCHES).cases}
    assert found == {Verdict.PASSED, Verdict.UNCHANGED}  # of four equal items


def test_what_a_list_was_asked_before_is_remembered(make) -> None:
    domain = Numbers()
    program = make(spec("d1[0] >= 0", block="d1 = [predict(x) for x in xs]"), domain)
    engine = Engine(program)
    cases = RandomCases(Stream(0, "spec"), 0, 500)
    engine.run(cases, Limits(10**9, 10**9))
    assert domain.asked == 80  # ten numbers, for each of the eight calls of a case


def test_a_definition_used_with_other_values_is_asked_again(make, same) -> None:
    text = spec(
        "near(x1, 1) && near(x1, 2) ==> d1 == -1",
        opening="def near(a, n) := plus(a, n) == a + n;",
    )
    tale = same(make(text, Numbers), 140, BATCHES)
    assert {case.verdict for case in tale.cases} == {Verdict.VIOLATED}


def test_what_a_definition_is_given_is_drawn_once(make, same) -> None:
    text = spec(
        "same(randInt(0, 1000000)) && d1 >= 0 && randInt(0, 9) in {0..9}".replace(
            "{0..9}", "0..9"
        ),
        opening="def same(a) := a == a;",
    )
    tale = same(make(text, Numbers), 140, BATCHES)
    assert {case.verdict for case in tale.cases} == {Verdict.PASSED}


REAL = spec("v < 0.9", block="d1 = 1").replace(
    "output", "var v := randReal(0, 1);\noutput", 1
)


def test_a_real_draw_is_recorded_by_its_bits_and_replayed_exactly(make) -> None:
    program = make(REAL.replace("v < 0.9", "v < 0.9 - d1"), Numbers)
    told = outcome(program)
    (value,) = struct.unpack("<d", struct.pack("<q", told.choices[-1]))
    assert value == told.values["v"]
    again = Interpreter(program).run(replay_draws(told.choices))
    assert again == told
    other = bytes(struct.pack("<d", 1.5))
    changed = (*told.choices[:-1], struct.unpack("<q", other)[0])
    crashed = Interpreter(program).run(replay_draws(changed))
    assert crashed.verdict is Verdict.CRASHED
    assert "the recorded 1.5 is not from 0.0 to 1.0 any more" in crashed.why


def test_recorded_real_draws_are_replayed_in_columns(make) -> None:
    program = make(REAL, Numbers)
    engine = Engine(program)
    evaluated = engine.run(RandomCases(Stream(0, "spec"), 0, 500), Limits(10**9, 10**9))
    known = evaluated.violations.choices
    assert 20 < len(known) < 80
    again = engine.run(ListedCases(known), Limits(10**9, 10**9))
    assert (again.verdicts == Verdict.VIOLATED).all()


@pytest.mark.parametrize(("longest_s", "cases"), [(1e-9, 64), (99.0, 500)])
def test_cases_end_behind_the_first_ones_where_all_take_too_long(
    make, longest_s: float, cases: int
) -> None:
    every = RandomCases(Stream(0, "spec"), 0, 500)
    evaluated = Engine(make(REAL, Numbers)).run(every, Limits(900, 9, longest_s))
    assert len(evaluated) == cases and not evaluated.is_spent


def test_real_draws_fill_their_range_and_cannot_be_listed(make) -> None:
    program = make(REAL, Numbers)
    draws = [
        RandomCases(Stream(0, "spec"), number, 1).isolate_case(0).real(-2, 3)
        for number in range(2000)
    ]
    assert -2 <= min(draws) < -1.9
    assert 2.9 < max(draws) <= 3
    assert abs(np.mean(draws) - 0.5) < 0.1
    with pytest.raises(EndlessRange, match="randReal"):
        list(list_cases(program))
    assert Engine(program).space_within(10**9) is None


def test_a_list_of_inputs_has_all_its_cases_listed(make) -> None:
    text = "param n := 2;\ninput xs[n];\noutput d;\n{ d = 1 }\nensures d == 1;\n"
    program = make(text, Numbers)
    assert sum(cases.count for cases in list_cases(program)) == 100
    bound = bind_params(program.spec, {"n": 1})
    assert bound.inputs == ("xs[0]",)


def test_long_chains_run_and_compile(make, same) -> None:
    text = spec(
        " + ".join(["d1"] * 450)
        + " >= 0 && "
        + " && ".join(f"d1 >= -{n}" for n in range(1500))
    )
    tale = same(make(text, Numbers), 60, {60: 60})
    assert {case.verdict for case in tale.cases} == {Verdict.PASSED}


def test_names_of_ensures_are_kept(make) -> None:
    program = make(spec("calm: d1 >= 0;\nensures d1 < 100"), Numbers)
    assert [condition.name for condition in program.spec.ensures] == ["calm", ""]


class Odd(Domain):
    """Answers that are hard to calculate with."""

    answers = {  # noqa: RUF012
        "wide": np.arange(6).reshape(2, 3),
        "ragged": [[1, 2], [3]],
        "large": [2**70, 1],
        "bytes": np.array([200, 3], dtype=np.uint8),
    }

    def inputs(self):
        return [0]

    @batched
    def predict(self, numbers):
        return [self.answers for _ in numbers]


@pytest.mark.parametrize(
    ("ensures", "said"),
    [
        ("d1.bytes <= 3", "write for which items: `forall i in p: p[i] <= 3`"),
        ("sum(d1.wide) <= 3", "write for which items"),
        ("norm(d1.ragged) <= 3", "ValueError: items of several lengths are no vector"),
        ("norm(d1.large) <= 3", "OverflowError: a vector holds numbers that are too"),
        ("max(d1.bytes ** 20) <= 3", "OverflowError: a vector holds numbers that are"),
        (
            "2 ** (d1.bytes[0] * 50) > 1",
            "OverflowError: 2 ** 10000 has too many digits",
        ),
    ],
)
def test_what_no_vector_can_do_says_what_to_write(make, ensures, said) -> None:
    outcome = Interpreter(make(spec(ensures), Odd())).run(
        RandomCases(Stream(0, "spec"), 0, 1).isolate_case(0)
    )
    assert outcome.verdict is Verdict.CRASHED
    assert said in outcome.traceback


def test_integers_have_ten_thousand_bits_at_most(make) -> None:
    program = make(spec("2 ** (d1.bytes[0] * 50 - 1) > 1"), Odd())
    assert outcome(program).verdict is Verdict.PASSED


def test_numbers_of_tensors_never_wrap_around(make) -> None:
    torch = pytest.importorskip("torch")

    class Small(Odd):
        @batched
        def predict(self, numbers):
            return [[torch.tensor(3, dtype=torch.uint8)] for _ in numbers]

        def scores(self, number):
            return torch.ones(2, requires_grad=True) * 3

    text = spec(
        "d1[0] - 4 < 0 && d1[0] * 100 == 300 && norm(d2, 1) == 6",
        block="d1 = predict(x1); d2 = scores(x1)",
    ).replace("output d1;", "output d1; output d2;")
    assert outcome(make(text, Small())).verdict is Verdict.PASSED
