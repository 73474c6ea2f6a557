"""Buffers, integer rows and odd answers mean the same alone, in columns and in coroutines."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pytest

from nomos import Discard, Domain, Schema, batched
from nomos.accepted import Mode
from nomos.domain import Integer, Real, total
from nomos.engine.cases import RandomCases
from nomos.engine.choices import Stream
from nomos.engine.engine import Engine
from nomos.engine.evaluated import Limits
from nomos.engine.interpreter import Verdict
from tests.sizes import one_of, size

BATCHES = {1: 14, 7: 42, 150: size(84, 150)}
PAIR = """
    import world;
    input x1;
    input x2;
    allow unchanged;
    output d1;
    output d2;
    {
      d1 = predict(x1)
      d2 = predict(x2)
    }
    ensures x1 != x2 ==> d1 != d2;
    """


def in_lanes(text: str) -> str:
    """Return a spec whose block says the same, but not in a straight line."""
    return text.replace("    {\n", "    {\n      pass; [0]\n")


@dataclass
class Note:
    text: list[int]


class Buffers(Domain):
    """A model that writes into one buffer and hands out that buffer each time."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.buffer = np.zeros(9000)
        self.table = np.zeros((9000, 2))
        self.list: list[float] = []
        self.note = Note([])
        self.parts = [np.zeros(2) for _ in range(9000)]

    def inputs(self) -> Any:
        return np.arange(90.0).reshape(45, 2)

    @batched
    def predict(self, rows: Any) -> Any:
        count = len(rows)
        self.buffer[:count] = rows[:, 0] * 3
        self.table[:count] = rows
        for part, row in zip(self.parts, rows, strict=False):
            part[:] = row
        self.list[:] = rows[:, 0].tolist()
        given: dict[str, Any] = {
            "array": self.buffer[:count],
            "rows": self.table[:count],
            "memoryview": memoryview(self.buffer[:count]),  # type: ignore[arg-type]  # a buffer
            "list": self.list,
            "list of arrays": self.parts[:count],
            "tuples of arrays": tuple((part, 1) for part in self.parts[:count]),
            "read-only": _read_only(self.table[:count]),
        }
        return given[self.kind]


def _read_only(array: Any) -> Any:
    view = array.view()
    view.flags.writeable = False
    return view


class PlainBuffers(Buffers):
    """The same, for one record at a time."""

    def predict(self, row: Any) -> Any:
        self.table[0] = row
        self.list[:] = row.tolist()
        self.note.text = self.list
        given: dict[str, Any] = {
            "rows": self.table[0],
            "list": self.list,
            "dict": {"list": self.list},
            "memoryview": memoryview(self.table[0]),
            "dataclass": self.note,
        }
        return given[self.kind]


KINDS = {
    Buffers: [
        "array",
        "rows",
        "memoryview",
        "list",
        "list of arrays",
        "tuples of arrays",
        "read-only",
    ],
    PlainBuffers: ["rows", "list", "dict", "memoryview", "dataclass"],
}


@pytest.mark.parametrize("write", [str, in_lanes], ids=["vectorized", "coroutines"])
@pytest.mark.parametrize(
    ("domain", "kind"), [(d, kind) for d, kinds in KINDS.items() for kind in kinds]
)
def test_a_model_may_hand_out_one_buffer_each_time(
    make: Callable[..., Any],
    same: Callable[..., Any],
    domain: Any,
    kind: str,
    write: Callable[[str], str],
) -> None:
    text = PAIR.replace("d1 != d2;", "weigh(d1) != weigh(d2);")

    class Weighed(domain):  # type: ignore[misc]  # a class at run time
        def weigh(self, answer: Any) -> str:
            return repr(answer.tolist() if isinstance(answer, memoryview) else answer)

    tale = same(make(write(text), Weighed(kind)), 150, BATCHES, alone=0)
    assert {case.verdict for case in tale.cases} == {Verdict.PASSED}


class Greedy(Domain):
    """A batched function that changes what it is given."""

    def inputs(self) -> Any:
        return [{"a": [n]} for n in range(9)]

    @batched
    def predict(self, records: Any) -> Any:
        for record in records:
            record["a"][0] += 100
        return [record["a"][0] for record in records]


@pytest.mark.parametrize("write", [str, in_lanes], ids=["vectorized", "coroutines"])
def test_what_a_batched_function_changes_is_its_own(
    make: Callable[..., Any], same: Callable[..., Any], write: Callable[[str], str]
) -> None:
    text = PAIR.replace("predict(x2)", "predict(x1)")
    text = text.replace("x1 != x2 ==> d1 != d2", "d1 == d2 && d1 < 200")
    tale = same(make(write(text), Greedy()), 150, BATCHES, alone=0)
    assert {case.verdict for case in tale.cases} == {Verdict.PASSED}


class Narrow(Domain):
    """Rows of integers of one width."""

    schema = Schema(Integer("a", 0, 255), Real("b", 0, 255))

    def __init__(self, dtype: Any) -> None:
        self.dtype = dtype

    def inputs(self) -> Any:
        top = 1 if self.dtype is np.bool_ else 101
        return (np.arange(80).reshape(40, 2) % top).astype(self.dtype)

    @batched
    def predict(self, rows: Any) -> Any:
        return rows[:, 0]

    @batched
    def column(self, rows: Any) -> Any:
        return rows[:, :1] * np.float32(1)

    @batched
    def pair(self, rows: Any) -> Any:
        return rows

    def small(self, row: Any) -> Any:
        return row[0]

    def one(self, row: Any) -> Any:
        return row[:1] * 1.0

    def zero(self, row: Any) -> Any:
        return np.array(row[0])


SET = """
    import world;
    input x1;
    var v := randInt(0, 200);
    var x2 := {change};
    output d1;
    output d2;
    {{
      d1 = predict(x1)
      d2 = predict(x2)
    }}
    ensures d2 - d1 >= v;
    """
CHANGES = {
    "x1[a := x1.a + 50]": {OverflowError},
    "x1[a := x1.a + v]": {OverflowError},
    "x1[a := -v]": {OverflowError},
    "x1[b := v / 2]": {OverflowError},
    "x1[a := column(x1) * 1]": set(),
    "x1[a := predict(x1)]": set(),
    "x1[a := pair(x1)]": {TypeError},
    "x1[b := pair(x1)]": {TypeError},
    "x1[a := one(x1)]": {TypeError},
    "x1[a := zero(x1)]": set(),
    "x1[a := v > 100]": set(),
}


@pytest.mark.parametrize(
    ("change", "dtype", "write"),
    one_of(
        3,
        product(
            CHANGES,
            (np.uint8, np.int8, np.int16, np.bool_, np.float32),
            (str, in_lanes),
        ),
    ),
)
def test_a_value_that_does_not_fit_a_row_crashes_its_case(
    make: Callable[..., Any],
    same: Callable[..., Any],
    change: str,
    dtype: Any,
    write: Callable[[str], str],
) -> None:
    text = write(SET.format(change=change))
    tale = same(make(text, Narrow(dtype)), 100, {7: 70, 100: 100})
    crashes = {case.why.split(":")[0] for case in tale.cases if case.why}
    allowed = {error.__name__ for error in CHANGES[change]}
    allowed |= {"OverflowError"} if dtype is np.bool_ else set()
    assert crashes <= allowed
    if CHANGES[change] == {TypeError}:
        assert {case.verdict for case in tale.cases} == {Verdict.CRASHED}
        assert "takes a number, not array([" in tale.cases[0].why
    if change == "x1[a := x1.a + v]" and dtype in (np.uint8, np.int8):
        assert crashes and any(c.verdict is Verdict.PASSED for c in tale.cases)


class Images(Narrow):
    """Records without a schema."""

    schema = None  # type: ignore[assignment]  # a domain may have none


@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
@pytest.mark.parametrize(
    ("value", "error"),
    [("300", "OverflowError"), ("pair(x1)", "TypeError"), ("0.5", "OverflowError")],
)
def test_rows_without_a_schema_refuse_it_too(
    make: Callable[..., Any],
    same: Callable[..., Any],
    dtype: Any,
    value: str,
    error: str,
) -> None:
    text = SET.format(change=f"setFeat(x1, 0, {value})")
    tale = same(make(text, Images(dtype)), 70, {7: 70})
    found = {case.why.split(":")[0] for case in tale.cases}
    fits = dtype is np.float32 and error == "OverflowError"
    assert found == ({""} if fits else {error})


@pytest.mark.parametrize("function", ["predict", "small", "zero", "column"])
@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.float16, np.longdouble])
@pytest.mark.parametrize("write", [str, in_lanes], ids=["vectorized", "coroutines"])
def test_outputs_are_numbers_that_do_not_wrap(
    make: Callable[..., Any],
    same: Callable[..., Any],
    write: Callable[[str], str],
    dtype: Any,
    function: str,
) -> None:
    text = PAIR.replace("predict", function).replace(
        "x1 != x2 ==> d1 != d2", "(d1 - d2) + (d2 - d1) == 0 && is_plain(d1)"
    )

    class Checked(Narrow):
        def is_plain(self, value: Any) -> bool:
            return type(value) in (int, float)

    tale = same(make(write(text), Checked(dtype)), 150, {7: 70, 150: 150}, alone=0)
    assert {case.verdict for case in tale.cases} == {Verdict.PASSED}


def test_what_the_block_made_of_numpy_is_plain_after_it(
    make: Callable[..., Any], same: Callable[..., Any]
) -> None:
    text = PAIR.replace("predict(x1)", "x1[0]").replace("predict(x2)", "x2[0]")
    text = text.replace("x1 != x2 ==> d1 != d2", "(d1 - d2) + (d2 - d1) == 0")
    tale = same(make(text, Narrow(np.uint8)), 150, {7: 70, 150: 150}, alone=0)
    assert {case.verdict for case in tale.cases} == {Verdict.PASSED}


class OneFeature(Domain):
    """Records that are arrays of one number, and a function that changes them."""

    schema = Schema(Integer("a", 0, 9))

    def inputs(self) -> Any:
        return np.arange(10.0).reshape(10, 1)

    @batched
    def more(self, rows: Any) -> Any:
        return rows + 1

    @batched
    def predict(self, rows: Any) -> Any:
        return rows[:, 0]


def test_a_record_of_one_number_stays_a_record(
    make: Callable[..., Any], same: Callable[..., Any]
) -> None:
    text = PAIR.replace("predict(x2)", "predict(more(x2))")
    tale = same(make(text, OneFeature()), 150, BATCHES, alone=0)
    assert {case.verdict for case in tale.cases} == {Verdict.PASSED, Verdict.VIOLATED}


class Coin(Domain):
    """A model that answers as it likes."""

    def __init__(self, noise: float = 1.0) -> None:
        self.rng = np.random.default_rng(0)
        self.noise = noise

    def inputs(self) -> Any:
        return np.arange(60.0).reshape(30, 2)

    @batched
    def predict(self, rows: Any) -> Any:
        return rows[:, 0] + self.noise * self.rng.integers(0, 2, len(rows))

    def twice(self, row: Any) -> bool:
        first = self.predict(row)
        return bool(first == self.predict(row))


TWICE = """
    import world;
    input x;
    output a;
    output b;
    {
      a = predict(x)
      b = predict(x)
    }
    ensures a == b;
    """
DEEP = """
    import world;
    input x;
    output a;
    {
      a = twice(x)
    }
    ensures a == true;
    """


@pytest.mark.parametrize("text", [TWICE, DEEP], ids=["block", "deep inside"])
@pytest.mark.parametrize("mode", ["vectorized", "coroutines", "sequential"])
@pytest.mark.parametrize("batch", [50, 1000])
def test_two_calls_of_a_case_never_share_an_answer(
    make: Callable[..., Any], text: str, mode: Mode, batch: int
) -> None:
    engine = Engine(make(text, Coin()), mode)
    violated = 0
    for first in range(0, 1000, batch):
        cases = RandomCases(Stream(0, "spec"), first, batch)
        evaluated = engine.run(cases, Limits(10**9, 10**9))
        violated += int((evaluated.verdicts == Verdict.VIOLATED).sum())
    assert 150 < violated < 850  # remembered answers make the share coarse
    if mode != "sequential" and text is TWICE:
        assert engine.answers.asked_again > 4
        assert engine.answers.nondeterministic > 1


@pytest.mark.parametrize("mode", ["vectorized", "coroutines"])
def test_one_item_drawn_twice_is_asked_twice(
    make: Callable[..., Any], mode: Mode
) -> None:
    text = PAIR.replace("x1 != x2 ==> d1 != d2", "x1 == x2 ==> d1 == d2")
    engine = Engine(make(text, Coin()), mode)
    cases = RandomCases(Stream(0, "spec"), 0, 3000)
    evaluated = engine.run(cases, Limits(10**9, 10**9))
    assert (evaluated.verdicts == Verdict.VIOLATED).any()


@pytest.mark.parametrize("mode", ["vectorized", "coroutines"])
@pytest.mark.parametrize("count", [100, 5000])
def test_answers_that_differ_in_their_last_bits_have_not_moved(
    make: Callable[..., Any], mode: Mode, count: int
) -> None:
    engine = Engine(make(TWICE, Coin(noise=1e-9)), mode)
    cases = RandomCases(Stream(0, "spec"), 0, count)
    engine.run(cases, Limits(10**9, 10**9))
    assert engine.answers.asked_again > 4
    assert engine.answers.nondeterministic == 0


class Helped(Domain):
    """A model, helpers that are not batched, and some that ask the model."""

    def inputs(self) -> Any:
        return np.arange(60.0).reshape(30, 2)

    @batched
    def predict(self, rows: Any) -> Any:
        return rows[:, 0] % 7

    @batched
    def picky(self, rows: Any) -> Any:
        if (rows[:, 0] % 8 == 6).any():
            raise ValueError("six")
        if (rows[:, 0] % 8 == 4).any():
            raise Discard("four")
        return rows[:, 0]

    @batched
    @total
    def surely(self, rows: Any) -> Any:
        return rows[:, 1]

    @batched
    def both(self, rows: Any) -> Any:
        """One call, whatever it asks inside."""
        return [self.predict(row) + self.surely(row) for row in rows]

    def older(self, row: Any) -> Any:
        return row + 1

    def deep(self, row: Any) -> int:
        return sum(self.predict(row) for _ in range(int(row[0]) % 4))

    def hidden(self, row: Any) -> int:
        return _ask(self, row)

    def at_once(self, row: Any) -> int:
        return max(self.predict.many([row, row, row]))

    def every(self, rows: Any) -> int:
        return max(self.predict(row) for row in rows)

    def sometimes(self, row: Any) -> int:
        return self.picky(row) if row[0] % 3 == 1 else -1


def _ask(domain: Any, row: Any) -> int:
    answer: int = vars(type(domain))["pre" + "dict"].__get__(domain, type(domain))(row)
    return answer


CALLS = {
    "d = predict(older(x))": (1, 1),
    "d = predict(x) + predict(older(x))": (2, 2),
    "d = deep(x) + predict(x)": (2, 2),
    "d = hidden(x)": (0, 1),  # nobody could see that in its code
    "d = at_once(x)": (1, 1),
    "d = sometimes(x) + predict(x)": (2, 2),
    "d = predict(x) + picky(x) + predict(x)": (3, 3),
    "d = picky(older(x)) * deep(x)": (2, 2),
    "d = surely(x)\n      d = 3": (1, 1),
    "d = surely(older(x)) + predict(x)": (2, 2),
    "d = both(x)": (1, 1),
    "d = older(x)\n      d = 1": (0, 0),
    "d = every([x, older(x)])": (1, 1),  # of a list, which is one question
    "d = max([predict(y) for y in [x, older(x)]])": (2, 2),
}


@pytest.mark.parametrize("block", CALLS)
def test_model_calls_do_not_depend_on_the_way(
    make: Callable[..., Any], same: Callable[..., Any], block: str
) -> None:
    text = f"""
        import world;
        input x;
        var v := predict(x);
        requires predict(x) < 6;
        output d;
        {{
          {block.replace("      ", "          ")}
        }}
        ensures d < 40 || predict(x) == surely(x) || v > 3;
        """
    program = make(text, Helped())
    tale = same(program, 150, BATCHES)
    static, most = CALLS[block]
    assert program.spec.k == static
    assert max(case.calls for case in tale.cases) == most


class Unmarked(Domain):
    """No function is batched, so each that the block calls stands for the model."""

    def inputs(self) -> Any:
        return list(range(30))

    def play(self, number: int) -> int:
        return self.rule(number)

    def rule(self, number: int) -> int:
        if number % 8 == 6:
            raise Discard("six")
        return number % 5

    def getFeat(self, number: int, key: int) -> int:  # noqa: N802 - built in
        return number


@pytest.mark.parametrize("write", [str, in_lanes], ids=["vectorized", "coroutines"])
def test_where_nothing_is_batched_the_calls_of_the_block_count(
    make: Callable[..., Any], same: Callable[..., Any], write: Callable[[str], str]
) -> None:
    text = """
    import world;
    input x;
    requires play(x) < 4;
    output d;
    {
      d = play(x) + rule(x) + play(getFeat(x, 0) + 1)
    }
    ensures d < 7 && rule(x) < 3;
    """
    program = make(write(text), Unmarked())
    tale = same(program, 150, BATCHES)
    assert program.spec.k == 3
    assert {case.calls for case in tale.cases} == {0, 3}
