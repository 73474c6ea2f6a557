"""Bugs found against cases, as a small drawing in SVG."""

from __future__ import annotations

import math
from collections.abc import Sequence

from nomos.campaign.result import Result
from nomos.report.html_text import count

_WIDTH, _HEIGHT = 380, 190
_LEFT, _RIGHT, _TOP, _BOTTOM = 44, 8, 26, 38
_MOST_POINTS = 240  # of a curve; more would be closer than a pixel
_MOST_CURVES = 20  # of seeds; more would be one blot


def curve(results: Sequence[Result], *, old: Result | None = None) -> str:
    """Return the plot of one property, a curve for each seed; empty without bugs.

    An old model's curve is drawn behind that of the new one.
    """
    every = [*([] if old is None else [old]), *results[:_MOST_CURVES]]
    if not any(result.bugs for result in every):
        return ""
    width = max(_cases(result) for result in every)
    height = max(len(result.bugs) for result in every)
    shapes = [_axes(width, height)]
    for result in every:
        kind = "curve old" if result is old else "curve"
        shapes.append(f'<path class="{kind}" d="{_steps(result, width, height)}"/>')
    said = (
        _in_words(results)
        if old is None
        else f"Solid: {count(len(results[0].bugs), 'bug')} of the new model;"
        f" dashed: {len(old.bugs):,} of the old one."
    )
    kind = "plot many" if len(results) > 1 else "plot"
    return (
        f'<figure class="{kind}"><svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img"'
        f' aria-label="Bugs found against cases. {said}">{"".join(shapes)}</svg>'
        f"<figcaption>{said}</figcaption></figure>"
    )


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
    kept = result.counts.unique_bugs - len(cases)
    if kept > 0:
        said += f"; {count(kept, 'later one')} not drawn"
    return said + f". Cases in all: {_cases(result):,}."


def _x(case: float, width: int) -> float:
    return _LEFT + (_WIDTH - _LEFT - _RIGHT) * case / width


def _y(bugs: float, height: int) -> float:
    return _HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * bugs / height


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


def _axes(width: int, height: int) -> str:
    right, floor = _WIDTH - _RIGHT, _HEIGHT - _BOTTOM
    shapes = []
    for bugs in _ticks(height):
        y = _y(bugs, height)
        shapes.append(f'<path class="grid" d="M{_LEFT} {y:.1f}H{right}"/>')
        shapes.append(
            f'<text x="{_LEFT - 8}" y="{y + 4:.1f}" class="end">{bugs:,}</text>'
        )
    for case in _ticks(width):
        x = _x(case, width)
        anchor = "end" if x > right - 24 else "middle"
        shapes.append(
            f'<text x="{x:.1f}" y="{floor + 17}" class="{anchor}">{case:,}</text>'
        )
    shapes.append(f'<text x="{right}" y="{_HEIGHT - 4}" class="end">cases</text>')
    shapes.append('<text x="0" y="12">bugs</text>')
    return "".join(shapes)


def _ticks(most: int) -> list[int]:
    """Return round numbers from 0 up to what is drawn, about four of them."""
    size = 10 ** math.floor(math.log10(max(1, most)))
    for step in (size // 5, size // 2, size, 2 * size, 5 * size):
        if step and most / step <= 5:
            return list(range(0, most + 1, step))
    return [0, most]
