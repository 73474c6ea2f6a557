"""The condition that a case changes something: one that changes nothing is no test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce

from nomos.diagnostics.source import Span
from nomos.errors import NotProvable
from nomos.lang import core
from nomos.verify.question.formulas import difference, linear

Record = Mapping[str, core.Expr]
Bounds = Mapping[str, tuple[core.Expr, core.Expr]]  # of draws
_MOST_CHANGED = 12  # features of which a guard says that one of them differs


def require_change(
    calls: Sequence[Record], draws: Bounds, guards: list[core.Expr], span: Span
) -> list[core.Expr]:
    """Return the guard of cases that change something, where it says anything.

    None is needed where a change is certain, nor where the model is asked about records
    that have little in common: then a violation shows whether they are equal.
    """
    tests: list[core.Expr] = []
    if len(calls) == 1:  # whatever it is called
        return [core.Constant(False, span=span)]
    for call in calls[1:]:
        changed = [name for name in call if call[name] != calls[0][name]]
        for name in changed:
            test = core.Compare("!=", call[name], calls[0][name], span=call[name].span)
            if test in guards or _differs_always(test, draws):
                return []
            tests.append(test)
    if not 0 < len(tests) <= _MOST_CHANGED:
        return []
    return [reduce(lambda a, b: core.Logic("||", a, b, span=a.span), tests)]


def _differs_always(test: core.Compare, draws: Bounds) -> bool:
    """Tell whether two values differ whatever is drawn, as `v` and `v + randInt(1, 9)`."""
    try:
        weights, low = linear(difference(test))
    except NotProvable:
        return False
    high = low
    for atom, weight in weights.items():
        if weight == 0:
            continue
        match draws.get(atom):
            case core.Constant(value=int() as least), core.Constant(
                value=int() as most
            ):
                ends = sorted((weight * least, weight * most))
                low, high = low + ends[0], high + ends[1]
            case _:
                return False
    return bool(low > 0 or high < 0)
