"""Answers that decide: where some answers settle a case, the others are not asked for.

`d1 == 0` settles `d1 <= d2`, whatever d2 is. A call is put off only if its function is
total, and left out only if every answer that it may give leads to a case that passes. So
each case has the verdict that it has alone, every case counts, and shares are those of
all cases.

For each answer that is known, the combinations of the other answers are tried on the
`ensures`: columns with every class that the model can give, for whole groups of cases with
equal values. A case in which all of them pass needs no further call. It costs one
evaluation of plain comparisons for each combination (at most `_MOST`), and saves a row of
a model's batch for each case that is decided.

The limits: the model must have classes that are known and few, the `ensures` nothing but
constants, names, comparisons and logic, in which no value can raise; and a call that is
left out is not checked, so crashes and flaky answers of it are not seen either. Nothing is
left out of a case that could be violated.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from nomos.device import Array
from nomos.engine.vectorized.chunk import Cell
from nomos.lang import core

if TYPE_CHECKING:
    from nomos.engine.vectorized.columns import Columns

_MOST = 64  # combinations of answers that are tried
# Nothing can go wrong in these, with whatever answers.
_PLAIN = core.Constant | core.Variable | core.Compare | core.Logic | core.Not


def find_undecided(columns: Columns) -> Array | None:
    """Return the cases whose verdict still depends on answers; None where all do.

    The answers that it takes are asked for on the way, call by call.
    """
    waiting = _waiting(columns)
    if len(waiting) < 2:
        return None
    first, *others = waiting
    later = [columns.scope[name].later for name in others]
    calls = [one[0] for one in later if one and isinstance(one[0], core.Call)]
    known = [columns.program.classes_of(call.function) for call in calls]
    classes = [one for one in known if one is not None]
    if len(classes) < len(others) or math.prod(map(len, classes)) > _MOST:
        return None
    rows = np.arange(len(columns.chunk.rows))
    _ask_rows(columns, first, rows)
    for place, name in enumerate(others):
        rows = rows[_depends(columns, others[place:], classes[place:], rows)]
        if not len(rows):
            break
        _ask_rows(columns, name, rows)
    return rows


def _waiting(columns: Columns) -> list[str]:
    """Return the names whose calls were put off and that the `ensures` speak of."""
    spec = columns.spec
    nodes = [node for one in spec.ensures for node in core.walk(one.test)]
    if spec.later_variables or not all(isinstance(node, _PLAIN) for node in nodes):
        return []
    named = {node.name for node in nodes if isinstance(node, core.Variable)}
    if not named <= columns.scope.keys():
        return []
    lines = [let.name for let in spec.code.straight or () if let.name in named]
    cells = {name: columns.scope[name] for name in lines}
    return [name for name, cell in cells.items() if cell.later and cell.known is None]


def _ask_rows(columns: Columns, name: str, rows: Array) -> None:
    """Ask for the answers of some cases."""
    columns.column(name, None if len(rows) == len(columns.chunk.rows) else rows)


def _depends(
    columns: Columns, names: list[str], classes: Sequence[Sequence[Any]], rows: Array
) -> Array:
    """Return which cases would be violated by some of the answers not known yet."""
    depends = np.zeros(len(rows), dtype=bool)
    for answers in product(*classes):
        scope = dict(columns.scope)
        for name, answer in zip(names, answers, strict=True):
            scope[name] = Cell(answer, None)
        for condition in columns.spec.ensures:
            depends |= ~columns.evaluator.truth(condition.test, rows, scope)
    return depends
