"""All the cases there are: the choices of a spec listed, level by level of its draws."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from nomos.harness.asking import Answers
from nomos.harness.choices import EndlessRange
from nomos.harness.chunk import Chunk, Fate
from nomos.harness.columns import Columns
from nomos.harness.drawing import LONGEST_RANGE, ReplayedDraws
from nomos.harness.program import Program
from nomos.lang import core

Array = np.ndarray[Any, Any]
_CHUNK = 8192


def listed_cases(program: Program) -> Iterator[Array]:
    """Yield the choices of every case, in order, as arrays of one case per row.

    Only what comes before the block is run. Raises EndlessRange where a draw has too
    many values to be listed.
    """
    if draws_late(program.spec, program.draws):
        raise EndlessRange("a draw inside the block, or after it")
    size, inputs = len(program.source), len(program.spec.inputs)
    total = size**inputs
    for first in range(0, total, _CHUNK):
        numbers = np.arange(first, min(total, first + _CHUNK), dtype=np.int64)
        digits = [numbers // size ** (inputs - 1 - i) % size for i in range(inputs)]
        yield from _expand(program, np.stack(digits, axis=1))


def draws_late(spec: core.Spec, draws: Callable[[str], bool]) -> bool:
    """Tell whether a case may draw in its block or later, where nothing is listed.

    `draws` tells whether a function of this name draws.
    """
    mentioned = {
        node.id if isinstance(node, ast.Name) else node.attr
        for statement in spec.code.statements
        for node in ast.walk(statement)
        if isinstance(node, ast.Name | ast.Attribute)
    }
    if any(draws(name) for name in mentioned):
        return True
    lets = [let.value for let in spec.later_variables]
    return any(
        isinstance(node, core.RandInt | core.RandReal)
        or (isinstance(node, core.Call) and node.draws)
        for expr in (*lets, *(condition.test for condition in spec.ensures))
        for node in core.walk(expr)
    )


def _expand(program: Program, known: Array) -> Iterator[Array]:
    """Add the next choice to cases that wait for one; yield those that need no more."""
    draws = ReplayedDraws(known)
    chunk = Chunk(program, draws, len(known))
    with np.errstate(all="ignore"):
        Columns(chunk, Answers(len(program.source))).generate()
    waits = np.zeros(len(known), dtype=bool)
    waits[chunk.gone(Fate.WAITS)] = True
    if not waits.all():
        yield known[~waits]
    waiting = np.flatnonzero(waits)
    sizes = draws.high[waiting] - draws.low[waiting] + 1
    if len(waiting) and not 0 < int(sizes.min()) <= int(sizes.max()) <= LONGEST_RANGE:
        raise EndlessRange(f"randInt over more than {LONGEST_RANGE} numbers")
    while len(waiting):
        # As many of the waiting cases as fill a chunk, but at least one.
        count = max(1, int(np.searchsorted(np.cumsum(sizes), _CHUNK)))
        part, widths = waiting[:count], sizes[:count]
        starts = np.repeat(np.cumsum(widths) - widths, widths)
        values = np.repeat(draws.low[part], widths) + np.arange(widths.sum()) - starts
        longer = np.column_stack([known[np.repeat(part, widths)], values])
        yield from _expand(program, longer)
        waiting, sizes = waiting[count:], sizes[count:]


def space_within(program: Program, limit: int) -> list[Array] | None:
    """Return all cases where there are at most `limit` of them, else None."""
    if len(program.source) ** len(program.spec.inputs) > limit:
        return None
    found: list[Array] = []
    count = 0
    try:
        for cases in listed_cases(program):
            count += len(cases)
            if count > limit:
                return None
            found.append(cases)
    except EndlessRange:
        return None
    return found
