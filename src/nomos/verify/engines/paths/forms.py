"""Between what sums of variables are, by the ranges of the variables and the conditions."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from nomos.errors import NotProvable
from nomos.lang import core
from nomos.verify.question.cases import AskedCases
from nomos.verify.question.formulas import SIDES, difference, linear, ways

Form = tuple[dict[str, float], float]  # weights of variables, and a constant


class FormRanges:
    """Bounds sums of the variables of a question's cases."""

    def __init__(self, cases: AskedCases) -> None:
        self.cases = cases
        guards = cases.question.guards
        self.planes = [planes for guard in guards for planes in _planes(guard)]

    def bound(self, form: Form) -> tuple[float, float]:
        """Return between what a sum of variables is, by their ranges and the guards."""
        return -self._most(_times(form, -1.0)), self._most(form)

    def _most(self, form: Form) -> float:
        """Bound a sum from above: with each guard, taken so often that a variable cancels."""
        most = self._most_of_box(form)
        for choice in self.planes:
            found = -np.inf
            for planes in choice:
                own = most
                for plane in planes:
                    for name, weight in plane[0].items():
                        times = -form[0].get(name, 0.0) / weight if weight else 0.0
                        if times > 0:
                            own = min(own, self._most_of_box(_add(form, plane, times)))
                found = max(found, own)
            most = min(most, found)
        # What is calculated of variables is rounded, and so is this.
        return most + 1e-14 * (abs(most) + abs(form[1]))

    def _most_of_box(self, form: Form) -> float:
        total = form[1]
        for name, weight in form[0].items():
            if weight:
                low, high = self._range(name)
                total += max(weight * low, weight * high)
        return total

    def _range(self, variable: str) -> tuple[float, float]:
        for draw in self.cases.question.draws:
            if draw.variable == variable:
                low = _times(linear(draw.low), -1.0)
                return -self._most_of_box(low), self._most_of_box(linear(draw.high))
        one = self.cases.space.range_of(variable)
        return float(one.low), float(one.high)


def _planes(guard: core.Expr) -> Iterator[list[list[Form]]]:
    """Yield the ways in which a condition of variables holds; each is sums that are >= 0."""

    def compared(test: core.Compare, relation: str) -> list[list[Form]]:
        form = linear(difference(test))
        return [[_times(form, sign) for sign, _ in way] for way in SIDES[relation]]

    if isinstance(guard, core.Logic) and guard.operator == "&&":
        yield from _planes(guard.left)
        yield from _planes(guard.right)
        return
    try:
        yield ways(guard, True, compared)
    except NotProvable:  # a condition less is more cases
        return


def _times(form: Form, factor: float) -> Form:
    return {n: factor * w for n, w in form[0].items()}, factor * form[1]


def _add(one: Form, two: Form, times: float) -> Form:
    names = one[0] | two[0]
    weights = {n: one[0].get(n, 0.0) + times * two[0].get(n, 0.0) for n in names}
    weights = {n: 0.0 if abs(w) < 1e-300 else w for n, w in weights.items()}
    return weights, one[1] + times * two[1]
