"""Questions in which one number of a record rises, and nothing else changes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from nomos.verify.engines.polygons import polygon
from nomos.verify.engines.regions import Regions
from nomos.verify.question.cases import one_case
from nomos.verify.question.components import AtomGroup, groups, table
from nomos.verify.question.conditions import Violation
from nomos.verify.question.formulas import Array
from nomos.verify.question.symbolic import NotProvable


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
    if pairs is None or not len(pairs):
        return None
    difference = pairs[:, 1] - pairs[:, 0]
    low, high = int(np.floor(pairs.min())), int(np.ceil(pairs.max()))
    if (difference > 0).all():
        return 0, low, high
    return (1, low, high) if (difference < 0).all() else None


def _pairs(group: AtomGroup, regions: Regions) -> Array | None:
    """Return the numbers of both calls; of a polygon, those at its corners."""
    if regions.is_polygon(group):
        try:
            shape = polygon(group, regions)
        except NotProvable:
            return None
        (corners,), (empty,) = shape.corners(shape.root())
        if empty:
            return None
        forms = [form for _, form in sorted(shape.forms.items())]
        return np.stack([corners @ form[:2] + form[2] for form in forms], axis=1)
    rows = table(regions.cases, group)
    pairs = np.stack([values for _, values in sorted(rows.slots.items())], axis=1)
    whole: Array = pairs.astype(float)
    return whole if (whole == np.floor(whole)).all() else None


def atoms_of_rise(
    rise: Rise, start: int, end: int, regions: Regions
) -> dict[str, Any] | None:
    """Return the atoms with which the number rises from a start to an end, if any do."""
    wanted = np.array([start, end] if rise.first == 0 else [end, start])
    group = rise.group
    if regions.is_polygon(group):
        shape = polygon(group, regions)
        forms = np.array([form for _, form in sorted(shape.forms.items())])
        try:
            pair = np.linalg.solve(forms[:, :2], wanted - forms[:, 2])
        except np.linalg.LinAlgError:
            return None
        number, draw = (round(v) for v in pair.tolist())
        found, counts = shape.values(np.array([number, number, draw, draw], float))
        exact = np.array_equal(forms[:, :2] @ [number, draw] + forms[:, 2], wanted)
        return one_case(found, 0) if exact and len(counts) else None
    rows = table(regions.cases, group)
    pairs = np.stack([values for _, values in sorted(rows.slots.items())], axis=1)
    fits = np.flatnonzero((pairs == wanted).all(axis=1))
    if not len(fits):
        return None
    return one_case(rows.atoms, int(fits[0]))


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
