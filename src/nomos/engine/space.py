"""All the cases there are: the choices of a spec listed, level by level of its draws."""

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
# Beside or around a draw: it is made in some cases only, or several times, or endless.
_SOMETIMES = core.Logic | core.Conditional | core.Comprehension | core.Quantifier
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
                counted += cases.count
                if counted - before > _MOST_IN_ONE_WAY:
                    return None
            tried += 1
    except EndlessRange:
        return None
    return round(counted / tried * ways)


def list_cases(
    program: Program, begin: int = 0, count: int | None = None
) -> Iterator[ListedCases]:
    """Yield every case, in the order of their choices, however many come together.

    Only cases of `count` ways to draw the inputs, from number `begin` on, are listed,
    and only what comes before the block is run. Raises EndlessRange where a draw has
    too many values to be listed.
    """
    if draws_late(program.spec, program.draws):
        raise EndlessRange("a draw inside the block, or after it")
    most = count_choices(program.spec)
    for numbers in _ways(program, begin, count):
        lengths = np.full(len(numbers), numbers.shape[1], dtype=np.int64)
        is_open = np.ones(len(numbers), dtype=bool)
        yield from _expand(program, numbers, lengths, is_open, most)


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
    nodes = list(ast.walk(ast.Module(list(spec.code.statements), [])))
    mentioned = {node.id for node in nodes if isinstance(node, ast.Name)}
    mentioned |= {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    later = [let.value for let in spec.later_variables]
    later += [condition.test for condition in spec.ensures]
    inside = (node for expr in later for node in core.walk(expr))
    return any(map(draws, mentioned)) or any(map(is_draw, inside))


def is_draw(node: object) -> bool:
    """Tell whether evaluating this draws; of its parts it says nothing."""
    if isinstance(node, core.Call):
        return node.draws
    return isinstance(node, core.RandInt | core.RandReal)


def count_choices(spec: core.Spec) -> int | None:
    """Return how many choices a case has that no `requires` ends; None: it depends.

    What stands behind the last one need not be evaluated to list cases: it may be slow.
    """
    count = len(spec.inputs)
    for one in spec.guarded_variables:
        nodes = list(core.walk(one.value if isinstance(one, core.Let) else one.test))
        if any(map(is_draw, nodes)):
            if any(isinstance(node, _SOMETIMES | core.Apply) for node in nodes):
                return None
            count += sum(map(is_draw, nodes))
    return count


def _expand(
    program: Program, known: Array, lengths: Array, is_open: Array, most: int | None
) -> Iterator[ListedCases]:
    """Yield cases with all their choices, those that begin with these, in their order.

    A case that is open may have a choice to make behind those that are known. It becomes
    as many as that choice has values, and they stand in its place: whatever is listed
    together, the order is that of the choices.
    """
    if known.shape[1] == most:
        yield ListedCases(known, lengths)
        return
    asked = np.flatnonzero(is_open)
    draws = ListedCases(known[asked], lengths[asked], checks=False)
    chunk = Chunk(program, draws)
    with np.errstate(all="ignore"):
        Columns(chunk, Answers(len(program.source))).generate()
    waits = np.zeros(len(asked), dtype=bool)
    waits[chunk.find_gone(Fate.WAITS)] = True
    if not waits.any():
        yield ListedCases(known, lengths)
        return
    waiting = asked[waits]
    sizes = draws.high[waits] - draws.low[waits] + 1
    if not 0 < int(sizes.min()) <= int(sizes.max()) <= LONGEST_RANGE:
        long = f"randInt over more than {LONGEST_RANGE} numbers"
        raise EndlessRange(draws.endless or long)
    low, widths = np.zeros_like(lengths), np.ones_like(lengths)
    low[waiting], widths[waiting] = draws.low[waits], sizes
    more = np.isin(np.arange(len(known)), waiting)
    ends, begin = np.cumsum(widths), 0
    while begin < len(known):
        # As many as fill a chunk, but at least one.
        before = ends[begin] - widths[begin]
        end = max(begin + 1, int(np.searchsorted(ends, before + _CHUNK)))
        rows = np.repeat(np.arange(begin, end), widths[begin:end])
        values = count_from(low[begin:end], widths[begin:end])
        longer = np.column_stack([known[rows], values])
        yield from _expand(program, longer, (lengths + more)[rows], more[rows], most)
        begin = end


def count_from(low: Array, lengths: Array) -> Array:
    """Return all whole numbers from each of `low` on, so many as `lengths` says."""
    starts = np.repeat(np.cumsum(lengths) - lengths, lengths)
    return np.asarray(np.arange(int(lengths.sum())) - starts + np.repeat(low, lengths))
