"""After a campaign without a violation: some of its cases once more, together and alone.

Answers that depend on the batch may hide every violation, as games do that share one
simulator. And outputs that never vary break few properties.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from nomos.domain.meter import CallsSpent, current_lease
from nomos.domain.records import items
from nomos.engine.alone import Outcome, Verdict
from nomos.engine.cases import RandomCases
from nomos.engine.choices import Stream
from nomos.engine.engine import Engine
from nomos.errors import ModelError
from nomos.results.analysis import Analysis
from nomos.results.describe import describe
from nomos.results.result import Result
from nomos.results.verdict import other_outputs

_ALONE = 10  # cases
_MOST_TOGETHER = 100
_MOST_DRAWN = 10_000  # to get past `requires`
_SHARE = 50  # one case in so many
_LONGEST = 40  # characters of an output
_CLOSE = 1e-2  # what numbers may differ by: batches round in another way


def recheck(engine: Engine, result: Result, compares: bool) -> tuple[Analysis, str]:
    """Return what never varies in some cases, and what is wrong if they `compare` badly."""
    schema, counts = engine.program.schema, result.counts
    wanted = max(_ALONE, min(_MOST_TOGETHER, counts.tests // _SHARE))
    left = current_lease().left
    if left is not None:  # each case together with others, and alone
        wanted = min(wanted, left // (3 * max(1, counts.k)))
    drawn = min(_MOST_DRAWN, wanted * (counts.tests + counts.discarded) // counts.tests)
    cases = RandomCases(Stream(result.seed, result.name), 0, drawn)
    rows, _, columns = engine.values(cases, with_outputs=True)
    if not len(rows):
        if left is not None and not wanted:
            raise CallsSpent
        return Analysis(), ""
    values = {
        name: [describe(value, schema) for value in items(column)]
        for name, column in columns.items()
    }
    calls, problem = (len(rows) + len(rows[:_ALONE])) * counts.k, ""
    if compares and engine.mode != "sequential":  # there each was run alone
        try:
            alone = [
                engine.alone.run(cases.alone(row)) for row in rows[:_ALONE].tolist()
            ]
        except ModelError as error:
            return Analysis(), str(error)
        outputs = {name: items(columns[name]) for name in engine.program.spec.outputs}
        all_passed = result.verdict == "holds" or result.search == "random"
        problem = _compared(alone, outputs, all_passed)
    same = _unvaried(engine, values) if len(rows) >= _ALONE else ()
    return Analysis(sampled=len(rows), model_calls=calls, unvaried=same), problem


def _compared(
    alone: Sequence[Outcome], outputs: Mapping[str, Sequence[Any]], all_passed: bool
) -> str:
    """Say how many cases came to something else alone; one output may be at an edge.

    A search may not have come to these cases: then they are allowed to break the property.
    """
    judged = [n for n, one in enumerate(alone) if one.verdict is not Verdict.DISCARDED]
    broken = [
        n for n in judged if all_passed and alone[n].verdict is not Verdict.PASSED
    ]
    others = [
        n
        for n in judged
        if n in broken
        or not all(
            _agree(value, outputs[name][n]) for name, value in alone[n].outputs.items()
        )
    ]
    return other_outputs(len(others), len(judged)) if broken or others[1:] else ""


def _agree(one: Any, other: Any) -> bool:
    """Tell whether two outputs are the same, but for rounding, as far as can be told."""
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(_agree, one, other))
    if isinstance(one, str) or one is None or other is None:
        return bool(one == other)
    first, second = np.asarray(one), np.asarray(other)
    if first.shape != second.shape:
        return False
    is_numbers = {first.dtype.kind, second.dtype.kind} <= set("biuf")
    return not is_numbers or np.allclose(
        first.astype(float), second.astype(float), _CLOSE, _CLOSE, equal_nan=True
    )


def _unvaried(engine: Engine, values: Mapping[str, list[Any]]) -> tuple[str, ...]:
    """Say which outputs are all the same, and which vars never differ from an input.

    A single output may be what is ensured, and is the same wherever that holds.
    """
    spec = engine.program.spec
    outputs = [values[name] for name in spec.outputs]
    if len(outputs) > 1 and all(one.count(one[0]) == len(one) for one in outputs):
        shown = {name: str(values[name][0])[:_LONGEST] for name in spec.outputs}
        return tuple(f"{name} = {text}" for name, text in shown.items())
    return tuple(
        f"{let.name} = {name}"
        for let in spec.variables
        for name in spec.inputs
        if values[let.name] == values[name]
    )
