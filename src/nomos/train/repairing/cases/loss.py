"""What an `ensures` asks for, as a loss: by how much it fails, in the model's scores.

Each part of an `ensures` has a *margin*, positive where it holds and negative where it
does not. A label is the class of the highest score, so for labels the margin is the best
sum of scores by which the part would hold, less the best by which it would not. `a <= b`
between two labels of one kind asks for more, and by that for something smoother: nowhere
may `a` prefer a higher class to a lower one by more than `b` does; this implies it. In
`a ==> b`, `b` has to hold as clearly as `a` does; this, too, is smoother and implies it.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from nomos.lang import core
from nomos.models.formats.torch import need_torch
from nomos.train.repairing.cases.answers import Answering, Labels, Number, Threshold
from nomos.train.repairing.cases.drawn import TrainingCases, Untrainable

Array = np.ndarray[Any, Any]
Tensor = Any
_MOST_TOGETHER = 1024  # combinations of labels that are looked at one by one
_CERTAIN = 1e3  # the margin of what holds whatever the scores
_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_CALCULATE: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "%": operator.mod,
}


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """A value that is one of several, by the highest score: `values` are (1 or n, c)."""

    values: Array
    scores: Tensor  # (n, c)
    asks: frozenset[int]
    plain: bool  # straight from the model, so that two of them can be compared by class


class SpecLoss:
    """The loss of one spec's cases, given what the model puts out for its asks."""

    def __init__(
        self,
        cases: TrainingCases,
        outputs: Mapping[int, Tensor],
        answering: Mapping[str, Answering],
        margin: float,
    ) -> None:
        self.torch = need_torch()
        self.cases = cases
        self.outputs = outputs
        self.answering = answering
        self.wanted = margin

    def losses(self) -> Tensor:
        """Return by how much each case fails, 0 where all holds with some margin."""
        tests = [condition.test for condition in self.cases.spec.ensures]
        soft = [test for test in tests if id(test) not in self.cases.hard]
        if not soft:
            raise Untrainable("no `ensures` depends on the model")
        return sum(self._loss(test) for test in soft)

    def _loss(self, expr: core.Expr) -> Tensor:
        match expr:
            case core.Logic(operator="&&", left=left, right=right):
                parts = [side for side in (left, right) if not self._is_hard(side)]
                return sum(self._loss(side) for side in parts)
            case core.Logic(operator="==>", left=left, right=right):
                return self._implied(left, right)
            case core.Compare(operator="<=" | ">=" | "=="):
                sides = self._value(expr.left), self._value(expr.right)
                low, high = sides[::-1] if expr.operator == ">=" else sides
                if _are_alike(low, high) and expr.operator != "==":
                    return self._ordered(low, high)
                if _are_alike(low, high):
                    return self._margin_loss(expr) + self._apart(low, high)
            case _:
                pass
        return self._margin_loss(expr)

    def _margin_loss(self, expr: core.Expr) -> Tensor:
        return self._fault(self.wanted - self._margin(expr))

    def _fault(self, missing: Tensor) -> Tensor:
        """Return the square of what is missing: large faults matter, small ones less."""
        return self.torch.relu(missing).square()

    def _implied(self, premise: core.Expr, conclusion: core.Expr) -> Tensor:
        if self._is_hard(premise):
            holds = self.torch.as_tensor(np.array(self._hard(premise), dtype=bool))
            return self._loss(conclusion) * holds
        if self._is_hard(conclusion):
            fails = ~np.array(self._hard(conclusion), dtype=bool)
            loss = self._fault(self.wanted + self._margin(premise))
            return loss * self.torch.as_tensor(fails)
        return self._fault(self._margin(premise) - self._margin(conclusion))

    def _ordered(self, low: Choice, high: Choice) -> Tensor:
        """Ask that `high` prefers each class to the one below at least as `low` does."""
        order = np.argsort(low.values[0]).tolist()
        steps = [c.scores[:, order].diff(dim=1) for c in (low, high)]
        return self._fault(self.wanted + steps[0] - steps[1]).sum(dim=1)

    def _apart(self, one: Choice, other: Choice) -> Tensor:
        """Return how far two answers prefer each class differently, as shares of one."""
        shares = [c.scores.softmax(dim=1) for c in (one, other)]
        return (shares[0] - shares[1]).square().sum(dim=1)

    def _margin(self, expr: core.Expr) -> Tensor:
        if self._is_hard(expr):
            holds = np.array(self._hard(expr), dtype=bool)
            signs = np.where(holds, _CERTAIN, -_CERTAIN).astype(np.float32)
            return self.torch.as_tensor(signs)
        match expr:
            case core.Not(operand=operand):
                return -self._margin(operand)
            case core.Logic(operator=sign, left=left, right=right):
                one, other = self._margin(left), self._margin(right)
                if sign == "&&":
                    return self.torch.minimum(one, other)
                return self.torch.maximum(one if sign == "||" else -one, other)
            case core.Compare(operator=sign, left=left, right=right):
                return self._compared(sign, self._value(left), self._value(right))
            case _:
                return self._truth(self._value(expr))

    def _compared(self, sign: str, left: Any, right: Any) -> Tensor:
        choice = _joint(left, right, _COMPARE[sign], self.torch)
        if choice is not None:
            return self._truth(choice)
        one, other = self._number(left), self._number(right)
        match sign:
            case "<=" | "<":
                return other - one
            case ">=" | ">":
                return one - other
            case "==":
                return -(one - other).abs()
            case _:
                return (one - other).abs()

    def _truth(self, value: Any) -> Tensor:
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

    def _value(self, expr: core.Expr) -> Any:
        """Return a value: an array where it is hard, else a choice or a tensor."""
        if id(expr) in self.outputs:
            return self._answer(id(expr))
        if self._is_hard(expr):
            return np.asarray(self._hard(expr))
        match expr:
            case core.Variable(name=name):
                return self._value(self.cases.soft[name])
            case core.Negate(operand=operand):
                zero = np.zeros(len(self.cases))
                return self._calculated("-", zero, self._value(operand))
            case core.Arithmetic(operator=sign, left=left, right=right):
                return self._calculated(sign, self._value(left), self._value(right))
            case core.Compare(operator=sign, left=left, right=right):
                joint = _joint(
                    self._value(left), self._value(right), _COMPARE[sign], self.torch
                )
                if joint is not None:
                    return joint
            case _:
                pass
        raise Untrainable(f"`{type(expr).__name__}` of what the model answers")

    def _calculated(self, sign: str, left: Any, right: Any) -> Any:
        joint = _joint(left, right, _CALCULATE[sign], self.torch)
        if joint is not None:
            return joint
        return _CALCULATE[sign](self._number(left), self._number(right))

    def _answer(self, key: int) -> Any:
        output = self.outputs[key]
        match self.answering[self.cases.asks[key].function]:
            case Labels(values=values):
                return Choice(values[None], output, frozenset({key}), plain=True)
            case Threshold(values=values, at=at):
                above = output.reshape(len(output)) - at
                scores = self.torch.stack([-above / 2, above / 2], dim=1)
                return Choice(values[None], scores, frozenset({key}), plain=True)
            case Number(column=column):
                return (
                    output.reshape(len(output)) if column is None else output[:, column]
                )

    def _number(self, value: Any) -> Tensor:
        """Return a value as numbers; of a choice, those to be expected."""
        if isinstance(value, Choice):
            if value.values.dtype.kind not in "biuf":
                raise Untrainable("labels that are no numbers")
            values = self.torch.as_tensor(value.values.astype(np.float32))
            return (value.scores.softmax(dim=1) * values).sum(dim=1)
        if isinstance(value, np.ndarray):
            if value.dtype.kind not in "biuf":
                raise Untrainable("values that are no numbers")
            return self.torch.as_tensor(value.astype(np.float32))
        return value

    def _is_hard(self, expr: core.Expr) -> bool:
        return id(expr) in self.cases.hard

    def _hard(self, expr: core.Expr) -> Any:
        return self.cases.hard[id(expr)]


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


def _joint(
    left: Any, right: Any, apply: Callable[[Any, Any], Any], torch: Any
) -> Choice | None:
    """Apply an operator to choices, combination by combination; None where it cannot be."""
    if isinstance(left, Choice) and isinstance(right, np.ndarray):
        return Choice(apply(left.values, right[:, None]), left.scores, left.asks, False)
    if isinstance(left, np.ndarray) and isinstance(right, Choice):
        values = apply(left[:, None], right.values)
        return Choice(values, right.scores, right.asks, False)
    if not (isinstance(left, Choice) and isinstance(right, Choice)):
        return None
    size = left.scores.shape[1] * right.scores.shape[1]
    if size > _MOST_TOGETHER or left.asks & right.asks:
        return None
    values = apply(left.values[:, :, None], right.values[:, None, :])
    scores = left.scores[:, :, None] + right.scores[:, None, :]
    return Choice(
        np.reshape(values, (len(values), size)),
        scores.reshape(len(scores), size),
        left.asks | right.asks,
        False,
    )
