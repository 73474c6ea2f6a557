"""How near a case comes to a violation, for every comparison and connective of a spec.

Where a model has scores, every combination of its answers is evaluated by the spec. The
margin is by how much the best combination that would be a violation falls short of the
best one that is none: above 0 it is a violation. The trend puts mean answers into the
comparisons, which says where scores tend to while the answers are all the same.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from nomos.device import Array
from nomos.domain.functions import BoundBatched
from nomos.domain.records import items
from nomos.engine.answers import Answers
from nomos.engine.cases import MadeCases
from nomos.engine.program import Program
from nomos.engine.space import draws_late
from nomos.engine.vectorized.chunk import Chunk, Scope
from nomos.engine.vectorized.columns import Columns
from nomos.errors import ModelError, NomosError
from nomos.groups.features import asker_of, model_call, shares_of
from nomos.lang import core

_MOST = 1024  # combinations of answers
_PROBED = 4  # rows on which a model is tried
_SMALLEST = 1e-6  # probability that is told from none


class Unscored(NomosError):
    """A function of which nobody can say how sure it is."""


@dataclass(frozen=True, slots=True)
class Scores:
    """A function's answers for rows: their classes and scores, or plain numbers.

    `sureness` may be added up over several answers; `shares` are probabilities.
    """

    classes: Array | None
    sureness: Array  # (rows, classes), or (rows,) where the answers are numbers
    shares: Array

    @property
    def mean_answer(self) -> Array | None:
        """The mean of the classes by their shares; None where they are no numbers."""
        if self.classes is None:
            return self.sureness
        if self.classes.dtype.kind not in "biuf":
            return None
        return np.asarray(self.shares @ self.classes.astype(np.float64))


Scorer = Callable[[Array], Scores]


def build_scorer(program: Program, function: str) -> Scorer:
    """Return what scores a function's answers; raises Unscored where nothing does."""
    domain = program.domain
    bound = program.find_batched(function)
    if bound is None:
        raise Unscored(f"`{function}` is not batched")
    probe = np.array(program.source[:_PROBED])
    ask, classes = asker_of(domain, function)
    if ask is None:
        return _number_scorer(bound, probe)
    try:
        ask(probe)
    except ModelError as error:  # NoScores: it may give plain numbers
        try:
            return _number_scorer(bound, probe)
        except Unscored:
            raise Unscored(str(error)) from None

    def score_rows(rows: Array) -> Scores:
        given = np.asarray(ask(rows), dtype=np.float64)
        labels = classes() if classes is not None else None
        if given.ndim != 2 or given.shape[1] < 2:
            raise Unscored(f"the scores of `{function}` have shape {given.shape}")
        known = np.arange(given.shape[1]) if labels is None else labels
        shares = shares_of(given)
        sure = np.log(shares + _SMALLEST) if shares is given else given
        return Scores(known, sure, shares)

    score_rows(probe)
    return score_rows


def _number_scorer(bound: BoundBatched, probe: Array) -> Scorer:
    """Return what asks a function that gives real numbers."""

    def score_numbers(rows: Array) -> Scores:
        given = np.asarray(items(bound.many(rows.copy())))
        if given.ndim != 1 or given.dtype.kind != "f":
            raise Unscored(
                f"`{bound.function.__name__}` gives labels, and the domain has no scores"
            )
        return Scores(None, given.astype(np.float64), given)

    score_numbers(probe)
    return score_numbers


class Margins:
    """Tells of cases how near they come; raises Unscored where nothing can tell."""

    def __init__(self, program: Program) -> None:
        spec = program.spec
        if not spec.ensures:
            raise Unscored("no `ensures` is about a single case")
        if spec.code.straight is None:
            raise Unscored("the block is more than a line for each call")
        if draws_late(spec, program.draws):
            raise Unscored("the block draws")
        self._scorers: dict[str, Scorer] = {}
        self._program = program
        for let in spec.code.straight:
            call = model_call(let.value, program)
            if call is not None:
                if call.function not in self._scorers:
                    self._scorers[call.function] = build_scorer(program, call.function)
            elif any(isinstance(node, core.Call) for node in core.walk(let.value)):
                raise Unscored("a line of the block is more than one call of a model")
        if not self._scorers:
            raise Unscored("the block calls no model")

    def measure_cases(self, cases: MadeCases) -> Array:
        """Return margin and trend of each case; NaN where it was discarded."""
        chunk = Chunk(self._program.with_inputs(cases.made.rows), cases)
        columns = Columns(chunk, Answers(0))
        signals = np.full((2, cases.count), np.nan)
        with np.errstate(all="ignore"):
            columns.generate()
            if not columns.is_empty:
                scores = self._score_calls(columns)
                measured = _ScoreSignals(columns, scores).measure_signals()
                signals[:, chunk.rows] = measured
        return signals

    def _score_calls(self, columns: Columns) -> dict[str, Scores]:
        """Ask for the scores of each call of the block."""
        found: dict[str, Scores] = {}
        evaluator = columns.evaluator
        for let in columns.spec.code.straight or ():
            call = model_call(let.value, self._program)
            value = let.value if call is None else call.arguments[0]
            column = evaluator.column(evaluator.value(value, None, columns.scope), None)
            if call is not None:
                scores = self._scorers[call.function](np.array(column))
                found[let.name] = scores
                column = [0] if scores.mean_answer is None else scores.mean_answer
            columns.bind(let.name, column)
        return found


class _ScoreSignals:
    """Judges cases by scores instead of answers."""

    def __init__(self, columns: Columns, scores: dict[str, Scores]) -> None:
        self.columns, self.scores = columns, scores
        self.spec, self.evaluator = columns.spec, columns.evaluator
        self.count = len(columns.chunk.rows)

    def measure_signals(self) -> Array:
        """Return margin and trend of the cases that are still here."""
        trend = self._measure_trend()
        if all(one.classes is None for one in self.scores.values()):
            return np.stack([trend, trend])
        margin, chance = self._measure_margin()
        return np.stack([margin, np.where(np.isnan(trend), chance, trend)])

    def _measure_margin(self) -> tuple[Array, Array]:
        """Return the margins, and the chance of a violation if answers were drawn."""
        known = {n: s for n, s in self.scores.items() if s.classes is not None}
        sizes = [range(one.sureness.shape[1]) for one in known.values()]
        if np.prod([len(size) for size in sizes]) > _MOST:
            raise Unscored(f"there are more than {_MOST} combinations of answers")
        good, bad = np.full((2, self.count), -np.inf)
        chance = np.zeros(self.count)
        for places in product(*sizes):
            scope = dict(self.columns.scope)
            sure, share = np.zeros(self.count), np.ones(self.count)
            for (name, one), place in zip(known.items(), places, strict=True):
                assert one.classes is not None
                column = np.repeat(np.array([one.classes[place]]), self.count)
                scope[name] = self.columns.chunk.cell(column, None)
                sure = sure + one.sureness[:, place]
                share = share * one.shares[:, place]
            holds = self._evaluate_ensures(scope)
            good = np.where(holds, np.maximum(good, sure), good)
            bad = np.where(holds, bad, np.maximum(bad, sure))
            chance += np.where(holds, 0.0, share)
        return bad - good, chance

    def _evaluate_ensures(self, scope: Scope) -> Array:
        """Return which cases hold with these answers."""
        self._set_later_variables(scope)
        holds = np.ones(self.count, dtype=bool)
        for condition in self.spec.ensures:
            holds &= self.evaluator.truth(condition.test, None, scope)
        return holds

    def _set_later_variables(self, scope: Scope) -> None:
        for let in self.spec.later_variables:
            value = self.evaluator.value(let.value, None, scope)
            scope[let.name] = self.columns.chunk.cell(value, None)

    def _measure_trend(self) -> Array:
        """Return by how much the mean answers miss what is ensured; NaN for names."""
        if any(one.mean_answer is None for one in self.scores.values()):
            return np.full(self.count, np.nan)
        scope = dict(self.columns.scope)
        self._set_later_variables(scope)
        held = [self._measure_distance(c.test, scope) for c in self.spec.ensures]
        missed: Array = -np.min(held, axis=0)
        return missed

    def _measure_distance(self, expr: core.Expr, scope: Scope) -> Array:
        """Return by how much an expression holds; below 0 where it does not."""
        match expr:
            case core.Not(operand=operand):
                return -self._measure_distance(operand, scope)
            case core.Logic():
                left = self._measure_distance(expr.left, scope)
                right = self._measure_distance(expr.right, scope)
                if expr.operator == "&&":
                    return np.minimum(left, right)
                return np.maximum(-left if expr.operator == "==>" else left, right)
            case core.Compare():
                sides = [
                    np.asarray(self.evaluator.value(side, None, scope))
                    for side in (expr.left, expr.right)
                ]
                if all(s.dtype.kind in "biuf" and s.ndim < 2 for s in sides):
                    left, right = (side.astype(np.float64) for side in sides)
                    held = np.broadcast_to(
                        comparison_margin(expr.operator, left, right), self.count
                    )
                    if not (unknown := np.isnan(held)).any():
                        return held
                    return np.where(unknown, self._decide_plainly(expr, scope), held)
            case _:
                pass
        return self._decide_plainly(expr, scope)

    def _decide_plainly(self, expr: core.Expr, scope: Scope) -> Array:
        """Return the distance of what has none: names, NaN, infinities."""
        return np.where(self.evaluator.truth(expr, None, scope), 1.0, -1.0)


def comparison_margin(operator: str, left: Any, right: Any) -> Any:
    """Return by how much a comparison of numbers, in arrays or tensors, holds."""
    more = right - left
    match operator:
        case "<=" | "<":
            return more
        case ">=" | ">":
            return -more
        case "==":
            return -abs(more)
        case _:
            return abs(more)
