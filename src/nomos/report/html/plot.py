"""Bugs found against cases: what a small drawing in SVG is made of."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from nomos.report.texts import count
from nomos.results.result import Result

WIDTH, HEIGHT = 380, 190
LEFT, RIGHT, _TOP, _BOTTOM = 44, 8, 26, 38
_MOST_POINTS = 240  # of a curve; more would be closer than a pixel
_MOST_CURVES = 20  # of seeds; more would be one blot


@dataclass(frozen=True, slots=True)
class Plot:
    """A drawing: its curves, the old model's first, and the marks of its axes."""

    curves: tuple[tuple[str, str], ...]  # what kind of curve it is, and its path
    rows: tuple[tuple[str, str], ...]  # y and what stands there
    columns: tuple[tuple[str, str, str], ...]  # x, where its text is anchored, the text
    words: str


def curve(results: Sequence[Result], *, old: Result | None = None) -> Plot | None:
    """Return the plot of one property, a curve for each seed; None without bugs.

    An old model's curve is drawn behind that of the new one.
    """
    every = [*([] if old is None else [old]), *results[:_MOST_CURVES]]
    if not any(result.bugs for result in every):
        return None
    width = max(_cases(result) for result in every)
    height = max(len(result.bugs) for result in every)
    words = (
        _in_words(results)
        if old is None
        else f"Solid: {count(len(results[0].bugs), 'bug')} of the new model;"
        f" dashed: {len(old.bugs):,} of the old one."
    )
    return Plot(
        tuple(
            ("old" if result is old else "", _steps(result, width, height))
            for result in every
        ),
        tuple((f"{_y(bugs, height):.1f}", f"{bugs:,}") for bugs in _ticks(height)),
        tuple(_column(case, width) for case in _ticks(width)),
        words,
    )


def _column(case: int, width: int) -> tuple[str, str, str]:
    x = _x(case, width)
    anchor = "end" if x > WIDTH - RIGHT - 24 else "middle"
    return f"{x:.1f}", anchor, f"{case:,}"


def _cases(result: Result) -> int:
    """Return how many cases were drawn; what was discarded has a number too."""
    counts = result.counts
    last = result.bugs[-1].case + 1 if result.bugs else 0
    return max(1, last, counts.tests + counts.discarded + counts.crashed)


def _in_words(results: Sequence[Result]) -> str:
    if len(results) > 1:
        hidden = len(results) - _MOST_CURVES
        more = f" The first {_MOST_CURVES} are drawn." if hidden > 0 else ""
        return f"Each curve is one of {len(results)} seeds.{more}"
    (result,) = results
    cases = [bug.case for bug in result.bugs]
    said = f"The first bug came with case {cases[0]:,}"
    if len(cases) > 2:
        half = cases[(len(cases) - 1) // 2]
        said += f", half of them by case {half:,}, the last with {cases[-1]:,}"
    later = result.counts.unique_bugs - len(cases)
    if later > 0:
        said += f"; {count(later, 'later one')} not drawn"
    return said + f". Cases in all: {_cases(result):,}."


def _x(case: float, width: int) -> float:
    return LEFT + (WIDTH - LEFT - RIGHT) * case / width


def _y(bugs: float, height: int) -> float:
    return HEIGHT - _BOTTOM - (HEIGHT - _TOP - _BOTTOM) * bugs / height


def _steps(result: Result, width: int, height: int) -> str:
    """Return the path that rises by one at each bug, thinned where bugs are many."""
    cases = [bug.case + 1 for bug in result.bugs]
    every = max(1, math.ceil(len(cases) / _MOST_POINTS))
    marks = [*range(every - 1, len(cases), every)]
    if cases and (not marks or marks[-1] != len(cases) - 1):
        marks.append(len(cases) - 1)
    path = [f"M{_x(0, width):.1f} {_y(0, height):.1f}"]
    for mark in marks:
        path.append(f"H{_x(cases[mark], width):.1f}V{_y(mark + 1, height):.1f}")
    return "".join(path) + f"H{_x(_cases(result), width):.1f}"


def _ticks(most: int) -> list[int]:
    """Return round numbers from 0 up to what is drawn, about four of them."""
    size = 10 ** math.floor(math.log10(max(1, most)))
    steps = (step for step in (size // 5, size // 2, size, 2 * size) if step)
    return list(range(0, most + 1, next(s for s in steps if most / s <= 5)))
