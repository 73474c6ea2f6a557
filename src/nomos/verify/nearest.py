"""A violation as near to a row of the data as can be had by going towards one."""

from __future__ import annotations

from typing import Any

import numpy as np

from nomos.results.real_rows import RealRows
from nomos.verify.question.cases import AskedCases, columns_of, one_case
from nomos.verify.question.formulas import Array

_ROWS = 64  # of the data, towards which a violation is moved
_ROUNDS = 2


def moved(cases: AskedCases, case: dict[str, Any], data: Array) -> dict[str, Any]:
    """Return a violation with as many features of a row as keep it one."""
    data = data[cases.inside(data)]
    if not len(data):
        return case
    real = RealRows(data, cases.space.schema)
    targets = {}
    for name in cases.question.inputs:
        order = real.order(cases.record(case, name))
        targets[name] = data[np.resize(order[:_ROWS], _ROWS)]
    atoms = columns_of(case, _ROWS)
    for _ in range(_ROUNDS):
        for name, rows in targets.items():
            for feature, one in cases.space.ranges.items():
                atom, wanted = f"{name}.{feature}", one.read(rows)
                kind = np.result_type(atoms[atom], wanted)
                tried = {**atoms, atom: wanted.astype(kind)}
                ok = cases.allowed(tried, _ROWS)
                ok[ok] = cases.broken(
                    {a: v[ok] for a, v in tried.items()}, int(ok.sum())
                )
                atoms[atom] = np.where(ok, wanted, atoms[atom])
    distance = np.zeros(_ROWS, int)
    for name, rows in targets.items():
        for feature, one in cases.space.ranges.items():
            distance += atoms[f"{name}.{feature}"] != one.read(rows)
    return one_case(atoms, int(np.argmin(distance)))
