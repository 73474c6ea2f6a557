"""Run a chunk of cases column by column: each line for all of them at once.

The chunk follows the spec from its inputs to its verdicts. Cases leave on the way:
discarded ones, and *hard* ones, on which something happened that only a run alone can
judge (an exception, above all). What stays gives the same verdicts as running alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, assert_never

import numpy as np

from nomos.domain.functions import BoundBatched
from nomos.domain.records import (
    Column,
    get_feature_many,
    items,
    set_feature_many,
    take,
    to_column,
)
from nomos.errors import Discard, ModelError
from nomos.harness import vector
from nomos.harness.chunk import Cell, Chunk, Fate
from nomos.harness.memory import Memory, join, scatter, spread
from nomos.harness.program import concatenate, differ, equal
from nomos.lang import core

Array = np.ndarray[Any, Any]
Rows = Array | None  # places among the cases still here; None: all of them
Scope = dict[str, Cell]
_MOST_FAILURES = 64  # after so many single failures a batch is not searched any further

_PYTHON: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "%": lambda a, b: a % b,
    "==": equal,
    "!=": differ,
    "<": lambda a, b: bool(a < b),
    "<=": lambda a, b: bool(a <= b),
    ">": lambda a, b: bool(a > b),
    ">=": lambda a, b: bool(a >= b),
}


class Answers:
    """The remembered answers of a campaign, and how many rows the model was sent."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.rows_sent = 0
        self._memories: dict[Any, Memory] = {}

    def memory(self, key: Any) -> Memory:
        """Return the memory of a call site."""
        if key not in self._memories:
            self._memories[key] = Memory(self.size)
        return self._memories[key]


class Columns:
    """Evaluates the lines of a spec on a chunk."""

    def __init__(self, chunk: Chunk, answers: Answers) -> None:
        self.chunk = chunk
        self.program = chunk.program
        self.spec = chunk.program.spec
        self.answers = answers
        self.scope: Scope = {}
        self.failed: Array = np.empty(0)  # the `ensures` that failed, -1 for none

    def generate(self) -> None:
        """Draw the inputs, evaluate the vars, and drop what `requires` rejects."""
        for name in self.spec.inputs:
            self._draw_input(name)
        for let in self.spec.variables:
            self._let(let)
        for condition in self.spec.requires:
            holds = self._truth(condition.test, None, self.scope)
            self.chunk.mark(None, ~holds, Fate.DISCARDED, condition.text)
            self.chunk.settle()

    def block(self) -> None:
        """Run a straight-line block; its calls are made where an answer is needed."""
        assert self.spec.code.straight is not None
        for let in self.spec.code.straight:
            if any(
                isinstance(node, core.RandInt)
                or (isinstance(node, core.Call) and node.draws)
                for node in core.walk(let.value)
            ):
                self._let(let)
            else:
                cell = self.chunk.cell(None, self._roots(let.value))
                cell.later = let.value, dict(self.scope)
                self.scope[let.name] = cell

    def bind(self, name: str, column: Column) -> None:
        """Give a name of the spec its values."""
        self.scope[name] = self.chunk.cell(column, None)

    def judge(self) -> None:
        """Evaluate the later vars and every `ensures`."""
        for let in self.spec.later_variables:
            self._let(let)
        count = len(self.chunk.rows)
        failed = np.full(count, -1, dtype=np.int64)
        at: Rows = None
        for number, condition in enumerate(self.spec.ensures):
            holds = self._truth(condition.test, at, self.scope)
            if not holds.all():
                here = np.arange(count) if at is None else at
                failed[here[~holds]] = number
                at = here[holds]
        stays = self.chunk.settle()
        self.failed = failed if stays is None else failed[stays]

    def column(self, name: str) -> Column:
        """Return the values of a name for the cases still here."""
        return self._full(self._variable(name, None, self.scope), None)

    def _draw_input(self, name: str) -> None:
        source = self.program.source
        low = np.zeros(len(self.chunk.rows), dtype=np.int64)
        places = self.chunk.draw(None, low, low + (len(source) - 1))
        if isinstance(source, np.ndarray):
            records: Column = source[places]
        else:
            records = [self.program.item(place) for place in places.tolist()]
        cell = self.chunk.cell(_frozen(records), frozenset({name}))
        cell.places = places
        self.scope[name] = cell
        self.chunk.settle()

    def _let(self, let: core.Let) -> None:
        value = self.evaluate(let.value, None, self.scope)
        cell = self.chunk.cell(_frozen(value), self._roots(let.value))
        if isinstance(let.value, core.Variable):
            cell.places = self.scope[let.value.name].places
        self.scope[let.name] = cell
        self.chunk.settle()

    def _roots(self, expr: core.Expr) -> frozenset[str] | None:
        """Return the inputs that determine an expression; None where draws do too."""
        roots: frozenset[str] = frozenset()
        for node in core.walk(expr):
            match node:
                case core.RandInt() | core.Call(draws=True):
                    return None
                case core.Label(input=name):
                    roots |= {name}
                case core.Variable(name=name):
                    inner = self.scope[name].roots
                    if inner is None:
                        return None
                    roots |= inner
                case _:
                    pass
        return roots

    def evaluate(self, expr: core.Expr, at: Rows, scope: Scope) -> Any:
        """Return the value of an expression on some rows: a column or one scalar."""
        match expr:
            case core.Constant(value=value):
                return value
            case core.Variable(name=name):
                return self._variable(name, at, scope)
            case core.Label(input=name):
                places = self._places(name, at)
                return to_column([self.program.label_at(p) for p in places.tolist()])
            case core.RandInt():
                return self._rand_int(expr, at, scope)
            case core.Call():
                return self._call(expr, at, scope)
            case core.GetFeature():
                return self._get_feature(expr, at, scope)
            case core.SetFeature():
                return self._set_feature(expr, at, scope)
            case core.Not(operand=operand):
                return ~self._truth(operand, at, scope)
            case core.Negate(operand=operand):
                value = self.evaluate(operand, at, scope)
                negated = vector.negate(value)
                return (
                    self._each(lambda a: -a, [value], at)
                    if negated is None
                    else negated
                )
            case core.Arithmetic() | core.Compare():
                return self._operation(expr, at, scope)
            case core.Logic():
                return self._logic(expr, at, scope)
            case _:
                assert_never(expr)

    def _variable(self, name: str, at: Rows, scope: Scope) -> Any:
        cell = scope[name]
        if cell.later is not None:
            return self._demand(cell, at)
        if at is None or not isinstance(cell.value, np.ndarray | list):
            return cell.value
        return take(cell.value, at)

    def _demand(self, cell: Cell, at: Rows) -> Any:
        """Work out a line of the block for the rows that lack it."""
        assert cell.later is not None
        expr, scope = cell.later
        count = len(self.chunk.rows)
        if cell.known is None:
            if at is None:
                value = self.evaluate(expr, None, scope)
                cell.later, cell.value = None, _frozen(value)
                return value
            cell.known = np.zeros(count, dtype=bool)
        rows = np.arange(count) if at is None else at
        missing = rows[~cell.known[rows]]
        if len(missing):
            values = self._full(self.evaluate(expr, missing, scope), missing)
            if cell.value is None:
                cell.value = spread(values, missing, count)
            else:
                cell.value = scatter(cell.value, missing, values)
            cell.known[missing] = True
        return take(cell.value, rows)

    def _places(self, name: str, at: Rows) -> Array:
        places = self.scope[name].places
        assert places is not None
        return places if at is None else places[at]

    def _full(self, value: Any, at: Rows) -> Column:
        """Return a value as a column, repeating a scalar."""
        if isinstance(value, np.ndarray | list):
            return value
        return to_column([value] * self.chunk.count(at))

    def _each(
        self, function: Callable[..., Any], values: list[Any], at: Rows
    ) -> Column:
        """Apply a function row by row; where it raises, the case leaves."""
        columns = [items(self._full(value, at)) for value in values]
        results: list[Any] = []
        bad: dict[int, tuple[Fate, str]] = {}
        for number, arguments in enumerate(zip(*columns, strict=True)):
            try:
                result = function(*arguments)
            except ModelError:
                raise
            except Discard as discard:
                bad[number] = Fate.DISCARDED, str(discard)
            except Exception:
                bad[number] = Fate.HARD, ""
            else:
                results.append(result)
                continue
            results.append(None)
        if bad:
            # A stand-in of the right kind keeps the column's kind; its row has left.
            good = next((n for n in range(len(results)) if n not in bad), None)
            for number, (fate, why) in bad.items():
                results[number] = 0 if good is None else results[good]
                here = np.array([number])
                self.chunk.mark(here if at is None else at[here], None, fate, why)
        plain = [v.item() if isinstance(v, np.generic) else v for v in results]
        return to_column(plain)

    def _truth(self, expr: core.Expr, at: Rows, scope: Scope) -> Array:
        value = self._full(self.evaluate(expr, at, scope), at)
        truth = vector.truth(value)
        if truth is None:
            truth = np.asarray(self._each(bool, [value], at), dtype=bool)
        return truth

    def _operation(
        self, expr: core.Arithmetic | core.Compare, at: Rows, scope: Scope
    ) -> Any:
        left = self.evaluate(expr.left, at, scope)
        right = self.evaluate(expr.right, at, scope)
        result: Any = None
        if isinstance(expr, core.Compare):
            result = vector.compare(expr.operator, left, right)
        else:
            calculated = vector.arithmetic(expr.operator, left, right)
            if calculated is not None:
                result, bad = calculated
                if bad is not None:
                    bad = np.broadcast_to(bad, self.chunk.count(at))
                    self.chunk.mark(at, bad, Fate.HARD, "")
        if result is None:
            return self._each(_PYTHON[expr.operator], [left, right], at)
        return result if result.ndim else result.item()

    def _logic(self, expr: core.Logic, at: Rows, scope: Scope) -> Array:
        """Evaluate the right side only on the rows where it decides."""
        left = self._truth(expr.left, at, scope)
        result = ~left if expr.operator == "==>" else left.copy()
        decides = left if expr.operator in ("&&", "==>") else ~left
        if decides.all():
            return self._truth(expr.right, at, scope)
        if decides.any():
            rows = np.flatnonzero(decides)
            inner = rows if at is None else at[rows]
            result[rows] = self._truth(expr.right, inner, scope)
        return result

    def _rand_int(self, expr: core.RandInt, at: Rows, scope: Scope) -> Array:
        low = self._full(self.evaluate(expr.low, at, scope), at)
        high = self._full(self.evaluate(expr.high, at, scope), at)
        count = self.chunk.count(at)
        for bound in (low, high):
            if not isinstance(bound, np.ndarray) or bound.dtype.kind not in "ib":
                self.chunk.mark(at, np.ones(count, dtype=bool), Fate.HARD, "")
                return np.zeros(count, dtype=np.int64)
        low, high = np.asarray(low, dtype=np.int64), np.asarray(high, dtype=np.int64)
        none = low > high
        if none.any():
            why = self.spec.source.slice(expr.span)
            self.chunk.mark(at, none, Fate.DISCARDED, why)
            high = np.where(none, low, high)
        return self.chunk.draw(at, low, high)

    def _overridden(self, name: str) -> bool:
        return self.program.function(name) is not None

    def _get_feature(self, expr: core.GetFeature, at: Rows, scope: Scope) -> Any:
        record = self.evaluate(expr.record, at, scope)
        if self._overridden("getFeat") or not isinstance(expr.key, core.Constant):
            arguments = [record, self.evaluate(expr.key, at, scope)]
            return self._each(self.chunk.function("getFeat"), arguments, at)
        try:
            return get_feature_many(record, expr.key.value, self.program.schema)
        except Exception:  # some row has no such feature: each has its own verdict
            return self._each(
                self.chunk.function("getFeat"), [record, expr.key.value], at
            )

    def _set_feature(self, expr: core.SetFeature, at: Rows, scope: Scope) -> Any:
        record = self.evaluate(expr.record, at, scope)
        value = self._full(self.evaluate(expr.value, at, scope), at)
        if self._overridden("setFeat") or not isinstance(expr.key, core.Constant):
            key = self.evaluate(expr.key, at, scope)
            return self._each(self.chunk.function("setFeat"), [record, key, value], at)
        key = expr.key.value
        try:
            return set_feature_many(record, key, value, self.program.schema)
        except Exception:  # some value does not fit: each row has its own verdict
            return self._each(self.chunk.function("setFeat"), [record, key, value], at)

    def _call(self, expr: core.Call, at: Rows, scope: Scope) -> Any:
        function = self.program.function(expr.function)
        if function is None:
            assert expr.function == "strConcat"
            parts = [self.evaluate(part, at, scope) for part in expr.arguments]
            return self._each(concatenate, parts, at)
        if isinstance(function, BoundBatched):
            return self._batched(function, expr, at, scope)
        arguments = [self.evaluate(part, at, scope) for part in expr.arguments]
        if expr.draws:
            arguments.append(self.chunk.draw_generators(at))
        return self._each(function, arguments, at)

    def _batched(
        self, function: BoundBatched, expr: core.Call, at: Rows, scope: Scope
    ) -> Any:
        """Call a batched function once for all rows, or only for what is not known."""
        counted = expr.function in self.spec.code.called

        def ask(rows: Rows) -> tuple[Column, Array]:
            arguments = [
                _frozen(self._full(self.evaluate(part, rows, scope), rows))
                for part in expr.arguments
            ]
            if expr.draws:
                arguments.append(self.chunk.draw_generators(rows))
            if counted:
                self.answers.rows_sent += self.chunk.count(rows)
            return call_batch(function, arguments, self.chunk.count(rows))

        roots = self._call_roots(expr, scope)
        if not counted or roots is None or len(roots) != 1:
            values, failed = ask(at)
            if failed.any():
                self.chunk.mark(at, failed, Fate.HARD, "")
            return values
        (name,) = roots
        memory = self.answers.memory(self._memory_key(expr, scope))
        rows = np.arange(self.chunk.count(None)) if at is None else at
        recalled, bad = memory.recall(
            self._places(name, at), lambda places: ask(rows[places])
        )
        if bad is not None:
            self.chunk.mark(at, bad, Fate.HARD, "")
        return recalled

    def _call_roots(self, expr: core.Call, scope: Scope) -> frozenset[str] | None:
        outer, self.scope = self.scope, scope
        try:
            return self._roots(expr)
        finally:
            self.scope = outer

    def _memory_key(self, expr: core.Call, scope: Scope) -> Any:
        """Return one key for `f(x1)` and `f(x2)`; other calls have their own."""
        match expr.arguments:
            case (core.Variable(name=name),) if scope[name].places is not None:
                return expr.function
            case _:
                return id(expr)


def _frozen(value: Any) -> Any:
    """Guard an array against a function that would change it in place."""
    if isinstance(value, np.ndarray) and value.flags.writeable:
        value = value.view()
        value.flags.writeable = False
    return value


def call_batch(
    function: BoundBatched, columns: list[Any], count: int
) -> tuple[Column, Array]:
    """Call a function for many rows and find out on which of them it raises."""
    left = _MOST_FAILURES

    def call(columns: list[Any], count: int) -> tuple[Column, Array]:
        nonlocal left
        if left <= 0:
            return [0] * count, np.ones(count, dtype=bool)
        try:
            return function.many(*columns), np.zeros(count, dtype=bool)
        except ModelError:
            raise
        except Exception:
            if count == 1:
                left -= 1
                return [0], np.ones(1, dtype=bool)
        half = count // 2
        halves = [
            call([column[part] for column in columns], size)
            for part, size in ((slice(half), half), (slice(half, None), count - half))
        ]
        return join(*halves)

    return call(columns, count)
