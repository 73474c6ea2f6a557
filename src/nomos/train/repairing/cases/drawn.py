"""TrainingCases of a spec as a loss needs them: what the model is asked, and all else fixed.

In a case, some values depend on what the model answers (*soft*: the outputs, and what is
calculated from them), and all others do not (*hard*). Hard values are worked out once,
when the cases are drawn; soft ones are worked out anew whenever the model has changed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from nomos.device import Array
from nomos.domain.functions import BoundBatched
from nomos.domain.records import take, to_column
from nomos.domain.values import plain
from nomos.engine.answers import Answers
from nomos.engine.cases import RandomCases
from nomos.engine.choices import Stream
from nomos.engine.engine import Engine
from nomos.engine.judged import Limits
from nomos.engine.vectorized.chunk import Cell, Chunk
from nomos.engine.vectorized.columns import Columns
from nomos.errors import ModelError, NomosError
from nomos.lang import core
from nomos.train.repairing.judging.evaluate import SwappableModel, ask_in_batches

_MOST_ALONE = 5000  # cases of which those that fail are run in isolation


TOGETHER = "instead, the answers of a violating case are drawn together"


class Untrainable(NomosError):
    """A spec whose `ensures` cannot be turned into a loss, and why."""


@dataclass(frozen=True, slots=True, eq=False)
class Ask:
    """A place in a spec that asks the model: of which function, and with what rows."""

    function: str
    rows: Any  # one for each case, as the model got them
    answers: Any  # what the function made of the model's answers


@dataclass(frozen=True, slots=True, eq=False)
class TrainingCases:
    """Drawn cases of one spec.

    `asks` and `hard` are by the identity of the expression in the spec; `soft` gives the
    expressions of the names that depend on the model. `opaque` says why no more is known
    of the cases than what the model was asked in them, where that is so.
    """

    spec: core.Spec
    asks: Mapping[int, Ask]
    hard: Mapping[int, Any]
    soft: Mapping[str, core.Expr]
    violated: Array
    opaque: str = ""

    def __len__(self) -> int:
        return len(self.violated)

    def take(self, index: Array) -> TrainingCases:
        """Return some of the cases."""
        asks = {
            key: Ask(ask.function, take(ask.rows, index), take(ask.answers, index))
            for key, ask in self.asks.items()
        }
        hard = {key: take(values, index) for key, values in self.hard.items()}
        return replace(self, asks=asks, hard=hard, violated=self.violated[index])

    def by_number(self) -> TrainingCases:
        """Return the cases with their numbers in place of rows, which are kept elsewhere."""
        numbers = np.arange(len(self))
        asks = {
            key: Ask(ask.function, numbers, numbers) for key, ask in self.asks.items()
        }
        return replace(self, asks=asks)


@dataclass(frozen=True, slots=True, eq=False)
class TrainingData:
    """Rows as the model gets them, their labels, and what the first model said of them."""

    function: str  # of the domain, which made answers of what the model said
    rows: Any
    answers: Any
    labels: Sequence[Any]
    columns: Sequence[str] = ()  # what those of rows are called, where that is known


@dataclass(frozen=True, slots=True, eq=False)
class RoundData:
    """What a round trains on beside the data: cases of specs, with the specs' weights."""

    cases: Mapping[str, TrainingCases]
    weights: Mapping[str, float]
    seed: int
    is_costly: bool  # the last round lost more accuracy than may be lost


def check_labels(unknown: Collection[Any], known: Iterable[Any]) -> None:
    """Refuse labels that the model has no answer for."""
    if unknown:
        raise ModelError(
            f"the training data has the label {min(map(str, unknown))!r}, and the "
            f"model never answers so: it answers {', '.join(map(str, known))}"
        )


def draw_cases(
    engine: Engine, swappable: SwappableModel, *, seed: int, count: int
) -> TrainingCases:
    """Draw cases and run them, noting what the model is asked.

    Where it is not plain what it is asked, only the cases that fail are returned,
    and with no more than what they asked. Raises Untrainable where not even that helps.
    """
    try:
        return _draw_straight(engine, swappable, seed, count)
    except Untrainable as why:
        return _draw_failing(engine, swappable, seed, count, str(why))


def _draw_failing(
    engine: Engine, swappable: SwappableModel, seed: int, count: int, why: str
) -> TrainingCases:
    """Return the cases that fail, each run in isolation, with the rows that the model got."""
    spec = engine.program.spec
    engine.forget()
    stream = RandomCases(Stream(seed, spec.name), 0, min(count, _MOST_ALONE))
    judged = engine.run(stream, Limits(count + 1, count + 1), repeat=False)
    asked: list[Any] = []
    for number in range(len(judged.violations)):
        with swappable.listening() as heard:
            engine.replay(judged.violations.choices_of(number))
        asked.append(join_rows(heard))
    sizes = {len(rows) for rows in asked}
    if not asked or len(sizes) > 1 or 0 in sizes:
        raise Untrainable(why if asked else f"{why}, and no case failed")
    parts = (join_rows([rows[n : n + 1] for rows in asked]) for n in range(sizes.pop()))
    # What a function makes of the answers is not known: no loss asks for it.
    asks = {n: Ask("", rows, rows) for n, rows in enumerate(parts)}
    return TrainingCases(spec, asks, {}, {}, np.ones(len(asked), dtype=bool), why)


def _draw_straight(
    engine: Engine, swappable: SwappableModel, seed: int, count: int
) -> TrainingCases:
    """Draw cases of a straight-line block and tell soft from hard in them."""
    spec = engine.program.spec
    if spec.code.straight is None:
        raise Untrainable("its block has loops or branches")
    chunk = Chunk(engine.program, RandomCases(Stream(seed, spec.name), 0, count))
    columns = Columns(chunk, Answers(len(engine.program.source)))
    reading = _Reading(columns, swappable)
    with np.errstate(all="ignore"):
        columns.generate()
        for let in (*spec.code.straight, *spec.later_variables):
            reading.add_let(let)
        for condition in spec.ensures:
            reading.is_soft(condition.test)
        chunk.settle()
        columns.block()
        columns.judge()
    return reading.build_cases(columns.failed > 0)


class _Reading:
    """Tells soft from hard in a spec, on a chunk of cases."""

    def __init__(self, columns: Columns, swappable: SwappableModel) -> None:
        self.columns = columns
        self.chunk = columns.chunk
        self.swappable = swappable
        self.soft: dict[str, core.Expr] = {}
        self.asks: dict[int, tuple[str, Cell, Cell]] = {}
        self.hard: dict[int, Cell] = {}

    def add_let(self, let: core.Let) -> None:
        """Take in a line: its value, where the model has no say in it."""
        self.soft.pop(let.name, None)
        if self.is_soft(let.value):
            self.soft[let.name] = let.value
        else:
            self.columns.scope[let.name] = self.hard[id(let.value)]

    def is_soft(self, expr: core.Expr) -> bool:
        """Return whether an expression is soft; keep the value of one that is hard."""
        if isinstance(expr, core.Variable) and expr.name in self.soft:
            return True
        soft = [self.is_soft(child) for child in core.children(expr)]
        if isinstance(expr, core.Call) and expr.function in _model_functions(
            self.columns
        ):
            if any(soft):
                raise Untrainable(f"`{expr.function}` is given what the model answered")
            return self._call_function(expr)
        if any(soft):
            return True
        evaluator = self.columns.evaluator
        if isinstance(expr, core.Logic | core.Not):
            value: Any = evaluator.truth(expr, None, self.columns.scope)
        else:
            value = evaluator.value(expr, None, self.columns.scope)
        cell = self.chunk.cell(evaluator.column(value, None), None)
        if isinstance(expr, core.Variable):  # `label` has to know where it was drawn
            cell.places = self.columns.scope[expr.name].places
        self.hard[id(expr)] = cell
        return False

    def _call_function(self, expr: core.Call) -> bool:
        """Call a function for every case and see whether it asks the model."""
        columns = [self.hard[id(argument)].value for argument in expr.arguments]
        function = self.columns.program.functions[expr.function]
        with self.swappable.listening() as heard:
            said = [plain(answer) for answer in ask_in_batches(function, *columns)]
        answers = self.chunk.cell(to_column(said), None)
        if not heard:
            self.hard[id(expr)] = answers
            return False
        rows = join_rows(heard)
        if len(rows) != len(self.chunk.rows):
            raise Untrainable(f"`{expr.function}` asks the model more than once a case")
        asked = self.chunk.cell(rows, None)
        self.asks[id(expr)] = expr.function, asked, answers
        return True

    def build_cases(self, violated: Array) -> TrainingCases:
        """Return what was read."""
        if not self.asks:
            raise Untrainable("its block does not ask the model that is repaired")
        count = len(self.chunk.rows)
        if any(len(rows.value) != count for _, rows, _ in self.asks.values()):
            raise Untrainable("some cases can only be run in isolation")
        return TrainingCases(
            self.columns.spec,
            {key: Ask(f, r.value, a.value) for key, (f, r, a) in self.asks.items()},
            {key: self.hard[key].value for key in self._hard_values_needed()},
            self.soft,
            violated,
        )

    def _hard_values_needed(self) -> set[int]:
        """Return the hard expressions that stand directly in soft ones, or alone."""
        tests = [condition.test for condition in self.columns.spec.ensures]
        needed = {id(test) for test in tests}
        for expr in (*self.soft.values(), *tests):
            for node in core.walk(expr):
                if id(node) not in self.asks:
                    needed |= {id(child) for child in core.children(node)}
        return needed & self.hard.keys()


def _model_functions(columns: Columns) -> frozenset[str]:
    """Return the functions that may ask a model: those that are batched, or call one."""
    program = columns.program
    return frozenset(
        name
        for name, function in program.functions.items()
        if not program.draws(name)
        and (isinstance(function, BoundBatched) or program.asks(name))
    ) | (columns.spec.code.called & frozenset(program.functions))


def join_rows(parts: list[Any]) -> Any:
    """Put rows together, in the form that they have."""
    if parts and all(isinstance(rows, np.ndarray) for rows in parts):
        return np.concatenate(parts)
    if parts and all(hasattr(rows, "iloc") for rows in parts):
        import pandas as pd

        return pd.concat(parts, ignore_index=True)
    return [row for rows in parts for row in rows]
