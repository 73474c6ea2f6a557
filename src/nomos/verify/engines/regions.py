"""The components of a question for a network: which shape coupled values have."""

from collections.abc import Mapping, Sequence

import numpy as np

from nomos.device import Array
from nomos.domain.records import whole_limits
from nomos.domain.schema import Real
from nomos.errors import NotProvable
from nomos.lang import core
from nomos.structures.model import Layers
from nomos.verify.engines.shapes import Component, HalfPlane, Listed, Polygon, Wide
from nomos.verify.question.cases import AskedCases, choose_cases
from nomos.verify.question.components import AtomGroup, CaseTable, Slot, groups, table
from nomos.verify.question.formulas import SIDES, difference, linear, ways

_WIDE = 8  # more values than these are a range and no table, if nothing changes them
_POLYGON = 200  # more than these are a polygon with a draw


class Regions:
    """Makes the components of a question for a network.

    `largest` is how large what the first layer sees can be, and `deviation` how far that
    may be from a straight line, where one is taken for it; both grow with components.
    """

    def __init__(self, cases: AskedCases, model: Layers) -> None:
        self.cases, self.model = cases, model
        self.calls = len(cases.question.calls)
        self.largest = np.zeros(len(model.columns.origins))
        self.deviation = np.zeros(len(model.columns.origins))

    def columns(self, feature: str, values: Array) -> tuple[list[int], Array]:
        """Return the model's columns that a feature makes, and their numbers."""
        space, columns = self.cases.space, self.model.columns
        own = columns.find_made_of(space.ranges[feature].columns)
        made = space.list_columns(feature, values, self.cases.dtype, columns, own)
        return own, made.astype(float)

    def sums(self, slots: Mapping[Slot, Array], count: int) -> Array:
        """Return what values of slots add, (values, calls * outputs)."""
        first = self.model.weights[0]
        total = np.zeros((count, self.calls, len(first)))
        for (call, name), values in slots.items():
            own, columns = self.columns(name, values)
            total[:, call] += columns @ first[:, own].T
            most = np.abs(columns).max(axis=0)
            self.largest[own] = np.maximum(self.largest[own], most)
        return total.reshape(count, self.calls * len(first))

    def components(
        self, own: Sequence[AtomGroup] | None = None
    ) -> tuple[Component, ...]:
        """Return a component for each group."""
        found = groups(self.cases) if own is None else own
        return tuple(self.component(group) for group in found)

    def component(self, group: AtomGroup) -> Component:
        """Return the component of a group: a range, a polygon, or a table."""
        wide = self._find_wide_range(group)
        if wide is not None:
            return wide
        ranges = map(self.cases.space.range_of, group.features)
        if any(one.is_real for one in ranges):
            raise NotProvable(
                f"the spec changes or compares {', '.join(group.features)}, which is "
                "real, and the model is a network"
            )
        if self._is_polygon(group):
            try:
                return _find_polygon(group, self)
            except NotProvable:  # not linear: perhaps few enough for a table
                pass
        rows = table(self.cases, group)
        if not group.slots and len(rows):  # nothing that the model sees
            first = choose_cases(rows.variables, slice(1))
            rows = CaseTable({}, first, np.array([rows.total], object))
        slots = rows.slots if len(rows) else {}  # libraries refuse to take no rows
        return Listed(rows, self.sums(slots, len(rows)))

    def line(self, slot: Slot, low: float, high: float) -> tuple[Array, Array]:
        """Return what a feature adds as a straight line, between two of its values."""
        ends = np.array([low, high], float)
        apart = high - low if high > low else 1.0
        at = self.sums({slot: ends}, 2)
        columns, numbers = self.columns(slot[1], ends)
        most = np.abs(numbers).max(axis=0)
        steep = np.abs(numbers[1] - numbers[0]) / apart * np.abs(ends).max()
        # A scaler subtracts first: what it calculates with is larger than what it gives.
        error = 8 * self.model.roundoff * (most + 2 * steep)
        self.deviation[columns] = np.maximum(self.deviation[columns], error)
        slope = (at[1] - at[0]) / apart
        return at[0] - slope * ends[0], slope

    def is_line(self, name: str) -> bool:
        """Tell whether all that a network sees of a feature is a straight line over it."""
        one, columns = self.cases.space.ranges[name], self.model.columns
        made = columns.find_made_of(one.columns)
        return one.names is None and all(columns.origins[c].affine for c in made)

    def _find_wide_range(self, group: AtomGroup) -> Wide | None:
        """Return a range for a feature with many values that is only passed on."""
        if len(group.features) != 1 or group.draws or group.guards or group.writes:
            return None
        (variable,) = group.features
        one = self.cases.space.range_of(variable)
        if not group.slots or not (one.is_real or one.count > _WIDE):
            return None
        if not self.is_line(one.feature.name):
            return None
        if any(not isinstance(value, core.Variable) for value in group.slots.values()):
            return None
        slots = group.slots
        lines = [self.line(slot, float(one.low), float(one.high)) for slot in slots]
        base, slope = (np.sum(part, axis=0) for part in zip(*lines, strict=True))
        return Wide(variable, base, slope, isinstance(one.feature, Real))

    def _is_polygon(self, group: AtomGroup) -> bool:
        """Tell whether a number and a draw have too many pairs for a table."""
        if len(group.features) != 1 or len(group.draws) != 1 or group.draws[0].is_real:
            return False
        one = self.cases.space.range_of(group.features[0])
        name = one.feature.name
        if one.names is not None or one.count <= _POLYGON or not self.is_line(name):
            return False
        return all(own == name for _, own in group.slots)


def _find_polygon(group: AtomGroup, regions: Regions) -> Polygon:
    """Return the polygon of a feature and a draw whose conditions are all linear."""
    (number,), (draw,) = group.features, group.draws
    one = regions.cases.space.range_of(number)
    pair = number, draw.variable
    low, high = _parse_line(draw.low, pair), _parse_line(draw.high, pair)
    planes = [(-low[0], 1 - low[1], -low[2]), (high[0], high[1] - 1, high[2])]
    for guard in group.guards:
        planes += _parse_planes(guard, pair)
    writes = []
    for write in group.writes:
        # Refuses what is not whole
        writes.append((write, _parse_line(write.value, pair)))
    ends = [low[0] * v + low[2] for v in (one.low, one.high)]
    ends += [high[0] * v + high[2] for v in (one.low, one.high)]
    box = (float(one.low), float(one.high), float(min(ends)), float(max(ends)))
    for write, (a, b, c) in writes:
        reached = [a * v + b * d + c for v in box[:2] for d in box[2:]]
        least, most = whole_limits(regions.cases.dtype)
        if min(reached) < least or max(reached) > most:
            raise NotProvable("rows may round this or not hold it", write.value.span)
    base, by_number, by_draw = np.zeros(1), np.zeros(1), np.zeros(1)
    forms = {slot: _parse_line(formula, pair) for slot, formula in group.slots.items()}
    for slot, (a, b, c) in forms.items():
        reached = [a * v + b * d + c for v in box[:2] for d in box[2:]]
        own, slope = regions.line(slot, min(reached), max(reached))
        base = base + own + slope * c
        by_number, by_draw = by_number + slope * a, by_draw + slope * b
    sums = base, by_number, by_draw
    return Polygon(number, draw.variable, box[2:], tuple(planes), *sums, forms)


def _parse_line(expr: core.Expr, pair: tuple[str, str]) -> HalfPlane:
    """Return the coefficients of the number and the draw, and the constant: all whole."""
    weights, constant = linear(expr)
    a, b = (weights.get(variable, 0.0) for variable in pair)
    if not (a.is_integer() and b.is_integer() and constant.is_integer()):
        raise NotProvable(
            "this is not always whole, and there are too many values", expr.span
        )
    return a, b, constant


def _parse_planes(guard: core.Expr, pair: tuple[str, str]) -> list[HalfPlane]:
    """Return the half-planes in which a condition holds, where they are all needed."""

    def compared(test: core.Compare, relation: str) -> list[list[HalfPlane]]:
        a, b, c = _parse_line(difference(test), pair)
        # All numbers are whole: above 0 is 1 or more.
        return [
            [(sign * a, sign * b, sign * c - strict) for sign, strict in way]
            for way in SIDES[relation]
        ]

    found = ways(guard, True, compared)
    if len(found) != 1:
        raise NotProvable(
            "this condition is no line, and there are too many values", guard.span
        )
    return found[0]
