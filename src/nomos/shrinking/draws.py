"""Smaller draws: steps, strengths and counts that a case drew behind its inputs."""

from __future__ import annotations

from dataclasses import replace

from nomos.engine.choices import from_pattern, pattern
from nomos.shrinking.numbers import integers, nearest_to_zero, reals, rounder
from nomos.shrinking.trying import Case, Draw, Tester

_ROUNDS = 4  # how often one draw is made smaller in a row
_PASSES = 2  # over all draws: a smaller one may let another be smaller


def smaller_draws(tester: Tester, case: Case) -> Case:
    """Return a case whose draws are as small as can be found; it violates alone."""
    for _ in range(_PASSES):
        before = case.draws
        for position in range(len(case.draws)):
            case = _smaller(tester, case, position)
        if case.draws == before or not any(draw.kind == "real" for draw in tester.draws):
            break
    return case


def _smaller(tester: Tester, case: Case, position: int) -> Case:
    for _ in range(_ROUNDS):
        if position >= len(tester.draws) or tester.left < 1:
            break
        drawn = tester.draws[position]
        smaller = _candidates(case, position, drawn)
        found = tester.first(smaller)
        if found is None:
            break
        case = smaller[found]
        if drawn.kind == "integer":
            target = int(nearest_to_zero(drawn.low, drawn.high))
            if abs(case.draws[position] - target) < 2:
                break
    return case


def _candidates(case: Case, position: int, drawn: Draw) -> list[Case]:
    """Return cases with a smaller draw, the smallest first."""
    value = case.draws[position]
    if drawn.kind == "seed":
        return []
    target = nearest_to_zero(drawn.low, drawn.high)
    if drawn.kind == "integer":
        return [_with(case, position, n) for n in integers(value, int(target))]
    number = from_pattern(value)
    small = [_with(case, position, pattern(float(n))) for n in reals(number, target)]
    return [one for one in small if one.draws[position] != value]


def rounder_draws(tester: Tester, case: Case) -> Case:
    """Return a case whose real draws have as few digits as can be found."""
    for position, drawn in enumerate(tester.draws):
        if drawn.kind != "real" or position >= len(case.draws):
            continue
        value = from_pattern(case.draws[position])
        fits = [n for n in rounder(value) if drawn.low <= n <= drawn.high]
        fits = [n for n in fits if abs(n) <= 2 * abs(value)]
        some = [_with(case, position, pattern(n)) for n in fits]
        found = tester.first(some)
        case = case if found is None else some[found]
    return case


def _with(case: Case, position: int, value: int) -> Case:
    draws = case.draws
    return replace(case, draws=(*draws[:position], value, *draws[position + 1 :]))
