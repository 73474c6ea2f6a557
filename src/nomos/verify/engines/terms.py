"""Linear models: a sum none of whose terms falls does not fall, rounding included.

A library adds up the terms of all records in one order. Rounding keeps order, so what is
calculated moves as its terms do, and no margin for rounding is needed.
"""

from __future__ import annotations

import numpy as np

from nomos.device import Array
from nomos.verify.engines.regions import Regions
from nomos.verify.engines.shapes import Component, Listed, Polygon
from nomos.verify.question.components import groups
from nomos.verify.question.conditions import Violation, pairs_in_order


def not_against_terms(
    ways: list[Violation], regions: Regions, components: tuple[Component, ...]
) -> list[Violation]:
    """Return the violations that some term of a score moves towards."""

    def is_against(way: Violation) -> bool:
        return any(
            _is_against(way, one, two, *_find_moves(regions, components, one, two))
            for one, two in pairs_in_order(way, regions.calls)
        )

    return [way for way in ways if not is_against(way)]


def _is_against(way: Violation, one: int, two: int, rises: Array, falls: Array) -> bool:
    """Tell whether no score moves from call `one` to `two` as a violation needs."""
    if way.labels is None:
        return not falls[0]
    a, b = way.labels[one], way.labels[two]
    if len(rises) == 1:
        return not (falls[0] if a else rises[0])
    return not (falls[a] or rises[b])


def _find_moves(
    regions: Regions, components: tuple[Component, ...], one: int, two: int
) -> tuple[Array, Array]:
    """Return of each score whether a term may be more in call `two`, and less."""
    weights = regions.model.weights[0]
    rises, falls = (np.zeros(len(weights), bool) for _ in range(2))
    for group, component in zip(groups(regions.cases), components, strict=True):
        for name in {name for _, name in group.slots}:
            if group.slots.get((one, name)) == group.slots.get((two, name)):
                continue
            change = _change_bounds(regions, component, name, one, two)
            if change is None:
                return ~np.zeros_like(rises), ~np.zeros_like(falls)
            columns, most, least = change
            up, down = weights[:, columns] * most, weights[:, columns] * least
            rises |= (np.maximum(up, down) > 0).any(axis=1)
            falls |= (np.minimum(up, down) < 0).any(axis=1)
    return rises, falls


def _change_bounds(
    regions: Regions, component: Component, name: str, one: int, two: int
) -> tuple[list[int], Array, Array] | None:
    """Return by how much columns of a feature are more in call `two`: most and least."""
    before, after = (one, name), (two, name)
    if isinstance(component, Polygon) and {before, after} <= component.forms.keys():
        corners, _ = component.corners(component.root(regions.cases.space)[None])
        a, b, c = np.array(component.forms[after]) - component.forms[before]
        apart = a * corners[0, :, 0] + b * corners[0, :, 1] + c
        columns, numbers = regions.columns(name, np.array([0, 1 << 20]))
        slope = np.sign(numbers[1] - numbers[0])
        return columns, slope * apart.max(), slope * apart.min()
    if isinstance(component, Listed) and len(component.table):
        slots = component.table.slots
        if {before, after} <= slots.keys():
            columns, low = regions.columns(name, slots[before])
            change = regions.columns(name, slots[after])[1] - low
            return columns, change.max(axis=0), change.min(axis=0)
    return None
