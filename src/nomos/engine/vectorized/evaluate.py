"""Evaluate expressions for many cases at once, on columns of values.

A value is a column (an array or a list with one entry for each row), drawn `Rows`, or
one Python scalar that holds for every row. Rows on which something happens that only a
run in isolation can judge (an exception, above all) are marked and go on with a stand-in.
"""

import operator
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, assert_never

import numpy as np

from nomos.device import Array, is_tensor
from nomos.domain import records
from nomos.domain.failure import raise_own
from nomos.domain.fields import generator
from nomos.domain.functions import BoundBatched, Counted, listening
from nomos.domain.meter import asking, current_lease
from nomos.domain.values import answer
from nomos.engine.answers import Answers, call_batch, write_values
from nomos.engine.coroutines.hub import Coroutine, Hub
from nomos.engine.expressions import compares_plainly
from nomos.engine.meaning.operators import PYTHON, compare_names, contains
from nomos.engine.meaning.running import Function, draws
from nomos.engine.meaning.vectors import calculate, negate
from nomos.engine.vectorized import forms, vector
from nomos.engine.vectorized.chunk import At, Cell, Chunk, Fate, Scope, roots
from nomos.engine.vectorized.rows import Rows, each, frozen, own_column, part
from nomos.engine.vectorized.wide import Items
from nomos.errors import ModelError
from nomos.lang import core


class Evaluator:
    """Evaluates expressions on the rows of a chunk."""

    def __init__(self, chunk: Chunk, answers: Answers) -> None:
        self.chunk = chunk
        self.program = chunk.program
        self.spec = chunk.program.spec
        self.answers = answers
        self.items: dict[int, Items] = {}  # of long lists, by their size
        self.occurrence = 0  # which of several equal items of a case is meant
        self._counts = False  # the block runs: its calls of a model count

    @contextmanager
    def counting(self, counts: bool = True) -> Iterator[None]:
        """Count the calls of a model that are evaluated inside, or do not."""
        before, self._counts = self._counts, counts
        try:
            yield
        finally:
            self._counts = before

    def column(self, value: Any, at: At) -> records.Column:
        """Return a value as a column that nobody can change, repeating a scalar."""
        if isinstance(value, Rows):
            return frozen(value.array())  # type: ignore[no-any-return]  # a column
        if isinstance(value, np.ndarray | list) or is_tensor(value):
            return frozen(value)  # type: ignore[no-any-return]  # a column
        return records.to_column([value] * self.chunk.count(at))

    def truth(self, expr: core.Expr, at: At, scope: Scope) -> Array:
        """Return on which rows an expression holds."""
        value = self.column(self.value(expr, at, scope), at)
        truth = vector.truth(value)
        if truth is None:
            truth = np.asarray(self.each(bool, [value], at), dtype=bool)
        return truth

    def value(self, expr: core.Expr, at: At, scope: Scope) -> Any:
        """Return the value of an expression on some rows."""
        match expr:
            case core.Constant(value=value):
                return value
            case core.Variable(name=name) if name in scope:
                return self.variable(scope[name], at)
            case core.Variable(name=name):
                return forms.list_of(self, name, at, scope)
            case core.Label():
                return forms.label(self, expr, at, scope)
            case core.RandInt() | core.RandReal():
                return forms.draw(self, expr, at, scope)
            case core.Call():
                return self._call(expr, at, scope)
            case core.GetFeature() | core.SetFeature():
                return self._feature(expr, at, scope)
            case core.Not(operand=operand):
                return ~self.truth(operand, at, scope)
            case core.Negate(operand=operand):
                value = self.value(operand, at, scope)
                negated = vector.change_sign(value, operator.neg)
                return self.or_each(negated, negate, [value], at)
            case core.Arithmetic():
                return self._arithmetic(expr, at, scope)
            case core.Compare():
                return self._compare(expr, at, scope)
            case core.Contains(items=items, item=item):
                values = [self.value(one, at, scope) for one in (items, item)]
                return self.each(contains, values, at)
            case core.Logic():
                return self._logic(expr, at, scope)
            case core.Conditional():
                return forms.conditional(self, expr, at, scope)
            case core.Index():
                return forms.index(self, expr, at, scope)
            case core.Comprehension():
                return forms.comprehension(self, expr, at, scope)
            case core.Quantifier():
                return forms.quantifier(self, expr, at, scope)
            case core.Apply():
                return forms.apply(self, expr, at, scope)
            case _:
                assert_never(expr)

    def variable(self, cell: Cell, at: At) -> Any:
        """Return the values of a name; one that was put off is worked out now."""
        if cell.later is None:
            return cell.value if at is None else part(cell.value, at)
        expr, scope = cell.later
        count = len(self.chunk.rows)
        if cell.known is None:
            cell.known = np.zeros(count, dtype=bool)
        rows = np.arange(count) if at is None else at
        missing = rows[:0] if cell.known.all() else rows[~cell.known[rows]]
        if len(missing):
            inner = None if at is None and len(missing) == count else missing
            with self.counting(False):  # it was counted where it stands
                values = self.column(self.value(expr, inner, scope), inner)
            if inner is not None:
                values = write_values(cell.value, inner, values, count)
            cell.value, cell.known[missing] = values, True
        return cell.value if at is None else records.take(cell.value, at)

    def each(
        self, function: Callable[..., Any], values: list[Any], at: At
    ) -> records.Column:
        """Apply a function row by row; where it raises, the case leaves."""
        results: list[tuple[Any, BaseException | None]] = []
        for case in self._cases(values, at):
            try:
                results.append((function(*case), None))
            except BaseException as error:
                raise_own(error, ModelError)
                results.append((None, error))
        return self._collect_results(results, at)

    def _cases(self, values: list[Any], at: At) -> list[tuple[Any, ...]]:
        """Return what a function is called with for each row."""
        count = self.chunk.count(at)
        columns = [each(value, count) for value in values]
        return list(zip(*columns, strict=True)) if columns else [()] * count

    def _together(
        self, function: Function, values: list[Any], at: At
    ) -> records.Column:
        """Apply a function that asks a batched one: the rows ask at the same time."""
        call = partial(answer, function)
        coroutines = [Coroutine(call, case) for case in self._cases(values, at)]
        Hub(self.answers).run(coroutines)
        if self._counts:
            calls = np.array([min(1, one.calls) for one in coroutines])
            self.chunk.add_calls(at, calls)
        results = [(one.result, one.failure) for one in coroutines]
        return self._collect_results(results, at)

    def _collect_results(
        self, results: list[tuple[Any, BaseException | None]], at: At
    ) -> records.Column:
        """Return results as a column; the rows without one leave."""
        stand_in = next((value for value, error in results if error is None), 0)
        self.chunk.mark_failed(at, [error for _, error in results])
        return records.to_column(
            [v if error is None else stand_in for v, error in results]
        )

    def or_each(
        self, result: Array | None, function: Function, values: list[Any], at: At
    ) -> Any:
        """Return what whole columns gave; None: apply a function row by row."""
        if result is None:
            return self.each(function, values, at)
        return result if result.ndim else result.item()

    def _arithmetic(self, expr: core.Arithmetic, at: At, scope: Scope) -> Any:
        spine = core.arithmetic_chain(expr)
        result = self.value(spine[-1].left, at, scope)
        for node in reversed(spine):
            right = self.value(node.right, at, scope)
            result = self.calculate(node.operator, result, right, at)
        return result

    def calculate(self, sign: str, left: Any, right: Any, at: At) -> Any:
        """Apply an operator of arithmetic to two values."""
        calculated = vector.arithmetic(sign, left, right)
        if calculated is None:
            return self.each(partial(calculate, sign), [left, right], at)
        result, bad = calculated
        if bad is not None:
            where = np.broadcast_to(bad, self.chunk.count(at))
            self.chunk.mark(at, where, Fate.HARD, "")
        return result if result.ndim else result.item()

    def _compare(self, expr: core.Compare, at: At, scope: Scope) -> Any:
        sides = [self.value(side, at, scope) for side in (expr.left, expr.right)]
        left, right = (s.array() if isinstance(s, Rows) else s for s in sides)
        function: Function = PYTHON[expr.operator]
        if expr.levels:
            function = partial(compare_names, expr.operator, expr.levels)
            sides = [vector.rank_column(expr.levels, side) for side in (left, right)]
            if any(side is None for side in sides):
                return self.each(function, [left, right], at)
            left, right = sides
        result = vector.compare(expr.operator, left, right)
        if compares_plainly(expr):
            function = lambda a, b: bool(a == b)  # noqa: E731 - one of several
        elif result is None:
            result = vector.compare_arrays(expr.operator, left, right)
        return self.or_each(result, function, [left, right], at)

    def _logic(self, expr: core.Logic, at: At, scope: Scope) -> Array:
        """Evaluate the right side only on the rows where it decides."""
        left = self.truth(expr.left, at, scope)
        result = ~left if expr.operator == "==>" else left.copy()
        decides = ~left if expr.operator == "||" else left
        if decides.all():
            return self.truth(expr.right, at, scope)
        if decides.any():
            rows = np.flatnonzero(decides)
            inner = rows if at is None else at[rows]
            result[rows] = self.truth(expr.right, inner, scope)
        return result

    def _feature(
        self, expr: core.GetFeature | core.SetFeature, at: At, scope: Scope
    ) -> Any:
        name = "getFeat" if isinstance(expr, core.GetFeature) else "setFeat"
        parts = tuple(core.children(expr))
        own = self.program.functions.get(name)
        if own is not None:
            call = core.Call(name, parts, draws(own), span=expr.span)
            return self._call(call, at, scope)
        record, key, *new = (self.value(one, at, scope) for one in parts)
        schema = self.program.schema
        try:
            if isinstance(key, str | int):
                values = [self.column(value, at) for value in new]
                if isinstance(record, Rows) and schema is not None:
                    feature = record.set_feature if new else record.get_feature
                    return feature(key, *values)
                many: Function = (
                    records.set_feature_many if new else records.get_feature_many
                )
                return many(self.column(record, at), key, *values, schema)
        except Exception:  # some row has no such feature: each has its own verdict
            pass
        single: Function = records.set_feature if new else records.get_feature
        return self.each(lambda *case: single(*case, schema), [record, key, *new], at)

    def _call(self, expr: core.Call, at: At, scope: Scope) -> Any:
        function = self.program.functions.get(expr.function)
        if isinstance(function, BoundBatched):
            return self._call_batched(function, expr, at, scope)
        arguments = [self.value(argument, at, scope) for argument in expr.arguments]
        self._note_inputs(expr, arguments, at)
        if function is None:
            return forms.built_in(self, expr.function, arguments, at)
        if expr.draws:
            seeds = self.chunk.draw(at, "seed").tolist()
            arguments.append([generator(seed) for seed in seeds])
        if self.program.asks(expr.function):
            return self._together(function, arguments, at)
        return self._one_by_one(function, expr.function, arguments, at)

    def note_inputs(self, expr: core.Call, scope: Scope) -> None:
        """Compare what a call will ask that is put off."""
        if expr.function in self.program.compared:
            given = [self.value(argument, None, scope) for argument in expr.arguments]
            self._note_inputs(expr, given, None)

    def _note_inputs(self, expr: core.Call, arguments: list[Any], at: At) -> None:
        """Compare what the block asks the model with what it asked first."""
        is_control = self.program.resampling is not None
        if self._counts and not is_control and expr.function in self.program.compared:
            self.chunk.compare_inputs().note(arguments, at)

    def _one_by_one(
        self, function: Function, name: str, arguments: list[Any], at: At
    ) -> records.Column:
        """Call a function that is not batched for each row."""
        if not self._counts:
            return self.each(partial(answer, function), arguments, at)
        calls: list[int] = []
        costs = self.program.cost_of(name)

        def call(*case: Any) -> Any:
            counted = Counted()
            counted.calls = int(name in self.program.plain_models)
            try:
                with asking(costs), listening(counted):
                    return answer(function, *case)
            finally:
                calls.append(min(1, counted.calls))

        standing = self.chunk.standing(at)
        column = self.each(call, arguments, at)
        self.chunk.add_calls(at, np.array(calls), standing)
        return column

    def _call_batched(
        self, function: BoundBatched, expr: core.Call, at: At, scope: Scope
    ) -> records.Column:
        """Call a batched function once for all rows, or only for what is not known."""
        # For all rows, remembered or not: the case may leave for what happens here.
        arguments = [self.value(argument, at, scope) for argument in expr.arguments]
        self._note_inputs(expr, arguments, at)
        if self._counts and function.function.is_model:
            self.chunk.add_calls(at, 1)
        if arguments and not self.chunk.standing(at).any():
            # What its arguments are is told when the cases run in isolation.
            return np.zeros(self.chunk.count(at))

        def ask(rows: At) -> tuple[records.Column, Array]:
            """Ask for some of the rows that are meant; None: for all of them."""
            inner = at if rows is None else rows if at is None else at[rows]
            count = self.chunk.count(inner)
            values = [v if rows is None else part(v, rows) for v in arguments]
            if expr.draws:
                values.append(self.chunk.draw(inner, "seed"))
            self.answers.rows_sent += count

            def columns(chosen: slice) -> list[Any]:
                size = chosen.stop - chosen.start
                return [own_column(v, chosen, size, function.device) for v in values]

            return call_batch(function, columns, count)

        places = self._places(expr, at, scope)
        if places is None:
            values, failed = ask(None)
        else:
            # Each place in the spec has its own: a case never uses an answer twice.
            # A definition has its calls in several places, which differ in what they ask.
            at_span = expr.span.start, expr.span.end, self.occurrence
            place = expr.function, *at_span, core.tree_shape(expr)
            memory = self.answers.memory(place)
            values, failed = memory.recall(places, ask, self.chunk.standing(at))
        if failed.any():
            self.chunk.mark(at, failed, Fate.HARD, current_lease().failure)
        return values

    def _places(self, expr: core.Call, at: At, scope: Scope) -> Array | None:
        """Return the items that alone determine a call's answers, None if more does."""
        found = roots(expr, scope)
        remembers = self.program.can_remember and self.answers.size > 0
        if found is None or len(found) != 1 or not remembers:
            return None
        (name,) = found
        places = scope[name].places
        assert places is not None
        return places if at is None else places[at]
