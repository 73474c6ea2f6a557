"""Smaller draws: steps, strengths and counts that a case drew behind its inputs."""

from __future__ import annotations

from dataclasses import replace

from nomos.engine.choices import from_pattern, pattern
from nomos.shrinking.numbers import nearest_to_zero, rounder
from nomos.shrinking.trying import DrawnRange, OwnCase, Tester, brought_near

_PASSES = 2  # over all draws: a smaller one may let another be smaller


def smaller_draws(tester: Tester, case: OwnCase) -> OwnCase:
    """Return a case whose draws are as small as can be found; it violates alone."""
    for _ in range(_PASSES):
        before = case.draws
        for position in range(len(case.draws)):
            if position < len(tester.draws):
                case = _smaller(tester, case, position, tester.draws[position])
        if case.draws == before or len(case.draws) < 2:
            break
    return case


def _smaller(
    tester: Tester, case: OwnCase, position: int, drawn: DrawnRange
) -> OwnCase:
    """Bring one draw near to 0."""
    if drawn.kind == "seed":
        return case
    return brought_near(
        tester,
        case,
        lambda case: _value(case, position, drawn),
        lambda case, number: _with(case, position, _choice(number, drawn)),
        nearest_to_zero(drawn.low, drawn.high),
        is_whole=drawn.kind == "integer",
    )


def rounder_draws(tester: Tester, case: OwnCase) -> OwnCase:
    """Return a case whose real draws have as few digits as can be found."""
    for position, drawn in enumerate(tester.draws[: len(case.draws)]):
        if drawn.kind != "real":
            continue
        value = _value(case, position, drawn)
        fits = [n for n in rounder(value) if drawn.low <= n <= drawn.high]
        cases = [_with(case, position, pattern(n)) for n in fits]
        found = tester.first(cases)
        case = case if found is None else cases[found]
    return case


def _value(case: OwnCase, position: int, drawn: DrawnRange) -> float:
    choice = case.draws[position]
    return choice if drawn.kind == "integer" else from_pattern(choice)


def _choice(number: float, drawn: DrawnRange) -> int:
    return int(number) if drawn.kind == "integer" else pattern(float(number))


def _with(case: OwnCase, position: int, value: int) -> OwnCase:
    draws = case.draws
    return replace(case, draws=(*draws[:position], value, *draws[position + 1 :]))
