"""Specs that hold for good where a column is masked, or an answer made monotone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from nomos.device import Array
from nomos.engine.interpreter import levels_compared
from nomos.lang import core
from nomos.train.evaluate import join_rows

_MOST_MASKED = 0.5  # of the columns: a model that sees fewer than half is another one


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
        return self.direction != 0 and replace(self, direction=-self.direction) == other


def find_constraint(
    spec: core.Spec,
    asks: Sequence[Sequence[Any]],
    prepare: Callable[[Any], Any] = lambda rows: rows,
) -> Constraint | None:
    """Return what a spec asks for if that is a monotonicity or independence, else None.

    The spec must compare two answers of one function, for an input and for a copy of it
    with features changed. Which columns these are, and which way they are changed, is seen
    from the rows that the model is asked in cases, as `sample_asks` gives them: they all
    have to agree. A monotonicity is one of the rows as `prepare` makes them.
    """
    compared = _read_relation(spec)
    if compared is None or not asks or {len(heard) for heard in asks} != {2}:
        return None
    sign, places, label = compared
    low, high = (join_rows([heard[place] for heard in asks]) for place in places)
    is_equal = sign == "=="
    if not is_equal:
        low, high = prepare(low), prepare(high)
    change = _change_of(low, high)
    if change is None or len(change) != len(asks):
        return None
    columns = tuple(np.flatnonzero((change != 0).any(axis=0)).tolist())
    if is_equal:
        few = 0 < len(columns) <= _MOST_MASKED * change.shape[1]
        return Constraint(columns, 0) if few else None
    signs = set(np.sign(change[:, columns]).astype(int).ravel().tolist()) - {0}
    is_one = len(columns) == len(signs) == 1
    if is_one and hasattr(low, "dtypes"):  # names have no order
        is_one = low.dtypes.iloc[columns[0]].kind in "biuf"
    levels = levels_compared(spec.ensures[0].test)
    return Constraint(columns, signs.pop(), label, levels) if is_one else None


def _change_of(low: Any, high: Any) -> Array | None:
    if hasattr(low, "columns"):
        low, high = _encode_frames(low, high)
    if not (isinstance(low, np.ndarray) and isinstance(high, np.ndarray)):
        return None
    if low.ndim != 2 or low.dtype.kind not in "biufO":
        return None
    try:  # a pipeline may hold numbers beside flags as objects
        before, after = low.astype(np.float64), high.astype(np.float64)
    except (TypeError, ValueError):
        return None
    return np.where(np.isnan(before) & np.isnan(after), 0.0, after - before)


def _encode_frames(low: Any, high: Any) -> tuple[Array, Array]:
    """Return frames as numbers, in which names that differ have different ones."""
    pairs = []
    for place in range(low.shape[1]):
        sides = [np.asarray(side.iloc[:, place], dtype=object) for side in (low, high)]
        kinds = {type(value) for side in sides for value in side}
        if not all(issubclass(kind, int | float | np.number) for kind in kinds):
            names = np.concatenate(sides).astype(str)
            sides = np.split(np.unique(names, return_inverse=True)[1], 2)
        pairs.append([side.astype(np.float64) for side in sides])
    one, other = (np.column_stack(columns) for columns in zip(*pairs, strict=True))
    return one, other


def _read_relation(spec: core.Spec) -> tuple[str, tuple[int, int], Any] | None:
    """Return two calls that are equal, or the first of which may not answer more.

    Or of which the second has a label, the third result, where the first has it. Calls
    are numbered in the order in which they are made.
    """
    label: Any = None
    if len(spec.ensures) != 1 or len(spec.inputs) != 1 or spec.code.straight is None:
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
    lines = (*spec.code.straight, *spec.later_variables)
    block = {let.name: let.value for let in lines}
    if len(block) < len(lines):  # a name has several values
        return None
    one, other = (_call_of(side, block) for side in (low, high))
    if one is None or other is None or one.function != other.function:
        return None
    calls = [
        node
        for expr in (*block.values(), spec.ensures[0].test)
        for node in core.walk(expr)
        if isinstance(node, core.Call) and node.function == one.function
    ]
    if len(calls) != 2 or one is other or not _are_copies(spec, calls):
        return None
    places = [id(node) for node in calls]
    return sign, (places.index(id(one)), places.index(id(other))), label


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


def _call_of(expr: core.Expr, block: Mapping[str, core.Expr]) -> core.Call | None:
    """Return the call that an expression stands for, if it is nothing more."""
    while isinstance(expr, core.Variable) and expr.name in block:
        expr = block[expr.name]
    return expr if isinstance(expr, core.Call) else None


def _are_copies(spec: core.Spec, calls: Sequence[core.Call]) -> bool:
    """Tell whether the model is asked the input and a copy with features changed."""
    if any(len(call.arguments) != 1 for call in calls):
        return False
    lets = {let.name: let.value for let in spec.variables}
    roots = [_origin_of(call.arguments[0], lets) for call in calls]
    wanted = [(spec.inputs[0], False), (spec.inputs[0], True)]
    return sorted(map(str, roots)) == sorted(map(str, wanted))


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
