"""Chunks of cases: limits in the order of cases, the same for every batch."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from nomos import Discard, Domain, ModelError, Schema, batched
from nomos.accepted import Mode
from nomos.domain import Integer, total
from nomos.engine import part_size
from nomos.engine.cases import ListedCases, RandomCases
from nomos.engine.choices import Stream, replay_draws
from nomos.engine.engine import Engine
from nomos.engine.evaluated import Limits
from nomos.engine.interpreter import Verdict
from nomos.engine.program import Program
from nomos.engine.watch import WHOLE_CHUNK, watch
from nomos.errors import NomosError
from tests.engine.evaluated_chunks import discards, violated

MUCH = 10**9
ROWS = 1000


class Scores(Domain):
    """Rows 0 to 999, and models with every kind of trouble."""

    schema = Schema(Integer("n", 0, ROWS), Integer("rest", 0, 9))

    def __init__(self) -> None:
        self.sent: list[int] = []

    def inputs(self) -> np.ndarray:
        numbers = np.arange(ROWS)
        return np.stack([numbers, numbers % 10], axis=1).astype(np.float32)

    @batched
    def predict(self, rows: Any) -> Any:
        self.sent.append(len(rows))
        return (rows[:, 0] > 10).astype(int)

    @batched
    @total
    def surely(self, rows: Any) -> Any:
        self.sent.append(len(rows))
        return rows[:, 1]

    @batched
    def breaks(self, rows: Any) -> Any:
        if (rows[:, 0] == 500).any():
            raise RuntimeError("500 is too much")
        return rows[:, 0]

    @batched
    def nan(self, rows: Any) -> Any:
        return np.where(rows[:, 1] < 5, np.nan, rows[:, 1])

    @batched
    def short(self, rows: Any) -> Any:
        return rows[1:, 0]

    @batched
    def first(self, rows: Any) -> Any:
        return rows[:1, 0]

    @batched
    def forgetful(self, rows: Any) -> Any:
        self.sent.append(len(rows))
        return (rows[:, 0] < 500) | (len(self.sent) == 1)

    @batched
    def calls(self, rows: Any) -> Any:
        self.sent.append(len(rows))
        return np.full(len(rows), -len(self.sent))

    @batched
    def always(self, rows: Any) -> Any:
        raise RuntimeError("no model")

    def refuse(self, n: int) -> int:
        if n % 4 == 0:
            raise Discard("a fourth")
        if n % 11 == 0:
            raise ValueError("an eleventh")
        return n


def spec(block: str, ensures: str, middle: str = "") -> str:
    return (
        f"import scores;\ninput x;\n{middle}\noutput d;\noutput e;\n"
        f"{{\n  d = {block}\n  e = predict(x)\n}}\nensures {ensures} && e >= 0;\n"
    )


def alone(function: str) -> str:
    """Return a spec that calls one function only."""
    return f"import s;\ninput x;\noutput d;\n{{ d = {function}(x) }}\nensures d < 1;\n"


def judge(
    program: Any, mode: Mode | None, count: int, tests: int = MUCH, crashes: int = MUCH
) -> Any:
    cases = RandomCases(Stream(0, "spec"), 0, count)
    return Engine(program, mode).run(cases, Limits(tests, crashes))


MODES: list[Mode] = ["vectorized", "coroutines", "sequential"]


@pytest.mark.parametrize("mode", MODES)
def test_a_model_that_raises_on_one_row_in_a_thousand_crashes_just_there(
    make: Callable[..., Any], mode: Mode
) -> None:
    program = make(spec("breaks(x)", "d >= 0"), Scores())
    evaluated = judge(program, mode, 3000)
    assert 0 < len(evaluated.crashes) < 15
    for crash in evaluated.crashes:
        assert crash.error == "RuntimeError: 500 is too much"
        assert crash.choices == (500,)
        assert "spec.nom" in crash.traceback
    passed = int((evaluated.verdicts == Verdict.PASSED).sum())
    assert passed == 3000 - len(evaluated.crashes)
    assert int(evaluated.accepted.sum()) == 3000


@pytest.mark.parametrize("mode", MODES)
def test_a_comparison_with_nan_does_not_hold(
    make: Callable[..., Any], mode: Mode
) -> None:
    for ensures in ("d == d", "d != 3", "d < 99", "d >= -1"):
        evaluated = judge(make(spec("nan(x)", ensures), Scores()), mode, 300)
        violated = (evaluated.verdicts == Verdict.VIOLATED).mean()
        assert 0.3 < violated < 0.7, ensures


@pytest.mark.parametrize("mode", MODES)
def test_the_wrong_number_of_answers_is_an_error_of_the_model(
    make: Callable[..., Any], mode: Mode
) -> None:
    with pytest.raises(ModelError, match=r"`short` gave \d+ answers for \d+ cases"):
        judge(make(spec("short(x)", "d >= 0"), Scores()), mode, 100)


@pytest.mark.parametrize("mode", ["vectorized", "coroutines"])
def test_an_error_that_a_smaller_batch_would_not_show_is_not_hidden_by_one(
    make: Callable[..., Any], mode: Mode
) -> None:
    with pytest.raises(ModelError, match="`first` gave 1 answers for"):
        judge(make(alone("first"), Scores()), mode, 100)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("limit", [1, 7, 40, 0])  # 0: as many as there are
def test_a_run_ends_with_the_last_crash_that_is_allowed(
    make: Callable[..., Any], mode: Mode, limit: int
) -> None:
    """Crashes before the block and in it are counted in the order of their cases."""
    middle = "var v := refuse(x.n);"
    program = make(spec("1 / (v % 13 - 7)", "d != 3", middle), Scores())
    whole = judge(program, mode, 2000)
    crashed = [crash.row for crash in whole.crashes]
    assert len(crashed) > 40
    limit = limit or len(crashed)
    evaluated = judge(program, mode, 2000, crashes=limit)
    assert len(evaluated.verdicts) == crashed[limit - 1] + 1
    assert len(evaluated.crashes) == limit
    assert (
        evaluated.verdicts.tolist()
        == whole.verdicts[: len(evaluated.verdicts)].tolist()
    )


@pytest.mark.parametrize("mode", MODES)
def test_a_broken_model_ends_soon(make: Callable[..., Any], mode: Mode) -> None:
    evaluated = judge(
        make(spec("always(x)", "d >= 0"), Scores()), mode, 8192, crashes=100
    )
    assert len(evaluated.crashes) == 100
    assert len(evaluated.verdicts) == 100


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("tests", [1, 10, 333])
def test_a_run_ends_with_the_last_test_of_the_budget(
    make: Callable[..., Any], mode: Mode, tests: int
) -> None:
    middle = "var v := refuse(x.n);\nrequires v % 3 == 0;"
    program = make(spec("refuse(v + 1) + predict(x)", "d != 3", middle), Scores())
    whole = judge(program, mode, 3000)
    assert (whole.accepted & (whole.verdicts == Verdict.DISCARDED)).sum() == 0
    engine, end, done = Engine(program, mode), 0, 0
    while done < tests:
        cases = RandomCases(Stream(0, "spec"), end, 3000 - end)
        evaluated = engine.run(cases, Limits(tests - done, MUCH))
        part = slice(end, end + len(evaluated.verdicts))
        assert evaluated.verdicts.tolist() == whole.verdicts[part].tolist()
        assert evaluated.accepted.tolist() == whole.accepted[part].tolist()
        discarded = int((evaluated.verdicts == Verdict.DISCARDED).sum())
        assert int((evaluated.why >= 0).sum()) == discarded
        end, done = part.stop, done + int(evaluated.accepted.sum())
    assert done == tests
    assert whole.accepted[:end].sum() == tests and whole.accepted[end - 1]


def test_the_mode_is_chosen_by_the_block(make: Callable[..., Any]) -> None:
    straight = make(spec("predict(x)", "d >= 0"), Scores())
    assert Engine(straight).mode == "vectorized"
    assert Engine(straight, "coroutines").mode == "coroutines"
    looping = make(spec("sum([predict(x)])", "d >= 0"), Scores())
    assert Engine(looping).mode == "coroutines"
    with pytest.raises(NomosError, match=r"`mode` vectorized takes .* straight-line"):
        Engine(looping, "vectorized")


def test_remembered_answers_halve_what_is_sent(make: Callable[..., Any]) -> None:
    middle = "var y := x[n := x.n + randInt(1, 5)];"
    domain = Scores()
    program = make(spec("predict(y)", "d >= e", middle), domain)
    engine = Engine(program)
    for first in range(0, 20_000, 4096):
        cases = RandomCases(Stream(0, "spec"), first, 4096)
        engine.run(cases, Limits(MUCH, MUCH))
    tests = 5 * 4096
    answers = engine.answers
    again = answers.asked_again
    assert ROWS // 100 <= again <= ROWS // 50
    assert sum(domain.sent) == answers.rows_sent == tests + ROWS + again
    assert answers.nondeterministic == 0
    engine.forget()
    assert engine.answers.rows_sent == engine.answers.asked_again == 0


def test_a_total_function_is_asked_only_where_its_answer_is_needed(
    make: Callable[..., Any], same: Callable[..., Any]
) -> None:
    text = """
        import scores;
        input x;
        var y := x[rest := randInt(0, 9)];
        output d;
        output e;
        {
          d = predict(x)
          e = surely(y)
        }
        ensures d == 0 ==> e < 5;
        """
    domain = Scores()
    same(make(text, domain), 600, {7: 70, 512: 600})
    domain.sent.clear()
    judge(make(text, domain), "vectorized", 5000)
    asked = sum(domain.sent)
    assert (
        asked < ROWS + 200
    )  # of `predict` each row once, of `surely` the first eleven


def test_large_records_are_run_in_parts(
    make: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    program = make(spec("breaks(x)", "d != 77", "var v := refuse(x.n);"), Scores())
    whole = judge(program, None, 700)
    stopped = judge(program, None, 700, tests=300, crashes=25)
    monkeypatch.setattr(part_size, "_MOST_BYTES", 8 * 100)
    assert Engine(program)._size.count == 100
    for mode in MODES:
        parts = judge(program, mode, 700)
        assert parts.verdicts.tolist() == whole.verdicts.tolist()
        assert parts.accepted.tolist() == whole.accepted.tolist()
        assert violated(parts) == violated(whole)
        assert discards(parts) == discards(whole)
        assert parts.crashes == whole.crashes
        some = judge(program, mode, 700, tests=300, crashes=25)
        assert some.verdicts.tolist() == stopped.verdicts.tolist()
    discarding = make(
        spec("refuse(x.n)", "d != 77").replace("x.n", "getFeat(x, 0)"), Scores()
    )
    stopped = judge(discarding, "vectorized", 700, tests=150)
    assert int(stopped.accepted.sum()) == 150
    complete = judge(discarding, "sequential", 700).verdicts.tolist()
    assert stopped.verdicts.tolist() == complete[: len(stopped.verdicts)]


def test_a_part_that_does_not_fit_is_halved_until_one_case_is_left(
    make: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    known = "nomos.engine.engine.is_out_of_memory"
    monkeypatch.setattr(known, lambda error: isinstance(error, MemoryError))
    engine = Engine(make(alone("predict"), Scores()))
    cases = RandomCases(Stream(0, "spec"), 0, 100)
    sizes: list[int] = []

    def judge_few(part: Any, most: int = 10, error: type[Exception] = MemoryError):
        sizes.append(part.count)
        if part.count > most:
            raise error
        return engine._run_part(part, Limits(MUCH, MUCH))

    evaluated = engine._run_next(cases, 0, 100, judge_few)
    assert sizes[0] == 100
    assert 5 <= sizes[-1] == len(evaluated) <= 10
    with pytest.raises(MemoryError):
        engine._run_next(cases, 0, 100, lambda part: judge_few(part, 0))
    assert sizes[-1] == 1
    monkeypatch.setattr(engine._size, "count", 100)
    with pytest.raises(ValueError):  # noqa: PT011 - it has no words
        engine._run_next(cases, 0, 100, lambda part: judge_few(part, 0, ValueError))
    assert sizes[-1] == 100


@pytest.mark.parametrize("mode", MODES)
def test_cases_run_one_by_one_are_told_by_their_rows_in_all_parts(
    make: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, mode: Mode
) -> None:
    program = make(spec("predict(x)", "d != 77"), Scores())
    monkeypatch.setattr(part_size, "_MOST_BYTES", 8 * 100)
    marks: list[int] = []
    monkeypatch.setattr(watch, "mark", marks.append)
    cases = RandomCases(Stream(0, "spec"), 0, 250)
    one_by_one = mode != "sequential"
    Engine(program, mode).run(cases, Limits(MUCH, MUCH), one_by_one=one_by_one)
    assert marks == list(range(250))


def test_violations_that_are_run_again_are_no_rows_of_the_cases(
    make: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    program = make(spec("predict(x)", "d == 1"), Scores())
    marks: list[int] = []
    monkeypatch.setattr(watch, "mark", marks.append)
    cases = RandomCases(Stream(0, "spec"), 0, 500)
    Engine(program, "sequential").run(cases, Limits(MUCH, MUCH))
    assert marks[:500] == list(range(500))
    assert set(marks[500:]) == {WHOLE_CHUNK}


def test_listed_cases_are_run_as_they_are(make: Callable[..., Any]) -> None:
    middle = "var v := x.n + randInt(0, 3);"
    program = make(spec("predict(x)", "v != 12", middle), Scores())
    known = np.array([[10, 2], [11, 0], [12, 0], [12, 1]])
    cases = ListedCases(known)
    assert cases.count == 4 and cases.part(1, 2).count == 2
    for mode in MODES:
        evaluated = Engine(program, mode).run(cases, Limits(MUCH, MUCH))
        assert violated(evaluated) == {0: (10, 2), 2: (12, 0)}


def test_a_violation_comes_back_alone(make: Callable[..., Any]) -> None:
    program = make(spec("predict(x)", "d == 1"), Scores())
    engine = Engine(program)
    evaluated = engine.run(RandomCases(Stream(0, "spec"), 0, 2000), Limits(MUCH, 1))
    assert violated(evaluated)
    for choices in violated(evaluated).values():
        outcome = engine.interpreter.run(replay_draws(choices))
        assert outcome.verdict is Verdict.VIOLATED
        assert outcome.values["x"][0] == choices[0]


@pytest.mark.parametrize("mode", MODES)
def test_violations_that_do_not_come_back_are_marked(
    make: Callable[..., Any], mode: Mode
) -> None:
    violations = judge(make(alone("forgetful"), Scores()), mode, 50).violations
    low = violations.choices[:, 0] < 500
    assert low.any() and not low.all()
    assert violations.reproduced.tolist() == low.tolist()


def test_violations_on_a_device_come_back_in_batches_of_few_sizes(
    make: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    program = make(alone("forgetful"), Scores())
    here = judge(program, "vectorized", 50).violations
    engine, sizes = Engine(program, "vectorized"), []

    def counted(cases: Any, *given: Any, **options: Any) -> Any:
        sizes.append(cases.count)
        return Engine.run(engine, cases, *given, **options)

    monkeypatch.setattr(Program, "device", "cuda")  # nothing is placed there
    monkeypatch.setattr(engine, "run", counted)
    again = engine._repeat(here)
    assert again.tolist() == here.reproduced.tolist()
    assert len(here) % 64 and [size % 64 for size in sizes] == [0]


def test_each_run_counts_the_answers_that_moved_in_it(make: Callable[..., Any]) -> None:
    engine = Engine(make(alone("calls"), Scores()))
    runs = [
        engine.run(RandomCases(Stream(0, "spec"), first, 700), Limits(MUCH, MUCH))
        for first in range(0, 4200, 700)
    ]
    assert sum(evaluated.nondeterministic > 0 for evaluated in runs) > 1
    assert (
        sum(evaluated.nondeterministic for evaluated in runs)
        == engine.answers.nondeterministic
    )
    assert (
        sum(evaluated.asked_again for evaluated in runs) == engine.answers.asked_again
    )
