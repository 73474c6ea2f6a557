"""Questions in which one number of a record rises, and nothing else changes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from nomos.lang import core
from nomos.verify.engines.polygons import Polygon
from nomos.verify.engines.regions import Listed, Regions
from nomos.verify.question.cases import one_case
from nomos.verify.question.components import AtomGroup, groups
from nomos.verify.question.conditions import Violation
from nomos.verify.question.formulas import Array


@dataclass(frozen=True, slots=True, eq=False)
class Rise:
    """A question about one number that rises from one call to the other."""

    group: AtomGroup
    feature: str
    first: int  # the call with the smaller number
    low: int
    high: int
    bad: tuple[tuple[int, int], ...]  # labels before and after a step


def find_rise(ways: list[Violation], regions: Regions) -> Rise | None:
    """Return the question as one about a number that rises, if it is one."""
    question = regions.cases.question
    if len(question.calls) != 2 or not ways or ways[0].labels is None:
        return None
    one, two = question.calls
    changed = [name for name in one if one[name] != two[name]]
    if len(changed) != 1:
        return None
    (name,) = changed
    for group in groups(regions.cases):
        if {(0, name), (1, name)} == set(group.slots) and len(group.features) == 1:
            found = _reach(group, name, regions)
            if found is None:
                return None
            first, low, high = found
            bad = _steps(ways, len(regions.model.labels), first)
            if bad:
                return Rise(group, name, first, low, high, bad)
    return None


def _reach(
    group: AtomGroup, name: str, regions: Regions
) -> tuple[int, int, int] | None:
    """Return which call has the smaller number, and the least and greatest of all."""
    one = regions.cases.space.ranges[name]
    if one.names is not None or one.is_real or not regions.is_line(name):
        return None
    pairs = _pairs(group, regions)
    if not len(pairs):
        return None
    difference = pairs[:, 1] - pairs[:, 0]
    low, high = int(np.floor(pairs.min())), int(np.ceil(pairs.max()))
    if (difference > 0).all():
        return 0, low, high
    return (1, low, high) if (difference < 0).all() else None


def _pairs(group: AtomGroup, regions: Regions) -> Array:
    """Return the numbers of both calls, if whole; of a polygon, those at its corners."""
    shape = regions.component(group)
    if isinstance(shape, Polygon):
        corners, empty = shape.corners(shape.root())
        forms = [form for _, form in sorted(shape.forms.items())]
        at = [corners[~empty] @ form[:2] + form[2] for form in forms]
        return np.stack(at, axis=-1).reshape(-1, 2)
    slots = shape.table.slots if isinstance(shape, Listed) else {}
    columns = [values.astype(float) for _, values in sorted(slots.items())]
    pairs = np.stack(columns or [np.empty(0)] * 2, axis=1)
    return pairs if (pairs == np.floor(pairs)).all() else pairs[:0]


def atoms_of_rise(
    rise: Rise, start: int, end: int, regions: Regions
) -> dict[str, Any] | None:
    """Return the atoms with which the number rises from a start to an end, if any do."""
    wanted = (start, end) if rise.first == 0 else (end, start)
    guards = list(rise.group.guards)
    for (_, value), number in zip(
        sorted(rise.group.slots.items()), wanted, strict=True
    ):
        constant = core.Constant(number, span=value.span)
        guards.append(core.Compare("==", value, constant, span=value.span))
    own = regions.component(replace(rise.group, guards=tuple(guards)))
    found, counts = own.values(own.root()[0])
    return one_case(found, 0) if len(counts) else None


def _steps(
    ways: list[Violation], labels: int, first: int
) -> tuple[tuple[int, int], ...]:
    """Return the forbidden steps, where what is allowed composes; else nothing."""
    allowed = np.ones((labels, labels), bool)
    for way in ways:
        assert way.labels is not None
        allowed[way.labels[first], way.labels[1 - first]] = False
    composed = allowed.astype(int) @ allowed.astype(int) > 0
    if not allowed.diagonal().all() or (composed & ~allowed).any():
        return ()
    return tuple((int(p), int(q)) for p, q in np.argwhere(~allowed))
