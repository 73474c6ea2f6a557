"""Which labels would satisfy a spec, for cases in which the model's own do not."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from nomos.lang import core
from nomos.train.repairing.cases.drawn import TrainingCases, Untrainable

Array = np.ndarray[Any, Any]
_MOST_TOGETHER = 256  # combinations of labels that are tried
_APPLY: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "%": operator.mod,
}


def holds(cases: TrainingCases, answers: Mapping[int, Any]) -> Array:
    """Tell which cases would pass if the model answered so, ask by ask."""
    result = np.ones(len(cases), dtype=bool)
    with np.errstate(all="ignore"):
        for condition in cases.spec.ensures:
            value = np.asarray(_value(condition.test, cases, answers))
            result &= np.broadcast_to(value.astype(bool), result.shape)
    return result


def _value(expr: core.Expr, cases: TrainingCases, answers: Mapping[int, Any]) -> Any:
    if id(expr) in answers:
        return answers[id(expr)]
    if id(expr) in cases.hard:
        return np.asarray(cases.hard[id(expr)])
    match expr:
        case core.Variable(name=name):
            return _value(cases.soft[name], cases, answers)
        case core.Not(operand=operand):
            return ~np.asarray(_value(operand, cases, answers)).astype(bool)
        case core.Negate(operand=operand):
            return -np.asarray(_value(operand, cases, answers))
        case core.Arithmetic() | core.Compare():
            left = _value(expr.left, cases, answers)
            return _APPLY[expr.operator](left, _value(expr.right, cases, answers))
        case core.Logic():
            one, other = (
                np.asarray(_value(side, cases, answers)).astype(bool)
                for side in (expr.left, expr.right)
            )
            if expr.operator == "&&":
                return one & other
            return (one if expr.operator == "||" else ~one) | other
        case _:
            raise Untrainable(f"`{type(expr).__name__}` of what the model answers")


def satisfying(
    cases: TrainingCases, values: Array, scores: Mapping[int, Array]
) -> tuple[dict[int, Array], Array]:
    """Return, ask by ask, the most likely labels that satisfy the spec together.

    `values` are the labels there are, `scores` how likely the model finds each of them,
    as logarithms (cases, labels). The second result says for which cases there are any.
    """
    keys = list(cases.asks)
    if len(values) ** len(keys) > _MOST_TOGETHER:
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
