"""Specs that a library's constraint, or a column that is left out, satisfies for good."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from nomos.device import Array
from nomos.engine.interpreter import levels_compared
from nomos.lang import core
from nomos.train.repairing.cases.drawn import TrainingCases

_MOST_IGNORED = 0.5  # of the columns: a model that sees fewer than half is another one


@dataclass(frozen=True, slots=True)
class Constraint:
    """The answer may only rise (1) or only fall (-1) with a column, or (0) not depend.

    A monotonicity is of one column of the rows, an independence of one or more. Where it
    is of one `label` among others, that label may only come, or only go.
    """

    columns: tuple[int, ...]
    direction: int
    label: Any = None
    levels: tuple[str, ...] = ()  # of answers that are names: the lowest first

    def is_against(self, other: Constraint | None) -> bool:
        """Tell whether answers would have to rise with a column, and to fall."""
        turned = replace(self, direction=-self.direction)
        return self.direction != 0 and turned == other


def find_constraint(
    cases: TrainingCases, prepared: Callable[[Any], Any] = lambda rows: rows
) -> Constraint | None:
    """Return what a spec asks for if that is a monotonicity or independence, else None.

    The spec must compare two answers of one function, for an input and for a copy of it
    with features changed. Which columns these are, and which way they are changed, is
    seen from the cases: whatever the spec says of it, they all have to agree. A
    monotonicity is one of the rows as they are prepared for the estimator.
    """
    compared = _asks_in_relation(cases)
    if compared is None or not len(cases):
        return None
    sign, pair, label = compared
    low, high = (cases.asks[key] for key in pair)
    if low.function != high.function:
        return None
    is_equal = sign == "=="
    rows = [one.rows if is_equal else prepared(one.rows) for one in (low, high)]
    change = _change_of(*rows)
    if change is None:
        return None
    columns = tuple(np.flatnonzero((change != 0).any(axis=0)).tolist())
    if is_equal:
        few = 0 < len(columns) <= _MOST_IGNORED * change.shape[1]
        return Constraint(columns, 0) if few else None
    signs = set(np.sign(change[:, columns]).astype(int).ravel().tolist()) - {0}
    is_one = len(columns) == len(signs) == 1
    levels = levels_compared(cases.spec.ensures[0].test)
    return Constraint(columns, signs.pop(), label, levels) if is_one else None


def _change_of(low: Any, high: Any) -> Array | None:
    if not (isinstance(low, np.ndarray) and isinstance(high, np.ndarray)):
        return None
    if low.ndim != 2 or low.dtype.kind not in "biufO":
        return None
    try:  # a pipeline may hold numbers beside flags as objects
        before, after = low.astype(np.float64), high.astype(np.float64)
    except (TypeError, ValueError):
        return None
    missing = np.isnan(before) & np.isnan(after)
    return np.where(missing, 0.0, after - before)


def _asks_in_relation(cases: TrainingCases) -> tuple[str, tuple[int, int], Any] | None:
    """Return two asks that are equal, or the first of which may not answer more.

    Or of which the second has a label, the third result, where the first has it.
    """
    spec = cases.spec
    label: Any = None
    if len(spec.ensures) != 1 or len(spec.inputs) != 1 or len(cases.asks) != 2:
        return None
    match spec.ensures[0].test:
        case core.Compare(operator="==", left=low, right=high):
            sign = "=="
        case (
            core.Compare(operator="<=", left=low, right=high)
            | core.Compare(operator=">=", left=high, right=low)
        ):
            sign, low, high = "<=", _without_slack("-", low), _without_slack("+", high)
        case core.Logic(
            operator="==>",
            left=core.Compare("==", low, core.Constant(value=label)),
            right=core.Compare("==", high, core.Constant(value=second)),
        ) if label == second:
            sign = "<="
        case core.Logic(operator="==>", left=low, right=high):
            sign, label = "<=", None
        case _:
            return None
    one, other = (_ask_of(side, cases) for side in (low, high))
    if one is None or other is None or one == other or not _is_copied(cases):
        return None
    return sign, (one, other), label


def _without_slack(sign: str, expr: core.Expr) -> core.Expr:
    """Return an answer without what a comparison allows it: `d1 <= d2 + 5`."""
    match expr:
        case core.Arithmetic(
            operator=operator,
            left=answer,
            right=core.Constant(value=int() | float() as slack),
        ) if operator == sign and slack >= 0:
            return answer
        case _:
            return expr


def _ask_of(expr: core.Expr, cases: TrainingCases) -> int | None:
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
    roots = [_origin_of(arguments[0], lets) for arguments in asked]
    return sorted(map(str, roots)) == sorted(
        [str((spec.inputs[0], False)), str((spec.inputs[0], True))]
    )


def _origin_of(expr: core.Expr, lets: dict[str, core.Expr]) -> tuple[str, bool] | None:
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
