"""Run a chunk of cases column by column: each line of a spec for all of them at once.

The chunk follows the spec from its inputs to its verdicts. Cases leave on the way:
discarded ones, and *hard* ones, which only a run in isolation can judge. What stays gives the
same verdicts as running in isolation.
"""

from typing import Any

import numpy as np

from nomos.device import Array, to_host
from nomos.diagnostics.source import Span
from nomos.domain.records import Column
from nomos.engine.answers import Answers
from nomos.engine.interpreter import levels_compared, sides
from nomos.engine.vectorized import vector
from nomos.engine.vectorized.chunk import At, Chunk, Fate, Scope, roots
from nomos.engine.vectorized.deciding import find_undecided
from nomos.engine.vectorized.evaluate import Evaluator
from nomos.engine.vectorized.forms import members
from nomos.engine.vectorized.rows import Rows
from nomos.engine.vectorized.wide import list_of_answers
from nomos.lang import core


class Columns:
    """Runs the lines of a spec on a chunk."""

    def __init__(
        self,
        chunk: Chunk,
        answers: Answers,
        *,
        asks_all: bool = False,
        verdicts_only: bool = False,
    ) -> None:
        self.chunk = chunk
        self._asks_all = asks_all  # also for answers that decide nothing
        self.verdicts_only = verdicts_only  # nobody asks what the violations are
        self.program = chunk.program
        self.spec = chunk.program.spec
        self.evaluator = Evaluator(chunk, answers)
        self.scope: Scope = {}
        self.failed: Array = np.empty(0, dtype=np.int64)  # a bit for each `ensures`
        self.margins: Array = np.empty(0)  # by how much the first of them is missed
        self.rate_bits: Array = np.empty(0, dtype=np.int32)  # two bits for each rate
        self.reached = 0  # a bit for each `ensures` whose premise some case has

    @property
    def is_empty(self) -> bool:
        """Whether all cases have left."""
        return not len(self.chunk.rows)

    def generate(self) -> None:
        """Draw the inputs, evaluate the vars, and drop what `requires` rejects."""
        for name in self.spec.inputs:
            self._draw_input(name)
        for one in self.spec.guarded_variables:
            if self.is_empty:
                return
            if isinstance(one, core.Let):
                self._let(one)
                continue
            holds = self.evaluator.truth(one.test, None, self.scope)
            self.chunk.mark(None, ~holds, Fate.DISCARDED, one.text)
            self.chunk.settle()

    def block(self) -> None:
        """Run a straight-line block; a total call is made where its answer is needed."""
        assert self.spec.code.straight is not None
        lists, made = self.spec.code.lists, set[str]()
        with self.evaluator.counting():
            for let in self.spec.code.straight:
                name = let.name.partition("[")[0]
                if let.name == core.item_name(name, 0) and not self.is_empty:
                    items = list_of_answers(self.evaluator, *lists[name], self.scope)
                    for number, value in enumerate(items or ()):
                        made.add(item := core.item_name(name, number))
                        self.scope[item] = self.chunk.cell(value, None)
                    self.chunk.settle()
                if let.name not in made:
                    self._line(let)
        if self.chunk.compared is not None:
            self.chunk.mark(None, self.chunk.compared.unchanged, Fate.UNCHANGED, "")
            self.chunk.settle()

    def _line(self, let: core.Let) -> None:
        """Run one line of the block."""
        if self._can_wait(let.value) and not self.is_empty:
            # Counted now, whenever and for whomever it will be made.
            calls = sum(isinstance(n, core.Call) for n in core.walk(let.value))
            self.chunk.add_calls(None, calls)
            if isinstance(let.value, core.Call) and calls == 1:
                self.evaluator.note_inputs(let.value, self.scope)
            cell = self.chunk.cell(None, roots(let.value, self.scope))
            cell.later = let.value, dict(self.scope)
            self.scope[let.name] = cell
        else:
            self._let(let)

    def bind(self, name: str, column: Column) -> None:
        """Give a name of the spec its values."""
        self.scope[name] = self.chunk.cell(column, None)

    def evaluate(self) -> None:
        """Evaluate the later vars and every `ensures`, each on every case."""
        for let in self.spec.later_variables:
            self._let(let)
        if self.is_empty:
            return
        count = len(self.chunk.rows)
        self.failed = np.zeros(count, dtype=np.int64)
        self.margins = np.full(count, np.nan)
        asks_all = self._asks_all or self.spec.rates
        rows = None if asks_all else find_undecided(self)
        for number, condition in enumerate(self.spec.ensures):
            if rows is None:
                holds = self._holds(number, condition.test)
            else:
                self.reached = -1  # where it is decided, the premise may be or not
                holds = np.ones(count, dtype=bool)
                holds[rows] = self.evaluator.truth(condition.test, rows, self.scope)
            failing = np.flatnonzero(~holds)
            at = failing[self.failed[failing] == 0]
            if len(at) and not self.verdicts_only:
                self.margins[at] = self._margins(condition.test, at)
            self.failed[failing] |= 1 << number
        self.rate_bits = self._tell_rates(count)
        # A discard behind an `ensures` that fails comes too late; where did it draw?
        self.chunk.isolate_discarded(self.failed != 0)
        stays = self.chunk.settle()
        if stays is not None:
            self.failed, self.margins = self.failed[stays], self.margins[stays]
            self.rate_bits = self.rate_bits[stays]

    def _tell_rates(self, count: int) -> Array:
        """Return which rates are of each case, and where that counts."""
        rate_bits = np.zeros(count, dtype=np.int32)
        for number, rate in enumerate(self.spec.rates):
            at: At = None
            if rate.given is not None:
                at = np.flatnonzero(self.evaluator.truth(rate.given, None, self.scope))
            if at is None or len(at):
                counts = self.evaluator.truth(rate.event, at, self.scope)
                bits = (1 + 2 * counts.astype(np.int32)) << 2 * number
                rate_bits[slice(None) if at is None else at] |= bits
        return rate_bits

    def _holds(self, number: int, test: core.Expr) -> Array:
        """Return where an `ensures` holds; note whether a case has what it is about."""
        truth, at, behind = self.evaluator.truth, None, test
        holds = np.ones(len(self.chunk.rows), dtype=bool)
        if isinstance(test, core.Logic) and test.operator == "==>":
            premise, behind = truth(test.left, None, self.scope), test.right
            at = None if premise.all() else np.flatnonzero(premise)
        if at is None or len(at):
            self.reached |= 1 << number
            holds[slice(None) if at is None else at] = truth(behind, at, self.scope)
        return holds

    def _margins(self, test: core.Expr, at: Array) -> Any:
        """Return by how much a comparison is missed; NaN where it is of no numbers."""
        values = [self.evaluator.value(s, at, self.scope) for s in sides(test)]
        if levels := levels_compared(test):
            ranks = [vector.rank_column(levels, value) for value in values]
            values = values if any(rank is None for rank in ranks) else ranks
        columns = [np.asarray(to_host(value)) for value in values]
        if not columns or any(c.dtype.kind not in "if" or c.ndim > 1 for c in columns):
            return np.nan
        smaller, larger = (column.astype(np.float64) for column in columns)
        margin = smaller - larger
        return np.where(np.isfinite(margin), margin, np.nan)

    def column(self, name: str, at: At = None) -> Column:
        """Return the values of a name for the cases still here, or some of them."""
        variable = core.Variable(name, span=Span(0, 0))
        value = self.evaluator.value(variable, at, self.scope)
        return self.evaluator.column(value, at)

    def _draw_input(self, name: str) -> None:
        source = self.program.source
        low = np.broadcast_to(np.int64(0), len(self.chunk.rows))
        number = self.spec.inputs.index(name)
        earlier = [self.scope[one].places for one in self.spec.inputs[:number][-1:]]
        pair = self.program.chooser_of(number, [None] * (number - 1) + earlier)
        if pair is None:
            places = self.chunk.draw(None, "integer", low, low + (len(source) - 1))
        else:
            places = self.chunk.draw(None, "row", pair.choose_rows, len(source) - 1)
        if self.program.rows is not None:
            records: Any = Rows(self.program.rows, places)
        elif isinstance(source, np.ndarray):
            records = source[places]
        else:
            records = [self.program.item(place) for place in places.tolist()]
        cell = self.chunk.cell(records, frozenset({name}))
        cell.places = places
        self.scope[name] = cell
        self.chunk.settle()

    def _let(self, let: core.Let) -> None:
        if self.is_empty:
            return
        if isinstance(let.value, core.Comprehension) and let.value.members:
            made = members(self.evaluator, let.value, None, self.scope)
            for number, (_, value) in enumerate(made):
                name = core.item_name(let.name, number)
                self.scope[name] = self.chunk.cell(value, None)
            self.chunk.settle()
            return
        value = self.evaluator.value(let.value, None, self.scope)
        cell = self.chunk.cell(value, roots(let.value, self.scope))
        if isinstance(let.value, core.Variable) and let.value.name in self.scope:
            cell.places = self.scope[let.value.name].places
        self.scope[let.name] = cell
        self.chunk.settle()

    def _can_wait(self, expr: core.Expr) -> bool:
        """Tell whether nothing can go wrong in a line, so that it may be put off."""
        for node in core.walk(expr):
            if isinstance(node, core.Call):
                function = self.program.find_batched(node.function)
                if function is None or not function.function.total or node.draws:
                    return False
            elif not isinstance(node, core.Constant | core.Variable):
                return False
        return isinstance(expr, core.Call)
