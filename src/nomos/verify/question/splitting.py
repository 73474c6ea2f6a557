"""Questions whose ensures look at the inputs too, as questions about answers alone."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from nomos.errors import NotProvable
from nomos.lang import core
from nomos.lang.nodes import map_children
from nomos.verify.question.cases import AskedCases
from nomos.verify.question.components import groups, table
from nomos.verify.question.formulas import evaluate
from nomos.verify.question.symbolic import asks_answer, variables

_MOST_PARTS = 64


def divide_question(
    cases: AskedCases, *, keeps_reals: bool = False
) -> list[AskedCases]:
    """Return questions that together ask the same; each has ensures of answers alone.

    What an ensures says of inputs and draws becomes a guard: one question for each of
    its values; of reals there are too many, and they are left where that is of use.
    """
    question = cases.question
    parts = list(dict.fromkeys(
        part for formula in question.ensures for part in _input_parts(formula)
        if not (keeps_reals and _is_real(part, cases))
    ))  # fmt: skip
    choices = [_list_values(part, cases) for part in parts]
    if np.prod([float(len(c)) for c in choices]) > _MOST_PARTS:
        raise NotProvable(
            "the ensures compare answers with too many values of inputs and draws",
            parts[0].span,
        )
    found = []
    for values in itertools.product(*choices):
        known = list(zip(parts, values, strict=True))
        guards = [_fix_value(part, value) for part, value in known]
        ensures = tuple(_replace_parts(formula, known) for formula in question.ensures)
        own = replace(question, guards=(*question.guards, *guards), ensures=ensures)
        found.append(replace(cases, question=own))
    return found


def _input_parts(expr: core.Expr) -> Iterator[core.Expr]:
    """Yield the largest parts of a formula that say something of inputs alone."""
    if asks_answer(expr):
        for child in core.children(expr):
            yield from _input_parts(child)
    elif variables(expr):
        yield expr


def _is_real(part: core.Expr, cases: AskedCases) -> bool:
    """Tell whether a part is a number that has more values than can be listed."""
    if _is_truth(part):
        return False
    real = {draw.variable for draw in cases.question.draws if draw.is_real}
    return any(
        name in real or ("." in name and cases.space.range_of(name).is_real)
        for name in variables(part)
    )


def _is_truth(expr: core.Expr) -> bool:
    return isinstance(expr, core.Compare | core.Logic | core.Not)


def _list_values(part: core.Expr, cases: AskedCases) -> list[Any]:
    if _is_truth(part):
        return [True, False]
    used = variables(part)
    for group in groups(cases):
        if used <= {*group.features, *(draw.variable for draw in group.draws)}:
            rows = table(cases, group)
            return list(np.unique(evaluate(part, rows.variables, len(rows))).tolist())
    raise NotProvable("this depends on several features at once", part.span)


def _fix_value(part: core.Expr, value: Any) -> core.Expr:
    if _is_truth(part):
        return part if value else core.Not(part, span=part.span)
    constant = core.Constant(value, span=part.span)
    return core.Compare("==", part, constant, span=part.span)


def _replace_parts(expr: core.Expr, known: list[tuple[core.Expr, Any]]) -> core.Expr:
    """Return a formula with its known parts as constants."""
    for part, value in known:
        if expr == part:
            return core.Constant(value, span=expr.span)
    changed: core.Expr = map_children(expr, lambda part: _replace_parts(part, known))
    return changed
