"""Specs that say no more than: if one feature rises, the answer does not fall (or rise)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from nomos.lang import core
from nomos.train.repairing.cases.drawn import TrainingCases

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class Monotone:
    """The answer may only rise (1) or only fall (-1) with a column of the rows."""

    column: int
    direction: int


def find_monotone(cases: TrainingCases) -> Monotone | None:
    """Return what a spec asks for if that is a monotonicity, else None.

    The spec must compare two answers of one function, for an input and for a copy of it
    with a feature changed. Which column that is, and which way it is changed, is seen
    from the cases: whatever the spec says of it, they all have to agree.
    """
    pair = _ordered(cases)
    if pair is None or not len(cases):
        return None
    low, high = (cases.asks[key] for key in pair)
    if low.function != high.function or not isinstance(low.rows, np.ndarray):
        return None
    if low.rows.ndim != 2 or low.rows.dtype.kind not in "biuf":
        return None
    change = high.rows.astype(np.float64) - low.rows.astype(np.float64)
    columns = np.flatnonzero((change != 0).any(axis=0))
    if len(columns) != 1:
        return None
    column = int(columns[0])
    signs = set(np.sign(change[:, column]).astype(int).tolist()) - {0}
    return Monotone(column, signs.pop()) if len(signs) == 1 else None


def _ordered(cases: TrainingCases) -> tuple[int, int] | None:
    """Return the two asks of which the first may not answer more than the second."""
    spec = cases.spec
    if len(spec.ensures) != 1 or len(spec.inputs) != 1 or len(cases.asks) != 2:
        return None
    match spec.ensures[0].test:
        case core.Compare(operator="<=", left=low, right=high):
            pass
        case core.Compare(operator=">=", left=high, right=low):
            pass
        case core.Logic(operator="==>", left=low, right=high):
            pass
        case _:
            return None
    keys = tuple(_ask(side, cases) for side in (low, high))
    if None in keys or keys[0] == keys[1] or not _is_copied(cases):
        return None
    return keys  # type: ignore[return-value]  # none of them is None


def _ask(expr: core.Expr, cases: TrainingCases) -> int | None:
    """Return the ask that an expression stands for, if it is nothing more."""
    while isinstance(expr, core.Variable) and expr.name in cases.soft:
        expr = cases.soft[expr.name]
    return id(expr) if id(expr) in cases.asks else None


def _is_copied(cases: TrainingCases) -> bool:
    """Tell whether the model is asked the input and a copy with features changed."""
    spec = cases.spec
    lets = {let.name: let.value for let in spec.variables}
    asked = [
        node.arguments
        for let in spec.code.straight or ()
        for node in core.walk(let.value)
        if id(node) in cases.asks and isinstance(node, core.Call)
    ]
    if any(len(arguments) != 1 for arguments in asked):
        return False
    roots = [_copied_from(arguments[0], lets) for arguments in asked]
    return sorted(map(str, roots)) == sorted(
        [str((spec.inputs[0], False)), str((spec.inputs[0], True))]
    )


def _copied_from(
    expr: core.Expr, lets: dict[str, core.Expr]
) -> tuple[str, bool] | None:
    """Return the input that a record is, or is a changed copy of; and whether it is."""
    changed = False
    while True:
        match expr:
            case core.Variable(name=name) if name in lets:
                expr = lets[name]
            case core.Variable(name=name):
                return name, changed
            case core.SetFeature(record=record):
                expr, changed = record, True
            case _:
                return None
