"""Smaller draws: steps, strengths and counts that a case drew behind its inputs."""

from __future__ import annotations

from dataclasses import replace

from nomos.engine.choices import from_pattern, pattern
from nomos.shrinking.numbers import (
    integers,
    integers_between,
    nearest_to_zero,
    reals,
    reals_between,
    rounder,
)
from nomos.shrinking.trying import DrawnRange, OwnCase, Tester

_ROUNDS = 5  # how often one draw is made smaller in a row
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
    """Bring one draw near to 0: it lies between a floor that is too small and itself."""
    if drawn.kind == "seed":
        return case
    target = nearest_to_zero(drawn.low, drawn.high)
    floor: float | None = None
    for _ in range(_ROUNDS):
        numbers = _numbers(_value(case, position, drawn), floor, target, drawn)
        if not numbers or tester.left < 1:
            break
        cases = [_with(case, position, _choice(number, drawn)) for number in numbers]
        found = tester.first(cases)
        if found is None:
            floor = numbers[-1]
        elif found == 0 and floor is None:
            return cases[0]
        else:
            case = cases[found]
            floor = numbers[found - 1] if found else floor
    return case


def _numbers(
    value: float, floor: float | None, target: float, drawn: DrawnRange
) -> list[float]:
    """Return what to try in place of a draw, the smallest first."""
    if drawn.kind == "integer":
        if floor is None:
            return list(integers(int(value), int(target)))
        return list(integers_between(int(floor), int(value)))
    return reals(value, target) if floor is None else reals_between(floor, value)


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
