"""Straight-line specs over every kind of record and function, case by case as alone."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

from nomos import Discard, Domain, Schema, batched, random
from nomos.domain import Flag, Integer
from nomos.engine.interpreter import Verdict

BATCHES = {1: 20, 7: 70, 256: 300}


class Review(NamedTuple):
    good: str
    bad: str


@dataclass(frozen=True)
class Person:
    age: int
    tags: tuple[str, ...]


class Things(Domain):
    """Records of one kind and functions that work on any."""

    def __init__(self, given: Any) -> None:
        self.given = given

    def inputs(self) -> Any:
        return self.given

    @batched
    def weigh(self, things: Any) -> Any:
        return [len(str(thing)) for thing in things]

    @batched
    def spread(self, things: Any) -> Any:
        return [np.full(len(str(t)) % 3 + 1, 1.5) for t in things]

    @batched
    def first(self, things: Any) -> Any:
        return [t[0] if isinstance(t, tuple) else t for t in things]

    def weight(self, thing: Any) -> int:
        return self.weigh(thing) + 1

    def echo(self, thing: Any) -> Any:
        return thing


RECORDS: dict[str, tuple[Any, str]] = {
    "dicts": ([{"a": i, "b": str(i)} for i in range(9)], 'setFeat(x, "a", x.a + 1)'),
    "tuples": ([(i, "t") for i in range(9)], "setFeat(x, 0, getFeat(x, 0) * 2)"),
    "named tuples": (
        [Review("g" * i, "b") for i in range(9)],
        'setFeat(x, "bad", strConcat(x.good, "!"))',
    ),
    "dataclasses": ([Person(i, ("a",)) for i in range(9)], "x[age := x.age - 1]"),
    "rows without a schema": (
        np.arange(20, dtype=np.float32).reshape(10, 2),
        "setFeat(x, 1, getFeat(x, 0) + getFeat(x, 1) / 3)",
    ),
    "images": (np.zeros((5, 4, 4), dtype=np.uint8), "setFeat(x, 0, 3)"),
    "arrays of several sizes": (
        [np.arange(i, dtype=float) for i in range(1, 6)],
        "setFeat(x, 0, 7)",
    ),
    "records of several kinds": ([(1,), [2], {"0": 1, "q": 3}], "setFeat(x, 0, 5)"),
    "texts": (["some", "words", "of", "text"], "echo(x)"),
    "numbers": ([1, 2, 3, 2**70], "x * 2"),
    "things without features": ([1, None, "a"], "setFeat(x, 0, 5)"),
}


@pytest.mark.parametrize(("given", "change"), RECORDS.values(), ids=RECORDS)
def test_records_of_any_kind_are_changed_and_weighed(
    make: Callable[..., Any], same: Callable[..., Any], given: Any, change: str
) -> None:
    text = f"""
        import things;
        input x;
        var y := {change};
        output d;
        output e;
        output f;
        {{
          d = weigh(x)
          e = weight(y)
          f = spread(y)
        }}
        var s := spread(x);
        ensures d <= e && (x == y ==> d + 1 == e) && (f == s || e > 2);
        """
    same(make(text, Things(given)), 300, BATCHES)


class Changed(Things):
    """A domain with its own word on features."""

    def getFeat(self, record: Any, key: Any) -> Any:  # noqa: N802 - built in
        if key == "odd" and record % 2 == 0:
            raise KeyError("not odd")
        return record % 10

    @batched
    def setFeat(self, records: Any, keys: Any, values: Any) -> Any:  # noqa: N802
        if any(value == 7 for value in values):
            raise Discard("seven is taken")
        return [r * 10 + v for r, v in zip(records, values, strict=True)]


class Drawn(Things):
    @random
    def getFeat(self, record: Any, key: Any, rng: Any) -> Any:  # noqa: N802 - built in
        return int(rng.integers(0, 10))


@pytest.mark.parametrize("kind", [Changed, Drawn])
def test_a_domain_may_have_its_own_features(
    make: Callable[..., Any], same: Callable[..., Any], kind: Any
) -> None:
    text = """
        import things;
        input x;
        var v := getFeat(x, "odd") + randInt(0, 5);
        var y := setFeat(x, "any", v);
        output d;
        {
          d = weigh(getFeat(y, 0))
        }
        ensures d == weigh(getFeat(x, 0)) || d + v < 9;
        """
    given = [(i,) for i in range(20)] if kind is Drawn else list(range(20))
    same(make(text, kind(given)), 300, BATCHES)


class Labelled(Things):
    def labels(self) -> Any:
        return [i % 3 for i in range(len(self.given))]


def test_labels_follow_their_input_through_names(
    make: Callable[..., Any], same: Callable[..., Any]
) -> None:
    text = """
        import things;
        input x;
        input y;
        var z := y;
        var v := label(z) + label(x);
        output d;
        {
          d = label(y) * 10
        }
        ensures d <= v || label(x) == 1;
        """
    tale = same(make(text, Labelled([(i % 2,) for i in range(9)])), 300, BATCHES)
    assert {c.verdict for c in tale.cases} == {Verdict.PASSED, Verdict.VIOLATED}


def test_a_var_may_ask_the_model_deep_inside(
    make: Callable[..., Any], same: Callable[..., Any]
) -> None:
    class Counting(Things):
        def __init__(self) -> None:
            super().__init__([(i,) for i in range(50)])
            self.batches: list[int] = []

        @batched
        def weigh(self, things: Any) -> Any:
            self.batches.append(len(things))
            if any(thing == (13,) for thing in things):
                raise ValueError("unlucky")
            return [thing[0] for thing in things]

    text = """
        import things;
        input x;
        var v := weight(x) + weight((x));
        requires v > 10;
        output d;
        {
          d = weight(x)
        }
        ensures d + d <= v + randInt(0, 1) - 1;
        """
    domain = Counting()
    same(make(text, domain), 300, BATCHES)
    assert max(domain.batches) > 200


class Exact(Domain):
    schema = Schema(Integer("n", 0, 9), Flag("f"))

    def inputs(self) -> Any:
        return np.array([[1, 0], [2**24, 1], [2.0**40, 0], [3, 1]], dtype=np.float32)

    @batched
    def same(self, rows: Any) -> Any:
        return rows[:, 0]

    @batched
    def truth(self, rows: Any) -> Any:
        return rows

    def lies(self, n: Any) -> bool:
        return n * 0.5  # type: ignore[no-any-return]  # says bool, gives a number

    def array(self, n: Any) -> int:
        return np.arange(3)  # type: ignore[return-value]  # says int, gives an array


@pytest.mark.parametrize(
    "ensures",
    [
        "d == v",
        "x[n := v * v].n == v * v",
        "x[n := d + 0.25] == x",
        "lies(v) && lies(v + 1)",
        "(lies(v) && lies(0)) == true",
        "array(v) == 3",
        "array(v) != 3",
        "array(v) == array(d)",
        "truth(x) || d == 0",
        "!truth(x)",
        "x.f == d || randInt(0, x.f) == 0",
        "randInt(v, d) >= 0",
        "randInt(d / 2, 5) >= 0",
        "randInt(0, x.n * 4194304 * 4194304) >= d",
        "-(x.n * 4194304 * 2097152) < 0",
        "getFeat(x, d) == 1",
    ],
)
def test_odd_expressions_have_one_meaning(
    make: Callable[..., Any], same: Callable[..., Any], ensures: str
) -> None:
    text = f"""
        import exact;
        input x;
        var v := x.n;
        output d;
        {{
          d = same(x)
        }}
        ensures {ensures} || d < 0;
        """
    same(make(text, Exact()), 300, BATCHES)
