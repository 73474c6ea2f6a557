"""What the model says of the first record that a case asks it about."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from nomos.device import Array
from nomos.domain.domain import Domain
from nomos.domain.functions import BoundBatched
from nomos.domain.meter import asking
from nomos.domain.records import Column
from nomos.engine.program import Program
from nomos.errors import OF_THE_CASE
from nomos.groups.features import Raw
from nomos.lang import core
from nomos.models.adapter import Adapter

_MOST_ANSWERS = 12  # different ones; more are numbers, or say nothing


def model_call(value: core.Expr, program: Program) -> core.Call | None:
    """Return a line that is one call of a batched function with one argument."""
    if (
        isinstance(value, core.Call)
        and program.batched(value.function) is not None
        and len(value.arguments) == 1
        and not any(isinstance(n, core.Call) for n in core.walk(value.arguments[0]))
    ):
        return value
    return None


def first_call(program: Program) -> tuple[str, str, str] | None:
    """Return the output, the function and the input of the first call of a block."""
    for let in program.spec.code.straight or ():
        call = model_call(let.value, program)
        if call is not None and not call.draws:
            asked = call.arguments[0]
            if isinstance(asked, core.Variable):
                return let.name, call.function, asked.name
    return None


def ask(
    program: Program, values: Mapping[str, Column], most: int
) -> tuple[Raw, Array, int]:
    """Return answers and confidence for cases, which have them, and rows asked about.

    No more than `most` different records are asked about, the first ones.
    """
    call = first_call(program)
    column = None if call is None else values.get(call[2])
    nothing: tuple[Raw, Array, int] = {}, np.empty(0, dtype=bool), 0
    if call is None or not isinstance(column, np.ndarray) or column.ndim != 2:
        return nothing
    _, first, where = np.unique(column, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")  # as the cases come
    rank = np.empty(len(first), dtype=np.int64)
    rank[order] = np.arange(len(first))
    places = rank[where.reshape(-1)]
    rows = column[first[order]][:most]
    function = program.batched(call[1])
    assert function is not None
    try:
        answers = np.asarray(function.many(rows.copy()))
    except OF_THE_CASE:
        return nothing
    answered: Array = places < len(rows)
    at = np.minimum(places, len(rows) - 1)
    if answers.ndim != 1 or answers.dtype.kind not in "iufbUO":
        return nothing
    described: Raw = {call[0]: _told(answers)[at]}
    confidence = _confidence(program, call[1], rows)
    asked = len(rows)
    if confidence is not None:
        described[f"confidence of {call[0]}"] = confidence[at]
        asked += len(rows)
    return described, answered, asked


def _told(answers: Array) -> Array:
    """Return answers as names where they are few, else as numbers."""
    few = len({str(answer) for answer in answers.tolist()}) <= _MOST_ANSWERS
    if few or answers.dtype.kind in "UO":
        return np.array([str(answer) for answer in answers.tolist()], dtype=object)
    return answers.astype(np.float64)


def _confidence(program: Program, function: str, rows: Array) -> Array | None:
    """Return by how much the first class is ahead of the second; None if unknown.

    A domain may have `scores`; else the model that stands for the function is asked.
    """
    scores, _ = asker_of(program.domain, function)
    if scores is None:
        return None
    try:
        given = np.asarray(scores(rows.copy()), dtype=np.float64)
    except Exception:  # a model without scores, or a domain's own code: no confidence
        return None
    if given.ndim != 2 or given.shape[1] < 2 or not np.isfinite(given).all():
        return None
    ends = np.sort(shares_of(given), axis=1)
    ahead: Array = np.round(ends[:, -1] - ends[:, -2], 2)
    return ahead


def asker_of(
    domain: Domain, function: str
) -> tuple[Callable[[Array], Any] | None, Callable[[], Array | None] | None]:
    """Return what gives scores, and what tells their classes."""
    own = getattr(domain, "scores", None)
    if isinstance(own, BoundBatched):
        return own.many, None
    if callable(own):
        return _metered(own), None
    model = getattr(domain, domain.verifies.get(function, ""), None)
    if model is None or not callable(getattr(model, "scores", None)):
        return None, None
    # Models that were loaded count for themselves: they may keep scores.
    ask = model.scores if isinstance(model, Adapter) else _metered(model.scores)
    return ask, lambda: getattr(model, "classes", None)


def _metered(ask: Callable[[Array], Any]) -> Callable[[Array], Any]:
    def ask_metered(rows: Array) -> Any:
        with asking(len(rows)):
            return ask(rows)

    return ask_metered


def shares_of(scores: Array) -> Array:
    """Return scores as probabilities; those that are such already as they are."""
    sums = scores.sum(axis=1)
    if scores.min() >= 0 and scores.max() <= 1 and np.allclose(sums, 1, atol=1e-3):
        return scores
    grown = np.exp(scores - scores.max(axis=1, keepdims=True))
    shares: Array = grown / grown.sum(axis=1, keepdims=True)
    return shares
