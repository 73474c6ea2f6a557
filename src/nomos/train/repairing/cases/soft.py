"""What expressions come to that depend on the model's answers, whatever those are."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from nomos.device import Array
from nomos.lang import core
from nomos.models.formats.torch import need_torch
from nomos.train.repairing.cases.drawn import TrainingCases, Untrainable
from nomos.verify.question.formulas import ARITHMETIC

_MOST_TOGETHER = 1024  # combinations of labels that are looked at one by one
_MOST_TRIED = 256  # combinations of labels, for all that is asked in a case
_APPLY: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    **ARITHMETIC,
    "&&": np.logical_and,
    "||": np.logical_or,
    "==>": lambda left, right: np.logical_or(np.logical_not(left), right),
}


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """A value that is one of several, by the highest score: `values` are (1 or n, c)."""

    values: Array
    scores: Any  # a tensor (n, c)
    asks: frozenset[int]
    plain: bool  # straight from the model, so that two of them can be compared by class


class SoftValues:
    """Works out expressions of a spec, given what the model answers to its asks.

    A value is an array, a choice, or a tensor of numbers.
    """

    def __init__(self, cases: TrainingCases, answers: Mapping[int, Any]) -> None:
        self.cases = cases
        self.answers = answers

    def of(self, expr: core.Expr) -> Any:
        """Return the value of an expression."""
        if id(expr) in self.answers:
            return self.answers[id(expr)]
        if id(expr) in self.cases.hard:
            return np.asarray(self.cases.hard[id(expr)])
        match expr:
            case core.Variable(name=name):
                return self.of(self.cases.soft[name])
            case core.Negate(operand=operand):
                zero = np.zeros(len(self.cases))
                return self._applied(expr, "-", zero, self.of(operand))
            case core.Not(operand=operand):
                no = np.zeros(len(self.cases), dtype=bool)
                return self._applied(expr, "==", no, self.of(operand))
            case core.Arithmetic() | core.Compare() | core.Logic():
                sides = self.of(expr.left), self.of(expr.right)
                return self._applied(expr, expr.operator, *sides)
            case _:
                raise _untrainable(expr)

    def _applied(self, expr: core.Expr, sign: str, left: Any, right: Any) -> Any:
        found = joint(sign, left, right)
        if found is not None:
            return found
        if not isinstance(expr, core.Arithmetic | core.Negate):
            raise _untrainable(expr)
        return _APPLY[sign](as_numbers(left), as_numbers(right))


def _untrainable(expr: core.Expr) -> Untrainable:
    return Untrainable(f"`{type(expr).__name__}` of what the model answers")


def joint(sign: str, left: Any, right: Any) -> Any:
    """Apply an operator to arrays and choices, of these to each combination.

    None where there are too many of them, or where a value is a tensor.
    """
    apply = _APPLY[sign]
    match left, right:
        case np.ndarray(), np.ndarray():
            return np.asarray(apply(left, right))
        case Choice(), np.ndarray():
            values = apply(left.values, right.reshape(-1, 1))
            return Choice(values, left.scores, left.asks, False)
        case np.ndarray(), Choice():
            values = apply(left.reshape(-1, 1), right.values)
            return Choice(values, right.scores, right.asks, False)
        case Choice(), Choice() if not left.asks & right.asks:
            size = left.scores.shape[1] * right.scores.shape[1]
            if size > _MOST_TOGETHER:
                return None
            values = apply(left.values[:, :, None], right.values[:, None, :])
            scores = left.scores[:, :, None] + right.scores[:, None, :]
            return Choice(
                np.reshape(values, (len(values), size)),
                scores.reshape(len(scores), size),
                left.asks | right.asks,
                False,
            )
        case _:
            return None


def as_numbers(value: Any) -> Any:
    """Return a value as a tensor of numbers; of a choice, those to be expected."""
    if isinstance(value, np.ndarray):
        return _tensor(value, "values")
    if isinstance(value, Choice):
        labels = _tensor(value.values, "labels")
        return (value.scores.softmax(dim=1) * labels).sum(dim=1)
    return value


def _tensor(values: Array, what: str) -> Any:
    if values.dtype.kind not in "biuf":
        raise Untrainable(f"{what} that are no numbers")
    return need_torch().as_tensor(values.astype(np.float32))


def holds(cases: TrainingCases, answers: Mapping[int, Any]) -> Array:
    """Tell which cases would pass if the model answered so, ask by ask."""
    result = np.ones(len(cases), dtype=bool)
    values = SoftValues(cases, {key: np.asarray(a) for key, a in answers.items()})
    with np.errstate(all="ignore"):
        for condition in cases.spec.ensures:
            value = np.asarray(values.of(condition.test))
            result &= np.broadcast_to(value.astype(bool), result.shape)
    return result


def satisfying(
    cases: TrainingCases, values: Array, scores: Mapping[int, Array]
) -> tuple[dict[int, Array], Array]:
    """Return, ask by ask, the most likely labels that satisfy the spec together.

    `values` are the labels there are, `scores` how likely the model finds each of them,
    as logarithms (cases, labels). The second result says for which cases there are any.
    """
    keys = list(cases.asks)
    if len(values) ** len(keys) > _MOST_TRIED:
        raise Untrainable("too many combinations of labels")
    best = np.full(len(cases), -np.inf)
    chosen = np.zeros((len(keys), len(cases)), dtype=np.int64)
    for places in itertools.product(range(len(values)), repeat=len(keys)):
        answers = {key: values[place] for key, place in zip(keys, places, strict=True)}
        likely = sum(scores[k][:, p] for k, p in zip(keys, places, strict=True))
        better = holds(cases, answers) & (likely > best)
        best = np.where(better, likely, best)
        chosen[:, better] = np.array(places)[:, None]
    found: Array = np.isfinite(best)
    return {key: values[chosen[at]] for at, key in enumerate(keys)}, found
