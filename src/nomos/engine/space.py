"""All the cases there are: the choices of a spec listed, level by level of its draws."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterator

import numpy as np

from nomos.device import Array
from nomos.engine.answers import Answers
from nomos.engine.cases import LONGEST_RANGE, ListedCases
from nomos.engine.choices import EndlessRange
from nomos.engine.program import Program
from nomos.engine.vectorized.chunk import Chunk, Fate
from nomos.engine.vectorized.columns import Columns
from nomos.lang import core

_CHUNK = 8192
_TRIED_INPUTS, _MOST_COUNTED = 64, 100_000  # where the size of a space is estimated
_MOST_ESTIMATED = 10**18  # ways to draw the inputs
_MOST_IN_ONE_WAY = 200_000  # cases: draws of 64 pixels would never be counted


def input_count(program: Program) -> int:
    """Return in how many ways the inputs can be drawn."""
    pairs = [index.total for index in program.pairs.values()]
    alone = len(program.spec.inputs) - 2 * len(pairs)
    return math.prod(pairs, start=len(program.source) ** alone)


def estimate_space(program: Program) -> int | None:
    """Return about how many cases there are, from those of a few ways to draw inputs.

    None where they cannot be listed, one way has too many to be counted, or there
    are more than anybody will ever try.
    """
    ways = input_count(program)
    if ways > _MOST_ESTIMATED:
        return None
    counted = tried = 0
    try:
        for number in range(_TRIED_INPUTS):
            if counted > _MOST_COUNTED:
                break
            before = counted
            for cases in list_cases(program, ways * number // _TRIED_INPUTS, 1):
                counted += len(cases)
                if counted - before > _MOST_IN_ONE_WAY:
                    return None
            tried += 1
    except EndlessRange:
        return None
    return round(counted / tried * ways)


def list_cases(
    program: Program, begin: int = 0, count: int | None = None
) -> Iterator[Array]:
    """Yield the choices of every case, in order, as arrays of one case per row.

    Only cases of `count` ways to draw the inputs, from number `begin` on, are listed,
    and only what comes before the block is run. Raises EndlessRange where a draw has
    too many values to be listed.
    """
    if draws_late(program.spec, program.draws):
        raise EndlessRange("a draw inside the block, or after it")
    for numbers in _ways(program, begin, count):
        yield from _expand(program, numbers)


def _ways(program: Program, begin: int, count: int | None) -> Iterator[Array]:
    """Yield the choices of `count` ways to draw the inputs, from number `begin` on."""
    pairs, inputs = program.pairs, len(program.spec.inputs)
    sizes = [
        pairs[i].total if i in pairs else len(program.source) for i in range(inputs)
    ]
    total = input_count(program)
    total = total if count is None else min(total, begin + count)
    while begin < total:
        # Numbers may have more than 64 bits, so they are added to digit by digit.
        carry, left = np.arange(min(total - begin, _CHUNK)), begin
        begin += len(carry)
        digits = np.empty((len(carry), inputs), dtype=np.int64)
        for i in reversed(range(inputs)):
            if i - 1 in pairs:
                continue  # the number of the pair says it
            left, digit = divmod(left, sizes[i])
            carry, digits[:, i] = np.divmod(carry + digit, sizes[i])
            if i in pairs:
                digits[:, i], which = pairs[i].first_rows(digits[:, i])
                digits[:, i + 1] = pairs[i].partner_rows(digits[:, i], which)
        yield digits


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
    draws = ListedCases(known, checks=False)
    chunk = Chunk(program, draws)
    with np.errstate(all="ignore"):
        Columns(chunk, Answers(len(program.source))).generate()
    waits = np.zeros(len(known), dtype=bool)
    waits[chunk.find_gone(Fate.WAITS)] = True
    if not waits.all():
        yield known[~waits]
    waiting = np.flatnonzero(waits)
    sizes = draws.high[waiting] - draws.low[waiting] + 1
    if len(waiting) and not 0 < int(sizes.min()) <= int(sizes.max()) <= LONGEST_RANGE:
        long = f"randInt over more than {LONGEST_RANGE} numbers"
        raise EndlessRange(draws.endless or long)
    while len(waiting):
        # As many of the waiting cases as fill a chunk, but at least one.
        count = max(1, int(np.searchsorted(np.cumsum(sizes), _CHUNK)))
        part, widths = waiting[:count], sizes[:count]
        values = count_from(draws.low[part], widths)
        longer = np.column_stack([known[np.repeat(part, widths)], values])
        yield from _expand(program, longer)
        waiting, sizes = waiting[count:], sizes[count:]


def count_from(low: Array, lengths: Array) -> Array:
    """Return all whole numbers from each of `low` on, so many as `lengths` says."""
    starts = np.repeat(np.cumsum(lengths) - lengths, lengths)
    return np.asarray(np.arange(int(lengths.sum())) - starts + np.repeat(low, lengths))
