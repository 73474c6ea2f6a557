"""Parts of the cases of a network: for each table or range, which values are left.

A component adds to the sums of the first layer, for all calls at once. Bounds are over
many parts at a time: `state` holds one row for each part.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from nomos.domain.schema import Real
from nomos.lang import core
from nomos.verify.question.cases import AskedCases, Atoms, chosen
from nomos.verify.question.components import AtomGroup, CaseTable, groups, table
from nomos.verify.question.formulas import Array
from nomos.verify.question.symbolic import NotProvable
from nomos.verify.structure.layers import Layers

_WIDE = 8  # more values than these are a range and no table, if nothing changes them
_POLYGON = 200  # more than these are a polygon with a draw
_CHUNK = 2_000_000  # numbers that a bound looks at at once


class Component(ABC):
    """Values that are coupled, and what they add to the first layer's sums."""

    __slots__ = ()

    @abstractmethod
    def root(self) -> Array:
        """Return the state in which all values are left, (1, ...)."""

    @abstractmethod
    def bound(self, state: Array, weights: Array) -> tuple[Array, Array]:
        """Return the least and the most of `weights . sums`, (parts, weights)."""

    def box(self, state: Array, sums: int) -> tuple[Array, Array]:
        """Return the least and the most of each of so many sums."""
        return self.bound(state, np.eye(sums)[None])

    @abstractmethod
    def volume(self, state: Array) -> int:
        """Return how many cases the state of one part stands for."""

    @abstractmethod
    def numbers(self, state: Array) -> Array:
        """Return how many different values are left in each part; infinite for reals."""

    @abstractmethod
    def split(self, state: Array, weights: Array) -> tuple[Array, Array]:
        """Return the two halves of one part's state."""

    @abstractmethod
    def values(self, state: Array) -> tuple[Atoms, Array]:
        """Return the values left in one part, and how many cases each stands for."""


@dataclass(frozen=True, slots=True, eq=False)
class Listed(Component):
    """A table of values; a state says which rows are left."""

    table: CaseTable
    sums: Array  # (rows, calls * outputs of the first layer)

    def root(self) -> Array:
        """Return the state in which all rows are left."""
        return np.ones((1, len(self.table)), bool)

    def bound(self, state: Array, weights: Array) -> tuple[Array, Array]:
        """Return the least and the most of `weights . sums`."""
        value = weights @ self.sums.T
        step = max(1, _CHUNK // max(1, value[0].size))
        low, high = np.empty((2, len(state), value.shape[1]))
        for start in range(0, len(state), step):
            some = slice(start, start + step)
            own = value if len(value) == 1 else value[some]
            left = state[some, None, :]
            low[some] = np.where(left, own, np.inf).min(axis=2)
            high[some] = np.where(left, own, -np.inf).max(axis=2)
        return low, high

    def volume(self, state: Array) -> int:
        """Return how many cases the rows stand for."""
        return int(self.table.counts[state].sum())

    def numbers(self, state: Array) -> Array:
        """Return how many rows are left."""
        return np.asarray(state.sum(axis=1), float)

    def split(self, state: Array, weights: Array) -> tuple[Array, Array]:
        """Return the rows of low and of high value."""
        rows = np.flatnonzero(state)
        order = rows[np.argsort(self.sums[rows] @ weights, kind="stable")]
        low = np.zeros_like(state)
        low[order[: len(order) // 2]] = True
        return low, state & ~low

    def values(self, state: Array) -> tuple[Atoms, Array]:
        """Return the rows that are left."""
        return chosen(self.table.atoms, state), self.table.counts[state]


@dataclass(frozen=True, slots=True, eq=False)
class Wide(Component):
    """A number that no call changes; a state is the range that is left.

    Where numbers are the beginnings of steps, all of a step counts for bounds.
    """

    atom: str
    ends: tuple[float, float]
    base: Array  # what it adds where it is 0
    slope: Array
    is_real: bool = False
    step: int = 0

    def root(self) -> Array:
        """Return the whole range."""
        return np.array([self.ends], float)

    def bound(self, state: Array, weights: Array) -> tuple[Array, Array]:
        """Return the least and the most of `weights . sums`."""
        one = weights @ self.slope * state[:, :1]
        two = weights @ self.slope * (state[:, 1:] + self.step)
        base = weights @ self.base
        return np.minimum(one, two) + base, np.maximum(one, two) + base

    def volume(self, state: Array) -> int:
        """Return how many numbers are left; 1 for reals, which are not counted."""
        return 1 if self.is_real else int(state[1] - state[0]) + 1

    def numbers(self, state: Array) -> Array:
        """Return how many numbers are left."""
        apart: Array = state[:, 1] - state[:, 0]
        return np.where(apart == 0, 1.0, np.inf) if self.is_real else apart + 1

    def split(self, state: Array, weights: Array) -> tuple[Array, Array]:
        """Return the two halves of a range."""
        middle = (state[0] + state[1]) / 2
        if self.is_real:
            return np.array([state[0], middle]), np.array([middle, state[1]])
        middle = np.floor(middle)
        return np.array([state[0], middle]), np.array([middle + 1, state[1]])

    def values(self, state: Array) -> tuple[Atoms, Array]:
        """Return the numbers that are left."""
        listed = np.arange(int(state[0]), int(state[1]) + 1)
        numbers = state[:1] if self.is_real else listed
        return {self.atom: numbers}, np.ones(len(numbers), np.int64)


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
        own = columns.made_of(space.ranges[feature].columns)
        rows = space.changed(feature, values, self.cases.dtype)
        return own, columns.transform(rows)[:, own].astype(float)

    def sums(self, slots: Mapping[tuple[int, str], Array], count: int) -> Array:
        """Return what values of slots add, (values, calls * outputs)."""
        first = self.model.weights[0]
        total = np.zeros((count, self.calls, len(first)))
        for (call, name), values in slots.items():
            own, columns = self.columns(name, values)
            total[:, call] += columns @ first[:, own].T
            self.largest[own] = np.maximum(
                self.largest[own], np.abs(columns).max(axis=0)
            )
        return total.reshape(count, self.calls * len(first))

    def components(
        self, own: Sequence[AtomGroup] | None = None
    ) -> tuple[Component, ...]:
        """Return a component for each group."""
        found = groups(self.cases) if own is None else own
        return tuple(self.component(group) for group in found)

    def component(self, group: AtomGroup) -> Component:
        """Return the component of a group: a range, a polygon, or a table."""
        wide = self._wide(group)
        if wide is not None:
            return wide
        if any(self.cases.space.range_of(atom).is_real for atom in group.features):
            raise NotProvable(
                f"the spec changes or compares {', '.join(group.features)}, which is "
                "real, and the model is a network"
            )
        if self._is_polygon(group):
            from nomos.verify.engines.polygons import polygon

            try:
                return polygon(group, self)
            except NotProvable:  # not linear: perhaps few enough for a table
                pass
        rows = table(self.cases, group)
        if not group.slots and len(rows):  # nothing that the model sees
            first = chosen(rows.atoms, slice(1))
            rows = CaseTable({}, first, np.array([rows.total], object))
        slots = rows.slots if len(rows) else {}  # libraries refuse to take no rows
        return Listed(rows, self.sums(slots, len(rows)))

    def line(
        self, slot: tuple[int, str], low: float, high: float
    ) -> tuple[Array, Array]:
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
        made = columns.made_of(one.columns)
        return one.names is None and all(columns.origins[c].affine for c in made)

    def _wide(self, group: AtomGroup) -> Wide | None:
        """Return a range for a feature with many values that is only passed on."""
        if len(group.features) != 1 or group.draws or group.guards or group.writes:
            return None
        (atom,) = group.features
        one = self.cases.space.range_of(atom)
        if not group.slots or not (one.is_real or one.count > _WIDE):
            return None
        if not self.is_line(one.feature.name):
            return None
        if any(not isinstance(value, core.Variable) for value in group.slots.values()):
            return None
        lines = [
            self.line(slot, float(one.low), float(one.high)) for slot in group.slots
        ]
        base, slope = (np.sum(part, axis=0) for part in zip(*lines, strict=True))
        is_real = isinstance(one.feature, Real)
        return Wide(atom, (one.low, one.high), base, slope, is_real)

    def _is_polygon(self, group: AtomGroup) -> bool:
        """Tell whether a number and a draw have too many pairs for a table."""
        if len(group.features) != 1 or len(group.draws) != 1:
            return False
        one = self.cases.space.range_of(group.features[0])
        name = one.feature.name
        if one.names is not None or one.count <= _POLYGON or not self.is_line(name):
            return False
        return all(own == name for _, own in group.slots)
