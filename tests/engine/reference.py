"""A reference interpreter of the language, written from docs/reference/language.md alone.

It walks the tree of a spec as it is written, one case at a time, on values of Python, and
shares no code with the engine but the parser and the draws. It knows the domain `Plain`
below: what a spec says of a row is said here again.
"""

from __future__ import annotations

import ast
import math
import re
import textwrap
from collections.abc import Callable, Mapping
from datetime import date
from fractions import Fraction
from itertools import combinations, product
from typing import Any

import numpy as np

from nomos import Domain, batched, random
from nomos.domain import Category, Date, Flag, Integer, Ordinal, Real, Schema
from nomos.domain.fields import Draws
from nomos.engine.pairs import PairIndex, RowChooser
from nomos.lang.nodes import tree_shape, walk
from nomos.lang.reading import syntax

SIZES, MOODS, GRADES = (
    ("small", "middle", "large"),
    ("calm", "wild"),
    ("poor", "fair", "good"),
)
FEATURES = ("age", "share", "size", "mood", "member", "joined")
UNSEEN = (*MOODS, "odd")
FUNCTIONS = (  # which ask about rows
    *("score", "grade", "shares", "noisy"),
    *("votes", "flags", "halves", "many"),  # answers of other types and lengths
)


class Plain(Domain):
    """Rows with each kind of feature, a classifier, one with names, and probabilities."""

    schema = Schema(
        Integer("age", 0, 9),
        Real("share", -1, 1, missing=True),
        Ordinal("size", SIZES),
        Category("mood", MOODS),
        Flag("member"),
        Date("joined", "2024-01-01", "2024-03-01"),
    )
    classes = {"grade": Ordinal(*GRADES)}  # noqa: RUF012

    def inputs(self) -> Any:
        rng = np.random.default_rng(4)
        rows = np.column_stack(
            [rng.integers(0, high, 25) for high in (10, 9, 3, 2, 2, 60)]
        ).astype(float)
        rows[:, 1] = rows[:, 1] / 4 - 1
        rows[:, 5] += 19723  # days from 1970 to 2024
        rows[::7, 1] = np.nan
        rows[15:] = rows[:10]  # so that some belong together
        rows[15:21, 0] = 9 - rows[:6, 0]
        rows[18:, 5] += 3
        rows[13:15] = rows[0]
        return rows

    @batched
    def score(self, rows: Any) -> Any:
        return (rows[:, 0] + rows[:, 2]).astype(int) % 3

    @batched
    def grade(self, rows: Any) -> Any:
        return np.array(GRADES)[(rows[:, 0] + rows[:, 4]).astype(int) % 3]

    @batched
    def shares(self, rows: Any) -> Any:
        parts = np.stack([rows[:, 0] + 1, rows[:, 2] + 1, rows[:, 4] + 1], axis=1)
        return parts / parts.sum(axis=1, keepdims=True)

    @batched
    def votes(self, rows: Any) -> Any:
        parts = [rows[:, 0] * 28, rows[:, 2] + 1, rows[:, 4]]
        return np.stack(parts, axis=1).astype(np.uint8)

    @batched
    def flags(self, rows: Any) -> Any:
        return np.stack([rows[:, 0] > 4, rows[:, 2] == 1, rows[:, 4] == 1], axis=1)

    @batched
    def halves(self, rows: Any) -> Any:
        parts = [rows[:, 0] * 7000, rows[:, 1], rows[:, 4]]
        return np.stack(parts, axis=1).astype(np.float16)

    @batched
    def many(self, rows: Any) -> Any:
        return [list(range(int(row[0]) % 4)) for row in rows]

    @batched
    def judge(self, answers: Any) -> Any:
        return np.asarray(answers) * 2

    @random
    @batched
    def noisy(self, rows: Any, draws: Any) -> Any:
        return [
            (int(row[0]) + rng.integers(2)) % 3
            for row, rng in zip(rows, draws, strict=True)
        ]

    def top(self, row: Any) -> list[int]:
        return list(range(int(row[0]) % 4))


class Day(float):
    """A date, held as the days since 1970."""


class Crash(Exception):
    """An error of the case."""


class Discard(Exception):
    """The case has no meaning."""


class Unchanged(Exception):
    """The block asked the model more than once, and always about equal inputs."""


class Reference:
    """Runs one case after the other; `draw` is handed the kind of a draw and its bounds."""

    def __init__(self, spec: syntax.Spec, domain: Plain) -> None:
        self.spec, self.domain = spec, domain
        self.rows = self.domain.inputs()
        self.params: dict[str, Any] = {}
        self.defs: dict[str, syntax.Def] = {}
        for shared in spec.shared:
            if isinstance(shared, syntax.Param):
                value = self.value(shared.value, {})
                is_date = shared.type is not None and shared.type.name == "date"
                value = day_of(value) if is_date else value
                self.params.setdefault(shared.name.name, value)
            elif isinstance(shared, syntax.Def):
                self.defs[shared.name.name] = shared

        calls = (
            node
            for one in spec.ensures
            for node in walk(one.condition)
            if isinstance(node, syntax.Call) and node.function.name == "rate"
        )
        # The rates of the campaign, each once.
        self.rates = {
            tree_shape(call.arguments[0]): call.arguments[0] for call in calls
        }
        self.of_cases = [e for e in spec.ensures if "rate" not in calls_in(e)]
        self.of_campaign = [e for e in spec.ensures if "rate" in calls_in(e)]

    def run(self, draws: Any) -> tuple[str, tuple[int, ...], list[tuple[bool, bool]]]:
        """Return what becomes of a case, which `ensures` fail, and what it says of rates.

        That is, for each rate, whether it is of the case, and whether that counts.
        """
        self.draws, env = draws, dict(self.params)
        try:
            for drawn in self.spec.inputs:
                self.draw_input(drawn, env)
            guarded = [*self.spec.variables, *self.spec.requires]
            for one in sorted(guarded, key=lambda one: one.span.start):
                if isinstance(one, syntax.Var):
                    env[one.name.name] = self.value(one.value, env)
                elif not self.truth(one.condition, env):
                    return "discarded", (), []
            self.asked: list[Any] = []
            self.repeats = [self.run_block(env) for _ in range(self.times(env))]
            if self.is_unchanged():
                return "unchanged", (), []
            if not self.spec.repeats:
                env |= self.repeats[0]
                for var in self.spec.later_variables:
                    env[var.name.name] = self.value(var.value, env)
            failed = [
                n
                for n, e in enumerate(self.of_cases)
                if not self.truth(e.condition, env)
            ]
            told = [self.tell_rate(of, env) for of in self.rates.values()]
        except Discard:
            return "discarded", (), []
        except Exception:  # whatever it is
            return "crashed", (), []
        return "violated" if failed else "passed", tuple(failed), told

    def times(self, env: Mapping[str, Any]) -> int:
        for repeats in self.spec.repeats:
            return int(
                repeats.times.value
                if isinstance(repeats.times, syntax.Number)
                else env[repeats.times.name]
            )
        return 1

    def is_unchanged(self) -> bool:
        """Tell whether nothing changed; a block that asks about one name alone means it."""
        assert self.spec.block is not None
        asked = re.findall(
            rf"(?:{'|'.join(FUNCTIONS)})\(([^()]*)\)", self.spec.block.code
        )
        means_it = len(set(asked)) < 2 and set(asked) <= {"x1", "x2"}
        if self.spec.allowed or means_it or len(self.asked) < 2:
            return False
        first = self.asked[0]
        return all(np.array_equal(first, one, equal_nan=True) for one in self.asked)

    def tell_rate(self, of: Any, env: Mapping[str, Any]) -> tuple[bool, bool]:
        event, given = (
            (of.event, of.condition) if isinstance(of, syntax.Given) else (of, None)
        )
        is_of = given is None or self.truth(given, env)
        return is_of, is_of and self.truth(event, env)

    def draw_pair(self, drawn: syntax.Pair, env: dict[str, Any]) -> None:
        """Draw two rows as the engine does; that they belong together is checked."""
        excepted = [name.name for name in drawn.excepted]
        index = PairIndex(self.rows, self.domain.schema, excepted)
        last = len(self.rows) - 1
        one = self.draws.row(RowChooser(index).choose_rows, last)
        chooser = RowChooser(index, np.atleast_1d(one))
        two = self.draws.row(chooser.choose_rows, last)
        first, second = self.rows[one], self.rows[two]
        same = [
            a == b or (a != a and b != b) for a, b in zip(first, second, strict=True)
        ]
        free = [place for place, name in enumerate(FEATURES) if name in excepted]
        assert one != two
        assert all(same[n] for n in range(len(FEATURES)) if n not in free)
        assert not free or not all(same[n] for n in free)
        env[drawn.name.name], env[drawn.second.name] = first, second

    def draw_input(self, drawn: Any, env: dict[str, Any]) -> None:
        if isinstance(drawn, syntax.Pair):
            self.draw_pair(drawn, env)
            return

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

    def run_block(self, env: dict[str, Any]) -> dict[str, Any]:
        """Return the outputs of the block."""

        def asking(function: Callable[..., Any]) -> Callable[..., Any]:
            def ask(row: Any) -> Any:
                self.asked.append(np.array(row))
                return function(row)

            return ask

        functions = {n: asking(self.function(n)) for n in FUNCTIONS}
        functions |= {n: self.function(n) for n in ("top", "judge")}
        names = {**functions, **env}
        names |= {"getFeat": self.get_feature, "setFeat": self.set_feature}
        assert self.spec.block is not None
        exec(
            compile(
                ast.parse(textwrap.dedent(self.spec.block.code)), "<block>", "exec"
            ),
            names,
        )
        return {o.name.name: plain_value(names[o.name.name]) for o in self.spec.outputs}

    def function(self, name: str) -> Callable[..., Any]:
        method = getattr(self.domain, name)

        def call(row: Any) -> Any:
            if name == "top":
                return method(np.array(row))
            if name == "noisy":
                given = [np.array(row)[None], Draws([self.draws.seed()])]
            else:
                given = [np.array(row)[None]]
            return plain_value(method.many(*given)[0])

        return call

    def get_feature(self, row: Any, key: str | int) -> Any:
        place = key if isinstance(key, int) else FEATURES.index(key)
        value = float(row[place])
        if place == 3:
            return UNSEEN[int(value)]
        if place == 5:
            return Day(value)
        return value if place == 1 or not value.is_integer() else int(value)

    def set_feature(self, row: Any, key: str | int, value: Any) -> Any:
        place = key if isinstance(key, int) else FEATURES.index(key)
        levels = {2: SIZES, 3: UNSEEN}.get(place, ())
        if place == 5 and isinstance(value, str):
            value = day_of(value)
        if value is None and place == 1:
            value = math.nan
        if place == 3 or isinstance(value, str):
            value = levels.index(value)
        changed = np.array(row)
        changed[place] = value
        if isinstance(value, int) and int(changed[place]) != value:
            raise OverflowError(f"{value} does not fit rows of {changed.dtype}")
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
                later = {v.name.name: v.value for v in self.spec.later_variables}
                if name not in env and name in later:  # of a repeat
                    return value(later[name])
                return env[name] if name in env else plain[name]
            case syntax.Feature(subject=subject, feature=feature):
                return self.get_feature(value(subject), feature.name)
            case syntax.Update(subject=subject, feature=feature, value=new):
                return self.set_feature(value(subject), feature.name, value(new))
            case syntax.Unary(operator="!", operand=operand):
                return not self.truth(operand, env)
            case syntax.Unary(operand=operand):
                return calculate(lambda v: -v, value(operand))
            case syntax.Binary(operator="&&", left=a, right=b):
                return self.truth(a, env) and self.truth(b, env)
            case syntax.Binary(operator="||", left=a, right=b):
                return self.truth(a, env) or self.truth(b, env)
            case syntax.Binary(operator="==>", left=a, right=b):
                return not self.truth(a, env) or self.truth(b, env)
            case syntax.Binary(operator=sign, left=a, right=b) if sign in ARITHMETIC:
                return calculate(ARITHMETIC[sign], value(a), value(b))
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
                item = value(a)
                found = [compare("==", one, item) for one in listed(value(items))]
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
        is_name = isinstance(found, str) and is_size(other)
        return SIZES.index(found) if is_name else found

    def quantify(self, expr: syntax.Quantifier, env: Mapping[str, Any]) -> Any:
        is_repeats = isinstance(expr.over, syntax.Name) and expr.over.name == "repeats"
        over = self.repeats if is_repeats else listed(self.value(expr.over, env))
        names = [n.name for n in expr.indices]
        places = range(len(over))
        chosen = (
            combinations(places, len(names))
            if expr.is_ordered
            else product(places, repeat=len(names))
        )
        found: list[Any] = []
        for indices in chosen:
            inner = {**env, **dict(zip(names, indices, strict=True))}
            if is_repeats:
                inner |= self.repeats[indices[0]]
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
                return calculate(ARITHMETIC["/"], add_up(found), len(found))
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
        if name == "date":
            return day_of(*given)
        if name in ("days", "unseen"):
            return given[0]
        if name == "randInt":
            if given[0] > given[1]:
                raise Discard
            bounds = [int(b) if isinstance(b, Day) else b for b in given]
            drawn = self.draws.integer(*bounds)
            return Day(drawn) if any(isinstance(b, Day) for b in given) else drawn
        if name == "randReal":
            given = [day_of(one) if isinstance(one, str) else one for one in given]
            if given[0] > given[1]:
                raise Discard
            drawn = self.draws.real(*given)
            return Day(drawn) if any(isinstance(b, Day) for b in given) else drawn
        if name in ("getFeat", "setFeat"):
            return getattr(
                self, {"getFeat": "get_feature", "setFeat": "set_feature"}[name]
            )(*given)
        if name in (*FUNCTIONS, "top", "judge"):
            return self.function(name)(*given)
        return BUILT_INS[name](*given, **named)


def is_size(expr: Any) -> bool:
    """Tell whether an expression is a feature with an order, or one of several."""
    match expr:
        case syntax.Feature(feature=feature):
            return bool(feature.name == "size")
        case syntax.Conditional(yes=inner) | syntax.Comprehension(value=inner):
            return is_size(inner)
        case syntax.Index(subject=inner):
            return is_size(inner)
    return False


def calls_in(statement: Any) -> list[str]:
    calls = (n for n in walk(statement.condition) if isinstance(n, syntax.Call))
    return [call.function.name for call in calls]


class Campaign:
    """Judges the `ensures` of a campaign, given what was told of its cases."""

    def __init__(self, reference: Reference, told: list[Any], exact: bool) -> None:
        self.names, self.exact = list(reference.rates), exact
        self.params = reference.params
        counts = range(len(self.names))
        self.cases = [sum(case[n][0] for case in told) for n in counts]
        self.hits = [sum(case[n][1] for case in told) for n in counts]
        self.shared = {
            (a, b): any(case[a][0] and case[b][0] for case in told)
            for a, b in combinations(counts, 2)
        }

    def judge(self, ensures: syntax.Ensures) -> str:
        self.used = sorted(
            {
                self.number(node)
                for node in walk(ensures.condition)
                if isinstance(node, syntax.Call) and node.function.name == "rate"
            }
        )
        if not all(self.cases[n] for n in self.used):
            return "undecided"
        truth = self.truth(ensures.condition)
        return {True: "holds", False: "violated", None: "undecided"}[truth]

    def number(self, call: syntax.Call) -> int:
        return self.names.index(tree_shape(call.arguments[0]))

    def truth(self, expr: Any) -> bool | None:
        """Return whether a condition holds for sure; None: neither that nor its negation."""
        match expr:
            case syntax.Unary(operator="!", operand=inner):
                truth = self.truth(inner)
                return None if truth is None else not truth
            case syntax.Binary(operator="==>", left=a, right=b):
                negated = syntax.Unary("!", a, span=a.span)
                return self.truth(syntax.Binary("||", negated, b, span=a.span))
            case syntax.Binary(operator="||" | "&&" as sign, left=a, right=b):
                truths, decisive = {self.truth(a), self.truth(b)}, sign == "||"
                if decisive in truths:
                    return decisive
                return None if None in truths else not decisive
            case syntax.Membership(
                subject=a, allowed=syntax.Between(low=low, high=high)
            ):
                ends = [self.compare(">=", a, low), self.compare("<=", a, high)]
                return False if False in ends else None if None in ends else True
            case syntax.Binary(operator=sign, left=a, right=b):
                return self.compare(sign, a, b)
        raise AssertionError(expr)

    def compare(self, sign: str, a: Any, b: Any) -> bool | None:
        low, high = self.interval(syntax.Binary("-", a, b, span=a.span))
        if sign == "!=":
            truth = self.compare("==", a, b)
            return None if truth is None else not truth
        if sign == "==":
            return False if low > 0 or high < 0 else True if low == high else None
        truths = {compare(sign, end, 0) for end in (low, high)}
        return truths.pop() if len(truths) == 1 else None

    def interval(self, expr: Any) -> tuple[Any, Any]:
        weights = self.weights(expr)
        if weights is None or any(
            self.shared[p] for p in combinations(sorted(weights[0]), 2)
        ):
            return self.combine(expr)
        value = weights[1]
        squares = [0.0, 0.0]
        for number, weight in weights[0].items():
            rate, low, high = self.limits(number, 0.95)
            value += weight * rate
            ends = sorted((weight * low, weight * high))
            squares[0] += float(weight * rate - ends[0]) ** 2
            squares[1] += float(ends[1] - weight * rate) ** 2
        if self.exact:
            return value, value
        return float(value) - squares[0] ** 0.5, float(value) + squares[1] ** 0.5

    def weights(self, expr: Any) -> tuple[dict[int, Any], Any] | None:
        match expr:
            case syntax.Call(function=syntax.Name(name="rate")):
                return {self.number(expr): 1}, 0
            case syntax.Number() | syntax.Name():
                return {}, self.constant(expr)
            case syntax.Binary(operator="*" | "/" as sign, left=a, right=b):
                one, two = self.weights(a), self.weights(b)
                if one is None or two is None or (two[0] and (one[0] or sign == "/")):
                    return None
                (of, plus), (_, by) = (two, one) if two[0] else (one, two)
                times = by if sign == "*" else 1 / by
                return {n: w * times for n, w in of.items()}, plus * times
            case syntax.Unary(operator="-", operand=inner):
                found = self.weights(inner)
                return found and ({n: -w for n, w in found[0].items()}, -found[1])
            case syntax.Binary(operator="+" | "-" as sign, left=a, right=b):
                one, two = self.weights(a), self.weights(b)
                if one is None or two is None:
                    return None
                by = 1 if sign == "+" else -1
                names = {*one[0], *two[0]}
                sums = {n: one[0].get(n, 0) + by * two[0].get(n, 0) for n in names}
                return sums, one[1] + by * two[1]
        return None

    def constant(self, expr: Any) -> Fraction:
        if isinstance(expr, syntax.Number):
            return Fraction(expr.text)
        return Fraction(self.params[expr.name])

    def combine(self, expr: Any) -> tuple[Any, Any]:
        match expr:
            case syntax.Call(function=syntax.Name(name="rate")):
                level = 1 - 0.05 / len(self.used)
                return self.limits(self.number(expr), level)[1:]
            case syntax.Number() | syntax.Name():
                return (self.constant(expr),) * 2
            case syntax.Call(
                function=syntax.Name(name="min" | "max" as word), arguments=parts
            ):
                ends = zip(*map(self.combine, parts), strict=True)
                low, high = (extreme(word, list(end)) for end in ends)
                return low, high
            case syntax.Conditional(test=test, yes=yes, no=no):
                truth = self.truth(test)
                if truth is not None:
                    return self.combine(yes if truth else no)
                one, two = self.combine(yes), self.combine(no)
                return min(one[0], two[0]), max(one[1], two[1])
            case syntax.Call(function=syntax.Name(name="abs"), arguments=(inner,)):
                low, high = self.combine(inner)
                return max(low, -high, 0), max(abs(low), abs(high))
            case syntax.Unary(operand=inner):
                low, high = self.combine(inner)
                return -high, -low
            case syntax.Binary(operator=sign, left=a, right=b):
                one, two = self.combine(a), self.combine(b)
                if sign == "/" and two[0] <= 0 <= two[1]:
                    return -math.inf, math.inf
                ends = product(one, two)
                found = [ARITHMETIC[sign](x, y) for x, y in ends]
                return min(found), max(found)
        raise AssertionError(expr)

    def limits(self, number: int, level: float) -> tuple[Any, Any, Any]:
        """Return a rate, and the interval of Clopper and Pearson around it."""
        hits, cases = self.hits[number], self.cases[number]
        if self.exact:
            return (Fraction(hits, cases),) * 3

        def at_least(least: int, rate: float) -> float:
            return math.fsum(
                math.comb(cases, n) * rate**n * (1 - rate) ** (cases - n)
                for n in range(least, cases + 1)
            )

        def find(least: int, wanted: float) -> float:
            low, high = 0.0, 1.0
            for _ in range(50):
                middle = (low + high) / 2
                is_below = at_least(least, middle) < wanted
                low, high = (middle, high) if is_below else (low, middle)
            return low

        tail = (1 - level) / 2
        low = find(hits, tail) if hits else 0.0
        high = find(hits + 1, 1 - tail) if hits < cases else 1.0
        return hits / cases, low, high


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
    if isinstance(left, Day) and isinstance(right, str):
        right = day_of(right)
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


def calculate(function: Callable[..., Any], *values: Any) -> Any:
    """Calculate with numbers, or with vectors, whose integers have 64 bits."""
    return fit(each(function, *map(fit, values)))


def fit(value: Any) -> Any:
    if isinstance(value, list | tuple | np.ndarray):
        for one in listed(value):
            if isinstance(one, int) and abs(one) >= 2**63:
                raise Crash("an integer does not fit")
    return value


def power(a: Any, b: Any) -> Any:
    if isinstance(a, int) and isinstance(b, int) and abs(a) > 1 and b > 10_000:
        raise Crash("an integer of more than 10,000 bits")
    result = a**b
    if isinstance(result, int) and result.bit_length() > 10_000:
        raise Crash("an integer of more than 10,000 bits")
    if isinstance(result, complex):
        raise Crash("no real number")
    return result


def day_of(text: str) -> Day:
    return Day((date.fromisoformat(text) - date(1970, 1, 1)).days)


def as_day(a: Any, b: Any, result: Any) -> Any:
    return Day(result) if isinstance(a, Day) != isinstance(b, Day) else result


ARITHMETIC: dict[str, Callable[..., Any]] = {
    "+": lambda a, b: as_day(a, b, a + b),
    "-": lambda a, b: as_day(a, b, a - b),
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "%": lambda a, b: a % b,
    "**": power,
}


def add_up(values: list[Any]) -> Any:
    total: Any = 0
    for value in values:
        total = calculate(ARITHMETIC["+"], total, value)
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
    sizes = [abs(x) for x in listed(fit(v))]
    if any(is_nan(x) for x in sizes):
        return math.nan
    if kind == 2:
        return math.hypot(*sizes)
    return math.fsum(sizes) if kind == 1 else max(sizes, default=0.0)


BUILT_INS: dict[str, Callable[..., Any]] = {
    "abs": lambda a: calculate(abs, a),
    "sqrt": lambda a: calculate(math.sqrt, a),
    "exp": lambda a: calculate(math.exp, a),
    "log": lambda a: calculate(math.log, a),
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
