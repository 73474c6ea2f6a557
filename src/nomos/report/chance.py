"""Say by how much violations miss, and how often chance alone does the same."""

from __future__ import annotations

from collections.abc import Sequence

from nomos.campaign.control import Bar, Beside, beside, histogram, together
from nomos.campaign.result import Result
from nomos.report.html_text import count

_MOST_BARS = 10  # on a console; reports and --json have them all


def gap_remarks(results: Sequence[Result]) -> list[str]:
    """Return the lines for one property and model; none where there is nothing to say."""
    name = results[0].subject.spec.name
    bars = _bars(results)
    told = ", ".join(f"{_range(bar)} ({bar.count})" for bar in bars)
    if len(bars) > _MOST_BARS:
        told = f"{bars[0].low:g} to {bars[-1].high:g}"
    said = [f"{name}: gap (violations): {told}"] if bars else []
    head, *rows = beside_chance(results) or [""]
    return [*said, f"{name} {head}:", *rows] if head else said


def missed_by(results: Sequence[Result]) -> str:
    """Return by how much violations miss, as a sentence; empty where all are alike."""
    bars = [f"by {_range(bar)} ({count(bar.count, 'case')})" for bar in _bars(results)]
    return f"Violations miss what is ensured {', '.join(bars)}." if bars else ""


def beside_chance(results: Sequence[Result]) -> list[str]:
    """Return violations beside those of the control, a head and rows; empty without it."""
    pairs = [(r, r.control) for r in results if r.control is not None]
    if not pairs:
        return []
    ours = together(result.found for result, _ in pairs)
    theirs = together(chance.found for _, chance in pairs)
    head = f"beside chance ({pairs[0][1].subject.spec.name})"
    return [head, *(_line(row) for row in beside(ours, theirs))]


def _bars(results: Sequence[Result]) -> list[Bar]:
    gaps = together(result.found for result in results).gaps
    return histogram(gaps) if gaps is not None and len(gaps) > 1 else []


def _range(bar: Bar) -> str:
    if bar.low == bar.high:
        return f"{bar.low:g}"
    return f"{bar.low:g} to {bar.high:g}"


def _line(row: Beside) -> str:
    what = "any gap" if row.gap is None else f"gap of {row.gap} or more"
    return (
        f"  {what:<17} {row.violations:>6} of {row.tests},"
        f" by chance {row.control_violations:>6} of {row.control_tests}"
        f"   p = {row.chance:.2g}"
    )
