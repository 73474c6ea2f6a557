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
from dataclasses import dataclass, replace

import numpy as np

from nomos.device import Array
from nomos.errors import NotProvable
from nomos.lang import core
from nomos.structures.model import Layers
from nomos.verify.engines.paths.forms import Form, FormRanges
from nomos.verify.engines.paths.pairs import interval_sums
from nomos.verify.engines.paths.twins import Conditions, Twins
from nomos.verify.engines.regions import Regions
from nomos.verify.engines.slope import list_forbidden_steps
from nomos.verify.question.cases import AskedCases, list_equal
from nomos.verify.question.conditions import HalfSpace, Violation
from nomos.verify.question.formulas import linear
from nomos.verify.question.space import FeatureRange

_MOST_VALUES = 10_000  # of an input that is no real number


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
    grids: tuple[Array | None, ...]  # which values inputs have, where they are few
    names: tuple[tuple[Array, Array], ...]  # inputs that go together, and their values
    asked: Conditions
    rounding: float  # answers that are nearer to each other count as equal; 0: none do
    changes: tuple[tuple[Change, float], ...]  # those of the direction, and their signs
    weights: Array  # f, of the scores


@dataclass(frozen=True, slots=True, eq=False)
class _Trace:
    """What a violation leaves on a path: where `f` is, and what else is at least 0 there."""

    weights: Array
    band: tuple[float, float] | None
    nearest: float
    more: list[tuple[Array, float]]


class Paths:
    """The box of a question's points, and its changes."""

    def __init__(self, cases: AskedCases, model: Layers) -> None:
        question = cases.question
        if len(question.calls) > 2:
            raise NotProvable("a path joins two calls of a network")
        self.ends = question.calls[0], question.calls[-1]
        self.cases, self.model = cases, model
        # Sums of the first layer are made as for one call.
        self.regions = Regions(cases, model)
        self.exact = np.zeros(len(self.regions.largest), bool)
        self.ranges = FormRanges(cases)
        self.changes: list[Change] = []
        self.places: dict[str, int] = {}  # of numbers, among the box's columns
        columns: list[Array] = []
        ends: list[tuple[float, float]] = []
        self.grids: list[Array | None] = []  # the values of columns that have few
        self.names: list[
            tuple[Array, Array]
        ] = []  # of features: columns, and their rows
        self.base = model.biases[0].copy()
        equal = {pair for guard in question.guards for pair in list_equal(guard)}
        for name, one in cases.space.ranges.items():
            if not self.regions.is_line(name) and _are_equal(
                self.ends[0][name], self.ends[1][name], equal
            ):
                self._add_columns(name, one, columns, ends)
                continue
            low, high = self._add_number(name, one, columns)
            self.places[name] = len(ends)
            ends.append((low, high))
        self.columns = np.stack(columns, axis=1)
        self.low, self.high = np.array(ends).T
        if len(model.weights) == 1:
            self._add_idle_layer()

    def _add_idle_layer(self) -> None:
        """Let the sums of a linear model pass ReLUs, raised so that these never cut."""
        size = np.abs(self.columns) @ np.maximum(np.abs(self.low), np.abs(self.high))
        lift = size + np.abs(self.base) + 1
        self.base = self.base + lift
        weights = (*self.model.weights, np.eye(len(lift)))
        biases = (self.model.biases[0] + lift, -lift)
        self.model = replace(self.model, weights=weights, biases=biases)

    def _add_columns(
        self,
        name: str,
        one: FeatureRange,
        columns: list[Array],
        ends: list[tuple[float, float]],
    ) -> None:
        """Let each column of a name, or of steps, have any value between its ends."""
        values = one.values()
        if one.is_real or len(values) > _MOST_VALUES:
            raise NotProvable(f"the model's columns of `{name}` are no straight lines")
        own, made = self.regions.columns(name, values)
        self.names.append((len(ends) + np.arange(len(own)), made))
        for place, column in zip(own, made.T, strict=True):
            columns.append(self.model.weights[0][:, place])
            self.grids.append(np.unique(column))
            ends.append((float(column.min()), float(column.max())))
            largest = self.regions.largest
            largest[place] = max(largest[place], float(np.abs(column).max()))

    def _add_number(
        self, name: str, one: FeatureRange, columns: list[Array]
    ) -> tuple[float, float]:
        """Add a number, and how it changes; returns between what its values are."""
        if not self.regions.is_line(name):
            raise NotProvable(f"`{name}` changes, and what a network sees is no line")
        forms = [linear(call[name]) for call in self.ends]
        far: Form = (
            {n: forms[1][0].get(n, 0.0) - forms[0][0].get(n, 0.0)
             for n in forms[0][0] | forms[1][0]},
            forms[1][1] - forms[0][1],
        )  # fmt: skip
        least, most = self.ranges.bound(far)
        changes = least < 0 or most > 0
        ends = [self.ranges.bound(form) for form in forms]
        low, high = min(e[0] for e in ends), max(e[1] for e in ends)
        eps = max(float(np.finfo(self.cases.dtype).eps), 2.0**-52)
        lost = 2 * eps * max(abs(low), abs(high)) + 1e-40
        if changes or one.is_real or one.count > _MOST_VALUES:
            dtype = self.cases.dtype.type
            low = float(np.nextafter(dtype(low - lost), dtype(-np.inf)))
            high = float(np.nextafter(dtype(high + lost), dtype(np.inf)))
            self.grids.append(None)
        else:
            low, high = float(one.low), float(one.high)
            self.grids.append(one.values().astype(float))
        base, slope = self.regions.line((0, name), low, high)
        own, made = self.regions.columns(name, np.array([low, high]))
        if (made == np.array([[low], [high]])).all():
            self.regions.deviation[own] = 0  # it is taken as it is, or rounded once
            self.exact[own] = True
        width = len(self.base)
        self.base, slope = self.base + base[:width], slope[:width]
        columns.append(slope)
        if changes:
            kept = _keeps_order(*(call[name] for call in self.ends))
            rounded = (
                max(least - lost, 0.0) if kept and least >= 0 else least - lost,
                min(most + lost, 0.0) if kept and most <= 0 else most + lost,
            )
            self.changes.append(Change(name, far, *rounded, lost, slope))
        return low, high

    def error(self) -> Array:
        """Bound how far the library's scores are from the true ones, anywhere in the box."""
        model = self.model
        low, high = self.low, self.high
        size = self.regions.largest
        steps = np.where(self.exact, 1, 8)  # of what comes before the network
        error = steps * model.roundoff * size + self.regions.deviation
        for layer, (weight, bias) in enumerate(
            zip(model.weights, model.biases, strict=True)
        ):
            # A column is no larger than `largest`; sums of later layers than their bounds.
            _, error = model.after(weight, bias, size, error)
            if layer == 0:
                low, high = interval_sums(self.columns, low, high)
                low, high = low + self.base, high + self.base
            else:
                on = np.maximum(low, 0), np.maximum(high, 0)
                low, high = (end + bias for end in interval_sums(weight, *on))
            size = np.maximum(high, 0)
        return np.asarray(error + model.link)

    def list_paths(self, broken: list[Violation]) -> Iterator[Path]:
        """Yield the searches that together settle all ways to break a property."""
        ends = [(c.low, c.high) for c in self.changes]
        if (not ends and self.ends[0] != self.ends[1]) or not np.isfinite(ends).all():
            raise NotProvable("no number changes between the calls")
        error = self.error()
        if len(self.cases.question.calls) == 1:
            yield from (self._point(way, error) for way in broken)
            return
        composed = bool(broken) and all(way.labels is not None for way in broken)
        composed = composed and bool(
            list_forbidden_steps(broken, len(self.model.labels), 0)
        )
        for way in broken:
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

    def _point(self, way: Violation, error: Array) -> Path:
        """Return a search for a record that breaks a property of one call."""
        if any(space.inputs for space in way.conditions):
            raise NotProvable("answers are compared with real features")
        spaces = way.conditions
        weights = np.array([space.weights[0] for space in spaces])
        constants = [space.constant + space.slack for space in spaces]
        asked = Conditions(
            weights, 0 * weights, np.array(constants) + np.abs(weights) @ error
        )
        still, none = np.zeros(len(self.base)), np.zeros((len(self.base), 0))
        model = self.model
        twins = Twins((self.columns, *model.weights[1:]), (self.base, *model.biases[1:]),
                      still, none, none[0], none[0])  # fmt: skip
        return Path(twins, self.low, self.high, tuple(self.grids), tuple(self.names),
                    asked, 0.0, (), weights[0])  # fmt: skip

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
        nearest = (
            2 * lost + len(self.changes) * nudge
            if drop <= 0 and max(apart) == 0
            else 0.0
        )
        band = None if first is None else (
            min(first - lost, last + lost), max(first - lost, last + lost))  # fmt: skip
        trace = _Trace(weights, band, nearest, more if nearest else [])
        if not free or (drop > 0 and len(self.changes) > 1):
            if nearest or inputs:
                raise NotProvable("several numbers change, and some of them either way")
            yield self._path(trace, drop, self.changes, None)
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
                yield self._path(trace, steep, [change], sign)

    def _path(
        self, trace: _Trace, drop: float, changes: list[Change], sign: float | None
    ) -> Path:
        """Return a search for a point of the band where `f` falls by `drop` or more."""
        slopes = np.stack([c.slope for c in changes], axis=1)
        weights, band = trace.weights, trace.band
        none = np.zeros_like(weights)
        rows = [(none, -weights, -drop)]
        if band is not None:
            rows += [(weights, none, -band[0]), (-weights, none, band[1])]
            rows += [(w, none, slack) for w, slack in trace.more]
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
        return Path(twins, self.low, self.high, tuple(self.grids), tuple(self.names), Conditions(*stacked), trace.nearest,
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
        raise NotProvable(
            "answers are compared with more than how far a number changes"
        )
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
