"""Look for a violation where scores fall fastest along a path.

Random cases seldom cross a decision, and cases that cross it seldom do so the wrong way. So
points are moved onto the decision first (between two points on either side of it there is one),
and those at which `f` falls fastest are kept and changed, generation by generation. Around the
steepest points cases are made: the call that comes first a little before the point, the other a
little behind it, by steps of many sizes. Only a case that breaks the property on the real model
counts.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from nomos.device import Array
from nomos.verify.engines.paths.forms import Form
from nomos.verify.engines.paths.traces import Path, Paths
from nomos.verify.engines.search import Deadline
from nomos.verify.question.cases import AskedCases, Variables, one_case, size_of
from nomos.verify.question.formulas import evaluate, linear

_DRAWN, _KEPT, _CHILDREN = 4000, 300, 4
_GENERATIONS, _PATIENCE, _EVERY = 60, 12, 4
_TRIED = 24  # points around which cases are made
_SHARE = 0.1  # of the time
_PARTS = np.array([1, 0.3, 0.1, 0.03, 0.01, 1e-3, 1e-4, 1e-6])  # of the largest step
_BEFORE = np.array([0.02, 0.25, 0.5, 0.75, 0.98])  # which part of a step lies before
_HALVINGS = 40


class Steepest:
    """Points at which `f` falls, and the cases around them."""

    def __init__(self, cases: AskedCases, paths: Paths, path: Path) -> None:
        self.cases, self.paths, self.path = cases, paths, path
        self.rng = np.random.default_rng(0)
        spans = paths.high - paths.low
        self.spans = {n: float(spans[at]) for n, at in paths.places.items()}

    def find(self, data: Array, limits: Deadline) -> dict[str, Any] | None:
        """Return a case that breaks the property, if any is met."""
        if not self.path.changes:
            return None
        share = Deadline(_SHARE * limits.seconds, 0.0)
        points = self._cross(self._draw(data), self._draw(data))
        slopes, best, idle = self._fall(points), np.inf, 0
        for generation in range(_GENERATIONS):
            if not len(slopes) or idle > _PATIENCE or share.are_up or limits.are_up:
                break
            order = np.argsort(slopes, kind="stable")[:_KEPT]
            points, slopes = {n: v[order] for n, v in points.items()}, slopes[order]
            idle = 0 if slopes[0] < best else idle + 1
            best = float(slopes[0])
            if generation % _EVERY == 0:
                found = self.try_points(points, slopes)
                if found is not None:
                    return found
            children = self._mutate(points)
            children = self._cross(children, self._mutate(children, far=True))
            points = {n: np.concatenate([v, children[n]]) for n, v in points.items()}
            slopes = np.concatenate([slopes, self._fall(children)])
        return self.try_points(points, slopes) if len(slopes) else None

    def ask_corners(self, corners: Array) -> dict[str, Any] | None:
        """Try the points at which bounds are reached, moved onto the decision."""
        count = len(corners)
        points = {
            n: one.sample(self.rng, count) for n, one in self.cases.space.ranges.items()
        }
        for name, at in self.paths.places.items():
            points[name] = corners[:, at]
        if not self.path.changes:
            return self._ask_records(points)
        points = self._cross(points, self._mutate(points, far=True))
        slopes = self._fall(points)
        return self.try_points(points, slopes) if len(slopes) else None

    def _ask_records(self, points: Variables) -> dict[str, Any] | None:
        """Try points as the inputs of cases, where there is one call."""
        count = size_of(points)
        variables = self._begin(points, count)
        ok = self.cases.find_allowed(variables, count)
        variables = {n: v[ok] for n, v in variables.items()}
        bad = self.cases.find_broken(variables, int(ok.sum()))
        return one_case(variables, int(np.argmax(bad))) if bad.any() else None

    def _draw(self, data: Array) -> Variables:
        """Return points of the box: rows of the data, random ones, and corners."""
        names, rng = self.cases.space.ranges, self.rng
        points = {n: one.sample(rng, _DRAWN) for n, one in names.items()}
        own = data[self.cases.space.inside(data)]
        rows = own[rng.integers(0, len(own), _DRAWN // 2)] if len(own) else own
        for name, one in names.items():
            points[name][: len(rows)] = one.decode_values(rows)
        for name, at in self.paths.places.items():
            low, high = self.paths.low[at], self.paths.high[at]
            values = points[name].astype(float)
            tail = rng.random(_DRAWN // 4)
            values[-len(tail) :] = np.where(tail < 0.5, low, high)
            points[name] = np.clip(values, low, high)
        return points

    def _mutate(self, points: Variables, *, far: bool = False) -> Variables:
        """Return changed copies: some features anew, or moved."""
        rng, count = self.rng, len(next(iter(points.values())))
        keep = np.arange(count) if far else np.repeat(np.arange(count), _CHILDREN)
        share = 1.0 if far else rng.choice([0.05, 0.15, 0.4])
        made = {}
        for name, one in self.cases.space.ranges.items():
            old = points[name][keep]
            if name not in self.spans:
                fresh = one.sample(rng, len(keep)) if not far else old
            else:
                at = self.paths.places[name]
                low, high = self.paths.low[at], self.paths.high[at]
                size = self.spans[name] * (1.0 if far else rng.choice([0.02, 0.1, 0.4]))
                fresh = old + size * rng.normal(size=len(keep))
                anew = rng.random(len(keep)) < (0 if far else 0.3)
                fresh = np.clip(
                    np.where(anew, rng.uniform(low, high, len(keep)), fresh), low, high
                )
            made[name] = np.where(rng.random(len(keep)) < share, fresh, old)
        return made

    def _forward(self, points: Variables) -> tuple[Array, Array]:
        """Return `f` and its slope in the direction of the path."""
        model, twins = self.paths.model, self.path.twins
        count = len(next(iter(points.values())))
        rows = self.cases.space.rows(points, count, np.dtype(float))
        sums = model.columns.transform(rows).astype(float) @ model.weights[0].T
        sums = sums + model.biases[0]
        changes = np.broadcast_to(twins.direction, sums.shape)
        for weight, bias in zip(model.weights[1:], model.biases[1:], strict=True):
            changes = np.where(sums > 0, changes, 0) @ weight.T
            sums = np.maximum(sums, 0) @ weight.T + bias
        return sums @ self.path.weights, changes @ self.path.weights

    def _fall(self, points: Variables) -> Array:
        return self._forward(points)[1]

    def _cross(self, one: Variables, two: Variables) -> Variables:
        """Return points of the decision: between those on either side of it."""
        constants = self.path.asked.constants
        if len(constants) == 1:
            return one
        level = (constants[2] - constants[1]) / 2
        sides = [self._forward(points)[0] > level for points in (one, two)]
        apart = np.flatnonzero(sides[0] != sides[1])
        one, two = ({n: v[apart] for n, v in p.items()} for p in (one, two))
        two = {n: two[n] if n in self.spans else one[n] for n in one}
        start = sides[0][apart]
        for _ in range(_HALVINGS if len(apart) else 0):
            middle = {
                n: (one[n] + two[n]) / 2 if n in self.spans else one[n] for n in one
            }
            same = (self._forward(middle)[0] > level) == start
            one = {n: np.where(same, middle[n], v) for n, v in one.items()}
            two = {n: np.where(same, v, middle[n]) for n, v in two.items()}
        return one

    def try_points(self, points: Variables, slopes: Array) -> dict[str, Any] | None:
        """Make cases around the points with the steepest falls, and ask the model."""
        order = np.argsort(slopes, kind="stable")[:_TRIED]
        order = order[slopes[order] < 0]
        if len(self.path.changes) != 1 or not len(order):
            return None
        change, sign = self.path.changes[0]
        near, far = (abs(end) for end in sorted((change.low, change.high), key=abs))
        if change.low < 0 < change.high:
            near, far = 0.0, change.high if sign > 0 else -change.low
        steps = np.maximum(far * _PARTS, near) * sign
        grid = np.array([(s, b) for s in np.unique(steps) for b in _BEFORE])
        chosen = np.repeat(order, len(grid))
        step, before = np.tile(grid, (len(order), 1)).T
        variables = self._variables(
            {n: v[chosen] for n, v in points.items()}, step, before
        )
        count = len(chosen)
        ok = self.cases.find_allowed(variables, count)
        for name, values in variables.items():
            if "." in name:
                ok &= self.cases.space.range_of(name).has(values)
        variables = {n: v[ok] for n, v in variables.items()}
        bad = self.cases.find_broken(variables, int(ok.sum()))
        return one_case(variables, int(np.argmax(bad))) if bad.any() else None

    def _variables(self, points: Variables, step: Array, before: Array) -> Variables:
        """Return the variables of cases whose calls lie before and behind points."""
        cases = self.cases
        variables = self._begin(points, len(step))
        change, _ = self.path.changes[0]
        one, two = (linear(call[change.feature]) for call in cases.question.calls)
        start = points[change.feature] - before * step
        self._solve(variables, one, set(), start)
        self._solve(variables, two, set(one[0]), _value(one, variables) + step)
        return variables

    def _begin(self, points: Variables, count: int) -> Variables:
        """Return the variables of cases whose inputs are all at points, draws near 0."""
        cases = self.cases
        variables = {
            f"{name}.{feature}": self._held(feature, values)
            for name in cases.question.inputs
            for feature, values in points.items()
        }
        for draw in cases.question.draws:
            low = evaluate(draw.low, variables, count)
            high = evaluate(draw.high, variables, count)
            variables[draw.variable] = np.clip(np.zeros(count, low.dtype), low, high)
        return variables

    def _solve(
        self, variables: Variables, form: Form, kept: set[str], wanted: Array
    ) -> None:
        """Set one variable so that a sum has a value, if there is one to be set."""
        free = [n for n, w in form[0].items() if w and n not in kept]
        if not free:
            return
        name = free[0]
        rest = _value(form, variables) - form[0][name] * variables[name]
        value = (wanted - rest) / form[0][name]
        if "." in name:
            low, high = (
                getattr(self.cases.space.range_of(name), e) for e in ("low", "high")
            )
            value = self._held(name.partition(".")[2], np.clip(value, low, high))
        else:
            draw = next(d for d in self.cases.question.draws if d.variable == name)
            low, high = (
                evaluate(e, variables, len(value)) for e in (draw.low, draw.high)
            )
            value = np.clip(value, low, high)
            value = value if draw.is_real else np.rint(value).astype(np.int64)
        variables[name] = value

    def _held(self, feature: str, values: Array) -> Array:
        """Return values as rows hold them, whole where the feature is."""
        one = self.cases.space.ranges[feature]
        if one.names is not None:
            return values
        held: Array = np.clip(values, one.low, one.high)
        if one.is_real:
            return self.cases.round_as_rows(held)
        return np.asarray(np.rint(held), np.int64)


def _value(form: Form, variables: Variables) -> Array:
    total: Array = np.asarray(form[1])
    for name, weight in form[0].items():
        if weight:
            total = total + weight * variables[name]
    return total
