"""Smaller draws: steps, strengths and counts that a case drew behind its inputs."""

from __future__ import annotations

import math

from nomos.shrinking.trying import DrawnRange, OwnCase, Tester, brought_near

_DIGITS = 6
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
        lambda case: drawn.number(case.draws[position]),
        lambda case, number: case.with_draw(position, drawn.choice(number)),
        min(max(0, drawn.low), drawn.high),
        is_whole=drawn.kind == "integer",
    )


def rounder_draws(tester: Tester, case: OwnCase) -> OwnCase:
    """Return a case whose real draws have as few digits as can be found."""
    for position, drawn in enumerate(tester.draws[: len(case.draws)]):
        if drawn.kind == "real":
            numbers = _rounder(drawn.number(case.draws[position]))
            fits = [n for n in numbers if drawn.low <= n <= drawn.high]
            case = tester.first_of(
                [case.with_draw(position, drawn.choice(n)) for n in fits], case
            )
    return case


def _rounder(value: float) -> list[float]:
    """Return a number with ever more digits, the fewest first."""
    if not value or not math.isfinite(value):
        return []
    exponent = math.floor(math.log10(abs(value)))
    found = []
    for digits in range(_DIGITS):
        for whole in (math.floor, math.ceil):
            unit = 10.0 ** (digits - exponent)
            rounded = round(whole(value * unit) / unit, digits - exponent)
            if rounded != value and rounded not in found:
                found.append(rounded)
    return found
