"""Questions whose ensures look at the inputs too, as questions about answers alone."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from nomos.lang import core
from nomos.verify.question.components import groups, table
from nomos.verify.question.formulas import evaluate
from nomos.verify.question.space import Space
from nomos.verify.question.symbolic import ANSWER, NotProvable, Question, atoms

_MOST_PARTS = 64


def split(question: Question, space: Space, dtype: np.dtype[Any]) -> list[Question]:
    """Return questions that together ask the same; each has ensures of answers alone.

    What an ensures says of inputs and draws becomes a guard: one question for each of
    its values.
    """
    parts: list[core.Expr] = []
    for formula in question.ensures:
        parts += [part for part in _input_parts(formula) if part not in parts]
    choices = [_values(part, question, space, dtype) for part in parts]
    if np.prod([float(len(c)) for c in choices]) > _MOST_PARTS:
        raise NotProvable(
            "the ensures compare answers with too many values of inputs and draws",
            parts[0].span,
        )
    found = []
    for values in itertools.product(*choices):
        known = list(zip(parts, values, strict=True))
        guards = [_equals(part, value) for part, value in known]
        ensures = [_replaced(formula, known) for formula in question.ensures]
        more = (*question.guards, *guards)
        found.append(replace(question, guards=more, ensures=tuple(ensures)))
    return found


def _input_parts(expr: core.Expr) -> Iterator[core.Expr]:
    """Yield the largest parts of a formula that say something of inputs alone."""
    names = atoms(expr)
    if not names:
        return
    if not any(name.startswith(ANSWER) for name in names):
        yield expr
        return
    for child in core.children(expr):
        yield from _input_parts(child)


def _is_truth(expr: core.Expr) -> bool:
    return isinstance(expr, core.Compare | core.Logic | core.Not)


def _values(
    part: core.Expr, question: Question, space: Space, dtype: np.dtype[Any]
) -> list[Any]:
    if _is_truth(part):
        return [True, False]
    used = atoms(part)
    for group in groups(question, space):
        if used <= {*group.features, *(draw.atom for draw in group.draws)}:
            rows = table(group, space, dtype, None)
            return list(np.unique(evaluate(part, rows.atoms, len(rows))).tolist())
    raise NotProvable("this depends on several features at once", part.span)


def _equals(part: core.Expr, value: Any) -> core.Expr:
    if _is_truth(part):
        return part if value else core.Not(part, span=part.span)
    return core.Compare(
        "==", part, core.Constant(value, span=part.span), span=part.span
    )


def _replaced(expr: core.Expr, known: list[tuple[core.Expr, Any]]) -> core.Expr:
    """Return a formula with its known parts as constants."""
    for part, value in known:
        if expr == part:
            return core.Constant(value, span=expr.span)
    match expr:
        case core.Not(operand=operand) | core.Negate(operand=operand):
            return replace(expr, operand=_replaced(operand, known))
        case core.Arithmetic() | core.Compare() | core.Logic():
            left, right = _replaced(expr.left, known), _replaced(expr.right, known)
            return replace(expr, left=left, right=right)
        case core.Conditional():
            test, yes, no = (
                _replaced(e, known) for e in (expr.test, expr.yes, expr.no)
            )
            return core.Conditional(test, yes, no, span=expr.span)
        case _:
            return expr
