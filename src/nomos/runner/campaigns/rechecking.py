"""After a campaign without a violation: some of its cases once more, together and alone.

Answers that depend on the batch may hide every violation, as games do that share one
simulator. And outputs that never vary break few properties.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

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
_SHARE = 50  # one case in so many
_CLOSE = 1e-2  # what numbers may differ by: batches round in another way


def recheck(engine: Engine, result: Result, compares: bool) -> tuple[Analysis, str]:
    """Return what never varies in some cases, and what is wrong if they `compare` badly."""
    if engine.way == "rows":  # each was run alone
        return Analysis(), ""
    schema = engine.program.schema
    count = max(_ALONE, min(_MOST_TOGETHER, result.counts.tests // _SHARE))
    cases = RandomCases(Stream(result.seed, result.name), 0, count)
    rows, _, columns = engine.values(cases, with_outputs=True)
    values = {
        name: [describe(value, schema) for value in items(column)]
        for name, column in columns.items()
    }
    calls, problem = len(rows) * result.counts.k, ""
    if compares:
        try:
            alone = [
                engine.alone.run(cases.alone(row)) for row in rows[:_ALONE].tolist()
            ]
        except ModelError as error:
            return Analysis(), str(error)
        calls += sum(outcome.calls for outcome in alone)
        problem = _compared(alone, values)
    same = _unvaried(engine, values) if len(rows) >= _ALONE else ()
    return Analysis(sampled=len(rows), model_calls=calls, unvaried=same), problem


def _compared(alone: Sequence[Outcome], values: Mapping[str, Sequence[Any]]) -> str:
    """Say how many cases came to something else alone; one output may be at an edge."""
    judged = [n for n, one in enumerate(alone) if one.verdict is not Verdict.DISCARDED]
    broken = [n for n in judged if alone[n].verdict is not Verdict.PASSED]
    others = [
        n
        for n in judged
        if n in broken
        or not all(
            _agree(describe(value), values[name][n])
            for name, value in alone[n].outputs.items()
        )
    ]
    return other_outputs(len(others), len(judged)) if broken or others[1:] else ""


def _agree(one: Any, other: Any) -> bool:
    """Tell whether two described outputs are the same, but for rounding."""
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_agree, one, other))
    if isinstance(one, int | float) and isinstance(other, int | float):
        return math.isclose(one, other, rel_tol=_CLOSE, abs_tol=_CLOSE)
    return isinstance(one, dict) or one == other


def _unvaried(engine: Engine, values: Mapping[str, list[Any]]) -> tuple[str, ...]:
    """Say which outputs are all the same, and which vars never differ from an input."""
    spec = engine.program.spec
    outputs = [values[name] for name in spec.outputs]
    if outputs and all(one.count(one[0]) == len(one) for one in outputs):
        return tuple(f"{name} = {values[name][0]}" for name in spec.outputs)
    return tuple(
        f"{let.name} = {name}"
        for let in spec.variables
        for name in spec.inputs
        if values[let.name] == values[name]
    )
