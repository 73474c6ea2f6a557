"""Say by how much violations miss, and how often chance alone does the same."""

from __future__ import annotations

from collections.abc import Sequence

from nomos.campaign.control import Beside, beside, histogram, together
from nomos.campaign.result import Result


def gap_remarks(results: Sequence[Result]) -> list[str]:
    """Return the lines for one property and model; none where there is nothing to say."""
    name = results[0].subject.spec.name
    gaps = together(result.found for result in results).gaps
    said = []
    if gaps is not None and len(gaps) > 1:
        bars = [f"{_range(bar.low, bar.high)} ({bar.count})" for bar in histogram(gaps)]
        said.append(f"{name}: gap (violations): {', '.join(bars)}")
    pairs = [(r, r.control) for r in results if r.control is not None]
    if pairs:
        control = pairs[0][1].subject.spec.name
        ours = together(result.found for result, _ in pairs)
        theirs = together(chance.found for _, chance in pairs)
        said.append(f"{name} beside chance ({control}):")
        said += [_line(row) for row in beside(ours, theirs)]
    return said


def _range(low: float, high: float) -> str:
    return f"{low:g}" if low == high else f"{low:g} to {high:g}"


def _line(row: Beside) -> str:
    what = "any gap" if row.gap is None else f"gap of {row.gap} or more"
    return (
        f"  {what:<17} {row.violations:>6} of {row.tests},"
        f" by chance {row.control_violations:>6} of {row.control_tests}"
        f"   p = {row.chance:.2g}"
    )
