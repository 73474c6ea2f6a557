"""A violation as near to a row of the data as can be had by going towards one."""

from __future__ import annotations

from typing import Any

import numpy as np

from nomos.results.result import Nearest
from nomos.verify.question.cases import AskedCases, columns_of, one_case
from nomos.verify.question.formulas import Array

_ROWS = 64  # of the data, towards which a violation is moved
_ROUNDS = 2


def neighbours(
    cases: AskedCases, case: dict[str, Any], data: Array
) -> dict[str, Nearest]:
    """Return the nearest row of each input: with the fewest features that differ."""
    found = {}
    for name in cases.question.inputs:
        differ = _differences(cases, case, data, name)
        row = int(np.argmin(differ.sum(axis=1)))
        features = list(cases.space.ranges)
        own = tuple(f for f, d in zip(features, differ[row], strict=True) if d)
        found[name] = Nearest(row, own)
    return found


def _differences(
    cases: AskedCases, case: dict[str, Any], data: Array, name: str
) -> Array:
    """Return of each row which features differ from those of an input."""
    return np.stack(
        [
            one.read(data) != case[f"{name}.{feature}"]
            for feature, one in cases.space.ranges.items()
        ],
        axis=1,
    )


def moved(cases: AskedCases, case: dict[str, Any], data: Array) -> dict[str, Any]:
    """Return a violation with as many features of a row as keep it one."""
    data = data[cases.inside(data)]
    if not len(data):
        return case
    targets = {}
    for name in cases.question.inputs:
        order = np.argsort(
            _differences(cases, case, data, name).sum(axis=1), kind="stable"
        )
        targets[name] = data[np.resize(order[:_ROWS], _ROWS)]
    atoms = columns_of(case, _ROWS)
    for _ in range(_ROUNDS):
        for name, rows in targets.items():
            for feature, one in cases.space.ranges.items():
                wanted = one.read(rows)
                kind = np.result_type(atoms[f"{name}.{feature}"], wanted)
                tried = {**atoms, f"{name}.{feature}": wanted.astype(kind)}
                ok = cases.allowed(tried, _ROWS)
                ok[ok] = cases.broken(
                    {a: v[ok] for a, v in tried.items()}, int(ok.sum())
                )
                atoms[f"{name}.{feature}"] = np.where(
                    ok, wanted, atoms[f"{name}.{feature}"]
                )
    distance = np.zeros(_ROWS, int)
    for name, rows in targets.items():
        for feature, one in cases.space.ranges.items():
            distance += atoms[f"{name}.{feature}"] != one.read(rows)
    return one_case(atoms, int(np.argmin(distance)))
