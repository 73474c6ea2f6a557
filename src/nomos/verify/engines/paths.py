"""Questions about real features of two calls, as questions about points on a straight path.

Two calls see records that differ in some numbers. On the straight path from one record to
the other the scores are continuous, so a violation leaves a trace at some point of the path:
where `f` (a weighed sum of scores) has to be at least `a` at the start and at most `b` at
the end, there is a point with `f` between `a` and `b` whose slope along the whole path is at
most `b - a`. If `a < b` (rounding alone makes it so), the same follows: a path whose slope is
above `b - a` wherever `f` is between them cannot begin above `a` and end below `b`. So one
point and one direction are searched instead of two points.

Where only one number changes, or several and none of them ever falls, each is a direction of
its own. A step may be as small as rounding; then no margin is left for it. If answers that are
so near to each other are all that could break the property, this is what the proof assumes,
and says (`Path.rounding`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from nomos.device import Array
from nomos.errors import NotProvable
from nomos.lang import core
from nomos.structures.model import Layers
from nomos.verify.engines.regions import Regions
from nomos.verify.engines.twins import Conditions, Twins
from nomos.verify.engines.slope import list_forbidden_steps
from nomos.verify.question.cases import AskedCases, list_equal
from nomos.verify.question.conditions import HalfSpace, Violation
from nomos.verify.question.formulas import SIDES, difference, linear, ways
from nomos.verify.question.space import FeatureRange

Form = tuple[dict[str, float], float]  # weights of variables, and a constant


@dataclass(frozen=True, slots=True, eq=False)
class Change:
    """A number that differs between the calls: its values, and by how much they differ."""

    feature: str
    form: Form  # of the difference
    low: float
    high: float
    lost: float  # how far rounding may move it
    slope: Array  # what one more adds to the sums of the first layer


@dataclass(frozen=True, slots=True, eq=False)
class Path:
    """A search for a point: no point that meets the conditions is a proof."""

    twins: Twins
    low: Array
    high: Array
    asked: Conditions
    rounding: float  # answers that are nearer to each other count as equal; 0: none do
    changes: tuple[tuple[Change, float], ...]  # those of the direction, and their signs
    weights: Array  # f, of the scores


class Paths:
    """The box of a question's points, and its changes."""

    def __init__(self, cases: AskedCases, model: Layers) -> None:
        question = cases.question
        if len(question.calls) != 2 or len(model.weights) < 2:
            raise NotProvable("a path joins two calls of a network")
        self.cases, self.model = cases, model
        # Sums of the first layer are made as for one call.
        self.regions = Regions(cases, model)
        self.planes = [planes for guard in question.guards for planes in _planes(guard)]
        self.changes: list[Change] = []
        self.places: dict[str, int] = {}  # of numbers, among the box's columns
        columns: list[Array] = []
        ends: list[tuple[float, float]] = []
        self.base = model.biases[0].copy()
        equal = {pair for guard in question.guards for pair in list_equal(guard)}
        for name, one in cases.space.ranges.items():
            if not self.regions.is_line(name) and _are_equal(
                question.calls[0][name], question.calls[1][name], equal
            ):
                self._add_columns(name, one, columns, ends)
                continue
            low, high = self._add_number(name, one, columns)
            self.places[name] = len(ends)
            ends.append((low, high))
        self.columns = np.stack(columns, axis=1)
        self.low, self.high = np.array(ends).T

    def _add_columns(
        self, name: str, one: FeatureRange, columns: list[Array], ends: list[tuple[float, float]]
    ) -> None:
        """Let each column of a name, or of steps, have any value between its ends."""
        values = one.values()
        if one.is_real or len(values) > 10_000:
            raise NotProvable(f"the model's columns of `{name}` are no straight lines")
        own, made = self.regions.columns(name, values)
        for place, column in zip(own, made.T, strict=True):
            columns.append(self.model.weights[0][:, place])
            ends.append((float(column.min()), float(column.max())))
            largest = self.regions.largest
            largest[place] = max(largest[place], float(np.abs(column).max()))

    def _add_number(
        self, name: str, one: FeatureRange, columns: list[Array]
    ) -> tuple[float, float]:
        """Add a number, and how it changes; returns between what its values are."""
        if not self.regions.is_line(name):
            raise NotProvable(f"`{name}` changes, and what a network sees is no line")
        forms = [linear(call[name]) for call in self.cases.question.calls]
        ends = [self._bound(form) for form in forms]
        low, high = min(e[0] for e in ends), max(e[1] for e in ends)
        eps = max(float(np.finfo(self.cases.dtype).eps), 2.0**-52)
        lost = 2 * eps * max(abs(low), abs(high)) + 1e-40
        dtype = self.cases.dtype.type
        low = float(np.nextafter(dtype(low - lost), dtype(-np.inf)))
        high = float(np.nextafter(dtype(high + lost), dtype(np.inf)))
        base, slope = self.regions.line((0, name), low, high)
        width = len(self.base)
        self.base, slope = self.base + base[:width], slope[:width]
        columns.append(slope)
        far: Form = (
            {n: forms[1][0].get(n, 0.0) - forms[0][0].get(n, 0.0)
             for n in forms[0][0] | forms[1][0]},
            forms[1][1] - forms[0][1],
        )  # fmt: skip
        least, most = self._bound(far)
        if least < 0 or most > 0:
            kept = _keeps_order(*(call[name] for call in self.cases.question.calls))
            rounded = (
                max(least - lost, 0.0) if kept and least >= 0 else least - lost,
                min(most + lost, 0.0) if kept and most <= 0 else most + lost,
            )
            self.changes.append(Change(name, far, *rounded, lost, slope))
        return low, high

    def _bound(self, form: Form) -> tuple[float, float]:
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

    def error(self) -> Array:
        """Bound how far the library's scores are from the true ones, anywhere in the box."""
        model = self.model
        low, high = self.low, self.high
        size = self.regions.largest
        error = 8 * model.roundoff * size + self.regions.deviation
        for layer, (weight, bias) in enumerate(
            zip(model.weights, model.biases, strict=True)
        ):
            # A column is no larger than `largest`; sums of later layers than their bounds.
            _, error = model.after(weight, bias, size, error)
            if layer == 0:
                low, high = _sums(self.columns, self.base, low, high)
            else:
                low, high = _sums(weight, bias, np.maximum(low, 0), np.maximum(high, 0))
            size = np.maximum(high, 0)
        return np.asarray(error + model.link)

    def list_paths(self, ways_: list[Violation]) -> Iterator[Path]:
        """Yield the searches that together settle all ways to break a property."""
        if not self.changes or any(
            not isinstance(c.low, float) or not np.isfinite([c.low, c.high]).all()
            for c in self.changes
        ):
            raise NotProvable("no number changes between the calls")
        error = self.error()
        composed = bool(ways_) and all(way.labels is not None for way in ways_)
        composed = composed and bool(
            list_forbidden_steps(ways_, len(self.model.labels), 0)
        )
        for way in ways_:
            if any(not s.weights.any() and s.constant < 0 for s in way.conditions):
                continue
            found = find_pair(way)
            if found is None:
                raise NotProvable(
                    "answers are compared in a way that needs more than one number of a "
                    "network whose real features change"
                )
            weights, first, last, slack, inputs = found
            lost = float(np.abs(weights) @ error) + slack
            more = self._winner(way, error) if composed else []
            yield from self._list_directions(weights, first, last, lost, inputs, more)

    def _winner(self, way: Violation, error: Array) -> list[tuple[Array, float]]:
        """Return that the label of the start beats all others where the label changes."""
        assert way.labels is not None
        label, scores = way.labels[0], self.model.outputs
        if self.model.decision == "sign":
            return []
        unit = np.eye(scores)
        return [
            (unit[label] - unit[other], float(2 * (error[label] + error[other])))
            for other in range(scores)
            if other not in way.labels
        ]

    def _list_directions(
        self, weights: Array, first: float | None, last: float, lost: float,
        inputs: Mapping[str, float], more: list[tuple[Array, float]],
    ) -> Iterator[Path]:  # fmt: skip
        """Yield a search for each direction. `f` falls by `drop`, or by less for rounding."""
        lost += sum(abs(_lipschitz(inputs, c)) * c.lost for c in self.changes)
        drop = (last if first is None else first - last) - 2 * lost
        signs = [
            [sign for sign in (1.0, -1.0) if (c.high if sign > 0 else -c.low) > 0]
            for c in self.changes
        ]
        free = len(self.changes) == 1 or all(len(own) == 1 for own in signs)
        apart = [max(c.low, -c.high, 0.0) for c in self.changes]
        # Answers that are as near as rounding count as equal where steps have no least size.
        nudge = max(lost, 1e-9)
        nearest = 2 * lost + nudge if drop <= 0 and max(apart) == 0 else 0.0
        band = None if first is None else (
            min(first - lost, last + lost), max(first - lost, last + lost))  # fmt: skip
        if not free or (drop > 0 and len(self.changes) > 1):
            if nearest or inputs:
                raise NotProvable("several numbers change, and some of them either way")
            yield self._path(weights, band, drop, 0.0, self.changes, None, [])
            return
        strict = int(np.argmax(apart)) if not nearest else -1
        if drop <= 0:
            drop -= len(self.changes) * nudge
        for place, (change, own) in enumerate(zip(self.changes, signs, strict=True)):
            for sign in own:
                most = change.high if sign > 0 else -change.low
                if drop > 0:
                    steep = drop / most
                else:
                    steep = drop / apart[place] if place == strict else nudge / most
                steep += _lipschitz(inputs, change) * sign
                own_more = more if nearest else []
                yield self._path(weights, band, steep, nearest, [change], sign, own_more)

    def _path(
        self, weights: Array, band: tuple[float, float] | None, drop: float,
        nearest: float, changes: list[Change], sign: float | None,
        more: list[tuple[Array, float]],
    ) -> Path:  # fmt: skip
        """Return a search for a point of the band where `f` falls by `drop` or more."""
        slopes = np.stack([c.slope for c in changes], axis=1)
        none = np.zeros_like(weights)
        rows = [(none, -weights, -drop)]
        if band is not None:
            rows += [(weights, none, -band[0]), (-weights, none, band[1])]
            rows += [(w, none, slack) for w, slack in more]
        fixed = sign is not None
        low, high = np.array([(c.low, c.high) for c in changes]).T
        model = self.model
        twins = Twins(
            (self.columns, *model.weights[1:]), (self.base, *model.biases[1:]),
            slopes[:, 0] * sign if fixed else np.zeros(len(slopes)),
            slopes[:, :0] if fixed else slopes,
            low[:0] if fixed else low, high[:0] if fixed else high,
        )  # fmt: skip
        stacked = (np.array(part) for part in zip(*rows, strict=True))
        return Path(twins, self.low, self.high, Conditions(*stacked), nearest,
                    tuple((c, sign or 0.0) for c in changes), weights)  # fmt: skip


def find_pair(
    way: Violation,
) -> tuple[Array, float | None, float, float, Mapping[str, float]] | None:
    """Return what a violation says of `f`: from at least `a` to at most `b`.

    Or, without `a`, how far it falls at least; the slack, and what is added of inputs.
    """
    singles: dict[int, list[HalfSpace]] = {0: [], 1: []}
    for space in (*way.conditions, *way.implied):
        calls = np.flatnonzero(space.weights.any(axis=1))
        if len(calls) == 2 and (space.weights[0] == -space.weights[1]).all():
            both = space
            if space in way.conditions and not singles[0] and not singles[1]:
                return both.weights[0], None, -both.constant, both.slack, both.inputs
        elif len(calls) == 1 and not space.inputs:
            singles[int(calls[0])].append(space)
    for one in singles[0]:
        for other in singles[1]:
            size = float(np.abs(one.weights[0]).max() / np.abs(other.weights[1]).max())
            if np.array_equal(one.weights[0], -size * other.weights[1]):
                slack = max(one.slack, size * other.slack)
                return one.weights[0], -one.constant, size * other.constant, slack, {}
    return None


def _are_equal(one: core.Expr, two: core.Expr, equal: set[tuple[str, str]]) -> bool:
    """Tell whether two calls see the same value, also where a condition says so."""
    if one == two:
        return True
    if not (isinstance(one, core.Variable) and isinstance(two, core.Variable)):
        return False
    return (one.name, two.name) in equal or (two.name, one.name) in equal


def _lipschitz(inputs: Mapping[str, float], change: Change) -> float:
    """Return how often a change is added to `f`'s fall, if that is all that is added."""
    if not inputs:
        return 0.0
    own = {name: weight for name, weight in change.form[0].items() if weight}
    factor = next(iter(inputs.values())) / own.get(next(iter(inputs)), np.inf)
    same = inputs.keys() == own.keys() and all(
        np.isclose(inputs[n], factor * own[n], rtol=1e-12) for n in own
    )
    if not same or change.form[1]:
        raise NotProvable("answers are compared with more than how far a number changes")
    return -factor


def _keeps_order(one: core.Expr, two: core.Expr) -> bool:
    """Tell whether rounding keeps values in order: plain variables, or a single sum."""
    for a, b in ((one, two), (two, one)):
        if isinstance(a, core.Variable) and isinstance(b, core.Variable):
            return True
        if isinstance(a, core.Variable) and isinstance(b, core.Arithmetic):
            sides = (b.left, b.right)
            other = [side for side in sides if side != a]
            if b.operator in "+-" and a in sides and len(other) == 1:
                return isinstance(other[0], core.Variable | core.Constant)
    return False


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


def _sums(weight: Array, bias: Array, low: Array, high: Array) -> tuple[Array, Array]:
    over, under = np.maximum(weight, 0), np.minimum(weight, 0)
    return over @ low + under @ high + bias, over @ high + under @ low + bias
