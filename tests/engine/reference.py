"""A reference interpreter of the language, written from docs/reference/language.md alone.

It walks the tree of a spec as it is written, one case at a time, on values of Python, and
shares no code with the engine but the parser and the draws. It knows the domain `Plain`
below: what a spec says of a row is said here again.
"""

from __future__ import annotations

import ast
import math
import textwrap
from collections.abc import Callable, Mapping
from itertools import combinations, product
from typing import Any

import numpy as np

from nomos import Domain, batched
from nomos.domain import Category, Flag, Integer, Ordinal, Real, Schema
from nomos.lang.reading import syntax

SIZES, MOODS, GRADES = (
    ("small", "middle", "large"),
    ("calm", "wild"),
    ("poor", "fair", "good"),
)
FEATURES = ("age", "share", "size", "mood", "member")


class Plain(Domain):
    """Rows with each kind of feature, a classifier, one with names, and probabilities."""

    schema = Schema(
        Integer("age", 0, 9),
        Real("share", -1, 1, missing=True),
        Ordinal("size", SIZES),
        Category("mood", MOODS),
        Flag("member"),
    )
    classes = {"grade": Ordinal(*GRADES)}  # noqa: RUF012

    def inputs(self) -> Any:
        rng = np.random.default_rng(4)
        rows = np.column_stack(
            [rng.integers(0, high, 25) for high in (10, 9, 3, 2, 2)]
        ).astype(float)
        rows[:, 1] = rows[:, 1] / 4 - 1
        rows[::7, 1] = np.nan
        return rows

    @batched
    def rate(self, rows: Any) -> Any:
        return (rows[:, 0] + rows[:, 2]).astype(int) % 3

    @batched
    def grade(self, rows: Any) -> Any:
        return np.array(GRADES)[(rows[:, 0] + rows[:, 4]).astype(int) % 3]

    @batched
    def shares(self, rows: Any) -> Any:
        parts = np.stack([rows[:, 0] + 1, rows[:, 2] + 1, rows[:, 4] + 1], axis=1)
        return parts / parts.sum(axis=1, keepdims=True)

    def top(self, row: Any) -> list[int]:
        return list(range(int(row[0]) % 4))


class Crash(Exception):
    """An error of the case."""


class Discard(Exception):
    """The case has no meaning."""


class Reference:
    """Runs one case after the other; `draw` is handed the kind of a draw and its bounds."""

    def __init__(self, spec: syntax.Spec, params: Mapping[str, Any] = {}) -> None:
        self.spec, self.domain = spec, Plain()
        self.rows = self.domain.inputs()
        self.params = dict(params)
        self.defs: dict[str, syntax.Def] = {}
        for shared in spec.shared:
            if isinstance(shared, syntax.Param):
                self.params.setdefault(shared.name.name, self.value(shared.value, {}))
            elif isinstance(shared, syntax.Def):
                self.defs[shared.name.name] = shared

    def run(self, draws: Any) -> tuple[str, tuple[int, ...]]:
        """Return what becomes of a case, and which `ensures` fail."""
        self.draws, env = draws, dict(self.params)
        try:
            for drawn in self.spec.inputs:
                self.draw_input(drawn, env)
            for var in self.spec.variables:
                env[var.name.name] = self.value(var.value, env)
            if not all(self.truth(one.condition, env) for one in self.spec.requires):
                return "discarded", ()
            self.run_block(env)
            for var in self.spec.later_variables:
                env[var.name.name] = self.value(var.value, env)
            failed = [
                n
                for n, e in enumerate(self.spec.ensures)
                if not self.truth(e.condition, env)
            ]
        except Discard:
            return "discarded", ()
        except Exception:  # whatever it is
            return "crashed", ()
        return ("violated", tuple(failed)) if failed else ("passed", ())

    def draw_input(self, drawn: Any, env: dict[str, Any]) -> None:
        def row() -> Any:
            return self.rows[self.draws.integer(0, len(self.rows) - 1)]

        size = getattr(drawn, "size", None)
        if size is None:
            env[drawn.name.name] = row()
        else:
            count = (
                size.value
                if isinstance(size, syntax.Number)
                else self.params[size.name]
            )
            env[drawn.name.name] = [row() for _ in range(count)]

    def run_block(self, env: dict[str, Any]) -> None:
        functions = {n: self.function(n) for n in ("rate", "grade", "shares", "top")}
        names = {**functions, **env}
        names |= {"getFeat": self.get_feature, "setFeat": self.set_feature}
        assert self.spec.block is not None
        exec(
            compile(
                ast.parse(textwrap.dedent(self.spec.block.code)), "<block>", "exec"
            ),
            names,
        )
        for output in self.spec.outputs:
            value = names[output.name.name]
            env[output.name.name] = (
                value.item() if isinstance(value, np.generic) else value
            )

    def function(self, name: str) -> Callable[..., Any]:
        method = getattr(self.domain, name)

        def call(row: Any) -> Any:
            value = (
                method(np.array(row))
                if name == "top"
                else method.many(row[None].copy())[0]
            )
            return value.item() if isinstance(value, np.generic) else value

        return call

    def get_feature(self, row: Any, key: str | int) -> Any:
        place = key if isinstance(key, int) else FEATURES.index(key)
        value = float(row[place])
        if place == 3:
            return MOODS[int(value)]
        return value if place == 1 or not value.is_integer() else int(value)

    def set_feature(self, row: Any, key: str | int, value: Any) -> Any:
        place = key if isinstance(key, int) else FEATURES.index(key)
        levels = {2: SIZES, 3: MOODS}.get(place, ())
        if value is None and place == 1:
            value = math.nan
        if place == 3 or isinstance(value, str):
            value = levels.index(value)
        changed = np.array(row)
        changed[place] = value
        return changed

    def truth(self, expr: Any, env: Mapping[str, Any]) -> bool:
        return bool(self.value(expr, env))

    def value(self, expr: Any, env: Mapping[str, Any]) -> Any:  # noqa: C901 - one case for each form
        value = lambda e, more={}: self.value(e, {**env, **more})  # noqa: E731
        match expr:
            case (
                syntax.Number(value=v)
                | syntax.String(value=v)
                | syntax.Constant(value=v)
            ):
                return v
            case syntax.Name(name=name):
                plain = {"MAX_INT": 2**32 - 1, "inf": math.inf, "missing": None}
                return env[name] if name in env else plain[name]
            case syntax.Feature(subject=subject, feature=feature):
                return self.get_feature(value(subject), feature.name)
            case syntax.Update(subject=subject, feature=feature, value=new):
                return self.set_feature(value(subject), feature.name, value(new))
            case syntax.Unary(operator="!", operand=operand):
                return not self.truth(operand, env)
            case syntax.Unary(operand=operand):
                return each(lambda v: -v, value(operand))
            case syntax.Binary(operator="&&", left=a, right=b):
                return self.truth(a, env) and self.truth(b, env)
            case syntax.Binary(operator="||", left=a, right=b):
                return self.truth(a, env) or self.truth(b, env)
            case syntax.Binary(operator="==>", left=a, right=b):
                return not self.truth(a, env) or self.truth(b, env)
            case syntax.Binary(operator=sign, left=a, right=b) if sign in ARITHMETIC:
                return each(ARITHMETIC[sign], value(a), value(b))
            case syntax.Binary(operator=sign, left=a, right=b):
                return compare(sign, self.level(a, b, env), self.level(b, a, env))
            case syntax.Membership(subject=a, allowed=syntax.OneOf(items=items)):
                one = [self.level(a, item, env) for item in items]
                return any(
                    compare("==", o, self.level(i, a, env))
                    for o, i in zip(one, items, strict=True)
                )
            case syntax.Membership(
                subject=a, allowed=syntax.Between(low=low, high=high)
            ):
                above = compare(">=", self.level(a, low, env), self.level(low, a, env))
                return above and compare(
                    "<=", self.level(a, high, env), self.level(high, a, env)
                )
            case syntax.Membership(subject=a, allowed=items):
                found = [compare("==", i, value(a)) for i in listed(value(items))]
                return any(found)
            case syntax.Conditional(test=test, yes=yes, no=no):
                return value(yes) if self.truth(test, env) else value(no)
            case syntax.Index(subject=items, index=index):
                place = value(index)
                if place < 0:
                    raise Crash("there is no such item")
                return plain_value(value(items)[place])
            case syntax.Comprehension(value=body, item=item, over=over):
                return [value(body, {item.name: x}) for x in listed(value(over))]
            case syntax.Quantifier():
                return self.quantify(expr, env)
            case syntax.Call():
                return self.call(expr, env)
        raise AssertionError(expr)

    def level(self, expr: Any, other: Any, env: Mapping[str, Any]) -> Any:
        """Return a value; a name beside a feature with an order is its position."""
        found = self.value(expr, env)
        is_size = isinstance(other, syntax.Feature) and other.feature.name == "size"
        return SIZES.index(found) if is_size and isinstance(found, str) else found

    def quantify(self, expr: syntax.Quantifier, env: Mapping[str, Any]) -> Any:
        over, names = listed(self.value(expr.over, env)), [n.name for n in expr.indices]
        places = range(len(over))
        chosen = (
            combinations(places, len(names))
            if expr.is_ordered
            else product(places, repeat=len(names))
        )
        found: list[Any] = []
        for indices in chosen:
            inner = {**env, **dict(zip(names, indices, strict=True))}
            if expr.condition is not None and not self.truth(expr.condition, inner):
                continue
            one = self.value(expr.body, inner)
            if expr.word == "forall" and not one:
                return False
            if expr.word == "exists" and one:
                return True
            found.append(one)
        match expr.word:
            case "forall" | "exists":
                return expr.word == "forall"
            case "count":
                return sum(1 for one in found if one)
            case "sum":
                return add_up(found)
            case "mean":
                return each(ARITHMETIC["/"], add_up(found), len(found))
            case word:
                return extreme(word, found)

    def call(self, expr: syntax.Call, env: Mapping[str, Any]) -> Any:
        name = expr.function.name
        given = [
            self.value(a, env)
            for a in expr.arguments
            if not isinstance(a, syntax.Named)
        ]
        named = {
            a.name.name: self.value(a.value, env)
            for a in expr.arguments
            if isinstance(a, syntax.Named)
        }
        if name in self.defs:
            made = self.defs[name]
            return self.value(
                made.body,
                {
                    **self.params,
                    **{p.name: g for p, g in zip(made.parameters, given, strict=True)},
                },
            )
        if name == "randInt":
            if given[0] > given[1]:
                raise Discard
            return self.draws.integer(*given)
        if name in ("getFeat", "setFeat"):
            return getattr(
                self, {"getFeat": "get_feature", "setFeat": "set_feature"}[name]
            )(*given)
        if name in ("rate", "grade", "shares", "top"):
            return self.function(name)(*given)
        return BUILT_INS[name](*given, **named)


def plain_value(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def listed(value: Any) -> list[Any]:
    if not isinstance(value, list | tuple | np.ndarray):
        raise Crash("this has no items")
    return [plain_value(item) for item in value]


def is_nan(value: Any) -> bool:
    return isinstance(value, float) and value != value


def compare(sign: str, left: Any, right: Any) -> bool:
    left, right = plain_value(left), plain_value(right)
    if (
        isinstance(left, str)
        and isinstance(right, str)
        and {left, right} <= set(GRADES)
        and sign not in ("==", "!=")
    ):
        left, right = GRADES.index(left), GRADES.index(right)
    if (
        isinstance(left, str) != isinstance(right, str)
        and not is_nan(left)
        and not is_nan(right)
    ):
        raise Crash("a string is compared with a number")
    if is_nan(left) or is_nan(right):
        return False
    if isinstance(left, np.ndarray | list) or isinstance(right, np.ndarray | list):
        same = np.shape(left) == np.shape(right) and all(
            a == b for a, b in zip(left, right, strict=True)
        )
        return same if sign == "==" else not same
    return {
        "==": lambda: left == right,
        "!=": lambda: left != right,
        "<": lambda: left < right,
        "<=": lambda: left <= right,
        ">": lambda: left > right,
        ">=": lambda: left >= right,
    }[sign]()


def each(function: Callable[..., Any], *values: Any) -> Any:
    """Calculate with numbers, or with vectors element by element."""
    vectors = [listed(v) for v in values if isinstance(v, list | tuple | np.ndarray)]
    if not vectors:
        return function(*values)
    if len({len(v) for v in vectors}) > 1 or any(
        isinstance(x, str) for v in vectors for x in v
    ):
        raise Crash("these are no vectors of one shape")
    spread = [
        listed(v) if isinstance(v, list | tuple | np.ndarray) else [v] * len(vectors[0])
        for v in values
    ]
    return [function(*parts) for parts in zip(*spread, strict=True)]


def power(a: Any, b: Any) -> Any:
    result = a**b
    if isinstance(result, complex):
        raise Crash("no real number")
    return result


ARITHMETIC: dict[str, Callable[..., Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "%": lambda a, b: a % b,
    "**": power,
}


def add_up(values: list[Any]) -> Any:
    total: Any = 0
    for value in values:
        total = each(ARITHMETIC["+"], total, value)
    return total


def extreme(word: str, values: list[Any]) -> Any:
    if not values:
        raise Crash("there is none of nothing")
    nan = [v for v in values if is_nan(v)]
    return nan[0] if nan else {"min": min, "max": max}[word](values)


def close(a: Any, b: Any, rel: float = 1e-9, abs: float = 0.0) -> bool:
    if isinstance(a, list | np.ndarray) or isinstance(b, list | np.ndarray):
        return all(
            each(lambda x, y: math.isclose(x, y, rel_tol=rel, abs_tol=abs), a, b)
        )
    return math.isclose(a, b, rel_tol=rel, abs_tol=abs)


def norm(v: Any, kind: float = 2) -> float:
    sizes = [abs(x) for x in listed(v)]
    if any(is_nan(x) for x in sizes):
        return math.nan
    if kind == 2:
        return math.hypot(*sizes)
    return math.fsum(sizes) if kind == 1 else max(sizes, default=0.0)


BUILT_INS: dict[str, Callable[..., Any]] = {
    "abs": lambda a: each(abs, a),
    "sqrt": lambda a: each(math.sqrt, a),
    "exp": lambda a: each(math.exp, a),
    "log": lambda a: each(math.log, a),
    "min": lambda *v: extreme("min", listed(v[0]) if len(v) == 1 else list(v)),
    "max": lambda *v: extreme("max", listed(v[0]) if len(v) == 1 else list(v)),
    "sum": lambda v: add_up(listed(v)),
    "mean": lambda v: add_up(listed(v)) / len(listed(v)),
    "round": lambda a, d=None: math.nan if is_nan(a) else round(a, d),
    "len": len,
    "isclose": close,
    "norm": norm,
    "missing": lambda a: a is None or is_nan(a) or a == "",
    "unseen": lambda level: level,
    "strConcat": lambda a, b: a + b,
}
