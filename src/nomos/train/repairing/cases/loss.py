"""What an `ensures` asks for, as a loss: by how much it fails, in the model's scores.

Each part of an `ensures` has a *margin*, positive where it holds and negative where it
does not. A label is the class of the highest score, so for labels the margin is the best
sum of scores by which the part would hold, less the best by which it would not. `a <= b`
between two labels of one kind asks for more, and by that for something smoother: nowhere
may `a` prefer a higher class to a lower one by more than `b` does; this implies it. In
`a ==> b`, `b` has to hold as clearly as `a` does; this, too, is smoother and implies it.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from nomos.device import Array
from nomos.engine.meaning.operators import rank_names
from nomos.engine.meaning.vectors import ARITHMETIC
from nomos.lang import core
from nomos.models.formats.torch import need_torch
from nomos.search.margins import comparison_margin
from nomos.train.repairing.cases.answers import Answering, Labels, Number
from nomos.train.repairing.cases.drawn import TrainingCases, Untrainable

Tensor = Any
_CERTAIN = 1e3  # the margin of what holds whatever the scores
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

    def value_of(self, expr: core.Expr) -> Any:
        """Return the value of an expression."""
        if id(expr) in self.answers:
            return self.answers[id(expr)]
        if id(expr) in self.cases.hard:
            return np.asarray(self.cases.hard[id(expr)])
        match expr:
            case core.Variable(name=name):
                return self.value_of(self.cases.soft[name])
            case core.Negate(operand=operand):
                zero = np.zeros(len(self.cases))
                return self._apply_operator(expr, "-", zero, self.value_of(operand))
            case core.Not(operand=operand):
                no = np.zeros(len(self.cases), dtype=bool)
                return self._apply_operator(expr, "==", no, self.value_of(operand))
            case core.Arithmetic() | core.Compare() | core.Logic():
                sides = self._sides_of(expr)
                return self._apply_operator(expr, expr.operator, *sides)
            case _:
                raise _cannot_train(expr)

    def _sides_of(
        self, expr: core.Arithmetic | core.Compare | core.Logic
    ) -> tuple[Any, Any]:
        """Return the values of two sides; names with an order as their places in it."""
        left, right = self.value_of(expr.left), self.value_of(expr.right)
        levels = expr.levels if isinstance(expr, core.Compare) else ()
        return _rank_values(levels, left), _rank_values(levels, right)

    def _apply_operator(self, expr: core.Expr, sign: str, left: Any, right: Any) -> Any:
        found = apply_jointly(sign, left, right)
        if found is not None:
            return found
        if not isinstance(expr, core.Arithmetic | core.Negate):
            raise _cannot_train(expr)
        return _APPLY[sign](as_numbers(left), as_numbers(right))


def _rank_values(levels: tuple[str, ...], value: Any) -> Any:
    names = value.values if isinstance(value, Choice) else value
    if not levels or not isinstance(names, np.ndarray) or names.dtype.kind not in "OU":
        return value
    ranks = rank_names(levels, names)
    return replace(value, values=ranks) if isinstance(value, Choice) else ranks


def _cannot_train(expr: core.Expr) -> Untrainable:
    return Untrainable(f"`{type(expr).__name__}` of what the model answers")


def apply_jointly(sign: str, left: Any, right: Any) -> Any:
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
        return _to_tensor(value, "values")
    if isinstance(value, Choice):
        labels = _to_tensor(value.values, "labels")
        return (value.scores.softmax(dim=1) * labels).sum(dim=1)
    return value


def _to_tensor(values: Array, what: str) -> Any:
    if values.dtype.kind not in "biuf":
        raise Untrainable(f"{what} that are no numbers")
    return need_torch().as_tensor(values.astype(np.float32))


class SpecLoss(SoftValues):
    """The loss of one spec's cases, given what the model puts out for its asks."""

    def __init__(
        self,
        cases: TrainingCases,
        outputs: Mapping[int, Tensor],
        answering: Mapping[str, Answering],
        margin: float,
    ) -> None:
        self.torch = need_torch()
        self.wanted = margin
        answers = {
            key: _answer_of(key, output, answering[cases.asks[key].function])
            for key, output in outputs.items()
        }
        super().__init__(cases, answers)

    def case_losses(self) -> Tensor:
        """Return by how much each case fails, 0 where all holds with some margin."""
        tests = [condition.test for condition in self.cases.spec.ensures]
        soft = [test for test in tests if self._hard_truth(test) is None]
        if not soft:
            raise Untrainable("no `ensures` depends on the model")
        return sum(self._loss_of(test) for test in soft)

    def _loss_of(self, expr: core.Expr) -> Tensor:
        match expr:
            case core.Logic(operator="&&", left=left, right=right):
                parts = [
                    side for side in (left, right) if self._hard_truth(side) is None
                ]
                return sum(self._loss_of(side) for side in parts)
            case core.Logic(operator="==>", left=left, right=right):
                return self._implication_loss(left, right)
            case core.Compare(operator="<=" | ">=" | "=="):
                sides = self._sides_of(expr)
                low, high = sides[::-1] if expr.operator == ">=" else sides
                if _are_alike(low, high) and expr.operator != "==":
                    return self._order_loss(low, high)
                if _are_alike(low, high):
                    return self._margin_loss(expr) + self._share_distance(low, high)
            case _:
                pass
        return self._margin_loss(expr)

    def _margin_loss(self, expr: core.Expr) -> Tensor:
        return self._square_fault(self.wanted - self._margin_of(expr))

    def _square_fault(self, missing: Tensor) -> Tensor:
        """Return the square of what is missing: large faults matter, small ones less."""
        return self.torch.relu(missing).square()

    def _implication_loss(self, premise: core.Expr, conclusion: core.Expr) -> Tensor:
        if (holds := self._hard_truth(premise)) is not None:
            return self._loss_of(conclusion) * self.torch.as_tensor(holds)
        if (holds := self._hard_truth(conclusion)) is not None:
            loss = self._square_fault(self.wanted + self._margin_of(premise))
            return loss * self.torch.as_tensor(~holds)
        return self._square_fault(
            self._margin_of(premise) - self._margin_of(conclusion)
        )

    def _order_loss(self, low: Choice, high: Choice) -> Tensor:
        """Ask that `high` prefers each class to the one below at least as `low` does."""
        order = np.argsort(low.values[0]).tolist()
        steps = [c.scores[:, order].diff(dim=1) for c in (low, high)]
        return self._square_fault(self.wanted + steps[0] - steps[1]).sum(dim=1)

    def _share_distance(self, one: Choice, other: Choice) -> Tensor:
        """Return how far two answers prefer each class differently, as shares of one."""
        shares = [c.scores.softmax(dim=1) for c in (one, other)]
        return (shares[0] - shares[1]).square().sum(dim=1)

    def _margin_of(self, expr: core.Expr) -> Tensor:
        if (holds := self._hard_truth(expr)) is not None:
            signs = np.where(holds, _CERTAIN, -_CERTAIN).astype(np.float32)
            return self.torch.as_tensor(signs)
        match expr:
            case core.Not(operand=operand):
                return -self._margin_of(operand)
            case core.Logic(operator=sign, left=left, right=right):
                one, other = self._margin_of(left), self._margin_of(right)
                if sign == "&&":
                    return self.torch.minimum(one, other)
                return self.torch.maximum(one if sign == "||" else -one, other)
            case core.Compare(operator=sign):
                return self._comparison_margin(sign, *self._sides_of(expr))
            case _:
                return self._truth_margin(self.value_of(expr))

    def _comparison_margin(self, sign: str, left: Any, right: Any) -> Tensor:
        choice = apply_jointly(sign, left, right)
        if choice is not None:
            return self._truth_margin(choice)
        return comparison_margin(sign, as_numbers(left), as_numbers(right))

    def _hard_truth(self, expr: core.Expr) -> Array | None:
        """Return where an expression holds that the model has no say in, else None."""
        value = self.cases.hard.get(id(expr))
        return None if value is None else np.array(value, dtype=bool)

    def _truth_margin(self, value: Any) -> Tensor:
        """Return by how much the truths among a choice's values win."""
        if not isinstance(value, Choice):
            return value  # a number is true where it is not 0; its sign must do
        torch = self.torch
        holds = np.broadcast_to(value.values.astype(bool), value.scores.shape)
        chosen = torch.as_tensor(np.array(holds))
        low = value.scores.detach().amin() - _CERTAIN
        best = torch.where(chosen, value.scores, low).amax(dim=1)
        worst = torch.where(chosen, low, value.scores).amax(dim=1)
        return (best - worst).clamp(-_CERTAIN, _CERTAIN)


def _answer_of(key: int, output: Tensor, answering: Answering) -> Any:
    """Return what the function of an ask answers, as a choice or as numbers."""
    match answering:
        case Labels(values=values):
            scores = answering.score_answers(output)
            return Choice(values[None], scores, frozenset({key}), plain=True)
        case Number():
            return answering.number_of(output)


def _are_alike(low: Any, high: Any) -> bool:
    """Tell whether two values are labels of one model, which can be ordered by class."""
    return (
        isinstance(low, Choice)
        and isinstance(high, Choice)
        and low.plain
        and high.plain
        and low.asks != high.asks
        and low.values.dtype.kind in "biuf"
        and np.array_equal(low.values, high.values)
    )


def which_hold(cases: TrainingCases, answers: Mapping[int, Any]) -> Array:
    """Tell which cases would pass if the model answered so, ask by ask."""
    result = np.ones(len(cases), dtype=bool)
    values = SoftValues(cases, {key: np.asarray(a) for key, a in answers.items()})
    with np.errstate(all="ignore"):
        for condition in cases.spec.ensures:
            value = np.asarray(values.value_of(condition.test))
            result &= np.broadcast_to(value.astype(bool), result.shape)
    return result


def best_labels(
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
        better = which_hold(cases, answers) & (likely > best)
        best = np.where(better, likely, best)
        chosen[:, better] = np.array(places)[:, None]
    found: Array = np.isfinite(best)
    return {key: values[chosen[at]] for at, key in enumerate(keys)}, found
